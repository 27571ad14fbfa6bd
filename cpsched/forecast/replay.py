"""A log is replayed, and jobs are forecast at their submit by several forecasters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched.errors import ConfigError
from cpsched.forecast.forecaster import Forecaster
from cpsched.forecast.prequential import PastForecast, Prequential
from cpsched.forecast.trivial import LEAST, by_plan, recent_waits
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from collections.abc import Callable

    from cpsched.forecast.start_forecast import StartForecast
    from cpsched.simulation.simulate import Settings
    from cpsched.systems.mapping import Fitted
    from cpsched.util.types import FloatArray

OURS = "cpsched forecast"
#: The definition of each simple baseline, by its name in tables.
TRIVIAL = {
    "recent waits": "quantiles of the waits of the last 200 jobs that had to wait and have started",
    "similar jobs": "the same for jobs of the same queue and size class, if there are 20",
    "requested times": "the start by requested times, moved by the last 200 errors of such starts",
}
#: The first of the jobs, from which all forecasters only learn.
_FIRST = 0.1
#: No forecast, and no wait, counts as longer: where scenarios end.
LONGEST = 30 * 86400


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ForecastReplay:
    """
    The n forecasts along a log in the order of time, with the starts that followed.

    Attributes
    ----------
    job
        The log's ids, n of them.
    wait
        Seconds from each forecast to the start, shape ``(n,)``.
    waits
        By forecaster, ours first: waits of equal probability, shape ``(n, S)``.
    considered, waited
        How many jobs were looked at, and how many of these had to wait.
    unknown
        How many forecasts are left out because the job never started.
    early
        How many are left out because some forecaster had learnt too little by then.
    """

    job: list[str]
    wait: FloatArray
    waits: dict[str, FloatArray]
    considered: int
    waited: int
    unknown: int
    early: int


def replay(
    fitted: Fitted,
    *,
    dispatcher: str,
    predictor: str,
    settings: Settings,
    forecasts: int = 300,
    scenarios: int = 20,
    watch: Callable[[int, int], None] | None = None,
) -> ForecastReplay:
    """
    Simulate a log, and forecast a sample of the jobs that have to wait at their submit.

    Nothing is asked of the simulation before it is there: whether a job is drawn depends on the
    share that has waited so far, and what is forecast on the present.

    Parameters
    ----------
    forecasts
        About how many.
    scenarios
        How many each of our forecasts simulates.
    watch
        Called with the number of jobs done and the total.

    Raises
    ------
    ConfigError
        If fewer than 20 forecasts can be scored.
    """
    run = Prequential(
        fitted,
        dispatcher=dispatcher,
        predictor=predictor,
        settings=settings,
        forecaster=Forecaster(scenarios=scenarios, seed=settings.seed),
    )
    rng = np.random.default_rng(settings.seed)
    submit = run.simulator.arrivals.submit
    sample: list[tuple[PastForecast, list[StartForecast | None]]] = []
    waited, total = 0, len(submit)
    for handle, second in enumerate(submit):
        if watch is not None:
            watch(handle, total)
        run.go_to(second)
        if run.simulator.start_time[handle] == MISSING:
            waited += 1
            coming = max(waited / (handle + 1) * (total - handle), 1.0)
            left = forecasts - len(sample)
            if rng.random() < left / coming and handle >= _FIRST * total:
                sample.append(_forecasts_of(run, handle, scenarios))
    run.finish()
    return _scored(run, sample, total, waited)


def _forecasts_of(
    run: Prequential, handle: int, num: int
) -> tuple[PastForecast, list[StartForecast | None]]:
    """Return the forecast of each forecaster for a job that is waiting now."""
    known = [forecast for forecast in run.forecasts if forecast.start != MISSING]
    known.sort(key=lambda forecast: forecast.start)
    present = run.present()
    forecast = run.forecast(handle)
    trivial = [recent_waits(present, handle, num, alike=alike) for alike in (False, True)]
    return forecast, [forecast.starts, *trivial, by_plan(forecast, known, num)]


def _scored(
    run: Prequential,
    sample: list[tuple[PastForecast, list[StartForecast | None]]],
    considered: int,
    waited: int,
) -> ForecastReplay:
    started = [pair for pair in sample if pair[0].start != MISSING]
    scored = [
        (forecast, [s for s in all_ if s is not None])
        for forecast, all_ in started
        if None not in all_
    ]
    if len(scored) < LEAST:
        raise ConfigError(
            f"{len(scored):,} of {len(sample):,} forecasts can be scored, and {LEAST} are needed."
            f" A forecast counts once {LEAST} earlier jobs have started. {waited:,} of the"
            f" {considered:,} jobs have to wait. "
            + ("Raise --samples." if len(sample) < waited else "Take more of the log."),
            key="--evaluate",
        )
    job_id = run.present().jobs.workload.job_id
    waits = {
        name: np.array([_waits(all_[at]) for _, all_ in scored])
        for at, name in enumerate((OURS, *TRIVIAL))
    }
    return ForecastReplay(
        job=[str(job_id[forecast.handle]) for forecast, _ in scored],
        wait=np.array(
            [min(forecast.start - forecast.raw.now, LONGEST) for forecast, _ in scored], dtype=float
        ),
        waits=waits,
        considered=considered,
        waited=waited,
        unknown=len(sample) - len(started),
        early=len(started) - len(scored),
    )


def _waits(starts: StartForecast) -> FloatArray:
    """Return the waits of the only job of a forecast, sorted."""
    waits: FloatArray = np.minimum(starts.second[:, 0] - starts.now, LONGEST).astype(np.float64)
    return waits
