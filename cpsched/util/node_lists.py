"""Slurm's lists of hosts: ``tux[0-3,12,18-20],login1`` as names, and names as such a list."""

from __future__ import annotations

import re
from itertools import groupby, product
from math import prod
from typing import TYPE_CHECKING

from cpsched.errors import ConfigError
from cpsched.util.words import brief

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

#: Characters of a list in a message.
_MOST = 160
_PART = re.compile(r"(?:[^,\[\]\s]|\[[^\[\]]*\])+")
_LIST = re.compile(rf"{_PART.pattern}(?:,{_PART.pattern})*")
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_NUMBERS = re.compile(r"([0-9]+)")
_NUMBERED = re.compile(r"(.*?)([0-9]{1,9})([^0-9]*)")


def expand(text: str, limit: int) -> list[str]:
    """
    Return the names that a list of hosts stands for, in its order.

    Numbers are as wide as the first of their range is written (``n[01-12]``); a name may have
    several brackets (``r[1-2]n[1-4]``, the last counts fastest).

    Raises
    ------
    ValueError
        If it is not such a list, or has more than ``limit`` names.
    """
    if not _LIST.fullmatch(text):
        raise ValueError("is not a list of hosts such as n[01-16,20],m1")
    names: list[str] = []
    for part in _PART.findall(text):
        pieces = _BRACKETS.split(part)
        numbers = [_numbers(piece, limit) for piece in pieces[1::2]]
        if len(names) + prod(map(len, numbers)) > limit:
            raise ValueError(f"has more than {limit} names")
        fixed = pieces[::2]
        names.extend(
            fixed[0] + "".join(a + b for a, b in zip(chosen, fixed[1:], strict=True))
            for chosen in product(*numbers)
        )
    return names


def named_nodes(text: str, known: Collection[str]) -> list[str]:
    """
    Return the names that a list of hosts stands for.

    Raises
    ------
    ConfigError
        If it is not such a list, or names a node that is not there.
    """
    try:
        names = expand(text, max(len(known), 1))
    except ValueError as error:
        raise ConfigError(f"is {text[:60]!r}, {error}", key="nodes") from None
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise ConfigError(f"unknown node {unknown!r}. Nodes: {listed(list(known))}.", key="nodes")
    return names


def _numbers(text: str, limit: int) -> list[str]:
    """Return the numbers between brackets."""
    numbers: list[str] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if match is None or first > last:
            raise ValueError(f"has {part!r} in brackets, which must be a number or a range")
        if last - first + len(numbers) >= limit:
            raise ValueError(f"has more than {limit} names")
        numbers.extend(f"{number:0{len(match[1])}d}" for number in range(first, last + 1))
    return numbers


def compress(names: Iterable[str]) -> str:
    """Return a list of hosts that :func:`expand` makes these names of; no name comes twice."""
    known = list(names)
    return NodeNames(known).folded([(0, len(known))])


class NodeNames:
    """
    The names of the nodes of a system, to write some of them as a list of hosts.

    Parameters
    ----------
    names
        Name of every node.
    """

    def __init__(self, names: Sequence[str]) -> None:
        parts = [_parts(name) for name in names]
        node_of = {name: node for node, name in enumerate(names)}
        self._around = [part[::2] for part in parts]
        self._number = [part[1] for part in parts]
        #: The node whose name differs from that of each only in its number, which is one more.
        self._next = [node_of.get(_following(*part), -1) for part in parts]
        #: The last node that is reached so from each without passing over a node.
        self._last = list(range(len(parts)))
        for node in reversed(range(len(parts) - 1)):
            if self._next[node] == node + 1:
                self._last[node] = self._last[node + 1]

    def folded(self, runs: Iterable[Sequence[int]]) -> str:
        """
        Return runs of nodes as a list of hosts.

        Parameters
        ----------
        runs
            (first node, number of nodes), in order.
        """
        ranges: list[list[int]] = []
        for first, count in runs:
            node, end = first, first + count
            if ranges and self._next[ranges[-1][1]] == first:
                node = min(self._last[first] + 1, end)
                ranges[-1][1] = node - 1
            while node < end:
                last = min(self._last[node], end - 1)
                ranges.append([node, last])
                node = last + 1
        return ",".join(
            self._bracketed(around, group)
            for (*around, _), group in groupby(ranges, key=lambda part: self._group(part[0]))
        )

    def _group(self, node: int) -> tuple[str, str, bool]:
        """Return what names have in common that are written together."""
        return *self._around[node], self._number[node] != ""

    def _bracketed(self, around: Sequence[str], ranges: Iterable[list[int]]) -> str:
        """Return ranges of names that differ in their numbers alone."""
        number = self._number
        inside = ",".join(
            number[first] if first == last else f"{number[first]}-{number[last]}"
            for first, last in ranges
        )
        plain = inside.isdigit() or not inside
        return f"{around[0]}{inside if plain else f'[{inside}]'}{around[1]}"


def listed(names: Sequence[str]) -> str:
    """Return all nodes of a system as short text for a message, cut off where it gets long."""
    return brief(compress(names), _MOST)


def natural(name: str) -> tuple[tuple[str, int], ...]:
    """Return a sort key that has ``n9`` before ``n10``, as Slurm orders its nodes."""
    pieces = _NUMBERS.split(name)
    numbers = [int(number) for number in pieces[1::2]]
    return tuple(zip(pieces[::2], [*numbers, -1], strict=True))


def _parts(name: str) -> tuple[str, str, str]:
    """Return what is before the last number of a name, the number, and what is after it."""
    match = _NUMBERED.fullmatch(name)
    return (match[1], match[2], match[3]) if match else (name, "", "")


def _following(before: str, number: str, after: str) -> str:
    """Return the name with the next number, as wide as this one; nothing for a name without."""
    return f"{before}{int(number) + 1:0{len(number)}d}{after}" if number else ""
