"""
Proposals, and which of several is expected to cost least.

The idea is that of rollouts: every proposal is played to the end of the queue under one base
policy in scenarios which draw each job's runtime from its likely ones (running jobs on condition
that they have run this long) and let the last arrivals come once more. No rule in a scenario knows
its runtimes, so waiting looks no better than it is. All proposals are played in the same scenarios,
and the first is followed unless another's gain over it is larger than that gain is uncertain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.cp import stats
from cpsched.dispatch.decision_state import share_of
from cpsched.dispatch.passes import easy_pass, frozen
from cpsched.dispatch.priority import SHARE_POWER
from cpsched.kernels import scenarios, start_log
from cpsched.model import columns as c

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.base.types import BoolArray, FloatArray, IntArray
    from cpsched.dispatch.allocators import Allocator
    from cpsched.dispatch.arrivals import RecentArrivals
    from cpsched.dispatch.decision_state import DecisionState
    from cpsched.dispatch.likely import RuntimeHistory, Urgency

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
        cost = self._costs(state, patience, urgency, order, proposals)
        gain = cost[0] - cost
        mean, played = gain.mean(axis=1), gain.shape[1]
        error = gain.std(axis=1, ddof=min(played - 1, 1)) / np.sqrt(played)
        chosen = int(np.argmax(mean - self._caution * error))
        return proposals[chosen], {
            stats.JUDGED: 1,
            stats.FOLLOWED + proposals[chosen].rule: 1,
            stats.GAIN_OVER_FIRST: float(mean[chosen] / cost[0].mean()),
        }

    def _costs(
        self,
        state: DecisionState,
        patience: float,
        urgency: Urgency,
        order: IntArray,
        proposals: Sequence[Proposal],
    ) -> FloatArray:
        """Return what each proposal costs in each scenario, played by the first jobs."""
        picked = _picked(proposals, order)
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
        jobs = scenarios.Jobs(
            turn=np.argsort(key[: len(picked)], kind="stable"),
            key=key,
            reserved=join([state.reserved[picked], coming.reserved]),
            area=join([urgency.area[picked], come.area]),
            submit=join([state.submit[picked], coming.ready]),
            demand=join([state.demand[picked], coming.demand]),
            ready=join([0 * picked + state.now, coming.ready]),
        )
        cost: FloatArray = scenarios.judge(
            state.now,
            np.array([proposal.starts[picked] for proposal in proposals]),
            likely.draw(self._num, seed, 0 * limit, limit),
            self._remaining(state, other_seed),
            jobs,
            scenarios.Running(promised, np.argsort(promised, kind="stable"), state.back),
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


class Proposal(NamedTuple):
    """What a rule would start; the name is recorded where its proposal is followed."""

    rule: str
    starts: BoolArray
    packed: IntArray


def proposals(
    state: DecisionState, orders: Mapping[str, IntArray], allocator: Allocator
) -> list[Proposal]:
    """
    Return what EASY would start in each order, different proposals only.

    The first is followed unless another is clearly better. All reserve for their first job that
    does not fit, so none lets an overdue job wait longer. The allocator's last pass must have been
    over the state's view.

    Parameters
    ----------
    orders
        Positions of the jobs by name of the order, those that go first in front.
    """
    passes: dict[str, IntArray] = {}
    for name, order in orders.items():
        rows = frozen(state.jobs.rows[order])
        passes[f"easy_{name}"] = easy_pass(state.reserving, rows, rows, allocator)
    found: dict[bytes, Proposal] = {}
    by_row = np.argsort(state.jobs.rows, kind="stable")
    for rule, packed in passes.items():
        starts = _starts(state, packed, by_row)
        found.setdefault(starts.tobytes(), Proposal(rule, starts, packed))
    return list(found.values())


def _starts(state: DecisionState, packed: IntArray, by_row: IntArray) -> BoolArray:
    """Return which jobs a pass starts; ``by_row`` are positions of jobs, sorted by row."""
    rows = state.jobs.rows
    started = packed[start_log.HEADER : start_log.HEADER + packed.item(0)]
    starts = np.zeros(len(rows), dtype=np.bool_)
    starts[by_row[np.searchsorted(rows, started, sorter=by_row)]] = True
    return starts
