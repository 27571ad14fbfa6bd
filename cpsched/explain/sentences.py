"""The answers in one sentence each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.base.words import brief, clock, counted
from cpsched.dispatch.contract import WaitReason
from cpsched.explain.model import JobState

if TYPE_CHECKING:
    from cpsched.explain.context import DecisionContext
    from cpsched.explain.model import Explanation, OtherJob, Waiting


def why_starting(context: DecisionContext) -> str:
    """Say why a job starts."""
    if context.order is None:
        return f"{context.dispatcher.name} starts it, and it fits"
    if context.rank_of[context.row] == 1:
        return "it is first in the queue, and it fits"
    ahead = context.first_ahead()
    if ahead is None:
        return "all jobs before it start as well, and it fits"
    who = f"job {_named(ahead)} before it does not start now"
    if ahead.start is None:
        return f"{who} and is passed over, and this one fits"
    end = context.end_of(context.row, context.view.now)
    planned = f"{who}, but is planned for second {ahead.start:,}"
    if end <= ahead.start:
        return f"{planned}: this one is expected to end by then, at {end:,}"
    return f"{planned}: this one takes nothing that is needed then"


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
    if about.state is JobState.CANCELLED:
        return f"{job} was cancelled at {end}, before it started"
    start = "" if about.start is None else clock(about.start, epoch)
    if about.state is JobState.RUNNING:
        return f"{job} runs since {start} and is expected to end at {end}"
    return f"{job} ran from {start} to {end}"


def _why(about: Explanation) -> str:
    waiting = about.waiting
    if waiting is None:
        when = about.next_decision
        at = "" if when is None else f"; it is at {clock(when, about.epoch)}, at the earliest"
        return f"the dispatcher has not been called since the job was submitted{at}"
    if waiting.reason is WaitReason.LIMIT:
        return f"a limit holds it: {waiting.note}"
    if waiting.reason is WaitReason.NO_ROOM:
        return waiting.room.obstacle
    return f"it would fit, but {_held_back(about, waiting)}"


def _held_back(about: Explanation, waiting: Waiting) -> str:
    ahead, again = waiting.ahead, waiting.asked_again
    if waiting.reason is WaitReason.OTHERS_START:
        them = "goes before it" if len(waiting.before) == 1 else "go before it"
        starting = "job that starts" if len(waiting.before) == 1 else "jobs that start"
        return f"{len(waiting.before):,} {starting} now {them}"
    if waiting.reason is WaitReason.RESERVATION and ahead is not None:
        when = "" if ahead.start is None else f", planned for {clock(ahead.start, about.epoch)}"
        until = f"it is expected to run until {waiting.would_end:,} s"
        return f"{until} and would delay job {_named(ahead)}{when}"
    if waiting.reason is WaitReason.ORDER and ahead is not None:
        until = "" if again is None else f" before {clock(again, about.epoch)}"
        return f"job {_named(ahead)} is ahead of it, does not fit, and may not be overtaken{until}"
    if waiting.reason is WaitReason.NOT_SELECTED:
        return f"{about.dispatcher} selected a set of jobs without it"
    if waiting.reason is WaitReason.UNDECIDED:
        when = "" if again is None else f"; it tries again at {clock(again, about.epoch)}"
        return f"{about.dispatcher} reached its limit without an answer and starts nothing{when}"
    if waiting.reason is WaitReason.NOT_CONSIDERED:
        unseen = f"{about.dispatcher} does not consider it"
        if about.rank is None:
            return unseen
        return f"it is number {about.rank:,} in the queue, and {unseen}"
    if waiting.planned is not None:
        return f"{about.dispatcher} plans it for {clock(waiting.planned, about.epoch)}"
    return f"{about.dispatcher} does not start it and gives no reason"


def _named(other: OtherJob) -> str:
    rank = "" if other.rank is None else f", number {other.rank} in the queue"
    return f"{brief(other.job_id)} ({counted(other.units, 'unit')}{rank})"
