"""A transaction as a sequence chart: the batch scheduler left, the runtime scheduler right."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from cpsched.base.types import MAX_TIME
from cpsched.base.words import brief, counted, seconds
from cpsched_papers.dn_dbes.messages import (
    STARTED,
    JobStatus,
    Machine,
    NegotiationEnd,
    NegotiationEndResponse,
    NegotiationStart,
    NegotiationStartResponse,
    Offer,
    OfferResponse,
    Queue,
    RequestOffer,
    StatusReport,
    UrgentJob,
    UrgentJobResponse,
)
from cpsched_papers.dn_dbes.negotiation import Party

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cpsched_papers.dn_dbes.messages import ForwardedJob, Message
    from cpsched_papers.dn_dbes.negotiation import Sent

_TITLES = ("batch scheduler", "runtime scheduler")
#: Of so many jobs the rest are counted.
_SHOWN = 8
#: In front of the left line, and behind the right one.
_MARGIN = 8


def chart(messages: Sequence[Sent], name_of: Callable[[int], str], width: int = 100) -> str:
    """
    Draw messages in the order in which they were sent.

    Parameters
    ----------
    name_of
        What a job is called.
    width
        Of the whole chart, in characters.
    """
    words = _Words(name_of)
    inner = max(width, 60) - 2 * _MARGIN - 2
    empty = " " * _MARGIN + "|" + " " * inner + "|"
    lines = [_title(inner), empty]
    for sent in messages:
        if sent.sender is Party.MACHINE:
            note = words.of(sent.message)
            text = [f"[ {line} ]" for line in wrap(note, inner - 8)]
            right = sent.receiver is Party.RUNTIME
            lines += [_line(f"{one:>{inner - 2}}" if right else one, inner) for one in text]
        else:
            lines += [_line(one, inner) for one in wrap(words.of(sent.message), inner - 2)]
            arrow = "-" * (inner - 1)
            arrow = f"{arrow}>" if sent.receiver is Party.RUNTIME else f"<{arrow}"
            lines.append(" " * _MARGIN + f"|{arrow}|")
        lines.append(empty)
    return "\n".join(line.rstrip() for line in lines)


def _title(inner: int) -> str:
    left, right = _TITLES
    # Each is centred over its line.
    start = _MARGIN - len(left) // 2
    end = _MARGIN + inner + 1 - len(right) // 2
    return f"{' ' * max(start, 0)}{left}".ljust(end) + right


def _line(text: str, inner: int) -> str:
    return " " * _MARGIN + "| " + text.ljust(inner - 1) + "|"


class _Words:
    """Messages in plain words."""

    def __init__(self, name_of: Callable[[int], str]) -> None:
        self._name_of = name_of
        #: Units that jobs had before, by number.
        self._units: dict[int, int] = {}

    def of(self, message: Message) -> str:
        """Return what a message says."""
        match message:
            case Machine() | Queue():
                return self._told(message)
            case NegotiationStart() | NegotiationStartResponse():
                return self._beginning(message)
            case RequestOffer():
                wishes = [f"{self._job(one.job)} ({_range(one)})" for one in message.jobs]
                return f"please make an offer for {_some(wishes)}"
            case Offer():
                return self._offer(message)
            case OfferResponse():
                return self._response(message)
            case StatusReport():
                return self._report(message)
            case UrgentJob() | UrgentJobResponse():
                return self._urgent(message)
            case NegotiationEnd():
                return f"no more negotiations: {brief(message.reason)}"
            case NegotiationEndResponse():
                return "understood"

    def _beginning(self, message: NegotiationStart | NegotiationStartResponse) -> str:
        if isinstance(message, NegotiationStart):
            return (
                f"shall we negotiate? at most {counted(message.attempts, 'offer')}, and"
                f" {counted(message.depth, 'job')} without units"
            )
        return "yes" if message.accepted else f"no, only in version {message.version}"

    def _urgent(self, message: UrgentJob | UrgentJobResponse) -> str:
        if isinstance(message, UrgentJob):
            job = message.job
            units = f"{job.units_min} to {job.units_max}"
            return f"{self._job(job.job)} is urgent: start it now, on {units} units"
        if not message.units:
            return f"there is no room for {self._job(message.job)}"
        return f"done: {self._changes(message.jobs)}"

    def _job(self, number: int) -> str:
        return f"job {brief(self._name_of(number), 20)}"

    def _told(self, message: Machine | Queue) -> str:
        if isinstance(message, Queue):
            number = counted(len(message.jobs), "job")
            if not message.jobs:
                return "no job waits"
            return (
                f"{number} waiting, and an offer to be asked for"
                if message.asks
                else f"{number} waiting"
            )
        self._units = {job.job: job.units for job in message.running}
        some = sum(job.units_min < job.units_max for job in message.running)
        text = (
            f"{counted(len(message.running), 'job')} running ({some:,} malleable),"
            f" {message.idle:,} of {counted(message.slots, 'slot')} idle"
        )
        if message.shrinks:
            text += "; periodic step: running jobs give way"
        if message.expands:
            text += "; running jobs are expanded"
        return text

    def _offer(self, offer: Offer) -> str:
        found = []
        for one in offer.reservations:
            job = self._job(one.job)
            if one.units:
                found.append(f"{job} gets {counted(one.units, 'unit')} now")
            elif one.start < MAX_TIME:
                found.append(f"{job} from {seconds(one.start)} on")
            else:
                found.append(f"{job} not in sight")
        idle = f"{counted(offer.idle, 'slot')} idle" if offer.idle else "no slot idle"
        return f"offer {offer.attempt}: {_some([*found, idle])}"

    def _response(self, response: OfferResponse) -> str:
        word = "accepted" if response.accepted else "rejected"
        head = f"offer {response.attempt} is {word}"
        if not response.jobs:
            return f"{head}: no job waits"
        mapped = [
            f"{self._job(one.job)} takes {counted(one.units, 'unit')}"
            for one in response.jobs
            if one.units
        ]
        others = [f"{self._job(one.job)} ({_range(one)})" for one in response.jobs if not one.units]
        parts = [_some(mapped)] if mapped else []
        if others:
            parts.append(f"no units yet for {_some(others)}")
        return f"{head}; {'; '.join(parts)}"

    def _report(self, report: StatusReport) -> str:
        head = f"agreed at offer {report.attempt}" if report.attempt else "done without an offer"
        planned = [
            f"{self._job(job)} at {seconds(start)}"
            for job, start in report.planned
            if start < MAX_TIME
        ]
        text = f"{head}: {self._changes(report.jobs)}"
        if planned:
            text += f"; planned: {_some(planned)}"
        return text

    def _changes(self, jobs: Sequence[JobStatus]) -> str:
        return _some([self._change(one) for one in jobs]) if jobs else "nothing changes"

    def _change(self, status: JobStatus) -> str:
        job, before = self._job(status.job), self._units.get(status.job)
        self._units[status.job] = status.units
        if status.state == STARTED:
            return f"{job} starts on {counted(status.units, 'unit')}"
        if not status.units:
            return f"{job} is {brief(status.state, 20)}"
        if before is None:
            return f"{job} has {counted(status.units, 'unit')}"
        verb = "shrinks" if status.units < before else "grows"
        return f"{job} {verb} from {before:,} to {counted(status.units, 'unit')}"


def _range(job: ForwardedJob) -> str:
    """Return the units that a job wants for now."""
    if job.least == job.most:
        return counted(job.most, "unit")
    return f"{job.least:,} to {job.most:,} units"


def _some(texts: Sequence[str]) -> str:
    """Return the first of some texts, and how many more there are."""
    if len(texts) <= _SHOWN:
        return ", ".join(texts)
    return f"{', '.join(texts[: _SHOWN - 1])} and {len(texts) - _SHOWN + 1:,} more"
