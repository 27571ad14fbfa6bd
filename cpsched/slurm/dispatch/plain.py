"""
Slurm's scheduling, as the co-allocation papers compare themselves with it.

Two schedulers in one. At every event the *main* one starts jobs in order of priority and stops,
in each queue, at the first that does not fit. Every so often the *backfill* one goes through the
first jobs that still wait: each gets the first window in which it fits for its whole predicted
duration, and those whose window is now start. After IPSCHED, section IV, Soner's thesis, sections
6.1 and 7.1, and Slurm's documentation; ``docs/reference/slurm-backfill.md`` says where real Slurm
differs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.dispatch.contract import WaitReason
from cpsched.dispatch.learning import LearningDispatcher
from cpsched.dispatch.orders import make_priority
from cpsched.dispatch.passes import decision_of, with_plan
from cpsched.errors import ConfigError, check_choice, check_least
from cpsched.kernels.arrays import FAR
from cpsched.model import columns as c
from cpsched.model.arrays import immutable
from cpsched.slurm.dispatch.depths import PassQueue, barring
from cpsched.slurm.dispatch.machine import always_apart, make_nodes, run_passes
from cpsched.slurm.kernels import records as r

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.decision import Decision
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.util.types import BoolArray, IntArray

_NO_LIMIT = 2**60
_NEVER = -1
#: Weights of nodes that have none; a view, read-only as those of systems.
_ALIKE = immutable(np.zeros(0, dtype=np.int64))
_NOTHING: IntArray = np.zeros(0, dtype=np.int64)
_NO_RECORDS: IntArray = np.zeros((0, r.NUM_FIELDS), dtype=np.int64)
#: One template, which counts against nothing.
_NO_LIMITS = r.Limits(
    *(np.zeros((0, 4), dtype=np.int64), np.zeros(2, dtype=np.int64)),
    *(np.zeros((0, 4), dtype=np.int64), np.zeros((0, 0), dtype=np.int64)),
)
#: Numbers of a pass that this one does without.
_UNUSED = [
    *(r.GAP, r.LIMITS_STOP, r.ENDS_WITHIN, r.ENDS_MORE, r.TIGHT, r.STARTS_ALONE),
    *(r.NUM_USERS, r.NUM_ASSOCIATIONS, r.NUM_RESERVATIONS),
]


class SlurmBackfill(LearningDispatcher):
    """
    Slurm's main scheduler and backfill plug-in, with its choice of nodes.

    Parameters
    ----------
    order
        ``basic`` (first come, first served), ``multifactor``, or any other priority.
    topology
        How nodes are chosen. ``line``: the run of consecutive nodes that fits best, or the largest
        run first if none is enough. ``tree``: the same among the leaf switches under the lowest
        switch that can hold it.
    reserve
        What a reservation blocks: whole ``nodes``, as in Slurm, or only the ``amounts`` that the
        job will take.
    depth
        How many waiting jobs the backfill pass considers (``bf_max_job_test``).
    window
        A job that could start only after this many seconds from now gets no reservation
        (``bf_window``, there in minutes).
    backfill_interval
        Seconds between backfill passes, which are at multiples of it (``bf_interval``); 0: one
        at every decision.
    """

    name = "slurm-backfill"
    family = "Slurm"
    good_for = "what Slurm does, as the papers' baseline"
    goes_wrong_when = "jobs share nodes, which it reserves whole, or wide jobs have to wait a day"

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
        self.depth = _NO_LIMIT if depth is None else min(depth, _NO_LIMIT)
        self.window = _NO_LIMIT if window is None else min(window, _NO_LIMIT)
        self.backfill_interval = min(backfill_interval, _NO_LIMIT)
        self._due = _NEVER

    def reset(self, system: System, seed: int) -> None:
        """
        Prepare for a system.

        Raises
        ------
        ConfigError
            If the tree has no switches, or a reservation would keep a whole counted pool.
        """
        self._nodes = make_nodes(system, tree=self.tree, weights=_ALIKE)
        if self.close and system.is_counted_pool:
            raise ConfigError(
                "the system is a counted pool, so with reserve=nodes the first reservation"
                " would block all of it: set reserve=amounts",
                where=f"system {system.name}",
            )
        super().reset(system, seed)
        numbers = np.full(r.NUM_NUMBERS, FAR, dtype=np.int64)
        numbers[_UNUSED] = 0
        numbers[[r.MAIN, r.RESOLUTION, r.LEAST_PRIORITY]] = 1, 1, -FAR
        numbers[[r.TESTED, r.WINDOW, r.CLOSE]] = self.depth, self.window, self.close
        nowhere = np.zeros((0, system.num_nodes), dtype=np.bool_)
        #: Without reservations, and with partitions that keep no nodes.
        self._rules = r.Rules(numbers, _NOTHING, immutable(nowhere), _NOTHING, _NOTHING, nowhere)
        self._eligible: BoolArray | None = None
        self._due = _NEVER
        #: The records of the last decision, and which of them it started.
        self._last: tuple[IntArray, IntArray] = _NO_RECORDS, _NOTHING

    def choose(self, view: View) -> Decision:
        """Run the main pass, and the backfill pass where it is due."""
        backfill = self._is_due(view.now)
        store, rows = view.waiting.store, self.queues[0].rows(view)
        # Jobs without a queue have code -1 and are in one queue too.
        queues = store.columns[rows, c.QUEUE]
        records = np.full((len(rows), r.NUM_FIELDS), -1, dtype=np.int64)
        records[:, r.ROW], records[:, r.ASKS] = rows, store.columns[rows, c.SHAPE]
        records[:, r.PARTITION], records[:, [r.TEMPLATE, r.SEVERAL]] = queues, 0
        records[:, r.UNTIL], records[:, r.RESERVES_FROM] = FAR, -FAR
        changing = view.now, backfill, queues.max(initial=-1) + 1
        self._rules.numbers[[r.NOW, r.BACKFILL, r.NUM_PARTITIONS]] = changing
        if view.eligible is not self._eligible:
            begins = r.group_begins(view.eligible.T, *always_apart(self._nodes))
            self._rules = self._rules._replace(begins=begins)
            self._eligible = view.eligible
        nodes = self._nodes._replace(shapes=store.shapes, eligible=view.eligible)
        queue = np.arange(len(rows)), records
        packed, looked_at, started = run_passes(view, queue, self._rules, _NO_LIMITS, nodes)
        self._last = records, started
        decision = decision_of(view, packed)
        if len(decision.actions) == len(view.waiting):
            self._due = _NEVER
        elif not backfill:
            return decision._replace(again_at=self._due)
        looked = records[looked_at]
        return with_plan(view, decision, looked[:, r.ROW], looked[:, r.PLANNED])

    def state(self) -> Mapping[str, Any]:
        """Return when the next backfill pass is due, and what has been learnt."""
        return {**super().state(), "due": self._due}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
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
        """Return that a job is beyond the depth of the backfill pass."""
        records, started = self._last
        at = np.flatnonzero(records[:, r.ROW] == row)
        by_main = int(self._rules.numbers[r.MAIN_STARTED])
        queue = PassQueue(
            table=records,
            order=np.arange(len(records)),
            by_main=set(started[:by_main].tolist()),
            by_backfill=set(started[by_main:].tolist()),
            numbers=self._rules.numbers,
            names={r.TESTED: "depth"},
            is_skipped=lambda _: False,
        )
        return queue.out_of_backfill(int(at[0])) if len(at) else ""

    def barring(self, view: View, row: int) -> IntArray:  # noqa: ARG002
        """Return the jobs of the same queue, behind which the main pass stops."""
        records, _ = self._last
        at = int(np.flatnonzero(records[:, r.ROW] == row)[0])
        own, nodes = range(at, at + 1), np.zeros((0, 0), dtype=np.bool_)
        return barring(records, own, np.arange(len(records)), nodes, lambda _: False)

    def wait_reason(
        self,
        view: View,  # noqa: ARG002
        decision: Decision,  # noqa: ARG002
        row: int,  # noqa: ARG002
        derived: WaitReason,
    ) -> WaitReason:
        """Say that the main pass stops at the first job without room, until the backfill pass."""
        return WaitReason.ORDER if derived is WaitReason.PLANNED_LATER else derived
