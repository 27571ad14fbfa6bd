"""A small made-up log with everything in it, for :mod:`cpsched.checks`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.model.prediction import Prediction, RuntimePredictor
from cpsched.model.workload import Workload
from cpsched.systems import parse
from cpsched.systems.mapping import Fitted, fit
from cpsched.util.types import JobType

if TYPE_CHECKING:
    from cpsched.model.jobtable import JobTable

#: The cluster, as a system file.
SYSTEM = """
resources = ["core", "gpu", "mem"]
default_expected_wait = 600

[[nodes]]
group = "thin"
count = 6
core = 4
mem = 8

[[nodes]]
group = "gpu"
count = 2
core = 8
gpu = 2
mem = 16

[[queues]]
name = "short"
expected_wait = 60
priority_tier = 1

[[queues]]
name = "long"
expected_wait = 3600
preempt = "requeue"

[[queues]]
name = "accel"
groups = ["gpu"]
"""

#: Jobs of a burst, and seconds between the last job of a burst and the first of the next one.
_BURST, _PAUSE = 40, 1500


def sample(num_jobs: int = 120) -> Fitted:
    """
    Return a log on a cluster of eight nodes, the same at every call.

    Each burst of 40 jobs asks for several times the cluster, so that most jobs wait; the queue is
    empty before the next burst. Several submits in one second, runtimes of 0 and beyond the
    request, units on any nodes, split evenly, on neighbouring nodes or alone on theirs, GPUs,
    memory, a queue with nodes of its own, and jobs that may be restarted or resized. All jobs can
    run.
    """
    rng = np.random.default_rng(7)
    gap = rng.choice([0, 0, 1, 2, 8], num_jobs)
    gap[_BURST::_BURST] = _PAUSE
    requested = rng.choice([1, 20, 60, 60, 200, 400], num_jobs)
    units = rng.choice([1, 1, 2, 4, 8, 16], num_jobs)
    kind = rng.integers(0, 8, num_jobs)
    wants_gpu = kind == 1
    request = np.stack(
        [rng.integers(1, 3, num_jobs), wants_gpu, rng.integers(0, 4, num_jobs)], axis=1
    )
    units = np.where(wants_gpu | (kind == 2), np.minimum(units, 2), units)
    units = np.where(kind == 3, np.minimum(units, 8), units)
    units = np.where(kind == 4, np.minimum(units, 4), units)
    queue = np.where(wants_gpu, "accel", rng.choice(["short", "long", ""], num_jobs))
    resizable = kind == 6
    workload = Workload.build(
        title="sample",
        job_id=[str(job) for job in range(num_jobs)],
        submit=np.cumsum(gap),
        runtime=(requested * rng.choice([0, 0.2, 0.5, 1, 1, 1.4], num_jobs)).astype(np.int64),
        requested_time=requested,
        units=units,
        request=request,
        resources=("core", "gpu", "mem"),
        nodes_max=np.where(kind == 3, 4, 8),
        split=np.where(kind == 5, 1, 0),
        contiguous=kind == 4,
        exclusive=kind == 2,
        job_type=np.where(resizable, JobType.MALLEABLE, JobType.RIGID),
        units_min=np.where(resizable, (units + 1) // 2, units),
        units_max=np.where(resizable, 2 * units, units),
        restartable=rng.random(num_jobs) < 0.5,
        queue=queue.tolist(),
        user=rng.choice(["ann", "bob", "eve", ""], num_jobs).tolist(),
    )
    return fit(workload, parse(SYSTEM, where="sample"))


class FixedPredictor(RuntimePredictor):
    """
    Predicts a share of the requested time.

    Parameters
    ----------
    share
        Of the requested time; it remains the upper bound.
    """

    name = "share"

    def __init__(self, share: float = 1.0) -> None:
        self._share = share

    def predict(self, jobs: JobTable, now: int) -> Prediction:  # noqa: ARG002
        """Return the share, the same for ranking and planning."""
        requested = jobs.requested_time
        value = np.maximum((requested * self._share).astype(np.int64), 1)
        return Prediction(value, value, requested)
