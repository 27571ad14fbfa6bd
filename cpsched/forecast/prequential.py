"""
Forecasts along a simulation: each is made before it is known, and judged when it is.

What is learnt from a forecast is learnt when its job has started, never before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched.forecast.calibration import Calibration
from cpsched.model.types import MISSING
from cpsched.simulation.present import Present
from cpsched.simulation.record import AllocationRecorder, DecisionRecorder
from cpsched.simulation.simulate import simulator_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cpsched.forecast.forecaster import Forecaster
    from cpsched.forecast.starts import Starts
    from cpsched.mapping import Fitted
    from cpsched.simulation.identity import Settings


@dataclass(slots=True, kw_only=True, eq=False)
class Told:
    """
    One forecast of one job.

    Attributes
    ----------
    handle
        Of the job.
    raw, starts
        What the scenarios said, and what was said after correction.
    start
        When it started; ``MISSING`` as long as it waits.
    """

    handle: int
    raw: Starts
    starts: Starts
    start: int = MISSING


class Prequential:
    """
    A simulation with forecasts of jobs that have just been submitted and must wait.

    Parameters
    ----------
    fitted, dispatcher, predictor, settings
        What is simulated.
    forecaster
        Who says when jobs start.

    Attributes
    ----------
    simulator
        As far as it has gone.
    told
        The forecasts so far.
    calibration
        What they are corrected by.
    asked
        How many jobs were looked at, those included that started at once.
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
        self._fitted, self._dispatcher, self._settings = fitted, dispatcher, settings
        recorders = AllocationRecorder(len(fitted.system.resources)), DecisionRecorder()
        self.simulator = simulator_of(fitted, dispatcher, predictor, settings, recorders)
        self.forecaster = forecaster
        self.calibration = Calibration()
        self.told: list[Told] = []
        self.asked = 0
        self._open: list[Told] = []

    def run(self, handles: Iterable[int], watch: Callable[[int], None] | None = None) -> None:
        """
        Go on, and forecast some jobs when they have been submitted and wait.

        Parameters
        ----------
        handles
            In order of submits, none of them submitted yet.
        watch
            Called with each handle.
        """
        for handle in handles:
            self.go_to(self.simulator.arrivals.submit[handle])
            self.asked += 1
            if self.simulator.start_time[handle] == MISSING:
                self.forecast(handle)
            if watch is not None:
                watch(handle)

    def go_to(self, second: int) -> None:
        """Go on to the end of a second, and learn from the jobs that have started by then."""
        self.simulator.run(until=second + 1)
        started = [one for one in self._open if self._start(one) != MISSING]
        for one in sorted(started, key=self._start):
            one.start = self._start(one)
            self.calibration.note(one.raw, one.starts, np.array([one.start]))
            self._open.remove(one)

    def finish(self) -> None:
        """Go on until every job that was forecast has started, or all is over."""
        while self._open and (second := self.simulator.next_time()) is not None:
            self.go_to(second)

    def _start(self, one: Told) -> int:
        return int(self.simulator.start_time[one.handle])

    def present(self, now: int | None = None) -> Present:
        """Return the present; ``now``: a second at which nothing has happened since."""
        return Present.of_simulator(
            self.simulator,
            self._fitted,
            dispatcher=self._dispatcher,
            settings=self._settings,
            now=now,
        )

    def forecast(self, handle: int) -> Told:
        """Forecast a job that waits now."""
        raw = self.forecaster.forecast(self.present(), np.array([handle]))
        one = Told(handle=handle, raw=raw, starts=self.calibration.corrected(raw))
        self.told.append(one)
        self._open.append(one)
        return one
