"""
What the machine would look like: running jobs transformed for jobs that wait (Algorithm 5).

The steps are those of DBES: jobs that can start do; for others running jobs are shrunk; and what
blocks the rest is expanded, so that it ends sooner.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING

from cpsched.model.speedup import parts_per_second
from cpsched.papers.dn_dbes.messages import RESIZED, STARTED, JobReservation, JobStatus
from cpsched.papers.profile import Profile
from cpsched.util.types import MAX_AMOUNT, MAX_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cpsched.papers.dn_dbes.messages import (
        ForwardedJob,
        Machine,
        NegotiationSettings,
        RunningJob,
    )


def end_on(job: RunningJob, units: int, now: int) -> int:
    """Return when a running job is expected to end if it has other units from now on."""
    if units == job.units:
        return job.end
    pause = max(job.resumes, now)
    left = max(job.end - pause, 0) * parts_per_second(job.units, job.preferred, job.serial)
    seconds = -(-left // parts_per_second(units, job.preferred, job.serial))
    return pause + job.resize_cost + seconds


class Attempt:
    """
    One transformation of the machine, begun from the state at the start of the transaction.

    Parameters
    ----------
    machine
        That state.
    number
        Of the attempt: how many steps a job gives way at a time.

    Attributes
    ----------
    idle
        Slots left.
    starts
        Units of the waiting jobs that start, by number.
    planned
        When the others are expected to start.
    """

    def __init__(self, machine: Machine, settings: NegotiationSettings, number: int) -> None:
        self.idle = machine.idle
        self.starts: dict[int, int] = {}
        self.planned: dict[int, int] = {}
        self._machine, self._now = machine, machine.now
        self._running = {job.job: job for job in machine.running}
        self._flexible = [job for job in machine.running if job.units_min < job.units_max]
        self._units = {job.job: job.units for job in machine.running}
        #: When each running or starting job gives back how many slots.
        self._releases = {job.job: (job.end, job.units * job.slots) for job in machine.running}
        self._blocks = {job.job: job.blocks for job in self._flexible if job.blocks is not None}
        self._requests: dict[int, ForwardedJob] = {}
        #: What the jobs that can shrink have to give, less than nothing, and their numbers; sorted.
        self._by_spare = sorted(
            (job.units_min - job.units, job.job)
            for job in self._flexible
            if job.units > job.units_min
        )
        #: The first job that waits, for which no room can be made, and see :meth:`_promise`.
        self._first: ForwardedJob | None = None
        self._promised: tuple[int, int] | None = None
        self._settings, self._number = settings, number
        #: The units of each job after it has given way in this attempt, and what all that frees.
        self._smaller = {job.job: self._given_way(job) for job in self._flexible}
        self._spare = sum(
            (job.units - self._smaller[job.job]) * job.slots for job in self._flexible
        )

    # --- Algorithm 5 -----------------------------------------------------------------------------

    def schedule(self, jobs: Sequence[ForwardedJob]) -> None:
        """Find units for the forwarded jobs, in their order."""
        self._requests = {job.job: job for job in jobs}
        self._backfill()
        self._update_dependencies()
        started = len(self.starts)
        for job in jobs:
            if job.job not in self.starts and not self._make_room(job) and self._first is None:
                self._first = job
        if len(self.starts) > started:
            self._backfill()
            self._update_dependencies()
        for number in self.planned:
            self._expand_what_blocks(number)

    def give_way(self) -> None:
        """Shrink the jobs that block nobody by a step (a partial transformation)."""
        for job in self._flexible:
            if job.job not in self._blocks:
                units = self._units[job.job]
                step = self._settings.step(units, job.units_min)
                self._resize(job, max(units - step, job.units_min))

    def favour_what_blocks(self) -> None:
        """Expand the jobs that block others as far as they can, at the cost of all others."""
        blocking = [job for job in self._flexible if job.job in self._blocks]
        for job in blocking:
            wanted = (job.units_max - self._units[job.job]) * job.slots - self.idle
            victims = self._victims(
                None, wanted, {blocker.job for blocker in blocking}, to_least=True
            )
            self._expand(job, victims)

    def share_idle(self) -> None:
        """Share what is idle among the running jobs that would end sooner with more units."""
        open_jobs = [job for job in self._flexible if self._units[job.job] < job.units_max]
        before = dict(self._units)
        while open_jobs:
            share = self.idle // sum(job.slots for job in open_jobs)
            if not share:
                break
            for job in open_jobs:
                self._resize(job, min(self._units[job.job] + share, job.units_max))
            open_jobs = [job for job in open_jobs if self._units[job.job] < job.units_max]
        for job in open_jobs:
            if job.slots <= self.idle:
                self._resize(job, self._units[job.job] + 1)
        for job in self._flexible:
            units = self._units[job.job]
            # A change costs more than a little more speed is worth.
            if units > before[job.job] and not end_on(job, units, self._now) < job.end:
                self._resize(job, max(before[job.job], min(units, job.units)))

    def _backfill(self) -> None:
        """Plan the jobs that have not started, each beside those before it; none delays those."""
        profile = Profile(self._now, self.idle, self._releases.values())
        self.planned = {}
        for number, request in self._requests.items():
            if number in self.starts:
                continue
            units = self._units_now(profile, request)
            if units:
                self._start(request, units)
                end, slots = self._releases[number]
                profile.take(self._now, end - self._now, slots)
                continue
            seconds = request.details.seconds_on(request.least)
            slots = request.least * request.details.slots
            start = profile.earliest(slots, seconds)
            self.planned[number] = MAX_TIME if start is None else start
            if start is not None:
                profile.take(start, seconds, slots)

    def _units_now(self, profile: Profile, request: ForwardedJob) -> int:
        """Return the most units that a job can have from now on to its end; 0 if too few."""
        job = request.details
        units = request.units or request.most
        if min(units, self.idle // job.slots) < request.least:
            return 0
        while units >= request.least:
            free_units = profile.least(self._now, max(job.seconds_on(units), 1)) // job.slots
            if free_units >= units:
                return units
            # With fewer it runs for longer, and may meet another reservation.
            units = free_units
        return 0

    def _start(self, request: ForwardedJob, units: int) -> None:
        job = request.details
        self.starts[job.job] = units
        self._releases[job.job] = (self._now + job.seconds_on(units), units * job.slots)
        self.idle -= units * job.slots

    def _update_dependencies(self) -> None:
        """Drop dependencies of jobs that start, and note those of the jobs that are planned."""
        self._blocks = {
            running: waiting for running, waiting in self._blocks.items() if waiting in self.planned
        }
        ends: dict[int, int] = {}
        for job in reversed(self._flexible):
            ends[self._releases[job.job][0]] = job.job
        taken = set(self._blocks.values())
        for waiting, start in self.planned.items():
            running = ends.get(start)
            if waiting not in taken and running is not None and running not in self._blocks:
                self._blocks[running] = waiting

    def _make_room(self, request: ForwardedJob) -> bool:
        """Shrink running jobs so that a job can start at once, if they can give enough."""
        slots = request.details.slots
        missing = request.least * slots - self.idle
        if missing > self._spare:
            return False
        victims = self._victims(request.job, missing)
        freed = sum((self._units[job.job] - units) * job.slots for job, units in victims)
        units = min(request.units or request.most, (self.idle + freed) // slots)
        if self._first is not None:
            if self._promised is None:
                self._promised = self._promise(self._first)
            start, spare = self._promised
            spare += freed - self._lacking_then(start, request, units, victims)
            if spare < 0:
                return False
            self._promised = start, spare
        self._resize_all(victims)
        self._start(request, units)
        return True

    def _promise(self, first: ForwardedJob) -> tuple[int, int]:
        """
        Return when the first job that waits will start, and how many slots are left then.

        Whatever else is planned. No job that starts may make these slots fewer than none.
        """
        spare, start = self.idle - first.least * first.details.slots, self._now
        for second, slots in sorted(self._releases.values()):
            if spare >= 0 and second > start:
                return start, spare
            start, spare = second, spare + slots
        # It cannot start as things are, and nothing can delay it.
        return start, spare if spare >= 0 else MAX_AMOUNT

    def _lacking_then(
        self,
        second: int,
        request: ForwardedJob,
        units: int,
        victims: Sequence[tuple[RunningJob, int]],
    ) -> int:
        """Return how many slots are not free then that would be, if this job started so."""
        job = request.details
        lacking = units * job.slots if self._now + job.seconds_on(units) > second else 0
        for victim, less in victims:
            if self._releases[victim.job][0] <= second:
                lacking += self._units[victim.job] * victim.slots
            if end_on(victim, less, self._now) <= second:
                lacking -= less * victim.slots
        return lacking

    def _expand_what_blocks(self, waiting: int) -> None:
        """Expand the job that a planned one waits for, so that it ends sooner."""
        for running, blocked in list(self._blocks.items()):
            job = self._running[running]
            if blocked == waiting:
                wanted = (job.units_max - self._units[running]) * job.slots - self.idle
                self._expand(job, self._victims(None, wanted, {running}))

    def _expand(self, job: RunningJob, victims: Sequence[tuple[RunningJob, int]]) -> None:
        """Give a job what is idle and what others give; not if it would not end sooner."""
        freed = sum((self._units[victim.job] - units) * victim.slots for victim, units in victims)
        old = self._units[job.job]
        units = min(job.units_max, old + (self.idle + freed) // job.slots)
        if end_on(job, units, self._now) >= end_on(job, old, self._now):
            return
        self._resize_all(victims)
        self._resize(job, units)

    # --- shrinking -------------------------------------------------------------------------------

    def _victims(
        self,
        waiting: int | None,
        slots: int,
        spared: Iterable[int] = (),
        *,
        to_least: bool = False,
    ) -> list[tuple[RunningJob, int]]:
        """
        Return jobs to shrink, and their units then, until so many slots are free.

        First what was expanded for the waiting job in question, then what was expanded for none in
        particular, then what was for others; each time those with the most to give.
        """
        if slots <= 0:
            return []
        chosen = []
        for job in self._in_turn(waiting):
            if job.job in spared:
                continue
            units = job.units_min if to_least else self._smaller[job.job]
            chosen.append((job, units))
            slots -= (self._units[job.job] - units) * job.slots
            if slots <= 0:
                break
        return chosen

    def _in_turn(self, waiting: int | None) -> Iterator[RunningJob]:
        """Yield the jobs that can shrink, see :meth:`_victims`."""
        # While they are gone through, nothing is resized.
        blocks, by_spare = self._blocks, [self._running[number] for _, number in self._by_spare]
        if waiting in blocks.values():
            yield from (job for job in by_spare if blocks.get(job.job) == waiting)
        yield from (job for job in by_spare if job.job not in blocks)
        yield from (job for job in by_spare if blocks.get(job.job, waiting) != waiting)

    def _given_way(self, job: RunningJob) -> int:
        """Return a job's units after as many steps as the attempt has (section 5.2.2)."""
        units = self._units[job.job]
        step = self._settings.step(units, job.units_min) * self._number
        return max(units - step, job.units_min)

    def _resize(self, job: RunningJob, units: int) -> None:
        self.idle += (self._units[job.job] - units) * job.slots
        self._spare -= (self._units[job.job] - self._smaller[job.job]) * job.slots
        self._units[job.job], before = units, self._units[job.job]
        self._rank(job, before, units)
        self._smaller[job.job] = self._given_way(job)
        self._spare += (units - self._smaller[job.job]) * job.slots
        self._releases[job.job] = (end_on(job, units, self._now), units * job.slots)

    def _rank(self, job: RunningJob, before: int, units: int) -> None:
        """Put a job where it belongs among those that can shrink."""
        if before > job.units_min:
            place = bisect_left(self._by_spare, (job.units_min - before, job.job))
            del self._by_spare[place]
        if units > job.units_min:
            insort(self._by_spare, (job.units_min - units, job.job))

    def _resize_all(self, jobs: Sequence[tuple[RunningJob, int]]) -> None:
        for job, units in jobs:
            self._resize(job, units)

    # --- what has come of it ---------------------------------------------------------------------

    def reservations(self) -> tuple[JobReservation, ...]:
        """Return what an offer says of the forwarded jobs."""
        reservations = []
        for number, request in self._requests.items():
            units = self.starts.get(number, 0)
            start = self._now if units else self.planned[number]
            seconds = request.details.seconds_on(units or request.least)
            reservations.append(
                JobReservation(number, units, start, min(start + seconds, MAX_TIME))
            )
        return tuple(reservations)

    def changes(self) -> tuple[JobStatus, ...]:
        """Return what changes: jobs that shrink, that start, and that grow."""
        resized = [
            JobStatus(job.job, RESIZED, self._units[job.job], self._releases[job.job][0])
            for job in self._flexible
            if self._units[job.job] != job.units
        ]
        started = [
            JobStatus(number, STARTED, self.starts[number], self._releases[number][0])
            for number in self._requests
            if number in self.starts
        ]
        shrunk = [status for status in resized if status.units < self._running[status.job].units]
        grown = [status for status in resized if status.units > self._running[status.job].units]
        return (*shrunk, *started, *grown)

    def dependencies(self) -> tuple[tuple[int, int], ...]:
        """Return which running job each planned one waits for, as pairs of numbers."""
        return tuple(sorted(self._blocks.items()))
