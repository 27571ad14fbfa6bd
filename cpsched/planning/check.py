"""Whether a plan could be carried out: nothing over capacity at any second."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.errors import DispatchError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.allocation import Allocation
    from cpsched.model.types import IntArray
    from cpsched.planning.instance import Instance


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
    workload, system = instance.fitted.workload, instance.fitted.system
    if len(early):
        job = workload.job_id[instance.row[early[0]]]
        raise DispatchError(
            f"the plan starts job {job} at {start[early[0]]}, before its release at"
            f" {instance.release[early[0]]}"
        )
    _check(
        start,
        start + instance.duration,
        instance.demand,
        system.total,
        system.resources,
        "the machine",
    )


def check_nodes(instance: Instance, start: IntArray, placed: Mapping[int, Allocation]) -> None:
    """
    Check the jobs of a plan whose nodes are known, node by node.

    Raises
    ------
    DispatchError
        If a node is over its capacity at any second.
    """
    system = instance.fitted.system
    by_node: dict[int, list[tuple[int, IntArray]]] = {}
    for handle, (nodes, _, amounts) in placed.items():
        for node, amount in zip(nodes.tolist(), amounts, strict=True):
            by_node.setdefault(node, []).append((handle, amount))
    for node, jobs in by_node.items():
        handles = np.array([handle for handle, _ in jobs], dtype=np.int64)
        _check(
            start[handles],
            start[handles] + instance.duration[handles],
            np.array([amount for _, amount in jobs], dtype=np.int64),
            system.capacity[node],
            system.resources,
            f"node {system.node_names[node]}",
        )


def _check(
    start: IntArray,
    end: IntArray,
    demand: IntArray,
    capacity: IntArray,
    resources: tuple[str, ...],
    where: str,
) -> None:
    """Sweep over starts and ends; ends come first at the same second."""
    times = np.concatenate([end, start])
    change = np.concatenate([-demand, demand])
    order = np.argsort(times, kind="stable")
    used = np.cumsum(change[order], axis=0)
    over = np.argwhere(used > capacity)
    if len(over):
        at, kind = over[0].tolist()
        raise DispatchError(
            f"the plan takes {int(used[at, kind]):,} {resources[kind]} of {where} at second"
            f" {int(times[order[at]]):,}, which has {int(capacity[kind]):,}"
        )
