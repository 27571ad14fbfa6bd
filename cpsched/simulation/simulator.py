"""
The event loop: integer seconds, a heap of (time, phase, counter), one dispatch per instant.

At one instant events happen in the order of :class:`Phase`; then the dispatcher is asked, again
and again at that instant until no event is left there (a job of runtime 0 ends where it starts).
"""

from __future__ import annotations

import heapq
from enum import IntEnum
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from cpsched.engine.cluster import Cluster
from cpsched.engine.predicting import Correction
from cpsched.errors import ConfigError, DispatchError, one_of
from cpsched.kernels.events import PHASE_BITS
from cpsched.model import columns as c
from cpsched.model.arrays import copied, let_go, move, plain, shared
from cpsched.model.decision import Kill, Requeue, Resize, Start, Suspend
from cpsched.model.schedule import JobOutcome, Leaving, Outages
from cpsched.model.seeds import stream_seed
from cpsched.simulation.arrivals import UNSUCCESSFUL, JobStream
from cpsched.simulation.compiled import MOST_WAKES, CompiledLoop, rule_of
from cpsched.simulation.observers import HOOKS, Observer, hooks
from cpsched.simulation.outages import DownNodes
from cpsched.simulation.record import AllocationRecorder, DecisionRecorder
from cpsched.simulation.runtime_models import Recorded
from cpsched.simulation.settings import Overrun
from cpsched.simulation.work import Work
from cpsched.util.own_code import name_of, title
from cpsched.util.spec import build
from cpsched.util.types import MISSING, DependencyType, Status
from cpsched.util.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.dispatch.contract import Dispatcher
    from cpsched.model.allocation import Allocation
    from cpsched.model.decision import Action
    from cpsched.model.prediction import RuntimePredictor
    from cpsched.simulation.outages import OutageModel
    from cpsched.simulation.runtime_models import RuntimeModel
    from cpsched.systems.mapping import Fitted
    from cpsched.util.types import IntArray


class Phase(IntEnum):
    """
    The order of events at one instant. This is a promise.

    Ends come before submits, so released capacity can be taken at once; the dispatch comes last.
    """

    END = 0
    NODE = 1
    CANCEL = 2
    SUBMIT = 3
    RELEASE = 4
    # 5: jobs are cancelled that arrive in the same second.
    RESIZE_REQUEST = 6


# The same as plain integers: looking up a member costs more than the comparison.
_END, _NODE, _CANCEL, _SUBMIT, _RELEASE, _RESIZE_REQUEST = (int(phase) for phase in Phase)

#: The phase in which a job is cancelled that arrives in the same second.
_AFTER_SUBMIT = _RELEASE + 1

#: The part of a compiled loop's counter that is no phase.
_COUNT = (1 << PHASE_BITS) - 1
#: Instants between updates of the progress display.
_INSTANTS = 16
#: Jobs that arrive between looks at what can be let go.
_BETWEEN = 1 << 14
#: Later than any event.
_FOREVER = 2**62
#: Of a dispatch grid, seconds: a year.
_LONGEST_INTERVAL = 366 * 86400
#: Decisions without a start, and seconds, after which a dispatcher that only its own requests wake
#: is taken to ask for ever: a day second by second, or a year.
MAX_IDLE_WAKES = 100_000
LONGEST_STILL = 366 * 86400
#: How often one is asked that asks to be when all jobs have ended.
_MAX_FINAL_WAKES = 1000
_TIMED_OUT, _CANCELLED = int(Status.TIMEOUT), int(Status.CANCELLED)
_AFTEROK, _AFTERNOTOK, _AFTER = (
    int(kind) for kind in (DependencyType.AFTEROK, DependencyType.AFTERNOTOK, DependencyType.AFTER)
)
_COMPLETED, _TIMEOUT = int(JobOutcome.COMPLETED), int(JobOutcome.TIMEOUT)
_NEVER_STARTED = int(JobOutcome.NEVER_STARTED)
#: How a job ended that another depends on, in words.
_ENDS = {
    JobOutcome.TIMEOUT: "ended at its time limit",
    JobOutcome.CANCELLED: "was cancelled",
    JobOutcome.KILLED: "was killed",
    JobOutcome.NEVER_STARTED: "never started",
}


