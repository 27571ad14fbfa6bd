"""
Which of several proposals is expected to cost least.

The idea is that of rollouts: every proposal is played to the end of the queue under one simple
rule in scenarios which draw each job's runtime from its likely ones (running jobs on condition that
they have run this long) and let the last arrivals come once more. No rule in a scenario knows its
runtimes, so waiting looks no better than it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.cp import stats
from cpsched.kernels import scenarios

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.dispatch.arrivals import Arrivals, RecentArrivals
    from cpsched.dispatch.decision_state import DecisionState
    from cpsched.model.types import BoolArray, FloatArray, IntArray
    from cpsched.rollout.history import RuntimeHistory
    from cpsched.rollout.likely import Likely
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
        cost = self._costs(state, likely, proposals, ranked, unplaceable_now)
        best = int(np.argmin(cost))
        return proposals[best], {
            stats.JUDGED: 1,
            stats.FOLLOWED + proposals[best].rule.name: 1,
            stats.PROPOSALS: len(proposals),
            stats.GAIN_OVER_FIRST: float((cost[0] - cost[best]) / cost[0]),
        }

    def _costs(
        self,
        state: DecisionState,
        likely: Likely,
        proposals: Sequence[Proposal],
        ranked: IntArray,
        unplaceable_now: BoolArray,
    ) -> FloatArray:
        """Return what each proposal is expected to cost; infinite where it is not the least."""
        seed = (self.seed * 1_000_003 + state.now) % 2**48
        picked, held = _picked(proposals, ranked, unplaceable_now)
        coming = self._arrivals.again(state.now, state.demand.shape[1])
        come = self._history.likely(coming.user, coming.estimate, coming.limit)
        played = ScenarioJobs.of(state, picked, likely.take(picked), coming, come)
        cost: FloatArray = scenarios.judge(
            state.now,
            len(picked),
            np.array([proposal.starts[picked] for proposal in proposals]),
            held,
            np.array([proposal.shadow for proposal in proposals], dtype=np.int64),
            np.array([proposal.extra for proposal in proposals]),
            played.draw(self._num, seed),
            played.reserved,
            played.typical,
            played.submit,
            played.demand,
            played.ready,
            self._remaining(state, _another(seed)),
            state.back,
            state.level[0],
            self._patience,
        )
        return cost

    def _remaining(self, state: DecisionState, seed: int) -> IntArray:
        """Draw how much longer the running jobs run, shape ``(num_scenarios, B)``."""
        running = state.view.running
        elapsed = state.now - running.start
        likely = self._history.likely(
            self._history.users(running),
            np.maximum(running.runtime_estimate, 1),
            np.maximum(running.requested_time, 1),
        )
        expected = running.expected_end - running.start
        remaining: IntArray = likely.draw(self._num, seed, elapsed, expected) - elapsed
        return remaining


class ScenarioJobs(NamedTuple):
    """
    The jobs that scenarios play: those picked of the queue, then those that arrive.

    Attributes
    ----------
    likely
        The runtimes of those of the queue, and of those that arrive.
    typical
        Their medians.
    reserved, submit, demand
        As in :class:`~cpsched.dispatch.decision_state.DecisionState`.
    ready
        Now, or when they arrive.
    """

    likely: tuple[Likely, Likely]
    reserved: IntArray
    typical: IntArray
    submit: IntArray
    demand: IntArray
    ready: IntArray

    @classmethod
    def of(
        cls,
        state: DecisionState,
        picked: IntArray,
        likely: Likely,
        coming: Arrivals,
        come: Likely,
    ) -> ScenarioJobs:
        """Put them together, with the likely runtimes of those picked and of those that come."""
        now = np.full(len(picked), state.now, dtype=np.int64)
        join = np.concatenate
        return cls(
            likely=(likely, come),
            reserved=join([state.reserved[picked], coming.reserved]),
            typical=join([likely.typical(), come.typical()]),
            submit=join([state.submit[picked], coming.ready]),
            demand=join([state.demand[picked], coming.demand]),
            ready=join([now, coming.ready]),
        )

    def draw(self, num: int, seed: int) -> IntArray:
        """Draw runtimes, shape ``(num, N)``."""
        drawn = []
        for likely, own_seed in zip(self.likely, (seed, _another(seed + 1)), strict=True):
            nothing_run = np.zeros(len(likely.estimate), dtype=np.int64)
            drawn.append(likely.draw(num, own_seed, nothing_run, likely.estimate))
        return np.concatenate(drawn, axis=1)


def _another(seed: int) -> int:
    """Return a seed whose random numbers have nothing to do with those of the one given."""
    return (seed * 6364136223846793005 + 1442695040888963407) % 2**48


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
