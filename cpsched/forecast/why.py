"""Why a job starts or does not start: the state of a job at a second, and the reason."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.dispatch.answers import check_decision
from cpsched.dispatch.wrapper import Wrapper
from cpsched.errors import ConfigError, DispatchError
from cpsched.forecast.context import DecisionContext
from cpsched.forecast.explanation import Explanation, JobState
from cpsched.forecast.free_capacity import node_groups
from cpsched.forecast.job_lookup import find_job, job_request
from cpsched.forecast.wait_causes import why_waiting
from cpsched.forecast.why_text import summary_of, why_starting
from cpsched.model import columns as c
from cpsched.model.decision import Start
from cpsched.model.schedule import JobOutcome
from cpsched.simulation.present import Present
from cpsched.simulation.settings import Settings
from cpsched.simulation.simulate import simulator_of
from cpsched.util.own_code import name_of, title
from cpsched.util.spec import build
from cpsched.util.types import MISSING, DependencyType
from cpsched.util.words import brief, clock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cpsched.dispatch.contract import Dispatcher
    from cpsched.model.allocation import Allocation
    from cpsched.model.decision import Decision
    from cpsched.model.view import View
    from cpsched.simulation.observers import Observer
    from cpsched.simulation.simulator import Simulator
    from cpsched.systems.mapping import Fitted

#: What looking at a decision that is not possible may raise.
UNSOUND = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
#: How many jobs of a chain of dependencies are named.
_MOST_CHAINED = 5
_OUTCOMES = {
    JobOutcome.COMPLETED: JobState.ENDED,
    JobOutcome.TIMEOUT: JobState.ENDED,
    JobOutcome.KILLED: JobState.ENDED,
    JobOutcome.CANCELLED: JobState.CANCELLED,
    JobOutcome.NEVER_STARTED: JobState.NEVER_STARTED,
}
_STATES = {c.WAITING: JobState.WAITING, c.HELD: JobState.HELD}


def why(present: Present, handle: int) -> Explanation:
    """
    Return why a job waits or starts, according to the dispatcher's decision at a present.

    The decision is not carried out.

    Parameters
    ----------
    present
        State of the system at one second.
    handle
        Handle of a job that waits or is held.

    Raises
    ------
    ConfigError
        If the job neither waits nor is held.
    DispatchError
        If the dispatcher breaks a rule.
    """
    cluster, now = present.cluster, present.now
    if cluster.machine.is_in(handle, c.HELD):
        return _explanation(present, handle, {}, None)
    if not cluster.machine.is_in(handle, c.WAITING):
        raise ConfigError(f"job {cluster.machine.name(handle)} is not waiting")
    view = cluster.prepare(now) or cluster.view(now)
    decision = cluster.dispatcher.decide(view)
    cluster.accept(decision, now)
    names = present.jobs.workload.job_id
    try:
        meaning = _meaning_of(handle, names, cluster.dispatcher, view, decision) or {}
    except UNSOUND as error:
        shown = f"{title(cluster.dispatcher)}: its decision makes no sense here"
        raise DispatchError(f"{shown}: {type(error).__name__}: {error}") from error
    return _explanation(present, handle, meaning, now)


def why_in_log(
    fitted: Fitted,
    *,
    job: str,
    time: int,
    dispatcher: str | Dispatcher = "easy",
    predictor: str = "requested",
    settings: Settings | None = None,
    observers: Sequence[Observer] = (),
) -> Explanation:
    """
    Return why a job of a log waits, starts or cannot start at a second of its simulation.

    Parameters
    ----------
    fitted
        A workload mapped onto its system, see :func:`cpsched.fit`.
    job
        Id of the job in the log.
    time
        Seconds of the log's clock (from the workload's epoch). Events at this second have taken
        place.
    dispatcher, predictor
        Specifications like ``easy:backfill=sjf``. The dispatcher may be an object.
    observers
        Observers of all events.

    Raises
    ------
    ConfigError
        If no job has this id, or it is submitted later.
    DispatchError
        If the dispatcher breaks a rule.
    """
    settings = settings or Settings()
    logged, workload = find_job(fitted, job, time), fitted.workload
    name = dispatcher if isinstance(dispatcher, str) else dispatcher.name
    if logged.rejected is not None:
        return Explanation(
            dispatcher=name,
            predictor=predictor,
            time=time,
            epoch=workload.epoch,
            same_id=logged.same_id,
            decided=None,
            job=job_request(workload, logged.row, None),
            state=JobState.REJECTED,
            reason=logged.rejected,
            summary=f"job {brief(job)} can never run on this system: {logged.rejected}",
        )
    what = (dispatcher, predictor, settings)
    witness, simulator = _halted(logged.handle, fitted, time, what, observers)
    present = Present.of_simulator(simulator, fitted, name, predictor, settings)
    meanings = [meaning_at for meaning_at in witness.seen if meaning_at is not None]
    meaning = next(
        (meaning_at for meaning_at in meanings if meaning_at["reason"]),
        meanings[-1] if meanings else {},
    )
    about = _explanation(present, logged.handle, meaning, witness.decided, witness.allocation)
    waits = about.state is JobState.WAITING
    about = replace(
        about,
        time=time,
        same_id=logged.same_id,
        next_decision=_next_decision(simulator, time) if waits else None,
    )
    return replace(about, summary=summary_of(about))


def _halted(
    handle: int,
    fitted: Fitted,
    time: int,
    what: tuple[str | Dispatcher, str, Settings],
    observers: Sequence[Observer],
) -> tuple[_Witness, Simulator]:
    """Simulate up to and including the last instant at or before a second."""
    dispatcher, predictor, settings = what
    accepted = np.delete(fitted.workload.job_id, [row for row, _ in fitted.rejected])
    last: int | None = None
    while True:
        inner = build("dispatchers", dispatcher) if isinstance(dispatcher, str) else dispatcher
        witness = _Witness(inner, partial(_meaning_of, handle, accepted))
        simulator = simulator_of(fitted, witness, predictor, settings, observers)
        witness.follow(simulator, handle, time, last)
        while (instant := simulator.next_time()) is not None and instant <= time:
            simulator.step()
            if witness.failed is not None:
                raise witness.failed
        if witness.decided is None or witness.seen:
            return witness, simulator
        # Later events needed no decision, so only now is the last decision known to be the last.
        last, observers = witness.decided, ()


class _Witness(Wrapper):
    """Looks at the decisions of another dispatcher that may be the last by a second."""

    def __init__(
        self,
        inner: Dispatcher,
        inspect: Callable[[Dispatcher, View, Decision], Any],
    ) -> None:
        super().__init__(inner)
        self.name = name_of(inner)  # type: ignore[misc]
        self.decided: int | None = None
        self.seen: list[Any] = []
        self.failed: Exception | None = None
        self.allocation: Allocation | None = None
        self._inspect = inspect

    def follow(self, simulator: Simulator, handle: int, time: int, last: int | None) -> None:
        """Set the job, the time, and the time of the last decision if known."""
        self._simulator, self._handle, self._time, self._last = simulator, handle, time, last

    def decide(self, view: View) -> Decision:
        if view.now != self.decided:
            self.seen.clear()
        self.decided = view.now
        decision = self.inner.decide(view)
        # It is looked at before the simulator checks it.
        check_decision(self.inner, decision)
        if self._may_be_last(view.now):
            try:
                self.seen.append(self._inspect(self.inner, view, decision))
            except UNSOUND as error:
                # The simulator says better what is wrong with the decision, if anything is.
                self.failed = error
        for action in decision.actions:
            if isinstance(action, Start) and action.handle == self._handle:
                self.allocation = action.allocation
        return decision

    def _may_be_last(self, now: int) -> bool:
        """
        Whether nothing is known to happen between this decision and the end.

        A job that starts in it may still end before; then the next decision may be the last.
        """
        if self._last is not None:
            return now == self._last
        after, interval = self._simulator.next_time(), self._simulator.interval
        if interval and now - now % interval + interval > self._time:
            return True
        return after is None or after > self._time


def _meaning_of(
    handle: int, names: Any, dispatcher: Dispatcher, view: View, decision: Decision
) -> dict[str, Any] | None:
    """Return the explanation of a decision on one job, while the dispatcher's view is valid."""
    at = np.flatnonzero(view.waiting.handle == handle)
    if not len(at):
        return None
    row = int(view.waiting.rows[at[0]])
    handles = view.waiting.store.columns[:, c.HANDLE]
    context = DecisionContext(
        dispatcher, view, decision, row, lambda other: str(names[handles[other]])
    )
    own = context.own_start
    return {
        "rank": context.rank_of.get(row),
        "queue_length": len(view.waiting),
        "num_running": len(view.running),
        "stats": dict(decision.stats),
        "waiting": None if own is not None else why_waiting(context),
        "reason": why_starting(context) if own is not None else None,
        "allocation": None if own is None else own.allocation,
    }


