"""
``cph+`` and ``cp+``: planning as deep as the predictions deserve.

Where predictions have lately been as good as the truth, the whole queue is planned
(:mod:`cpsched.rollout.whole_queue`). Otherwise a few rules with one reservation or none propose
what to start (:mod:`cpsched.rollout.rules`), and the proposal that is expected to cost least is
followed (:mod:`cpsched.rollout.judge`). ``cph+`` sees the machine as one pool and then maps what
starts to nodes; ``cp+`` plans and proposes on nodes, and so does ``cph+`` where the pool has room
for a job that fits on no nodes: on the pool its reservation would never come true.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cpsched import cpsat
from cpsched.cp import stats
from cpsched.cp.search import DEFAULT, check_search
from cpsched.dispatch.contract import Dispatcher
from cpsched.dispatch.passes import (
    decision_of,
    fits_now,
    frozen,
    make_allocator,
    start_in_order,
)
from cpsched.dispatch.reservation_view import PLAN, REQUESTED, ReservationView
from cpsched.errors import ConfigError
from cpsched.kernels import planning
from cpsched.model.decision import NOTHING, Decision, Plan
from cpsched.priority import ExpectedWait
from cpsched.rollout.history import Experience
from cpsched.rollout.judge import Judge
from cpsched.rollout.rules import on_nodes, on_the_pool
from cpsched.rollout.state import Situation
from cpsched.rollout.whole_queue import Planner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.cp.search import BuiltModel
    from cpsched.model.system import System
    from cpsched.model.types import BoolArray, IntArray
    from cpsched.model.view import View
    from cpsched.rollout.likely import Likely

#: How often a decision is made anew without the jobs that found no nodes.
_ATTEMPTS = 4
#: As many reservations as there are jobs.
_UNLIMITED = 2**62
#: When predictions are taken as the truth; ``auto``: when they have lately been it.
_TRUST = ("auto", "always", "never")
_PLANNED = ReservationView(PLAN)


class _Plus(Dispatcher):
    """What both have in common: options, shortcuts, memory."""

    # Asked when nobody waits too, or an end would be noticed late and its runtime be wrong.
    acts_when_idle: ClassVar[bool] = True

    def __init__(
        self,
        patience: int = 64800,
        scenarios: int = 10,
        arrivals: int = 10,
        neighbourhoods: int = 0,
        trust: str = "auto",
        search: str = DEFAULT,
        limit: float = 0.001,
        wall: float | None = None,
        allocator: str = "consolidate",
        reserve: str = REQUESTED,
    ) -> None:
        for name, value, least, most in (
            ("patience", patience, 1, 2**40),
            ("scenarios", scenarios, 1, 10_000),
            ("arrivals", arrivals, 0, 10_000),
            ("neighbourhoods", neighbourhoods, 0, 10_000),
        ):
            if not least <= value <= most:
                raise ConfigError(f"{name} is {value}, must be from {least} to {most}")
        if trust not in _TRUST:
            raise ConfigError(f"trust is '{trust}', must be one of {', '.join(_TRUST)}")
        self.trust = trust
        self.search = check_search(search)
        self.limits = cpsat.Limits(deterministic=limit, wall=wall, presolve=False)
        self.allocator = make_allocator(allocator)
        self._weighed = ReservationView(reserve)
        self.experience = Experience(arrivals)
        self._planner = Planner(self.experience, patience, neighbourhoods, search)
        self._judge = Judge(self.experience, scenarios, patience)
        self._patience = patience

    def reset(self, system: System, seed: int) -> None:
        """Prepare for a system."""
        if self.search == "expected-wait":
            ExpectedWait().reset(system)
        self.allocator.reset(system)
        self._whole = self.allocator.capacity.sum(axis=0)
        self.experience.forget()
        self._planner.last = {}
        self._judge.seed = seed
        self.limits = replace(self.limits, seed=seed)

    def decide(self, view: View) -> Decision:
        """Plan or weigh proposals, and start what comes out of it."""
        self.experience.note_ends(view)
        if not len(view.waiting):
            return NOTHING
        self.experience.note_arrivals(view, self.allocator, self._weighed)
        decision = self._decide(view)
        self.experience.note_starts(view, decision)
        return decision

    def _decide(self, view: View) -> Decision:
        fits = fits_now(view, view.waiting.rows, self.allocator)
        if not fits.any():
            return Decision(stats={stats.SKIPPED_NONE_FIT: 1})
        if fits.all():
            decision = start_in_order(
                view, view.waiting.rows, self.allocator, stop=True, again=True
            )
            if len(decision.actions) == len(view.waiting):
                return decision._replace(stats={stats.SKIPPED_ALL_FIT: 1})
        situation = self._situation(view, self.reserving)
        if self._plans:
            decision = self._plan(situation, ~fits)
        else:
            self._planner.last = {}
            decision = self._weigh(situation, ~fits)
        if decision.actions or len(view.running):
            return decision
        # Who found no nodes is waited for, but nothing runs whose end could give it some.
        rows = frozen(situation.jobs.rows[situation.orders("slowdown")["slowdown"]])
        started = start_in_order(view, rows, self.allocator, stop=False, again=True)
        return started._replace(stats=decision.stats)

    @property
    def _plans(self) -> bool:
        """Whether the whole queue is planned, as things are."""
        return self.trust == "always" or (self.trust == "auto" and self.experience.is_exact)

    @property
    def reserving(self) -> ReservationView:
        """What reservations are made of, as things are: those of a plan are predictions."""
        return _PLANNED if self._plans else self._weighed

    def _situation(self, view: View, reserving: ReservationView) -> Situation:
        promised = reserving.view(view)
        return Situation.of(view, promised, self.allocator, self.experience, self._whole)

    def _likely(self, situation: Situation) -> Likely:
        return self.experience.likely(situation.user, situation.plan, situation.limit)

    @abstractmethod
    def _plan(self, situation: Situation, barred: BoolArray) -> Decision:
        """Follow a plan of the whole queue."""

    @abstractmethod
    def _weigh(self, situation: Situation, barred: BoolArray) -> Decision:
        """Follow the best of several proposals."""

    def _plan_on_nodes(self, situation: Situation, barred: BoolArray) -> Decision:
        """Follow the node by node plan in the order of the best one."""
        plan, numbers = self._planner.best(situation, barred, self.limits)
        view, store = situation.view, situation.jobs.store
        packed, planned = planning.plan_pass(
            self.allocator.policy,
            view.now,
            frozen(situation.jobs.rows[plan.order]),
            _UNLIMITED,
            1,
            store.columns,
            store.shapes,
            view.eligible,
            self.allocator.capacity,
            self.allocator.scarce,
            view.free,
            view.running.rows,
            view.running.arena.node,
            view.running.arena.amount,
        )
        start = np.empty(len(plan.order), dtype=np.int64)
        start[plan.order] = planned
        decision = decision_of(view, packed)
        return decision._replace(
            plan=self._planner.remember(situation, start), stats={stats.PLANNED: 1, **numbers}
        )

    def _weigh_on_nodes(self, situation: Situation, barred: BoolArray) -> Decision:
        """Follow the best of what the rules propose on nodes."""
        likely = self._likely(situation)
        orders = situation.rule_orders(likely, self._patience, self.search)
        proposals = on_nodes(situation, orders, self.allocator)
        chosen, numbers = self._judge.cheapest(
            situation, likely, proposals, orders["typical"], barred
        )
        assert chosen.packed is not None
        return decision_of(situation.view, chosen.packed)._replace(stats=numbers)

    def build(self, view: View) -> BuiltModel | None:
        """
        Return the model of a decision's first neighbourhood, for a look at it.

        None if there is no group of jobs to plan anew. It is built whether or not :meth:`decide`
        would need it, also without ``neighbourhoods``.
        """
        if not len(view.waiting):
            return None
        barred = ~fits_now(view, view.waiting.rows, self.allocator)
        return self._planner.first_model(self._situation(view, _PLANNED), barred)

    def state(self) -> Mapping[str, Any]:
        """Return the last plan and what was learnt."""
        planned = sorted(self._planner.last.items())
        return {
            "planned": np.array(planned, dtype=np.int64).reshape(-1, 2),
            **self.experience.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up what :meth:`state` gave."""
        self._planner.last = dict(np.asarray(state["planned"]).reshape(-1, 2).tolist())
        self.experience.restore(state)


