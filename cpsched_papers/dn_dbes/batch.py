"""
The batch side: maps the jobs of the queue to what it is offered (Algorithms 1 to 3).

It answers every offer with a mapping and accepts or rejects the offer. A job that finds no units
asks for fewer in the next attempt, down to its minimum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.api.errors import DispatchError
from cpsched_papers.dn_dbes.messages import (
    ForwardedJob,
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
from cpsched_papers.dn_dbes.settings import VERSION

if TYPE_CHECKING:
    from cpsched_papers.dn_dbes.messages import ToBatch, ToRuntime, WaitingJob
    from cpsched_papers.dn_dbes.settings import NegotiationSettings


class BatchSide:
    """
    Answers one message with others; remembers no more than the transaction that is under way.

    Parameters
    ----------
    settings
        What it proposes to the runtime side.
    """

    def __init__(self, settings: NegotiationSettings) -> None:
        self._settings = settings
        self._queue: tuple[WaitingJob, ...] = ()
        self._begin(())

    def start(self) -> NegotiationStart:
        """Return the message that comes before all others."""
        return NegotiationStart(
            self._settings.attempts,
            self._settings.depth,
            self._settings.mapped_share,
            str(self._settings.urgent),
        )

    def step(self, message: ToBatch) -> list[ToRuntime]:
        """
        Return the answers to a message.

        Raises
        ------
        DispatchError
            If the message is invalid now.
        """
        match message:
            case Queue():
                return self._take(message)
            case Offer():
                return [self._answer(message)]
            case StatusReport():
                self._begin(())
            case UrgentJobResponse():
                self._begin(tuple(job for job in self._queue if job.job != message.job))
            case NegotiationStartResponse():
                if not message.accepted:
                    raise DispatchError(
                        f"the runtime side does not negotiate: it speaks version"
                        f" {message.version}, this is {VERSION}"
                    )
            case NegotiationEnd():
                return [NegotiationEndResponse()]
            case NegotiationEndResponse():
                pass
        return []

    def _begin(self, queue: tuple[WaitingJob, ...]) -> None:
        """Begin a transaction: every job asks for its most units again (section 6.2)."""
        self._queue = queue
        self._most_mapped = 0
        self._objective = 0
        self._accepted = self._relaxed_enough = False
        step = self._settings.step
        self._least = {
            job.job: max(job.units_max - step(job.units_max, job.units_min), job.units_min)
            for job in queue
        }

    def _take(self, message: Queue) -> list[ToRuntime]:
        """Take a queue; urgent jobs are told at once, each by itself."""
        self._begin(tuple(job for job in message.jobs if not job.urgent))
        answers: list[ToRuntime] = [UrgentJob(job) for job in message.jobs if job.urgent]
        if message.asks and self._queue:
            jobs = self._queue[: self._settings.depth]
            answers.append(RequestOffer(tuple(self._forwarded(job, 0) for job in jobs)))
        return answers

    def _forwarded(self, job: WaitingJob, units: int) -> ForwardedJob:
        return ForwardedJob(job, units, self._least[job.job], job.units_max)

    def _answer(self, offer: Offer) -> OfferResponse:
        self._check(offer)
        units = self._mapped(offer)
        accepted = self._decide(offer.attempt, units)
        jobs = tuple(
            self._forwarded(job, units[job.job]) for job in self._queue if job.job in units
        )
        return OfferResponse(offer.attempt, accepted, jobs)

    def _check(self, offer: Offer) -> None:
        """Do not believe an offer that cannot be one."""
        jobs = {job.job: job for job in self._queue}
        for reserved in offer.reservations:
            job = jobs.get(reserved.job)
            if job is None:
                raise DispatchError(f"an offer is for job {reserved.job}, which does not wait")
            if reserved.units and not job.units_min <= reserved.units <= job.units_max:
                raise DispatchError(
                    f"an offer has {reserved.units} units for job {job.job}, which may have"
                    f" {job.units_min} to {job.units_max}"
                )
        if offer.idle < 0:
            raise DispatchError(f"an offer has {offer.idle} idle slots")

    # --- Algorithms 1 to 3 -----------------------------------------------------------------------

    def _mapped(self, offer: Offer) -> dict[int, int]:
        """
        Return the units of the jobs to forward, 0 for those that have none.

        Algorithm 1: what is reserved for now is taken as it is, other jobs are tried on what is
        idle. Of those that find nothing, as many are forwarded as the depth allows.
        """
        reserved = {one.job: one.units for one in offer.reservations}
        units: dict[int, int] = {}
        idle, without = offer.idle, 0
        for job in self._queue:
            number = reserved.get(job.job, 0)
            if not number:
                if job.job in reserved:
                    self._relax(job)
                number = self._fitting(job, idle)
                idle -= number * job.slots
            if number or without < self._settings.depth:
                units[job.job] = number
                without += not number
        return self._best_fit(units, idle)

    def _relax(self, job: WaitingJob) -> None:
        """Let a job do with fewer units than in the attempt before."""
        if not self._relaxed_enough:
            step = self._settings.step(job.units_max, job.units_min)
            self._least[job.job] = max(self._least[job.job] - step, job.units_min)

    def _fitting(self, job: WaitingJob, idle: int) -> int:
        """Return how many units a job gets of what is idle; 0 if they are too few."""
        number = min(job.units_max, idle // job.slots)
        return number if number >= self._least[job.job] else 0

    def _best_fit(self, units: dict[int, int], idle: int) -> dict[int, int]:
        """Map more jobs by taking units from those mapped before them (Algorithm 2)."""
        jobs = {job.job: job for job in self._queue}
        for number, got in list(units.items()):
            if not got:
                idle = self._try_to_map(jobs[number], units, jobs, idle)
        if idle:
            # Those that were left out because of the depth.
            for job in self._queue:
                if job.job not in units and (got := self._fitting(job, idle)):
                    units[job.job] = got
                    idle -= got * job.slots
        return units

    def _try_to_map(
        self, job: WaitingJob, units: dict[int, int], jobs: dict[int, WaitingJob], idle: int
    ) -> int:
        """
        Shrink mapped jobs by a step each, the last in the queue first, until this one fits.

        Algorithm 3. Returns what is idle then.
        """
        room, smaller = idle, {}
        for other in reversed(units):
            if room >= self._least[job.job] * job.slots:
                break
            spare = units[other] - self._least[other]
            if units[other] and spare > 0:
                taken = min(self._settings.step(units[other], self._least[other]), spare)
                smaller[other] = units[other] - taken
                room += taken * jobs[other].slots
        number = self._fitting(job, room)
        if not number:
            return idle
        units |= smaller
        units[job.job] = number
        return room - number * job.slots

    # --- the decision ----------------------------------------------------------------------------

    def _decide(self, attempt: int, units: dict[int, int]) -> bool:
        """Return whether an offer will do (section 5.2.1, "Decision Logic")."""
        jobs = [job for job in self._queue if units.get(job.job)]
        objective = sum(job.priority for job in jobs)
        accepted = attempt >= self._settings.attempts or (
            objective >= self._objective
            and (self._accepted or self._is_satisfied(attempt, len(jobs), units))
        )
        if self._accepted and accepted and len(jobs) > self._most_mapped:
            # More than what would have done: there is no need to ask for still fewer units.
            self._relaxed_enough = True
        self._objective, self._accepted, self._most_mapped = objective, accepted, len(jobs)
        return accepted

    def _is_satisfied(self, attempt: int, mapped: int, units: dict[int, int]) -> bool:
        """Return whether the first job, and enough jobs, have units; later anything will do."""
        if not self._queue or not self._settings.is_early(attempt):
            return True
        first = units.get(self._queue[0].job, 0)
        return bool(first) and mapped >= self._settings.mapped_share * len(self._queue)
