"""
A log's own order of submits, starts and ends, shown to a predictor as a simulation would show it,
on a machine or on none.

Predictions are scored on what really happened, so nothing is scheduled here: jobs start and end
when the log says. What a predictor is shown is filled by copying what is known at that second, as
in the simulator, and the same things happen in the same order within a second.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.errors import ConfigError
from cpsched.model import columns as c
from cpsched.model.arrays import immutable
from cpsched.model.jobstore import JobStore
from cpsched.model.jobtable import JobTable
from cpsched.model.prediction import Outcome, answers_of, listens, write_down
from cpsched.model.seeds import stream_seed
from cpsched.model.system import System
from cpsched.model.topology import Topology
from cpsched.simulation.arrivals import JobStream
from cpsched.simulation.simulate import Settings, simulate
from cpsched.systems.mapping import Fitted
from cpsched.util.types import MISSING, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cpsched.model.prediction import Prediction, RuntimePredictor
    from cpsched.model.workload import Workload
    from cpsched.simulation.observers import Observer
    from cpsched.util.types import IntArray

# Of one second, in this order; a job of runtime 0 ends where it starts.
_END, _SUBMIT, _START, _END_AT_START = range(4)
#: Events between two reports of how far a replay is.
_REPORT = 4096
#: Looks at the clock whose mean is taken for the cost of one.
_CLOCK_CALLS = 2000


@dataclass(frozen=True, slots=True, eq=False)
class JobStarts:
    """
    When the jobs of a fitted workload started.

    Attributes
    ----------
    start
        Second, int64, shape ``(J,)``.
    simulated
        Specification of the dispatcher the starts were simulated with; '' if the log has them.
    assumed
        Jobs whose start the log does not know and which are taken to have started at submit.
    """

    start: IntArray
    simulated: str
    assumed: int


def started_jobs(workload: Workload) -> Workload:
    """
    Return the jobs that can teach something: without those cancelled before they started.

    Nobody knows how long they would have run. They are counted as set aside. Of a log that knows no
    start at all every job is taken to have run.
    """
    known = workload.recorded_start != MISSING
    never = ~known & (workload.cancel != MISSING) & known.any()
    rows = np.flatnonzero(~never)
    jobs = workload.take(rows).with_columns(cancel=np.full(len(rows), MISSING))
    gone = (("cancelled before the start", int(never.sum())),) if never.any() else ()
    return replace(jobs, set_aside=(*workload.set_aside, *gone))


def starts_of(
    fitted: Fitted, dispatcher: str | None = None, observers: Sequence[Observer] = ()
) -> JobStarts:
    """
    Return the starts of jobs, recorded in the log or simulated.

    Parameters
    ----------
    dispatcher
        Dispatcher of a simulation. None: the recorded starts, or those of ``easy`` if the log has
        no start at all. A job without a recorded start is assumed to start at its submit.
    observers
        Observers of the simulation.

    Raises
    ------
    ConfigError
        If there is no such dispatcher.
    DispatchError
        If it breaks an invariant.
    """
    workload = fitted.workload
    known = workload.recorded_start != MISSING
    if dispatcher is None and known.any():
        start = np.where(known, workload.recorded_start, workload.submit)
        start = np.maximum(start, workload.submit)
        return JobStarts(start, "", int((~known).sum()))
    dispatcher = dispatcher or "easy"
    # Jobs that overran are scored by what they ran, so they must run that long.
    settings = Settings(overrun="extend")
    run = simulate(fitted, dispatcher=dispatcher, settings=settings, observers=observers)
    return JobStarts(run.schedule.start, dispatcher, 0)


class PredictorReplay:
    """
    Presents a log to a predictor in the order in which facts became known.

    Parameters
    ----------
    fitted
        The jobs; those that were rejected are left out.
    start
        When each started, shape ``(J,)``.
    predictor
        Reset before it is shown anything.
    seed
        Given to the predictor.

    Attributes
    ----------
    arrivals
        The A jobs that are shown; ``arrivals.workload_row`` says which.
    answers
        Runtimes predicted for each, int64, shape ``(A, 3)``; columns as the first fields of
        :class:`~cpsched.model.prediction.Prediction`. Quantiles and chances are in ``store``.
    cpu
        Seconds of CPU time spent in the predictor so far.
    """

    def __init__(
        self, fitted: Fitted, start: IntArray, predictor: RuntimePredictor, *, seed: int = 0
    ) -> None:
        self.arrivals = JobStream(fitted)
        self.store = JobStore(fitted.system.resources)
        self.answers = np.zeros((len(self.arrivals), 3), dtype=np.int64)
        self.cpu = 0.0
        self._clock_cost = _cost_of_clock()
        self._rows: IntArray = immutable(np.arange(len(self.arrivals), dtype=np.int64))
        self._start: list[int] = start[self.arrivals.workload_row].tolist()
        self._runtime: list[int] = self.arrivals.runtime.tolist()
        self._status: list[int] = self.arrivals.status.tolist()
        self._events = self._make_events()
        self._next = 0
        predictor.on_epoch(fitted.workload.epoch)
        predictor.reset(fitted.system, stream_seed(seed, "predictor"))
        self.hand_to(predictor)

    def hand_to(self, predictor: RuntimePredictor) -> None:
        """Show the rest to this predictor, which is not reset."""
        self.predictor = predictor
        self._learns = listens(predictor, "observe")
        self._sees_submits = listens(predictor, "on_submit")
        self._sees_starts = listens(predictor, "on_start")

    def run(self, until: int | None = None, progress: Callable[[int], None] | None = None) -> None:
        """
        Go on to the end, or to the last event before the second ``until``.

        Parameters
        ----------
        progress
            Told the number of jobs submitted so far, now and then.
        """
        events = self._events
        while self._next < len(events):
            time, phase, row = events[self._next]
            if until is not None and time >= until:
                return
            if phase == _SUBMIT:
                self._submit(row, time)
            else:
                self._next += 1
                if phase == _START:
                    self._begin(row, time)
                else:
                    self._end(row, time)
            if progress is not None and self._next % _REPORT == 0:
                progress(self.store.size)
        if progress is not None:
            progress(self.store.size)

    def _make_events(self) -> list[tuple[int, int, int]]:
        """Return (second, phase, row), sorted; ends of one second by start, as in a simulation."""
        submit = np.asarray(self.arrivals.submit)
        start = np.array(self._start, dtype=np.int64)
        runtime = self.arrivals.runtime
        num = len(submit)
        phase = np.repeat([_END, _SUBMIT, _START], num)
        phase[:num][runtime == 0] = _END_AT_START
        time = np.concatenate([start + runtime, submit, start])
        row = np.tile(self._rows, 3)
        started = np.tile(start, 3)
        started[num : 2 * num] = 0
        order = np.lexsort((row, started, phase, time))
        return list(
            zip(time[order].tolist(), phase[order].tolist(), row[order].tolist(), strict=True)
        )

    def _submit(self, first: int, now: int) -> None:
        """Show all jobs of this second together, and write down what is predicted."""
        submits = self.arrivals.submit
        end = first + 1
        while end < len(submits) and submits[end] == now:
            end += 1
        self._next += end - first
        self.arrivals.enter(self.store, first, end)
        columns, predictor = self.store.writable, self.predictor
        if not predictor.is_request:
            jobs = JobTable(self.store, self._rows[first:end])
            prediction = self._timed(self._ask, jobs, now)
            write_down(self.store, jobs.rows, answers_of(predictor, prediction, jobs))
        self.answers[first:end] = columns[first:end, c.RANKING_ESTIMATE : c.RUNTIME_BOUND + 1]

    def _ask(self, jobs: JobTable, now: int) -> Prediction:
        if self._sees_submits:
            self.predictor.on_submit(jobs, now)
        return self.predictor.predict(jobs, now)

    def _begin(self, row: int, now: int) -> None:
        columns = self.store.writable
        columns[row, c.STATE] = c.RUNNING
        columns[row, c.START] = now
        if self._sees_starts:
            self._timed(self.predictor.on_start, self._table(row), now)

    def _end(self, row: int, now: int) -> None:
        self.store.writable[row, c.STATE] = c.ENDED
        if self._learns:
            status = self._status[row]
            outcome = Outcome(
                np.array([self._runtime[row]]),
                np.array([status]),
                np.array([status == Status.TIMEOUT]),
            )
            self._timed(self.predictor.observe, self._table(row), outcome, now)

    def _timed(self, call: Callable[..., Any], *given: Any) -> Any:
        """Call the predictor, and add up the time it takes."""
        before = process_time()
        answer = call(*given)
        self.cpu += process_time() - before - self._clock_cost
        return answer

    def _table(self, row: int) -> JobTable:
        return JobTable(self.store, self._rows[row : row + 1])


def _cost_of_clock() -> float:
    """Return the CPU seconds between two looks at the clock with nothing in between."""
    times = [process_time() for _ in range(_CLOCK_CALLS)]
    return (times[-1] - times[0]) / (_CLOCK_CALLS - 1)


def unmapped(workload: Workload) -> Fitted:
    """
    Return a workload on one node that holds everything any job asks for.

    Queues and memory are those of the log; a processor is a unit of one core. Nothing can be
    simulated with it.

    Raises
    ------
    ConfigError
        If a job names no requested time, or the log knows no start: a system is needed then.
    """
    missing = workload.requested_time == MISSING
    if missing.any():
        job = workload.job_id[np.argmax(missing)]
        raise ConfigError(
            f"job {job} has no requested time ({missing.sum():,} of {len(workload):,} have none);"
            " give a --system with a default for them",
            where=workload.title,
        )
    if (workload.recorded_start == MISSING).all():
        raise ConfigError(
            "the log does not record when jobs started. Give a --system to simulate them on",
            where=workload.title,
        )
    # Every unit counts, so that the number of processors of such a job is its cores.
    capacity = (workload.request * workload.units[:, None] + workload.per_node).max(axis=0)
    system = System(
        name="unmapped",
        title="no system",
        source="made for the log",
        resources=workload.resources,
        capacity=capacity.reshape(1, -1),
        node_names=("all",),
        node_groups=("all",),
        features=(frozenset(),),
        queues={},
        topology=Topology(1),
    )
    return Fitted(
        workload=workload.with_columns(layout="units"),
        system=system,
        eligible_class=np.zeros(len(workload), dtype=np.int64),
        eligible=np.ones((1, 1), dtype=np.bool_),
        rejected=(),
    )
