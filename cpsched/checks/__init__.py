"""
What every dispatcher must keep, as checks that authors of dispatchers can run.

With pytest::

    import pytest
    from cpsched.checks import CHECKS

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_my_dispatcher(check):
        check(lambda: MyDispatcher(depth=3))

or without: ``check_dispatcher(MyDispatcher)`` runs them all. Every check takes a function that
makes a dispatcher, and raises :class:`CheckError` (or the dispatcher's own error) saying what is
wrong. Each shows it a small made-up log (:func:`cpsched.checks.sample.sample`).
:func:`check_keeps_promises` is for dispatchers that reserve for the head of their queue.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from inspect import unwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.checks.sample import FixedPredictor, sample
from cpsched.dispatch.contract import Dispatcher, WaitReason
from cpsched.engine.cluster import Cluster
from cpsched.errors import DispatchError
from cpsched.forecast.context import DecisionContext
from cpsched.forecast.wait_causes import why_waiting
from cpsched.model.decision import Decision, Start
from cpsched.model.schedule import JobOutcome, Leaving
from cpsched.simulation import checkpoint
from cpsched.simulation.observers import Observer
from cpsched.simulation.record import AllocationRecorder
from cpsched.simulation.run import schedule_of
from cpsched.simulation.simulator import Simulator
from cpsched.util.types import Status
from cpsched.verification import verify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cpsched.model.allocation import Allocation
    from cpsched.model.schedule import Schedule
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.systems.mapping import Fitted
    from cpsched.util.types import IntArray

    Maker = Callable[[], Dispatcher]
    #: Second, job and its nodes, units of each start.
    Starts = list[tuple[int, int, tuple[int, ...], tuple[int, ...]]]

_SEED = 42
#: Shares of the submits after which the future is changed: of those who know it, about one in two
#: decides otherwise for each.
_FUTURES = (0.05, 0.2, 0.4, 0.75, 0.9)
#: Shares of the submits at which the state is saved.
_SAVED = (0.1, 0.5, 0.8)
#: One of this many decisions is explained.
_EXPLAINED = 10


class CheckError(AssertionError):
    """Error of a check: a dispatcher or predictor breaks a rule of its interface."""


def check_dispatcher(make: Maker) -> None:
    """
    Run all checks of this module for dispatchers.

    Parameters
    ----------
    make
        Function that returns a new dispatcher at every call, such as its class.

    Raises
    ------
    CheckError
        At the first check that fails.
    """
    for check in CHECKS:
        check(make)


def check_answers_in_kind(make: Maker) -> None:
    """
    Check that a dispatcher has a name, returns decisions, and starts no job if none waits.

    To pass: set ``name``, and return a ``Decision`` from ``decide``, without starts if no job
    waits.
    """
    dispatcher = make()
    require(bool(getattr(dispatcher, "name", "")), "the dispatcher has no name")
    cluster = Cluster(sample().system, dispatcher, FixedPredictor())
    # As the class itself answers.
    decide = unwrap(type(cluster.dispatcher).decide)
    decision = decide(cluster.dispatcher, cluster.view(0))
    require(isinstance(decision, Decision), f"decide returns {type(decision).__name__}")
    require(not decision.actions, "it starts a job from an empty queue")


def check_schedules_are_valid(make: Maker) -> None:
    """
    Check that every job that can run starts once, on free nodes and not before its submit.

    The check runs with requested times and with other predictions, and with jobs killed at their
    requested times or not.

    To pass: start jobs only on free nodes, as ``start_by`` does, and start every job in the end.
    """
    for overrun in ("kill", "extend"):
        for shift in (1.0, 0.3):
            simulation = _Simulation(make(), sample(), overrun=overrun, shift=shift)
            schedule = simulation.run()
            problems = verify(schedule)
            require(not problems, f"the schedule is not valid: {problems[:1]}")
            left = int((schedule.outcome == JobOutcome.NOT_ENDED).sum())
            require(not left, f"{left} jobs do not end")


def check_knows_no_future(make: Maker) -> None:
    """
    Check that decisions up to a second stay the same whatever happens later.

    The runtimes of jobs that have not ended by then, and all later submits, are changed.

    To pass: decide by the view alone, and by what earlier views have shown.
    """
    fitted = sample()
    simulation = _Simulation(make(), fitted)
    schedule = simulation.run()
    submit = fitted.workload.submit
    for position in _FUTURES:
        until = int(submit[int(position * len(submit))])
        other = _Simulation(
            make(), other_future(fitted, schedule.start, schedule.end, until, moved=moved(schedule))
        )
        other.run()
        _same(
            [start for start in simulation.starts if start[0] <= until],
            [start for start in other.starts if start[0] <= until],
            "depend on what happens later",
        )


def check_same_seed_same_schedule(make: Maker) -> None:
    """
    Check that equal runs give equal decisions, by a new dispatcher and by one that is reset.

    To pass: forget everything in ``reset``, and use no randomness but that of its seed.
    """
    dispatcher = make()
    first = _starts(dispatcher)
    _same(first, _starts(dispatcher), "differ after reset")
    _same(first, _starts(make()), "differ between equal runs")


def check_leaves_its_input_alone(make: Maker) -> None:
    """
    Check that a dispatcher does not change the arrays of a view.

    To pass: copy arrays of a view before changing them.
    """
    _Simulation(_Watched(make()), sample()).run()


def check_survives_saving(make: Maker) -> None:
    """
    Check that decisions continue unchanged after ``state`` is saved to a file and restored.

    To pass: return all that decisions depend on from ``state``, and read it in ``restore``.
    """
    fitted = sample()
    uninterrupted = _Simulation(make(), fitted)
    uninterrupted.run()
    submit = fitted.workload.submit
    for position in _SAVED:
        until = int(submit[int(position * len(submit))])
        first = _Simulation(make(), fitted)
        first.simulator.run(until=until)
        rest = _Simulation(make(), fitted)
        rest.simulator.restore(through_a_file(first.simulator.state()))
        rest.run()
        _same(uninterrupted.starts, first.starts + rest.starts, "differ after save and load")


def check_describes_itself(make: Maker) -> None:
    """
    Check the methods that explain decisions, such as ``ranking`` and ``reservations``.

    They must be consistent with the view, explain every wait, and change nothing. The order and the
    considered jobs contain only waiting jobs, each once. Reservations are for jobs that keep
    waiting, are not in the past, and name nodes of the system.

    To pass: correct the method that the message names, or leave it out.
    """
    plain, asked = make(), make()
    simulation = _Simulation(_Described(asked), sample())
    simulation.run()
    _same(_starts(plain), simulation.starts, "differ when it is asked about them")


#: All checks, for ``pytest.mark.parametrize``.
CHECKS: tuple[Callable[[Maker], None], ...] = (
    check_answers_in_kind,
    check_schedules_are_valid,
    check_knows_no_future,
    check_same_seed_same_schedule,
    check_leaves_its_input_alone,
    check_survives_saving,
    check_describes_itself,
)


def check_keeps_promises(make: Maker) -> None:
    """
    Check that the first job of the queue never starts later than it was once planned to.

    For dispatchers that reserve (EASY). With requested times and killing, no job ends later than
    expected, so a reservation can only be kept or come early. The first job is that in queue order,
    and its planned start is in ``Decision.planned_starts``.
    """
    promises = _Promises()
    simulation = _Simulation(make(), sample(), observers=(promises,))
    simulation.run()
    require(bool(promises.planned), "it never plans a start for the head of its queue")
    start = simulation.simulator.start_time
    for job, planned in promises.planned.items():
        require(
            start[job] <= planned,
            f"job {job} was planned for second {planned} and starts at {start[job]}",
        )


class _Simulation(Observer):
    """A dispatcher on the sample, with its starts written down."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        fitted: Fitted,
        *,
        overrun: str = "kill",
        shift: float = 1.0,
        observers: tuple[Observer, ...] = (),
    ) -> None:
        self.starts: Starts = []
        self._fitted = fitted
        self._allocations = AllocationRecorder(len(fitted.system.resources))
        self.simulator = Simulator(
            fitted,
            dispatcher,
            FixedPredictor(shift),
            overrun=overrun,
            seed=_SEED,
            observers=(self, self._allocations, *observers),
        )

    def on_start(self, job: int, allocation: Allocation, now: int) -> None:
        nodes, units = (tuple(part.tolist()) for part in allocation[:2])
        self.starts.append((now, job, nodes, units))

    def run(self) -> Schedule:
        try:
            self.simulator.run()
        except DispatchError as error:
            raise CheckError(str(error)) from error
        return schedule_of(self._fitted, self.simulator, self._allocations)


