"""
Figures of the generated log of ``farm_log.py``, compared to those published of the real log.

    python benchmarks/farm.py [--jobs N ...] [--seed N]

Published are totals alone (Cochard and Simon, arXiv 2606.05914, abstract). All other figures are
assumptions of ``farm_tables.py``, or follow from them: the column
``source`` says which. A log is looked at a million jobs at a time. Writes farm.csv into
benchmarks/results/data, a column for each number of jobs, and prints it.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import farm_tables as known
import numpy as np
from farm_log import FARM, SYSTEM

from cpsched.systems import load as load_system
from cpsched.util.types import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cpsched.model.workload import Workload
    from cpsched.util.types import IntArray

TABLE = Path(__file__).resolve().parent / "results" / "data" / "farm.csv"
PUBLISHED, ASSUMED, FOLLOWS = "published (abstract)", "assumed", "follows from assumptions"
_PART = 1 << 20
_DAY = 86_400
_LONGEST = 7 * _DAY
#: As many jobs of one second are a burst.
_BURST = 10


class Row(NamedTuple):
    """A figure: what it is, what the generator yields, what is known or assumed, and by whom."""

    what: str
    generated: str
    expected: str
    source: str


class Counts:
    """Sums over the jobs of a log, some of them at a time."""

    def __init__(self, workload: Workload, days: float) -> None:
        # Of parts of a week weekdays would not count alike.
        self.weeks = int(max(days // 7, 1) * 7 * _DAY)
        names = workload.name.values
        kinds = list(known.KINDS)
        self.kind = np.array([kinds.index(name.rstrip("0123456789")) for name in names])
        self.runtime = np.zeros(_LONGEST + 1, dtype=np.int64)
        self.used = np.zeros(101, dtype=np.int64)
        self.cores = np.zeros(17, dtype=np.int64)
        self.work_of_cores = np.zeros(17, dtype=np.int64)
        self.memory = np.zeros(4001, dtype=np.int64)
        self.hours = np.zeros((2, 24), dtype=np.int64)
        self.days = np.zeros((2, 7), dtype=np.int64)
        self.campaign = np.zeros(len(names), dtype=np.int64)
        self.array = np.zeros(len(workload.array.values) + 1, dtype=np.int64)
        self.user = np.zeros(len(workload.user.values), dtype=np.int64)
        self.first, self.last = (np.full(len(self.user), at) for at in (2**62, -1))
        self.failed = self.at_limit = self.in_bursts = self.largest = self.memory_work = 0

    def add(self, jobs: Workload) -> None:
        """Add some jobs, which follow those before; seconds that are cut in two count as two."""
        kind = self.kind[jobs.name.codes]
        memory = jobs.request[:, 1] // 1024
        work = jobs.units * jobs.runtime
        count(self.runtime, jobs.runtime)
        count(self.used, 100 * jobs.runtime // jobs.requested_time)
        count(self.cores, jobs.units)
        np.add.at(self.work_of_cores, jobs.units, work)
        count(self.memory, memory)
        count(self.campaign, jobs.name.codes)
        count(self.array, jobs.array.codes + 1)
        count(self.user, jobs.user.codes)
        np.minimum.at(self.first, jobs.user.codes, jobs.submit)
        np.maximum.at(self.last, jobs.user.codes, jobs.submit)
        # The jobs of the grid are not sent by people at their desks.
        grid = (np.array([entry.queue for entry in known.KINDS.values()]) == "grid")[kind].astype(
            int
        )
        second = jobs.submit + known.EPOCH
        count(self.hours.reshape(-1), 24 * grid + second // 3600 % 24)
        # The first day is a Monday.
        in_full_weeks = jobs.submit < self.weeks
        count(self.days.reshape(-1), (7 * grid + jobs.submit // _DAY % 7)[in_full_weeks])
        limit = np.array([entry.limit for entry in known.KINDS.values()])[kind]
        self.at_limit += int((jobs.requested_time == limit).sum())
        self.failed += int((jobs.status == Status.FAILED).sum())
        together = np.diff(np.flatnonzero(np.diff(jobs.submit, prepend=-1, append=-1)))
        self.in_bursts += int(together[together >= _BURST].sum())
        self.largest = max(self.largest, int(together.max()))
        self.memory_work += int((work * memory).sum())


def count(totals: IntArray, values: IntArray) -> None:
    """Count values in place."""
    totals += np.bincount(values, minlength=len(totals))


def counts_of(workload: Workload, days: float) -> Counts:
    """Return the sums of a log of so many days."""
    counts = Counts(workload, days)
    for first in range(0, len(workload), _PART):
        end = min(first + _PART, len(workload))
        counts.add(workload.between(first, end))
        workload.let_go(first, end)
    return counts


def percent(part: float, total: float) -> str:
    """Return a share."""
    return f"{100 * part / total:.1f} %"


def shares(parts: Sequence[float]) -> str:
    """Return shares of a whole."""
    return " / ".join(f"{100 * part / sum(parts):.1f}" for part in parts) + " %"


def quantiles(totals: IntArray, *levels: float) -> list[int]:
    """Return values below which such shares of what was counted lie."""
    places = np.searchsorted(np.cumsum(totals), np.array(levels) * totals.sum())
    return [int(value) for value in places]


def most(totals: IntArray, share: float) -> float:
    """Return the part of the total that a share of all with any has, the largest ones."""
    positive = np.sort(totals[totals > 0])[::-1]
    return float(positive[: max(1, round(share * len(positive)))].sum() / totals.sum())


def totals(counts: Counts, days: float) -> Iterator[Row]:
    """Yield what is published."""
    jobs = int(counts.cores.sum())
    system = load_system(SYSTEM)
    tera = int(system.total[system.resource_index("mem")]) * 1024 / 1e12
    users = int((counts.user > 0).sum())
    yield Row("jobs", f"{jobs:,}", "44 million in 2024", PUBLISHED)
    yield Row("jobs a day", f"{jobs / days:,.0f}", "120,200 (44 million in 366 days)", PUBLISHED)
    yield Row("users with jobs", f"{users:,}", "1,000 in 2024", PUBLISHED)
    yield Row("machines", f"{system.num_nodes}", "312 at most", PUBLISHED)
    yield Row("threads", f"{int(system.total[0]):,}", "46,000", PUBLISHED)
    yield Row("memory", f"{tera:.0f} TB", "105 TB", PUBLISHED)


def sizes(counts: Counts, days: float) -> Iterator[Row]:
    """Yield loads, kinds of jobs, cores and memory."""
    kinds = known.KINDS.values()
    jobs, span = int(counts.cores.sum()), days * _DAY
    work = counts.work_of_cores
    load = percent(work.sum(), known.THREADS * span)
    yield Row("load: thread-seconds used of those there", load, "80 % (option load)", ASSUMED)
    held = int(load_system(SYSTEM).total[1]) / 1024
    asked = percent(counts.memory_work, held * span)
    yield Row("memory asked for while jobs run, of that there", asked, "", FOLLOWS)
    of_kind = np.bincount(counts.kind, counts.campaign, len(kinds)).tolist()
    assumed = shares([kind.share for kind in kinds])
    yield Row(f"jobs: {' / '.join(known.KINDS)}", shares(of_kind), assumed, ASSUMED)
    groups = [counts.cores[1], counts.cores[2:8].sum(), counts.cores[8], counts.cores[9:].sum()]
    alone = sum(kind.share for kind in kinds if kind.cores == (1,))
    wide, pilot = known.KINDS["wide"].share / 4, known.KINDS["pilot"].share
    cores = shares([alone, 2 * wide, pilot + wide, wide])
    yield Row("jobs of 1 / 2 to 7 / 8 / more cores", shares(groups), cores, ASSUMED)
    groups = [work[1], work[2:8].sum(), work[8], work[9:].sum()]
    yield Row("their work", shares(groups), "", FOLLOWS)
    mean = (counts.memory * np.arange(len(counts.memory))).sum() / jobs
    least = sum(kind.share * sum(kind.memory) / 2 for kind in kinds)
    yield Row("memory of a core, mean", f"{mean:,.0f} MB", f"{least:,.0f} MB", ASSUMED)


def times(counts: Counts, _: float) -> Iterator[Row]:
    """Yield runtimes and requested times."""
    jobs = int(counts.cores.sum())
    low, half, high, top = quantiles(counts.runtime, 0.1, 0.5, 0.9, 0.99)
    runtime = f"{low:,} / {half:,} / {high:,} / {top:,} s"
    yield Row("runtime: 10 / 50 / 90 / 99 % of the jobs below", runtime, "", FOLLOWS)
    below = [int(counts.runtime[:end].sum()) for end in (60, 3600, _DAY)]
    shown = " / ".join(percent(jobs_below, jobs) for jobs_below in below)
    yield Row("runtime below a minute / hour / day", shown, "", FOLLOWS)
    mean = (counts.used * (np.arange(101) + 0.5)).sum() / jobs
    yield Row("runtime of requested time, mean", f"{mean:.0f} %", "", FOLLOWS)
    tenth = percent(counts.used[:10].sum(), jobs)
    yield Row("jobs that use less than a tenth of it", tenth, "", FOLLOWS)
    yield Row("jobs that end at it", percent(counts.used[100], jobs), "", FOLLOWS)
    asked = percent(counts.at_limit, jobs)
    least = f"at least {percent(known.DO_NOT_SAY, 1)} of campaigns"
    yield Row("jobs that ask for the most of their queue", asked, least, ASSUMED)
    failed = percent(counts.failed, jobs)
    yield Row("jobs that fail", failed, percent(known.FAILED, 1), ASSUMED)


def arrivals(counts: Counts, _: float) -> Iterator[Row]:
    """Yield when jobs are submitted."""
    jobs = int(counts.cores.sum())
    people, grid = (f"{hours.max() / hours.min():.1f}" for hours in counts.hours)
    ratio = max(known.HOURS) / min(known.HOURS)
    for what, measured, power in (("people", people, 1.0), ("the grid", grid, 0.15)):
        name = f"busiest hour of the day over the quietest: {what}"
        yield Row(name, measured, f"{ratio**power:.1f}, and chance", ASSUMED)
    yield Row(
        "busiest hour of people (UTC)", f"{counts.hours[0].argmax()}", "10, 11, 14, 15", ASSUMED
    )
    for at, (what, power) in enumerate((("people", 1.0), ("the grid", 0.15))):
        day = counts.days[at]
        measured = f"{day[5:].mean() / day[:5].mean():.2f}"
        level = np.array(known.WEEK) ** power
        assumed = f"{level[5:].mean() / level[:5].mean():.2f}, and chance"
        yield Row(f"a day of the weekend over a weekday: {what}", measured, assumed, ASSUMED)
    bursts = percent(counts.in_bursts, jobs)
    yield Row("jobs submitted in one second with nine others or more", bursts, "", FOLLOWS)
    yield Row("most jobs of one second", f"{counts.largest:,}", "50,000 of an array", ASSUMED)


def people(counts: Counts, days: float) -> Iterator[Row]:
    """Yield campaigns, arrays and users."""
    jobs = int(counts.cores.sum())
    sizes = counts.campaign[counts.campaign > 0]
    yield Row("campaigns", f"{len(sizes):,}", "", FOLLOWS)
    shown = " / ".join(f"{value:,.0f}" for value in np.quantile(sizes, (0.5, 0.9, 1.0)))
    assumed = "40 / 402 / 50,000 at most"
    yield Row("jobs of a campaign: half / 90 % / all below", shown, assumed, ASSUMED)
    tasks = percent(counts.array[1:].sum(), jobs)
    arrays = percent(sum(kind.share * kind.arrays for kind in known.KINDS.values()), 1)
    yield Row("jobs that are tasks of arrays", tasks, f"{arrays} but for single jobs", ASSUMED)
    top = " / ".join(percent(most(counts.user, share), 1) for share in (0.01, 0.1, 0.5))
    yield Row("jobs of the busiest 1 / 10 / 50 % of users", top, "", FOLLOWS)
    active = counts.user > 0
    stays = (counts.last - counts.first)[active] / _DAY
    yield Row(
        "from a user's first job to the last, median", f"{np.median(stays):.1f} days", "", FOLLOWS
    )
    late = percent((counts.first[active] > 0.25 * days * _DAY).sum(), active.sum())
    yield Row("users whose first job is after a quarter of the time", late, "", FOLLOWS)
    gone = percent((counts.last[active] < 0.75 * days * _DAY).sum(), active.sum())
    yield Row("users whose last job is before three quarters of it", gone, "", FOLLOWS)


def rows(jobs: int, seed: int) -> list[Row]:
    """Generate a log, and return its figures."""
    options = FARM.options(jobs=jobs, seed=seed)
    counts = counts_of(FARM.generate(options), options.span)
    parts = (totals, sizes, times, arrivals, people)
    return [row for part in parts for row in part(counts, options.span)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--jobs", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    columns = [rows(jobs, given.seed) for jobs in given.jobs]
    head = ["", *(f"{jobs:,} jobs" for jobs in given.jobs), "known or assumed", "source"]
    table = [
        [row.what, *(column[at].generated for column in columns), row.expected, row.source]
        for at, row in enumerate(columns[0])
    ]
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *table])
    for line in [head, *table]:
        print(" | ".join(line))


if __name__ == "__main__":
    main()