def _explanation(
    present: Present,
    handle: int,
    meaning: dict[str, Any],
    decided: int | None,
    allocation: Allocation | None = None,
) -> Explanation:
    """Return the explanation of a job."""
    saved, workload = present.state, present.jobs.workload
    columns = present.cluster.machine.store.columns
    estimate = int(columns[handle, c.RUNTIME_ESTIMATE])
    start, end = (
        None if saved[name][handle] == MISSING else int(saved[name][handle])
        for name in ("start_time", "end_time")
    )
    starting = meaning.pop("allocation", None)
    if start is None and starting is not None:
        allocation, start, end = starting, present.now, present.now + estimate
    elif start is not None and end is None:
        end = int(columns[handle, c.EXPECTED_END])
    # No decision may have followed later events; then its start is in the past.
    state = _state(present, handle, starts=start == present.now)
    if state not in (JobState.STARTS, JobState.WAITING):
        # The decision was about something else.
        meaning = {**meaning, "stats": {}, "waiting": None, "reason": None}
    if state is JobState.HELD:
        meaning["reason"] = _why_held(present, handle)
    if state is JobState.NEVER_STARTED:
        meaning["reason"] = saved["never"].get(str(handle))
    about = Explanation(
        dispatcher=present.dispatcher,
        predictor=present.predictor,
        time=present.now,
        epoch=workload.epoch,
        decided=decided,
        job=job_request(workload, handle, estimate),
        state=state,
        summary="",
        start=start,
        end=end,
        places=()
        if allocation is None
        else node_groups(present.jobs.system.node_names, allocation.node, allocation.units),
        overtaken=_overtaken(present, handle) if state in _STATES.values() else None,
        **meaning,
    )
    return replace(about, summary=summary_of(about))


