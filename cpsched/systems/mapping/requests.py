"""What a log's jobs ask for, in the resource kinds and on the nodes of a system."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cpsched.errors import ConfigError
from cpsched.model.arrays import constant, is_constant, put_away
from cpsched.model.distinct import distinct, distinct_rows
from cpsched.model.node_sets import unit_capacity
from cpsched.model.system import MemoryMapping, ProcessorMapping
from cpsched.model.topology import Topology
from cpsched.util.types import MISSING, UNBOUNDED

if TYPE_CHECKING:
    from cpsched.model.system import System
    from cpsched.systems.mapping.draft import Draft

_AMOUNTS = ("request", "per_node", "per_node_max")


def align(draft: Draft) -> None:
    """
    Count what jobs ask for in the resource kinds of the system, and reject who wants another.

    Memory is dropped where the system's ``log`` says so. What a job could use at most
    (``per_node_max``) of a kind the system lacks is not a reason to reject it, nor is a type
    (``gpu:a100``) of a kind of which the system has some of no type: ``gpu`` beside it counts.
    """
    workload, system = draft.workload, draft.system
    ignored = {"mem"} if system.log.memory is MemoryMapping.IGNORED else set()
    shape = (workload.num_jobs, len(system.resources))
    columns = {
        name: constant(0, shape)
        if is_constant(given := getattr(workload, name)) and not given.any()
        else np.zeros(shape, dtype=np.int64)
        for name in _AMOUNTS
    }
    rejected: dict[int, str] = {}
    for source, kind in enumerate(workload.resources):
        target = system.resource_index(kind)
        if kind in ignored or system.is_untold_type(kind):
            continue
        if target >= 0:
            for name, amounts in columns.items():
                if not is_constant(amounts):
                    amounts[:, target] = getattr(workload, name)[:, source]
            continue
        for name, where in (("request", "in each task"), ("per_node", "on each node")):
            amounts = getattr(workload, name)[:, source]
            for row in np.flatnonzero(amounts).tolist():
                rejected[row] = f"asks for {amounts[row]} {kind} {where}, and the system has none"
    draft.reject(rejected)
    draft.change(
        resources=system.resources, **{name: put_away(column) for name, column in columns.items()}
    )


def keep_in_one_group(draft: Draft) -> None:
    """Limit jobs to one group of the lowest level where such groups do not meet, for good."""
    if not draft.system.topology.apart:
        return
    workload = draft.workload
    wide = (workload.units > 1) & (workload.nodes_max > 1)
    draft.change(
        max_switches=np.where(wide, 1, workload.max_switches),
        switch_wait=np.where(wide, MISSING, workload.switch_wait),
    )


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


def to_units(draft: Draft) -> None:
    """
    Bring jobs into layout ``units``, those that a log counts in processors.

    In layout ``processors``, ``units`` counts processors and ``request`` is what one needs.

    Raises
    ------
    ConfigError
        If the system does not say how processors are taken, or whole nodes differ in cores.
    """
    if draft.workload.layout == "units":
        return
    mapping = draft.system.log.processors
    if mapping is None:
        raise ConfigError(
            "the log only counts processors, and the system does not say how they are placed on"
            f" nodes. Set processors in [log] to one of: {', '.join(ProcessorMapping)}.",
            where=f"system {draft.system.name}",
        )
    request = draft.workload.request.copy()
    request[:, 0] = draft.system.log.processor_cores
    draft.change(layout="units", request=request)
    if mapping is ProcessorMapping.WHOLE_NODES:
        _take_whole_nodes(draft)
    if mapping is ProcessorMapping.PACKED:
        _pack(draft)


def _take_whole_nodes(draft: Draft) -> None:
    """Make ceil(P / cores per node) units, each with a full node's cores."""
    workload, system, classes = draft.workload, draft.system, draft.classes
    cores = np.ones(len(classes.nodes), dtype=np.int64)
    for index, mask in enumerate(classes.nodes):
        kinds = np.unique(system.capacity[mask, 0])
        if len(kinds) > 1:
            job = workload.job_id[np.flatnonzero(classes.of_job == index)[0]]
            raise ConfigError(
                f"whole nodes of job {job} could have {' or '.join(map(str, kinds))} cores: give"
                ' its queue groups of one size, or set processors to "packed" or "pool"',
                where=f"system {system.name}",
            )
        cores[index] = kinds[0] if len(kinds) else 1
    full = cores[classes.of_job]
    units = -(-workload.units // full)
    # The processors lie evenly, so a unit's memory is that of its share, not of a full node.
    request = workload.request * -(-workload.units // units)[:, None]
    request[:, 0] = full
    fewest, nodes_max = -(-workload.units_min // full), -(-workload.units_max // full)
    draft.change(
        units=units,
        request=request,
        nodes_min=fewest,
        nodes_max=nodes_max,
        units_min=fewest,
        units_max=nodes_max,
        evolve_to=-(-workload.evolve_to // full),
    )


def _pack(draft: Draft) -> None:
    """Bound the nodes of jobs: as few as can hold their units."""
    workload, system, classes = draft.workload, draft.system, draft.classes
    code, first = distinct([classes.of_job, *workload.request.T], workload.num_jobs)
    kinds = [distinct_rows(system.capacity[mask])[0] for mask in classes.nodes]
    roomiest = np.zeros(len(first), dtype=np.int64)
    least = np.zeros(len(first), dtype=np.int64)
    nothing = np.zeros_like(workload.request[:1])
    for shape, row in enumerate(first.tolist()):
        own = kinds[classes.of_job[row]]
        fitting = unit_capacity(own, workload.request[[row]], nothing, system.total[:1])[0]
        fitting = fitting[fitting > 0]
        if len(fitting):
            roomiest[shape], least[shape] = fitting.max(), fitting.min()
    # A job no node holds a unit of keeps loose bounds; it is rejected for that, not for these.
    fewest = -(-workload.units_min // np.maximum(roomiest[code], 1))
    largest = -(-workload.units_max // np.maximum(least[code], 1))
    never = roomiest[code] == 0
    draft.change(
        nodes_min=np.where(never, 1, fewest),
        nodes_max=np.where(never, UNBOUNDED, largest),
    )
