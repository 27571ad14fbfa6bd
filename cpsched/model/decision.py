"""What a dispatcher answers: what starts now, and what it thinks comes next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cpsched.model.allocation import Allocation
    from cpsched.model.types import IntArray


class Start(NamedTuple):
    """Start a waiting job now, on these nodes."""

    handle: int
    allocation: Allocation


class Resize(NamedTuple):
    """Give a running malleable job another allocation."""

    handle: int
    allocation: Allocation


class Suspend(NamedTuple):
    """Take a running job off its nodes and put it back in the queue."""

    handle: int


class Kill(NamedTuple):
    """End a running job now."""

    handle: int


Action = Start | Resize | Suspend | Kill


@dataclass(frozen=True, slots=True)
class Plan:
    """
    Planned starts of waiting jobs.

    Attributes
    ----------
    handle, start
        Which jobs, and the second each is planned to start; shape ``(P,)``.
    nodes
        Node indices for jobs whose place is planned too, by handle.
    """

    handle: IntArray
    start: IntArray
    nodes: Mapping[int, IntArray] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decision:
    """
    A dispatcher's answer to one view.

    Attributes
    ----------
    actions
        Carried out in this order; each is checked first.
    plan
        Where the dispatcher plans ahead.
    again_at
        Wake the dispatcher at this second even if nothing happens until then.
    stats
        Numbers about how the decision was found, summed up in the run's record.
    notes
        Why a job does not start, by handle.
    """

    actions: Sequence[Action] = ()
    plan: Plan | None = None
    again_at: int | None = None
    stats: Mapping[str, float] = field(default_factory=dict)
    notes: Mapping[int, str] = field(default_factory=dict)


#: Nothing starts, nothing is planned.
NOTHING = Decision()
