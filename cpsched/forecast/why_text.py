"""An explanation in one sentence, and as aligned lines for a terminal."""

from __future__ import annotations

from dataclasses import replace
from textwrap import wrap
from typing import TYPE_CHECKING

from cpsched.dispatch.contract import WaitReason
from cpsched.forecast.explanation import JobState
from cpsched.util.terminal import table_text
from cpsched.util.types import NO_TIME_LIMIT
from cpsched.util.words import (
    amounts,
    brief,
    clock,
    counted,
    duration,
    estimate,
    memory,
    seconds,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cpsched.forecast.context import DecisionContext
    from cpsched.forecast.explanation import (
        Demand,
        Explanation,
        FreeCapacity,
        JobRequest,
        NodeUnits,
        OtherJob,
        WaitCause,
    )

#: This many jobs or groups of nodes are named; the rest are counted.
_MOST_SHOWN = 10
_LABEL = 12
#: Of a job whose requested time stands for none.
_UNLIMITED = "no time limit known"
_NOT_KNOWN = "when jobs have ended with no time limit known"


def text(about: Explanation, width: int = 120) -> str:
    """
    Return an explanation as lines, without a newline at the end.

    Names from the log are escaped; lines are wrapped between words at ``width`` characters.
    """
    lines = [*wrap(about.summary, width, break_long_words=False), ""]
    for label, value in _facts(about):
        lines.extend(labelled(label, value, width))
    if about.waiting is not None:
        lines.extend(_waiting(about, about.waiting, width))
    return "\n".join(lines)


def labelled(label: str, value: str, width: int) -> list[str]:
    """Return a wrapped line with its label in front."""
    return wrap(
        value,
        width,
        initial_indent=label.ljust(_LABEL),
        subsequent_indent=" " * _LABEL,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _facts(about: Explanation) -> Iterator[tuple[str, str]]:
    job, waits = about.job, about.state is JobState.WAITING
    parts = [
        brief(job.job_id),
        f"user {brief(job.user)}" if job.user else "",
        f"queue {brief(job.queue)}" if job.queue else "",
        f"submitted at {clock(job.submit, about.epoch)}",
        f"waiting for {duration(about.time - job.submit)}" if waits else "",
    ]
    yield "job", ", ".join(filter(None, parts))
    if about.same_id > 1:
        yield (
            "",
            f"last submitted of {about.same_id:,} jobs with this id",
        )
    if about.overtaken:
        yield "", f"overtaken by {counted(about.overtaken, 'job')} submitted later"
    yield "asks for", _request(job)
    by = f"{about.dispatcher}, runtime estimate: {estimate(about.predictor)}"
    if about.queue_length is not None:
        rank = f"number {about.rank:,} of " if about.rank is not None else ""
        waiting = f"{rank}{about.queue_length:,} waiting"
        by += f", {waiting}, {about.num_running:,} running at {clock(about.decided or 0, None)}"
    yield "dispatcher", by
    if about.places:
        yield "nodes", _node_groups(about.places)
    if about.state is JobState.STARTS and about.end is not None:
        until = f"{clock(about.end, about.epoch)}, as predicted"
        yield "until", _UNLIMITED if _is_open(about.start, about.end) else until


def _request(job: JobRequest) -> str:
    min_nodes, max_nodes = job.nodes_min, job.nodes_max
    bounds = (
        f"on {counted(min_nodes, 'node')}"
        if max_nodes == min_nodes
        else f"on {min_nodes:,} nodes or more"
    )
    if max_nodes is not None and max_nodes != min_nodes:
        bounds = f"on {min_nodes:,} to {max_nodes:,} nodes"
    if max_nodes is None and min_nodes <= 1:
        bounds = ""
    per_node = f"and {amounts(job.per_node)} on each node" if job.per_node else ""
    open_ended = job.requested_time == NO_TIME_LIMIT
    time = _UNLIMITED if open_ended else f"for {duration(job.requested_time)}"
    if job.predicted is not None and job.predicted != NO_TIME_LIMIT:
        time += f" (predicted {duration(job.predicted)})"
    rules = ", ".join(job.rules)
    size = f"{counted(job.units, 'task')} of {amounts(job.request)}"
    return ", ".join(filter(None, [size, per_node, bounds, rules, time]))


def _waiting(about: Explanation, waiting: WaitCause, width: int) -> Iterator[str]:
    yield ""
    yield from _resources(waiting.room, width).splitlines()
    yield ""
    yield from labelled("fits now", _free_capacity(waiting.room), width)
    yield from _jobs("start now", waiting.before, width)
    if waiting.ahead is not None:
        ahead = waiting.ahead
        ahead = replace(ahead, start=None, end=None) if waiting.open_ended else ahead
        yield from _jobs("ahead", [ahead], width)
    yield from _jobs("waits for", waiting.waits_for, width)
    if waiting.could_start is not None:
        when = f"at {_from_now(about, waiting.could_start)}, if no other job starts"
        ends = [_is_open(other.start, other.end) for other in waiting.waits_for]
        yield from labelled("could start", _NOT_KNOWN if any(ends) else when, width)
    if waiting.planned is not None:
        where = "" if waiting.planned_nodes is None else f" on {waiting.planned_nodes}"
        plan = f"to start at {_from_now(about, waiting.planned)}{where}"
        yield from labelled("planned", _NOT_KNOWN if waiting.open_ended else plan, width)


def _is_open(start: int | None, end: int | None) -> bool:
    """Return whether a job has no known time limit, and therefore no known end."""
    return start is not None and end is not None and end - start == NO_TIME_LIMIT


def _from_now(about: Explanation, time: int) -> str:
    ahead = time - (about.time if about.decided is None else about.decided)
    return f"{clock(time, about.epoch)}, in {duration(ahead)}"


def _resources(capacity: FreeCapacity, width: int) -> str:
    def amount(kind: Demand, number: int) -> str:
        return memory(number) if kind.resource == "mem" else f"{number:,}"

    rows = [
        [
            kind.resource,
            *(amount(kind, n) for n in (kind.demand, kind.free, kind.eligible, kind.capacity)),
            f"{kind.units:,}",
        ]
        for kind in capacity.resources
    ]
    tasks = f"tasks of {capacity.units + capacity.short:,}"
    headers = ["resource", "needed", "free", "usable", "total", tasks]
    return table_text(headers, rows, width=width)


def _free_capacity(capacity: FreeCapacity) -> str:
    total = capacity.units + capacity.short
    short = f" ({capacity.short:,} short)" if capacity.short else ""
    where = f": {_node_groups(capacity.places)}" if capacity.places else ""
    return f"{capacity.units:,} of {counted(total, 'task')}{short}{where}"


def _node_groups(groups: Sequence[NodeUnits]) -> str:
    shown = [f"{counted(group.units, 'task')} on {_each(group.nodes)}" for group in groups]
    more = len(shown) - _MOST_SHOWN
    return ", ".join(shown[:_MOST_SHOWN]) + (f", {more:,} more groups" if more > 0 else "")


def _each(nodes: str) -> str:
    return f"each of {nodes}" if "[" in nodes or "," in nodes else nodes


def _jobs(label: str, others: Sequence[OtherJob], width: int) -> Iterator[str]:
    for at, other in enumerate(others[:_MOST_SHOWN]):
        yield from labelled("" if at else label, _other(other), width)
    if len(others) > _MOST_SHOWN:
        yield from labelled("", f"and {counted(len(others) - _MOST_SHOWN, 'job')} more", width)


def _other(other: OtherJob) -> str:
    time = ""
    if other.start is not None and other.end is not None:
        until = f"to {seconds(other.end)} as expected"
        until = _UNLIMITED if _is_open(other.start, other.end) else until
        time = f"from {seconds(other.start)} {until}".replace(f" {_UNLIMITED}", f", {_UNLIMITED}")
    parts = [
        f"job {brief(other.job_id)} ({counted(other.units, 'task')})",
        "" if other.rank is None else f"number {other.rank:,} in the queue",
        time,
        "" if other.nodes is None else f"on {other.nodes}",
    ]
    return ", ".join(filter(None, parts))


def why_starting(context: DecisionContext) -> str:
    """Return the reason why a job starts."""
    if context.order is None:
        return f"{context.dispatcher.name} starts it, and it fits"
    if context.rank_of[context.row] == 1:
        return "it is first in the queue, and it fits"
    ahead = context.first_ahead() or context.first_ahead(overtaken=True)
    if ahead is None:
        return "all jobs before it start as well, and it fits"
    reason = f"job {_named(ahead)} before it does not start now"
    if ahead.start is None:
        return f"{reason} and is passed over, and this one fits"
    end = context.end_of(context.row, context.view.now)
    planned = f"{reason}, but is planned for second {ahead.start:,}"
    if context.is_open_ended(ahead.start):
        planned = f"{reason}, and waits for jobs with {_UNLIMITED}"
    if end <= ahead.start and end - context.view.now == NO_TIME_LIMIT:
        return f"{planned}. This one takes none of the resources needed then"
    if end <= ahead.start:
        return f"{planned}. This one is expected to end by then, at {end:,}"
    return f"{planned}. This one takes none of the resources needed then"


def summary_of(about: Explanation) -> str:
    """Return the answer in one sentence."""
    job, epoch = f"job {brief(about.job.job_id)}", about.epoch
    if about.state is JobState.STARTS and about.start is not None:
        return f"{job} starts at {clock(about.start, epoch)}: {about.reason}"
    if about.state is JobState.WAITING:
        decided = about.time if about.decided is None else about.decided
        return f"{job} does not start at {clock(decided, epoch)}: {_why(about)}"
    if about.state is JobState.HELD:
        return f"{job} is held at {clock(about.time, epoch)}: {about.reason}"
    end = "" if about.end is None else clock(about.end, epoch)
    if about.state is JobState.NEVER_STARTED:
        return f"{job} left the queue at {end} because it can never start: {about.reason}"
    if about.state is JobState.CANCELLED:
        return f"{job} was cancelled at {end}, before it started"
    start = "" if about.start is None else clock(about.start, epoch)
    if about.state is JobState.RUNNING:
        if _is_open(about.start, about.end):
            return f"{job} has run since {start}, {_UNLIMITED}"
        return f"{job} has run since {start} and is expected to end at {end}"
    return f"{job} ran from {start} to {end}"


def _why(about: Explanation) -> str:
    waiting = about.waiting
    if waiting is None:
        when = about.next_decision
        at = "" if when is None else f" (next: {clock(when, about.epoch)} at the earliest)"
        return f"the dispatcher has not been called since the job was submitted{at}"
    if waiting.reason is WaitReason.LIMIT:
        return f"a limit stops it: {waiting.note}"
    if waiting.reason is WaitReason.NEVER:
        return f"it can never start: {waiting.note}"
    if waiting.reason is WaitReason.NO_ROOM:
        return waiting.room.obstacle
    return f"it would fit, but {_why_passed_over(about, waiting)}"


def _why_passed_over(about: Explanation, waiting: WaitCause) -> str:
    ahead, again = waiting.ahead, waiting.asked_again
    if waiting.reason is WaitReason.OTHERS_START:
        them = "goes before it" if len(waiting.before) == 1 else "go before it"
        starting = "job that starts" if len(waiting.before) == 1 else "jobs that start"
        return f"{len(waiting.before):,} {starting} now {them}"
    if waiting.reason is WaitReason.RESERVATION and ahead is not None:
        when = "" if ahead.start is None else f", planned for {clock(ahead.start, about.epoch)}"
        when = "" if waiting.open_ended else when
        until = f"it is expected to run until {waiting.would_end:,} s"
        decided = about.time if about.decided is None else about.decided
        until = "it has no time limit" if _is_open(decided, waiting.would_end) else until
        return f"{until} and would delay job {_named(ahead)}{when}"
    if waiting.reason is WaitReason.ORDER and ahead is not None:
        until = "" if again is None else f" before {clock(again, about.epoch)}"
        return f"job {_named(ahead)} is ahead of it, does not fit, and may not be overtaken{until}"
    if waiting.reason is WaitReason.NOT_SELECTED:
        return f"{about.dispatcher} selected a set of jobs without it"
    if waiting.reason is WaitReason.UNDECIDED:
        when = "" if again is None else f" (next attempt: {clock(again, about.epoch)})"
        return f"{about.dispatcher} reached its limit without an answer and starts nothing{when}"
    if waiting.reason is WaitReason.NOT_CONSIDERED:
        note = f": {waiting.note}" if waiting.note else ""
        unseen = f"{about.dispatcher} does not consider it{note}"
        if about.rank is None:
            return unseen
        return f"it is number {about.rank:,} in the queue, and {unseen}"
    if waiting.planned is not None and waiting.open_ended:
        return f"{about.dispatcher} plans it for when jobs end that have {_UNLIMITED}"
    if waiting.planned is not None:
        return f"{about.dispatcher} plans it for {clock(waiting.planned, about.epoch)}"
    return f"{about.dispatcher} does not start it and gives no reason"


def _named(other: OtherJob) -> str:
    rank = "" if other.rank is None else f", number {other.rank} in the queue"
    return f"{brief(other.job_id)} ({counted(other.units, 'task')}{rank})"