def _state(present: Present, handle: int, *, starts: bool) -> JobState:
    if starts:
        return JobState.STARTS
    outcome = JobOutcome(int(present.state["outcome"][handle]))
    if outcome in _OUTCOMES:
        return _OUTCOMES[outcome]
    return _STATES.get(int(present.table.column(c.STATE)[handle]), JobState.RUNNING)


def _overtaken(present: Present, handle: int) -> int:
    """Return the number of later submitted jobs that started after a job could start."""
    workload = present.jobs.workload
    since = max(workload.submit[handle], workload.begin[handle])
    later = workload.submit > workload.submit[handle]
    return int((later & (present.state["start_time"] >= since)).sum())


def _next_decision(simulator: Simulator, time: int) -> int | None:
    after = simulator.next_time()
    if simulator.interval:
        grid = time - time % simulator.interval + simulator.interval
        return grid if after is None else max(grid, after - after % simulator.interval)
    return after


def _never(present: Present, handle: int) -> str:
    """Return why a waiting job can never start; '' if it can."""
    view = present.cluster.view(present.now)
    (at,) = np.flatnonzero(view.waiting.handle == handle)
    return present.cluster.dispatcher.never_starts(view).get(int(view.waiting.rows[at]), "")


def _why_held(present: Present, handle: int) -> str:
    """Return the reason that keeps a job out of the queue: a time, or another job."""
    workload, state = present.jobs.workload, present.table.column(c.STATE)
    chain = "it"
    for _ in range(_MOST_CHAINED):
        needed, begin = int(workload.dependency[handle]), int(workload.begin[handle])
        if needed < 0 or state[needed] == c.ENDED:
            if begin == MISSING:
                break
            return f"{chain} may not start before {clock(begin, workload.epoch)}"
        started = workload.dependency_type[handle] == DependencyType.AFTER
        handle = needed
        name = brief(str(workload.job_id[handle]))
        chain += f" may not start before job {name} has {'started' if started else 'ended'}"
        if state[handle] == c.WAITING and (never := _never(present, handle)):
            return f"{chain}, which can never start: {never}"
        if state[handle] != c.HELD:
            return f"{chain}, which {'waits' if state[handle] == c.WAITING else 'runs'}"
        chain += ", which"
    return f"{chain} waits for other jobs"