class CphPlus(_Plus):
    """
    Hybrid planning, better: see the module.

    Parameters
    ----------
    patience
        Seconds of waiting from which on a wait costs more than it slows a job down: as much as
        ten times a job's own runtime at ``patience``, with the fourth power of the wait.
    scenarios
        How many are played to judge proposals.
    arrivals
        How many of the last arrivals plans and scenarios let come once more.
    neighbourhoods
        How many groups of planned jobs CP-SAT replans in a decision. None by default: the plans
        get better by a few percent, the schedules do not (docs/rollout.md).
    trust
        When the whole queue is planned: ``always``, ``never``, or ``auto``: while nine in ten
        of the last predictions were within 5 % of the runtime.
    search
        The order that list plans and EASY's proposal go by, ``slowdown`` or ``expected-wait``;
        ``default``: plans in every order, the proposal by slowdown.
    limit
        Deterministic time for each of them.
    wall
        Seconds of wall time as a net; a run that meets it may not be repeatable.
    allocator
        Name of the allocator.
    reserve
        What the rules' reservations are made of, whatever jobs are ranked by: ``requested``,
        ``plan`` or ``bound``, see :class:`~cpsched.dispatch.reservation_view.ReservationView`.
        A plan of the whole queue is made of predictions.
    """

    name = "cph+"

    def _plan(self, situation: Situation, barred: BoolArray) -> Decision:
        if situation.is_misled(barred):
            return self._plan_on_nodes(situation, barred)
        numbers: defaultdict[str, float] = defaultdict(float)
        for _ in range(_ATTEMPTS):
            plan, found = self._planner.best(situation, barred, self.limits)
            for name, value in found.items():
                numbers[name] += value
            order = plan.order[plan.start[plan.order] == situation.now]
            decision, left = self._mapped(situation, order)
            numbers[stats.POSTPONED] += len(left)
            if not len(left):
                break
            barred[left] = True
        # The solver's work adds up over the attempts; what is followed is the last.
        numbers[stats.PLANNED] = 1
        for name in (stats.PLANS, stats.GAIN_OVER_FIRST):
            numbers[name] = found[name]
        planned = self._planner.remember(situation, plan.start[: len(plan.order)])
        return decision._replace(plan=planned, stats=numbers)

    def _weigh(self, situation: Situation, barred: BoolArray) -> Decision:
        if situation.is_misled(barred):
            return self._weigh_on_nodes(situation, barred)
        likely = self._likely(situation)
        orders = situation.rule_orders(likely, self._patience, self.search)
        postponed = 0
        for _ in range(_ATTEMPTS):
            proposals = on_the_pool(situation, orders, barred)
            chosen, numbers = self._judge.cheapest(
                situation, likely, proposals, orders["typical"], barred
            )
            order = orders[chosen.rule.order]
            decision, left = self._mapped(situation, order[chosen.starts[order]])
            postponed += len(left)
            if not len(left):
                break
            barred[left] = True
        numbers[stats.POSTPONED] = postponed
        plan = None
        if chosen.held >= 0:
            plan = Plan((int(situation.jobs.handle[chosen.held]),), (chosen.shadow,))
        return decision._replace(plan=plan, stats=numbers)

    def _mapped(self, situation: Situation, order: IntArray) -> tuple[Decision, IntArray]:
        """Map starts to nodes in order; return also those that found none."""
        rows = frozen(situation.jobs.rows[order])
        decision = start_in_order(situation.view, rows, self.allocator, stop=False, again=True)
        if len(decision.actions) == len(order):
            return decision, order[:0]
        started = {action.handle for action in decision.actions}
        handles = situation.jobs.handle[order].tolist()
        left = [handle not in started for handle in handles]
        return decision, order[left]


class CpPlus(_Plus):
    """
    Planning on nodes, better: see the module.

    Parameters
    ----------
    patience, scenarios, arrivals, neighbourhoods, trust, search, limit, wall, allocator, reserve
        As for ``cph+``.
    """

    name = "cp+"

    def _plan(self, situation: Situation, barred: BoolArray) -> Decision:
        return self._plan_on_nodes(situation, barred)

    def _weigh(self, situation: Situation, barred: BoolArray) -> Decision:
        return self._weigh_on_nodes(situation, barred)
