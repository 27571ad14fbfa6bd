"""Reservations of a policy: nodes that are kept, from when and until when."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.api.errors import ConfigError
from cpsched.api.tools import listed

if TYPE_CHECKING:
    from cpsched.api.model import BoolArray, IntArray, System
    from slurm_adapter.dispatch.policy import Policy


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

    def __init__(self, system: System, policy: Policy, epoch: int = 0) -> None:
        found = policy.reservations.values()
        self._at = {one.name: at for at, one in enumerate(found)}
        self.start: IntArray = np.array([one.start - epoch for one in found], dtype=np.int64)
        self.end: IntArray = np.array([one.end - epoch for one in found], dtype=np.int64)
        place = {name: at for at, name in enumerate(system.node_names)}
        self.nodes: BoolArray = np.zeros((len(found), system.num_nodes), dtype=np.bool_)
        for at, one in enumerate(found):
            unknown = next((name for name in one.nodes if name not in place), None)
            if unknown is not None:
                raise ConfigError(
                    f"reservation {one.name} has node {unknown}, which the system does not have;"
                    f" its nodes are {listed(system.node_names)}",
                    where=f"system {system.name}",
                )
            self.nodes[at, [place[name] for name in one.nodes]] = True

    def __len__(self) -> int:
        return len(self.start)

    def at(self, name: str | None) -> int:
        """Return the position of a reservation, -1 if there is none of that name."""
        return self._at.get(name or "", -1)

    def next_change(self, after: int) -> int | None:
        """Return the first second after one at which a reservation begins or ends."""
        later = [at for at in (*self.start.tolist(), *self.end.tolist()) if at > after]
        return min(later, default=None)
