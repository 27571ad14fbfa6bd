"""The call behind ``cpsched explain``: the state of a job at a second, and the reason."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.base.types import MISSING, UNBOUNDED, DependencyType, Split
from cpsched.base.words import brief, clock, counted, duration
from cpsched.errors import ConfigError
from cpsched.explain.causes import why_waiting
from cpsched.explain.context import DecisionContext
from cpsched.explain.model import Asked, Explanation, JobState, Place
from cpsched.explain.moment import Moment, halt
from cpsched.explain.room import places
from cpsched.explain.text import summary_of, why_starting
from cpsched.model import columns as c
from cpsched.model.schedule import JobOutcome
from cpsched.simulation.observers import Observer
from cpsched.simulation.simulate import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cpsched.dispatch.contract import Dispatcher
    from cpsched.mapping import Fitted
    from cpsched.model.allocation import Allocation
    from cpsched.model.decision import Decision
    from cpsched.model.view import View
    from cpsched.model.workload import Workload
    from cpsched.simulation.simulator import Simulator

#: An id that is not in the log is compared with this many ids: comparing is slow.
_MOST_COMPARED = 2000
#: How many tasks of an array, and jobs of a chain of dependencies, are named.
_MOST_TASKS, _MOST_CHAINED = 5, 5
_OUTCOMES = {
    JobOutcome.COMPLETED: JobState.ENDED,
    JobOutcome.TIMEOUT: JobState.ENDED,
    JobOutcome.KILLED: JobState.ENDED,
    JobOutcome.CANCELLED: JobState.CANCELLED,
}


def explain(
    fitted: Fitted,
    *,
    job: str,
    time: int,
    dispatcher: str | Dispatcher = "easy",
    predictor: str = "requested",
    settings: Settings | None = None,
    prepare: Callable[[Dispatcher, View], None] | None = None,
    observers: Sequence[Observer] = (),
) -> Explanation:
    """
    Simulate up to a second and say why a job starts then, or why it does not.

    Parameters
    ----------
    fitted
        A workload mapped onto its system.
    job
        The log's id of the job.
    time
        Seconds since the workload's epoch; what happens at the last instant up to it counts.
    dispatcher, predictor
        Specifications like ``easy:backfill=sjf``; the dispatcher may be an object.
    prepare
        Called with dispatcher and view before the decision that is explained (and before some
        earlier ones, so the last call counts).
    observers
        Notified of all events.

    Raises
    ------
    ConfigError
        If no job has this id, or it is submitted later.
    DispatchError
        If the dispatcher breaks an invariant.
    """
    settings = settings or Settings()
    row, same_id = _find_job(fitted.workload, job, time)
    rejected = dict(fitted.rejected).get(row)
    common: dict[str, Any] = {
        "dispatcher": dispatcher if isinstance(dispatcher, str) else dispatcher.name,
        "predictor": predictor,
        "time": time,
        "epoch": fitted.workload.epoch,
        "same_id": same_id,
    }
    if rejected is not None:
        return Explanation(
            decided=None,
            job=asked(fitted.workload, row, None),
            state=JobState.REJECTED,
            reason=rejected,
            summary=f"job {brief(job)} can never run on this system: {rejected}",
            **common,
        )
    accepted = np.ones(len(fitted.workload), dtype=np.bool_)
    accepted[[other for other, _ in fitted.rejected]] = False
    handle = int(accepted[:row].sum())
    note = _Note(handle)
    moment = halt(
        fitted,
        time,
        partial(look, handle, fitted.workload.job_id[accepted]),
        dispatcher=dispatcher,
        predictor=predictor,
        settings=settings,
        prepare=prepare,
        observers=(note, *observers),
    )
    return _explanation(fitted.workload, row, handle, moment, note, common)


def _find_job(workload: Workload, job_id: str, time: int) -> tuple[int, int]:
    """
    Return the row of the job, and how many jobs have its id.

    Of several, the one submitted last by ``time`` is meant.

    Raises
    ------
    ConfigError
        If there is none, or none is submitted by then.
    """
    rows = np.flatnonzero(workload.job_id == job_id)
    if not len(rows) and job_id in workload.array.values:
        tasks = np.flatnonzero(workload.array.codes == workload.array.values.index(job_id))
        names = workload.job_id[tasks[:_MOST_TASKS]].tolist()
        more = ", ..." if len(tasks) > len(names) else ""
        raise ConfigError(
            f"{brief(job_id)} is an array of {counted(len(tasks), 'task')}; ask about one of them:"
            f" {', '.join(map(brief, names))}{more}",
            key="--job",
        )
    if not len(rows):
        near = ", ".join(brief(name) for name in _near(workload, job_id))
        hint = f" Near it: {near}." if near else ""
        raise ConfigError(
            f"none of the {len(workload):,} jobs read has the id {brief(job_id)}.{hint}",
            key="--job",
        )
    known = rows[workload.submit[rows] <= time]
    if not len(known):
        raise ConfigError(
            f"job {brief(job_id)} is not submitted until second {workload.submit[rows[0]]}; ask"
            " about"
            " that second or a later one",
            key="--at",
        )
    return int(known[-1]), len(rows)


def _near(workload: Workload, job_id: str) -> list[str]:
    """Return up to three ids of the workload that look like one that is not in it."""
    names = workload.job_id
    stem = job_id[: max(1, len(job_id) - 2)]
    alike = names[np.char.startswith(names, stem)]
    candidates = (alike if len(alike) else names)[:_MOST_COMPARED].tolist()
    return get_close_matches(job_id, dict.fromkeys(candidates), n=3)


class _Note(Observer):
    """Remembers where one job was placed."""

    def __init__(self, job: int) -> None:
        self._job = job
        self.allocation: Allocation | None = None

    def on_start(self, job: int, allocation: Allocation, now: int) -> None:  # noqa: ARG002
        if job == self._job:
            self.allocation = allocation


def look(
    handle: int, names: Any, dispatcher: Dispatcher, view: View, decision: Decision
) -> dict[str, Any] | None:
    """Return what is said of a decision about one job, while the dispatcher's view is valid."""
    at = np.flatnonzero(view.waiting.handle == handle)
    if not len(at):
        return None
    row = int(view.waiting.rows[at[0]])
    handles = view.waiting.store.columns[:, c.HANDLE]
    context = DecisionContext(
        dispatcher, view, decision, row, lambda other: str(names[handles[other]])
    )
    started = context.own_start is not None
    return {
        "rank": context.rank_of.get(row),
        "queue_length": len(view.waiting),
        "num_running": len(view.running),
        "stats": dict(decision.stats),
        "waiting": None if started else why_waiting(context),
        "reason": why_starting(context) if started else None,
    }


