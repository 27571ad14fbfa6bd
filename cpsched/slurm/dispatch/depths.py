"""
How far Slurm's passes go: which waiting jobs a pass leaves out, and the parameter that says so.

The same counts as in :mod:`cpsched.slurm.kernels.main` and
:mod:`cpsched.slurm.kernels.candidates`, gone through once more for one job after a decision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.kernels.arrays import FAR
from cpsched.slurm.kernels import records as r
from cpsched.util.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from cpsched.util.types import BoolArray, IntArray

#: Numbers of a backfill pass that bound the jobs of a kind, and what they are of.
_OF_KIND = {
    r.OF_USER: "user",
    r.OF_PARTITION: "partition",
    r.OF_BOTH: "user in a partition",
    r.OF_ASSOCIATION: "association",
}


class PassQueue(NamedTuple):
    """
    The queue that passes went through in a decision.

    Attributes
    ----------
    table
        Records, see :mod:`cpsched.slurm.kernels.records`.
    order
        Those of the queue, in its order: what has started, too.
    by_main, by_backfill
        Those that the main and the backfill pass have started.
    numbers
        Of the passes.
    names
        What the parameters are called, by their place in ``numbers``.
    is_skipped
        Says whether a limit lets a pass go on to the next record.
    """

    table: IntArray
    order: IntArray
    by_main: set[int]
    by_backfill: set[int]
    numbers: IntArray
    names: Mapping[int, str]
    is_skipped: Callable[[int], bool]

    def _named_limit(self, place: int) -> str:
        return f"{self.names[place]}={self.numbers[place]}"

    def _rows(self, records: set[int]) -> set[int]:
        return {self.table.item(record, r.ROW) for record in records}

    def _may_begin(self, record: int) -> bool:
        return bool(self.table.item(record, r.BEGINS) <= self.numbers[r.NOW])

    def out_of_main(self, target: int) -> str:
        """Return why the main pass did not come to a record; '' if it did."""
        numbers, started = self.numbers, 0
        rows: set[int] = set()
        tried: dict[int, int] = {}
        tested, last = 0, (-2, -2)
        for record in self.order.tolist():
            row, partition, task = self.table[record, [r.ROW, r.PARTITION, r.ARRAY]].tolist()
            if row in rows or not self._may_begin(record):
                continue
            if started >= numbers[r.MOST_STARTS]:
                number = counted(int(numbers[r.MOST_STARTS]), "job")
                return f"the main pass starts at most {number} ({self._named_limit(r.MOST_STARTS)})"
            if tested > numbers[r.DEPTH]:
                number = f"{numbers[r.DEPTH]:,}"
                depth = self._named_limit(r.DEPTH)
                return f"the main pass considers about {number} waiting jobs ({depth})"
            is_next = task >= 0 and (task, partition) == last
            if not is_next:
                last = task, partition
                tried[partition] = tried.get(partition, 0) + 1
                if tried[partition] > numbers[r.PARTITION_DEPTH]:
                    if record == target:
                        return (
                            "the main pass considers only the first waiting jobs of each"
                            f" partition ({self._named_limit(r.PARTITION_DEPTH)})"
                        )
                    continue
                tested += 1
            if record == target:
                return ""
            if record in self.by_main:
                started, last = started + 1, (-2, -2)
                rows.add(row)
        return ""

    def out_of_backfill(self, target: int) -> str:
        """Return why the backfill pass would not look at a record; '' if it would."""
        numbers = self.numbers
        rows, counts = self._rows(self.by_main), self._counts()
        place, started = 0, 0
        for record in self.order.tolist():
            row = self.table.item(record, r.ROW)
            if record in self.by_main or (row in rows and record not in self.by_backfill):
                continue
            place += 1
            if place > numbers[r.TESTED]:
                if record != target:
                    continue
                return (
                    f"the backfill pass considers {counted(int(numbers[r.TESTED]), 'waiting job')}"
                    f" ({self._named_limit(r.TESTED)}), and it is number {place:,} of them"
                )
            if started >= numbers[r.BACKFILL_STARTS]:
                number = counted(int(numbers[r.BACKFILL_STARTS]), "job")
                limit = self._named_limit(r.BACKFILL_STARTS)
                return f"the backfill pass starts at most {number} ({limit})"
            if self._may_begin(record) and not (
                self.is_skipped(record) and record not in self.by_backfill
            ):
                over = self._count(record, counts)
                if record == target:
                    return over
            elif record == target:
                return ""
            if record in self.by_backfill:
                started += 1
                rows.add(row)
        return ""

    def _counts(self) -> dict[int, dict[tuple[int, ...], int]]:
        return {place: {} for place in _OF_KIND if self.numbers[place] < FAR}

    def _count(self, record: int, counts: dict[int, dict[tuple[int, ...], int]]) -> str:
        """Count a record that the pass looks at; return which bound it is over, '' for none."""
        for place, key in self._kinds_of(record):
            if place not in counts or min(key) < 0:
                continue
            seen = counts[place].get(key, 0)
            counts[place][key] = seen + 1
            limit = int(self.numbers[place])
            if seen >= limit:
                return (
                    f"the backfill pass considers {counted(limit, 'job')} of each"
                    f" {_OF_KIND[place]} ({self._named_limit(place)}), and others of its come first"
                )
        return ""

    def _kinds_of(self, record: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        user, partition, own = self.table[record, [r.USER, r.PARTITION, r.ASSOCIATION]].tolist()
        yield r.OF_USER, (user,)
        yield r.OF_PARTITION, (partition,)
        yield r.OF_BOTH, (user, partition)
        yield r.OF_ASSOCIATION, (own,)


def barring(
    table: IntArray,
    own: range,
    queued: IntArray,
    nodes: BoolArray,
    is_skipped: Callable[[int], bool],
) -> IntArray:
    """
    Return the rows of the jobs that a main pass does not let a job overtake.

    These are the jobs of its partitions, and of others that share nodes with them, that no limit
    holds.

    Parameters
    ----------
    own
        The records of the job.
    queued
        Those of the queue.
    nodes
        The nodes of each partition, shape ``(P, N)``; without rows partitions share none.
    is_skipped
        Says whether a limit lets the pass go on to the next record.
    """
    partitions = set(table[own.start : own.stop, r.PARTITION].tolist())
    if len(nodes):
        places = [at for at in partitions if 0 <= at < len(nodes)]
        shared = nodes[:, nodes[places].any(axis=0)].any(axis=1) if places else nodes[:, 0] & False
        partitions |= set(np.flatnonzero(shared).tolist())
    rows = {
        table.item(record, r.ROW)
        for record in queued.tolist()
        if table.item(record, r.PARTITION) in partitions and not is_skipped(record)
    }
    return np.array(sorted(rows), dtype=np.int64)
