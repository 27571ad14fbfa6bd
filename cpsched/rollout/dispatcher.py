"""
``rollout``: a base policy, and small departures from it that are expected to pay.

For runtime estimates that are not the truth: requested times, or any predictor. The base policy is
EASY in order of urgency; EASY by slowdown proposes what else could start now, and is followed where
scenarios of likely runtimes and arrivals (:mod:`cpsched.rollout.judge`) leave little doubt that
this is better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.dispatch.arrivals import RecentArrivals
from cpsched.dispatch.backlog import OVERDUE
from cpsched.dispatch.decision_state import DecisionState, highest_first
from cpsched.dispatch.learning import LearningDispatcher
from cpsched.dispatch.passes import decision_of, fits_now
from cpsched.dispatch.priority import SHARE_POWER, Slowdown, check_overdue
from cpsched.dispatch.shadow import REQUESTED
from cpsched.errors import check_range
from cpsched.rollout.judge import Judge, proposals
from cpsched.rollout.whole_queue import without_choice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.base.types import BoolArray, IntArray
    from cpsched.model.decision import Decision
    from cpsched.model.system import System
    from cpsched.model.view import View

#: A system is overloaded if its backlog is so many times the patience.
_OVERLOAD = 4


class Rollout(LearningDispatcher):
    """
    EASY in order of urgency, unless scenarios show that EASY by slowdown is better now.

    On an overloaded system it is EASY by slowdown.

    Parameters
    ----------
    patience
        Seconds of waiting after which a wait costs much more than it slows a job down, with the
        fourth power of the wait; see ``docs/background/rollout.md``.
    scenarios
        How many are simulated at most to judge proposals.
    arrivals
        How many of the last arrivals scenarios repeat.
    caution
        The standard errors by which the mean gain of what EASY by slowdown proposes must exceed
        zero for this to be followed.
    allocator
        Name of the allocator.
    reserve
        Runtimes used for reservations, whatever jobs are ranked by: ``requested``, ``plan`` or
        ``bound``, see :class:`~cpsched.dispatch.shadow.ReservationView`.
    overdue
        As for :class:`~cpsched.dispatch.priority.Urgency`.
    """

    name = "rollout"
    family = "rollouts and plans"
    good_for = "low slowdowns with requested times or predictions, area-weighted response as easy's"
    goes_wrong_when = "all have waited for days, or jobs need most of the machine: they wait longer"

    def __init__(
        self,
        patience: int = 43200,
        scenarios: int = 10,
        arrivals: int = 10,
        caution: float = 2.0,
        allocator: str = "first-fit",
        reserve: str = REQUESTED,
        overdue: float | None = OVERDUE,
    ) -> None:
        check_overdue(overdue)
        self.overdue = overdue
        super().__init__(learns=True, allocator=allocator, reserve=reserve)
        check_range("patience", patience, 1, 2**40)
        check_range("scenarios", scenarios, 1, 10_000)
        check_range("arrivals", arrivals, 0, 10_000)
        check_range("caution", caution, 0, 100)
        self._slowdown = Slowdown()
        self.arrivals = RecentArrivals(arrivals, self.reserving.durations, self.history.facts)
        self._judge = Judge(self.history, self.arrivals, scenarios, caution)
        self._patience = patience

    def reset(self, system: System, seed: int) -> None:
        """Prepare for a system."""
        super().reset(system, seed)
        self._notes_backlog = True
        self._slowdown.reset(system)
        self.arrivals.forget()
        self._judge.seed = seed

    def choose(self, view: View) -> Decision:
        """Weigh proposals, and start what the best one starts."""
        self.arrivals.note(view, self.allocator)
        fits = fits_now(view, view.waiting.rows, self.allocator)
        decision = without_choice(view, fits, self.allocator)
        return self._weigh(view) if decision is None else decision

    def _weigh(self, view: View) -> Decision:
        """Follow the best of what the rules propose."""
        state = DecisionState.of(view, self.reserving.view(view), self.allocator)
        waited = view.now - state.submit
        patience = stretched(self._patience, waited)
        facts = self.history.facts(state.jobs)
        urgency = self.history.urgency(facts, state.share, waited, patience, SHARE_POWER)
        late = np.zeros(len(waited), dtype=np.bool_)
        if self.overdue is not None:
            late = self.history.backlog.overdue(state.jobs.handle, self.overdue)
        urgency = urgency._replace(value=np.where(late, np.inf, urgency.value))
        order = highest_first(urgency.value)
        orders = {"urgency": order, "slowdown": self._by_slowdown(state, late)}
        if self._is_overloaded(waited):
            del orders["urgency"]
        proposed = proposals(state, orders, self.allocator)
        chosen, numbers = self._judge.best(state, patience, urgency, order, proposed)
        return decision_of(view, chosen.packed)._replace(stats=numbers)

    def _by_slowdown(self, state: DecisionState, late: BoolArray) -> IntArray:
        """Return positions by slowdown, those of overdue jobs first, by submit."""
        place = np.argsort(self._slowdown.order(state.jobs, state.now))
        number = np.arange(len(late))
        return np.lexsort((np.where(late, number, place), ~late))

    def _is_overloaded(self, waited: IntArray) -> bool:
        """
        Return whether jobs have waited, and will wait, far longer than the patience.

        Then urgency would order by age alone, and short jobs would wait as long as others.
        """
        overloaded = self.history.backlog.latest > _OVERLOAD * self._patience
        return bool(overloaded and waited.mean() > self._patience)

    def state(self) -> Mapping[str, Any]:
        """Return what was learnt."""
        return {**super().state(), **self.arrivals.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        super().restore(state)
        self.arrivals.restore(state)


def stretched(patience: int, waited: IntArray) -> float:
    """
    Return the patience for a queue, seconds: longer if jobs wait longer than it on average.

    On an overloaded machine nearly all jobs have waited too long. If that alone decided, the order
    would be that of submission, and short jobs would wait as long as others.

    Parameters
    ----------
    waited
        Seconds that the n waiting jobs have waited.
    """
    return float(max(patience, (patience * patience * waited.mean()) ** (1 / 3)))
