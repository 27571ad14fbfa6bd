"""Runtimes that depend on how many GPUs a job gets, after Soner's thesis."""

from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cpsched.errors import ConfigError
from cpsched.simulation.runtime_models import Recorded, refuse_other_sizes

if TYPE_CHECKING:
    from cpsched.model.allocation import Allocation
    from cpsched.simulation.arrivals import JobStream
    from cpsched.simulation.runtime_models import Parts
    from cpsched.util.types import BoolArray, FloatArray, IntArray


class GpuScaling(Recorded):
    """
    Shorter runtimes on more GPUs for jobs with a GPU range, recorded runtimes for others.

    A range is a resource type whose ``per_node_max`` is above ``per_node``: GPUs, MICs, or any
    other.

    Parameters
    ----------
    sigma
        Standard deviation of the factor of each job's scaling. 0: all jobs scale linearly.

    Notes
    -----
    Soner's thesis, equation 7.1: with the recorded runtime ``t`` on the fewest GPUs,

        ``t' = t N(1, sigma) fewest / allocated``

    with the GPUs of the node with the fewest, and for the type that scales least. The normal factor
    is sampled once for each job from its handle and the seed, so it is the same under every
    dispatcher. It is truncated above 0, because runtimes are positive, which makes its mean 1.03 at
    ``sigma=0.5``. Seconds are rounded up.

    Predictor ``actual`` knows the recorded runtimes but not these, and requested times do not
    include them. Half of the jobs that have only their fewest GPUs run longer than ``t``.
    ``--overrun kill`` ends those whose requested time is ``t``.
    """

    name: ClassVar[str] = "gpu-scaling"

    def __init__(self, sigma: float = 0.5) -> None:
        if not 0 <= sigma <= 10:
            raise ConfigError(f"{sigma} is not between 0 and 10", key="sigma")
        self._sigma = sigma

    def reset(self, arrivals: JobStream, seed: int) -> None:
        """
        Sample the random factor of each job.

        Raises
        ------
        ConfigError
            If the GPU range of a job begins at 0, for which no runtime is defined.
        """
        refuse_other_sizes(arrivals, self.name)
        super().reset(arrivals, seed)
        jobs, rows = arrivals.workload, arrivals.workload_row
        self._fewest: IntArray = jobs.per_node[rows]
        self._max: IntArray = jobs.per_node_max[rows]
        self._request: IntArray = jobs.request[rows]
        ranged: BoolArray = self._max > self._fewest
        for job, kind in np.argwhere(ranged & (self._fewest == 0)).tolist():
            raise ConfigError(
                f"job {jobs.job_id[rows[job]]} takes 0 to {self._max[job, kind]}"
                f" {jobs.resources[kind]} a node, and its runtime on 0 does not give that on more."
                " Give ranges that begin at 1, or use the runtime model recorded."
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
        """
        Return the speed of a job: ``allocated / fewest``, of the resource type that scales least.
        """
        speeds = []
        for kind in self._kinds[job]:
            units = allocation.units * self._request[job, kind]
            allocated = int((allocation.amount[:, kind] - units).min())
            # A job alone on its nodes holds all there are, and uses what it can.
            used = min(allocated, int(self._max[job, kind]))
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
