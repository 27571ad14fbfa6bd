"""A log's jobs as they are, on no machine in particular: enough to judge predictions by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.api.errors import ConfigError
from cpsched.api.logs import Fitted
from cpsched.api.model import MISSING, System, Topology

if TYPE_CHECKING:
    from cpsched.api.logs import Workload


def unmapped(workload: Workload) -> Fitted:
    """
    Return a workload on one node that holds everything any job asks for.

    Queues and memory are those of the log; a processor is a unit of one core. Nothing can be
    simulated with it.

    Raises
    ------
    ConfigError
        If a job names no requested time, or the log knows no start: a system is needed then.
    """
    missing = workload.requested_time == MISSING
    if missing.any():
        job = workload.job_id[np.argmax(missing)]
        raise ConfigError(
            f"job {job} has no requested time ({missing.sum():,} of {len(workload):,} have none);"
            " give a --system with a default for them",
            where=workload.title,
        )
    if (workload.recorded_start == MISSING).all():
        raise ConfigError(
            "the log does not record when jobs started; give a --system to simulate them on",
            where=workload.title,
        )
    # Every unit counts, so that the number of processors of such a job is its cores.
    most = (workload.request * workload.units[:, None] + workload.per_node).max(axis=0)
    system = System(
        name="unmapped",
        title="no machine",
        source="made for the log",
        resources=workload.resources,
        capacity=most.reshape(1, -1),
        node_names=("all",),
        node_groups=("all",),
        features=(frozenset(),),
        queues={},
        topology=Topology(1),
    )
    return Fitted(
        workload=workload.with_columns(layout="units"),
        system=system,
        eligible_class=np.zeros(len(workload), dtype=np.int64),
        eligible=np.ones((1, 1), dtype=np.bool_),
        rejected=(),
    )
