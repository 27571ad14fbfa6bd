"""
The batch side: maps the jobs of the queue to what it is offered (Algorithms 1 to 3).

It answers every offer with a mapping and accepts or rejects the offer. A job that finds no units
asks for fewer in the next attempt, down to its minimum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.papers.dn_dbes.messages import ForwardedJob, OfferResponse, RequestOffer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpsched.papers.dn_dbes.messages import NegotiationSettings, Offer, WaitingJob


class BatchSide:
    """
    Answers offers; remembers no more than the transaction that is under way.

    Attributes
    ----------
    queue
        The jobs that it negotiates about, in order of priority.
    """

    def __init__(self, settings: NegotiationSettings) -> None:
        self._settings = settings
        self.begin(())

    def begin(self, jobs: Iterable[WaitingJob]) -> None:
        """Begin a transaction: every job asks for its most units again (section 6.2)."""
        self.queue = tuple(jobs)
        self._max_mapped = 0
        self._objective = 0
        self._accepted = self._relaxed_enough = False
        step = self._settings.step
        self._least = {
            job.job: max(job.units_max - step(job.units_max, job.units_min), job.units_min)
            for job in self.queue
        }

    def request(self) -> RequestOffer:
        """Ask for an offer for the first jobs."""
        jobs = self.queue[: self._settings.depth]
        return RequestOffer(tuple(self._forwarded(job, 0) for job in jobs))

    def answer(self, offer: Offer) -> OfferResponse:
        """Map the queue to an offer, and accept it or not."""
        units = self._mapped(offer)
        accepted = self._decide(offer.attempt, units)
        jobs = tuple(self._forwarded(job, units[job.job]) for job in self.queue if job.job in units)
        return OfferResponse(offer.attempt, accepted, jobs)

    def _forwarded(self, job: WaitingJob, units: int) -> ForwardedJob:
        return ForwardedJob(job, units, self._least[job.job], job.units_max)

    # --- Algorithms 1 to 3 -----------------------------------------------------------------------

    def _mapped(self, offer: Offer) -> dict[int, int]:
        """
        Return the units of the jobs to forward, 0 for those that have none.

        Algorithm 1: what is reserved for now is taken as it is, other jobs are tried on what is
        idle. Of those that find nothing, as many are forwarded as the depth allows.
        """
        reserved = {reservation.job: reservation.units for reservation in offer.reservations}
        units: dict[int, int] = {}
        idle, without = offer.idle, 0
        for job in self.queue:
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
        jobs = {job.job: job for job in self.queue}
        for number, got in list(units.items()):
            if not got:
                idle = self._try_to_map(jobs[number], units, jobs, idle)
        if idle:
            # Those that were left out because of the depth.
            for job in self.queue:
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
        available, smaller = idle, {}
        for other in reversed(units):
            if available >= self._least[job.job] * job.slots:
                break
            spare = units[other] - self._least[other]
            if units[other] and spare > 0:
                taken = min(self._settings.step(units[other], self._least[other]), spare)
                smaller[other] = units[other] - taken
                available += taken * jobs[other].slots
        number = self._fitting(job, available)
        if not number:
            return idle
        units |= smaller
        units[job.job] = number
        return available - number * job.slots

    # --- the decision ----------------------------------------------------------------------------

    def _decide(self, attempt: int, units: dict[int, int]) -> bool:
        """Return whether an offer will do (section 5.2.1, "Decision Logic")."""
        jobs = [job for job in self.queue if units.get(job.job)]
        objective = sum(job.priority for job in jobs)
        accepted = attempt >= self._settings.attempts or (
            objective >= self._objective
            and (self._accepted or self._is_satisfied(attempt, len(jobs), units))
        )
        if self._accepted and accepted and len(jobs) > self._max_mapped:
            # More than what would have done: there is no need to ask for still fewer units.
            self._relaxed_enough = True
        self._objective, self._accepted, self._max_mapped = objective, accepted, len(jobs)
        return accepted

    def _is_satisfied(self, attempt: int, mapped: int, units: dict[int, int]) -> bool:
        """Return whether the first job, and enough jobs, have units; later anything will do."""
        if not self.queue or not self._settings.is_early(attempt):
            return True
        first = units.get(self.queue[0].job, 0)
        return bool(first) and mapped >= self._settings.mapped_share * len(self.queue)
