"""
A simulation: the native event loop, and everything in it that is not native.

Time is whole seconds. At one instant events happen in the order of :class:`Phase`; then the
dispatcher is asked, again and again at that instant until no event is left there (a job of runtime
0 ends where it starts). The loop (``cpsched/cpp/simulation.h``) calls the methods below where a
dispatcher, a predictor, a runtime model or an observer is Python's.
"""

from __future__ import annotations

from enum import IntEnum
from time import perf_counter
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from cpsched import _core
from cpsched.engine.cluster import Cluster
from cpsched.engine.predicting import Correction
from cpsched.errors import ConfigError, DispatchError, one_of
from cpsched.model import columns as c
from cpsched.model.arrays import copied, let_go, move, plain, shared
from cpsched.model.decision import Kill, Requeue, Resize, Start, Suspend
from cpsched.model.prediction import listens
from cpsched.model.schedule import JobOutcome, Leaving, Outages
from cpsched.model.seeds import stream_seed
from cpsched.simulation.arrivals import UNSUCCESSFUL, JobStream
from cpsched.simulation.observers import HOOKS, Observer, hooks
from cpsched.simulation.outages import DownNodes
from cpsched.simulation.settings import Overrun
from cpsched.simulation.work import Work
from cpsched.util.own_code import name_of, title
from cpsched.util.spec import build
from cpsched.util.types import MISSING, DependencyType, Status
from cpsched.util.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.dispatch.contract import Dispatcher
    from cpsched.dispatch.native import NativeRule
    from cpsched.model.allocation import Allocation
    from cpsched.model.decision import Action
    from cpsched.model.prediction import RuntimePredictor
    from cpsched.simulation.arrivals import Block
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


