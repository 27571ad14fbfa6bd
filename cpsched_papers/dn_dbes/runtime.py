"""
The runtime side: offers what it can free of the machine, and starts what both agree on.

It answers every mapping by going through what it would do (:mod:`.attempt`). If that suits it, it
does so; if not, it makes the next offer from the same state, and lets running jobs give way by one
step more (Algorithm 4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.api.errors import ConfigError, DispatchError
from cpsched_papers.dn_dbes.attempt import Attempt, end_on
from cpsched_papers.dn_dbes.messages import (
    KILLED,
    RESIZED,
    STARTED,
    SUSPENDED,
    JobStatus,
    Machine,
    NegotiationEnd,
    NegotiationEndResponse,
    NegotiationStart,
    NegotiationStartResponse,
    Offer,
    OfferResponse,
    RequestOffer,
    RunningJob,
    StatusReport,
    UrgentJob,
    UrgentJobResponse,
)
from cpsched_papers.dn_dbes.settings import VERSION, NegotiationSettings, UrgentPolicy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cpsched_papers.dn_dbes.messages import ForwardedJob, ToBatch, ToRuntime, WaitingJob


class RuntimeSide:
    """Answers one message with others; remembers no more than the transaction that is under way."""

    def __init__(self) -> None:
        self._settings = NegotiationSettings()
        #: The state that every attempt of the transaction starts from.
        self._machine = Machine(0, 0, 0, ())
        self._attempt = 0
        #: How many jobs the last attempt would have started that it rejected.
        self._refused_with: int | None = None

    def step(self, message: ToRuntime) -> list[ToBatch]:
        """
        Return the answers to a message.

        Raises
        ------
        DispatchError
            If the message is invalid now.
        """
        match message:
            case NegotiationStart():
                return [self._start(message)]
            case Machine():
                return self._take(message)
            case RequestOffer():
                self._check(message.jobs)
                return [self._offer(message.jobs)]
            case OfferResponse():
                return [self._answer(message)]
            case UrgentJob():
                answer, self._machine = start_urgent(
                    self._machine, message.job, self._settings.urgent
                )
                return [answer]
            case NegotiationEnd():
                return [NegotiationEndResponse()]
            case NegotiationEndResponse():
                return []

    def _start(self, message: NegotiationStart) -> NegotiationStartResponse:
        if message.version != VERSION:
            return NegotiationStartResponse(accepted=False)
        attempts, depth, mapped_share, urgent, _ = message
        try:
            self._settings = NegotiationSettings(
                attempts=attempts, depth=depth, mapped_share=mapped_share, urgent=urgent
            )
        except ConfigError as error:
            raise DispatchError(f"the batch side proposes settings of which {error}") from None
        return NegotiationStartResponse(accepted=True)

    def _take(self, machine: Machine) -> list[ToBatch]:
        """Begin a transaction."""
        self._machine, self._attempt, self._refused_with = machine, 0, None
        if machine.offers:
            return [self._offer(())]
        if machine.expands:
            attempt = self._try(1)
            attempt.favour_what_blocks()
            return [self._done(attempt, 0)]
        return []

    def _offer(self, jobs: Sequence[ForwardedJob]) -> Offer:
        """Make the next offer."""
        self._attempt += 1
        attempt = self._try(self._attempt)
        if jobs:
            attempt.schedule(jobs)
        return Offer(self._attempt, attempt.reservations(), attempt.idle)

    def _try(self, number: int) -> Attempt:
        """Begin a transformation from the state at the start of the transaction."""
        attempt = Attempt(self._machine, self._settings, number)
        if self._machine.shrinks:
            attempt.give_way()
        return attempt

    def _answer(self, response: OfferResponse) -> Offer | StatusReport:
        if response.attempt != self._attempt:
            raise DispatchError(
                f"offer {response.attempt} was answered, but the last one was {self._attempt}"
            )
        self._check(response.jobs)
        if not response.accepted and self._attempt >= self._settings.attempts:
            raise DispatchError(f"offer {self._attempt} is rejected, but it was the last one")
        if response.accepted:
            # The transformation behind the offer once more, for what has been mapped to it.
            attempt = self._try(self._attempt)
            attempt.schedule(response.jobs)
            if self._suits(attempt, len(response.jobs)):
                return self._done(attempt, self._attempt)
        return self._offer(response.jobs)

    def _suits(self, attempt: Attempt, forwarded: int) -> bool:
        """Return whether it does what has been agreed on (section 5.2.2, "Decision Logic")."""
        if self._attempt >= self._settings.attempts:
            return True
        starting = len(attempt.starts)
        wasted = attempt.idle > 0 and starting < forwarded
        too_few = starting < 2 <= forwarded and self._settings.is_early(self._attempt)
        no_better = self._refused_with is not None and starting <= self._refused_with
        if wasted or too_few or no_better:
            self._refused_with = starting
            return False
        return True

    def _done(self, attempt: Attempt, number: int) -> StatusReport:
        """Carry an attempt out; what is idle after it is shared among the running jobs."""
        attempt.share_idle()
        planned = tuple(attempt.planned.items())
        return StatusReport(
            number, attempt.changes(), attempt.dependencies(), planned, attempt.idle
        )

    def _check(self, jobs: Sequence[ForwardedJob]) -> None:
        """Do not believe a mapping that cannot be one."""
        running = {job.job for job in self._machine.running}
        for details, units, least, most in jobs:
            if details.job in running:
                raise DispatchError(f"job {details.job} is forwarded, but already runs")
            low, high = details.units_min, details.units_max
            if not low <= least <= most <= high or (units and not low <= units <= high):
                raise DispatchError(
                    f"job {details.job} is mapped to {units} units and wants {least} to {most},"
                    f" and may have {low} to {high}"
                )


def start_urgent(
    machine: Machine, job: WaitingJob, policy: str
) -> tuple[UrgentJobResponse, Machine]:
    """
    Start an urgent job at once, if room can be made for it.

    Malleable jobs shrink, those first that have the most to give, until it has the units that it
    prefers; if they have less to give, it starts with what there is, but for its minimum. Only
    where that is more do others leave their nodes, as far as the policy goes: those first that run
    the longest yet.

    Returns
    -------
    response, machine
        What has been done, and the machine after it. Jobs that changed cannot change once more.
    """
    now = machine.now
    wanted = min(max(job.preferred, job.units_min), job.units_max) * job.slots
    needed = job.units_min * job.slots
    others = [one for one in machine.running if not one.fixed]
    idle, changed = machine.idle, dict[int, JobStatus]()
    for one in sorted(others, key=lambda one: (one.units_min - one.units, one.job)):
        if idle >= wanted or one.units == one.units_min:
            break
        units = max(one.units_min, one.units - -(-(wanted - idle) // one.slots))
        changed[one.job] = JobStatus(one.job, RESIZED, units, end_on(one, units, now))
        idle += (one.units - units) * one.slots
    for state, leaving in _leaving(others, policy):
        for one in sorted(leaving, key=lambda one: (-one.end, one.job)):
            if idle >= needed:
                break
            if one.job not in changed or changed[one.job].state == RESIZED:
                shrunk = changed.pop(one.job, None)
                idle += (one.units if shrunk is None else shrunk.units) * one.slots
                changed[one.job] = JobStatus(one.job, state, 0, now)
    if idle < needed:
        return UrgentJobResponse(job.job, 0, ()), machine
    units = min(wanted, idle) // job.slots
    end = now + job.seconds_on(units)
    started = JobStatus(job.job, STARTED, units, end)
    running = [_after(one, changed) for one in machine.running]
    left = [one for one in running if one is not None]
    left.append(
        RunningJob(job.job, units, units, units, job.preferred, end, slots=job.slots, fixed=True)
    )
    answer = UrgentJobResponse(job.job, units, (*changed.values(), started))
    return answer, machine._replace(idle=idle - units * job.slots, running=tuple(left))


def _leaving(others: list[RunningJob], policy: str) -> Iterable[tuple[str, list[RunningJob]]]:
    """Yield what may be done to which jobs, the mildest first."""
    if policy != UrgentPolicy.SHRINK:
        yield SUSPENDED, [one for one in others if one.restartable]
    if policy == UrgentPolicy.KILL:
        yield KILLED, others


def _after(job: RunningJob, changed: dict[int, JobStatus]) -> RunningJob | None:
    """Return a running job as it is after the change; None if it is off its nodes."""
    status = changed.get(job.job)
    if status is None:
        return job
    if not status.units:
        return None
    units = status.units
    return job._replace(units=units, units_min=units, units_max=units, end=status.end, fixed=True)
