"""
Slurm's scheduling, as the co-allocation papers compare themselves with it.

Two schedulers in one. At every event the *main* one starts jobs in order of priority and stops,
in each queue, at the first that does not fit. Every so often the *backfill* one goes through the
first jobs that still wait: each gets the first window in which it fits for its whole predicted
duration, and those whose window is now start. After IPSCHED, section IV, Soner's thesis, sections
6.1 and 7.1, and Slurm's documentation; ``docs/background/slurm-model.md`` says where real Slurm
differs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched import _core
from cpsched.dispatch.contract import WaitReason
from cpsched.dispatch.learning import LearningDispatcher
from cpsched.dispatch.orders import make_priority
from cpsched.dispatch.passes import decision_of, with_plan
from cpsched.errors import ConfigError, check_choice, check_least
from cpsched.model import columns as c
from cpsched.slurm.dispatch import columns as r
from cpsched.slurm.dispatch.depths import PassQueue, barring
from cpsched.slurm.dispatch.settings import NO_LIMIT
from cpsched.slurm.dispatch.system_nodes import nodes_of, running_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.decision import Decision
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.util.types import IntArray

_LONGEST = 2**60
_NEVER = -1
_NONE: IntArray = np.zeros(0, dtype=np.int64)
#: Passes that nothing limits.
_UNLIMITED = {
    **dict.fromkeys(("partition_depth", "most_starts", "of_user", "of_partition"), NO_LIMIT),
    **dict.fromkeys(("of_user_in_partition", "of_association", "backfill_starts"), NO_LIMIT),
    **dict.fromkeys(("array_reservations", "partition_reservations"), NO_LIMIT),
    "resolution": 1,
    "gap": 0,
    "least_priority": -NO_LIMIT,
    "limits_stop": False,
    "ends_within": 0,
    "ends_more": 0,
    "tightest_node": False,
}


class _LastPasses(NamedTuple):
    """The last decision, as :class:`PassQueue` takes it."""

    now: int
    records: IntArray
    by_main: set[int]
    by_backfill: set[int]


class SlurmBackfill(LearningDispatcher):
    """
    Slurm's main scheduler and backfill plug-in, with its choice of nodes.

    Parameters
    ----------
    order
        ``basic`` (first come, first served), ``multifactor``, or any other order.
    topology
        Selection of nodes. ``line``: the contiguous node range that fits best, or the largest range
        first if none is large enough. ``tree``: the same among the leaf switches under the lowest
        switch with enough free nodes.
    reserve
        The resources that a reservation blocks: whole ``nodes``, as in Slurm, or only the
        ``amounts`` of the job.
    depth
        Number of waiting jobs that the backfill pass considers (``bf_max_job_test``).
    window
        Seconds ahead within which jobs get reservations (``bf_window``, which is in minutes).
    backfill_interval
        Seconds between backfill passes, which are at multiples of it (``bf_interval``). 0: a pass
        at every decision.
    """

    name = "slurm-backfill"
    family = "Slurm"
    good_for = "Slurm's rules, as the baseline of the papers"
    goes_wrong_when = "jobs share nodes (it reserves whole nodes), or wide jobs wait a day"

    def __init__(
        self,
        order: str = "basic",
        topology: str = "line",
        reserve: str = "nodes",
        depth: int | None = 100,
        window: int | None = 86_400,
        backfill_interval: int = 30,
    ) -> None:
        check_choice("topology", topology, ("line", "tree"))
        check_choice("reserve", reserve, ("nodes", "amounts"))
        check_least("depth", depth, 0, "all")
        check_least("window", window, 0, "all")
        check_least("backfill_interval", backfill_interval, 0)
        self.priority = make_priority(order)
        super().__init__(self.priority)
        self.tree = topology == "tree"
        self.close = reserve == "nodes"
        self.depth = _LONGEST if depth is None else min(depth, _LONGEST)
        self.window = _LONGEST if window is None else min(window, _LONGEST)
        self.backfill_interval = min(backfill_interval, _LONGEST)
        self._due = _NEVER

    def reset(self, system: System, seed: int) -> None:
        """
        Clear all memory and prepare for a system, before a run starts.

        Raises
        ------
        ConfigError
            If the tree has no switches, or a reservation would keep a whole counted pool.
        """
        nodes = nodes_of(system, tree=self.tree)
        if self.close and system.is_counted_pool:
            raise ConfigError(
                "the system counts processors without nodes, so with reserve=nodes the first"
                " reservation blocks all of it. Set reserve=amounts.",
                where=f"system {system.name}",
            )
        super().reset(system, seed)
        own = {"tested": self.depth, "window": self.window, "whole_nodes": self.close}
        self._bounds: dict[str, Any] = {**_UNLIMITED, **own}
        self._passes = _core.PlainSlurm(self._bounds, *nodes)
        self._due = _NEVER
        #: The second and queue of the last decision, and what the two passes have started of it.
        self._last = _LastPasses(0, _records_of(_NONE, _NONE), set(), set())

    def choose(self, view: View) -> Decision:
        """
        Return the starts of the main pass, and of the backfill pass if one is due.

        The main pass starts jobs in priority order and stops at the first that does not fit. The
        backfill pass plans reservations and starts later jobs that delay none.
        """
        backfill = self._is_due(view.now)
        store, rows = view.waiting.store, self.queues[0].rows(view)
        started, looked_at, planned, by_main, by_backfill = self._passes.run(
            *(view.now, rows, backfill, store.columns, store.shapes, view.eligible),
            *running_in(view),
        )
        records = _records_of(rows, store.columns[rows, c.QUEUE])
        started_by = set(by_main.tolist()), set(by_backfill.tolist())
        self._last = _LastPasses(view.now, records, *started_by)
        decision = decision_of(view, started)
        if len(decision.actions) == len(view.waiting):
            self._due = _NEVER
        elif not backfill:
            return decision._replace(again_at=self._due)
        return with_plan(view, decision, looked_at, planned)

    def state(self) -> Mapping[str, Any]:
        """
        Return the time of the next backfill pass and the history of runtimes, for a checkpoint.
        """
        return {**super().state(), "due": self._due}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the memory that :meth:`state` returned for a checkpoint."""
        super().restore(state)
        self._due = int(state["due"])

    def _is_due(self, now: int) -> bool:
        """Say whether the backfill pass is due, and note when it will be."""
        if self.backfill_interval == 0:
            return True
        if self._due == _NEVER:
            self._due = -(-now // self.backfill_interval) * self.backfill_interval
        if now < self._due:
            return False
        self._due = _NEVER
        return True

    def not_considered(self, view: View, decision: Decision, row: int) -> str:  # noqa: ARG002
        """Return the reason that a job is beyond the depth of the backfill pass."""
        queue = PassQueue(
            **self._last._asdict(),
            bounds=self._bounds,
            names={"tested": "depth"},
            is_skipped=lambda _: False,
        )
        at = np.flatnonzero(self._last.records[:, r.ROW] == row)
        return queue.out_of_backfill(int(at[0])) if len(at) else ""

    def barring(self, view: View, row: int) -> IntArray:  # noqa: ARG002
        """
        Return the waiting jobs that a job may not overtake in the main pass, those of its queue.
        """
        records = self._last.records
        own, nodes = records[records[:, r.ROW] == row], np.zeros((0, 0), dtype=np.bool_)
        return barring(own, records, nodes, lambda _: False)

    def wait_reason(
        self,
        view: View,  # noqa: ARG002
        decision: Decision,  # noqa: ARG002
        row: int,  # noqa: ARG002
        derived: WaitReason,
    ) -> WaitReason:
        """Return the reason why a fitting job waits: the main pass stopped before it."""
        return WaitReason.ORDER if derived is WaitReason.PLANNED_LATER else derived


def _records_of(rows: IntArray, queues: IntArray) -> IntArray:
    """Return jobs in their order as records, numbered by it, of which nothing else matters."""
    records = np.full((len(rows), r.NUM_COLUMNS), -1, dtype=np.int64)
    records[:, r.NUMBER], records[:, r.ROW] = np.arange(len(rows)), rows
    records[:, r.PARTITION] = queues
    return records
