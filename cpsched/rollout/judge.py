"""
Which of several proposals is expected to cost least.

The idea is that of rollouts: every proposal is played to the end of the queue under one base
policy in scenarios which draw each job's runtime from its likely ones (running jobs on condition
that they have run this long) and let the last arrivals come once more. No rule in a scenario knows
its runtimes, so waiting looks no better than it is. All proposals are played in the same scenarios,
and the first is followed unless another's gain over it is larger than that gain is uncertain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.cp import stats
from cpsched.dispatch.decision_state import share_of
from cpsched.dispatch.priority import SHARE_POWER
from cpsched.kernels import scenarios
from cpsched.model import columns as c

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.base.types import BoolArray, FloatArray, IntArray
    from cpsched.dispatch.arrivals import RecentArrivals
    from cpsched.dispatch.decision_state import DecisionState
    from cpsched.dispatch.likely import RuntimeHistory, Urgency
    from cpsched.rollout.rules import Proposal

#: Jobs of the queue that scenarios play, the most urgent; and all that a proposal starts.
_WINDOW = 64


class Judge:
    """
    Simulates proposals in scenarios of runtimes and arrivals.

    Parameters
    ----------
    history
        Knows how long jobs ran.
    arrivals
        The last ones.
    num_scenarios
        How many.
    caution
        By how many standard errors of the mean gain a proposal has to be better than the first.

    Attributes
    ----------
    seed
        Of the run: what is drawn depends on it and on the second.
    """

    def __init__(
        self,
        history: RuntimeHistory,
        arrivals: RecentArrivals,
        num_scenarios: int,
        caution: float,
    ) -> None:
        self._history = history
        self._arrivals = arrivals
        self._num = num_scenarios
        self._caution = caution
        self.seed = 0

    def best(
        self,
        state: DecisionState,
        patience: float,
        urgency: Urgency,
        order: IntArray,
        proposals: Sequence[Proposal],
    ) -> tuple[Proposal, dict[str, float]]:
        """
        Return the proposal to follow, and statistics.

        Parameters
        ----------
        patience
            Seconds, see ``docs/background/rollout.md``.
        urgency, order
            Of all jobs, and their positions, most urgent first.
        """
        if len(proposals) == 1:
            return proposals[0], {stats.AGREED: 1}
        cost = self._costs(state, patience, urgency, _picked(proposals, order), proposals)
        gain = cost[0] - cost
        mean = gain.mean(axis=1)
        error = gain.std(axis=1, ddof=min(self._num - 1, 1)) / np.sqrt(self._num)
        chosen = int(np.argmax(mean - self._caution * error))
        return proposals[chosen], {
            stats.JUDGED: 1,
            stats.FOLLOWED + proposals[chosen].rule.name: 1,
            stats.PROPOSALS: len(proposals),
            stats.GAIN_OVER_FIRST: float(mean[chosen] / cost[0].mean()),
        }

    def _costs(
        self,
        state: DecisionState,
        patience: float,
        urgency: Urgency,
        picked: IntArray,
        proposals: Sequence[Proposal],
    ) -> FloatArray:
        """Return what each proposal costs in each scenario, played by the jobs picked."""
        seed, other_seed = np.random.SeedSequence([self.seed, state.now]).generate_state(2).tolist()
        # Scenarios play the jobs picked of the queue, then those that arrive.
        coming = self._arrivals.again(state.now, state.demand.shape[1])
        share = share_of(coming.demand, state.whole)
        none = np.zeros_like(coming.ready)
        come = self._history.urgency(coming.facts, share, none, patience, SHARE_POWER)
        join = np.concatenate
        likely = urgency.likely.take(picked).join(come.likely)
        limit = join([state.limit[picked], coming.limit])
        key = -join([urgency.value[picked], come.value])
        running = state.view.running
        promised = state.reserving.running.store.columns[running.rows, c.EXPECTED_END]
        cost: FloatArray = scenarios.judge(
            state.now,
            len(picked),
            np.array([proposal.starts[picked] for proposal in proposals]),
            np.argsort(key[: len(picked)], kind="stable"),
            key,
            likely.draw(self._num, seed, 0 * limit, limit),
            join([state.reserved[picked], coming.reserved]),
            join([urgency.area[picked], come.area]),
            join([state.submit[picked], coming.ready]),
            join([state.demand[picked], coming.demand]),
            join([0 * picked + state.now, coming.ready]),
            self._remaining(state, other_seed),
            promised,
            np.argsort(promised, kind="stable"),
            state.back,
            state.level[0],
            patience,
        )
        return cost

    def _remaining(self, state: DecisionState, seed: int) -> IntArray:
        """Draw how much longer the running jobs run, shape ``(num_scenarios, B)``."""
        running = state.view.running
        elapsed = state.now - running.start
        likely = self._history.of(running)
        expected = running.expected_end - running.start
        remaining: IntArray = likely.draw(self._num, seed, elapsed, expected) - elapsed
        return remaining


def _picked(proposals: Sequence[Proposal], order: IntArray) -> IntArray:
    """Return the positions of the jobs that scenarios play, in queue order."""
    taken: BoolArray = np.zeros(len(order), dtype=np.bool_)
    for proposal in proposals:
        taken |= proposal.starts
    others = order[~taken[order]]
    taken[others[: max(_WINDOW - int(taken.sum()), 0)]] = True
    return np.flatnonzero(taken)
