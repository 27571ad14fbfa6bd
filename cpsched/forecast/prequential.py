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
    from cpsched.forecast.starts import Starts
    from cpsched.simulation.simulate import Settings
    from cpsched.systems.mapping import Fitted

    Watch = Callable[[int, int], None]

#: Earlier forecasts are made for this many times as many of the last jobs as are wanted.
_BACK = 50


@dataclass(slots=True, kw_only=True, eq=False)
class Told:
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
    raw: Starts
    starts: Starts
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
    told
        The forecasts so far.
    calibration
        Corrects them.
    asked
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
        self.told: list[Told] = []
        self.asked = 0
        self._open: list[Told] = []

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
        before = len(self.told)
        for at, handle in enumerate(handles):
            if watch is not None:
                watch(at, len(handles))
            self.go_to(self.simulator.arrivals.submit[handle])
            self.asked += 1
            due = wanted is None or len(self.told) - before < wanted * (at + 1) / len(handles)
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
        started = [one for one in self._open if self._start(one) != MISSING]
        for one in sorted(started, key=self._start):
            one.start = self._start(one)
            self.calibration.note(one.raw, one.starts, np.array([one.start]))
            self._open.remove(one)

    def finish(self) -> None:
        """Continue until every job with a forecast has started, or the simulation ends."""
        while self._open and (second := self.simulator.next_time()) is not None:
            self.go_to(second)

    def _start(self, one: Told) -> int:
        return int(self.simulator.start_time[one.handle])

    def present(self, now: int | None = None) -> Present:
        """Return the present; ``now`` is a second since which nothing has happened."""
        return Present.of_simulator(self.simulator, self._fitted, *self._what, now=now)

    def forecast(self, handle: int) -> Told:
        """Forecast a job that is waiting now."""
        for one in self._open:
            self.calibration.still_wait(one.raw, one.starts, self.simulator.now)
        raw = self.forecaster.forecast(self.present(), np.array([handle]))
        one = Told(handle=handle, raw=raw, starts=self.calibration.corrected(raw))
        self.told.append(one)
        self._open.append(one)
        return one
