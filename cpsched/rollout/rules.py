"""What several rules would start now, on nodes; :mod:`cpsched.rollout.judge` chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.dispatch.decision_state import highest_first
from cpsched.dispatch.passes import easy_pass, frozen, list_pass
from cpsched.kernels import start_log

if TYPE_CHECKING:
    from cpsched.dispatch.allocators import Allocator
    from cpsched.dispatch.decision_state import DecisionState
    from cpsched.likely import Likely
    from cpsched.model.types import BoolArray, IntArray


class Rule(NamedTuple):
    """
    A rule that proposes starts.

    Attributes
    ----------
    order, behind
        Which jobs come first, and the order in which others are tried behind reservations.
    depth
        How many reservations.
    """

    name: str
    order: str
    behind: str
    depth: int


#: For the orders see :func:`orders`. The gain of following another is measured by the cost of the
#: first.
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
        Where the starts go, see :func:`cpsched.kernels.start_log.packed`.
    """

    rule: Rule
    starts: BoolArray
    held: int
    shadow: int
    extra: IntArray
    packed: IntArray


def orders(state: DecisionState, likely: Likely, patience: float) -> dict[str, IntArray]:
    """
    Return the orders that rules name, as positions of jobs, most urgent first.

    By slowdown with the predicted and with the typical runtime, by urgency, and by age.
    """
    urgency = likely.urgency(state.now - state.submit, state.share, patience)
    return {
        "slowdown": highest_first(state.waited(state.estimate)),
        "typical": highest_first(state.waited(likely.typical())),
        "urgency": highest_first(urgency),
        "fifo": np.arange(len(state.jobs), dtype=np.int64),
    }


def proposals(
    state: DecisionState, orders: dict[str, IntArray], allocator: Allocator
) -> list[Proposal]:
    """
    Return the rules' proposals, each distinct one once.

    The allocator's last pass must have been over the state's view.
    """
    found: dict[tuple[bytes, int], Proposal] = {}
    by_row = np.argsort(state.jobs.rows, kind="stable")
    for rule in RULES:
        packed = _pass(state, orders, rule, allocator)
        proposal = _unpacked(state, rule, packed, by_row)
        found.setdefault((proposal.starts.tobytes(), proposal.held), proposal)
    return list(found.values())


def _unpacked(state: DecisionState, rule: Rule, packed: IntArray, by_row: IntArray) -> Proposal:
    """Return what a pass proposes; ``by_row`` are positions of jobs, sorted by row."""
    rows = state.jobs.rows
    count, shadow, reserves = packed.item(0), packed.item(3), packed.item(4)
    starts = np.zeros(len(rows), dtype=np.bool_)
    started = packed[start_log.HEADER : start_log.HEADER + count]
    starts[by_row[np.searchsorted(rows, started, sorter=by_row)]] = True
    held = int(by_row[np.searchsorted(rows, packed.item(2), sorter=by_row)]) if reserves else -1
    extra = _beside(state, starts, held, shadow)
    return Proposal(rule, starts, held, shadow, extra, packed)


def _pass(
    state: DecisionState, orders: dict[str, IntArray], rule: Rule, allocator: Allocator
) -> IntArray:
    """Let a rule make its pass over the queue."""
    rows = state.jobs.rows
    order = frozen(rows[orders[rule.order]])
    if not rule.depth:
        return list_pass(state.reserving, order, allocator, stop=False)
    behind = frozen(rows[orders[rule.behind]])
    return easy_pass(state.reserving, order, behind, allocator)


def _beside(state: DecisionState, starts: BoolArray, held: int, shadow: int) -> IntArray:
    """Return what is free on the pool beside the job held for and the starts that still run."""
    at = int(np.searchsorted(state.times, shadow, side="right")) - 1
    lasting = starts & (state.now + state.reserved > shadow)
    taken = state.demand[lasting].sum(axis=0)
    if held >= 0:
        taken = taken + state.demand[held]
    left: IntArray = np.maximum(state.level[max(at, 0)] - taken, 0)
    return left
