"""Several machines as one system, and each of them as a system of its own again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cpsched.api.errors import ConfigError
from cpsched.api.model import Queue, System, Topology, TopologyKind
from cpsched.api.tools import counted, quoted
from many_machines.separate import machines_of, named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.api.model import IntArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Machines:
    """
    The machines of a system.

    Attributes
    ----------
    whole
        The system; the column ``whole.log.queue_field`` of a log says which machine a job is of.
    names
        Of each machine: the first of its queues.
    queues
        The queues of each.
    spans
        The nodes of each, ``[first, end)``.
    """

    whole: System
    names: tuple[str, ...]
    queues: tuple[tuple[str, ...], ...]
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, system: System) -> Machines:
        """
        Return the machines that the queues of a system make.

        Raises
        ------
        ConfigError
            If the system has a topology, or the nodes of a machine are not neighbours.
        """
        found = machines_of(system)
        if len(found) > 1 and system.topology.kind is not TopologyKind.LINE:
            raise ConfigError(
                f"has a topology ({system.topology.kind}), and machines that share no node are"
                " joined without one; leave it out",
                where=f"system {system.name}",
            )
        spans = []
        for one in found:
            nodes = np.flatnonzero(one.nodes)
            if len(nodes) != np.ptp(nodes) + 1:
                raise ConfigError(
                    f"the nodes of queue {quoted(one.queues[0])} are not neighbours; put the groups"
                    " of a machine one behind the other",
                    where=f"system {system.name}",
                )
            spans.append((int(nodes[0]), int(nodes[-1]) + 1))
        return cls(
            whole=system,
            names=tuple(one.queues[0] if one.queues else system.name for one in found),
            queues=tuple(one.queues for one in found),
            spans=tuple(spans),
        )

    @classmethod
    def joined(cls, systems: Mapping[str, System], column: str) -> Machines:
        """
        Return machines, each with its system, as one.

        Each has one queue, of its own name. Node groups have the machine's name in front
        (``a.fat``), and so have nodes where several machines have a node of one name.

        Parameters
        ----------
        systems
            By the machines' names.
        column
            ``queue`` or ``partition``: which column of the log names them.

        Raises
        ------
        ConfigError
            If a system has queues or a topology, or they read logs in different ways.
        """
        first = next(iter(systems.values()))
        for name, system in systems.items():
            _check(name, system, first)
        kinds = ("core", *(kind for one in systems.values() for kind in one.resources))
        resources = tuple(dict.fromkeys(kinds))
        hosts = [host for one in systems.values() for host in one.node_names]
        twice = len(set(hosts)) < len(hosts)
        names = [
            f"{name}.{host}" if twice else host
            for name, one in systems.items()
            for host in one.node_names
        ]
        whole = System(
            name="machines",
            title=f"{counted(len(systems), 'machine')}: {named(systems)}",
            source="; ".join(dict.fromkeys(one.source for one in systems.values() if one.source)),
            resources=resources,
            capacity=np.concatenate([_capacity(one, resources) for one in systems.values()]),
            node_names=tuple(names),
            node_groups=tuple(
                f"{name}.{group}" for name, one in systems.items() for group in one.node_groups
            ),
            features=tuple(own for one in systems.values() for own in one.features),
            queues={name: _queue(name, one) for name, one in systems.items()},
            topology=Topology(len(names)),
            weights=np.concatenate([one.weights for one in systems.values()]),
            log=replace(first.log, queue_field=column, queues={}),
        )
        return cls.of(whole)

    def alone(self, at: int) -> System:
        """Return a machine as a system of its own, with its queues."""
        if len(self.names) == 1:
            return self.whole
        nodes = slice(*self.spans[at])
        whole = self.whole
        return replace(
            whole,
            name=self.names[at],
            title=f"{self.names[at]} of {whole.title or whole.name}",
            capacity=whole.capacity[nodes],
            node_names=whole.node_names[nodes],
            node_groups=whole.node_groups[nodes],
            features=whole.features[nodes],
            weights=whole.weights[nodes],
            queues={name: whole.queues[name] for name in self.queues[at]},
            topology=Topology(nodes.stop - nodes.start),
            # Of the other queues no job is here.
            log=replace(
                whole.log,
                queues={
                    key: name for key, name in whole.log.queues.items() if name in self.queues[at]
                },
            ),
        )


def _check(name: str, system: System, first: System) -> None:
    """Refuse a system that cannot be joined to others."""
    where = f"system of machine {name}"
    if system.queues:
        raise ConfigError(
            f"has queues ({named(system.queues)}), but the jobs of a machine are in one"
            " queue of its name; leave them out, or give one system whose queues share no nodes",
            where=where,
        )
    if system.topology.kind is not TopologyKind.LINE:
        raise ConfigError(
            f"has a topology ({system.topology.kind}), and machines are joined without one; leave"
            " it out",
            where=where,
        )
    for key, value in vars(system.log).items():
        other = getattr(first.log, key)
        if value != other and key not in ("queue_field", "queues"):
            raise ConfigError(
                f"is {value}, and {other} for {first.name}: one log is read in one way",
                where=where,
                key=f"log.{key}",
            )


def _capacity(system: System, resources: tuple[str, ...]) -> IntArray:
    """Return what each node holds, in these kinds."""
    held = np.zeros((system.num_nodes, len(resources)), dtype=np.int64)
    for at, kind in enumerate(resources):
        if kind in system.resources:
            held[:, at] = system.capacity[:, system.resource_index(kind)]
    return held


def _queue(name: str, system: System) -> Queue:
    """Return the queue of a machine, with what its system says of jobs without a queue."""
    return Queue(
        name=name,
        groups=tuple(dict.fromkeys(f"{name}.{group}" for group in system.node_groups)),
        expected_wait=system.default_expected_wait,
        default_time=system.default_time,
    )