class _Promises(Observer):
    """The earliest start each head was ever planned for."""

    def __init__(self) -> None:
        self.planned: dict[int, int] = {}

    def on_decision(self, view: View, decision: Decision, seconds: float) -> None:  # noqa: ARG002
        if decision.planned_starts is None:
            return
        started = {action.handle for action in decision.actions if isinstance(action, Start)}
        head = next((job for job in view.waiting.handle.tolist() if job not in started), None)
        handles, starts = decision.planned_starts[:2]
        plan = dict(zip(map(int, handles), map(int, starts), strict=True))
        if head in plan:
            self.planned[head] = min(plan[head], self.planned.get(head, plan[head]))


class _Wrapped(Dispatcher):
    """A dispatcher in front of another one, under its name."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._decisions = 0
        self.name = dispatcher.name  # type: ignore[misc]
        self.acts_when_idle = dispatcher.acts_when_idle

    def reset(self, system: System, seed: int) -> None:
        self._dispatcher.reset(system, seed)


class _Watched(_Wrapped):
    """A dispatcher whose views are compared before and after."""

    def decide(self, view: View) -> Decision:
        before = _shown(view)
        decision = self._dispatcher.decide(view)
        for name, array in _shown(view).items():
            require(np.array_equal(before[name], array), f"decide changes the view: {name}")
        return decision


class _Described(_Wrapped):
    """A dispatcher that is asked to describe each of its decisions."""

    def decide(self, view: View) -> Decision:
        decision = self._dispatcher.decide(view)
        waiting = set(view.waiting.rows.tolist())
        for what in ("ranking", "considered"):
            rows = getattr(self._dispatcher, what)(view)
            if rows is not None:
                named_rows = np.asarray(rows).tolist()
                require(len(set(named_rows)) == len(named_rows), f"{what} names a row twice")
                require(waiting.issuperset(named_rows), f"{what} names a row that does not wait")
        self._check_reservations(view, decision)
        started = {action.handle for action in decision.actions if isinstance(action, Start)}
        left = ~np.isin(view.waiting.handle, list(started))
        # Finding out what a job waits for takes longer than deciding.
        if left.any() and self._decisions % _EXPLAINED == 0:
            row = int(view.waiting.rows[left][-1])
            context = DecisionContext(self._dispatcher, view, decision, row, str)
            reason = why_waiting(context).reason
            require(isinstance(reason, WaitReason), f"wait_reason returns {reason!r}")
        self._decisions += 1
        return decision

    def _check_reservations(self, view: View, decision: Decision) -> None:
        started = {action.handle for action in decision.actions if isinstance(action, Start)}
        waiting = set(view.waiting.handle.tolist()) - started
        for reservation in self._dispatcher.reservations(view, decision):
            require(
                reservation.handle in waiting,
                f"it reserves for job {reservation.handle}, which is not waiting",
            )
            require(
                reservation.start >= view.now,
                f"it reserves second {reservation.start} at {view.now}",
            )
            nodes = np.zeros(0) if reservation.nodes is None else np.asarray(reservation.nodes)
            inside = bool(((nodes >= 0) & (nodes < view.system.num_nodes)).all())
            require(inside, f"a reservation names nodes that do not exist: {nodes}")


def _shown(view: View) -> dict[str, Any]:
    store = view.waiting.store
    return {
        "free": view.free.copy(),
        "node_up": view.node_up.copy(),
        "eligible": view.eligible.copy(),
        "waiting": view.waiting.rows.copy(),
        "running": view.running.rows.copy(),
        "job table": store.columns[: store.size].copy(),
        "requests": store.shapes.copy(),
        "labels": np.array([label for known in store.labels.values() for label in known]),
        **{f"allocation {k}": part.copy() for k, part in enumerate(view.running.arena.arrays)},
        "capacity": view.system.capacity.copy(),
    }


def _starts(dispatcher: Dispatcher) -> Starts:
    simulation = _Simulation(dispatcher, sample())
    simulation.run()
    return simulation.starts


def other_future(
    fitted: Fitted, start: IntArray, end: IntArray, until: int, *, moved: IntArray | None = None
) -> Fitted:
    """
    Return a log that is the same up to second ``until`` (inclusive) and different after it.

    Parameters
    ----------
    start, end
        Starts and ends of the jobs, seconds, shape ``(J,)``.
    moved
        Rows of jobs that were resized or started again. Their runtimes do not become shorter.
    """
    workload = fitted.workload
    rng = np.random.default_rng(until)
    num = len(workload)
    # What runs at ``until`` may end at once after it, or never before its requested time.
    still_open = end > until
    least = np.where(start <= until, np.maximum(until + 1 - start, 0), 0)
    if moved is not None:
        least[moved] = workload.runtime[moved]
    runtime = np.where(still_open, least + rng.integers(0, 400, num), workload.runtime)
    known = int(np.searchsorted(workload.submit, until, side="right"))
    submit = workload.submit.copy()
    submit[known:] = until + 1 + np.sort(rng.integers(0, 5000, num - known))
    status = rng.choice([Status.FAILED, Status.CANCELLED, Status.TIMEOUT], num)
    recorded = workload.recorded_start
    later = np.maximum(recorded - workload.submit + submit, until + 1)
    changed = workload.with_columns(
        submit=submit,
        runtime=runtime,
        status=np.where(still_open, status, workload.status),
        requested_time=np.where(submit > until, 77, workload.requested_time),
        recorded_start=np.where(recorded > until, later, recorded),
    )
    return replace(fitted, workload=changed)


def moved(schedule: Schedule) -> IntArray:
    """Return the rows of the jobs in a schedule that were resized or started more than once."""
    segments = schedule.segments
    return np.unique(segments.job[segments.leaving != Leaving.END])


def through_a_file(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """
    Return a state after writing it to a file as in a checkpoint, and reading it again.

    Raises
    ------
    CheckError
        If the state has a value that cannot be written.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.npz"
        try:
            checkpoint.write(path, "check", {"saved": state})
        except (TypeError, ValueError) as error:
            raise CheckError(
                f"the state holds something that is not an array, number or string: {error}"
            ) from error
        saved: Mapping[str, Any] = checkpoint.read(path, "check").get("saved", {})
        return saved


def _same(expected: Starts, actual: Starts, what: str) -> None:
    if expected == actual:
        return
    for a, b in zip(expected, actual, strict=False):
        if a != b:
            raise CheckError(
                f"decisions {what}: job {a[1]} starts at {a[0]}, then job {b[1]} at {b[0]}"
            )
    raise CheckError(f"decisions {what}: {len(expected)} jobs start, then {len(actual)}")


def require(good: bool, message: str) -> None:
    """Raise a :class:`CheckError` with a message unless a condition is true."""
    if not good:
        raise CheckError(message)
