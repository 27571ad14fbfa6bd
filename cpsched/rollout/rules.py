"""What could start now, as several rules see it; :mod:`cpsched.rollout.judge` chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.dispatch.passes import easy_pass, frozen, list_pass
from cpsched.kernels import scenarios, start_log

if TYPE_CHECKING:
    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.types import BoolArray, IntArray
    from cpsched.rollout.state import Situation


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


#: For the orders see :meth:`cpsched.rollout.state.Situation.rule_orders`. The gain of following
#: another is measured by the cost of the first.
RULES = (
    Rule("easy_slowdown", "slowdown", "slowdown", 1),
    Rule("easy_oldest", "fifo", "slowdown", 1),
    Rule("skip_slowdown", "slowdown", "slowdown", 0),
    Rule("easy_typical", "typical", "typical", 1),
    Rule("skip_typical", "typical", "typical", 0),
    Rule("easy_urgency", "urgency", "urgency", 1),
    Rule("skip_urgency", "urgency", "urgency", 0),
    Rule("oldest_urgency", "fifo", "urgency", 1),
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
        Where the starts go, if the rule knows nodes; see :func:`cpsched.kernels.start_log.packed`.
    """

    rule: Rule
    starts: BoolArray
    held: int
    shadow: int
    extra: IntArray
    packed: IntArray | None = None


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
            situation.reserved,
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
    found: dict[tuple[bytes, int], Proposal] = {}
    rows = situation.jobs.rows
    by_row = np.argsort(rows, kind="stable")
    for rule in RULES:
        packed = _pass(situation, rows, orders, rule, allocator)
        proposal = _unpacked(situation, rule, packed, by_row)
        found.setdefault((proposal.starts.tobytes(), proposal.held), proposal)
    return list(found.values())


def _unpacked(situation: Situation, rule: Rule, packed: IntArray, by_row: IntArray) -> Proposal:
    """Return what a pass proposes; ``by_row`` are positions of jobs, sorted by row."""
    rows = situation.jobs.rows
    count, shadow, reserves = packed.item(0), packed.item(3), packed.item(4)
    starts = np.zeros(len(rows), dtype=np.bool_)
    started = packed[start_log.HEADER : start_log.HEADER + count]
    starts[by_row[np.searchsorted(rows, started, sorter=by_row)]] = True
    held = int(by_row[np.searchsorted(rows, packed.item(2), sorter=by_row)]) if reserves else -1
    extra = _beside(situation, starts, held, shadow)
    return Proposal(rule, starts, held, shadow, extra, packed)


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
        return list_pass(situation.promised, order, allocator, stop=False, again=True)
    behind = frozen(rows[orders[rule.behind]])
    return easy_pass(situation.promised, order, behind, allocator, again=True)


def _beside(situation: Situation, starts: BoolArray, held: int, shadow: int) -> IntArray:
    """Return what is free on the pool beside the job held for and the starts that still run."""
    at = int(np.searchsorted(situation.times, shadow, side="right")) - 1
    lasting = starts & (situation.now + situation.reserved > shadow)
    taken = situation.demand[lasting].sum(axis=0)
    if held >= 0:
        taken = taken + situation.demand[held]
    left: IntArray = np.maximum(situation.level[max(at, 0)] - taken, 0)
    return left
