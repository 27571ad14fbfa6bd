"""
Campaigns: stretches of nearly equal jobs of one user, with their requested and true times.

Remediani 2017 (3.1.2) saw that jobs with similar profiles last about the same for long periods,
then change to other values and stay there. A campaign is one such stretch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched.logs.generators import heavy_sizes, log_normal, pick, stratified
from cpsched.papers.generators import eurora_tables as known
from cpsched.util.types import Status

if TYPE_CHECKING:
    from cpsched.util.types import BoolArray, FloatArray, IntArray

#: Assumed: median and log deviation of a campaign's jobs, and its most jobs, by class.
_SIZES = ((8.0, 1.6, 1000), (6.0, 1.1, 150), (2.0, 0.8, 12))
#: Assumed: no campaign is a larger part of its class than this.
_LARGEST_PART = 0.03
#: Assumed: log deviations of runtimes within a campaign, and the share of campaigns with each.
_NOISE = ((0.02, 0.35), (0.25, 0.40), (0.90, 0.25))
#: Assumed: share of jobs that die early. Those of medium campaigns are short jobs.
_FAILURES = (0.04, 0.08, 0.0)
#: Excerpt: of the debug jobs that use up their time, those that are killed; others stop in time.
_KILLED_IN_DEBUG = 0.16


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaigns:
    """
    One row a campaign; C campaigns.

    Attributes
    ----------
    job_class
        What its jobs are, the early failures apart: short, medium, long.
    size
        Number of jobs.
    queue, requested
        Queue and requested time, the same for all jobs.
    base, noise
        Typical runtime and the log deviation around it.
    limit
        Whether its jobs run until the requested time is over.
    """

    job_class: IntArray
    size: IntArray
    queue: IntArray
    requested: IntArray
    base: FloatArray
    noise: FloatArray
    limit: BoolArray

    def __len__(self) -> int:
        return len(self.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignJobs:
    """One row a job, campaign by campaign: whose it is, how long it ran and how it ended."""

    campaign: IntArray
    runtime: IntArray
    status: IntArray

    def per_campaign(self, amounts: FloatArray) -> FloatArray:
        """Return the sum of something of each job over the jobs of each campaign."""
        return np.asarray(np.bincount(self.campaign, weights=amounts), dtype=np.float64)


def class_counts(jobs: int) -> IntArray:
    """Return the number of short, medium and long jobs among ``jobs``, as published."""
    medium, long = (round(jobs * known.CLASS_SHARES[k]) for k in (known.MEDIUM, known.LONG))
    return np.array([jobs - medium - long, medium, long], dtype=np.int64)


def draw_campaigns(rng: np.random.Generator, jobs: int) -> Campaigns:
    """Return campaigns of ``jobs`` jobs in all; medium ones have room for their failures."""
    counts = class_counts(jobs)
    medium = round(counts[known.MEDIUM] / (1 - _FAILURES[known.MEDIUM]))
    counts[known.SHORT] -= medium - counts[known.MEDIUM]
    counts[known.MEDIUM] = medium
    sizes = []
    for (median, sigma, largest), count in zip(_SIZES, counts.tolist(), strict=True):
        highest = max(2, min(largest, int(_LARGEST_PART * count)))
        sizes.append(heavy_sizes(rng, count, median=median, sigma=sigma, largest=highest))
    job_class = np.repeat(np.arange(len(sizes)), [len(part) for part in sizes])
    size = np.concatenate(sizes)
    queue, requested, limit = _draw_requests(rng, job_class, size)
    return Campaigns(
        job_class=job_class,
        size=size,
        queue=queue,
        requested=requested,
        base=_draw_base(rng, job_class, queue, requested),
        noise=np.array([n for n, _ in _NOISE])[
            pick(stratified(rng, size), [share for _, share in _NOISE])
        ],
        limit=limit,
    )


def _draw_requests(
    rng: np.random.Generator, job_class: IntArray, size: IntArray
) -> tuple[IntArray, IntArray, BoolArray]:
    """Draw queue, requested time and whether it is used up, so that *jobs* have the shares."""
    queue = np.zeros(len(size), dtype=np.int64)
    for kind, shares in enumerate(known.QUEUE_SHARES):
        rows = np.flatnonzero(job_class == kind)
        queue[rows] = pick(stratified(rng, size[rows]), shares)
    requested = np.zeros(len(size), dtype=np.int64)
    limit = np.zeros(len(size), dtype=np.bool_)
    for (kind, name), table in known.WALLTIMES.items():
        rows = np.flatnonzero((job_class == kind) & (queue == name))
        chosen = pick(stratified(rng, size[rows]), [share for _, share in table])
        requested[rows] = np.array([seconds for seconds, _ in table])[chosen]
        share = known.LIMIT_SHARES.get((kind, name), 0.0)
        # A limit beyond the end of the class would make jobs of another class.
        within = requested[rows] <= known.CLASS_ENDS[kind]
        limit[rows] = within & (stratified(rng, size[rows]) < share)
    return queue, requested, limit


def _draw_base(
    rng: np.random.Generator, job_class: IntArray, queue: IntArray, requested: IntArray
) -> FloatArray:
    """Draw the typical runtime of campaigns that do not use up their time."""
    ends = np.minimum(requested, np.asarray(known.CLASS_ENDS)[job_class])
    median, sigma = (np.array(part)[queue] for part in zip(*known.SHORT_RUNTIMES, strict=True))
    short = log_normal(rng, median, sigma, len(queue))
    # Beyond an hour the excerpt's runtimes spread over what was requested, more of them early.
    start = np.array([known.LEAST_RUNTIME, *known.CLASS_ENDS[:-1]])[job_class] * 1.03
    beyond = start + np.maximum(0, ends - start) * rng.beta(0.9, 1.4, len(queue))
    base = np.where(job_class == known.SHORT, short, beyond)
    return _fold(rng, base, np.full(len(base), float(known.LEAST_RUNTIME)), 0.97 * ends)


def draw_runs(rng: np.random.Generator, campaigns: Campaigns, jobs: int) -> CampaignJobs:
    """
    Return runtime and status of every job.

    No job runs longer than it requested: one that would is killed there (status TIMEOUT). Exactly
    the published number of jobs falls into each class.
    """
    campaign = np.repeat(np.arange(len(campaigns)), campaigns.size)
    requested = campaigns.requested[campaign]
    wanted = _draw_wanted(rng, campaigns, campaign)
    kind = campaigns.job_class[campaign]
    ends = np.asarray(known.CLASS_ENDS)[kind]
    starts = np.array([known.LEAST_RUNTIME, *(end + 1 for end in known.CLASS_ENDS[:-1])])[kind]
    killed = (wanted >= requested) & (requested <= ends)
    inside = _fold(rng, wanted, starts, np.minimum(ends, requested - 1).astype(np.float64))
    failed = _draw_failures(rng, kind, jobs)
    early = np.minimum(known.LEAST_RUNTIME * 20.0 ** rng.random(jobs), 0.5 * requested)
    runtime = np.where(failed, early, np.where(killed, requested, inside))
    status = np.where(failed, Status.FAILED, np.where(killed, Status.TIMEOUT, Status.COMPLETED))
    return CampaignJobs(
        campaign=campaign,
        runtime=np.maximum(runtime, known.LEAST_RUNTIME).astype(np.int64),
        status=status.astype(np.int64),
    )


def _draw_wanted(rng: np.random.Generator, campaigns: Campaigns, campaign: IntArray) -> FloatArray:
    """Draw how long each job would run if nothing stopped it."""
    jobs = len(campaign)
    spread = np.exp(campaigns.noise[campaign] * rng.standard_normal(jobs))
    limit = campaigns.limit[campaign]
    wanted = np.where(limit, campaigns.requested[campaign], campaigns.base[campaign] * spread)
    # A debug job that computes "until time is up" mostly stops itself some seconds before.
    short = campaigns.job_class[campaign] == known.SHORT
    stops = limit & short & (rng.random(jobs) >= _KILLED_IN_DEBUG)
    return np.asarray(wanted - np.where(stops, rng.integers(3, 9, jobs), 0))


def _draw_failures(rng: np.random.Generator, kind: IntArray, jobs: int) -> BoolArray:
    """Choose the jobs that die early; of medium campaigns as many as make the class exact."""
    failed = rng.random(jobs) < np.asarray(_FAILURES)[kind]
    medium = np.flatnonzero(kind == known.MEDIUM)
    failed[medium] = False
    surplus = len(medium) - int(class_counts(jobs)[known.MEDIUM])
    failed[rng.permutation(medium)[:surplus]] = True
    return failed


def _fold(
    rng: np.random.Generator, values: FloatArray, low: FloatArray | IntArray, high: FloatArray
) -> FloatArray:
    """Bring values into [low, high], spread over the outer tenth rather than heaped at the end."""
    inward = 0.1 * rng.random(len(values)) * np.maximum(0.0, high - low)
    folded = np.where(values > high, high - inward, values)
    return np.where(folded < low, np.minimum(high, low * (1 + 0.1 * rng.random(len(low)))), folded)
