"""
How far Slurm's passes go: which waiting jobs a pass leaves out, and the parameter that says so.

The same counts as in the native passes (``cpsched/cpp/slurm``), gone through once more for one job
after a decision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.slurm.dispatch import columns as r
from cpsched.slurm.dispatch.settings import NO_LIMIT
from cpsched.util.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from cpsched.util.types import BoolArray, IntArray

#: Numbers of a backfill pass that bound the jobs of a kind, and what they are of.
_OF_KIND = {
    "of_user": "user",
    "of_partition": "partition",
    "of_user_in_partition": "user in a partition",
    "of_association": "association",
}


class PassQueue(NamedTuple):
    """
    The queue that passes went through in a decision.

    Attributes
    ----------
    records
        Those of the queue in its order, with what has started; columns as in
        :mod:`cpsched.slurm.dispatch.columns`.
    by_main, by_backfill
        Those that the main and the backfill pass have started, by number.
    now
        When.
    bounds
        How far passes go, see :func:`cpsched.slurm.dispatch.settings.pass_settings`; ``depth`` of
        the main pass, too.
    names
        What the parameters are called that set them.
    is_skipped
        Says whether a limit lets a pass go on to the next record.
    """

    records: IntArray
    by_main: set[int]
    by_backfill: set[int]
    now: int
    bounds: Mapping[str, int]
    names: Mapping[str, str]
    is_skipped: Callable[[int], bool]

    def _named_limit(self, bound: str) -> str:
        return f"{self.names[bound]}={self.bounds[bound]}"

    def _rows(self, numbers: set[int]) -> set[int]:
        started = np.isin(self.records[:, r.NUMBER], list(numbers))
        return set(self.records[started, r.ROW].tolist())

    def out_of_main(self, target: int) -> str:
        """Return why the main pass did not come to a record; '' if it did."""
        bounds, started = self.bounds, 0
        rows: set[int] = set()
        tried: dict[int, int] = {}
        tested, last = 0, (-2, -2)
        columns = [r.NUMBER, r.ROW, r.PARTITION, r.ARRAY, r.BEGINS]
        for record, row, partition, task, begins in self.records[:, columns].tolist():
            if row in rows or begins > self.now:
                continue
            if started >= bounds["most_starts"]:
                number = counted(bounds["most_starts"], "job")
                return f"the main pass starts at most {number} ({self._named_limit('most_starts')})"
            if tested > bounds["depth"]:
                number = f"{bounds['depth']:,}"
                depth = self._named_limit("depth")
                return f"the main pass considers about {number} waiting jobs ({depth})"
            is_next = task >= 0 and (task, partition) == last
            if not is_next:
                last = task, partition
                tried[partition] = tried.get(partition, 0) + 1
                if tried[partition] > bounds["partition_depth"]:
                    if record == target:
                        return (
                            "the main pass considers only the first waiting jobs of each"
                            f" partition ({self._named_limit('partition_depth')})"
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
        bounds = self.bounds
        rows, counts = self._rows(self.by_main), self._counts()
        place, started = 0, 0
        for values in self.records.tolist():
            record, row = values[r.NUMBER], values[r.ROW]
            if record in self.by_main or (row in rows and record not in self.by_backfill):
                continue
            place += 1
            if place > bounds["tested"]:
                if record != target:
                    continue
                return (
                    f"the backfill pass considers {counted(bounds['tested'], 'waiting job')}"
                    f" ({self._named_limit('tested')}), and it is number {place:,} of them"
                )
            if started >= bounds["backfill_starts"]:
                number = counted(bounds["backfill_starts"], "job")
                limit = self._named_limit("backfill_starts")
                return f"the backfill pass starts at most {number} ({limit})"
            is_skipped = self.is_skipped(record) and record not in self.by_backfill
            if values[r.BEGINS] <= self.now and not is_skipped:
                over = self._count(values, counts)
                if record == target:
                    return over
            elif record == target:
                return ""
            if record in self.by_backfill:
                started += 1
                rows.add(row)
        return ""

    def _counts(self) -> dict[str, dict[tuple[int, ...], int]]:
        return {bound: {} for bound in _OF_KIND if self.bounds[bound] < NO_LIMIT}

    def _count(self, record: list[int], counts: dict[str, dict[tuple[int, ...], int]]) -> str:
        """Count a record that the pass looks at; return which bound it is over, '' for none."""
        for place, key in _kinds_of(record):
            if place not in counts or min(key) < 0:
                continue
            seen = counts[place].get(key, 0)
            counts[place][key] = seen + 1
            limit = self.bounds[place]
            if seen >= limit:
                return (
                    f"the backfill pass considers {counted(limit, 'job')} of each"
                    f" {_OF_KIND[place]} ({self._named_limit(place)}), and others of its come first"
                )
        return ""


def _kinds_of(record: list[int]) -> Iterator[tuple[str, tuple[int, ...]]]:
    user, partition = record[r.USER], record[r.PARTITION]
    yield "of_user", (user,)
    yield "of_partition", (partition,)
    yield "of_user_in_partition", (user, partition)
    yield "of_association", (record[r.ASSOCIATION],)


def barring(
    own: IntArray, queued: IntArray, nodes: BoolArray, is_skipped: Callable[[int], bool]
) -> IntArray:
    """
    Return the rows of the jobs that a main pass does not let a job overtake.

    These are the jobs of its partitions, and of others that share nodes with them, that no limit
    holds.

    Parameters
    ----------
    own, queued
        The records of the job, and those of the queue.
    nodes
        The nodes of each partition, shape ``(P, N)``; without rows partitions share none.
    is_skipped
        Says whether a limit lets the pass go on to the next record.
    """
    partitions = set(own[:, r.PARTITION].tolist())
    if len(nodes):
        places = [at for at in partitions if 0 <= at < len(nodes)]
        shared = nodes[:, nodes[places].any(axis=0)].any(axis=1) if places else nodes[:, 0] & False
        partitions |= set(np.flatnonzero(shared).tolist())
    rows = {
        row
        for number, row, partition in queued[:, [r.NUMBER, r.ROW, r.PARTITION]].tolist()
        if partition in partitions and not is_skipped(number)
    }
    return np.array(sorted(rows), dtype=np.int64)
