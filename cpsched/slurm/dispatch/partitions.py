"""Partitions: the system's queues, with the policy's settings for them; and reservations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.errors import ConfigError
from cpsched.model.arrays import immutable
from cpsched.slurm.dispatch.policy import Partition
from cpsched.util.node_lists import listed
from cpsched.util.words import clock
from cpsched.util.words import duration as words

if TYPE_CHECKING:
    from cpsched.model.system import System
    from cpsched.slurm.dispatch.policy import SlurmPolicy
    from cpsched.util.types import BoolArray, IntArray

#: Name of the partition of jobs that name none.
NO_PARTITION = ""


class Partitions:
    """
    The partitions of a system under a policy; P of them.

    Attributes
    ----------
    names, rules
        Name and policy settings of each.
    tier
        ``PriorityTier``, shape ``(P,)``.
    nodes
        The nodes of each, shape ``(P, N)``.
    """

    def __init__(self, system: System, policy: SlurmPolicy) -> None:
        self._policy = policy
        self.names: tuple[str, ...] = (*system.queues, NO_PARTITION)
        self.rules = [policy.partitions.get(name, Partition(name=name)) for name in self.names]
        self._at = {name: at for at, name in enumerate(self.names)}
        queues = [system.queues.get(name) for name in self.names]
        self.tier: IntArray = np.array([queue.priority_tier if queue else 0 for queue in queues])
        groups = np.asarray(system.node_groups)
        masks = [
            np.isin(groups, np.asarray(queue.groups))
            if queue is not None and queue.groups
            else np.ones(system.num_nodes, dtype=np.bool_)
            for queue in queues
        ]
        self.nodes: BoolArray = immutable(np.array(masks, dtype=np.bool_))

    def __len__(self) -> int:
        return len(self.names)

    def of(self, queue: str | None, qos: str, account: str | None) -> list[int]:
        """
        Return the positions of a job's partitions, those of a higher tier first.

        Those that take neither the job's QOS nor its account are left out, unless none is left.
        """
        named = (queue or "").split(",")
        places = [self._at[name] for name in named if name in self._at] or [len(self) - 1]
        taking = [at for at in places if self._takes(at, qos, account or "")]
        return sorted(taking or places, key=lambda at: -int(self.tier[at]))

    def _takes(self, at: int, qos: str, account: str) -> bool:
        rules = self.rules[at]
        return (
            (not rules.allow_qos or qos in rules.allow_qos)
            and qos not in rules.deny_qos
            and (not rules.allow_accounts or account in rules.allow_accounts)
            and account not in rules.deny_accounts
        )


class Reservations:
    """
    The reservations of a policy on a system; V of them.

    Jobs that ask for a reservation run only in it, from its beginning on, if they end by its end;
    all other jobs cannot use its nodes. The log determines which jobs ask for it.

    Attributes
    ----------
    start, end
        Seconds, shape ``(V,)``.
    nodes
        Shape ``(V, N)``.
    """

    def __init__(self, system: System, policy: SlurmPolicy, epoch: int = 0) -> None:
        reservations = policy.reservations.values()
        self._at = {reservation.name: at for at, reservation in enumerate(reservations)}
        self._names, self._epoch = tuple(self._at), epoch or None
        self.start: IntArray = np.array(
            [reservation.start - epoch for reservation in reservations], dtype=np.int64
        )
        self.end: IntArray = np.array(
            [reservation.end - epoch for reservation in reservations], dtype=np.int64
        )
        place = {name: at for at, name in enumerate(system.node_names)}
        self.nodes: BoolArray = np.zeros((len(reservations), system.num_nodes), dtype=np.bool_)
        for at, reservation in enumerate(reservations):
            unknown = next((name for name in reservation.nodes if name not in place), None)
            if unknown is not None:
                raise ConfigError(
                    f"reservation {reservation.name} has the unknown node {unknown}. Nodes:"
                    f" {listed(system.node_names)}.",
                    where=f"system {system.name}",
                )
            self.nodes[at, [place[name] for name in reservation.nodes]] = True

    def __len__(self) -> int:
        return len(self.start)

    def at(self, name: str | None) -> int:
        """Return the position of a reservation, -1 if there is none of that name."""
        return self._at.get(name or "", -1)

    def usable(self, at: int, now: int, until: int) -> tuple[BoolArray, str]:
        """
        Return the nodes that reservations leave to a job, and what they keep from it; '': nothing.

        Parameters
        ----------
        at
            The reservation that it runs in, -1 for none.
        now, until
            From when to when it would run, seconds.
        """
        if at >= 0:
            begin = clock(self.start.item(at), self._epoch)
            own = f"its reservation {self._names[at]}"
            waits = f"{own} begins at {begin}" if self.start.item(at) > now else ""
            return self.nodes[at], waits or f"it does not fit on the nodes of {own}"
        blocking = np.flatnonzero((self.start < until) & (self.end > now)).tolist()
        free: BoolArray = np.logical_not(self.nodes[blocking].any(axis=0))
        if not blocking:
            return free, ""
        first = min(blocking, key=lambda position: (int(self.start[position]), position))
        begin, end = (clock(int(times[first]), self._epoch) for times in (self.start, self.end))
        return free, (
            f"reservation {self._names[first]} has its nodes from {begin} to {end}, and the job"
            f" would run until {clock(until, self._epoch)}"
        )

    def why_never(
        self, at: int, submit: int, since: int, duration: int, nodes: BoolArray, fewest: int
    ) -> str:
        """
        Return why a job can never run in a reservation, '' if it can.

        Parameters
        ----------
        submit, since
            When it was submitted, and from which second on it may start now.
        duration
            Seconds for which it is expected to run.
        nodes
            Those of its partition, shape ``(N,)``.
        fewest
            How many nodes it needs.
        """
        name, start, end = self._names[at], self.start.item(at), self.end.item(at)
        until, usable = clock(end, self._epoch), int((self.nodes[at] & nodes).sum())
        asked = f"the job asks for {words(duration)}"
        if duration > end - start:
            return f"reservation {name} lasts {words(end - start)}, and {asked}"
        if usable < fewest:
            return (
                f"the job needs {fewest:,} nodes, and reservation {name} has {usable:,} that it"
                " may use"
            )
        if end <= submit:
            return f"reservation {name} ended at {until}, before it was submitted"
        if max(submit, start) + duration > end:
            return f"reservation {name} ends at {until}, before the job could end ({asked})"
        if max(since, start) + duration > end:
            return f"reservation {name} ends at {until}, and had no free nodes in time ({asked})"
        return ""

    def next_change(self, after: int) -> int | None:
        """Return the first second after one at which a reservation begins or ends."""
        later = [at for at in (*self.start.tolist(), *self.end.tolist()) if at > after]
        return min(later, default=None)
