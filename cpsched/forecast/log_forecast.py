"""When the jobs of a log will start, asked at some second of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cpsched.errors import ConfigError
from cpsched.forecast.forecaster import Forecaster
from cpsched.forecast.job_lookup import find_job
from cpsched.forecast.prequential import Prequential
from cpsched.forecast.when import QueueForecast, when
from cpsched.model import columns as c
from cpsched.simulation.simulate import Settings
from cpsched.util.types import MISSING
from cpsched.util.words import brief

if TYPE_CHECKING:
    from collections.abc import Callable

    from cpsched.simulation.present import Present
    from cpsched.systems.mapping import Fitted


def when_in_log(
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
    watch: Callable[[str, int, int], None] = lambda *_: None,
) -> QueueForecast:
    """
    Return forecasts of the starts of the jobs that wait at a second of a simulated log.

    Parameters
    ----------
    fitted
        A workload mapped onto its system, see :func:`cpsched.fit`.
    time
        Seconds of the log's clock (from the workload's epoch).
    job
        Id of one job in the log. None: every waiting job.
    by
        A later second, to get the probability that each job has started by then.
    dispatcher, predictor
        Specifications like ``easy:backfill=sjf``.
    scenarios
        Number of simulated futures.
    judged
        Approximate number of earlier forecasts to make on the way, whose errors correct these.
    watch
        Function called with the present step in words, its progress, and its total.

    Raises
    ------
    ConfigError
        If the job is not waiting at that second, or ``by`` is not later.
    """
    if by is not None and by <= time:
        raise ConfigError(
            f"is second {by:,}, must be after {time:,}, the moment asked about", key="--deadline"
        )
    logged = None if job is None else find_job(fitted, job, time)
    if logged is not None and logged.rejected is not None:
        raise ConfigError(
            f"job {brief(str(job))} can never run on this system: {logged.rejected}", key="--job"
        )
    run = Prequential(
        fitted,
        dispatcher=dispatcher,
        predictor=predictor,
        settings=settings or Settings(),
        # The errors of a quarter are much the same, and take a quarter of the time: on KTH-SP2
        # intervals corrected by 5 instead of 20 cover 82 instead of 79 % of 150 starts.
        forecaster=Forecaster(scenarios=max(scenarios // 4, 2)),
    )
    run.judge(time, judged, partial(watch, "earlier jobs"))
    run.go_to(time)
    run.forecaster.scenarios = scenarios
    run.forecaster.watch = partial(watch, "scenarios")
    present = run.present(time)
    if logged is not None:
        _check_waits(present, logged.handle)
    return when(
        present,
        None if logged is None else logged.handle,
        forecaster=run.forecaster,
        calibration=run.calibration,
        by=by,
    )


def _check_waits(present: Present, handle: int) -> None:
    """Raise unless a job waits, or starts just now."""
    start = int(present.state["start_time"][handle])
    if start != present.now and handle not in present.in_state(c.WAITING, c.HELD):
        what = f"started at second {start:,}" if start != MISSING else "was cancelled"
        name = brief(str(present.jobs.workload.job_id[handle]))
        raise ConfigError(
            f"job {name} is not waiting at second {present.now:,}: it {what}", key="--job"
        )
