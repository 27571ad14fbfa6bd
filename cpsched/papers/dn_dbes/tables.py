"""A view as the tables of both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.dispatch.orders import FifoOrder
from cpsched.model import columns as c
from cpsched.papers.dn_dbes.messages import RunningJob, WaitingJob
from cpsched.papers.malleable.resizing import may_change
from cpsched.util.types import JobType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.jobtable import JobTable
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.util.types import IntArray

#: Priorities count down from here, as those of Slurm's ``priority/basic``: of two mappings the one
#: with more jobs counts more.
_FIRST_PRIORITY = 0xFFFF0000


class TableMaker:
    """
    Makes the tables of both sides from views.

    A slot is a core of the machine (of its first kind of resource). A unit takes as many as its
    share of that kind of which it takes the largest share.
    """

    def reset(self, system: System) -> None:
        """Prepare for a system."""
        self._sizes = FifoOrder()
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
        least, units_max = self._bounds(jobs)
        rows_of_jobs = zip(
            jobs.handle.tolist(),
            least.tolist(),
            units_max.tolist(),
            jobs.units.tolist(),
            jobs.runtime_estimate.tolist(),
            jobs.serial.tolist(),
            self._slots_of_unit(jobs).tolist(),
            (jobs.urgent != 0).tolist(),
            strict=True,
        )
        return tuple(
            WaitingJob(job[0], _FIRST_PRIORITY - position, *job[1:])
            for position, job in enumerate(rows_of_jobs)
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
        units_min, units_max = self._bounds(jobs)
        allocated = jobs.held_units
        fresh = (jobs.start >= now) | (jobs.since >= now) | (jobs.state != c.RUNNING)
        free = ~fresh & (jobs.urgent == 0)
        malleable = may_change(jobs, JobType.MALLEABLE) & free
        # A size that others have set may be any.
        units_min = np.where(malleable, np.minimum(units_min, allocated), allocated)
        units_max = np.where(malleable, np.maximum(units_max, allocated), allocated)
        rows_of_jobs = zip(
            jobs.handle.tolist(),
            allocated.tolist(),
            units_min.tolist(),
            units_max.tolist(),
            jobs.units.tolist(),
            jobs.expected_end.tolist(),
            jobs.serial.tolist(),
            self._slots_of_unit(jobs).tolist(),
            jobs.resize_cost.tolist(),
            np.where(jobs.since > jobs.start, jobs.since + jobs.resize_cost, 0).tolist(),
            [blocks.get(job) for job in jobs.handle.tolist()],
            (~free).tolist(),
            strict=True,
        )
        return tuple(RunningJob(*job) for job in rows_of_jobs)

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
