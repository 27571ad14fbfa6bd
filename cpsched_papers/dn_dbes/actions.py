"""A view as the tables of both sides, and what they have agreed on, put on nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.api.dispatchers import Fifo
from cpsched.api.model import JobType, Kill, Resize, Start, Suspend, parts_per_second
from cpsched.api.model import columns as c
from cpsched_papers.dn_dbes.messages import KILLED, STARTED, SUSPENDED, RunningJob, WaitingJob
from cpsched_papers.malleable.resizing import expanded, may_change, shrunk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cpsched.api.dispatchers import Allocator
    from cpsched.api.model import Action, Allocation, IntArray, JobTable, System, View
    from cpsched_papers.dn_dbes.messages import JobStatus

#: Priorities count down from here, as those of Slurm's ``priority/basic``: of two mappings the one
#: with more jobs counts more.
_FIRST_PRIORITY = 0xFFFF0000


class Tables:
    """
    Makes the tables of both sides from views.

    A slot is a core of the machine (of its first kind of resource). A unit takes as many as its
    share of that kind of which it takes the largest share.

    Parameters
    ----------
    period
        Seconds from one periodic step to the next.
    slow_start
        Whether running jobs are taken for as slow as with their fewest units until the first
        periodic step after their start (chapter 8).
    """

    def __init__(self, period: int, *, slow_start: bool) -> None:
        self._period, self._slow_start = period, slow_start
        self._sizes = Fifo()

    def reset(self, system: System) -> None:
        """Prepare for a system."""
        self._sizes.reset(system)
        self._cores = system.capacity[:, 0]
        self._slots = int(self._cores.sum())
        self._per_amount = self._slots / np.maximum(system.total, 1)

    def slots(self, view: View) -> int:
        """Return the slots of the nodes that are up."""
        return int(self._cores[view.node_up].sum())

    def waiting(self, view: View, rows: IntArray) -> tuple[WaitingJob, ...]:
        """Return waiting jobs, which are rows of the store in order of priority."""
        jobs = type(view.waiting)(view.waiting.store, rows)
        least, most = self._bounds(jobs)
        found = zip(
            jobs.handle.tolist(),
            least.tolist(),
            most.tolist(),
            jobs.units.tolist(),
            jobs.runtime_estimate.tolist(),
            jobs.serial.tolist(),
            self._slots_of_unit(jobs).tolist(),
            (jobs.urgent != 0).tolist(),
            strict=True,
        )
        return tuple(
            WaitingJob(job[0], _FIRST_PRIORITY - position, *job[1:])
            for position, job in enumerate(found)
        )

    def running(self, view: View, blocks: Mapping[int, int]) -> tuple[RunningJob, ...]:
        """
        Return running jobs in order of their expected ends.

        Parameters
        ----------
        blocks
            By running job: the waiting one that depends on its end.
        """
        jobs, now = view.running, view.now
        least, most = self._bounds(jobs)
        held = jobs.held_units
        fresh = (jobs.start >= now) | (jobs.since >= now) | (jobs.state != c.RUNNING)
        free = ~fresh & (jobs.urgent == 0)
        malleable = may_change(jobs, JobType.MALLEABLE) & free
        # A size that others have set may be any.
        least = np.where(malleable, np.minimum(least, held), held)
        most = np.where(malleable, np.maximum(most, held), held)
        found = zip(
            jobs.handle.tolist(),
            held.tolist(),
            least.tolist(),
            most.tolist(),
            jobs.units.tolist(),
            self._ends(view).tolist(),
            jobs.serial.tolist(),
            self._slots_of_unit(jobs).tolist(),
            jobs.resize_cost.tolist(),
            np.where(jobs.since > jobs.start, jobs.since + jobs.resize_cost, 0).tolist(),
            [blocks.get(job) for job in jobs.handle.tolist()],
            (jobs.restartable != 0).tolist(),
            (~free).tolist(),
            strict=True,
        )
        return tuple(RunningJob(*job) for job in found)

    def _bounds(self, jobs: JobTable) -> tuple[IntArray, IntArray]:
        """Return the fewest and most units of jobs; both preferred, where size is not all."""
        free, units = may_change(jobs, JobType.MOLDABLE), jobs.units
        return np.where(free, jobs.units_min, units), np.where(free, jobs.units_max, units)

    def _slots_of_unit(self, jobs: JobTable) -> IntArray:
        """Return the slots that a unit of each job takes."""
        units = np.maximum(jobs.units, 1)
        share = (self._sizes.taken(jobs) * self._per_amount).max(axis=1) / units
        slots = np.maximum(np.ceil(share - 1e-9).astype(np.int64), 1)
        # Rounded up, a job that fits the machine may seem not to.
        least = np.maximum(self._bounds(jobs)[0], 1)
        fitting: IntArray = np.minimum(slots, np.maximum(self._slots // least, 1))
        return fitting

    def _ends(self, view: View) -> IntArray:
        """Return when running jobs are expected to end."""
        jobs, now = view.running, view.now
        ends = jobs.expected_end
        if not self._slow_start:
            return ends
        new = np.flatnonzero(jobs.start // self._period == now // self._period)
        for index in new.tolist():
            job = jobs[index]
            if job.job_type >= JobType.MALLEABLE:
                fast = parts_per_second(job.held_units, job.units, job.serial)
                slow = parts_per_second(job.units_min, job.units, job.serial)
                ends[index] = now + -(-int(ends[index] - now) * fast // slow)
        return ends


class Actions:
    """
    The actions of one decision.

    Parameters
    ----------
    rows
        The waiting jobs' rows of the store, in order of priority.

    Attributes
    ----------
    done
        In the order in which they are carried out: first what gives nodes back, then starts, then
        what grows.
    started, suspended, killed
        Numbers of the jobs.
    resized
        How many jobs change size.
    not_placed
        How many were to start or grow, and found no nodes.
    """

    def __init__(self, view: View, rows: IntArray, allocator: Allocator) -> None:
        self.done: list[Action] = []
        self.started: set[int] = set()
        self.suspended: set[int] = set()
        self.killed: set[int] = set()
        self.resized = self.not_placed = 0
        self._view, self._allocator = view, allocator
        self._rows = rows
        self._running = {job: index for index, job in enumerate(view.running.handle.tolist())}
        self._held = view.running.held_units.tolist()
        self._free = view.free.copy()
        self._agreed: list[JobStatus] = []

    def add(self, jobs: Iterable[JobStatus]) -> None:
        """Add what was agreed on."""
        self._agreed.extend(jobs)

    def carry_out(self) -> None:
        """Do all of it that finds nodes."""
        rows = self._view.waiting.store.columns[self._rows]
        row_of = dict(zip(rows[:, c.HANDLE].tolist(), self._rows.tolist(), strict=True))
        later, blocked = [], False
        for status in self._agreed:
            if status.state == STARTED:
                later.append(status)
            elif status.state in (SUSPENDED, KILLED):
                self._leave(status)
            elif status.units < self._held[self._running[status.job]]:
                index = self._running[status.job]
                less = shrunk(self._view, index, status.units, self._allocator)
                self._resize(index, status, less)
        for status in later:
            # Nobody overtakes a job whose turn it is.
            if not blocked:
                blocked = not self._start(row_of[status.job], status)
        for status in self._agreed:
            index = self._running.get(status.job, -1)
            if index >= 0 and status.units > self._held[index]:
                view, free = self._view, self._free
                allocation = expanded(view, index, status.units, free, self._allocator)
                if allocation is None:
                    self.not_placed += 1
                else:
                    self._resize(index, status, allocation)
        if not self.done and not self._running:
            self._start_anything()

    def _leave(self, status: JobStatus) -> None:
        self._give_back(self._view.running.allocation(self._running[status.job]))
        if status.state == KILLED:
            self.killed.add(status.job)
            self.done.append(Kill(status.job))
        else:
            self.suspended.add(status.job)
            self.done.append(Suspend(status.job))

    def _resize(self, index: int, status: JobStatus, allocation: Allocation) -> None:
        self._give_back(self._view.running.allocation(index))
        self._take(allocation)
        self.resized += 1
        self.done.append(Resize(status.job, allocation))

    def _start(self, row: int, status: JobStatus) -> bool:
        """Start a job, with the units it prefers where those agreed on find no nodes."""
        preferred = self._view.waiting.store.columns.item(row, c.UNITS)
        for units in (status.units, preferred):
            allocation = self._allocator.place(self._view, row, self._free, {c.UNITS: units})
            if allocation is not None:
                self._take(allocation)
                self.started.add(status.job)
                self.done.append(Start(status.job, allocation))
                return True
        self.not_placed += 1
        return False

    def _start_anything(self) -> None:
        """
        Start the first job that fits the empty machine.

        Where units differ, a count of them may say that none does.
        """
        columns = self._view.waiting.store.columns
        for row in self._rows.tolist():
            units = columns.item(row, c.UNITS)
            allocation = self._allocator.place(self._view, row, self._free, {c.UNITS: units})
            if allocation is not None:
                job = columns.item(row, c.HANDLE)
                self.started.add(job)
                self.done.append(Start(job, allocation))
                return

    def _take(self, allocation: Allocation) -> None:
        self._free[allocation.node] -= allocation.amount

    def _give_back(self, allocation: Allocation) -> None:
        up = self._view.node_up[allocation.node]
        self._free[allocation.node[up]] += allocation.amount[up]
