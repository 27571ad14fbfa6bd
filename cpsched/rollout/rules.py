"""What a few rules would start now, on nodes; :mod:`cpsched.rollout.judge` chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.dispatch.passes import easy_pass, frozen, list_pass
from cpsched.kernels import start_log

if TYPE_CHECKING:
    from cpsched.base.types import BoolArray, IntArray
    from cpsched.dispatch.allocators import Allocator
    from cpsched.dispatch.decision_state import DecisionState


class Rule(NamedTuple):
    """
    A rule that proposes starts.

    Attributes
    ----------
    oldest_first
        Whether the job that has waited longest comes before all others, which come by urgency.
    reserves
        Whether the first that does not fit gets a reservation.
    """

    name: str
    oldest_first: bool
    reserves: bool


#: The first is the one that is followed unless another is clearly better.
RULES = (
    Rule("easy_urgency", oldest_first=False, reserves=True),
    Rule("skip_urgency", oldest_first=False, reserves=False),
    Rule("easy_oldest", oldest_first=True, reserves=True),
)


class Proposal(NamedTuple):
    """
    What a rule would start.

    Attributes
    ----------
    starts
        bool, shape ``(n,)``.
    packed
        Where the starts go, see :func:`cpsched.kernels.start_log.packed`.
    """

    rule: Rule
    starts: BoolArray
    packed: IntArray


def proposals(state: DecisionState, order: IntArray, allocator: Allocator) -> list[Proposal]:
    """
    Return the rules' proposals, each distinct one once.

    The allocator's last pass must have been over the state's view.

    Parameters
    ----------
    order
        Positions of the jobs, most urgent first.
    """
    found: dict[bytes, Proposal] = {}
    by_row = np.argsort(state.jobs.rows, kind="stable")
    for rule in RULES:
        packed = _pass(state, order, rule, allocator)
        starts = _starts(state, packed, by_row)
        found.setdefault(starts.tobytes(), Proposal(rule, starts, packed))
    return list(found.values())


def _pass(state: DecisionState, order: IntArray, rule: Rule, allocator: Allocator) -> IntArray:
    """Let a rule make its pass over the queue."""
    if rule.oldest_first:
        order = np.concatenate([[0], order[order != 0]])
    rows = frozen(state.jobs.rows[order])
    if rule.reserves:
        return easy_pass(state.reserving, rows, rows, allocator)
    return list_pass(state.reserving, rows, allocator, stop=False)


def _starts(state: DecisionState, packed: IntArray, by_row: IntArray) -> BoolArray:
    """Return which jobs a pass starts; ``by_row`` are positions of jobs, sorted by row."""
    rows = state.jobs.rows
    started = packed[start_log.HEADER : start_log.HEADER + packed.item(0)]
    starts = np.zeros(len(rows), dtype=np.bool_)
    starts[by_row[np.searchsorted(rows, started, sorter=by_row)]] = True
    return starts
