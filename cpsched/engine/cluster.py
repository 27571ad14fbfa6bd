"""
A machine in use: jobs are submitted and end, and a dispatcher decides what starts.

The owner of a machine (the simulator, another simulator, a resource manager, a test) reports events
to a :class:`Cluster` in order of time, and asks it what to start.
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from cpsched.dispatch.answers import check_decision
from cpsched.engine.encoder import JobEncoder, Request
from cpsched.engine.machine import ClusterState
from cpsched.engine.maintenance import Maintenance
from cpsched.engine.predicting import (
    Correction,
    checked_prediction,
    predict,
)
from cpsched.errors import (
    ConfigError,
    DispatchError,
    InfeasibleRequestError,
    one_of,
    taking_up,
)
from cpsched.model import columns as c
from cpsched.model.arrays import immutable
from cpsched.model.decision import Decision, Kill, Requeue, Resize, Start, Suspend
from cpsched.model.jobtable import JobTable
from cpsched.model.prediction import Outcome, RuntimePredictor, listens, write_down
from cpsched.model.seeds import stream_seed
from cpsched.util.own_code import name_of
from cpsched.util.spec import build
from cpsched.util.types import JobType, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from cpsched.dispatch.contract import Dispatcher
    from cpsched.model.allocation import Allocation
    from cpsched.model.schedule import Outages
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.util.types import BoolArray, IntArray

#: The last second at which anything may happen.
_LATEST = 2**62
#: What a dispatcher does to running jobs, in messages.
_VERBS: Mapping[type, str] = {
    Resize: "resize",
    Suspend: "suspend",
    Requeue: "requeue",
    Kill: "kill",
}


class Cluster:
    """
    A system with its jobs, a dispatcher and a predictor, driven by your own program.

    Time passes only by the argument ``now`` of the calls: seconds, which never decrease. Jobs are
    identified by the handle that :meth:`submit` returns. No job starts by itself: :meth:`decide`
    returns the decision, and :meth:`start` reports the starts that took place.

    Parameters
    ----------
    system
        The system.
    dispatcher, predictor
        Specifications like ``easy:backfill=sjf``, or objects.
    correction
        The expected end of a running job after its predicted end: ``requested`` (at its requested
        time) or ``double`` (after twice the time expected so far).
    any_queue
        Whether jobs may be in queues that the system does not have. Such a queue has no rules, and
        the system's default ``expected_wait``.
    seed
        Seed from which dispatcher and predictor each get their own.
    epoch
        Unix time of second 0, if known. A trained predictor derives the hour of the day from it.
    name_of
        Function that returns the name of a job in messages, by its handle. By default the id given
        to :meth:`submit`.
    may_change
        Whether decisions may change running jobs: resize, suspend, requeue or kill them.

    Raises
    ------
    ConfigError
        If a name or an option is unknown.

    Attributes
    ----------
    machine
        Queue, running jobs and free capacity. Read-only.
    """

    def __init__(
        self,
        system: System,
        dispatcher: str | Dispatcher = "easy",
        predictor: str | RuntimePredictor = "requested",
        *,
        correction: Correction | str = Correction.REQUESTED,
        any_queue: bool = False,
        seed: int = 0,
        epoch: int | None = None,
        name_of: Callable[[int], str] | None = None,
        may_change: bool = True,
    ) -> None:
        # A copy, so that nothing a dispatcher does to it reaches another run.
        self.system = system = system.copy()
        self.dispatcher: Dispatcher = (
            build("dispatchers", dispatcher) if isinstance(dispatcher, str) else dispatcher
        )
        self.predictor: RuntimePredictor = (
            build("predictors", predictor) if isinstance(predictor, str) else predictor
        )
        self.correction = one_of(Correction, correction, "correction")
        self._ids: list[str] = []
        self.machine = ClusterState(system, name_of or self._ids.__getitem__)
        self._encoder = JobEncoder(system, self.machine.store, any_queue=any_queue)
        #: Whether anything has happened since the dispatcher was last asked, and when it is next.
        self._core = self.machine.core
        self._may_change = may_change
        self._predicts = not self.predictor.is_request
        self._sees_starts = listens(self.predictor, "on_start")
        self._learns = listens(self.predictor, "observe")
        self._maintenance = Maintenance()
        self.dispatcher.on_epoch(epoch)
        self.dispatcher.reset(system, stream_seed(seed, "dispatcher"))
        self.predictor.on_epoch(epoch)
        self.predictor.reset(system, stream_seed(seed, "predictor"))

    @property
    def now(self) -> int:
        """The second of the last call of any method."""
        return self._core.now

    # --- what happens ----------------------------------------------------------------------------

    def submit(
        self,
        request: Request,
        now: int,
        *,
        job_id: str = "",
        predicted: Sequence[Any] | None = None,
        held: bool = False,
        submitted: int | None = None,
    ) -> int:
        """
        Put a job at the end of the queue, and return its handle.

        Parameters
        ----------
        request
            The request of the job.
        now
            The present second.
        job_id
            Name of the job in messages.
        predicted
            Your own prediction, in the order of :class:`~cpsched.model.prediction.Prediction`:
            three runtimes in seconds, then, if known, quantiles and the probabilities to end within
            1, 10 and 60 minutes. The predictor is not called for this job.
        held
            Whether the job may not start before :meth:`release`.
        submitted
            The second since which the job waits, if earlier than now. The job still comes to the
            end of the queue.

        Returns
        -------
        int
            Handle of the job. Handles count up from 0.

        Raises
        ------
        InfeasibleRequestError
            If the job can never run on this system. Nothing is changed.
        ConfigError
            If the queue is not one of the system's, the prediction is invalid, or ``now`` is before
            that of an earlier call. Nothing is changed.
        """
        self._tick(now)
        answers = None if predicted is None else checked_prediction(predicted)
        try:
            row = self._encoder.add(request, now if submitted is None else min(submitted, now))
        except InfeasibleRequestError as error:
            raise InfeasibleRequestError(job_id or f"of {request.user}", error.reason) from None
        self._ids.append(job_id or str(row))
        if self._encoder.num_classes != len(self.machine.eligible):
            self.machine.set_classes(self._encoder.classes())
        if answers is not None:
            write_down(self.machine.store, np.array([row]), answers)
        self.admit(row, row + 1, now, held=(row,) if held else (), predicted=answers is not None)
        return row

    def admit(
        self,
        first: int,
        end: int,
        now: int,
        *,
        held: Collection[int] = (),
        classes: BoolArray | None = None,
        predicted: bool = False,
    ) -> None:
        """
        Put jobs ``[first, end)``, which are already in the job store, at the end of the queue.

        Only programs that fill the job store themselves need it. All others call :meth:`submit`.

        Parameters
        ----------
        held
            Handles of the jobs that may not start before :meth:`release`.
        classes
            Eligible nodes of each class of jobs, shape ``(C, N)``. Jobs of a class have the same
            eligible nodes. None if there is no new class.
        predicted
            Whether the predictions of the jobs are in the store too.
        """
        self._tick(now)
        machine = self.machine
        if classes is not None:
            machine.set_classes(classes)
        if self._predicts and not predicted:
            self.predict(first, end, now)
        for row in range(first, end):
            if held and row in held:
                machine.store.writable[row, c.STATE] = c.HELD
            else:
                self._core.enqueue(row)
                self._core.await_switches(row, now)
        self._core.has_news = True

    def predict(self, first: int, end: int, now: int) -> None:
        """
        Predict the runtimes of jobs ``[first, end)``, and write the predictions into the job store.
        """
        predict(self.predictor, self.machine.store, self.jobs(first, end), now)

    def release(self, handle: int, now: int) -> None:
        """
        Put a held job into the queue, at the place of its submission.

        Raises
        ------
        DispatchError
            If the job is not held.
        """
        self._expect(handle, now, "release", c.HELD)
        self._core.return_to_queue(handle)
        self._core.await_switches(handle, now)
        self._core.has_news = True

    def start(self, starts: Sequence[Start], now: int) -> None:
        """
        Report that waiting jobs have started, as :meth:`decide` returned or by another decision.

        Raises
        ------
        DispatchError
            If a job does not wait, or its allocation violates its request or is not free. None of
            the jobs is started then.
        """
        self._tick(now)
        machine = self.machine
        done = 0
        try:
            for handle, allocation in starts:
                machine.start(handle, allocation, now)
                done += 1
        except DispatchError as error:
            for handle, _ in starts[:done]:
                self._core.undo_start(handle)
            raise DispatchError(f"{name_of(self.dispatcher)}: {error}") from None
        if self._sees_starts:
            for handle, _ in starts:
                self.predictor.on_start(self.jobs(handle), now)

    def failed(self, handle: int, now: int) -> None:
        """
        Report that the start of a job failed. The job waits again, and its ``attempts`` grow by 1.

        Raises
        ------
        DispatchError
            If the job neither waits nor runs.
        """
        self._tick(now)
        if self.machine.is_in(handle, c.RUNNING):
            self._core.requeue(handle)
        elif self.machine.is_in(handle, c.WAITING):
            self.machine.store.writable[handle, c.ATTEMPTS] += 1
        else:
            self._refuse("report the failure of", handle, "waiting or running")
        self._core.has_news = True

    def resize(self, handle: int, allocation: Allocation, now: int) -> None:
        """
        Report that a running job continues on other nodes.

        Raises
        ------
        DispatchError
            If the job is not running, or the allocation violates its request or is not free. Then
            nothing has changed.
        """
        self._expect(handle, now, "resize")
        ran = self.ran(handle, now)
        self.machine.resize(handle, allocation, now)
        self._core.set_ran_before(handle, ran)
        self._core.has_news = True

    def request_resize(self, handle: int, units: int, now: int) -> None:
        """
        Report that a running evolving job requests another number of tasks.

        The dispatcher may grant the request by a ``Resize``, or ignore it.

        Raises
        ------
        DispatchError
            If the job is not running.
        ConfigError
            If it is not evolving, or the number is out of its bounds.
        """
        self._expect(handle, now, "change the number of tasks of")
        columns, name = self.machine.store.writable, self.machine.name(handle)
        if columns[handle, c.JOB_TYPE] != JobType.EVOLVING:
            raise ConfigError(
                f"job {name} cannot ask for tasks while it runs: its type is not evolving"
            )
        units_min, units_max = columns[handle, c.UNITS_MIN], columns[handle, c.UNITS_MAX]
        if not units_min <= units <= units_max:
            raise ConfigError(
                f"job {name} asks for {units} tasks, but may have {units_min} to {units_max}"
            )
        columns[handle, c.WANTED_UNITS] = units
        self._core.has_news = True

    def ran(self, handle: int, now: int) -> int:
        """
        Return the runtime of a running job so far, in seconds at its preferred number of tasks.

        For example, with linear speedup 100 s on twice as many tasks count as 200 s.
        """
        return self._core.ran(handle, now)

    def requeue(self, handle: int, now: int) -> None:
        """
        Report that a running job left its nodes before its end and waits again.

        Its runtime so far becomes a lower bound of its runtime for later estimates.

        Raises
        ------
        DispatchError
            If the job is not running.
        """
        self._expect(handle, now, "requeue")
        columns = self.machine.store.writable
        columns[handle, c.RAN] = max(columns[handle, c.RAN], self.ran(handle, now))
        self._core.forget_ran_before(handle)
        self._core.requeue(handle)
        self._core.has_news = True

    def end(
        self, handle: int, now: int, *, status: int = Status.COMPLETED, killed: bool = False
    ) -> None:
        """
        Report that a running job has ended.

        Parameters
        ----------
        status
            Status of the job at its end, see :class:`~cpsched.util.types.Status`.
        killed
            Whether the job was killed at its requested time.

        Raises
        ------
        DispatchError
            If the job is not running.
        """
        self._expect(handle, now, "end")
        runtime = self.ran(handle, now) if self._learns else 0
        self._core.forget_ran_before(handle)
        self._core.leave(handle)
        self._core.has_news = True
        if self._learns:
            self.observe(handle, runtime, status, killed, now)

    def observe(self, handle: int, runtime: int, status: int, killed: bool, now: int) -> None:
        """
        Pass the runtime (seconds) and status of an ended job to the predictor. :meth:`end` calls
        it.
        """
        outcome = Outcome(np.array([runtime]), np.array([status]), np.array([killed]))
        self.predictor.observe(self.jobs(handle), outcome, now)

    def cancel(self, handle: int, now: int) -> None:
        """
        Report that a waiting or held job has left the queue for good.

        Raises
        ------
        DispatchError
            If the job is neither waiting nor held.
        """
        self._tick(now)
        waited = self.machine.is_in(handle, c.WAITING)
        if not waited and not self.machine.is_in(handle, c.HELD):
            self._refuse("cancel", handle, "waiting or held")
        if waited:
            self._core.dequeue(handle, c.ENDED)
        else:
            self.machine.store.writable[handle, c.STATE] = c.ENDED
        self._core.has_news = True
        self.predictor.on_cancel(self.jobs(handle), now)

    def plan_outages(self, outages: Outages) -> None:
        """
        Set the planned outages of nodes, in place of earlier ones.

        From the second when an outage is known until it begins, jobs that would run into it by
        their requested time do not start on its nodes. Nodes that are down are set by
        :meth:`set_down`. Outages are not part of :meth:`state`.
        """
        self._maintenance.outages = outages
        self._core.has_news = True

    def set_down(self, nodes: Iterable[int], now: int | None = None) -> None:
        """
        Set the nodes that are down. All others are up.

        No job starts on a node that is down. Jobs running there continue until their end is
        reported.

        Parameters
        ----------
        nodes
            Indices of the nodes.
        now
            The present second. None: that of the last call.

        Raises
        ------
        ConfigError
            If the system has no such node.
        """
        self._tick(self.now if now is None else now)
        self.machine.set_down(nodes)
        self._core.has_news = True

    @property
    def learns(self) -> tuple[bool, bool, bool]:
        """Whether the predictor is called at submits, at starts and at ends: three booleans."""
        return self._predicts, self._sees_starts, self._learns

    # --- what follows ----------------------------------------------------------------------------

    @property
    def next_wake(self) -> int | None:
        """
        The next second at which the dispatcher asked to be called without any event. None: never.
        """
        return self._core.next_wake

    @property
    def awaits_switches(self) -> bool:
        """
        Whether any waiting job has a limit of switches that expires (Slurm's
        ``--switches=N@time``).
        """
        return self._core.awaits_switches

    def is_due(self, now: int) -> bool:
        """
        Return whether :meth:`decide` should be called now: after an event, or at a requested
        second.
        """
        return self._core.is_due(now)

    def view(self, now: int) -> View:
        """Return the state of the system as the dispatcher sees it, valid until the next event."""
        return self.machine.view(now)

    def prepare(self, now: int) -> View | None:
        """
        Return the view for a decision now, or None if no job waits.

        A dispatcher with ``acts_when_idle`` always gets a view. Running jobs past their expected
        end get a later one.
        """
        self._tick(now)
        self._core.is_due(now)
        self._core.has_news = False
        machine = self.machine
        if not (machine.num_waiting or self.dispatcher.acts_when_idle):
            return None
        self._core.correct_overdue(self.correction is Correction.DOUBLE, now)
        return self._maintenance.view(machine.view(now))

    def decide(self, now: int) -> Decision:
        """
        Return the dispatcher's decision, without carrying it out.

        Report to :meth:`start` the starts that took place, to :meth:`failed` those that failed, and
        to :meth:`requeue` the jobs that wait again. :meth:`is_due` takes account of ``again_at``.

        Raises
        ------
        DispatchError
            If an action is not possible here, or ``again_at`` is in the past.
        """
        view = self.prepare(now) or self.view(now)
        decision = self.dispatcher.decide(view)
        self.accept(decision, now)
        return decision

    def accept(self, decision: Decision, now: int) -> None:
        """
        Check a decision and note its ``again_at``, the second of the next call without an event.

        Raises
        ------
        DispatchError
            If an action is not possible here, or ``again_at`` is in the past.
        """
        check_decision(self.dispatcher, decision)
        for action in decision.actions:
            if not isinstance(action, Start):
                self._check_action(action, now)
        if decision.again_at is not None:
            self._wake_at(decision.again_at, now, acts=bool(decision.actions))

    def _check_action(self, action: Any, now: int) -> None:
        """Check what is to be done to a running job."""
        name, handle = name_of(self.dispatcher), getattr(action, "handle", -1)
        job = f"job {self.machine.name(handle)}"
        verb = _VERBS.get(type(action))
        if verb is None or not self._may_change:
            raise DispatchError(
                f"{name} decides {type(action).__name__} of {job}, but a dispatcher can only start"
                " jobs here"
            )
        failure = f"{name} cannot {verb} {job}"
        if not self.machine.is_in(handle, c.RUNNING):
            raise DispatchError(f"{failure}: the job is not running")
        columns = self.machine.store.columns
        if isinstance(action, Requeue | Suspend) and not columns.item(handle, c.RESTARTABLE):
            raise DispatchError(f"{failure}: the job is not restartable")
        if isinstance(action, Resize) and columns.item(handle, c.JOB_TYPE) < JobType.MALLEABLE:
            raise DispatchError(f"{failure}: the job is not malleable")
        if columns.item(handle, c.SINCE) == now:
            raise DispatchError(f"{failure}: the job started or was resized in this second")

    def _wake_at(self, second: int, now: int, *, acts: bool) -> None:
        name = name_of(self.dispatcher)
        try:
            second = index(second)
        except TypeError:
            raise DispatchError(
                f"{name} returns again_at={second!r}, must be a whole number of seconds"
            ) from None
        if second == now and acts:
            self._core.has_news = True
            return
        if second <= now:
            raise DispatchError(
                f"{name} returns again_at={second}, must be after the current second {now}"
            )
        if second > _LATEST:
            raise DispatchError(f"{name} returns again_at={second}, must be at most {_LATEST}")
        self._core.add_wake(second)

    def node_names(self, allocation: Allocation) -> list[str]:
        """Return the node name of each task of an allocation, such as ``["n1", "n1", "n2"]``."""
        names = self.system.node_names
        return [
            names[node]
            for node, units in zip(allocation.node.tolist(), allocation.units.tolist(), strict=True)
            for _ in range(units)
        ]

    # --- saving ----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """
        Return the state from which a cluster made with the same arguments can continue.

        It has arrays, numbers, strings and nested mappings. It contains the jobs of :meth:`submit`.
        The caller must enter those of :meth:`admit` again.
        """
        entered = {"jobs": self._encoder.state(), "ids": list(self._ids)} if self._ids else {}
        return {
            "now": self.now,
            "news": self._core.has_news,
            "wakes": _sorted(self._core.wakes),
            "machine": self.machine.state(),
            "dispatcher": dict(self.dispatcher.state()),
            "predictor": dict(self.predictor.state()),
            "switch_ends": _sorted(self._core.switch_ends, 2),
            "ran_before": _sorted(self._core.ran_before.items(), 2),
            "relaxed": _sorted(self._core.relaxed),
            **entered,
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """
        Restore the result of :meth:`state`, in a cluster made with the same arguments.

        The state is not checked for changes. A program that stores it in a file must check the
        file.

        Raises
        ------
        RunError
            If dispatcher or predictor cannot restore their parts.
        """
        if "jobs" in saved:
            self._encoder.restore(saved["jobs"])
            self._ids.extend(str(job_id) for job_id in saved["ids"])
            self.machine.set_classes(self._encoder.classes())
        # Jobs entered again by the caller are as submitted.
        for row in saved["relaxed"].tolist():
            self._core.relax_switches(row)
        self.machine.restore(saved["machine"])
        self._core.now, self._core.has_news = int(saved["now"]), bool(saved["news"])
        self._core.wakes = set(saved["wakes"].tolist())
        self._core.ran_before = dict(saved["ran_before"].tolist())
        self._core.switch_ends = {(second, row) for second, row in saved["switch_ends"].tolist()}
        with taking_up(f"dispatcher {self.dispatcher.name}"):
            self.dispatcher.restore(saved.get("dispatcher", {}))
        with taking_up(f"predictor {self.predictor.name}"):
            self.predictor.restore(saved.get("predictor", {}))

    # --- steps -----------------------------------------------------------------------------------

    def _tick(self, now: int) -> None:
        if now < self.now:
            raise ConfigError(
                f"second {now} is before the current second {self.now}. Give ascending seconds.",
                where="Cluster",
            )
        self._core.now = now

    def _expect(self, handle: int, now: int, action: str, state: int = c.RUNNING) -> None:
        """Go on to a second; raise unless a job is in the state that is needed then."""
        self._tick(now)
        if not self.machine.is_in(handle, state):
            self._refuse(action, handle, "held" if state == c.HELD else "running")

    def _refuse(self, action: str, handle: int, wanted: str) -> NoReturn:
        raise DispatchError(f"cannot {action} job {self.machine.name(handle)}: it is not {wanted}")

    def jobs(self, first: int, end: int | None = None) -> JobTable:
        """Return the table of one job, or of the jobs with handles in ``[first, end)``."""
        rows = np.arange(first, first + 1 if end is None else end, dtype=np.int64)
        return JobTable(self.machine.store, immutable(rows))


def _sorted(values: Iterable[Any], width: int = 0) -> IntArray:
    """Return integers, or rows of so many, as a sorted array."""
    array = np.array(sorted(values), dtype=np.int64)
    return array.reshape(-1, width) if width else array
