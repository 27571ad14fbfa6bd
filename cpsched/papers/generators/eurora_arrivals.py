"""
When jobs are submitted: a calendar, campaigns placed on it, bursts within campaigns.

Time is stretched twice. On the *working clock* a day is a day of average activity; the calendar
turns it into real seconds, fast in the afternoon of a busy Tuesday, slow on a Sunday night.
Campaigns start evenly on the working clock and submit their jobs in bursts.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from cpsched.logs.generators import log_normal, stratified
from cpsched.papers.generators import eurora_tables as known

if TYPE_CHECKING:
    from cpsched.papers.generators.eurora_campaigns import CampaignJobs, Campaigns
    from cpsched.papers.generators.eurora_widths import Widths
    from cpsched.util.types import BoolArray, FloatArray, IntArray

#: Edges of the hours in seconds, and the working clock at each.
Calendar: TypeAlias = "tuple[FloatArray, FloatArray]"

_HOUR, _DAY = 3600.0, 86400.0
#: Assumed, after the excerpt's four working days: activity by hour of the day (UTC).
_HOURS = (
    0.50, 0.45, 0.40, 0.35, 0.30, 0.30, 0.45, 0.80, 1.30, 1.65, 1.75, 1.65,
    1.40, 1.50, 1.75, 1.80, 1.65, 1.35, 1.05, 0.85, 0.80, 0.75, 0.65, 0.55,
)  # fmt: skip
#: Assumed: activity by day of the week from Monday. The epoch is a Saturday.
_WEEK = (1.15, 1.25, 1.25, 1.20, 1.05, 0.55, 0.55)
_FIRST_WEEKDAY = 5
#: Activity by month from March 2014, for short jobs without GPU. Published: two months have a
#: fifth of all jobs; the excerpt says March and April. Assumed: the rest, with quiet Augusts.
_MONTHS = (
    2.22, 2.22, 0.95, 1.00, 1.05, 0.55, 0.90, 1.05, 1.10, 0.80, 0.90, 1.00,
    1.05, 0.95, 1.05, 1.05, 0.95, 0.50,
)  # fmt: skip
_MONTH_LENGTHS = (31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 31, 28, 31, 30, 31, 30, 31, 31)

#: Kinds of work with a calendar of their own.
LIGHT, HEAVY, GPU = 0, 1, 2
#: Calibrated: log deviation of daily activity and its day-to-day correlation, by kind of work.
_DAILY = ((0.45, 0.5), (0.45, 0.6), (0.83, 0.5))

#: Calibrated: most work a burst brings, and a campaign on a working day, in days of the whole
#: machine: short jobs, longer ones without and with GPUs.
_MOST_AT_ONCE = (0.04, 0.3, 0.4)
_PACE = (0.12, 0.4, 0.8)
#: Assumed: jobs of a burst, working days between bursts, seconds between jobs of a burst: median
#: and log deviation over campaigns.
_BURST = (8.0, 1.3)
_LARGEST_BURST = 100.0
_BETWEEN_BURSTS = (0.06, 1.2)
_WITHIN_BURST = (0.8, 0.8)
#: Assumed: mean working days between a debugging campaign and the one it prepares.
_AHEAD = 0.2


def kind_of_work(campaigns: Campaigns, widths: Widths) -> IntArray:
    """Return the kind of work of each campaign: with GPUs, beyond an hour, or light."""
    beyond = np.where(campaigns.job_class == known.SHORT, LIGHT, HEAVY)
    return np.where(widths.total("gpu") > 0, GPU, beyond)


def draw_submits(
    rng: np.random.Generator,
    campaigns: Campaigns,
    runs: CampaignJobs,
    widths: Widths,
    *,
    days: float,
    follows: IntArray,
) -> IntArray:
    """
    Return the submit second of each job, in ``[0, days * 86400)``.

    Parameters
    ----------
    follows
        For each campaign the one it precedes by a few working hours, or -1, shape ``(C,)``.
    """
    kind = kind_of_work(campaigns, widths)
    work = machine_days(runs, widths)
    calendars = [_calendar(rng, which, days) for which in (LIGHT, HEAVY, GPU)]
    start = _draw_starts(rng, kind, campaigns.size, runs.per_campaign(work), days)
    start = _move_ahead(rng, start, kind, follows, calendars)
    pace = np.where(campaigns.job_class == known.SHORT, LIGHT, kind)
    first, offset = _draw_bursts(rng, pace, campaigns.size, runs.campaign, work)
    clock = (start[runs.campaign] + offset) % days
    submit = np.empty(len(clock))
    for which, (edges, elapsed) in enumerate(calendars):
        rows = kind[runs.campaign] == which
        submit[rows] = np.interp(clock[rows], elapsed, edges)
    submit += _within_bursts(rng, first, runs.campaign, len(campaigns))
    return np.minimum(submit, days * _DAY - 1).astype(np.int64)


def machine_days(runs: CampaignJobs, widths: Widths) -> FloatArray:
    """Return each job's work in days of the whole machine, by its scarcest resource."""
    parts = widths.units[:, None] * widths.request / np.asarray(known.MACHINE)
    return np.asarray(parts.max(axis=1)[runs.campaign] * runs.runtime / _DAY)


