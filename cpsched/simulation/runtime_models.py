"""How fast a job does its work, given where it runs: asked at every start and every resize."""

from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias

import numpy as np

from cpsched.base.types import JobType
from cpsched.errors import ConfigError, check_range
from cpsched.model.speedup import MILLION, parts_of_second, parts_per_second

if TYPE_CHECKING:
    from cpsched.base.types import BoolArray, FloatArray, IntArray
    from cpsched.model.allocation import Allocation
    from cpsched.simulation.arrivals import Arrivals


#: Work, and what is done of it in a second: whole numbers, or fractions where seconds are rounded.
Parts: TypeAlias = int | Fraction


class RuntimeModel(Protocol):
    """
    Turns the log's true runtimes into work, and gives its speed.

    Registered under ``cpsched.runtime_models``; only the simulator calls it. ``job`` is a handle.
    It does not change after ``reset``, so a simulation can continue from a checkpoint.
    """

    def reset(self, arrivals: Arrivals, seed: int) -> None:
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
    Every job runs as long as the log says, wherever it is put.

    That is on the units it prefers. On others a job whose size may change runs as fast as Amdahl's
    law says with the share of its work that its column ``serial`` names
    (:mod:`cpsched.model.speedup`); by default that share is 0, and speedup linear.
    """

    name: ClassVar[str] = "recorded"

    def reset(self, arrivals: Arrivals, seed: int) -> None:  # noqa: ARG002
        """Read the recorded runtimes."""
        self._work: list[int] = arrivals.runtime.tolist()
        #: Preferred units and serial share of the jobs whose size may change.
        self._sizes: dict[int, tuple[int, int]] = {}
        units, serial = arrivals.units, self._serial(arrivals)
        for job in np.flatnonzero(arrivals.job_type != JobType.RIGID).tolist():
            self._sizes[job] = int(units[job]), int(serial[job])
            self._work[job] *= self.parts(job)

    def _serial(self, arrivals: Arrivals) -> IntArray:
        return arrivals.serial

    def work(self, job: int) -> int:
        """Return the recorded runtime, in parts."""
        return self._work[job]

    def speed(self, job: int, allocation: Allocation) -> Parts:
        """Return the parts of a second on these units."""
        if job not in self._sizes:
            return 1
        return parts_per_second(int(allocation.units.sum()), *self._sizes[job])

    def parts(self, job: int) -> int:
        """Return the parts of a second on the units the job prefers."""
        return parts_of_second(*self._sizes[job])


class LinearSpeedup(Recorded):
    """As ``recorded``, but all work is shared, whatever the column ``serial`` says."""

    name: ClassVar[str] = "linear-speedup"

    def _serial(self, arrivals: Arrivals) -> IntArray:
        return np.zeros_like(arrivals.serial)


class Amdahl(Recorded):
    """
    As ``recorded``, but the same share of every job's work is not shared.

    Dispatchers go by the column ``serial`` all the same.

    Parameters
    ----------
    serial
        That share, 0 to 1.
    """

    name: ClassVar[str] = "amdahl"

    def __init__(self, serial: float = 0.05) -> None:
        check_range("serial", serial, 0, 1)
        self._share = round(serial * MILLION)

    def _serial(self, arrivals: Arrivals) -> IntArray:
        return np.full_like(arrivals.serial, self._share)


def refuse_other_sizes(arrivals: Arrivals, name: str) -> None:
    """
    Check that no job's size may change, for a model without size changes.

    Raises
    ------
    ConfigError
        If one may.
    """
    for job in np.flatnonzero(arrivals.job_type != JobType.RIGID)[:1].tolist():
        raise ConfigError(
            f"job {arrivals.job_id(job)} may run at other sizes than requested: runtime model"
            f" {name} is for rigid jobs only; use recorded, linear-speedup or amdahl"
        )


class GpuScaling(Recorded):
    """
    Jobs with a range of GPUs per node run faster on more; all others as in the log.

    A range is a resource kind whose ``per_node_max`` is above ``per_node``: GPUs, MICs, or any
    other.

    Parameters
    ----------
    sigma
        Standard deviation of the factor that says how well a job scales; 0: all scale linearly.

    Notes
    -----
    Soner's thesis, equation 7.1: with the log's runtime ``t``, on the fewest GPUs,

        ``t' = t N(1, sigma) fewest / allocated``

    with GPUs a node; on the node with the fewest, if they differ, and with the kind that scales
    least, if there are several. The normal factor is drawn once for each job from its handle and
    the seed, so it is the same under every dispatcher. It is truncated above 0 (a run time below 0
    is none), which makes its mean 1.03 at 0.5. Seconds are rounded up.

    Predictor ``actual`` knows the log's runtimes but not these, and requested times do not include
    them: half of the jobs that get no more than their fewest GPUs run longer than ``t``, and
    ``--overrun kill`` ends those whose requested time that is.
    """

    name: ClassVar[str] = "gpu-scaling"

    def __init__(self, sigma: float = 0.5) -> None:
        if not 0 <= sigma <= 10:
            raise ConfigError(f"{sigma} is not between 0 and 10", key="sigma")
        self._sigma = sigma

    def reset(self, arrivals: Arrivals, seed: int) -> None:
        """
        Draw the factors.

        Raises
        ------
        ConfigError
            If a job has a range that begins at 0, of which no runtime follows.
        """
        refuse_other_sizes(arrivals, self.name)
        super().reset(arrivals, seed)
        jobs, rows = arrivals.workload, arrivals.workload_row
        self._fewest: IntArray = jobs.per_node[rows]
        self._most: IntArray = jobs.per_node_max[rows]
        self._request: IntArray = jobs.request[rows]
        ranged: BoolArray = self._most > self._fewest
        for job, kind in np.argwhere(ranged & (self._fewest == 0)).tolist():
            raise ConfigError(
                f"job {jobs.job_id[rows[job]]} takes 0 to {self._most[job, kind]}"
                f" {jobs.resources[kind]} a node: its runtime on 0 says nothing about that on more;"
                " give ranges that begin at 1, or use the runtime model recorded"
            )
        self._kinds: list[list[int]] = [np.flatnonzero(kinds).tolist() for kinds in ranged]
        work = arrivals.runtime.copy()
        scaled = np.flatnonzero(ranged.any(axis=1))
        uniform = np.random.default_rng(seed).random(len(rows))[scaled]
        factor = positive_normal(uniform, self._sigma)
        work[scaled] = np.ceil(work[scaled] * factor).astype(np.int64)
        #: The seconds that each job would run on its fewest GPUs: ``t N(1, sigma)``.
        self._work = work.tolist()

    def speed(self, job: int, allocation: Allocation) -> Parts:
        """Return ``allocated / fewest``, of the kind that scales least."""
        speeds = []
        for kind in self._kinds[job]:
            units = allocation.units * self._request[job, kind]
            held = int((allocation.amount[:, kind] - units).min())
            # A job alone on its nodes holds all there are, and uses what it can.
            used = min(held, int(self._most[job, kind]))
            speeds.append(Fraction(used, int(self._fewest[job, kind])))
        return min(speeds, default=1)


def positive_normal(uniform: FloatArray, sigma: float) -> FloatArray:
    """
    Return draws of a normal distribution around 1, truncated above 0.

    Parameters
    ----------
    uniform
        Uniform in [0, 1), one for each draw.
    sigma
        Standard deviation before it is truncated.
    """
    if sigma == 0:
        return np.ones(len(uniform))
    normal = NormalDist(1, sigma)
    below = normal.cdf(0)
    # The quantile of 0 is infinite, and rounding may reach it.
    levels = np.clip(below + uniform * (1 - below), np.nextafter(below, 1), np.nextafter(1, 0))
    return np.array([max(normal.inv_cdf(level), 0.0) for level in levels.tolist()])