def _explanation(
    workload: Workload,
    row: int,
    handle: int,
    moment: Moment,
    note: _Note,
    common: dict[str, Any],
) -> Explanation:
    simulator = moment.simulator
    looks = [look for look in moment.seen if look is not None]
    said = next((look for look in looks if look["reason"]), looks[-1] if looks else {})
    start, end = (
        None if value == MISSING else int(value)
        for value in (simulator.start_time[handle], simulator.end_time[handle])
    )
    if start is not None and end is None:
        end = int(simulator.machine.store.columns[handle, c.EXPECTED_END])
    # No decision may have followed later events; then its start is in the past.
    state = _state(simulator, handle, starts=start == simulator.now)
    if state not in (JobState.STARTS, JobState.WAITING):
        # The decision was about something else.
        said = {**said, "stats": {}, "waiting": None, "reason": None}
    if state is JobState.HELD:
        said["reason"] = _held(simulator, handle, workload, row)
    waits = state is JobState.WAITING
    later = simulator.start_time[handle + 1 :]
    about = Explanation(
        decided=moment.decided,
        job=asked(workload, row, int(simulator.machine.store.columns[handle, c.RUNTIME_ESTIMATE])),
        state=state,
        summary="",
        next_decision=_next_decision(simulator, common["time"]) if waits else None,
        start=start,
        end=end,
        places=_places(simulator, note),
        overtaken=int((later != MISSING).sum()) if waits or state is JobState.HELD else None,
        **said,
        **common,
    )
    return replace(about, summary=summary_of(about))