def _calendar(rng: np.random.Generator, which: int, days: float) -> Calendar:
    """Return hour edges in seconds and the working clock at each, both from 0 to ``days``."""
    num_days = int(np.ceil(days))
    sigma, persistence = _DAILY[which]
    daily = np.exp(sigma * persistent_normals(rng, num_days, persistence=persistence))
    if which == LIGHT:
        month = np.repeat(np.arange(len(_MONTHS)), _MONTH_LENGTHS)[np.arange(num_days) % 549]
        mean = np.bincount(month, weights=daily) / np.maximum(1, np.bincount(month))
        daily *= np.asarray(_MONTHS)[month] / mean[month]
    daily *= np.asarray(_WEEK)[(_FIRST_WEEKDAY + np.arange(num_days)) % 7]
    hourly = (daily[:, None] * np.asarray(_HOURS)).ravel()
    edges = np.minimum(np.arange(len(hourly) + 1) * _HOUR, days * _DAY)
    elapsed = np.concatenate([[0.0], np.cumsum(hourly * np.diff(edges))])
    return edges, elapsed * (days / elapsed[-1])


def _draw_starts(
    rng: np.random.Generator, kind: IntArray, size: IntArray, work: FloatArray, days: float
) -> FloatArray:
    """
    Return the start of each campaign on the working clock.

    Equal times bring equal numbers of light jobs, and equal work of the others.
    """
    start = np.zeros(len(kind))
    for which in (LIGHT, HEAVY, GPU):
        rows = np.flatnonzero(kind == which)
        start[rows] = days * stratified(rng, (size if which == LIGHT else work)[rows])
    return start


def _move_ahead(
    rng: np.random.Generator,
    start: FloatArray,
    kind: IntArray,
    follows: IntArray,
    calendars: list[Calendar],
) -> FloatArray:
    """Put each preparing campaign a few working hours before the one it prepares."""
    real = np.empty(len(start))
    for which, (edges, elapsed) in enumerate(calendars):
        rows = kind == which
        real[rows] = np.interp(start[rows], elapsed, edges)
    ahead = rng.exponential(_AHEAD, len(start))
    moved = start.copy()
    for which, (edges, elapsed) in enumerate(calendars):
        rows = (kind == which) & (follows >= 0)
        moved[rows] = np.interp(real[follows[rows]], edges, elapsed) - ahead[rows]
    return moved


def _draw_bursts(
    rng: np.random.Generator, pace: IntArray, size: IntArray, campaign: IntArray, work: FloatArray
) -> tuple[BoolArray, FloatArray]:
    """
    Return which jobs begin a burst, and each job's offset from its campaign's start.

    A user sends a burst, and the next one once the last has, at the campaign's pace, been worked
    off: so one campaign cannot bury the machine for a week.
    """
    jobs = len(campaign)
    wish = np.clip(log_normal(rng, *_BURST, len(size)), 1.0, _LARGEST_BURST)[campaign]
    room = np.asarray(_MOST_AT_ONCE)[pace][campaign] / np.maximum(work, 1e-9)
    longest = np.maximum(1, room).astype(np.int64)
    number = np.arange(jobs) - np.repeat(np.cumsum(size) - size, size)
    first = (number == 0) | (rng.random(jobs) * wish < 1) | (number % longest == 0)
    burst = np.cumsum(first) - 1
    begins = np.flatnonzero(first)
    owner = campaign[begins]
    worked = np.bincount(burst, weights=work) / np.asarray(_PACE)[pace[owner]]
    gap = rng.exponential(1.0, len(begins)) * log_normal(rng, *_BETWEEN_BURSTS, len(size))[owner]
    step = np.maximum(gap[1:], worked[:-1])
    position = np.concatenate([[0.0], np.cumsum(step)])
    offset = position - position[np.searchsorted(owner, owner, side="left")]
    return first, offset[burst]


def _within_bursts(
    rng: np.random.Generator, first: BoolArray, campaign: IntArray, num_campaigns: int
) -> FloatArray:
    """Return the seconds each job comes after the first of its burst."""
    pace = log_normal(rng, *_WITHIN_BURST, num_campaigns)[campaign]
    gaps = np.where(first, 0.0, np.floor(rng.exponential(1.0, len(first)) * pace))
    position = np.cumsum(gaps)
    begins = np.flatnonzero(first)
    return np.asarray(position - position[begins][np.cumsum(first) - 1])


def persistent_normals(rng: np.random.Generator, count: int, *, persistence: float) -> FloatArray:
    """
    Return a standard normal series with memory, its values the exact quantiles.

    A first-order autoregression gives the order, the normal quantiles at ``(k + 1/2) / count``
    the values: two seeds differ in when the extremes come, not in how extreme they are.
    """
    noise = rng.standard_normal(count)
    series = np.empty(count)
    level = 0.0
    for step in range(count):
        level = persistence * level + np.sqrt(1 - persistence**2) * noise[step]
        series[step] = level
    quantiles = np.array([NormalDist().inv_cdf((k + 0.5) / count) for k in range(count)])
    values = np.empty(count)
    values[np.argsort(series, kind="stable")] = quantiles
    return values
