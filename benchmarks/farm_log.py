"""
A year of a high-throughput farm: 44 million jobs on 312 nodes, few of them of more than one core.

    python benchmarks/farm_log.py --out LOG [--jobs N] [--seed N] [--days N] [--load SHARE]

For the system ``benchmarks/systems/farm-312.toml``. After what is published of a year of the IN2P3
Computing Center (``farm_tables.py``), which is little; benchmarks/results/generators.md compares
both. Jobs come in campaigns of one user and one request: arrays at once, the others in bursts over
hours or days. They are sampled a million at a time. Columns of a long log lie in files in the
folder for temporary files: 150 bytes a job, 7 GB for the year.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import farm_tables as known
import numpy as np
from farm_tables import KINDS

from cpsched import logs
from cpsched.errors import ConfigError
from cpsched.logs.generators import (
    LARGEST_SEED,
    check_integers,
    check_number,
    header,
    heavy_sizes,
    log_normal,
    option,
    pick,
    stratified,
    streams,
)
from cpsched.model.arrays import let_go, shared
from cpsched.model.workload import Labels, Workload
from cpsched.util.types import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.util.types import BoolArray, FloatArray, IntArray

#: The system of the log.
SYSTEM = Path(__file__).resolve().parent / "systems" / "farm-312.toml"
#: Counts up when equal options begin to give another workload.
VERSION = 1
_DAY = 86_400
_MONTH = 30.5
_NAMES = tuple(KINDS)
#: Jobs that are drawn at once.
_PART = 1 << 20
#: Jobs of one second in a burst, median and deviation of the logarithm.
_BURST, _BURSTS = 6.0, 1.2
#: Runtimes within a campaign: deviations of the logarithm.
_ALIKE, _APART = 0.04, 0.5
_SHORTEST = 2
#: MB; people ask for round amounts.
_STEP = 250
#: How far the expected work may be from the load.
_TOLERANCE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class FarmOptions:
    """Options of the generator ``farm``."""

    jobs: int = option(1_000_000, "number of jobs; a year has 44,000,000")
    seed: int = option(1, "seed of all random choices; equal seeds give equal workloads")
    days: float | None = option(
        None, "length of the log in days; by default 120,000 jobs a day, as in the year"
    )
    load: float = option(0.8, "share of the machine's core-hours of these days that jobs use")

    def __post_init__(self) -> None:
        check_integers(self, jobs=(1000, 200_000_000), seed=(0, LARGEST_SEED))
        check_number(self, load=(0.01, 2.0), days=(0.1, 3660.0))

    @property
    def span(self) -> float:
        """Length of the log in days, chosen or in proportion to the jobs."""
        if self.days is not None:
            return float(self.days)
        return known.DAYS * self.jobs / known.JOBS


class Farm:
    """Generator of a farm's year; see the module."""

    name = "farm"
    summary = "a year of a high-throughput farm: 44 million jobs, most of one core, on 312 nodes"
    options = FarmOptions

    def generate(self, options: FarmOptions) -> Workload:
        """
        Return the workload of the given options, for system ``farm-312``.

        Raises
        ------
        ConfigError
            If the number of jobs does not allow this amount of work.
        OSError
            If there is no space for the columns of a long log in the folder for temporary files.
        """
        rngs = streams(options.seed, 4)
        campaigns = _campaigns(rngs[0], options)
        batches = _batches(rngs[1], campaigns, options)
        labels = _labels(rngs[2], campaigns, batches)
        columns = {name: shared(options.jobs)[0] for name in (*_DRAWN, *labels)}
        # Two characters lie where one number would.
        wide = shared(options.jobs, (len(str(options.jobs)) + 1) // 2)[0]
        ids = wide.view(f"U{2 * wide.shape[1]}").reshape(-1)
        request = shared(options.jobs, 2)[0]
        for rows, batch in _parts(batches, options.jobs):
            campaign = batches.campaign[batch]
            drawn = _jobs(rngs[3], campaigns, campaign)
            drawn["submit"] = batches.second[batch]
            ids[rows] = np.arange(rows.start + 1, rows.stop + 1)
            request[rows, 0], request[rows, 1] = 1, campaigns.memory[campaign]
            for name, label in labels.items():
                columns[name][rows] = label.codes[batch]
            for name in _DRAWN:
                columns[name][rows] = drawn[name]
            for array in (ids, request, *columns.values()):
                let_go(array, rows.start, rows.stop)
        columns_drawn: dict[str, Any] = {name: columns[name] for name in _DRAWN}
        columns_drawn |= {
            name: Labels(columns[name], label.values) for name, label in labels.items()
        }
        return Workload.build(
            title=f"farm-{options.jobs}-seed{options.seed}",
            epoch=known.EPOCH,
            resources=("core", "mem"),
            header=header(Farm.name, VERSION, options),
            job_id=ids,
            request=request,
            **columns_drawn,
        )


FARM = Farm()
#: Columns that are drawn job by job, or follow from campaigns.
_DRAWN = ("submit", "runtime", "requested_time", "status", "units", "nodes_max", "array_limit")


@dataclass(frozen=True, slots=True)
class _Campaigns:
    """Campaigns, C of them; every array has shape ``(C,)``; memory in KB for each core."""

    size: IntArray
    kind: IntArray
    is_array: BoolArray
    user: IntArray
    begin: FloatArray
    days: FloatArray
    cores: IntArray
    memory: IntArray
    median: FloatArray
    spread: FloatArray
    requested: IntArray
    throttle: IntArray

    def __len__(self) -> int:
        return len(self.size)


@dataclass(frozen=True, slots=True)
class _Batches:
    """Jobs of a campaign that are submitted in one second, in order of these; B of them."""

    campaign: IntArray
    second: IntArray
    size: IntArray


def _of_kinds(kind: IntArray, attribute: str) -> Any:
    """Return an attribute of each campaign's kind."""
    return np.array([getattr(entry, attribute) for entry in KINDS.values()])[kind]


def _campaigns(rng: np.random.Generator, options: FarmOptions) -> _Campaigns:
    """Draw campaigns; shares are met by jobs, not by campaigns."""
    size = heavy_sizes(
        rng, options.jobs, median=40.0, sigma=1.8, largest=min(50_000, max(10, options.jobs // 100))
    )
    count = len(size)
    kind = pick(stratified(rng, size), [entry.share for entry in KINDS.values()])
    is_array = rng.random(count) < np.where(size > 1, _of_kinds(kind, "arrays"), 0.0)
    begin = stratified(rng, np.ones(count)) * options.span
    least, most = _of_kinds(kind, "memory").T
    cores = np.empty(count, dtype=np.int64)
    for number, entry in enumerate(KINDS.values()):
        rows = np.flatnonzero(kind == number)
        cores[rows] = np.array(entry.cores)[rng.integers(0, len(entry.cores), len(rows))]
    drawn = log_normal(rng, _of_kinds(kind, "median"), _of_kinds(kind, "spread"), count)
    spread = np.where(rng.random(count) < 0.4, _ALIKE, _APART)
    limit = _of_kinds(kind, "limit")
    median = _scaled(drawn, size * cores, spread, limit, options)
    slack = 1.3 + rng.exponential(2.0, count)
    asked = np.array(known.REQUESTS)
    wanted = asked[np.minimum(np.searchsorted(asked, slack * median), len(asked) - 1)]
    values, shares = zip(*known.THROTTLES, strict=True)
    throttle = np.array(values)[pick(rng.random(count), shares)]
    return _Campaigns(
        size=size,
        kind=kind,
        is_array=is_array,
        user=_users(rng, kind, begin, options.span),
        begin=begin,
        days=np.minimum(log_normal(rng, _of_kinds(kind, "days"), 1.0, count), 30.0),
        cores=cores,
        memory=1024 * _STEP * rng.integers(least // _STEP, most // _STEP + 1),
        median=median,
        spread=spread,
        requested=np.where(rng.random(count) < known.DO_NOT_SAY, limit, np.minimum(wanted, limit)),
        throttle=np.where(is_array, throttle, 0),
    )


def _scaled(
    drawn: FloatArray, cores: IntArray, spread: FloatArray, limit: IntArray, options: FarmOptions
) -> FloatArray:
    """Return the campaigns' median runtimes, in proportion to those drawn, that make the load."""
    work = options.load * known.THREADS * options.span * _DAY
    # Failed jobs run for a third of the time.
    mean = np.exp(spread**2 / 2) * (1 - 2 / 3 * known.FAILED)
    low, high = 1e-6, 1e6
    median: FloatArray = drawn
    for _ in range(60):
        factor = (low * high) ** 0.5
        median = np.clip(drawn * factor, _SHORTEST, 0.3 * limit)
        done = float((median * mean * cores).sum())
        low, high = (factor, high) if done < work else (low, factor)
    if abs(done - work) > _TOLERANCE * work:
        raise ConfigError(
            f"{options.jobs:,} jobs cannot have {work / 3600:,.0f} core-hours, the nearest is"
            f" {done / 3600:,.0f}; change jobs, days or load",
            key="load",
        )
    return median


def _users(rng: np.random.Generator, kind: IntArray, begin: FloatArray, span: float) -> IntArray:
    """Choose the user of each campaign among those of its kind who are there at the time."""
    shares = np.array([entry.users for entry in KINDS.values()])
    # A short log sees fewer people; each kind has some.
    total = known.USERS * min(1.0, (span / known.DAYS) ** 0.3)
    counts = np.maximum((shares * total).round().astype(np.int64), 2)
    first = np.cumsum(counts) - counts
    month = (begin // _MONTH).astype(np.int64)
    user = np.empty(len(kind), dtype=np.int64)
    for number, count in enumerate(counts.tolist()):
        # Two in five are there from the beginning; all are for a while.
        comes = np.maximum(rng.uniform(-0.65 * span, 0.97 * span, count), 0.0)
        stays = log_normal(rng, 0.3 * known.DAYS, 1.0, count)
        # Services are there all the year.
        always = number < 2 or np.arange(count) < 2
        activity = (3.0 + np.arange(count)) ** -1.1
        rows = np.flatnonzero(kind == number)
        of_month = month[rows]
        for which in np.unique(of_month):
            at = (which + 0.5) * _MONTH
            present = always | ((comes <= at) & (at < comes + stays))
            chosen = rows[of_month == which]
            drawn = pick(rng.random(len(chosen)), np.where(present, activity, 0.0))
            user[chosen] = first[number] + drawn
    return user


def _batches(rng: np.random.Generator, campaigns: _Campaigns, options: FarmOptions) -> _Batches:
    """Return when which jobs are submitted: arrays at once, the others in bursts."""
    burst = np.maximum(log_normal(rng, _BURST, _BURSTS, len(campaigns)), 1.0)
    number = np.where(campaigns.is_array, 1, np.ceil(campaigns.size / burst)).astype(np.int64)
    campaign = np.repeat(np.arange(len(campaigns)), number)
    place = np.arange(len(campaign)) - np.repeat(np.cumsum(number) - number, number)
    size, rest = np.divmod(campaigns.size, number)
    size = size[campaign] + (place < rest[campaign])
    day = campaigns.begin[campaign]
    day += np.where(campaigns.is_array, 0.0, campaigns.days)[campaign] * rng.random(len(campaign))
    # What would come after the last day comes on the first ones.
    part = (day / options.span) % 1.0
    seconds = np.empty(len(campaign))
    for is_grid in (True, False):
        rows = (_of_kinds(campaigns.kind, "queue") == "grid")[campaign] == is_grid
        edges, before = _calendar(rng, options.span, 0.15 if is_grid else 1.0)
        seconds[rows] = np.interp(part[rows], before, edges)
    second = np.minimum(seconds, options.span * _DAY - 1).astype(np.int64)
    order = np.lexsort((campaign, second))
    return _Batches(campaign[order], second[order], size[order])


def _calendar(rng: np.random.Generator, days: float, power: float) -> tuple[FloatArray, FloatArray]:
    """Return edges of hours in seconds, and the part of all activity before each."""
    hours = int(np.ceil(24 * days))
    day = np.arange(hours) // 24
    month = np.minimum(day % 366 / _MONTH, 11).astype(np.int64)
    level = np.array(known.HOURS)[np.arange(hours) % 24] * np.array(known.WEEK)[day % 7]
    level = (level * np.array(known.MONTHS)[month]) ** power
    level *= np.exp(0.2 * rng.standard_normal(day[-1] + 1))[day]
    edges = np.minimum(np.arange(hours + 1) * 3600.0, days * _DAY)
    level = level * np.diff(edges)
    return edges, np.concatenate([[0.0], np.cumsum(level) / level.sum()])


def _labels(
    rng: np.random.Generator, campaigns: _Campaigns, batches: _Batches
) -> dict[str, Labels]:
    """Return the columns of strings, one row a batch."""
    queues = list(dict.fromkeys(entry.queue for entry in KINDS.values()))
    queue = np.array([queues.index(entry.queue) for entry in KINDS.values()])
    users = int(campaigns.user.max(initial=0)) + 1
    groups = pick(rng.random(users), 1 / (2.0 + np.arange(known.GROUPS)))
    numbers = np.arange(len(campaigns))
    names = [f"{_NAMES[k]}{c}" for c, k in enumerate(campaigns.kind.tolist())]
    arrays = np.where(campaigns.is_array, numbers, -1)

    def column(values: list[str], codes: IntArray) -> Labels:
        # Codes are in order of first appearance then.
        return Labels(codes[batches.campaign], tuple(values)).take(np.arange(len(batches.campaign)))

    return {
        "queue": column(queues, queue[campaigns.kind]),
        "user": column([f"u{number:04d}" for number in range(users)], campaigns.user),
        "group": column(
            [f"g{number:02d}" for number in range(known.GROUPS)], groups[campaigns.user]
        ),
        "name": column(names, numbers),
        "array": column([f"a{number}" for number in range(len(campaigns))], arrays),
    }


def _parts(batches: _Batches, num_jobs: int) -> Iterator[tuple[slice, IntArray]]:
    """Return jobs ``[first, end)`` and the batch of each, by turns."""
    ends = np.cumsum(batches.size)
    for first in range(0, num_jobs, _PART):
        end = min(first + _PART, num_jobs)
        yield slice(first, end), np.searchsorted(ends, np.arange(first, end), side="right")


def _jobs(
    rng: np.random.Generator, campaigns: _Campaigns, campaign: IntArray
) -> dict[str, IntArray]:
    """Draw how long some jobs run and how they end, by their campaigns."""
    drawn = log_normal(rng, campaigns.median[campaign], campaigns.spread[campaign], len(campaign))
    failed = rng.random(len(campaign)) < known.FAILED
    drawn = np.where(failed, drawn * rng.random(len(campaign)) ** 2, drawn)
    requested = campaigns.requested[campaign]
    runtime = np.clip(drawn, _SHORTEST, requested).astype(np.int64)
    status = np.select(
        [runtime >= requested, failed], [Status.TIMEOUT, Status.FAILED], Status.COMPLETED
    )
    return {
        "runtime": runtime,
        "requested_time": requested,
        "status": status,
        "units": campaigns.cores[campaign],
        "nodes_max": np.ones(len(campaign), dtype=np.int64),
        "array_limit": campaigns.throttle[campaign],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--days", type=float)
    parser.add_argument("--load", type=float, default=0.8)
    given = vars(parser.parse_args())
    out = given.pop("out")
    logs.write(FARM.generate(FarmOptions(**given)), out)


if __name__ == "__main__":
    main()