def _state(simulator: Simulator, handle: int, *, starts: bool) -> JobState:
    if starts:
        return JobState.STARTS
    outcome = JobOutcome(int(simulator.outcome[handle]))
    if outcome in _OUTCOMES:
        return _OUTCOMES[outcome]
    state = int(simulator.machine.store.columns[handle, c.STATE])
    return {c.WAITING: JobState.WAITING, c.HELD: JobState.HELD}.get(state, JobState.RUNNING)


def _next_decision(simulator: Simulator, time: int) -> int | None:
    after = simulator.next_time()
    if simulator.interval:
        grid = time - time % simulator.interval + simulator.interval
        return grid if after is None else max(grid, after - after % simulator.interval)
    return after


def _places(simulator: Simulator, note: _Note) -> tuple[Place, ...]:
    if note.allocation is None:
        return ()
    node, units, _ = note.allocation
    return places(simulator.system.node_names, node, units)


def _held(simulator: Simulator, handle: int, workload: Workload, row: int) -> str:
    """Say what keeps a job out of the queue: a time, or a job and what that one waits for."""
    said = "it"
    for _ in range(_MOST_CHAINED):
        needed = int(simulator.arrivals.dependency[handle])
        if needed < 0 or simulator.outcome[needed] != JobOutcome.NOT_ENDED:
            begin = clock(int(workload.begin[row]), workload.epoch)
            return f"{said} may not start before {begin}"
        started = simulator.arrivals.dependency_type[handle] == DependencyType.AFTER
        handle, row = needed, int(simulator.arrivals.workload_row[needed])
        name = brief(str(workload.job_id[row]))
        said += f" may not start before job {name} has {'started' if started else 'ended'}"
        state = int(simulator.machine.store.columns[handle, c.STATE])
        if state != c.HELD:
            return f"{said}, which {'waits' if state == c.WAITING else 'runs'}"
        said += ", which"
    return f"{said} waits for other jobs"


def _locality(workload: Workload, row: int) -> list[str]:
    """Return in words which placement of its nodes a job asks for."""
    segment, switches, wait = (
        int(getattr(workload, name)[row]) for name in ("segment", "max_switches", "switch_wait")
    )
    words = [f"in segments of {counted(segment, 'node')}"] if segment else []
    if switches:
        limit = f"in at most {counted(switches, 'group')} of the lowest level"
        words.append(limit if wait == MISSING else f"{limit} for the first {duration(wait)}")
    return words


def asked(workload: Workload, row: int, predicted: int | None) -> Asked:
    """Return what is known about a job at submit."""

    def nonzero(values: Any) -> dict[str, int]:
        pairs = zip(workload.resources, values.tolist(), strict=True)
        return {kind: number for kind, number in pairs if number}

    rules = {
        "even": workload.split[row] == Split.EVEN,
        "contiguous": workload.contiguous[row],
        "exclusive": workload.exclusive[row],
    }
    nodes_max = int(workload.nodes_max[row])
    return Asked(
        job_id=str(workload.job_id[row]),
        queue=workload.queue.take(np.array([row])).decode()[0],
        user=workload.user.take(np.array([row])).decode()[0],
        submit=int(workload.submit[row]),
        units=int(workload.units[row]),
        request=nonzero(workload.request[row]),
        per_node=nonzero(workload.per_node[row]),
        nodes_min=int(workload.nodes_min[row]),
        nodes_max=None if nodes_max >= UNBOUNDED else nodes_max,
        rules=(*(rule for rule, holds in rules.items() if holds), *_locality(workload, row)),
        requested_time=int(workload.requested_time[row]),
        predicted=predicted,
    )
