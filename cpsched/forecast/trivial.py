"""
Forecasters that need no scenarios: what any better one has to beat.

They see a present, as the forecaster does, so none of them can see the future.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.forecast.start_forecast import NEVER, StartForecast
from cpsched.metrics.groups import job_size
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from cpsched.forecast.prequential import PastForecast
    from cpsched.simulation.present import Present
    from cpsched.util.types import FloatArray, IntArray

#: What is looked at: the last so many waits, or errors.
LAST = 200
#: With fewer errors nothing is said, with fewer jobs alike all are taken.
LEAST = 20
#: Errors of plans are compared by logarithms, those of shorter waits by seconds.
_SHORT = 60.0


def recent_waits(present: Present, handle: int, num: int, *, alike: bool) -> StartForecast | None:
    """
    Forecast that a job waits as long as the last 200 that had to wait and have started.

    Parameters
    ----------
    handle
        Of the job, submitted now.
    num
        Into how many values of equal probability the waits are put.
    alike
        Only jobs of its queue and size class, if there are at least 20.

    Returns
    -------
    Starts or None
        None where fewer than 20 have waited.
    """
    start, submit = present.state["start_time"], present.jobs.workload.submit
    waited = np.flatnonzero((start != MISSING) & (start > submit))
    waited = waited[np.argsort(start[waited], kind="stable")]
    if alike:
        queue, size = present.jobs.workload.queue.codes, job_size(present.jobs)
        same = (queue[waited] == queue[handle]) & (size[waited] == size[handle])
        if same.sum() >= LEAST:
            waited = waited[same]
    if len(waited) < LEAST:
        return None
    last = waited[-LAST:]
    return ensemble(present.now, handle, (start - submit)[last], num)


def by_plan(forecast: PastForecast, known: list[PastForecast], num: int) -> StartForecast | None:
    """
    Forecast that a job starts as planned, give or take what earlier plans were off.

    The plan is that every job uses its whole requested time and no new ones arrive. The logarithm
    of the planned wait (plus a minute) is moved by the quantiles of the errors of the last 200
    plans.

    Parameters
    ----------
    forecast
        The job.
    known
        Forecasts of jobs that have started, in the order of these starts.

    Returns
    -------
    Starts or None
        None where fewer than 20 are known.
    """
    known = known[-LAST:]
    if len(known) < LEAST:
        return None
    error = [_logarithm(other.start - other.raw.now) - _planned(other) for other in known]
    wait = np.exp(_planned(forecast) + np.array(error)) - _SHORT
    return ensemble(forecast.raw.now, forecast.handle, np.maximum(wait, 0), num)


def ensemble(now: int, handle: int, wait: FloatArray | IntArray, num: int) -> StartForecast:
    """Return a forecast from waits, by as many of their quantiles."""
    second = now + np.quantile(wait, (np.arange(num) + 0.5) / num).round().astype(np.int64)
    return StartForecast(now, np.array([handle]), second[:, None], np.array([NEVER]))


def _planned(forecast: PastForecast) -> float:
    return _logarithm(int(forecast.raw.planned[0]) - forecast.raw.now)


def _logarithm(wait: int) -> float:
    # A plan beyond the longest scenario is one of a month.
    return float(np.log(min(wait, 30 * 86400) + _SHORT))
