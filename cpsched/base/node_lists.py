"""Nodes as short text as Slurm writes it: ``n[001-003,007]``."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from cpsched.base.words import brief

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Characters of a list in a message.
_MOST = 160
_NUMBERED = re.compile(r"^(.*?)(\d+)$")


def fold(names: Sequence[str], runs: Iterable[Sequence[int]]) -> str:
    """
    Return runs of nodes as text.

    Parameters
    ----------
    names
        Name of every node of the system.
    runs
        (first node, number of nodes), in order.
    """
    parts: list[tuple[str, str]] = []
    joined: list[list[int]] = []
    for first, count in runs:
        if joined and joined[-1][0] + joined[-1][1] == first:
            joined[-1][1] += count
        else:
            joined.append([first, count])
    for first, count in joined:
        parts.extend(_parts(names[first : first + count]))
    text = []
    for prefix, group in groupby(parts, key=lambda part: part[0]):
        spans = [span for _, span in group]
        if prefix and (len(spans) > 1 or "-" in spans[0]):
            text.append(f"{prefix}[{','.join(spans)}]")
        else:
            text.extend(prefix + span for span in spans)
    return ",".join(text)


def listed(names: Sequence[str]) -> str:
    """Return all nodes of a system as short text for a message, cut off where it gets long."""
    return brief(fold(names, [(0, len(names))]), _MOST)


def _parts(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return (prefix, number or range) of neighbouring nodes; prefix '' for other names."""
    parts: list[tuple[str, str]] = []
    start: tuple[str, str] | None = None
    last = ""
    for name in [*names, None]:
        found = _NUMBERED.match(name) if name is not None else None
        if start is not None and not (
            found
            and found[1] == start[0]
            and len(found[2]) == len(last)
            and int(found[2]) == int(last) + 1
        ):
            parts.append((start[0], start[1] if start[1] == last else f"{start[1]}-{last}"))
            start = None
        if found is None:
            if name is not None:
                parts.append(("", name))
            continue
        if start is None:
            start = (found[1], found[2])
        last = found[2]
    return parts
