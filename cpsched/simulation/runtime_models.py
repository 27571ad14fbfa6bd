"""How long a job runs, given where it runs: asked at every start and every resize."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from cpsched.model.allocation import Allocation
    from cpsched.model.types import BoolArray, FloatArray, IntArray
    from cpsched.simulation.arrivals import Arrivals


class RuntimeModel(Protocol):
    """
    Turns the truth of the log into end times.

    Registered under ``cpsched.runtime_models``; the simulator alone calls it. ``job`` is a handle.
    Nothing in it changes from ``reset`` on, so that a simulation can go on from a checkpoint.
    """

    def reset(self, arrivals: Arrivals, seed: int) -> None:
        """
        Take up the jobs of a simulation, before anything else is asked.

        Parameters
        ----------
        arrivals
            The jobs by handle, and what the log knows of them.
        seed
            Of everything random; what is drawn for a job follows from it and its handle.

        Raises
        ------
        ConfigError
            If a job is none the model is made for.
        """
        ...

    def start(self, job: int, allocation: Allocation, now: int) -> int:
        """Return the work a job has before it, in seconds on its reference allocation."""
        ...

    def end(self, job: int, allocation: Allocation, remaining: int, now: int) -> int:
        """Return when the remaining work will be done on an allocation, in seconds."""
        ...


class Recorded:
    """Every job runs exactly as long as the log says, wherever it is put."""

    name: ClassVar[str] = "recorded"

    def reset(self, arrivals: Arrivals, seed: int) -> None:  # noqa: ARG002
        """Take up the recorded runtimes."""
        self._runtime: list[int] = arrivals.runtime.tolist()

    def start(self, job: int, allocation: Allocation, now: int) -> int:  # noqa: ARG002
        """Return the recorded runtime."""
        return self._runtime[job]

    def end(self, job: int, allocation: Allocation, remaining: int, now: int) -> int:  # noqa: ARG002
        """Return ``now + remaining``."""
        return now + remaining


class GpuScaling:
    """
    Jobs that take a range of GPUs a node run faster on more; all others as the log says.

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

    with GPUs a node; on the node that has the fewest, where they differ, and with the kind that
    scales least, where there are several. The normal factor is drawn once for each job, on its
    handle and the seed alone, so it is the same under every dispatcher. It is truncated above 0
    (a run time below 0 is none), which makes its mean 1.03 at 0.5. Seconds are rounded up.

    Who knows the log's runtimes (predictor ``actual``) does not know these, nor does a user's
    requested time: half of the jobs that get no more than their fewest GPUs run longer than
    ``t``, and ``--overrun kill`` ends those whose requested time that is.
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
        self._work: list[int] = work.tolist()

    def start(self, job: int, allocation: Allocation, now: int) -> int:  # noqa: ARG002
        """Return ``t N(1, sigma)``, the seconds a job would run on its fewest GPUs."""
        return self._work[job]

    def end(self, job: int, allocation: Allocation, remaining: int, now: int) -> int:
        """Return ``now + remaining * fewest / allocated``, of the kind that scales least."""
        seconds = 0 if self._kinds[job] else remaining
        for kind in self._kinds[job]:
            units = allocation.units * self._request[job, kind]
            held = int((allocation.amount[:, kind] - units).min())
            # A job alone on its nodes holds all there are, and uses what it can.
            used = min(held, int(self._most[job, kind]))
            seconds = max(seconds, -(-remaining * int(self._fewest[job, kind]) // used))
        return now + seconds


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
    # The quantile of 0 is infinite, and rounding may come to it.
    levels = np.clip(below + uniform * (1 - below), np.nextafter(below, 1), np.nextafter(1, 0))
    return np.array([max(normal.inv_cdf(level), 0.0) for level in levels.tolist()])
