"""
Forecasts during a simulation: each is made before the outcome and scored after it.

Errors are learnt only once the job has started.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched.forecast.calibration import Calibration
from cpsched.simulation.present import Present
from cpsched.simulation.record import AllocationRecorder, DecisionRecorder
from cpsched.simulation.simulate import simulator_of
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cpsched.forecast.forecaster import Forecaster
    from cpsched.forecast.start_forecast import StartForecast
    from cpsched.simulation.simulate import Settings
    from cpsched.systems.mapping import Fitted

    Watch = Callable[[int, int], None]

#: Earlier forecasts are made for this many times as many of the last jobs as are wanted.
_BACK = 50


@dataclass(slots=True, kw_only=True, eq=False)
class PastForecast:
    """
    One forecast of one job.

    Attributes
    ----------
    handle
        Of the job.
    raw, starts
        The starts from the scenarios, and after correction.
    start
        When it started; ``MISSING`` as long as it waits.
    """

    handle: int
    raw: StartForecast
    starts: StartForecast
    start: int = MISSING


class Prequential:
    """
    A simulation with forecasts for jobs that have just been submitted and must wait.

    Parameters
    ----------
    fitted, dispatcher, predictor, settings
        What is simulated.
    forecaster
        Makes the forecasts.

    Attributes
    ----------
    simulator
        At its current time.
    forecasts
        The forecasts so far.
    calibration
        Corrects them.
    considered
        How many jobs were considered, including those that started at once.
    """

    def __init__(
        self,
        fitted: Fitted,
        *,
        dispatcher: str,
        predictor: str,
        settings: Settings,
        forecaster: Forecaster,
    ) -> None:
        self._fitted = fitted
        self._what = dispatcher, predictor, settings
        recorders = AllocationRecorder(len(fitted.system.resources)), DecisionRecorder()
        self.simulator = simulator_of(fitted, dispatcher, predictor, settings, recorders)
        self.forecaster = forecaster
        self.calibration = Calibration()
        self.forecasts: list[PastForecast] = []
        self.considered = 0
        self._open: list[PastForecast] = []

    def run(
        self, handles: Sequence[int], watch: Watch | None = None, wanted: int | None = None
    ) -> None:
        """
        Continue, and forecast some jobs once they are submitted and waiting.

        Parameters
        ----------
        handles
            In submit order, none submitted yet.
        wanted
            Most forecasts, spread evenly over the handles; None: one for each that waits.
        watch
            Called with the number of jobs considered and the total.
        """
        before = len(self.forecasts)
        for at, handle in enumerate(handles):
            if watch is not None:
                watch(at, len(handles))
            self.go_to(self.simulator.arrivals.submit[handle])
            self.considered += 1
            due = wanted is None or len(self.forecasts) - before < wanted * (at + 1) / len(handles)
            if due and self.simulator.start_time[handle] == MISSING:
                self.forecast(handle)

    def judge(self, time: int, wanted: int, watch: Watch | None = None) -> None:
        """
        Continue almost up to a second, with forecasts of earlier jobs on the way.

        Parameters
        ----------
        wanted
            How many, if half of the jobs that are looked at wait; never more.
        watch
            As for :meth:`run`.
        """
        submitted = int(np.searchsorted(self.simulator.arrivals.submit, time, side="right"))
        first = max(submitted - _BACK * wanted, submitted // 10)
        if wanted and submitted - first >= 2:
            handles = np.linspace(first, submitted - 1, 2 * wanted).astype(np.int64)
            self.run(np.unique(handles).tolist(), watch, wanted)

    def go_to(self, second: int) -> None:
        """Continue to the end of a second, and learn from the jobs that have started by then."""
        self.simulator.run(until=second + 1)
        started = [forecast for forecast in self._open if self._start(forecast) != MISSING]
        for forecast in sorted(started, key=self._start):
            forecast.start = self._start(forecast)
            self.calibration.note(forecast.raw, forecast.starts, np.array([forecast.start]))
            self._open.remove(forecast)

    def finish(self) -> None:
        """Continue until every job with a forecast has started, or the simulation ends."""
        while self._open and (second := self.simulator.next_time()) is not None:
            self.go_to(second)

    def _start(self, forecast: PastForecast) -> int:
        return int(self.simulator.start_time[forecast.handle])

    def present(self, now: int | None = None) -> Present:
        """Return the present; ``now`` is a second since which nothing has happened."""
        return Present.of_simulator(self.simulator, self._fitted, *self._what, now=now)

    def forecast(self, handle: int) -> PastForecast:
        """Forecast a job that is waiting now."""
        for forecast in self._open:
            self.calibration.still_wait(forecast.raw, forecast.starts, self.simulator.now)
        raw = self.forecaster.forecast(self.present(), np.array([handle]))
        forecast = PastForecast(handle=handle, raw=raw, starts=self.calibration.corrected(raw))
        self.forecasts.append(forecast)
        self._open.append(forecast)
        return forecast
