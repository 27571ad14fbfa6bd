"""Whether a plan could be carried out: nothing over capacity at any second."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.api.errors import DispatchError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.api.model import Allocation, IntArray
    from cpsched_papers.planning.instance import Instance


def check_pool(instance: Instance, start: IntArray) -> None:
    """
    Check a plan on the machine as one pool: what all jobs take together is there at every second.

    Raises
    ------
    DispatchError
        If a job starts before its release, or more than the capacity of a resource is taken;
        names second, resource, demand and capacity.
    """
    early = np.flatnonzero(start < instance.release)
    if len(early):
        job = instance.fitted.workload.job_id[instance.row[early[0]]]
        raise DispatchError(
            f"the plan starts job {job} at {start[early[0]]}, before its release at"
            f" {instance.release[early[0]]}"
        )
    jobs = np.arange(len(instance))
    total = instance.fitted.system.total[None]
    _check(instance, start, jobs, np.zeros_like(jobs), instance.demand, total, ["the machine"])


def check_nodes(instance: Instance, start: IntArray, placed: Mapping[int, Allocation]) -> None:
    """
    Check the jobs of a plan whose nodes are known, node by node.

    Raises
    ------
    DispatchError
        If a node is over its capacity at any second.
    """
    if not placed:
        return
    system = instance.fitted.system
    jobs = np.repeat(list(placed), [len(one.node) for one in placed.values()])
    nodes = np.concatenate([one.node for one in placed.values()])
    amount = np.concatenate([one.amount for one in placed.values()])
    names = [f"node {name}" for name in system.node_names]
    _check(instance, start, jobs, nodes, amount, system.capacity, names)


def _check(
    instance: Instance,
    start: IntArray,
    job: IntArray,
    place: IntArray,
    amount: IntArray,
    capacity: IntArray,
    names: Sequence[str],
) -> None:
    """
    Sweep place by place over starts and ends; ends come first at the same second.

    Parameters
    ----------
    job, place, amount
        Which job takes what where, row by row.
    capacity, names
        Of each place.
    """
    ends = start[job] + instance.duration[job]
    times, places = np.concatenate([ends, start[job]]), np.concatenate([place, place])
    order = np.lexsort((times, places))
    # Every job gives back what it took, so each place starts from 0 again.
    used = np.cumsum(np.concatenate([-amount, amount])[order], axis=0)
    over = np.argwhere(used > capacity[places[order]])
    if len(over):
        at, kind = over[0].tolist()
        where = places[order[at]]
        resource = instance.fitted.system.resources[kind]
        raise DispatchError(
            f"the plan takes {int(used[at, kind]):,} {resource} of {names[where]} at second"
            f" {int(times[order[at]]):,}, which has {int(capacity[where, kind]):,}"
        )
