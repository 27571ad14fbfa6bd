"""
What the machine would look like: running jobs transformed for jobs that wait (Algorithm 5).

The steps are those of DBES: jobs that can start do; for others running jobs are shrunk; and what
blocks the rest is expanded, so that it ends sooner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.malleable.dn_dbes.messages import RESIZED, STARTED, JobReservation, JobStatus
from cpsched.malleable.dn_dbes.profile import Profile
from cpsched.model.speedup import parts_per_second
from cpsched.model.types import MAX_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cpsched.malleable.dn_dbes.messages import ForwardedJob, Machine, RunningJob
    from cpsched.malleable.dn_dbes.settings import NegotiationSettings


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
        #: The first job that is planned, and when all that it needs is free; None: to be found.
        self._promised: tuple[ForwardedJob, int] | None = None
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
            if job.job not in self.starts:
                self._make_room(job)
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
            victims = self._victims(None, wanted, {one.job for one in blocking}, to_least=True)
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
            room = profile.least(self._now, max(job.seconds_on(units), 1)) // job.slots
            if room >= units:
                return units
            # With fewer it runs for longer, and may meet another reservation.
            units = room
        return 0

    def _start(self, request: ForwardedJob, units: int) -> None:
        job = request.details
        self.starts[job.job] = units
        self._releases[job.job] = (self._now + job.seconds_on(units), units * job.slots)
        self.idle -= units * job.slots

    def _do_not_start(self, request: ForwardedJob) -> None:
        self.idle += self.starts.pop(request.job) * request.details.slots
        del self._releases[request.job]

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

    def _make_room(self, request: ForwardedJob) -> None:
        """Shrink running jobs so that a job can start at once, if they can give enough."""
        slots = request.details.slots
        missing = request.least * slots - self.idle
        if missing > self._spare:
            return
        first, promised = self._promise(request.job)
        victims = self._victims(request.job, missing)
        before = [(job, self._units[job.job]) for job, _ in victims]
        self._resize_all(victims)
        self._start(request, min(request.units or request.most, self.idle // slots))
        if first is not None and self._start_of(first) > promised:
            # It would overtake the first job that waits, and delay it.
            self._do_not_start(request)
            self._resize_all(before)
        else:
            self._promised = None

    def _promise(self, but: int) -> tuple[ForwardedJob | None, int]:
        """Return the first job that is not to start now, if it is not the one given, and when."""
        if self._promised is None:
            first = next(job for number, job in self._requests.items() if number not in self.starts)
            self._promised = (first, self._start_of(first))
        first, start = self._promised
        return (None, MAX_TIME) if first.job == but else (first, start)

    def _start_of(self, request: ForwardedJob) -> int:
        """Return when enough slots are free for a job, whatever else is planned."""
        idle, needed = self.idle, request.least * request.details.slots
        if idle >= needed:
            return self._now
        for second, slots in sorted(self._releases.values()):
            idle += slots
            if idle >= needed:
                return second
        return MAX_TIME

    def _expand_what_blocks(self, waiting: int) -> None:
        """Expand the job that a planned one waits for, so that it ends sooner."""
        for running, blocked in list(self._blocks.items()):
            job = self._running[running]
            if blocked == waiting:
                wanted = (job.units_max - self._units[running]) * job.slots - self.idle
                self._expand(job, self._victims(None, wanted, {running}))

    def _expand(self, job: RunningJob, victims: Sequence[tuple[RunningJob, int]]) -> None:
        """Give a job what is idle and what others give; not if it would not end sooner."""
        freed = sum((self._units[one.job] - units) * one.slots for one, units in victims)
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
        units_now, blocks = self._units, self._blocks
        candidates = sorted(
            (
                1 if job.job not in blocks else 0 if blocks[job.job] == waiting else 2,
                job.units_min - units_now[job.job],
                job.job,
            )
            for job in self._flexible
            if units_now[job.job] > job.units_min and job.job not in spared
        )
        chosen = []
        for _, _, number in candidates:
            job = self._running[number]
            units = job.units_min if to_least else self._smaller[job.job]
            chosen.append((job, units))
            slots -= (self._units[job.job] - units) * job.slots
            if slots <= 0:
                break
        return chosen

    def _given_way(self, job: RunningJob) -> int:
        """Return a job's units after as many steps as the attempt has (section 5.2.2)."""
        units = self._units[job.job]
        step = self._settings.step(units, job.units_min) * self._number
        return max(units - step, job.units_min)

    def _resize(self, job: RunningJob, units: int) -> None:
        self.idle += (self._units[job.job] - units) * job.slots
        self._spare -= (self._units[job.job] - self._smaller[job.job]) * job.slots
        self._units[job.job] = units
        self._smaller[job.job] = self._given_way(job)
        self._spare += (units - self._smaller[job.job]) * job.slots
        self._releases[job.job] = (end_on(job, units, self._now), units * job.slots)

    def _resize_all(self, jobs: Sequence[tuple[RunningJob, int]]) -> None:
        for job, units in jobs:
            self._resize(job, units)

    # --- what has come of it ---------------------------------------------------------------------

    def reservations(self) -> tuple[JobReservation, ...]:
        """Return what an offer says of the forwarded jobs."""
        found = []
        for number, request in self._requests.items():
            units = self.starts.get(number, 0)
            start = self._now if units else self.planned[number]
            seconds = request.details.seconds_on(units or request.least)
            found.append(JobReservation(number, units, start, min(start + seconds, MAX_TIME)))
        return tuple(found)

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
        shrunk = [one for one in resized if one.units < self._running[one.job].units]
        grown = [one for one in resized if one.units > self._running[one.job].units]
        return (*shrunk, *started, *grown)

    def dependencies(self) -> tuple[tuple[int, int], ...]:
        """Return which running job each planned one waits for, as pairs of numbers."""
        return tuple(sorted(self._blocks.items()))
