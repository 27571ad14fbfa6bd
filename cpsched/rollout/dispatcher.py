"""
``rollout``: several rules propose what starts now, and what is expected to cost least is followed.

For runtime estimates that are not the truth: requested times, or any predictor. The rules
(:mod:`cpsched.rollout.rules`) have one reservation or none each; their proposals are played in
scenarios of likely runtimes and arrivals (:mod:`cpsched.rollout.judge`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpsched.cp import stats
from cpsched.dispatch.allocators import make_allocator
from cpsched.dispatch.arrivals import RecentArrivals
from cpsched.dispatch.decision_state import DecisionState
from cpsched.dispatch.learning import LearningDispatcher
from cpsched.dispatch.passes import decision_of, fits_now, start_in_order
from cpsched.dispatch.reservation_view import REQUESTED, ReservationView
from cpsched.errors import check_range
from cpsched.model.decision import Decision
from cpsched.rollout.judge import Judge
from cpsched.rollout.rules import orders, proposals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.system import System
    from cpsched.model.types import BoolArray
    from cpsched.model.view import View


class Rollout(LearningDispatcher):
    """
    Judges what several rules would start by playing it in scenarios of what may come.

    Parameters
    ----------
    patience
        Seconds of waiting from which on a wait costs more than it slows a job down: as much as
        ten times a job's own runtime at ``patience``, with the fourth power of the wait.
    scenarios
        How many are played to judge proposals.
    arrivals
        How many of the last arrivals scenarios let come once more.
    allocator
        Name of the allocator.
    reserve
        What the rules' reservations are made of, whatever jobs are ranked by: ``requested``,
        ``plan`` or ``bound``, see :class:`~cpsched.dispatch.reservation_view.ReservationView`.
    """

    name = "rollout"

    def __init__(
        self,
        patience: int = 64800,
        scenarios: int = 10,
        arrivals: int = 10,
        allocator: str = "consolidate",
        reserve: str = REQUESTED,
    ) -> None:
        check_range("patience", patience, 1, 2**40)
        check_range("scenarios", scenarios, 1, 10_000)
        check_range("arrivals", arrivals, 0, 10_000)
        super().__init__(learns=True)
        self.allocator = make_allocator(allocator)
        self.reserving = ReservationView(reserve)
        self.arrivals = RecentArrivals(arrivals, self.reserving.durations, self.history.users)
        self._judge = Judge(self.history, self.arrivals, scenarios, patience)
        self._patience = patience

    def reset(self, system: System, seed: int) -> None:
        """Prepare for a system."""
        super().reset(system, seed)
        self.allocator.reset(system)
        self.arrivals.forget()
        self._judge.seed = seed

    def choose(self, view: View) -> Decision:
        """Weigh proposals, and start what the cheapest starts."""
        self.arrivals.note(view, self.allocator)
        fits = fits_now(view, view.waiting.rows, self.allocator)
        if not fits.any():
            return Decision(stats={stats.SKIPPED_NONE_FIT: 1})
        if fits.all():
            decision = start_in_order(view, view.waiting.rows, self.allocator, stop=True)
            if len(decision.actions) == len(view.waiting):
                return decision._replace(stats={stats.SKIPPED_ALL_FIT: 1})
        return self._weigh(view, ~fits)

    def reservation_view(self, view: View) -> View:
        """Return the view with the runtimes that the rules' reservations are made of."""
        return self.reserving.view(view)

    def _weigh(self, view: View, unplaceable_now: BoolArray) -> Decision:
        """Follow the best of what the rules propose."""
        state = DecisionState.of(view, self.reserving.view(view), self.allocator)
        likely = self.history.of(state.jobs)
        ranked = orders(state, likely, self._patience)
        chosen, numbers = self._judge.cheapest(
            state,
            likely,
            proposals(state, ranked, self.allocator),
            ranked["typical"],
            unplaceable_now,
        )
        return decision_of(view, chosen.packed)._replace(stats=numbers)

    def state(self) -> Mapping[str, Any]:
        """Return what was learnt."""
        return {**super().state(), **self.arrivals.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up what :meth:`state` gave."""
        super().restore(state)
        self.arrivals.restore(state)
