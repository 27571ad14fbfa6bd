"""When jobs will start: forecasts at a present, corrected by how far earlier ones were off."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.errors import ConfigError
from cpsched.forecast.advice import Advice, advice_on
from cpsched.forecast.calibration import Calibration
from cpsched.forecast.job_lookup import label
from cpsched.forecast.start_forecast import NEVER, NO_LIMIT, StartForecast
from cpsched.model import columns as c

if TYPE_CHECKING:
    from cpsched.forecast.forecaster import Forecaster
    from cpsched.model.workload import Workload
    from cpsched.simulation.present import Present
    from cpsched.util.types import IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class JobForecast:
    """
    Forecast of the start of one waiting job.

    Attributes
    ----------
    job, user, queue
        Id, user and queue as in the log. '' if unknown.
    units, nodes_min, requested_time
        Requested tasks, smallest number of nodes, and requested time in seconds.
    limit
        Whether the time limit is ``known``, ``assumed`` because the log has none, or ``unknown``.
    submit
        The second of submission.
    p10, p50, p90
        Seconds by which the job has started with a probability of 10, 50 and 90 %. None: not within
        the length of the scenarios, or there are only bounds.
    planned
        The second of its start if every job uses its whole requested time and no new jobs arrive.
        None: not within the length of the scenarios.
    chance
        Probability that the job has started by a given second. None if no second was given, or the
        probability is unknown.
    """

    job: str
    user: str
    queue: str
    units: int
    nodes_min: int
    requested_time: int
    limit: str
    submit: int
    p10: int | None
    p50: int | None
    p90: int | None
    planned: int | None
    chance: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueForecast:
    """
    Forecasts of the starts of waiting jobs, made at one second.

    Attributes
    ----------
    now, epoch
        The second of the forecast, and the Unix time of second 0. None if unknown.
    dispatcher, predictor
        Specifications.
    by
        The second for which probabilities (``chance``) are given. None: no probabilities.
    jobs
        The forecast of each waiting job, or of one, in submit order.
    advice
        Changes of the request that would start a job earlier, if the forecast is of one job.
    scenarios
        Number of simulated scenarios.
    judged
        Number of earlier forecasts whose errors were used to correct these.
    unlimited
        Number of running or waiting jobs without a known time limit. Jobs that start after them
        have no ``planned`` start.
    bounds
        Whether only bounds are known, because no job has ended and no earlier forecast was scored.
        ``planned`` is then the latest start of a job if no later job goes first.
    """

    now: int
    epoch: int | None
    dispatcher: str
    predictor: str
    by: int | None
    jobs: tuple[JobForecast, ...]
    advice: tuple[Advice, ...]
    scenarios: int
    judged: int
    bounds: bool = False
    unlimited: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the forecasts as plain JSON types."""
        return {"schema": "cpsched.forecast/1", **asdict(self)}


def when(
    present: Present,
    job: int | None = None,
    *,
    forecaster: Forecaster,
    calibration: Calibration | None = None,
    by: int | None = None,
) -> QueueForecast:
    """
    Return forecasts of the starts of waiting jobs.

    Parameters
    ----------
    present
        State of the system at the second of the forecast.
    job
        Handle of one job that waits, or starts just now. None: every waiting job.
    forecaster
        Object that makes the forecasts.
    calibration
        Corrections from the errors of earlier forecasts. None: no correction.
    by
        A second, to get the probability that each job has started by then.

    Raises
    ------
    ConfigError
        If no job is waiting.
    """
    handles = present.in_state(c.WAITING, c.HELD) if job is None else np.array([job])
    if not len(handles):
        raise ConfigError("no job is waiting")
    calibration = calibration or Calibration()
    now = present.now
    advice: tuple[Advice, ...] = ()
    at_once = bool((present.state["start_time"][handles] == now).all())
    if at_once:
        starts = StartForecast(now, handles, np.full((1, len(handles)), now), np.array([now]))
    else:
        if job is None:
            raw = forecaster.forecast(present, handles)
        else:
            raw, advice = advice_on(forecaster, present, job)
        starts = calibration.corrected(raw)
    bounds = not (at_once or forecaster.knows_runtimes or len(calibration))
    return QueueForecast(
        now=now,
        epoch=present.jobs.workload.epoch,
        dispatcher=present.dispatcher,
        predictor=present.predictor,
        by=by,
        jobs=tuple(_forecasts(starts, present.jobs.workload, by, bounds=bounds)),
        advice=advice,
        scenarios=forecaster.scenarios,
        judged=len(calibration),
        bounds=bounds,
        unlimited=int((present.jobs.workload.requested_time[_unended(present)] >= NO_LIMIT).sum()),
    )


def _unended(present: Present) -> IntArray:
    return present.in_state(c.RUNNING, c.WAITING, c.HELD)


def _limit(workload: Workload, row: int) -> str:
    """Return the source of the time limit of a job."""
    if workload.requested_time[row] >= NO_LIMIT:
        return "unknown"
    return "assumed" if workload.requested_time_assumed[row] else "known"


def _forecasts(
    starts: StartForecast, workload: Workload, by: int | None, *, bounds: bool
) -> list[JobForecast]:
    """Return forecasts in the form of the answer."""
    unknown = np.full(len(starts.handle), NEVER)
    levels = {
        f"p{level}": unknown if bounds else starts.quantile(level / 100) for level in (10, 50, 90)
    }
    levels["planned"] = starts.planned
    chances = None if by is None or bounds else starts.chance_by(by)
    return [
        JobForecast(
            job=str(workload.job_id[row]),
            user=label(workload.user, row) or "",
            queue=label(workload.queue, row) or "",
            units=int(workload.units[row]),
            nodes_min=int(workload.nodes_min[row]),
            requested_time=int(workload.requested_time[row]),
            limit=_limit(workload, row),
            submit=int(workload.submit[row]),
            chance=None if chances is None else float(chances[at]),
            **{name: _second(values[at]) for name, values in levels.items()},
        )
        for at, row in enumerate(starts.handle.tolist())
    ]


def _second(value: int) -> int | None:
    return None if value == NEVER else int(value)
