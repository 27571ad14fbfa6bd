"""A present queue in the order that Slurm's own priorities give it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.model import columns as c
from cpsched.model.workload import MAX_NICE
from cpsched.slurm.dispatch.dispatcher import Slurm
from cpsched.util.spec import build

if TYPE_CHECKING:
    from cpsched.slurm.live.mirror import LiveMirror


def follow_slurms_priorities(mirror: LiveMirror, dispatcher: str) -> None:
    """
    Give the waiting jobs of a mirror that has not decided yet the priorities that Slurm gives them.

    Only under a site's own policy. What Slurm's priority is above the policy's, because of usage,
    age, a site factor or an operator, becomes a part of the job's nice value: from now on both
    change alike. Jobs whose priority is unknown, those that are held, have the policy's.
    """
    probe = build("dispatchers", dispatcher)
    if not isinstance(probe, Slurm):
        return
    slurms = {
        known.row: known.job.priority
        for known in mirror.known.values()
        if known.row >= 0 and known.job.waits and known.job.priority
    }
    rows, cluster = list(slurms), mirror.cluster
    probe.passes.on_epoch(mirror.epoch)
    probe.passes.reset(cluster.system, 0)
    store = cluster.machine.store
    below = probe.passes.priorities(store, rows, cluster.now) - np.array([*slurms.values()])
    nice = store.columns[rows, c.NICE] + below
    # Of priorities of another magnitude than the policy's, the differences count.
    if nice.max(initial=0) > MAX_NICE:
        nice -= nice.max()
    nice += max(-MAX_NICE - int(nice.min(initial=0)), 0)
    store.writable[rows, c.NICE] = np.minimum(nice, MAX_NICE)
