"""
A month of a site that runs Slurm: partitions, QOS, accounts, arrays, GPUs, and people's habits.

For system ``site-152`` and its policy. Nothing in it is measured at a site
(:mod:`cpsched.slurm.site_tables`); shares of jobs and the load of the machine are met, the
rest is drawn. Jobs come in campaigns: stretches of similar jobs of one user.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

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
from cpsched.model.workload import Workload
from cpsched.slurm import site_tables as tables
from cpsched.slurm.site_tables import KINDS
from cpsched.util.types import MISSING, DependencyType, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.util.types import BoolArray, FloatArray, IntArray

#: Counts up when equal options begin to give another workload.
VERSION = 1
#: Monday, 2 March 2026, in UTC.
_EPOCH = 1_772_409_600
_DAY = 86_400
_NAMES = tuple(KINDS)
_SERIAL, _SHARED, _, _GPU, _BIGMEM = range(len(_NAMES))
_REQUESTS = np.array(tables.REQUESTS, dtype=np.int64)
#: Ids of jobs begin here.
_FIRST_ID = 100_001
#: How far from its share the work of a kind may be.
_TOLERANCE = 0.005
_SHORTEST = 5
#: Times that runtimes are drawn up to their share of the work.
_ROUNDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteOptions:
    """Options of the generator ``site``."""

    jobs: int = option(100_000, "number of jobs (each task of an array counts)")
    days: float = option(30.0, "days in which they are submitted")
    seed: int = option(1, "seed of all random choices. The same seed gives the same jobs")
    load: float = option(0.9, "share of the system's core-hours of these days that jobs ask for")
    arrays: float = option(1 / 3, "share of the jobs that are tasks of arrays")

    def __post_init__(self) -> None:
        check_integers(self, jobs=(1000, 10_000_000), seed=(0, LARGEST_SEED))
        check_number(self, days=(1.0, 3660.0), load=(0.01, 3.0), arrays=(0.0, 0.45))


class SiteGenerator:
    """
    Generator of a synthetic month of jobs of a Slurm site, for system ``site-152``.

    Jobs have partitions, QOS, accounts, job arrays, GPUs and licences.
    """

    name = "site"
    summary = "synthetic month of a Slurm site: partitions, QOS, accounts, arrays, GPUs, licences"
    options = SiteOptions

    def generate(self, options: SiteOptions) -> Workload:
        """
        Return the workload of the given options, for system ``site-152``.

        Raises
        ------
        ConfigError
            If the number of jobs does not allow this amount of work.
        """
        rngs = streams(options.seed, 6)
        campaigns = _campaigns(rngs[0], options)
        jobs = _jobs(rngs[1], campaigns, options)
        submit = _submits(rngs[2], campaigns, jobs, options)
        return _assemble(options, campaigns, jobs, submit, rngs[3:])


SITE = SiteGenerator()


@dataclass(frozen=True, slots=True)
class _Campaigns:
    """Campaigns, C of them; every array has shape ``(C,)``."""

    size: IntArray
    kind: IntArray
    is_array: BoolArray
    user: IntArray
    qos: IntArray
    cores: IntArray
    nodes: IntArray
    gpus: IntArray
    memory: IntArray
    median: FloatArray
    spread: FloatArray
    slack: FloatArray

    def __len__(self) -> int:
        return len(self.size)


@dataclass(frozen=True, slots=True)
class _Jobs:
    """Jobs by campaign, J of them; every array has shape ``(J,)``."""

    campaign: IntArray
    number: IntArray
    runtime: IntArray
    requested: IntArray
    status: IntArray


def _campaigns(rng: np.random.Generator, options: SiteOptions) -> _Campaigns:
    """Draw campaigns; shares are met by jobs, not by campaigns."""
    size = heavy_sizes(
        rng, options.jobs, median=5.0, sigma=1.5, largest=max(10, options.jobs // 100)
    )
    count = len(size)
    kind = pick(stratified(rng, size), [KINDS[name].share for name in _NAMES])
    is_array = np.zeros(count, dtype=np.bool_)
    scale = options.arrays / sum(job_class.share * job_class.arrays for job_class in KINDS.values())
    for number, name in enumerate(_NAMES):
        rows = np.flatnonzero((kind == number) & (size > 1))
        if len(rows):
            is_array[rows] = stratified(rng, size[rows]) < min(1.0, KINDS[name].arrays * scale)
    # Few people do most of the work.
    user = pick(stratified(rng, size), 1 / (3.0 + np.arange(tables.USERS)) ** 0.9)
    user = np.random.Generator(np.random.PCG64(tables.USERS)).permutation(tables.USERS)[user]
    cores, nodes = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    memory, median, spread = np.empty(count, dtype=np.int64), np.empty(count), np.empty(count)
    for number, name in enumerate(_NAMES):
        rows, job_class = np.flatnonzero(kind == number), KINDS[name]
        cores[rows] = _choices(rng, size[rows], job_class.cores)
        nodes[rows] = _choices(rng, size[rows], job_class.nodes)
        least, largest = job_class.memory
        memory[rows] = 100 * rng.integers(least // 100, largest // 100 + 1, len(rows))
        median[rows], spread[rows] = job_class.median, job_class.spread
    gpus = np.where(kind == _GPU, _choices(rng, size, tables.GPU_COUNTS), 0)
    gpus = np.where((kind == _GPU) & (nodes > 1), tables.GPUS, gpus)
    return _Campaigns(
        size=size,
        kind=kind,
        is_array=is_array,
        user=user,
        qos=pick(stratified(rng, size), tables.QOS_SHARES),
        cores=np.where(kind == _GPU, cores * gpus, cores),
        nodes=nodes,
        gpus=gpus,
        memory=memory,
        median=log_normal(rng, median, spread, count),
        spread=np.where(rng.random(count) < 0.4, 0.03, 0.2 + 0.6 * rng.random(count)),
        slack=1.2 + rng.exponential(2.0, count) * rng.integers(0, 3, count),
    )


def _choices(
    rng: np.random.Generator, weights: IntArray, table: Sequence[tuple[int, float]]
) -> IntArray:
    """Return values of a table of values and shares, the shares met by weight."""
    values = np.array([value for value, _ in table], dtype=np.int64)
    chosen: IntArray = values[pick(stratified(rng, weights), [share for _, share in table])]
    return chosen


def _jobs(rng: np.random.Generator, campaigns: _Campaigns, options: SiteOptions) -> _Jobs:
    """Draw runtimes so that the kinds have their work, then what users ask for."""
    campaign = np.repeat(np.arange(len(campaigns)), campaigns.size)
    number = np.arange(len(campaign)) - np.repeat(
        np.cumsum(campaigns.size) - campaigns.size, campaigns.size
    )
    kind = campaigns.kind[campaign]
    # Within a campaign runtimes are similar, in some of them nearly equal.
    drawn = log_normal(rng, campaigns.median[campaign], campaigns.spread[campaign], len(campaign))
    failed = rng.random(len(campaign)) < tables.FAILED
    drawn = np.where(failed, drawn * rng.random(len(campaign)) ** 2, drawn)
    limit = np.select(
        [kind == _GPU, kind == _BIGMEM, campaigns.nodes[campaign] > tables.LONG_NODES],
        [tables.LIMITS["gpu"], tables.LIMITS["bigmem"], tables.LIMITS["normal"]],
        tables.LIMITS["long"],
    )
    cores = (campaigns.cores * campaigns.nodes)[campaign]
    # Some ask for less than they need and are killed for it.
    short = ~failed & (rng.random(len(campaign)) < tables.TOO_LONG)
    stopped = rng.random(len(campaign)) < tables.STOPPED
    budgets = _budgets(kind, options)
    works = [work for _, work in budgets]
    runtime, requested = np.empty_like(kind), np.empty_like(kind)
    # What is cut off there is made good by all jobs of the kind.
    for _ in range(_ROUNDS):
        for (rows, _), work in zip(budgets, works, strict=True):
            runtime[rows] = _scaled(drawn[rows], cores[rows], limit[rows], work)
        requested = _requested(campaigns, runtime, limit, failed=failed, short=short)
        runtime = np.minimum(runtime, requested)
        done = [float((runtime[rows] * cores[rows]).sum()) for rows, _ in budgets]
        works = [
            work * right / real for work, (_, right), real in zip(works, budgets, done, strict=True)
        ]
    status = np.select(
        [runtime >= requested, failed, stopped],
        [int(Status.TIMEOUT), int(Status.FAILED), int(Status.CANCELLED)],
        int(Status.COMPLETED),
    )
    return _Jobs(campaign, number, runtime, requested, status)


def _requested(
    campaigns: _Campaigns,
    runtime: IntArray,
    limit: IntArray,
    *,
    failed: BoolArray,
    short: BoolArray,
) -> IntArray:
    """Return the requested times: round ones above the longest run of a campaign, mostly."""
    first = np.cumsum(campaigns.size) - campaigns.size
    longest = np.maximum.reduceat(np.where(failed, 0, runtime), first)
    wanted = np.repeat(campaigns.slack * longest, campaigns.size)
    wanted = np.minimum(np.where(short, 0.9 * runtime, wanted), limit)
    position = np.searchsorted(_REQUESTS, wanted)
    position = np.where(short, np.maximum(position - 1, 0), position)
    return np.minimum(_REQUESTS[np.minimum(position, len(_REQUESTS) - 1)], limit)


def _budgets(kind: IntArray, options: SiteOptions) -> list[tuple[IntArray, float]]:
    """Return the jobs that share nodes, and the core seconds they have in all."""
    nodes = {"gpu": tables.GPU_NODES, "bigmem": tables.BIG}
    total = tables.THIN + tables.LONG + tables.GPU_NODES + tables.BIG
    left = options.load * total
    budgets = []
    for number, name in ((_GPU, "gpu"), (_BIGMEM, "bigmem")):
        part = options.load * tables.LOADS[name] * nodes[name]
        left -= part
        budgets.append((np.flatnonzero(kind == number), part))
    budgets.append((np.flatnonzero(kind < _GPU), left))
    seconds = tables.CORES * _DAY * options.days
    return [(rows, part * seconds) for rows, part in budgets]


def _scaled(drawn: FloatArray, cores: IntArray, limit: IntArray, work: float) -> IntArray:
    """Return runtimes in proportion to those drawn, within limits, that add up to core seconds."""
    low, high = 1e-6, 1e6
    runtime = drawn.astype(np.int64)
    for _ in range(60):
        factor = (low * high) ** 0.5
        runtime = np.clip(drawn * factor, _SHORTEST, 0.97 * limit).astype(np.int64)
        done = float((runtime * cores).sum())
        if abs(done - work) <= _TOLERANCE / 10 * work:
            break
        low, high = (factor, high) if done < work else (low, factor)
    if abs(done - work) > _TOLERANCE * work:
        raise ConfigError(
            f"this load needs {work / 3600:,.0f} core-hours of {len(drawn)} similar jobs, which can"
            f" have {done / 3600:,.0f}. Change jobs, days or load.",
            key="load",
        )
    return runtime


def _submits(
    rng: np.random.Generator, campaigns: _Campaigns, jobs: _Jobs, options: SiteOptions
) -> IntArray:
    """Return when jobs are submitted: by day and week, arrays at once, campaigns in bursts."""
    count = len(campaigns)
    begins = stratified(rng, np.ones(count))
    length = np.minimum(log_normal(rng, 0.3, 1.5, count), 10.0) / options.days
    length = np.where(campaigns.is_array, 0.0, length)
    within = rng.random(len(jobs.campaign))
    # Bursts: most jobs of a campaign come with one of a few others.
    bursts = np.maximum(1, campaigns.size // 8)[jobs.campaign]
    within = np.where(rng.random(len(within)) < 0.7, np.floor(within * bursts) / bursts, within)
    moments = begins[jobs.campaign] + length[jobs.campaign] * within
    hours, activity = _calendar(rng, options.days)
    # What would come after the last day comes on the first ones.
    seconds = np.interp(moments % 1.0, activity, hours)
    seconds += np.where(campaigns.is_array[jobs.campaign], 0.0, rng.exponential(5.0, len(seconds)))
    submit: IntArray = np.minimum(seconds, options.days * _DAY - 1).astype(np.int64)
    # The jobs of a campaign are numbered as they come.
    return submit[np.lexsort((submit, jobs.campaign))]


def _calendar(rng: np.random.Generator, days: float) -> tuple[FloatArray, FloatArray]:
    """Return edges of hours in seconds, and the part of all activity before each."""
    hours = int(np.ceil(24 * days))
    day = np.arange(hours) // 24
    noise = np.exp(0.25 * rng.standard_normal(day[-1] + 1))
    level = (
        np.array(tables.HOURS)[np.arange(hours) % 24] * np.array(tables.WEEK)[day % 7] * noise[day]
    )
    edges = np.minimum(np.arange(hours + 1) * 3600.0, days * _DAY)
    level = level * np.diff(edges)
    return edges, np.concatenate([[0.0], np.cumsum(level) / level.sum()])


def _assemble(
    options: SiteOptions,
    campaigns: _Campaigns,
    jobs: _Jobs,
    submit: IntArray,
    streams: Sequence[np.random.Generator],
) -> Workload:
    """Make the workload: ids, partitions, and further requests of jobs."""
    of, number = jobs.campaign, len(submit)
    kind, tasks = campaigns.kind[of], campaigns.is_array[of]
    base = _base_ids(campaigns, jobs, submit)
    ids = [
        f"{first}_{task + 1}" if is_task else str(first)
        for first, task, is_task in zip(
            base.tolist(), jobs.number.tolist(), tasks.tolist(), strict=True
        )
    ]
    partition, queue = _partitions(streams[0], campaigns, jobs)
    nodes, cores = campaigns.nodes[of], campaigns.cores[of]
    memory = campaigns.memory[of] * 1024
    # Kinds that share nodes ask for memory by core, the others by node.
    by_core = np.isin(kind, (_SERIAL, _SHARED))
    zeros = np.zeros(number, dtype=np.int64)
    limits = _limits(streams[1], campaigns, jobs)[of]
    people = tables.users()
    first = int(submit.min())
    return Workload.build(
        title=f"site-seed{options.seed}",
        epoch=_EPOCH + first,
        resources=("core", "gpu", "mem"),
        header=header(SiteGenerator.name, VERSION, options),
        job_id=ids,
        submit=submit - first,
        runtime=jobs.runtime,
        requested_time=jobs.requested,
        units=cores * nodes,
        request=np.column_stack([zeros + 1, zeros, np.where(by_core, memory, 0)]),
        per_node=np.column_stack([zeros, campaigns.gpus[of], np.where(by_core, 0, memory * cores)]),
        nodes_min=nodes,
        nodes_max=nodes,
        partition=partition,
        queue=queue,
        user=_named([name for name, _ in people], campaigns.user[of]),
        group=_named([account for _, account in people], campaigns.user[of]),
        name=_named([f"{_NAMES[k]}{c}" for c, k in enumerate(campaigns.kind.tolist())], of),
        qos=_named(tables.QOS, campaigns.qos[of]),
        array=[
            str(base_id) if task else None
            for base_id, task in zip(base.tolist(), tasks, strict=True)
        ],
        array_limit=np.where(tasks, limits, 0),
        status=jobs.status,
        **_wishes(streams[2], campaigns, jobs, submit - first),
    )


def _limits(rng: np.random.Generator, campaigns: _Campaigns, jobs: _Jobs) -> IntArray:
    """Return how many tasks of each array may run at once: enough for it to end within days."""
    limits = _choices(rng, campaigns.size, tables.THROTTLES)
    seconds = np.add.reduceat(jobs.runtime, np.cumsum(campaigns.size) - campaigns.size)
    least = -(-seconds // (tables.DAYS_OF_ARRAY * _DAY))
    return np.where(limits > 0, np.maximum(limits, least), 0)


def _named(names: Sequence[str], codes: IntArray) -> list[str]:
    return [names[code] for code in codes.tolist()]


def _base_ids(campaigns: _Campaigns, jobs: _Jobs, submit: IntArray) -> IntArray:
    """Return the id of each job, or of its array, which takes as many ids as it has tasks."""
    of = jobs.campaign
    leads = ~campaigns.is_array[of] | (jobs.number == 0)
    takes = np.where(leads, np.where(campaigns.is_array[of], campaigns.size[of], 1), 0)
    order = np.lexsort((jobs.number, of, submit))
    ids = np.empty(len(of), dtype=np.int64)
    ids[order] = _FIRST_ID + np.cumsum(takes[order]) - takes[order]
    first = np.cumsum(campaigns.size) - campaigns.size
    return np.where(campaigns.is_array[of], ids[first[of]], ids)


def _partitions(
    rng: np.random.Generator, campaigns: _Campaigns, jobs: _Jobs
) -> tuple[list[str], list[str]]:
    """Return the partition of each job, and all those it may run in."""
    of = jobs.campaign
    kind, nodes = campaigns.kind[of], campaigns.nodes[of]
    habit = rng.random(len(campaigns))[of]
    brief = (jobs.requested <= tables.LIMITS["short"]) & (nodes <= tables.SHORT_NODES)
    names = ("gpu", "bigmem", "long", "short", "short,normal", "normal,long", "normal")
    chosen = np.select(
        [
            kind == _GPU,
            kind == _BIGMEM,
            jobs.requested > tables.LIMITS["normal"],
            brief & (habit < 0.45),
            brief & (habit < 0.6),
            (nodes <= tables.LONG_NODES) & (habit > 0.9),
        ],
        range(6),
        6,
    )
    first = [name.partition(",")[0] for name in names]
    return _named(first, chosen), _named(names, chosen)


def _wishes(
    rng: np.random.Generator, campaigns: _Campaigns, jobs: _Jobs, submit: IntArray
) -> dict[str, Any]:
    """Return the columns of further requests of some jobs, and of cancellations in the queue."""
    of, count, number = jobs.campaign, len(campaigns), len(submit)
    kind, alone = campaigns.kind, ~campaigns.is_array
    chained = alone & (stratified(rng, campaigns.size) < tables.CHAINED)
    follows = chained[of] & (jobs.number % tables.LONGEST_CHAIN > 0)
    chains = [(int(DependencyType[name.upper()]), share) for name, share in tables.CHAINS]
    types = _choices(rng, campaigns.size, chains)[of]
    night = submit + (20 * 3600 - submit) % _DAY
    late = (stratified(rng, campaigns.size) < tables.BEGIN)[of] & (night > submit) & ~follows
    licensed = (stratified(rng, campaigns.size) < tables.LICENSED) & (kind < _GPU)
    license_of = np.where(licensed, rng.integers(0, len(tables.LICENSES), count), -1)[of]
    nice = np.array(tables.NICE)[rng.integers(0, len(tables.NICE), count)]
    niced = stratified(rng, campaigns.size) < tables.NICED
    shares = kind == _SHARED
    exclusive = shares & (rng.random(count) < tables.EXCLUSIVE / KINDS["shared"].share)
    patience = np.maximum(log_normal(rng, 3600.0, 1.6, number), 1.0).astype(np.int64)
    cancelled = rng.random(number) < tables.CANCELLED
    return {
        "begin": np.where(late, night, MISSING),
        "dependency": np.where(follows, np.arange(number) - 1, -1),
        "dependency_type": np.where(follows, types, 0),
        "licenses": [tables.LICENSES[code] if code >= 0 else None for code in license_of.tolist()],
        "nice": np.where(niced, nice, 0)[of],
        "exclusive": exclusive[of],
        "cancel": np.where(cancelled, submit + patience, MISSING),
    }
