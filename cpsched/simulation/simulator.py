"""
The event loop: integer seconds, a heap of (time, phase, counter), one dispatch per instant.

At one instant events happen in the order of :class:`Phase`; then the dispatcher is asked, again
and again at that instant until no event is left there (a job of runtime 0 ends where it starts).
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from enum import IntEnum, StrEnum
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from cpsched.engine.predicting import Correction, correct_overdue, predict_into_store
from cpsched.engine.state import State
from cpsched.errors import ConfigError, DispatchError
from cpsched.model import columns as c
from cpsched.model.decision import Start
from cpsched.model.jobtable import JobTable
from cpsched.model.schedule import JobOutcome
from cpsched.model.types import MISSING, Status
from cpsched.prediction import Outcome, RuntimePredictor, listens
from cpsched.simulation.arrivals import Arrivals
from cpsched.simulation.observers import Observer, hooks
from cpsched.spec import build

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cpsched.dispatch.contract import Dispatcher
    from cpsched.mapping import Fitted
    from cpsched.model.decision import Decision
    from cpsched.model.types import IntArray
    from cpsched.simulation.runtime_models import RuntimeModel


class Phase(IntEnum):
    """
    The order of events at one instant. This is a promise.

    Ends come before submits, so what is given back can be taken at once; timers come last, then
    the dispatch.
    """

    END = 0
    NODE = 1
    CANCEL = 2
    SUBMIT = 3
    RELEASE = 4
    EVOLVE = 5
    TIMER = 6


# The same as plain integers: looking up a member costs more than the comparison.
_END, _CANCEL, _SUBMIT, _RELEASE, _TIMER = (
    int(phase) for phase in (Phase.END, Phase.CANCEL, Phase.SUBMIT, Phase.RELEASE, Phase.TIMER)
)


#: Of a dispatch grid, seconds: a year.
_LONGEST_INTERVAL = 366 * 86400
_COMPLETED, _TIMEOUT = int(JobOutcome.COMPLETED), int(JobOutcome.TIMEOUT)


class Overrun(StrEnum):
    """What happens to a job that reaches its requested time."""

    KILL = "kill"
    """It ends there."""
    EXTEND = "extend"
    """It runs on for as long as the log says (as in AccaSim)."""


class Simulator:
    """
    Simulates a workload on a system under a dispatcher.

    Parameters
    ----------
    fitted
        A workload mapped onto its system, see :func:`cpsched.mapping.fit`.
    dispatcher, predictor
        Who decides, and who predicts runtimes.
    overrun, correction
        What happens at the requested time, and at a prediction that has passed.
    dispatch_interval
        None: a dispatch at every instant with an event. Otherwise seconds of a grid (from second
        0): a dispatch at grid points only, and only if something happened since the last one or
        the dispatcher asked for it.
    runtime_model
        How long jobs run, a specification or an object.
    seed
        Given to dispatcher, predictor and runtime model.
    observers
        Told about everything that happens.
    """

    def __init__(
        self,
        fitted: Fitted,
        dispatcher: Dispatcher,
        predictor: RuntimePredictor,
        *,
        overrun: Overrun | str = Overrun.KILL,
        correction: Correction | str = Correction.REQUESTED,
        dispatch_interval: int | None = None,
        runtime_model: RuntimeModel | str = "recorded",
        seed: int = 0,
        observers: Sequence[Observer] = (),
    ) -> None:
        if dispatch_interval is not None and not 1 <= dispatch_interval <= _LONGEST_INTERVAL:
            raise ConfigError(
                f"dispatch_interval is {dispatch_interval}, must be between 1 and"
                f" {_LONGEST_INTERVAL} seconds"
            )
        self.system = fitted.system
        self.arrivals = Arrivals(fitted)
        self.state = State(self.system)
        self.dispatcher = dispatcher
        self.predictor = predictor
        self.overrun = Overrun(overrun)
        self._kills = self.overrun is Overrun.KILL
        self.correction = Correction(correction)
        self.interval = dispatch_interval
        self.runtime_model: RuntimeModel = (
            build("runtime_models", runtime_model)
            if isinstance(runtime_model, str)
            else runtime_model
        )
        self.now = 0
        num_jobs = self._num_jobs = len(self.arrivals)
        self.start_time: IntArray = np.full(num_jobs, MISSING, dtype=np.int64)
        self.end_time: IntArray = np.full(num_jobs, MISSING, dtype=np.int64)
        self.outcome: IntArray = np.full(num_jobs, JobOutcome.NOT_ENDED, dtype=np.int64)
        self._requested: list[int] = self.arrivals.requested_time.tolist()
        self._begin: list[int] = self.arrivals.begin.tolist()
        self._dependency: list[int] = self.arrivals.dependency.tolist()
        self._has_holds = bool(
            (self.arrivals.begin != MISSING).any() or (self.arrivals.dependency >= 0).any()
        )
        #: Running jobs that will be ended at their requested time, before they are done.
        self.cut: set[int] = set()
        #: Held jobs by the job they wait for.
        self.dependents: defaultdict[int, list[int]] = defaultdict(list)
        self._num_held = 0
        self._rows = np.arange(num_jobs, dtype=np.int64)
        self._rows.flags.writeable = False
        self._next_submit = 0
        self._heap: list[tuple[int, int, int, int]] = []
        self._counter = 0
        self._pending = False
        self._timer = -1
        self._timer_time = -1
        self._set_hooks(tuple(observers))
        self._learns = listens(predictor, "observe")
        self._predicts = not predictor.is_request
        self._sees_starts = listens(predictor, "on_start")
        self.runtime_model.reset(self.arrivals, seed)
        dispatcher.reset(self.system, seed)
        predictor.on_epoch(fitted.workload.epoch)
        predictor.reset(self.system, seed)

    def _set_hooks(self, observers: tuple[Observer, ...]) -> None:
        self.observers = observers
        self._on_submit: tuple[Callable[..., None], ...] = hooks(observers, "on_submit")
        self._on_start: tuple[Callable[..., None], ...] = hooks(observers, "on_start")
        self._on_end: tuple[Callable[..., None], ...] = hooks(observers, "on_end")
        self._on_decision: tuple[Callable[..., None], ...] = hooks(observers, "on_decision")
        self._on_instant: tuple[Callable[..., None], ...] = hooks(observers, "on_instant")

    @property
    def num_submitted(self) -> int:
        """Jobs submitted so far."""
        return self._next_submit

    def events(self) -> list[tuple[int, int, int, int]]:
        """Return the events to come: time, phase, counter, and what it is about."""
        return list(self._heap)

    def set_events(self, events: list[tuple[int, int, int, int]]) -> None:
        """Replace the events to come."""
        self._heap = events
        heapq.heapify(self._heap)

    def next_time(self) -> int | None:
        """Return the next second at which something happens, or None when all is done."""
        if self._next_submit == self._num_jobs:
            return self._heap[0][0] if self._heap else None
        submit = self.arrivals.submit[self._next_submit]
        if self._heap and self._heap[0][0] < submit:
            return self._heap[0][0]
        return submit

    def run(self, until: int | None = None) -> None:
        """
        Step until all jobs have ended, or to the last instant before ``until``.

        Raises
        ------
        DispatchError
            If the dispatcher breaks an invariant, or leaves jobs waiting for ever.
        """
        while True:
            time = self.next_time()
            if time is None or (until is not None and time >= until):
                break
            self._instant(time)
        if self.next_time() is None:
            self._check_nobody_left()

    def step(self) -> bool:
        """Advance to the next instant and finish it; return False if there was none."""
        time = self.next_time()
        if time is None:
            self._check_nobody_left()
            return False
        self._instant(time)
        return True

    def _instant(self, now: int) -> None:
        self.now = now
        submits = self.arrivals.submit
        heap = self._heap
        while True:
            while heap and heap[0][0] == now and heap[0][1] < _SUBMIT:
                event = heapq.heappop(heap)
                if event[1] == _END:
                    self._end(event[3])
                else:
                    self._handle(event)
            if self._next_submit < self._num_jobs and submits[self._next_submit] == now:
                self._submit()
            while heap and heap[0][0] == now:
                self._handle(heapq.heappop(heap))
            self._maybe_dispatch(now)
            if not (heap and heap[0][0] == now):
                break
        for hook in self._on_instant:
            hook(now)

    def _push(self, time: int, phase: Phase, payload: int) -> None:
        self._counter += 1
        heapq.heappush(self._heap, (time, int(phase), self._counter, payload))

    def _handle(self, event: tuple[int, int, int, int]) -> None:
        _, phase, _, payload = event
        if phase == _END:
            self._end(payload)
        elif phase == _RELEASE:
            self._release(payload)
        elif phase == _CANCEL:
            self._cancel(payload)
        elif payload == self._timer:
            self._timer = -1
            self._pending = True

    # --- submit, hold, cancel --------------------------------------------------------------------

    def _submit(self) -> None:
        """Let every job of this instant arrive."""
        arrivals, now, first = self.arrivals, self.now, self._next_submit
        end = first + 1
        while end < len(arrivals) and arrivals.submit[end] == now:
            end += 1
        state = self.state
        if arrivals.enter(state.store, first, end):
            state.set_eligible(arrivals.eligible(state.store))
        self._next_submit = end
        if self._predicts:
            predict_into_store(self.predictor, JobTable(state.store, self._rows[first:end]), now)
        for row in range(first, end):
            if self._has_holds and self._hold(row):
                continue
            state.enqueue(row)
        self._pending = True
        for hook in self._on_submit:
            hook(first, end, now)

    def _hold(self, row: int) -> bool:
        """Keep a job out of the queue until its begin time and dependency allow it."""
        needed = self._dependency[row]
        if needed >= 0 and self.outcome[needed] == JobOutcome.NOT_ENDED:
            self.dependents[needed].append(row)
        elif self._begin[row] > self.now:
            self._push(self._begin[row], Phase.RELEASE, row)
        else:
            return False
        self.state.store.writable[row, c.STATE] = c.HELD
        self._num_held += 1
        return True

    def _release(self, row: int) -> None:
        """Let a held job into the queue, unless it is held for another reason too."""
        self._num_held -= 1
        if not self._hold(row):
            self.state.release(row)
            self._pending = True

    def cancel(self, job: int, time: int) -> None:
        """Have a job cancelled at a second to come, if it still waits then."""
        if time < self.now:
            raise ConfigError(f"job {job} cannot be cancelled at {time}: it is {self.now} already")
        self._push(time, Phase.CANCEL, job)

    def _cancel(self, row: int) -> None:
        columns = self.state.store.writable
        if row >= self._next_submit or columns[row, c.STATE] != c.WAITING:
            return
        columns[row, c.STATE] = c.ENDED
        self.state.drop_started()
        self.predictor.on_cancel(JobTable(self.state.store, self._rows[row : row + 1]), self.now)
        self._finish(row, JobOutcome.CANCELLED)

    # --- start, end ------------------------------------------------------------------------------

    def _start(self, action: Start) -> None:
        row, allocation = action
        state, now = self.state, self.now
        state.start(row, allocation, now)
        work = self.runtime_model.start(row, allocation, now)
        end = self.runtime_model.end(row, allocation, work, now)
        if self._kills and end > now + self._requested[row]:
            end = now + self._requested[row]
            self.cut.add(row)
        self._counter += 1
        heapq.heappush(self._heap, (end, _END, self._counter, row))
        self.start_time[row] = now
        if self._sees_starts:
            self.predictor.on_start(JobTable(state.store, self._rows[row : row + 1]), now)
        for hook in self._on_start:
            hook(row, allocation, now)

    def _end(self, row: int) -> None:
        now = self.now
        self.state.end(row)
        killed = row in self.cut
        if killed:
            self.cut.remove(row)
        if self._learns:
            status = Status.TIMEOUT if killed else int(self.arrivals.status[row])
            self.predictor.observe(
                JobTable(self.state.store, self._rows[row : row + 1]),
                Outcome(
                    np.array([now - self.start_time.item(row)]),
                    np.array([status]),
                    np.array([killed]),
                ),
                now,
            )
        self._finish(row, _TIMEOUT if killed else _COMPLETED)

    def _finish(self, row: int, outcome: int) -> None:
        """Write down how a job ended, and let go who waited for it."""
        self.outcome[row] = outcome
        self.end_time[row] = self.now
        self._pending = True
        if self._has_holds:
            for dependent in self.dependents.pop(row, ()):
                self._push(self.now, Phase.RELEASE, dependent)
        for hook in self._on_end:
            hook(row, outcome, self.now)

    # --- dispatch --------------------------------------------------------------------------------

    def _maybe_dispatch(self, now: int) -> None:
        """Ask the dispatcher, if something happened and this instant is on the grid."""
        if not self._pending:
            return
        if self.interval and now % self.interval:
            self._wake_at(now + self.interval - now % self.interval)
            return
        self._pending = False
        if self.state.num_waiting or self.dispatcher.acts_when_idle:
            self._dispatch(now)

    def _dispatch(self, now: int) -> None:
        state = self.state
        if state.is_overdue(now):
            correct_overdue(state, self.correction, now)
        view = state.view(now)
        before = perf_counter()
        decision = self.dispatcher.decide(view)
        seconds = perf_counter() - before
        for hook in self._on_decision:
            hook(view, decision, seconds)
        if decision.actions:
            self._carry_out(decision)
        if decision.again_at is not None:
            if decision.again_at <= now:
                raise DispatchError(
                    f"{self.dispatcher.name} wants to be woken at {decision.again_at},"
                    f" it is {now} already"
                )
            self._wake_at(decision.again_at)

    def _carry_out(self, decision: Decision) -> None:
        state = self.state
        actions = decision.actions
        only_head = (
            len(actions) == 1 and isinstance(actions[0], Start) and state.is_head(actions[0].handle)
        )
        for action in actions:
            if not isinstance(action, Start):
                raise DispatchError(
                    f"{self.dispatcher.name} asks for {type(action).__name__} of job"
                    f" {action.handle}, which this simulation cannot do: jobs are rigid"
                )
            self._start(action)
        if only_head:
            state.drop_head()
        else:
            state.drop_started()

    def _wake_at(self, time: int) -> None:
        """Make sure of a dispatch at a second to come."""
        self._counter += 1
        if self._timer >= 0 and self._timer_time <= time:
            return
        self._timer = self._counter
        self._timer_time = time
        heapq.heappush(self._heap, (time, Phase.TIMER, self._counter, self._counter))

    def _check_nobody_left(self) -> None:
        left = self.state.num_waiting + self._num_held
        if left:
            view = self.state.view(self.now)
            name = self.dispatcher.name
            row = int(view.waiting.handle[0]) if len(view.waiting) else min(self.dependents)
            job = self.arrivals.workload.job_id[self.arrivals.workload_row[row]]
            raise DispatchError(
                f"{name} leaves {left} job{'s' if left > 1 else ''} waiting for ever (the first is"
                f" job {job}):"
                " nothing runs, nothing will be submitted, and nothing starts"
            )