#: The phase in which a job is cancelled that arrives in the same second.
_AFTER_SUBMIT = int(Phase.RELEASE) + 1
#: Seconds of real time for which the loop goes on without a word.
_SECONDS = 0.1
#: Why the loop returns: nothing is left to happen; the second at which to stop; time is over.
_IDLE, _UNTIL, _PAUSED = range(3)
#: The hooks that the loop calls.
_LOOP_HOOKS = ("on_submit", "on_start", "on_end", "on_instant")
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
_CANCELLED = int(Status.CANCELLED)
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
    Simulation of a workload on a system under a dispatcher, step by step.

    :func:`cpsched.simulate` is simpler, and runs to the end.

    Parameters
    ----------
    fitted
        A workload mapped onto its system, see :func:`cpsched.systems.mapping.fit`, or its arrivals.
    dispatcher, predictor
        The dispatcher, and the predictor of runtimes.
    overrun
        Treatment of jobs at their requested time: ``kill`` or ``extend``.
    correction
        Expected end of a running job after its predicted end: ``requested`` or ``double``.
    dispatch_interval
        None: a decision at every second with an event. Otherwise decisions are only at multiples of
        this many seconds, after an event since the last one or at the dispatcher's request.
    runtime_model
        Runtimes of jobs, a specification or an object.
    outages
        Outages of nodes, or a model of them as a specification or an object. Jobs on a failing node
        are requeued.
    seed
        Seed from which dispatcher, predictor, runtime model and outages each get their own.
    observers
        Observers of all events.
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
        self._begin = plain(self.arrivals.begin)
        self._dependency = plain(self.arrivals.dependency)
        self._dependency_type = plain(self.arrivals.dependency_type)
        #: Why jobs can never start that were left at the end, by row; see :meth:`why_never`.
        self._never: dict[int, str] = {}
        #: Since when nothing is left to happen but that the dispatcher is asked, and how often it
        #: has been.
        self._still_since: int | None = None
        self._num_wakes = 0
        self.observers = tuple(observers)
        #: What is called when something has happened, by the method's name.
        self._hooks = {name: hooks(self.observers, name) for name in HOOKS}
        self._rule = self._native_rule()
        self._loop = self._event_loop()
        self._loop.next_node_change = self._down.next_change
        self.arrivals.let_go(0, num_jobs)
        for hook in self._hooks["on_begin"]:
            hook(self.dispatcher)

    def _native_rule(self) -> NativeRule | None:
        """Return what decides without Python, unless somebody has to see each decision."""
        seen = any(
            observer.native is None and type(observer).on_decision is not Observer.on_decision
            for observer in self.observers
        )
        if seen or len(self.outages):
            return None
        return self.dispatcher.native(self.machine.store, self._num_jobs)

    def _event_loop(self) -> _core.Simulation:
        """Return the loop, with what it needs of the jobs."""
        jobs = self.arrivals
        has_holds = bool((jobs.begin != MISSING).any() or (jobs.dependency >= 0).any())
        has_cancels = bool((jobs.cancel != MISSING).any())
        predicts, sees_starts, learns = self.cluster.learns
        columns = {"submit": np.asarray(jobs.submit), **_columns(jobs, "runtime", "requested_time")}
        if learns:
            columns |= _columns(jobs, "status")
        if has_cancels:
            columns |= _columns(jobs, "cancel")
        if has_holds:
            dependents, first = jobs.dependents
            columns |= _columns(jobs, "begin", "dependency", "dependency_type")
            columns |= {"dependents": dependents, "first_dependent": first, "failed": jobs.failed}
        loop = _core.Simulation(
            self,
            self.machine.core,
            columns,
            self.start_time,
            self.end_time,
            self.outcome,
            {
                "kills": self._kills,
                "interval": self.interval or 0,
                "has_holds": has_holds,
                "has_cancels": has_cancels,
                "acts_when_idle": self.dispatcher.acts_when_idle,
                "doubles": self.cluster.correction is Correction.DOUBLE,
                "predict": predicts,
                "work": not self.work.is_recorded,
                "evolve": bool(jobs.evolve_to.any()),
                "predictor_on_start": sees_starts,
                "predictor_on_end": learns,
                "predictor_on_cancel": listens(self.predictor, "on_cancel"),
                **{name: bool(self._hooks[name]) for name in _LOOP_HOOKS},
            },
        )
        if self._rule is not None:
            loop.set_dispatcher(self._rule.dispatcher)
        for observer in self.observers:
            if observer.native is not None:
                loop.add_observer(observer.native)
        self._has_holds = has_holds
        return loop

    @property
    def is_native(self) -> bool:
        """Whether compiled code makes every decision, without calling Python."""
        return self._rule is not None

    @property
    def now(self) -> int:
        """The last simulated second with events."""
        return self._loop.now

    def next_time(self) -> int | None:
        """Return the second of the next event, or None if there is no event left."""
        return self._loop.next_time()

    def _span(self) -> tuple[int, int]:
        """Return the first submit, and a second by which all has long ended that can."""
        submits = self.arrivals.submit
        if not len(submits):
            return 0, 0
        longest = int(max(self.arrivals.runtime.max(), self.arrivals.requested_time.max()))
        return submits[0], submits[-1] + 2 * longest

    def run(self, until: int | None = None) -> None:
        """
        Simulate until all jobs have ended, or all events before second ``until``.

        Raises
        ------
        DispatchError
            If the dispatcher breaks a rule, or leaves jobs waiting forever.
        """
        while self.advance(until):
            pass

    def advance(self, until: int | None = None, *, seconds: float = _SECONDS) -> bool:
        """
        Simulate for some seconds of real time, at least one simulated second with events.

        Returns
        -------
        bool
            False if no event is left before ``until``.

        Raises
        ------
        DispatchError
            If the dispatcher breaks a rule, or leaves jobs waiting forever.
        """
        stop = self._loop.advance(_FOREVER if until is None else until, seconds)
        self._tell_progress()
        if stop == _IDLE:
            return self._give_up()
        return stop == _PAUSED

    def step(self) -> bool:
        """Simulate all events of the next second that has any. Return False if no event is left."""
        time = self.next_time()
        if time is None:
            return self._give_up()
        self._loop.instant(time)
        return True

    def _tell_progress(self) -> None:
        waiting = self.machine.num_waiting
        submitted, held = self._loop.next_submit, self._loop.num_held
        ended = submitted - waiting - self.machine.num_running - held
        for hook in self._hooks["on_progress"]:
            hook(ended, waiting, self.now)

    def _let_go(self) -> None:
        """Take out of memory what is only of jobs that have ended."""
        oldest = self.machine.oldest
        arrays = self.machine.store.columns, self.start_time, self.end_time, self.outcome
        for array in arrays:
            let_go(array, 0, oldest)
        self.arrivals.let_go(0, oldest)

    # --- what the loop asks for ------------------------------------------------------------------

    def _block(self, row: int) -> Block:
        """Return jobs as the store takes them, one of them and others of its second and later."""
        self._let_go()
        block = self.arrivals.block(row)
        if self._rule is not None:
            self._rule.note(self.machine.store, block.first, self.arrivals.coming(block))
        return block

    def _bring(self, end: int) -> None:
        """Add the request classes and strings that the jobs before one bring."""
        store = self.machine.store
        if self.arrivals.bring(store, end):
            self.machine.set_classes(self.arrivals.eligible(store))

    def _predict(self, first: int, end: int, now: int) -> None:
        self.cluster.predict(first, end, now)

    def _end_of_start(self, row: int, now: int, again: bool) -> int:
        return self.work.start(row, self.machine.allocation(row), now, again=again)

    def _ends_at_limit(self, row: int) -> bool:
        return self.work.ended(row)

    def _predictor_on_start(self, row: int, now: int) -> None:
        self.predictor.on_start(self.cluster.jobs(row), now)

    def _predictor_on_end(
        self, row: int, runtime: int, status: int, killed: bool, now: int
    ) -> None:
        self.cluster.observe(row, runtime, status, killed, now)

    def _predictor_on_cancel(self, row: int, now: int) -> None:
        self.predictor.on_cancel(self.cluster.jobs(row), now)

    def _on_submit(self, first: int, end: int, now: int) -> None:
        for hook in self._hooks["on_submit"]:
            hook(first, end, now)

    def _on_start(self, row: int, now: int) -> None:
        allocation = self.machine.allocation(row)
        for hook in self._hooks["on_start"]:
            hook(row, allocation, now)

    def _on_end(self, row: int, outcome: int, now: int) -> None:
        for hook in self._hooks["on_end"]:
            hook(row, outcome, now)

    def _on_instant(self, now: int) -> None:
        for hook in self._hooks["on_instant"]:
            hook(now)

    def _refused(self, row: int) -> NoReturn:
        """Raise for a start that a native dispatcher has decided on and that is not possible."""
        raise DispatchError(
            f"{self.dispatcher.name}: job {self.machine.name(row)} is given resources that it did"
            " not request or that are not free"
        )

    # --- cancel ----------------------------------------------------------------------------------

    def cancel(self, job: int, time: int) -> None:
        """
        Cancel a job at a future second, if it waits or is held then.

        A running job is killed if its workload has this second in ``cancel``. Otherwise it
        continues.

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
        phase = int(Phase.CANCEL) if time > submit else _AFTER_SUBMIT
        self._loop.push(time, phase, job)

    # --- start, end ------------------------------------------------------------------------------

    def _take_off(self, row: int, why: Leaving) -> None:
        """Take a running job off its nodes and queue it again; it keeps what it has saved."""
        now, since = self.now, self.machine.store.columns.item(row, c.SINCE)
        self.cluster.requeue(row, now)
        self._loop.forget_end(row)
        self.work.cut_short(row, now, keeps_all=why is Leaving.SUSPENDED)
        self.start_time[row] = MISSING
        for hook in self._hooks["on_leave"]:
            hook(row, since, now, why)

    def _resize(self, row: int, allocation: Allocation) -> None:
        """Continue a running job on other nodes."""
        now, since = self.now, self.machine.store.columns.item(row, c.SINCE)
        self.cluster.resize(row, allocation, now)
        self._loop.forget_end(row)
        end = self.work.resize(row, allocation, now)
        self._loop.push_end(row, end)
        for hook in self._hooks["on_leave"]:
            hook(row, since, now, Leaving.RESIZED)
        for hook in self._hooks["on_resize"]:
            hook(row, allocation, now)

    def _kill(self, row: int) -> None:
        """End a running job."""
        self.cluster.end(row, self.now, status=_CANCELLED)
        self._loop.forget_end(row)
        self.work.ended(row)
        self._loop.finish(row, int(JobOutcome.KILLED))

    def _schedule_resize_request(self, row: int, end: int) -> None:
        """Note when a running job will ask for another size, if it has not done so."""
        request = self.work.resize_request(row, self.now)
        if (
            request
            and request[0] < end
            and not self.machine.store.columns.item(row, c.WANTED_UNITS)
        ):
            self._loop.push(request[0], int(Phase.RESIZE_REQUEST), row)

    def _request_resize(self, row: int) -> None:
        request = self.work.resize_request(row, self.now)
        if request:
            self.cluster.request_resize(row, request[1], self.now)

    def _change_nodes(self, now: int) -> int:
        """
        Let nodes go down and come up; what runs on those that go down is queued again.

        Returns when that happens next, a second that never comes for never.
        """
        down, fallen = self._down.change(now)
        if fallen:
            for row in self.machine.view(now).running.rows.tolist():
                if np.isin(self.machine.allocation(row).node, fallen).any():
                    self._take_off(row, Leaving.REQUEUED)
        self.cluster.set_down(down, now)
        change = self._down.next_change
        return _FOREVER if change is None else change

    # --- dispatch --------------------------------------------------------------------------------

    def _dispatch(self, now: int) -> bool:
        """Ask the dispatcher; return whether to ask again at this instant."""
        cluster = self.cluster
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
        comes = (
            self._loop.has_events
            or self._loop.next_submit < self._num_jobs
            or self._down.next_change
        )
        if wake is None or comes or self.cluster.awaits_switches:
            self._still_since = None
            return
        if self._still_since is None:
            self._still_since, self._num_wakes = now, 0
        self._num_wakes += 1
        if not self.machine.num_waiting:
            # Nothing that it may still be asked makes a difference.
            self._loop.is_over = (
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
            f" {self.arrivals.job_id(int(waiting.handle[0]))}), though no other event is left:"
            f" asked {often} since second {self._still_since:,}, next at"
            f" {wake:,}. Start a job, or ask for the second at which one can start."
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
        for row, _ in starts:
            self._loop.started(row)

    def why_never(self) -> dict[int, str]:
        """Return why jobs that left the queue can never start, by row of the workload."""
        reasons = dict(self._never)
        submitted = self.outcome[: self._loop.next_submit]
        for row in np.flatnonzero(submitted == _NEVER_STARTED).tolist():
            if row not in reasons:
                reasons[row] = self._unmet(row)
        return reasons

    def _unmet(self, row: int) -> str:
        """Say why the dependency of a job can never be fulfilled."""
        needed = self._dependency[row]
        outcome = JobOutcome(int(self.outcome[needed]))
        status = Status(int(self.arrivals.status[needed]))
        how = _ENDS.get(outcome, "did not fail")
        if outcome is JobOutcome.COMPLETED and status in UNSUCCESSFUL:
            how = f"ended as {status.name.lower()}"
        kind = DependencyType(self._dependency_type[row]).name.lower()
        return f"depends ({kind}) on job {self.arrivals.job_id(needed)}, which {how}"

    def _never_start(self, row: int, reason: str) -> None:
        """Take a job that can never start out of the queue, and those that depend on it."""
        if self.machine.is_in(row, c.HELD):
            self._loop.num_held -= 1
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
        left = self.machine.num_waiting + self._loop.num_held
        if left and hopeless:
            self._loop.instant(self.now)
        if left and not hopeless:
            waiting = self.machine.view(self.now).waiting
            states = self.machine.store.columns[: self._loop.next_submit, c.STATE]
            needed = self.arrivals.dependency[: self._loop.next_submit][states == c.HELD]
            row = int(waiting.handle[0]) if len(waiting) else int(needed.min())
            raise DispatchError(
                f"{name_of(self.dispatcher)} deadlocked: {counted(left, 'job')} waiting (the first"
                f" is job {self.arrivals.job_id(row)}), none running, no submissions left"
            )
        return bool(hopeless)

    # --- saving ----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """
        Return the state from which a simulator with the same arguments can continue.

        It has arrays, numbers and nested mappings, including those of observers with a ``state``
        method. Data that follow from the workload are not in it.
        """
        return {
            "now": self.now,
            # Before the first instant ``now`` does not say that its changes have been made.
            "node_changes": self._down.made,
            "next_submit": self._loop.next_submit,
            "counter": self._loop.counter,
            "never": {str(row): reason for row, reason in self.why_never().items()},
            "tick": -1 if self._loop.tick is None else self._loop.tick,
            "start_time": copied(self.start_time),
            "end_time": copied(self.end_time),
            "outcome": copied(self.outcome),
            "events": np.array(self._loop.events(), dtype=np.int64).reshape(-1, 4),
            "work": self.work.state(),
            "cluster": self.cluster.state(),
            "observers": {
                str(position): dict(observer.state())
                for position, observer in enumerate(self.observers)
                if hasattr(observer, "state")
            },
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore the result of :meth:`state`, in a new simulator with the same arguments."""
        loop = self._loop
        loop.now, loop.next_submit = int(saved["now"]), int(saved["next_submit"])
        loop.counter = int(saved["counter"])
        loop.tick = None if saved["tick"] < 0 else int(saved["tick"])
        for name in ("start_time", "end_time", "outcome"):
            move(saved[name], getattr(self, name))
        submitted, store = loop.next_submit, self.machine.store
        for first in range(0, submitted, _BETWEEN):
            end = min(first + _BETWEEN, submitted)
            self.arrivals.enter(store, first, end)
            let_go(store.columns, first, end)
            self.arrivals.let_go(first, end)
        if submitted:
            self.machine.set_classes(self.arrivals.eligible(store))
        self.cluster.restore(saved["cluster"])
        self._never = {int(row): reason for row, reason in saved.get("never", {}).items()}
        loop.set_events(np.ascontiguousarray(saved["events"], dtype=np.int64).reshape(-1, 4))
        self.work.restore(saved["work"])
        if "node_changes" in saved:
            self._down.skip(int(saved["node_changes"]))
        else:
            self._down.skip_to(self.now)
        loop.next_node_change = self._down.next_change
        loop.forget()
        states = np.empty(submitted, dtype=np.int64)
        move(store.columns[:submitted, c.STATE], states)
        loop.num_held = int((states == c.HELD).sum())
        for position, observer_state in saved.get("observers", {}).items():
            self.observers[int(position)].restore(observer_state)  # type: ignore[attr-defined]


def _columns(jobs: JobStream, *names: str) -> dict[str, IntArray]:
    """Return columns of jobs as the loop takes them."""
    return {name: np.ascontiguousarray(getattr(jobs, name), dtype=np.int64) for name in names}


def _innermost(dispatcher: Dispatcher) -> Dispatcher:
    """Return the dispatcher that decides: that inside others."""
    while (inner := getattr(dispatcher, "inner", None)) is not None:
        dispatcher = inner
    return dispatcher
