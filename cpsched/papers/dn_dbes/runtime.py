"""
The runtime side: offers what it can free of the machine, and starts what both agree on.

It answers every mapping by going through what it would do (:mod:`.attempt`). If that suits it, it
does so; if not, it makes the next offer from the same state, and lets running jobs give way by one
step more (Algorithm 4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.papers.dn_dbes.attempt import Attempt, end_on
from cpsched.papers.dn_dbes.messages import (
    RESIZED,
    STARTED,
    JobStatus,
    Machine,
    Offer,
    RunningJob,
    StatusReport,
    UrgentJobResponse,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.papers.dn_dbes.messages import (
        ForwardedJob,
        NegotiationSettings,
        OfferResponse,
        WaitingJob,
    )


class RuntimeSide:
    """Makes offers; remembers no more than the transaction that is under way."""

    def __init__(self, settings: NegotiationSettings) -> None:
        self._settings = settings
        self.begin(Machine(0, 0, 0, ()))

    def begin(self, machine: Machine) -> None:
        """Begin a transaction."""
        #: The state that every attempt of the transaction starts from.
        self._machine = machine
        self._attempt = 0
        #: How many jobs the last attempt would have started that it rejected.
        self._refused_with: int | None = None

    def start_urgent(self, job: WaitingJob) -> UrgentJobResponse:
        """
        Start an urgent job at once, if room can be made for it.

        Malleable jobs shrink, those first that have the most to give, until it has the units that
        it prefers; if they have less to give, it starts with what there is, but for its minimum.
        Jobs that changed cannot change once more.
        """
        machine = self._machine
        now = machine.now
        wanted = min(max(job.preferred, job.units_min), job.units_max) * job.slots
        others = [running_job for running_job in machine.running if not running_job.fixed]
        idle, changed = machine.idle, dict[int, JobStatus]()
        for running_job in sorted(
            others,
            key=lambda running_job: (running_job.units_min - running_job.units, running_job.job),
        ):
            if idle >= wanted or running_job.units == running_job.units_min:
                break
            units = max(
                running_job.units_min, running_job.units - -(-(wanted - idle) // running_job.slots)
            )
            changed[running_job.job] = JobStatus(
                running_job.job, RESIZED, units, end_on(running_job, units, now)
            )
            idle += (running_job.units - units) * running_job.slots
        if idle < job.units_min * job.slots:
            return UrgentJobResponse(job.job, 0, ())
        units = min(wanted, idle) // job.slots
        end = now + job.seconds_on(units)
        started = JobStatus(job.job, STARTED, units, end)
        own = RunningJob(
            job.job, units, units, units, job.preferred, end, slots=job.slots, fixed=True
        )
        running = (*(_after(running_job, changed) for running_job in machine.running), own)
        self._machine = machine._replace(idle=idle - units * job.slots, running=running)
        return UrgentJobResponse(job.job, units, (*changed.values(), started))

    def expand(self) -> StatusReport:
        """Transform the running jobs for their own good."""
        attempt = self._try(1)
        attempt.favour_what_blocks()
        return self._done(attempt, 0)

    def offer(self, jobs: Sequence[ForwardedJob]) -> Offer:
        """Make the next offer."""
        self._attempt += 1
        attempt = self._try(self._attempt)
        if jobs:
            attempt.schedule(jobs)
        return Offer(self._attempt, attempt.reservations(), attempt.idle)

    def answer(self, response: OfferResponse) -> Offer | StatusReport:
        """Do what the last offer was, if that suits both; else make the next one."""
        if response.accepted:
            # The transformation behind the offer once more, for what has been mapped to it.
            attempt = self._try(self._attempt)
            attempt.schedule(response.jobs)
            if self._suits(attempt, len(response.jobs)):
                return self._done(attempt, self._attempt)
        return self.offer(response.jobs)

    def _try(self, number: int) -> Attempt:
        """Begin a transformation from the state at the start of the transaction."""
        attempt = Attempt(self._machine, self._settings, number)
        if self._machine.shrinks:
            attempt.give_way()
        return attempt

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


def _after(job: RunningJob, changed: dict[int, JobStatus]) -> RunningJob:
    """Return a running job as it is after the change."""
    status = changed.get(job.job)
    if status is None:
        return job
    units = status.units
    return job._replace(units=units, units_min=units, units_max=units, end=status.end, fixed=True)
