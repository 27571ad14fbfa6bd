"""When a job of a log would start: the call behind ``cpsched when``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.base.types import MISSING
from cpsched.base.words import brief
from cpsched.errors import ConfigError
from cpsched.forecast.advice import Advice, advice_on
from cpsched.forecast.forecaster import Forecaster
from cpsched.forecast.prequential import Prequential
from cpsched.forecast.starts import NEVER, Starts
from cpsched.model import columns as c
from cpsched.simulation.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from cpsched.base.types import IntArray
    from cpsched.mapping import Fitted
    from cpsched.model.workload import Labels, Workload
    from cpsched.simulation.present import Present

#: Earlier forecasts are made for this many times as many of the last jobs as are wanted.
_BACK = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class JobForecast:
    """
    When one waiting job may start.

    Attributes
    ----------
    job, user, queue
        As in the log; '' where unknown.
    units, nodes_min, requested_time
        What it asks for.
    submit
        Second.
    p10, p50, p90
        Seconds by which it has started with a probability of 10, 50 and 90 %; None: not within the
        length of the scenarios.
    planned
        When it starts if every job uses its whole requested time and no new jobs arrive; None as
        above.
    chance
        Probability that it has started by a given second; None if none was given.
    """

    job: str
    user: str
    queue: str
    units: int
    nodes_min: int
    requested_time: int
    submit: int
    p10: int | None
    p50: int | None
    p90: int | None
    planned: int | None
    chance: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """
    Forecasts at one second.

    Attributes
    ----------
    now, epoch
        The second, and the Unix time of second 0 where it is known.
    dispatcher, predictor
        Specifications.
    by
        The second for which probabilities are given; None: none.
    jobs
        The waiting jobs asked about, in submit order.
    advice
        What would start a job earlier, if one job was asked about.
    scenarios
        How many were simulated.
    judged
        How many earlier forecasts were used to correct these.
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

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON types."""
        return {"schema": "cpsched.when/1", **asdict(self)}


def when(
    fitted: Fitted,
    *,
    time: int,
    job: str | None = None,
    by: int | None = None,
    dispatcher: str = "easy",
    predictor: str = "requested",
    settings: Settings | None = None,
    scenarios: int = 20,
    judged: int = 40,
    watch: Callable[[int, int], None] | None = None,
) -> Answer:
    """
    Simulate up to a second and forecast when the jobs waiting then will start.

    Parameters
    ----------
    fitted
        A workload mapped onto its system.
    time
        Seconds since the workload's epoch.
    job
        The log's id of one job; None: every waiting job.
    by
        A second by which the probability to have started is wanted.
    dispatcher, predictor
        Specifications.
    scenarios
        How many scenarios are simulated.
    judged
        About how many earlier forecasts to make on the way, whose errors correct these.
    watch
        Called with the number of steps done and the total.

    Raises
    ------
    ConfigError
        If no such job is waiting then, or ``by`` is not later.
    """
    if by is not None and by <= time:
        raise ConfigError(
            f"is second {by:,}, must be after {time:,}, the moment asked about", key="by"
        )
    run = Prequential(
        fitted,
        dispatcher=dispatcher,
        predictor=predictor,
        settings=settings or Settings(),
        forecaster=Forecaster(scenarios=scenarios),
    )
    _judge(run, time, judged, watch)
    run.go_to(time)
    present = run.present(time)
    handles = _asked(present, job)
    advice: tuple[Advice, ...] = ()
    if (present.state["start_time"][handles] == time).all():
        starts = Starts(time, handles, np.full((1, len(handles)), time), np.array([time]))
    elif job is None:
        starts = run.forecaster.forecast(present, handles)
    else:
        starts, advice = advice_on(run.forecaster, present, int(handles[0]))
    told = starts if len(starts.scenario) == 1 else run.calibration.corrected(starts)
    return Answer(
        now=time,
        epoch=fitted.workload.epoch,
        dispatcher=dispatcher,
        predictor=predictor,
        by=by,
        jobs=tuple(forecasts(told, present.jobs.workload, by)),
        advice=advice,
        scenarios=scenarios,
        judged=len(run.calibration),
    )


def forecasts(starts: Starts, workload: Workload, by: int | None = None) -> list[JobForecast]:
    """
    Return forecasts in the form of the answer.

    Parameters
    ----------
    workload
        The jobs by handle.
    """
    levels = {
        name: starts.quantile(level) for name, level in (("p10", 0.1), ("p50", 0.5), ("p90", 0.9))
    }
    levels["planned"] = starts.planned
    chances = None if by is None else starts.chance_by(by)
    return [
        JobForecast(
            job=str(workload.job_id[row]),
            user=_label(workload.user, row),
            queue=_label(workload.queue, row),
            units=int(workload.units[row]),
            nodes_min=int(workload.nodes_min[row]),
            requested_time=int(workload.requested_time[row]),
            submit=int(workload.submit[row]),
            chance=None if chances is None else float(chances[at]),
            **{name: _second(values[at]) for name, values in levels.items()},
        )
        for at, row in enumerate(starts.handle.tolist())
    ]


def _label(labels: Labels, row: int) -> str:
    code = int(labels.codes[row])
    return labels.values[code] if code >= 0 else ""


def _second(value: int) -> int | None:
    return None if value == NEVER else int(value)


def _judge(
    run: Prequential, time: int, wanted: int, watch: Callable[[int, int], None] | None
) -> None:
    """Simulate almost up to a second, with forecasts of earlier jobs on the way."""
    submitted = int(np.searchsorted(run.simulator.arrivals.submit, time, side="right"))
    first = max(submitted - _BACK * wanted, submitted // 10)
    handles = np.unique(np.linspace(first, submitted - 1, 2 * wanted).astype(np.int64))
    if not wanted or submitted - first < 2:
        return

    def step(handle: int) -> None:
        if watch is not None:
            watch(int(np.searchsorted(handles, handle)) + 1, len(handles))

    run.run(handles[handles < submitted].tolist(), step)


def _asked(present: Present, job: str | None) -> IntArray:
    """Return the handles of the jobs asked about, which wait or start just now."""
    waiting = present.in_state(c.WAITING, c.HELD)
    if job is None:
        if not len(waiting):
            raise ConfigError("no job is waiting then", key="--at")
        return waiting
    names = present.jobs.workload.job_id
    rows = np.flatnonzero(names == job)
    if not len(rows):
        raise ConfigError(
            f"no job submitted by then has the id {brief(job)}, or it can never run on this system",
            key="--job",
        )
    row = int(rows[-1])
    start = int(present.state["start_time"][row])
    if row not in waiting and start != present.now:
        what = f"started at second {start:,}" if start != MISSING else "was cancelled"
        raise ConfigError(f"job {brief(job)} is not waiting then: it {what}", key="--job")
    return np.array([row])
