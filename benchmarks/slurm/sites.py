"""A site's slurm.conf and its like, made of a system file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.api.machines import compress
from slurm_adapter.live.demo import HOLD_ALL
from slurm_adapter.live.private import Site

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cpsched.api.model import IntArray, System

#: A site's settings if jobs are started from outside.
_FROM_OUTSIDE = """\
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityType=priority/basic
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,default_queue_depth=2000
KillWait=2"""
#: Everything except the nodes' cores, memory and features is a generic resource.
_OWN_KINDS = ("core", "mem")
#: A generic resource of this name has files; others are counted.
_GPU = "gpu"


def site_of(system: System, nodes: int | None = None) -> Site:
    """
    Return a site with the nodes and queues of a system, where all submitted jobs are held.

    Parameters
    ----------
    nodes
        Number of nodes; of each kind its share, at least one. None: all.
    """
    chosen = np.arange(system.num_nodes) if nodes is None else _share(system, nodes)
    generic = [kind for kind in system.resources if kind not in _OWN_KINDS]
    lines, gres = [_FROM_OUTSIDE], []
    if generic:
        lines.append(f"GresTypes={','.join(generic)}")
    if (at := system.resource_index("mem")) >= 0:
        # That of the node with the least for each of its cores.
        least = (system.capacity[:, at] // 1024 // system.capacity[:, 0]).min()
        lines.append(f"DefMemPerCPU={least}")
    for members in _alike(system, chosen):
        held = dict(zip(system.resources, system.capacity[members[0]].tolist(), strict=True))
        held = {kind: count for kind, count in held.items() if count}
        names = f"NodeName={compress(system.node_names[node] for node in members)}"
        lines.append(f"{names} {_node(system, members[0], held)}")
        gres += [f"{names} {_gres(kind, held[kind])}" for kind in generic if kind in held]
    lines += _partitions(system, chosen)
    return Site(
        conf="\n".join([*lines, ""]),
        gres="".join(f"{line}\n" for line in gres),
        job_submit=HOLD_ALL,
    )


def _share(system: System, count: int) -> IntArray:
    """Return some nodes, of every kind its share and at least one, in their order."""
    kinds = _alike(system, np.arange(system.num_nodes))
    wanted = [max(len(members) * count // system.num_nodes, 1) for members in kinds]
    wanted[int(np.argmax(wanted))] += count - sum(wanted)
    return np.sort([node for own, most in zip(kinds, wanted, strict=True) for node in own[:most]])


def _alike(system: System, nodes: IntArray) -> list[list[int]]:
    """Return the nodes that differ only in name."""
    found: dict[object, list[int]] = {}
    for node in nodes.tolist():
        kind = (
            system.node_groups[node],
            system.capacity[node].tobytes(),
            system.features[node],
            int(system.weights[node]),
        )
        found.setdefault(kind, []).append(node)
    return list(found.values())


def _node(system: System, node: int, held: Mapping[str, int]) -> str:
    cores = held["core"]
    words = [f"CPUs={cores} Sockets=1 CoresPerSocket={cores} ThreadsPerCore=1"]
    if "mem" in held:
        words.append(f"RealMemory={held['mem'] // 1024}")
    if features := sorted({system.node_groups[node], *system.features[node]}):
        words.append(f"Feature={','.join(features)}")
    generic = [f"{kind}:{count}" for kind, count in held.items() if kind not in _OWN_KINDS]
    if generic:
        words.append(f"Gres={','.join(generic)}")
    if weight := int(system.weights[node]):
        words.append(f"Weight={weight}")
    return " ".join([*words, "State=UNKNOWN"])


def _gres(kind: str, count: int) -> str:
    return f"Name={kind} " + (
        f"File=/dev/{kind}[0-{count - 1}]" if kind == _GPU else f"Count={count}"
    )


def _partitions(system: System, nodes: IntArray) -> Iterator[str]:
    if not system.queues:
        yield "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
        return
    default = next((q.name for q in system.queues.values() if q.default), next(iter(system.queues)))
    for queue in system.queues.values():
        own = [
            system.node_names[node]
            for node in nodes.tolist()
            if not queue.groups or system.node_groups[node] in queue.groups
        ]
        words = [f"PartitionName={queue.name} Nodes={compress(own)} State=UP"]
        words.append(f"Default={'YES' if queue.name == default else 'NO'}")
        for key, seconds in (("MaxTime", queue.max_time), ("DefaultTime", queue.default_time)):
            if seconds is not None:
                words.append(f"{key}={-(-seconds // 60)}")
        if queue.exclusive:
            words.append("OverSubscribe=EXCLUSIVE")
        if queue.max_nodes:
            words.append(f"MaxNodes={queue.max_nodes}")
        yield " ".join(words)
