"""
Which of several proposals is expected to cost least.

The idea is that of rollouts: every proposal is played to the end of the queue under one simple
rule in scenarios which draw each job's runtime from its likely ones (running jobs on condition that
they have run this long) and let the last arrivals come once more. No rule in a scenario knows its
runtimes, so waiting looks no better than it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.cp import stats
from cpsched.kernels import scenarios

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.dispatch.arrivals import RecentArrivals
    from cpsched.dispatch.decision_state import DecisionState
    from cpsched.likely import Likely, RuntimeHistory
    from cpsched.model.types import BoolArray, FloatArray, IntArray
    from cpsched.rollout.rules import Proposal

#: Jobs of the queue that scenarios play, first by slowdown; and all that a proposal is about.
_WINDOW = 64


class Judge:
    """
    Plays proposals in scenarios of runtimes and arrivals as they may come.

    Parameters
    ----------
    history
        Knows past errors of predictions.
    arrivals
        The last ones.
    num_scenarios
        How many.
    patience
        Seconds; see :func:`cpsched.kernels.scenarios.job_cost`.

    Attributes
    ----------
    seed
        Of the run: what is drawn depends on it and on the second.
    """

    def __init__(
        self, history: RuntimeHistory, arrivals: RecentArrivals, num_scenarios: int, patience: int
    ) -> None:
        self._history = history
        self._arrivals = arrivals
        self._num = num_scenarios
        self._patience = float(patience)
        self.seed = 0

    def cheapest(
        self,
        state: DecisionState,
        likely: Likely,
        proposals: Sequence[Proposal],
        ranked: IntArray,
        unplaceable_now: BoolArray,
    ) -> tuple[Proposal, dict[str, float]]:
        """
        Return the proposal that is expected to cost least, the first of equals, and statistics.

        Parameters
        ----------
        likely
            The runtimes of all jobs.
        ranked
            All jobs' positions, most urgent first.
        unplaceable_now
            Which jobs find no nodes now.
        """
        if len(proposals) == 1:
            return proposals[0], {stats.AGREED: 1}
        seed, other_seed = np.random.SeedSequence([self.seed, state.now]).generate_state(2).tolist()
        picked, held = _picked(proposals, ranked, unplaceable_now)
        # Scenarios play the jobs picked of the queue, then those that arrive.
        coming = self._arrivals.again(state.now, state.demand.shape[1])
        come = self._history.likely(coming.user, coming.estimate, coming.limit)
        played = likely.take(picked).join(come)
        now = np.full(len(picked), state.now, dtype=np.int64)
        join = np.concatenate
        # Infinite where a proposal is not the cheapest.
        cost: FloatArray = scenarios.judge(
            state.now,
            len(picked),
            np.array([proposal.starts[picked] for proposal in proposals]),
            held,
            np.array([proposal.shadow for proposal in proposals], dtype=np.int64),
            np.array([proposal.extra for proposal in proposals]),
            played.draw(self._num, seed, np.zeros_like(played.estimate), played.estimate),
            join([state.reserved[picked], coming.reserved]),
            played.typical(),
            join([state.submit[picked], coming.ready]),
            join([state.demand[picked], coming.demand]),
            join([now, coming.ready]),
            self._remaining(state, other_seed),
            state.back,
            state.level[0],
            self._patience,
        )
        best = int(np.argmin(cost))
        return proposals[best], {
            stats.JUDGED: 1,
            stats.FOLLOWED + proposals[best].rule.name: 1,
            stats.PROPOSALS: len(proposals),
            stats.GAIN_OVER_FIRST: float((cost[0] - cost[best]) / cost[0]),
        }

    def _remaining(self, state: DecisionState, seed: int) -> IntArray:
        """Draw how much longer the running jobs run, shape ``(num_scenarios, B)``."""
        running = state.view.running
        elapsed = state.now - running.start
        likely = self._history.of(running)
        expected = running.expected_end - running.start
        remaining: IntArray = likely.draw(self._num, seed, elapsed, expected) - elapsed
        return remaining


def _picked(
    proposals: Sequence[Proposal], ranked: IntArray, unplaceable_now: BoolArray
) -> tuple[IntArray, IntArray]:
    """
    Return the jobs that scenarios play, and where among them the ones held for are.

    Half of the window is for jobs that can start now: they are what is decided about.
    """
    taken = np.zeros(len(ranked), dtype=np.bool_)
    candidates = ranked[~unplaceable_now[ranked]][: _WINDOW // 2]
    taken[candidates] = True
    taken[ranked[~taken[ranked]][: _WINDOW - len(candidates)]] = True
    for proposal in proposals:
        taken |= proposal.starts
        if proposal.held >= 0:
            taken[proposal.held] = True
    place = np.cumsum(taken) - 1
    held = [place[proposal.held] if proposal.held >= 0 else -1 for proposal in proposals]
    return np.flatnonzero(taken), np.array(held, dtype=np.int64)
