"""Rules about jobs one by one: outcomes, and times against what was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.metrics.window import ended
from cpsched.model.schedule import JobOutcome
from cpsched.util.types import MISSING, DependencyType
from cpsched.verification.findings import Rule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.schedule import Schedule
    from cpsched.util.types import BoolArray
    from cpsched.verification.checked import Checked

_OVERRUN = ("kill", "extend")


def check_outcome(checked: Checked) -> None:
    """Check that every job has one outcome, and the times that belong to it."""
    schedule, complete = checked.schedule, checked.complete
    outcome = schedule.outcome
    known = np.isin(outcome, list(JobOutcome))
    checked.add(
        Rule.OUTCOME,
        ~known,
        lambda row: f"has the outcome {outcome[row]}, and outcomes are 0 to {max(JobOutcome)}",
    )
    started, finished = schedule.start != MISSING, schedule.end != MISSING
    ran, cancelled = ended(schedule), _left_the_queue(schedule)
    unfinished = outcome == JobOutcome.NOT_ENDED
    wrong_start = (ran & ~started) | (started & known & ~ran & ~unfinished)
    wrong_end = finished != (ran | cancelled)

    def say(row: int) -> str:
        times = " and ".join(
            f"{'an' if name == 'end' else 'a'} {name}" if there[row] else f"no {name}"
            for name, there in (("start", started), ("end", finished))
        )
        return f"is {JobOutcome(outcome[row]).name.lower()}, but has {times}"

    checked.add(Rule.OUTCOME, known & (wrong_start | wrong_end), say)
    if complete:
        checked.add(
            Rule.OUTCOME, unfinished & ~finished, lambda _: "has not ended, although the run has"
        )


def check_rejected(checked: Checked) -> None:
    """Check that exactly the jobs that are rejected, or never start, have a reason."""
    schedule = checked.schedule
    _check_reasons(checked, schedule.rejected, JobOutcome.REJECTED, "be rejected")
    _check_reasons(checked, schedule.never_started, JobOutcome.NEVER_STARTED, "never start")


def _check_reasons(
    checked: Checked, reasons: Mapping[int, str], outcome: JobOutcome, what: str
) -> None:
    schedule = checked.schedule
    num_jobs = len(schedule.workload)
    explained = np.zeros(num_jobs, dtype=np.bool_)
    for row, reason in reasons.items():
        if 0 <= row < num_jobs:
            explained[row] = bool(reason)
        else:
            checked.add_once(
                Rule.REJECTED,
                f"a reason is given for row {row}, and the rows of jobs are 0 to {num_jobs - 1}",
            )
    has_it = schedule.outcome == outcome
    name = outcome.name.lower().replace("_", " ")
    checked.add(
        Rule.REJECTED, has_it & ~explained, lambda _: f"is {name}, and no reason is recorded"
    )
    checked.add(
        Rule.REJECTED,
        explained & ~has_it,
        lambda row: f"has a recorded reason to {what} ({reasons[row]}), but has another outcome",
    )


def _left_the_queue(schedule: Schedule) -> BoolArray:
    """Tell which jobs left the queue before they started."""
    gone: BoolArray = np.isin(schedule.outcome, [JobOutcome.CANCELLED, JobOutcome.NEVER_STARTED])
    return gone


def check_not_early(checked: Checked) -> None:
    """Check that no job starts, or is cancelled, before it may."""
    schedule = checked.schedule
    workload, start, end = schedule.workload, schedule.start, schedule.end
    submit, begin = workload.submit, workload.begin
    started = start != MISSING
    checked.add(
        Rule.SUBMIT,
        started & (start < submit),
        lambda row: f"starts at {start[row]}, before it is submitted at {submit[row]}",
    )
    cancelled = _left_the_queue(schedule) & (end != MISSING)
    checked.add(
        Rule.SUBMIT,
        cancelled & (end < submit),
        lambda row: f"leaves the queue at {end[row]}, before it is submitted at {submit[row]}",
    )
    checked.add(
        Rule.BEGIN,
        started & (begin != MISSING) & (start < begin),
        lambda row: f"starts at {start[row]}, before its begin time {begin[row]}",
    )


def check_cancel(checked: Checked) -> None:
    """Check that jobs have left by the time of their cancellation in the workload."""
    schedule, complete = checked.schedule, checked.complete
    cancel, end = schedule.workload.cancel, schedule.end
    due = (cancel != MISSING) & (schedule.outcome != JobOutcome.REJECTED)
    late = np.where(end == MISSING, complete | (checked.horizon > cancel), end > cancel)

    def say(row: int) -> str:
        what = "has not ended" if end[row] == MISSING else f"ends at {end[row]}"
        return f"{what}, but is cancelled at {cancel[row]} in the log"

    checked.add(Rule.CANCEL, due & late, say)


def check_dependency(checked: Checked) -> None:
    """Check that jobs start after what they depend on."""
    schedule = checked.schedule
    workload, start = schedule.workload, schedule.start
    rows = np.flatnonzero((start != MISSING) & (workload.dependency >= 0))
    needed = workload.dependency[rows]
    end, met = schedule.end[needed], checked.dependency_met[rows]
    counts = schedule.outcome[needed] != JobOutcome.REJECTED

    def say(position: int) -> str:
        other = workload.job_id[needed[position]]
        when = f"ends at {end[position]}" if end[position] != MISSING else "never ends"
        kind = DependencyType(workload.dependency_type[rows[position]]).name.lower()
        begins = f"starts at {start[rows[position]]}"
        return f"{begins} before its dependency is met: {kind} {other}, which {when}"

    early = (met == MISSING) | (start[rows] < met)
    checked.add(Rule.DEPENDENCY, counts & early, say, rows)


def _ran(schedule: Schedule) -> BoolArray:
    """Tell which jobs ran to an end and have both times."""
    known = (schedule.start != MISSING) & (schedule.end != MISSING)
    return np.asarray(ended(schedule) & known, dtype=np.bool_)


def check_runtime(checked: Checked) -> None:
    """Check how long jobs ran, and that those still running have not run too long already."""
    schedule, restarts, recorded = checked.schedule, checked.restarts, checked.recorded
    if schedule.overrun not in _OVERRUN:
        checked.add_once(
            Rule.RUNTIME, f"overrun is '{schedule.overrun}', must be {' or '.join(_OVERRUN)}"
        )
        return
    requested, runtime = schedule.workload.requested_time, restarts.left
    kills = schedule.overrun == "kill"
    right = restarts.right
    ran = schedule.end - schedule.start
    running = (schedule.outcome == JobOutcome.NOT_ENDED) & (schedule.start != MISSING)
    so_far = checked.horizon - schedule.start

    def say(row: int) -> str:
        seconds = so_far[row] if running[row] else ran[row]
        limit = (
            f", its requested time {requested[row]} s"
            if kills and requested[row] != MISSING
            else ""
        )
        extra = restarts.extra[row]
        if restarts.sized[row]:
            return f"runs for {seconds} s. On its tasks its work takes {right[row]} s{limit}"
        again = f" plus {extra} s to start again" if extra else ""
        return f"runs for {seconds} s. Its runtime in the log is {runtime[row]} s{again}{limit}"

    if recorded:
        killed = schedule.outcome == JobOutcome.KILLED
        wrong = _ran(schedule) & np.where(killed, (ran < 0) | (ran > right), ran != right)
        wrong |= running & (so_far > right)
    else:
        limited = np.bool_(kills) & (requested != MISSING) & ~restarts.sized
        longest = requested + restarts.extra
        wrong = _ran(schedule) & ((ran < 0) | (limited & (ran > longest)))
        wrong |= running & limited & (so_far > longest)
    checked.add(Rule.RUNTIME, wrong, say)


def check_timeout(checked: Checked) -> None:
    """Check that exactly the jobs cut by ``kill`` are timed out."""
    schedule, restarts, recorded = checked.schedule, checked.restarts, checked.recorded
    outcome = schedule.outcome
    requested, runtime = schedule.workload.requested_time, restarts.left
    timed_out = outcome == JobOutcome.TIMEOUT
    if schedule.overrun == "extend":
        checked.add(
            Rule.TIMEOUT, timed_out, lambda _: "timed out, although overrun=extend lets jobs run on"
        )
    if schedule.overrun != "kill":
        return
    if recorded:
        right = restarts.timed_out
    else:
        right = timed_out & (schedule.end - schedule.start == requested + restarts.extra)
        right |= timed_out & restarts.sized

    def say(row: int) -> str:
        name = JobOutcome(outcome[row]).name.lower()
        limit = f"its requested time {requested[row]} s"
        return f"is {name}. Its runtime in the log is {runtime[row]} s, {limit}"

    killed = outcome == JobOutcome.KILLED
    checked.add(Rule.TIMEOUT, ended(schedule) & ~killed & (timed_out != right), say)
