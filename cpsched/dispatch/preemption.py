"""
Preemption: running jobs of low tiers make room for waiting jobs of higher ones.

After PriorityTier, PreemptMode and GraceTime of Slurm's partitions, see
:class:`~cpsched.model.system.Queue`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched.dispatch.allocators import make_allocator
from cpsched.dispatch.contract import Reservation
from cpsched.dispatch.passes import frozen
from cpsched.dispatch.preemptable import Candidates, PreemptionRules, QueueRules, fewest
from cpsched.dispatch.wrapper import Wrapper
from cpsched.model import columns as c
from cpsched.model.decision import NOTHING, Decision, Kill, Requeue, Start, Suspend
from cpsched.model.jobtable import JobTable
from cpsched.model.system import Preempt
from cpsched.model.view import View

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.dispatch.contract import Dispatcher
    from cpsched.model.decision import Action
    from cpsched.model.system import System
    from cpsched.util.types import AnyArray, BoolArray, IntArray

_ACTIONS: Mapping[str, type[Kill | Requeue | Suspend]] = {
    Preempt.REQUEUE: Requeue,
    Preempt.SUSPEND: Suspend,
    Preempt.KILL: Kill,
}
#: Statistic: jobs taken off their nodes.
PREEMPTED = "preempted"


class PreemptionClaim(NamedTuple):
    """
    Room that is being made for a waiting job.

    Attributes
    ----------
    second
        When the jobs leave.
    leaving
        Their handles.
    nodes, units
        Where the waiting job will be.
    """

    second: int
    leaving: tuple[int, ...]
    nodes: IntArray
    units: IntArray


class Preemption(Wrapper):
    """
    Preemption of running jobs of low tiers for jobs of higher tiers, around another dispatcher.

    The tier of a job is the ``priority_tier`` of its queue. The other dispatcher first sees only
    the waiting jobs of the highest tier. If none of them can start, it sees those of the next tier
    as well. A job that does not fit gets nodes of running jobs of lower tiers, if they suffice. As
    few jobs as possible are preempted, the lowest tier first, and the youngest first within a tier.
    These jobs get a notice with the longest grace time of their queues, and the resources of the
    waiting job are reserved until they leave. If the waiting job fits sooner, it starts, and jobs
    that have not left continue. Urgent jobs are above all tiers and have no grace time.

    Parameters
    ----------
    dispatcher
        Specification of the wrapped dispatcher.
    """

    name = "preempt"
    family = "around another dispatcher"
    good_for = "queues have tiers, and jobs of lower tiers may be requeued, suspended or killed"
    goes_wrong_when = "jobs save no checkpoints, so preempted work is repeated"

    def __init__(self, dispatcher: str | Dispatcher = "easy") -> None:
        super().__init__(dispatcher)
        self._resets = self.allocator is None
        self._placer = self.allocator or make_allocator("first-fit")
        self._queues: PreemptionRules = QueueRules({})
        #: By handle of the waiting job.
        self._claims: dict[int, PreemptionClaim] = {}

    def reset(self, system: System, seed: int) -> None:
        """Clear all memory and prepare for a system, before a run starts."""
        super().reset(system, seed)
        if self._resets:
            self._placer.reset(system)
        self._queues = self.rules_on(system)
        self._claims = {}

    def rules_on(self, system: System) -> PreemptionRules:
        """Return which jobs may preempt which on a system, by the tiers of its queues."""
        return QueueRules(system.queues)

    def decide(self, view: View) -> Decision:
        """
        Return preemptions whose grace time is over, or the decision of the wrapped dispatcher.

        The wrapped dispatcher sees the waiting jobs of the highest tier first.
        """
        candidates = self._candidates(view)
        free, actions = self._keep_promises(view, candidates)
        if actions:
            return _at_once(view, actions)
        tier = self._queues.tier(view.waiting)
        left = ~np.isin(view.waiting.handle, list(self._claims))
        if self._queues.asks_once:
            return self._decide_once(view, candidates, left, free)
        levels = np.unique(tier[left])[::-1].tolist()
        decision = NOTHING
        if not levels and self.inner.acts_when_idle:
            decision = self.inner.decide(_shown(view, left, free))
        for level in levels:
            decision = self.inner.decide(_shown(view, left & (tier >= level), free))
            if decision.actions:
                # Those that it leaves waiting may have others leave.
                more = level != levels[-1] or candidates.below(levels[0])
                return decision._replace(again_at=view.now) if more else self._woken(view, decision)
            waiting_rows = view.waiting.rows[left & (tier == level)]
            actions = self._free_capacity(view, candidates, waiting_rows, free)
            if actions:
                return _at_once(view, actions)
        return self._woken(view, decision)

    def _decide_once(
        self, view: View, candidates: Candidates, left: BoolArray, free: IntArray
    ) -> Decision:
        """Ask the other dispatcher about all jobs; then make room for others in its order."""
        shown = _shown(view, left, free)
        if not (len(shown.waiting) or self.inner.acts_when_idle):
            return self._woken(view, NOTHING)
        decision = self.inner.decide(shown)
        while candidates and not decision.actions:
            order, may = self.inner.ranking(shown), self.inner.considered(shown)
            waiting_rows = shown.waiting.rows if order is None else order
            if may is not None:
                waiting_rows = waiting_rows[np.isin(waiting_rows, may)]
            num_claims = len(self._claims)
            actions = self._free_capacity(view, candidates, frozen(waiting_rows), free, limit=1)
            if actions:
                return _at_once(view, actions)
            if len(self._claims) == num_claims:
                break
            # What the other dispatcher allows may depend on the job that is to start.
            left = ~np.isin(view.waiting.handle, list(self._claims))
            shown = _shown(view, left, free)
            decision = self.inner.decide(shown)
        if decision.actions and candidates:
            return decision._replace(again_at=view.now)
        return self._woken(view, decision)

    def shown(self, view: View) -> View:
        """
        Return the view that the wrapped dispatcher sees, without capacity reserved for preempting
        jobs.
        """
        free, _ = self._without_reserved(view, self._candidates(view))
        return _shown(view, np.ones(len(view.waiting), dtype=np.bool_), free)

    def reservations(self, view: View, decision: Decision) -> Sequence[Reservation]:
        """
        Return the capacity reserved for preempting jobs, and reservations of the wrapped
        dispatcher.
        """
        own = [
            Reservation(handle, max(claim.second, view.now + 1), claim.nodes, claim.units)
            for handle, claim in self._claims.items()
        ]
        others = super().reservations(view, decision)
        return [
            *own,
            *(reservation for reservation in others if reservation.handle not in self._claims),
        ]

    def _candidates(self, view: View) -> Candidates:
        """Return the running jobs that may be preempted, except those with a notice."""
        candidates = Candidates(view, self._queues)
        for claim in self._claims.values():
            candidates.take(candidates.positions(claim.leaving))
        return candidates

    def _keep_promises(self, view: View, candidates: Candidates) -> tuple[IntArray, list[Action]]:
        """Return what nodes have for all others, and who starts or leaves as was promised."""
        row_of = _rows(view)
        self._claims = {
            handle: own_claim for handle, own_claim in self._claims.items() if handle in row_of
        }
        free, reserved = self._without_reserved(view, candidates)
        actions: list[Action] = []
        for handle, claim in list(self._claims.items()):
            row, leaving = row_of[handle], candidates.positions(claim.leaving)
            free += reserved[handle]
            due = claim.second <= view.now and not candidates.changed(leaving)
            if self._placer.place(view, row, free) is not None:
                leaving = []
            elif not due:
                free -= reserved[handle]
                continue
            # If the nodes have changed, the job may ask for others.
            del self._claims[handle]
            actions += self._swap(view, candidates, row, leaving, free)
        return free, actions

    def _free_capacity(
        self,
        view: View,
        candidates: Candidates,
        waiting_rows: IntArray,
        free: IntArray,
        limit: int | None = None,
    ) -> list[Action]:
        """Make room for jobs (rows), ``limit`` at most, in order; return what is done at once."""
        now = view.now
        actions: list[Action] = []
        num_served = 0
        hopeless: set[tuple[int, int]] = set()
        jobs = JobTable(view.waiting.store, waiting_rows)
        kinds, levels = jobs.distinct()[0].tolist(), self._queues.tier(jobs).tolist()
        for row, handle, *kind in zip(
            waiting_rows.tolist(), jobs.handle.tolist(), kinds, levels, strict=True
        ):
            level = kind[1]
            urgent = level == self._queues.URGENT
            if num_served == limit:
                break
            if (kind[0], level) in hopeless:
                continue
            leaving: list[int] | None = []
            if self._placer.place(view, row, free) is None:
                leaving = self._fewest(view, candidates, row, level, free)
            elif not urgent:
                # The other dispatcher has its reasons.
                continue
            if leaving is None:
                hopeless.add((kind[0], level))
                continue
            num_served += 1
            second = now if urgent else now + candidates.grace(leaving)
            if second == now and candidates.changed(leaving):
                second += 1
            if second == now:
                actions += self._swap(view, candidates, row, leaving, free)
                continue
            allocation = self._placer.place(view, row, candidates.without(leaving, free))
            assert allocation is not None
            claim = PreemptionClaim(
                second, candidates.handles(leaving), allocation.node, allocation.units
            )
            candidates.take(leaving)
            self._claims[handle] = claim
            free -= self._still_needed(view, row, claim, candidates, free)
        return actions

    def _fewest(
        self, view: View, candidates: Candidates, row: int, level: int, free: IntArray
    ) -> list[int] | None:
        """Return the positions of few running jobs that make room for a job; None: none do."""
        able = candidates.below(level)

        def fits(positions: Sequence[int]) -> bool:
            remaining = candidates.without(positions, free)
            return self._placer.place(view, row, remaining) is not None

        return fewest(able, fits) if able else None

    def _swap(
        self, view: View, candidates: Candidates, row: int, leaving: list[int], free: IntArray
    ) -> list[Action]:
        """Start a job where others leave; do nothing where it does not fit. ``free`` follows."""
        remaining = candidates.without(leaving, free)
        allocation = self._placer.place(view, row, remaining)
        if allocation is None:
            return []
        free[:] = remaining
        free[allocation.node] -= allocation.amount
        pairs = zip(candidates.modes(leaving), candidates.handles(leaving), strict=True)
        candidates.take(leaving)
        handle = view.waiting.store.columns.item(row, c.HANDLE)
        return [
            *(_ACTIONS[mode](preempted) for mode, preempted in pairs),
            Start(handle, allocation),
        ]

    def _without_reserved(
        self, view: View, candidates: Candidates
    ) -> tuple[IntArray, dict[int, IntArray]]:
        """Return what each node has for others, and what is reserved for each job."""
        row_of = _rows(view)
        free: IntArray = np.array(view.free)
        reserved = {}
        for handle, claim in self._claims.items():
            if handle in row_of:
                reserved[handle] = self._still_needed(view, row_of[handle], claim, candidates, free)
                free -= reserved[handle]
        return free, reserved

    def _still_needed(
        self, view: View, row: int, claim: PreemptionClaim, candidates: Candidates, free: IntArray
    ) -> IntArray:
        """Return what a job needs of what is free, beside what others will leave to it."""
        needed: IntArray = np.zeros_like(free)
        takes = np.zeros(len(free), dtype=np.int64)
        takes[claim.nodes] = claim.units
        node, _, amount = self._placer.allocation(view, row, takes)
        needed[node] = amount
        given = candidates.without(candidates.positions(claim.leaving), np.zeros_like(free))
        needed_now: IntArray = np.clip(needed - given, 0, free)
        return needed_now

    def _woken(self, view: View, decision: Decision) -> Decision:
        """Have us woken when the next jobs leave."""
        wakes = [max(claim.second, view.now + 1) for claim in self._claims.values()]
        if decision.again_at is not None:
            wakes.append(decision.again_at)
        return decision._replace(again_at=min(wakes)) if wakes else decision

    def state(self) -> Mapping[str, Any]:
        """Return the preempting jobs and the jobs that have to leave for them, for a checkpoint."""
        claims = {
            str(handle): {**claim._asdict(), "leaving": np.array(claim.leaving, dtype=np.int64)}
            for handle, claim in self._claims.items()
        }
        return {**super().state(), "claims": claims}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the memory that :meth:`state` returned for a checkpoint."""
        super().restore(state)
        # Files keep no empty mapping.
        self._claims = {
            int(handle): PreemptionClaim(
                int(claim["second"]),
                tuple(np.asarray(claim["leaving"]).tolist()),
                np.array(claim["nodes"], dtype=np.int64),
                np.array(claim["units"], dtype=np.int64),
            )
            for handle, claim in state.get("claims", {}).items()
        }


def _rows(view: View) -> dict[int, int]:
    """Return the store's rows of the waiting jobs by handle."""
    return dict(zip(view.waiting.handle.tolist(), view.waiting.rows.tolist(), strict=True))


def _at_once(view: View, actions: list[Action]) -> Decision:
    """Return a decision of our own; the other dispatcher is asked in the same second."""
    left = sum(type(action) is not Start for action in actions)
    return Decision(actions, again_at=view.now, stats={PREEMPTED: left})


def _shown(view: View, waiting: AnyArray, free: IntArray) -> View:
    """Return a view of some of the waiting jobs, in which other amounts are free."""
    if waiting.all() and np.array_equal(free, view.free):
        return view
    return View(
        view.now,
        view.system,
        frozen(free.copy()),
        view.node_up,
        view.eligible,
        JobTable(view.waiting.store, frozen(view.waiting.rows[waiting])),
        view.running,
    )
