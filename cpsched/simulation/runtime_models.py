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
    Base class of runtime models: recorded runtimes become work, done at a speed.

    Registered under ``cpsched.runtime_models``. Only the simulator calls it. ``job`` is a handle.
    It does not change after ``reset``, so that a simulation can continue from a checkpoint.
    """

    def reset(self, arrivals: JobStream, seed: int) -> None:
        """
        Receive the jobs of a simulation, before any other call.

        Parameters
        ----------
        arrivals
            The jobs by handle, with the log's data.
        seed
            Of everything random; what is drawn for a job follows from it and its handle.

        Raises
        ------
        ConfigError
            If a job does not suit the model.
        """
        ...

    def work(self, job: int) -> Parts:
        """Return the parts of work a job has before it when it starts for the first time."""
        ...

    def speed(self, job: int, allocation: Allocation) -> Parts:
        """Return how many parts it does in a second on an allocation; above 0."""
        ...

    def parts(self, job: int) -> int:
        """
        Return how many parts are a second of a job's requested time.

        Asked of jobs only whose size may change; to the others a second is a second.
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
        """Read the recorded runtimes."""
        self._work = plain(arrivals.runtime)
        #: Preferred units and serial share of the jobs whose size may change.
        self._sizes: dict[int, tuple[int, int]] = {}
        units, serial = arrivals.units, self._serial(arrivals)
        for job in np.flatnonzero(arrivals.job_type != JobType.RIGID).tolist():
            self._sizes[job] = int(units[job]), int(serial[job])

    def _serial(self, arrivals: JobStream) -> IntArray:
        return arrivals.serial

    def work(self, job: int) -> int:
        """Return the recorded runtime, in parts."""
        work = self._work[job]
        return work * self.parts(job) if job in self._sizes else work

    def speed(self, job: int, allocation: Allocation) -> Parts:
        """Return the parts of a second on these units."""
        if job not in self._sizes:
            return 1
        return parts_per_second(int(allocation.units.sum()), *self._sizes[job])

    def parts(self, job: int) -> int:
        """Return the parts of a second on the units the job prefers."""
        return parts_of_second(*self._sizes[job])


class Amdahl(Recorded):
    """
    As ``recorded``, with the same serial share for every job.

    Dispatchers use the column ``serial`` all the same.

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
