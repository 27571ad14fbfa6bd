"""A small made-up log with everything in it, for :mod:`cpsched.checks`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.model.prediction import Prediction, RuntimePredictor
from cpsched.model.workload import Workload
from cpsched.systems import parse
from cpsched.systems.mapping import Fitted, fit

if TYPE_CHECKING:
    from cpsched.model.jobtable import JobTable

#: The machine, as a system file.
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

[[queues]]
name = "long"
expected_wait = 3600

[[queues]]
name = "accel"
groups = ["gpu"]
"""


def sample(num_jobs: int = 150) -> Fitted:
    """
    Return a log on a machine of eight nodes, the same at every call.

    Bursts of one second, idle times, runtimes of 0 and beyond the request, units on any nodes,
    split evenly, on neighbouring nodes or alone on theirs, GPUs, memory, and a queue with nodes
    of its own. All jobs can run.
    """
    rng = np.random.default_rng(7)
    submit = np.cumsum(rng.choice([0, 0, 1, 5, 30, 200], num_jobs))
    requested = rng.choice([1, 20, 60, 60, 300, 900], num_jobs)
    units = rng.choice([1, 1, 1, 2, 4, 8], num_jobs)
    kind = rng.integers(0, 8, num_jobs)
    wants_gpu = kind == 1
    request = np.stack(
        [rng.integers(1, 3, num_jobs), wants_gpu, rng.integers(0, 4, num_jobs)], axis=1
    )
    units = np.where(wants_gpu | (kind == 2), np.minimum(units, 2), units)
    units = np.where(kind == 4, np.minimum(units, 4), units)
    queue = np.where(wants_gpu, "accel", rng.choice(["short", "long", ""], num_jobs))
    workload = Workload.build(
        title="sample",
        job_id=[str(job) for job in range(num_jobs)],
        submit=submit,
        runtime=(requested * rng.choice([0, 0.2, 0.5, 1, 1, 1.4], num_jobs)).astype(np.int64),
        requested_time=requested,
        units=units,
        request=request,
        resources=("core", "gpu", "mem"),
        nodes_max=np.where(kind == 3, 4, 8),
        split=np.where(kind == 5, 1, 0),
        contiguous=kind == 4,
        exclusive=kind == 2,
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
