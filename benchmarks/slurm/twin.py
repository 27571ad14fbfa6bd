"""
What a twin costs over a week of invented events: memory, time and files.

``python benchmarks/slurm/twin.py FOLDER [--jobs 20000] [--days 7] [--every 30]``: jobs come at
random, wait and run for a while; the record sees a snapshot every half minute, as it would from a
Slurm.
"""

from __future__ import annotations

import argparse
import heapq
import resource
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING

import numpy as np

from slurm_adapter.live.record import Record
from slurm_adapter.live.snapshot import LiveJob, Placed, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable

_DAY = 86400
_BEGAN = 1_700_000_000


class Week:
    """A Slurm whose jobs come and go as drawn."""

    def __init__(self, num: int, days: int) -> None:
        rng = np.random.default_rng(0)
        submit = np.sort(rng.integers(0, days * _DAY, num))
        start = submit + rng.exponential(900, num).astype(int)
        end = start + 30 + rng.exponential(3600, num).astype(int)
        self._times = np.stack([submit, start, end], axis=1) + _BEGAN
        self._next = 0
        self._open: dict[str, tuple[LiveJob, int, int]] = {}
        self._ends: list[tuple[int, str]] = []
        self._gone: dict[str, LiveJob] = {}

    def at(self, now: int) -> Snapshot:
        """Return the queue at a second."""
        while self._next < len(self._times) and self._times[self._next, 0] <= now:
            submit, start, end = map(int, self._times[self._next])
            self._next += 1
            key = str(self._next)
            job = LiveJob(
                key=key, number=self._next, state="PENDING", submit=submit, cpus=8,
                time_limit=7200, user=f"user{self._next % 90}", partition="batch", name="x" * 20,
            )  # fmt: skip
            self._open[key] = job, start, end
            heapq.heappush(self._ends, (end, key))
        self._gone.clear()
        while self._ends and self._ends[0][0] <= now:
            end, key = heapq.heappop(self._ends)
            job, start, _ = self._open.pop(key)
            self._gone[key] = replace(_running(job, start), state="COMPLETED", end=end)
        jobs = {
            key: job if start > now else _running(job, start)
            for key, (job, start, _) in self._open.items()
        }
        return Snapshot(now, jobs, frozenset())

    def ended(self, jobs: Iterable[str]) -> dict[str, LiveJob]:
        """Return what became of jobs."""
        return {key: self._gone[key] for key in jobs if key in self._gone}


def _running(job: LiveJob, start: int) -> LiveJob:
    node = f"node{job.number % 200:03}"
    return replace(
        job, state="RUNNING", start=start, end=start + job.time_limit, nodes=(node,),
        placed=(Placed(node, job.cpus, 4096),),
    )  # fmt: skip


def main() -> None:
    """Print a line a day."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--every", type=int, default=30)
    args = parser.parse_args()
    week, record = Week(args.jobs, args.days), Record(args.folder)
    began = process_time()
    for second in range(0, args.days * _DAY + 1, args.every):
        record.see(week.at(_BEGAN + second), week)
        if second and second % _DAY == 0:
            spent = process_time() - began
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            size = sum(path.stat().st_size for path in args.folder.iterdir()) / 2**20
            looks = second // args.every
            print(
                f"day {second // _DAY}: at most {memory:,.0f} MB, {1000 * spent / looks:.1f} ms CPU"
                f" a look, {size:.1f} MB of files, {len(record.open)} jobs open",
                flush=True,
            )
    seen = sum(1 for _ in record.jobs())
    print(f"{seen:,} of {args.jobs:,} jobs are in the record")


if __name__ == "__main__":
    main()
