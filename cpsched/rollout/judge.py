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

    from cpsched.model.types import BoolArray, FloatArray, IntArray
    from cpsched.rollout.history import Experience
    from cpsched.rollout.likely import Likely
    from cpsched.rollout.rules import Proposal
    from cpsched.rollout.state import Situation

#: Jobs of the queue that scenarios play, first by slowdown; and all that a proposal is about.
_WINDOW = 64


class Judge:
    """
    Plays proposals in scenarios of runtimes and arrivals as they may come.

    Parameters
    ----------
    experience
        Knows past errors and the last arrivals.
    num_scenarios
        How many.
    patience
        Seconds; see :func:`cpsched.kernels.scenarios.job_cost`.

    Attributes
    ----------
    seed
        Of the run: what is drawn depends on it and on the second.
    """

    def __init__(self, experience: Experience, num_scenarios: int, patience: int) -> None:
        self._experience = experience
        self._num = num_scenarios
        self._patience = float(patience)
        self.seed = 0

    def cheapest(
        self,
        situation: Situation,
        likely: Likely,
        proposals: Sequence[Proposal],
        ranked: IntArray,
        barred: BoolArray,
    ) -> tuple[Proposal, dict[str, float]]:
        """
        Return the proposal that is expected to cost least, the first of equals, and statistics.

        Parameters
        ----------
        likely
            The runtimes of all jobs.
        ranked
            All jobs' positions, most urgent first.
        barred
            Jobs that cannot start now.
        """
        if len(proposals) == 1:
            return proposals[0], {stats.AGREED: 1}
        cost = self._costs(situation, likely, proposals, ranked, barred)
        best = int(np.argmin(cost))
        return proposals[best], {
            stats.JUDGED: 1,
            stats.FOLLOWED + proposals[best].rule.name: 1,
            stats.PROPOSALS: len(proposals),
            stats.GAIN_OVER_FIRST: float((cost[0] - cost[best]) / cost[0]),
        }

    def _costs(
        self,
        situation: Situation,
        likely: Likely,
        proposals: Sequence[Proposal],
        ranked: IntArray,
        barred: BoolArray,
    ) -> FloatArray:
        """Return what each proposal is expected to cost."""
        seed = (self.seed * 1_000_003 + situation.now) % 2**48
        picked, held = _picked(proposals, ranked, barred)
        cast = _Cast.of(situation, likely, self._experience, picked)
        cost: FloatArray = scenarios.judge(
            situation.now,
            len(picked),
            np.array([proposal.starts[picked] for proposal in proposals]),
            held,
            np.array([proposal.shadow for proposal in proposals], dtype=np.int64),
            np.array([proposal.extra for proposal in proposals]),
            cast.draw(self._num, seed),
            cast.reserved,
            cast.typical,
            cast.submit,
            cast.demand,
            cast.ready,
            self._remaining(situation, _another(seed)),
            situation.back,
            situation.level[0],
            self._patience,
        )
        return cost

    def _remaining(self, situation: Situation, seed: int) -> IntArray:
        """Draw how much longer the running jobs run, shape ``(num_scenarios, B)``."""
        running = situation.view.running
        elapsed = situation.now - running.start
        limit = np.maximum(running.requested_time, 1)
        likely = self._experience.likely(
            self._experience.users(running), np.maximum(running.plan, 1), limit
        )
        expected = running.expected_end - running.start
        remaining: IntArray = likely.draw(self._num, seed, elapsed, expected) - elapsed
        return remaining


class _Cast(NamedTuple):
    """
    The jobs that scenarios play: those picked of the queue, then those that arrive.

    Attributes
    ----------
    likely
        The runtimes of those of the queue, and of those that arrive.
    typical
        Their medians.
    reserved, submit, demand
        As in :class:`~cpsched.rollout.state.Situation`.
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
        cls, situation: Situation, likely: Likely, experience: Experience, picked: IntArray
    ) -> _Cast:
        """Put them together."""
        coming = experience.arrivals(situation.now, situation.demand.shape[1])
        here, there = likely.take(picked), experience.likely(coming.user, coming.plan, coming.limit)
        now = np.full(len(picked), situation.now, dtype=np.int64)
        join = np.concatenate
        return cls(
            likely=(here, there),
            reserved=join([situation.reserved[picked], coming.reserved]),
            typical=join([here.typical(), there.typical()]),
            submit=join([situation.submit[picked], coming.ready]),
            demand=join([situation.demand[picked], coming.demand]),
            ready=join([now, coming.ready]),
        )

    def draw(self, num: int, seed: int) -> IntArray:
        """Draw runtimes, shape ``(num, N)``."""
        drawn = []
        for likely, own_seed in zip(self.likely, (seed, _another(seed + 1)), strict=True):
            nothing_run = np.zeros(len(likely.plan), dtype=np.int64)
            drawn.append(likely.draw(num, own_seed, nothing_run, likely.plan))
        return np.concatenate(drawn, axis=1)


def _another(seed: int) -> int:
    """Return a seed whose random numbers have nothing to do with those of the one given."""
    return (seed * 6364136223846793005 + 1442695040888963407) % 2**48


def _picked(
    proposals: Sequence[Proposal], ranked: IntArray, barred: BoolArray
) -> tuple[IntArray, IntArray]:
    """
    Return the jobs that scenarios play, and where among them the ones held for are.

    Half of the window is for jobs that can start now: they are what is decided about.
    """
    taken = np.zeros(len(ranked), dtype=np.bool_)
    able = ranked[~barred[ranked]][: _WINDOW // 2]
    taken[able] = True
    taken[ranked[~taken[ranked]][: _WINDOW - len(able)]] = True
    for proposal in proposals:
        taken |= proposal.starts
        if proposal.held >= 0:
            taken[proposal.held] = True
    place = np.cumsum(taken) - 1
    held = [place[proposal.held] if proposal.held >= 0 else -1 for proposal in proposals]
    return np.flatnonzero(taken), np.array(held, dtype=np.int64)
