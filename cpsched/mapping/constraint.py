"""Constraint strings of Slurm and Torque logs: which nodes a job may use, and whether alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cpsched.base.words import quoted

if TYPE_CHECKING:
    from cpsched.base.types import BoolArray
    from cpsched.model.system import System

#: Different kinds of nodes in one request, counts, groups: more than one set of nodes can say.
_COMPOUND = re.compile(r"[+*()\[\]{}]")
_SEPARATORS = re.compile(r"[:&,]")
_NOT = "^"


@dataclass(frozen=True, slots=True)
class Constraint:
    """
    What one constraint string asks for.

    Attributes
    ----------
    required
        Every node used must satisfy each of these; an item is a tuple of alternatives, ``^name``
        meaning that the node must not have it.
    exclusive
        No other job on its nodes.
    problem
        Why the string cannot be honoured, or None.
    """

    required: tuple[tuple[str, ...], ...] = ()
    exclusive: bool = False
    problem: str | None = None


def parse(text: str) -> Constraint:
    """
    Return what a constraint string asks for.

    ``a:b``, ``a&b`` and ``a,b`` require both, ``a|b`` either, ``^a`` forbids; names are features,
    node names, or ``host=NAME``. ``#excl`` and ``exclusive`` (wherever it stands) ask for nodes
    alone. Compound requests (``1:ppn=1+2:ppn=2``, ``a*2&b*4``, ``[a|b]``) cannot be honoured.
    """
    if _COMPOUND.search(text):
        return Constraint(problem=f"its compound constraint {quoted(text)} cannot be honoured")
    required: list[tuple[str, ...]] = []
    exclusive = False
    for token in _SEPARATORS.split(text):
        names, *marks = token.split("#")
        unknown = next((mark for mark in marks if mark.strip() != "excl"), None)
        if unknown is not None:
            return Constraint(problem=f"{quoted('#' + unknown)} in its constraint is not known")
        alternatives = [name.strip() for name in names.split("|") if name.strip()]
        wanted = tuple(name for name in alternatives if name != "exclusive")
        exclusive |= bool(marks) or len(wanted) < len(alternatives)
        if wanted and wanted not in required:
            required.append(wanted)
    return Constraint(tuple(required), exclusive)


class NodeFeatures:
    """
    Which nodes of a system have what a constraint may name.

    A node has its features, its name, and its name up to the first dot.
    """

    def __init__(self, system: System) -> None:
        self._system = system

    def mask(self, constraint: Constraint) -> tuple[BoolArray, str | None]:
        """Return the nodes that satisfy a constraint, shape ``(N,)``, or why none ever can."""
        mask = np.ones(self._system.num_nodes, dtype=np.bool_)
        for alternatives in constraint.required:
            known = [found for name in alternatives if (found := self._having(name)) is not None]
            if not known:
                names = " or ".join(quoted(name) for name in alternatives)
                return np.zeros_like(mask), f"no node has the feature {names}"
            mask &= np.logical_or.reduce(known)
        return mask, None

    def _having(self, name: str) -> BoolArray | None:
        """Return the nodes that have a feature (``^``: have not), None if no node has it."""
        nodes = self._by_name.get(name.removeprefix(_NOT).removeprefix("host="))
        if nodes is None and not name.startswith(_NOT):
            return None
        mask = np.zeros(self._system.num_nodes, dtype=np.bool_)
        mask[nodes or []] = True
        return ~mask if name.startswith(_NOT) else mask

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        """Return the nodes that have each feature or name."""
        having: dict[str, list[int]] = {}
        for node, own in enumerate(self._system.features):
            host = self._system.node_names[node]
            for name in {*own, host, host.partition(".")[0]}:
                having.setdefault(name, []).append(node)
        return having
