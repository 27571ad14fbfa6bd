"""The earliest second at which a job can have neighbouring nodes, and which."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.base.types import MAX_TIME
from cpsched.model import columns as c
from cpsched_papers.wla.slots import runs

if TYPE_CHECKING:
    from cpsched.base.types import IntArray
    from cpsched.model.view import View
    from cpsched_papers.wla.machine_slots import MachineSlots


class Run(NamedTuple):
    """Nodes ``[first, end)``, from a second on."""

    start: int
    first: int
    end: int


def busy_until(view: View) -> IntArray:
    """Return when each node is expected to be wholly free, ``MAX_TIME`` for those that are down."""
    # Who holds a node without being shown may give it back at any time, but does not now.
    held = (view.free != view.system.capacity).any(axis=1)
    until = np.where(view.node_up, view.now + held, MAX_TIME)
    running = view.running
    jobs = running.store.columns[running.rows]
    # In order of expected end, so that the last one on a node counts.
    for first, count, end in jobs[:, (c.ALLOC_FIRST, c.ALLOC_COUNT, c.EXPECTED_END)].tolist():
        nodes = running.arena.node[first : first + count]
        until[nodes] = np.maximum(until[nodes], end)
    return until


def earliest_run(machine: MachineSlots, until: IntArray, size: IntArray) -> Run | None:
    """
    Return the earliest run of nodes that is long enough, the first along the line.

    Parameters
    ----------
    until
        When each node is free, shape ``(N,)``.
    size
        Nodes needed of each sort, 0 where none will do.
    """

    def longest_enough(time: int) -> tuple[int, int] | None:
        first, end = runs(until <= time, machine.begins)
        need = size[machine.sort[first]]
        enough = np.flatnonzero((need > 0) & (end - first >= need))
        if not len(enough):
            return None
        at = int(first[enough[0]])
        return at, at + int(need[enough[0]])

    times = np.unique(until[until < MAX_TIME]).tolist()
    at = bisect_left(times, True, key=lambda time: longest_enough(time) is not None)
    if at == len(times):
        return None
    found = longest_enough(times[at])
    assert found is not None
    return Run(times[at], *found)
