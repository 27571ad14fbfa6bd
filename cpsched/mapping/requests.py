"""What a log's jobs ask for, in the resource kinds and on the nodes of a system."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cpsched.base.types import UNBOUNDED
from cpsched.errors import ConfigError
from cpsched.mapping.room import unit_capacity
from cpsched.model.distinct import distinct
from cpsched.model.system import MemoryMapping, ProcessorMapping
from cpsched.model.topology import Topology

if TYPE_CHECKING:
    from cpsched.base.types import BoolArray, IntArray
    from cpsched.model.system import System
    from cpsched.model.workload import Workload

_AMOUNTS = ("request", "per_node", "per_node_max")


def align(workload: Workload, system: System) -> tuple[Workload, dict[int, str]]:
    """
    Return the workload in the resource kinds of the system, and the rows that want another.

    Memory is dropped where the system's ``log`` says so. What a job could use at most
    (``per_node_max``) of a kind the system lacks is not a reason to reject it.
    """
    ignored = {"mem"} if system.log.memory is MemoryMapping.IGNORED else set()
    shape = (workload.num_jobs, len(system.resources))
    columns = {name: np.zeros(shape, dtype=np.int64) for name in _AMOUNTS}
    rejected: dict[int, str] = {}
    for source, kind in enumerate(workload.resources):
        target = system.resource_index(kind)
        if kind in ignored:
            continue
        if target >= 0:
            for name in _AMOUNTS:
                columns[name][:, target] = getattr(workload, name)[:, source]
            continue
        for name, place in (("request", "in each unit"), ("per_node", "on each node")):
            amounts = getattr(workload, name)[:, source]
            for row in np.flatnonzero(amounts).tolist():
                rejected[row] = f"asks for {amounts[row]} {kind} {place}, the system has none"
    return workload.with_columns(resources=system.resources, **columns), rejected


def pooled(system: System) -> System:
    """Return the system with each node group merged into one node that holds the group's sum."""
    groups = tuple(dict.fromkeys(system.node_groups))
    members = [
        [node for node, own in enumerate(system.node_groups) if own == group] for group in groups
    ]
    return replace(
        system,
        capacity=np.array([system.capacity[nodes].sum(axis=0) for nodes in members]),
        node_names=groups,
        node_groups=groups,
        features=tuple(
            frozenset.intersection(*(system.features[node] for node in nodes)) for nodes in members
        ),
        topology=Topology(len(groups)),
    )


def to_units(
    workload: Workload, system: System, eligible_class: IntArray, eligible: BoolArray
) -> Workload:
    """
    Return the workload in layout ``units``; one that is so already comes back as it is.

    Parameters
    ----------
    workload
        In the system's resource kinds; in layout ``processors``, ``units`` counts processors and
        ``request`` is what one of them needs.
    eligible_class, eligible
        Which nodes each job may use, shapes ``(J,)`` and ``(C, N)``.

    Raises
    ------
    ConfigError
        If the system does not say how processors are taken, or whole nodes differ in cores.
    """
    if workload.layout == "units":
        return workload
    mapping = system.log.processors
    if mapping is None:
        raise ConfigError(
            "the log only counts processors, and the system does not say how they are placed on"
            " nodes:"
            f" set processors in [log] to one of: {', '.join(ProcessorMapping)}",
            where=f"system {system.name}",
        )
    request = workload.request.copy()
    request[:, 0] = system.log.processor_cores
    workload = replace(workload, layout="units", request=request)
    if mapping is ProcessorMapping.WHOLE_NODES:
        return _whole_nodes(workload, system, eligible_class, eligible)
    if mapping is ProcessorMapping.PACKED:
        return _packed(workload, system, eligible_class, eligible)
    return workload


def _whole_nodes(
    workload: Workload, system: System, eligible_class: IntArray, eligible: BoolArray
) -> Workload:
    """Return ceil(P / cores per node) units, each with a full node's cores."""
    cores = np.ones(len(eligible), dtype=np.int64)
    for index, mask in enumerate(eligible):
        kinds = np.unique(system.capacity[mask, 0])
        if len(kinds) > 1:
            job = workload.job_id[np.flatnonzero(eligible_class == index)[0]]
            raise ConfigError(
                f"whole nodes of job {job} could have {' or '.join(map(str, kinds))} cores: give"
                ' its queue groups of one size, or set processors to "packed" or "pool"',
                where=f"system {system.name}",
            )
        cores[index] = kinds[0] if len(kinds) else 1
    full = cores[eligible_class]
    units = -(-workload.units // full)
    # The processors lie evenly, so a unit's memory is that of its share, not of a full node.
    request = workload.request * -(-workload.units // units)[:, None]
    request[:, 0] = full
    fewest, most = -(-workload.units_min // full), -(-workload.units_max // full)
    return replace(
        workload,
        units=units,
        request=request,
        nodes_min=fewest,
        nodes_max=most,
        units_min=fewest,
        units_max=most,
        evolve_to=-(-workload.evolve_to // full),
    )


def _packed(
    workload: Workload, system: System, eligible_class: IntArray, eligible: BoolArray
) -> Workload:
    """Return the units with node bounds: as few nodes as can hold them."""
    code, first = distinct([eligible_class, *workload.request.T], workload.num_jobs)
    kinds = [np.unique(system.capacity[mask], axis=0) for mask in eligible]
    most = np.zeros(len(first), dtype=np.int64)
    least = np.zeros(len(first), dtype=np.int64)
    nothing = np.zeros_like(workload.request[:1])
    for shape, row in enumerate(first.tolist()):
        own = kinds[eligible_class[row]]
        held = unit_capacity(own, workload.request[[row]], nothing, system.total[:1])[0]
        held = held[held > 0]
        if len(held):
            most[shape], least[shape] = held.max(), held.min()
    # A job no node holds a unit of keeps loose bounds; it is rejected for that, not for these.
    fewest = -(-workload.units_min // np.maximum(most[code], 1))
    largest = -(-workload.units_max // np.maximum(least[code], 1))
    never = most[code] == 0
    return replace(
        workload,
        nodes_min=np.where(never, 1, fewest),
        nodes_max=np.where(never, UNBOUNDED, largest),
    )
