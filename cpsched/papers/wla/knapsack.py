"""
The 0-1 multiple knapsack problem of a window of jobs and a list of slots (section III.A).

A job's profit and weight are its size in nodes, so that solutions use as many nodes as they can.
Where nodes differ, a job may need more of one sort than of another: then its weight depends on the
slot, and its profit is the smallest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

#: Stands for a slot where a job is not selected.
LEFT_OUT = -1


@dataclass(frozen=True, kw_only=True)
class Knapsack:
    """
    A problem of n jobs and m slots.

    Attributes
    ----------
    weight
        Nodes that each job needs in each slot, n lists of m; 0 where it may not be put.
    capacity
        Nodes of each slot.
    """

    weight: list[list[int]]
    capacity: list[int]

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self.weight)

    @cached_property
    def profit(self) -> list[int]:
        """The fewest nodes each job needs in any slot; 0 for one that may be put in none."""
        return [min((w for w in row if w), default=0) for row in self.weight]

    @cached_property
    def sort(self) -> list[int]:
        """The sort of each slot: slots of one sort differ in capacity at most."""
        number: dict[tuple[int, ...], int] = {}
        columns = zip(*self.weight, strict=True)
        return [number.setdefault(column, len(number)) for column in columns]

    def fits(self, job: int, slot: int, free: int) -> bool:
        """Return whether a job may be put in a slot with so many nodes left."""
        return 0 < self.weight[job][slot] <= free

    def value(self, slots: list[int]) -> int:
        """Return the profit of a solution, given as the slot of each job."""
        return sum(
            profit for profit, slot in zip(self.profit, slots, strict=True) if slot != LEFT_OUT
        )


class Fill:
    """
    The most nodes that jobs can fill in a slot, as a table of subset sums.

    Bit s of ``sums[sort][j]`` says that some of the jobs j, j + 1, ... need s nodes together.
    """

    def __init__(self, problem: Knapsack) -> None:
        mask = (1 << (max(problem.capacity, default=0) + 1)) - 1
        self._sums: list[list[int]] = []
        self._known: dict[tuple[int, int, int], int] = {}
        for sort in range(len(set(problem.sort))):
            slot = problem.sort.index(sort)
            sums = [1]
            for row in reversed(problem.weight):
                sums.append((sums[-1] | sums[-1] << row[slot]) & mask)
            self._sums.append(sums[::-1])

    def fillable(self, sort: int, job: int, free: int) -> int:
        """Return the most nodes of ``free`` that jobs from ``job`` on can fill."""
        key = (sort, job, free)
        if key not in self._known:
            within = self._sums[sort][job] & ((1 << (free + 1)) - 1)
            self._known[key] = within.bit_length() - 1
        return self._known[key]


def upper_bound(problem: Knapsack) -> int:
    """Return a value that no solution exceeds: all jobs, or all slots as full as they can be."""
    fill = Fill(problem)
    slots = zip(problem.sort, problem.capacity, strict=True)
    return min(sum(problem.profit), sum(fill.fillable(sort, 0, free) for sort, free in slots))
