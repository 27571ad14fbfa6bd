"""
What could start now, as several rules see it, and which of that is expected to cost least.

The idea is that of rollouts: every proposal is played to the end of the queue under one simple
rule in scenarios which draw each job's runtime from past errors (running jobs on condition that
they have run this long) and let the last arrivals come once more. No rule in a scenario knows its
runtimes, so waiting looks no better than it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.dispatch.passes import easy_pass, frozen, list_pass
from cpsched.kernels import passes, scenarios

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.cp.experience import Experience
    from cpsched.cp.situation import Situation
    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.types import BoolArray, FloatArray, IntArray

#: Jobs of the queue that scenarios play, first by slowdown; and all that a proposal is about.
_WINDOW = 64


class Rule(NamedTuple):
    """
    A rule that proposes starts.

    Attributes
    ----------
    order, behind
        Who comes first, and in which order the others are tried behind the reservations.
    depth
        How many reservations.
    """

    name: str
    order: str
    behind: str
    depth: int


#: ``slowdown`` by the prediction, ``typical`` by the runtime to expect in the light of errors.
RULES = (
    Rule("easy_slowdown", "slowdown", "slowdown", 1),
    Rule("easy_oldest", "fifo", "slowdown", 1),
    Rule("skip_slowdown", "slowdown", "slowdown", 0),
    Rule("easy_typical", "typical", "typical", 1),
    Rule("skip_typical", "typical", "typical", 0),
)


class Proposal(NamedTuple):
    """
    What a rule would start.

    Attributes
    ----------
    starts
        bool, shape ``(n,)``.
    held, shadow
        The first job it reserves for (-1: none), and from when on.
    extra
        What is free beside the job held for, at that second, shape ``(R,)``.
    packed
        Where the starts go, if the rule knows nodes; see :func:`cpsched.kernels.passes.packed`.
    """

    rule: Rule
    starts: BoolArray
    held: int
    shadow: int
    extra: IntArray
    packed: IntArray | None = None


def orders_of(situation: Situation) -> dict[str, IntArray]:
    """Return the orders that rules name, as positions of jobs."""
    waited = situation.now - situation.submit
    return {
        "slowdown": np.argsort(-waited / situation.plan, kind="stable"),
        "typical": np.argsort(-waited / situation.typical, kind="stable"),
        "fifo": np.arange(len(situation.jobs), dtype=np.int64),
    }


def on_the_pool(
    situation: Situation, orders: dict[str, IntArray], barred: BoolArray
) -> list[Proposal]:
    """Return the rules' proposals on the machine as one pool, each distinct one once."""
    found: dict[tuple[bytes, int], Proposal] = {}
    for rule in RULES:
        starts, held, shadow, extra = scenarios.propose(
            orders[rule.order],
            orders[rule.behind],
            rule.depth,
            barred,
            situation.plan,
            situation.demand,
            situation.times,
            situation.level,
        )
        proposal = Proposal(rule, starts, int(held), int(shadow), extra)
        found.setdefault((starts.tobytes(), proposal.held), proposal)
    return list(found.values())


def on_nodes(
    situation: Situation, orders: dict[str, IntArray], allocator: Allocator
) -> list[Proposal]:
    """
    Return the rules' proposals on nodes, each distinct one once.

    The allocator's last pass must have been over the situation's view.
    """
    distinct: dict[tuple[bytes, int], Proposal] = {}
    rows = situation.jobs.rows
    by_row = np.argsort(rows, kind="stable")

    def positions(some: IntArray) -> IntArray:
        found: IntArray = by_row[np.searchsorted(rows, some, sorter=by_row)]
        return found

    for rule in RULES:
        packed = _pass(situation, rows, orders, rule, allocator)
        count = packed.item(0)
        starts = np.zeros(len(rows), dtype=np.bool_)
        starts[positions(packed[passes.HEADER : passes.HEADER + count])] = True
        held, shadow = -1, packed.item(3)
        if packed.item(4):
            held = int(positions(packed[2:3])[0])
        extra = _beside(situation, starts, held, shadow)
        proposal = Proposal(rule, starts, held, shadow, extra, packed)
        distinct.setdefault((starts.tobytes(), held), proposal)
    return list(distinct.values())


def _pass(
    situation: Situation,
    rows: IntArray,
    orders: dict[str, IntArray],
    rule: Rule,
    allocator: Allocator,
) -> IntArray:
    """Let a rule make its pass over the queue."""
    order = frozen(rows[orders[rule.order]])
    if not rule.depth:
        return list_pass(situation.view, order, allocator, stop=False, again=True)
    behind = frozen(rows[orders[rule.behind]])
    return easy_pass(situation.view, order, behind, allocator, again=True)


def _beside(situation: Situation, starts: BoolArray, held: int, shadow: int) -> IntArray:
    """Return what is free on the pool beside the job held for and the starts that still run."""
    at = int(np.searchsorted(situation.times, shadow, side="right")) - 1
    lasting = starts & (situation.now + situation.plan > shadow)
    taken = situation.demand[lasting].sum(axis=0)
    if held >= 0:
        taken = taken + situation.demand[held]
    left: IntArray = np.maximum(situation.level[max(at, 0)] - taken, 0)
    return left


class Scenarios:
    """
    Runtimes and arrivals as they may come.

    Parameters
    ----------
    num
        How many.
    patience
        Seconds; see :func:`cpsched.kernels.scenarios.job_cost`.
    """

    def __init__(self, num: int, patience: int) -> None:
        self._num = num
        self._patience = float(patience)

    def judge(
        self,
        situation: Situation,
        experience: Experience,
        proposals: Sequence[Proposal],
        ranked: IntArray,
        barred: BoolArray,
        seed: int,
    ) -> FloatArray:
        """
        Return what each proposal is expected to cost.

        Parameters
        ----------
        ranked
            All jobs' positions, most urgent first.
        barred
            Jobs that cannot start now.
        """
        now = situation.now
        picked, held = _picked(proposals, ranked, barred)
        coming = experience.arrivals(now, situation.demand.shape[1])
        join = np.concatenate
        user = join([situation.user[picked], coming.user])
        plan = join([situation.plan[picked], coming.plan])
        limit = join([situation.limit[picked], coming.limit])
        zeros = np.zeros(len(plan), dtype=np.int64)
        running = situation.view.running
        elapsed = now - running.start
        expected = np.maximum(running.expected_end - running.start, elapsed + 1)
        owner, predicted = experience.users(running), np.maximum(running.plan, 1)
        at_most = np.maximum(running.requested_time, 1)
        draw, num = experience.draw, self._num
        cost: FloatArray = scenarios.judge(
            now,
            len(picked),
            np.array([proposal.starts[picked] for proposal in proposals]),
            held,
            np.array([proposal.shadow for proposal in proposals], dtype=np.int64),
            np.array([proposal.extra for proposal in proposals]),
            draw(num, seed, user, plan, zeros, plan, limit),
            plan,
            join(
                [
                    situation.typical[picked],
                    experience.typical(coming.user, coming.plan, coming.limit),
                ]
            ),
            join([situation.submit[picked], coming.ready]),
            join([situation.demand[picked], coming.demand]),
            join([np.full(len(picked), now, dtype=np.int64), coming.ready]),
            draw(num, _another(seed), owner, predicted, elapsed, expected, at_most) - elapsed,
            situation.back,
            situation.level[0],
            self._patience,
        )
        return cost


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
