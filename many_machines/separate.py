"""Which parts of a system share no node with each other: its machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.api.tools import brief

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpsched.api.model import BoolArray, System


class Machine(NamedTuple):
    """
    Queues that share nodes, and these nodes.

    Attributes
    ----------
    queues
        Their names, in the system's order; empty for a system without queues.
    nodes
        Shape ``(N,)``.
    """

    queues: tuple[str, ...]
    nodes: BoolArray


def machines_of(system: System) -> list[Machine]:
    """
    Return the machines of a system, in the order of their first queues.

    Two queues are of one machine if both may use some node, directly or through other queues. A
    system without queues is one machine.
    """
    groups = np.array(system.node_groups)
    every = np.ones(system.num_nodes, dtype=np.bool_)
    if not system.queues:
        return [Machine((), every)]
    found: list[Machine] = []
    for name, queue in system.queues.items():
        own = np.isin(groups, queue.groups) if queue.groups else every
        met = [one for one in found if (one.nodes & own).any()]
        nodes = np.logical_or.reduce([own, *(one.nodes for one in met)])
        queues = (*(other for one in met for other in one.queues), name)
        rest = [one for one in found if not (one.nodes & own).any()]
        found = [*rest, Machine(queues, nodes)]
    place = {name: at for at, name in enumerate(system.queues)}
    ordered = [one._replace(queues=tuple(sorted(one.queues, key=place.get))) for one in found]  # type: ignore[arg-type]
    return sorted(ordered, key=lambda one: place[one.queues[0]])


def named(names: Iterable[str]) -> str:
    """Return names for a message, cut off where they get long."""
    return brief(", ".join(names), 200)
