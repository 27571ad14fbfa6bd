"""How fast a job does its work, given where it runs: asked at every start and every resize."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias

import numpy as np

from cpsched.errors import ConfigError, check_range
from cpsched.model.arrays import constant, plain
from cpsched.model.speedup import MILLION, parts_of_second, parts_per_second
from cpsched.util.types import JobType

if TYPE_CHECKING:
    from cpsched.model.allocation import Allocation
    from cpsched.simulation.arrivals import JobStream
    from cpsched.util.types import IntArray


#: Work, and what is done of it in a second: whole numbers, or fractions where seconds are rounded.
Parts: TypeAlias = int | Fraction


class RuntimeModel(Protocol):
    """
    Base class of runtime models: how long a job runs, given the nodes where it runs.

    A job has some work (parts), which it does at a speed (parts per second). For example, 7200
    parts at speed 2 take 3600 s. Only the simulator calls the methods, with the handle of a job. A
    model does not change after ``reset``, so that a simulation can continue from a checkpoint.
    """

    def reset(self, arrivals: JobStream, seed: int) -> None:
        """
        Prepare for the jobs of a simulation, before any other call.

        Parameters
        ----------
        arrivals
            The jobs by handle, with the data of the log.
        seed
            Seed of all random choices. A random number of a job follows from the seed and its
            handle.

        Raises
        ------
        ConfigError
            If a job does not suit the model.
        """
        ...

    def work(self, job: int) -> Parts:
        """Return the work of a job at its first start, in parts. A part has any constant size."""
        ...

    def speed(self, job: int, allocation: Allocation) -> Parts:
        """Return how many parts of its work a job does per second on an allocation, more than 0."""
        ...

    def parts(self, job: int) -> int:
        """
        Return how many parts of work stand for one second of a job's requested time.

        It is the speed at the preferred number of tasks. Only called for jobs that may change size.
        """
        ...


class Recorded:
    """
    The recorded runtime for every job, wherever it is placed.

    The recorded runtime applies to the preferred number of tasks. On other numbers a job that may
    change size follows Amdahl's law with the serial share in its column ``serial``
    (:mod:`cpsched.model.speedup`). By default that share is 0 and the speedup is linear.
    """

    name: ClassVar[str] = "recorded"

    def reset(self, arrivals: JobStream, seed: int) -> None:  # noqa: ARG002
        """Read the recorded runtimes, before any other call."""
        self._work = plain(arrivals.runtime)
        #: Preferred units and serial share of the jobs whose size may change.
        self._sizes: dict[int, tuple[int, int]] = {}
        units, serial = arrivals.units, self._serial(arrivals)
        for job in np.flatnonzero(arrivals.job_type != JobType.RIGID).tolist():
            self._sizes[job] = int(units[job]), int(serial[job])

    def _serial(self, arrivals: JobStream) -> IntArray:
        return arrivals.serial

    def work(self, job: int) -> int:
        """Return the recorded runtime of a job as work, in parts."""
        work = self._work[job]
        return work * self.parts(job) if job in self._sizes else work

    def speed(self, job: int, allocation: Allocation) -> Parts:
        """Return how many parts of its work a job does per second with an allocation's tasks."""
        if job not in self._sizes:
            return 1
        return parts_per_second(int(allocation.units.sum()), *self._sizes[job])

    def parts(self, job: int) -> int:
        """Return how many parts of its work a job does per second with its preferred tasks."""
        return parts_of_second(*self._sizes[job])


class Amdahl(Recorded):
    """
    Recorded runtimes, with the same serial share (Amdahl's law) for every job that changes size.

    Dispatchers still see the column ``serial`` of the jobs.

    Parameters
    ----------
    serial
        Serial share of the work of a job, 0 to 1. 0: linear speedup.
    """

    name: ClassVar[str] = "amdahl"

    def __init__(self, serial: float = 0.05) -> None:
        check_range("serial", serial, 0, 1)
        self._share = round(serial * MILLION)

    def _serial(self, arrivals: JobStream) -> IntArray:
        share: IntArray = constant(self._share, arrivals.serial.shape)
        return share


def refuse_other_sizes(arrivals: JobStream, name: str) -> None:
    """
    Check that no job's size may change, for a model without size changes.

    Raises
    ------
    ConfigError
        If one may.
    """
    for job in np.flatnonzero(arrivals.job_type != JobType.RIGID)[:1].tolist():
        raise ConfigError(
            f"job {arrivals.job_id(job)} may run at other sizes than requested, and the runtime"
            f" model {name} is for rigid jobs. Use recorded or amdahl."
        )