class Simulator:
    """
    Simulates a workload on a system under a dispatcher.

    Parameters
    ----------
    fitted
        A workload mapped onto its system, see :func:`cpsched.systems.mapping.fit`; or its arrivals.
    dispatcher, predictor
        The dispatcher, and the predictor of runtimes.
    overrun, correction
        What happens at the requested time, and after the predicted end.
    dispatch_interval
        None: a dispatch at every instant with an event. Otherwise seconds of a grid (from second
        0): a dispatch at grid points only, and only if something happened since the last one or
        the dispatcher asked for it.
    runtime_model
        How long jobs run, a specification or an object.
    outages
        Which nodes are down when: themselves, or a model, a specification or an object. Jobs on a
        failing node are requeued.
    seed
        Dispatcher, predictor, runtime model and outages each get their own seed derived from it.
    observers
        Notified of all events.
    """

    def __init__(
        self,
        fitted: Fitted | JobStream,
        dispatcher: Dispatcher,
        predictor: RuntimePredictor,
        *,
        overrun: Overrun | str = Overrun.KILL,
        correction: Correction | str = Correction.REQUESTED,
        dispatch_interval: int | None = None,
        runtime_model: RuntimeModel | str = "recorded",
        outages: OutageModel | Outages | str = "none",
        seed: int = 0,
        observers: Sequence[Observer] = (),
    ) -> None:
        if dispatch_interval is not None and not 1 <= dispatch_interval <= _LONGEST_INTERVAL:
            raise ConfigError(
                f"dispatch_interval is {dispatch_interval}, must be between 1 and"
                f" {_LONGEST_INTERVAL} seconds"
            )
        self.arrivals = fitted if isinstance(fitted, JobStream) else JobStream(fitted)
        self.overrun = one_of(Overrun, overrun, "overrun")
        self._kills = self.overrun is Overrun.KILL
        self.interval = dispatch_interval
        self.runtime_model: RuntimeModel = (
            build("runtime_models", runtime_model)
            if isinstance(runtime_model, str)
            else runtime_model
        )
        self.runtime_model.reset(self.arrivals, stream_seed(seed, "runtime model"))
        model = build("outages", outages) if isinstance(outages, str) else outages
        self.outages: Outages = (
            model
            if isinstance(model, Outages)
            else model.outages(
                self.arrivals.system.node_names, *self._span(), stream_seed(seed, "outages")
            )
        )
        self._down = DownNodes(self.outages)
        self.cluster = Cluster(
            self.arrivals.system,
            dispatcher,
            predictor,
            correction=correction,
            seed=seed,
            epoch=self.arrivals.workload.epoch,
            name_of=self.arrivals.job_id,
        )
        if len(self.outages):
            self.cluster.plan_outages(self.outages)
        self.system, self.machine = self.cluster.system, self.cluster.machine
        self.dispatcher, self.predictor = self.cluster.dispatcher, self.cluster.predictor
        self.now = 0
        num_jobs = self._num_jobs = len(self.arrivals)
        self.machine.store.reserve(num_jobs)
        self.start_time, self.end_time, self.outcome = (shared(num_jobs)[0] for _ in range(3))
        for array, unknown in (
            (self.start_time, MISSING),
            (self.end_time, MISSING),
            (self.outcome, JobOutcome.NOT_ENDED),
        ):
            array[:] = unknown
            let_go(array, 0, num_jobs)
        self.work = Work(self.arrivals, self.runtime_model, kills=self._kills)
        self._status = plain(self.arrivals.status)
        self._begin = plain(self.arrivals.begin)
        self._dependency = plain(self.arrivals.dependency)
        self._dependency_type = plain(self.arrivals.dependency_type)
        self._cancel_at = plain(self.arrivals.cancel)
        self._has_cancels = bool((self.arrivals.cancel != MISSING).any())
        self._has_holds = bool(
            (self.arrivals.begin != MISSING).any() or (self.arrivals.dependency >= 0).any()
        )
        self._evolves = bool(self.arrivals.evolve_to.any())
        self._num_held = 0
        self._next_submit = 0
        #: Why jobs can never start that were left at the end, by row; see :meth:`why_never`.
        self._never: dict[int, str] = {}
        #: No job before this one waits or runs.
        self._oldest = 0
        #: Events to come: second, phase, counter, job.
        self._events: list[tuple[int, int, int, int]] = []
        #: The same as long as the compiled loop goes on, as :mod:`cpsched.kernels.events` has them.
        self._lent: IntArray | None = None
        self._counter = 0
        #: The second of the dispatch grid at which the dispatcher is asked next, or None.
        self._tick: int | None = None
        #: Since when nothing is left to happen but that the dispatcher is asked, and how often it
        #: has been.
        self._still_since: int | None = None
        self._num_wakes = 0
        self._is_over = False
        self._instants = 0
        self.observers = tuple(observers)
        #: What is called when something has happened, by the method's name.
        self._hooks = {name: hooks(self.observers, name) for name in HOOKS}
        self._compiled = self._compiled_loop()
        self.arrivals.let_go(0, num_jobs)
        for hook in self._hooks["on_begin"]:
            hook(self.dispatcher)

    def next_time(self) -> int | None:
        """Return the next second at which something happens, or None when all is done."""
        if self._lent is not None:
            time = self._lent.item(0, 0) if len(self._lent) else None
        else:
            time = self._events[0][0] if self._events else None
        if self._next_submit < self._num_jobs:
            submit = self.arrivals.submit[self._next_submit]
            time = submit if time is None or submit < time else time
        wake, tick = self.cluster.next_wake, self._tick
        if time is None and self._is_over:
            wake = tick = None
        if wake is not None and (time is None or wake < time):
            time = wake
        if tick is not None and (time is None or tick < time):
            time = tick
        change = self._down.next_change
        if change is not None and (change < time if time is not None else self.machine.num_waiting):
            time = change
        return time

    def _span(self) -> tuple[int, int]:
        """Return the first submit, and a second by which all has long ended that can."""
        submits = self.arrivals.submit
        if not len(submits):
            return 0, 0
        longest = int(max(self.arrivals.runtime.max(), self.arrivals.requested_time.max()))
        return submits[0], submits[-1] + 2 * longest

    def run(self, until: int | None = None) -> None:
        """
        Step until all jobs have ended, or to the last instant before ``until``.

        Raises
        ------
        DispatchError
            If the dispatcher breaks an invariant, or leaves jobs waiting forever.
        """
        while self.advance(until):
            pass

    def advance(self, until: int | None = None) -> bool:
        """
        Go on for a while: an instant, or many where the compiled loop does.

        Returns
        -------
        bool
            False if nothing is left to happen before ``until``.

        Raises
        ------
        DispatchError
            As :meth:`run`.
        """
        time = self.next_time()
        if time is None:
            return self._give_up()
        if until is not None and time >= until:
            return False
        if self._compiled is None or not self._is_for(self._compiled):
            self._instant(time)
            self._instants += 1
            if self._hooks["on_progress"] and self._instants % _INSTANTS == 0:
                self._tell_progress()
        else:
            self._advance_compiled(self._compiled, until)
            self._tell_progress()
        return True

    def step(self) -> bool:
        """Advance to the next instant and finish it; return False if there was none."""
        time = self.next_time()
        if time is None:
            return self._give_up()
        self._instant(time)
        return True

    def _instant(self, now: int) -> None:
        self.now = now
        submits = self.arrivals.submit
        heap = self._heap
        while True:
            if self._down.next_change == now:
                self._change_nodes()
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
            again = self._maybe_dispatch(now)
            if not again and not (heap and heap[0][0] == now):
                break
        for hook in self._hooks["on_instant"]:
            hook(now)

    def _tell_progress(self) -> None:
        waiting = self.machine.num_waiting
        ended = self._next_submit - waiting - self.machine.num_running - self._num_held
        for hook in self._hooks["on_progress"]:
            hook(ended, waiting, self.now)

    # --- the compiled loop -----------------------------------------------------------------------

    def _compiled_loop(self) -> CompiledLoop | None:
        """Return the compiled loop, if all there is to ask is built in and it can answer."""
        names = ("on_submit", "on_start", "on_end", "on_decision")
        hooks = [hook for name in names for hook in self._hooks[name]]
        recorders: dict[type, Any] = {
            type(observer): observer
            for hook in hooks
            if (observer := getattr(hook, "__self__", None)) is not None
        }
        own = self.dispatcher.event_loop() is not None
        free = not (self._has_holds or self._has_cancels)
        plain = (
            (rule_of(self.dispatcher) is not None and free) or (own and not self._evolves)
        ) and (
            self.cluster.only_requested
            and type(self.runtime_model) is Recorded
            and self._kills
            and self.interval is None
            and not self.arrivals.relaxes
            and not self._hooks["on_instant"]
            and len(hooks) == 2
            and recorders.keys() == {AllocationRecorder, DecisionRecorder}
        )
        if not plain:
            return None
        return CompiledLoop(
            self.arrivals,
            self.cluster,
            self.start_time,
            self.end_time,
            self.outcome,
            recorders[AllocationRecorder],
            recorders[DecisionRecorder],
        )

    def _is_for(self, loop: CompiledLoop) -> bool:
        """Whether nothing else will happen than what the compiled loop does."""
        if self.machine.down or self._down.next_change is not None:
            return False
        if loop.own is not None:
            return len(self.cluster.wakes) < MOST_WAKES and bool(loop.own.is_ready())
        ends_only = self._lent is not None or all(event[1] == _END for event in self._events)
        return ends_only and self.cluster.next_wake is None

    def _advance_compiled(self, loop: CompiledLoop, until: int | None) -> None:
        counters = loop.counters
        counters["now"], counters["next_submit"] = self.now, self._next_submit
        counters["counter"], counters["num_held"] = self._counter, self._num_held
        if self._lent is None:
            events = np.array(self._events, dtype=np.int64).reshape(-1, 4)
            events[:, 2] += events[:, 1] << PHASE_BITS
            self._lent = events[:, [0, 2, 3]]
        self._lent = loop.advance(self._lent, _FOREVER if until is None else until)
        self.now, self._next_submit = int(counters["now"]), int(counters["next_submit"])
        self._counter, self._num_held = int(counters["counter"]), int(counters["num_held"])
        self._let_go()

    @property
    def _heap(self) -> list[tuple[int, int, int, int]]:
        """Events to come, taken back from the compiled loop."""
        if self._lent is not None:
            lent, self._lent = self._lent, None
            self._events = [
                (time, count >> PHASE_BITS, count & _COUNT, row)
                for time, count, row in lent.tolist()
            ]
            ends = lent[lent[:, 1] >> PHASE_BITS == _END]
            killed = self.arrivals.runtime[ends[:, 2]] > self.arrivals.requested_time[ends[:, 2]]
            self.work.will_time_out = set(ends[killed, 2].tolist())
        return self._events

    def _let_go(self) -> None:
        """Take out of memory what is only of jobs that have ended."""
        first, self._oldest = self._oldest, self.machine.oldest
        arrays = self.machine.store.columns, self.start_time, self.end_time, self.outcome
        for array in arrays:
            let_go(array, first, self._oldest)
        self.arrivals.let_go(first, self._oldest)

    def _push(self, time: int, phase: int, job: int) -> None:
        self._counter += 1
        heapq.heappush(self._heap, (time, phase, self._counter, job))

    def _handle(self, event: tuple[int, int, int, int]) -> None:
        _, phase, _, job = event
        {_END: self._end, _RELEASE: self._release, _RESIZE_REQUEST: self._request_resize}.get(
            phase, self._cancel
        )(job)

    # --- submit, hold, cancel --------------------------------------------------------------------

    def _submit(self) -> None:
        """Let every job of this instant arrive."""
        arrivals, now, first = self.arrivals, self.now, self._next_submit
        end = first + 1
        while end < self._num_jobs and arrivals.submit[end] == now:
            end += 1
        store = self.machine.store
        classes = arrivals.eligible(store) if arrivals.enter(store, first, end) else None
        self._next_submit = end
        held = {row for row in range(first, end) if self._hold(row)} if self._has_holds else ()
        self.cluster.admit(first, end, now, held=held, classes=classes)
        if first // _BETWEEN != end // _BETWEEN:
            self._let_go()
        if self._has_cancels:
            for row in range(first, end):
                if self._cancel_at[row] != MISSING:
                    self.cancel(row, self._cancel_at[row])
        for hook in self._hooks["on_submit"]:
            hook(first, end, now)

    def _hold(self, row: int) -> bool:
        """Say whether a job may not start yet, and see to it that it is released then."""
        needed = self._dependency[row]
        fulfilled = needed < 0 or self._fulfilled(needed, self._dependency_type[row])
        if fulfilled is False:
            self._push(self.now, _AFTER_SUBMIT, row)
        elif fulfilled and self._begin[row] > self.now:
            self._push(self._begin[row], _RELEASE, row)
        elif fulfilled:
            return False
        self._num_held += 1
        return True

    def _fulfilled(self, needed: int, kind: int) -> bool | None:
        """Say whether a dependency is fulfilled; None: not yet, False: it never will be."""
        outcome = int(self.outcome[needed])
        if outcome == JobOutcome.NOT_ENDED:
            return True if kind == _AFTER and self.start_time[needed] != MISSING else None
        if kind in (_AFTEROK, _AFTERNOTOK):
            failed = outcome != _COMPLETED or self._status[needed] in UNSUCCESSFUL
            return failed == (kind == _AFTERNOTOK)
        return True

    def _release_dependents(self, row: int) -> None:
        """Check again the held jobs that depend on a job."""
        jobs, bounds = self.arrivals.dependents
        for dependent in jobs[bounds[row] : bounds[row + 1]].tolist():
            if self.machine.is_in(dependent, c.HELD):
                self._push(self.now, _RELEASE, dependent)

    def _release(self, row: int) -> None:
        """Let a held job into the queue, unless it is held for another reason too."""
        if not self.machine.is_in(row, c.HELD):
            return  # cancelled meanwhile
        self._num_held -= 1
        if not self._hold(row):
            self.cluster.release(row, self.now)

    def cancel(self, job: int, time: int) -> None:
        """
        Have a job cancelled at a second to come, if it waits or is held then.

        One that runs is killed if its workload says this second (``cancel``), and else left alone.

        Raises
        ------
        ConfigError
            If that second has passed, or is before the job's submit.
        """
        name = self.arrivals.job_id(job)
        if time < self.now:
            raise ConfigError(
                f"job {name} cannot be cancelled at {time}: the time is already {self.now}"
            )
        submit = self.arrivals.submit[job]
        if time < submit:
            raise ConfigError(
                f"job {name} cannot be cancelled at {time}: it is submitted at {submit}"
            )
        # In its own submit second it has to arrive first.
        self._push(time, _CANCEL if time > submit else _AFTER_SUBMIT, job)

    def _cancel(self, row: int) -> None:
        outcome = JobOutcome.CANCELLED
        if self.machine.is_in(row, c.HELD):
            self._num_held -= 1
            needed = self._dependency[row]
            if needed >= 0 and self._cancel_at[row] != self.now:
                met = self._fulfilled(needed, self._dependency_type[row])
                outcome = JobOutcome.NEVER_STARTED if met is False else outcome
        elif not self.machine.is_in(row, c.WAITING):
            if self.machine.is_in(row, c.RUNNING) and self._cancel_at[row] == self.now:
                self._kill(row)
            return
        self.cluster.cancel(row, self.now)
        self._finish(row, outcome)

    # --- start, end ------------------------------------------------------------------------------

    def _started(self, row: int, allocation: Allocation, now: int) -> None:
        """Find out when a job that has just started will end."""
        end = self.work.start(
            row, allocation, now, again=bool(self.machine.store.columns.item(row, c.ATTEMPTS))
        )
        self._counter += 1
        heapq.heappush(self._heap, (end, _END, self._counter, row))
        self.start_time[row] = now
        if self._has_holds:
            self._release_dependents(row)
        if self._evolves:
            self._schedule_resize_request(row, end)
        for hook in self._hooks["on_start"]:
            hook(row, allocation, now)

    def _take_off(self, row: int, why: Leaving) -> None:
        """Take a running job off its nodes and queue it again; it keeps what it has saved."""
        now, since = self.now, self.machine.store.columns.item(row, c.SINCE)
        self.cluster.requeue(row, now)
        self._forget_end(row)
        self.work.cut_short(row, now, keeps_all=why is Leaving.SUSPENDED)
        self.start_time[row] = MISSING
        for hook in self._hooks["on_leave"]:
            hook(row, since, now, why)

    def _resize(self, row: int, allocation: Allocation) -> None:
        """Continue a running job on other nodes."""
        now, since = self.now, self.machine.store.columns.item(row, c.SINCE)
        self.cluster.resize(row, allocation, now)
        self._forget_end(row)
        end = self.work.resize(row, allocation, now)
        self._push(end, _END, row)
        if self._evolves:
            self._schedule_resize_request(row, end)
        for hook in self._hooks["on_leave"]:
            hook(row, since, now, Leaving.RESIZED)
        for hook in self._hooks["on_resize"]:
            hook(row, allocation, now)

    def _kill(self, row: int) -> None:
        """End a running job."""
        self.cluster.end(row, self.now, status=_CANCELLED)
        self._forget_end(row)
        self.work.ended(row)
        self._finish(row, JobOutcome.KILLED)

    def _forget_end(self, row: int) -> None:
        """Remove a running job's end and its size requests from future events."""
        heap = self._heap
        heap[:] = [
            event for event in heap if event[3] != row or event[1] not in (_END, _RESIZE_REQUEST)
        ]
        heapq.heapify(heap)

    def _schedule_resize_request(self, row: int, end: int) -> None:
        """Note when a running job will ask for another size, if it has not done so."""
        request = self.work.resize_request(row, self.now)
        if (
            request
            and request[0] < end
            and not self.machine.store.columns.item(row, c.WANTED_UNITS)
        ):
            self._push(request[0], _RESIZE_REQUEST, row)

    def _request_resize(self, row: int) -> None:
        request = self.work.resize_request(row, self.now)
        if request:
            self.cluster.request_resize(row, request[1], self.now)

    def _change_nodes(self) -> None:
        """Let nodes go down and come up; what runs on those that go down is queued again."""
        now, heap = self.now, self._heap
        while heap and heap[0][:2] == (now, _END):
            self._end(heapq.heappop(heap)[3])
        down, fallen = self._down.change(now)
        if fallen:
            for row in self.machine.view(now).running.rows.tolist():
                if np.isin(self.machine.allocation(row).node, fallen).any():
                    self._take_off(row, Leaving.REQUEUED)
        self.cluster.set_down(down, now)

    def _end(self, row: int) -> None:
        killed = self.work.ended(row)
        status = _TIMED_OUT if killed else self._status[row]
        self.cluster.end(row, self.now, status=status, killed=killed)
        self._finish(row, _TIMEOUT if killed else _COMPLETED)

    def _finish(self, row: int, outcome: int) -> None:
        """Write down how a job ended, and let go of those that waited for it."""
        self.outcome[row] = outcome
        self.end_time[row] = self.now
        if self._has_holds:
            self._release_dependents(row)
        for hook in self._hooks["on_end"]:
            hook(row, outcome, self.now)

    # --- dispatch --------------------------------------------------------------------------------

    def _maybe_dispatch(self, now: int) -> bool:
        """Ask the dispatcher if it is due; return whether to ask again at this instant."""
        cluster = self.cluster
        if not cluster.is_due(now):
            return False
        if self.interval and now % self.interval:
            self._tick = now + self.interval - now % self.interval
            return False
        self._tick = None
        view = cluster.prepare(now)
        if view is None:
            return False
        before = perf_counter()
        decision = cluster.dispatcher.decide(view)
        seconds = perf_counter() - before
        cluster.accept(decision, now)
        for hook in self._hooks["on_decision"]:
            hook(view, decision, seconds)
        if not decision.actions:
            self._check_waits_for_something(now)
            return False
        self._still_since = None
        if all(type(action) is Start for action in decision.actions):
            self._start(cast("Sequence[Start]", decision.actions))
            return decision.again_at == now
        for action in decision.actions:
            self._carry_out(action)
        return True

    def _check_waits_for_something(self, now: int) -> None:
        """
        Check that a dispatcher that starts nothing does not ask to be asked for ever.

        Raises
        ------
        DispatchError
            If jobs wait and nothing is left to happen but that it is asked, and it has not started
            any for :data:`MAX_IDLE_WAKES` decisions, or wants to wait for longer than a year.
        """
        wake = self.cluster.next_wake
        comes = self._events or self._next_submit < self._num_jobs or self._down.next_change
        if wake is None or comes or self.cluster.awaits_switches:
            self._still_since = None
            return
        if self._still_since is None:
            self._still_since, self._num_wakes = now, 0
        self._num_wakes += 1
        if not self.machine.num_waiting:
            # Nothing that it may still be asked makes a difference.
            self._is_over = (
                self._num_wakes >= _MAX_FINAL_WAKES or wake - self._still_since > LONGEST_STILL
            )
            return
        if self._num_wakes < MAX_IDLE_WAKES and wake - self._still_since <= LONGEST_STILL:
            return
        waiting = self.machine.view(now).waiting
        often = "once" if self._num_wakes == 1 else f"{self._num_wakes:,} times"
        raise DispatchError(
            f"{title(_innermost(self.dispatcher))}: decide asks again (again_at) and starts none"
            f" of {counted(len(waiting), 'waiting job')} (the first is job"
            f" {self.arrivals.job_id(int(waiting.handle[0]))}), though nothing else is left to"
            f" happen: asked {often} since second {self._still_since:,}, next at"
            f" {wake:,}. Start a job, or ask for the second at which one can start"
        )

    def _carry_out(self, action: Action) -> None:
        """Carry out one action of several kinds; the cluster has checked all but starts."""
        match action:
            case Start():
                self._start([action])
            case Resize(handle, allocation):
                self._resize(handle, allocation)
            case Requeue(handle):
                self._take_off(handle, Leaving.REQUEUED)
            case Suspend(handle):
                self._take_off(handle, Leaving.SUSPENDED)
            case Kill(handle):
                self._kill(handle)

    def _start(self, starts: Sequence[Start]) -> None:
        """Start jobs."""
        self.cluster.start(starts, self.now)
        for row, allocation in starts:
            self._started(row, allocation, self.now)

    def why_never(self) -> dict[int, str]:
        """Return why jobs can never start, of those that have left the queue for it, by row."""
        reasons = dict(self._never)
        for row in np.flatnonzero(self.outcome[: self._next_submit] == _NEVER_STARTED).tolist():
            if row not in reasons:
                reasons[row] = self._unmet(row)
        return reasons

    def _unmet(self, row: int) -> str:
        """Say why the dependency of a job can never be fulfilled."""
        needed = self._dependency[row]
        outcome, status = JobOutcome(int(self.outcome[needed])), Status(self._status[needed])
        how = _ENDS.get(outcome, "did not fail")
        if outcome is JobOutcome.COMPLETED and status in UNSUCCESSFUL:
            how = f"ended as {status.name.lower()}"
        kind = DependencyType(self._dependency_type[row]).name.lower()
        return f"depends ({kind}) on job {self.arrivals.job_id(needed)}, which {how}"

    def _never_start(self, row: int, reason: str) -> None:
        """Take a job that can never start out of the queue, and those that depend on it."""
        if self.machine.is_in(row, c.HELD):
            self._num_held -= 1
        elif not self.machine.is_in(row, c.WAITING):
            return
        self.cluster.cancel(row, self.now)
        self.outcome[row], self.end_time[row] = _NEVER_STARTED, self.now
        self._never[row] = reason
        for hook in self._hooks["on_end"]:
            hook(row, _NEVER_STARTED, self.now)
        if self._has_holds:
            jobs, bounds = self.arrivals.dependents
            why = f"depends on job {self.arrivals.job_id(row)}, which can never start"
            for dependent in jobs[bounds[row] : bounds[row + 1]].tolist():
                self._never_start(dependent, why)

    def _give_up(self) -> bool:
        """
        Let the jobs go that the dispatcher says will never start; say whether there are any.

        Jobs that waited behind them may start then.
        """
        hopeless: Mapping[int, str] = {}
        if self.machine.num_waiting:
            hopeless = self.dispatcher.never_starts(self.machine.view(self.now))
        for row, reason in hopeless.items():
            self._never_start(row, reason)
        left = self.machine.num_waiting + self._num_held
        if left and hopeless:
            self._instant(self.now)
        if left and not hopeless:
            waiting = self.machine.view(self.now).waiting
            states = self.machine.store.columns[: self._next_submit, c.STATE]
            needed = self.arrivals.dependency[: self._next_submit][states == c.HELD]
            row = int(waiting.handle[0]) if len(waiting) else int(needed.min())
            raise DispatchError(
                f"{name_of(self.dispatcher)} leaves {left} job{'s' if left > 1 else ''} waiting"
                f" forever (the first is job {self.arrivals.job_id(row)}):"
                " nothing runs, nothing will be submitted, and nothing starts"
            )
        return bool(hopeless)

    # --- saving ----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """
        Return everything that a simulator of the same run needs to continue from here.

        Arrays, numbers and nested mappings of them; observers that have a ``state`` method (the
        recorders) are included. What follows from the workload is not.
        """
        return {
            "now": self.now,
            # Before the first instant ``now`` does not say that its changes have been made.
            "node_changes": self._down.made,
            "next_submit": self._next_submit,
            "counter": self._counter,
            "never": {str(row): reason for row, reason in self.why_never().items()},
            "tick": -1 if self._tick is None else self._tick,
            "start_time": copied(self.start_time),
            "end_time": copied(self.end_time),
            "outcome": copied(self.outcome),
            # Before the state of work, which is brought up to date with it.
            "events": np.array(self._heap, dtype=np.int64).reshape(-1, 4),
            "work": self.work.state(),
            "cluster": self.cluster.state(),
            "observers": {
                str(position): dict(observer.state())
                for position, observer in enumerate(self.observers)
                if hasattr(observer, "state")
            },
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned, in a simulator just built for the same run."""
        self.now, self._next_submit = int(saved["now"]), int(saved["next_submit"])
        self._counter = int(saved["counter"])
        self._tick = None if saved["tick"] < 0 else int(saved["tick"])
        for name in ("start_time", "end_time", "outcome"):
            move(saved[name], getattr(self, name))
        submitted, store = self._next_submit, self.machine.store
        for first in range(0, submitted, _BETWEEN):
            end = min(first + _BETWEEN, submitted)
            self.arrivals.enter(store, first, end)
            let_go(store.columns, first, end)
            self.arrivals.let_go(first, end)
        if submitted:
            self.machine.set_classes(self.arrivals.eligible(store))
        self.cluster.restore(saved["cluster"])
        self._never = {int(row): reason for row, reason in saved.get("never", {}).items()}
        self._lent = None
        self._events = [(int(a), int(b), int(k), int(d)) for a, b, k, d in saved["events"].tolist()]
        heapq.heapify(self._events)
        self.work.restore(saved["work"])
        if "node_changes" in saved:
            self._down.skip(int(saved["node_changes"]))
        else:
            self._down.skip_to(self.now)
        states = np.empty(submitted, dtype=np.int64)
        move(store.columns[:submitted, c.STATE], states)
        self._num_held = int((states == c.HELD).sum())
        for position, observer_state in saved.get("observers", {}).items():
            self.observers[int(position)].restore(observer_state)  # type: ignore[attr-defined]


def _innermost(dispatcher: Dispatcher) -> Dispatcher:
    """Return the dispatcher that decides: that inside others."""
    while (inner := getattr(dispatcher, "inner", None)) is not None:
        dispatcher = inner
    return dispatcher
