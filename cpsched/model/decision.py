"""What a dispatcher answers: what starts now, and what it thinks comes next."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.model.allocation import Allocation
    from cpsched.util.types import IntArray


_EMPTY: Mapping[Any, Any] = MappingProxyType({})


class Start(NamedTuple):
    """Start a waiting job now, on these nodes."""

    handle: int
    allocation: Allocation


class Resize(NamedTuple):
    """
    Give a running malleable or evolving job another allocation: all that it holds from now on.

    It makes no progress for its ``resize_cost``. A job may be changed once a second, and not in
    the second in which it starts.
    """

    handle: int
    allocation: Allocation


class Suspend(NamedTuple):
    """
    Save what a running job has done, take it off its nodes and put it back in the queue.

    It may only be done to jobs that are ``restartable``; nothing is lost but what starting again
    costs. A job resumes by :class:`Start`, on any nodes.
    """

    handle: int


class Requeue(NamedTuple):
    """
    Take a running job off its nodes and put it back in the queue, at its place.

    It may only be done to jobs that are ``restartable``. What the job has done since its last
    checkpoint is lost.
    """

    handle: int


class Kill(NamedTuple):
    """End a running job now, for good."""

    handle: int


Action = Start | Requeue | Resize | Suspend | Kill


class PlannedStarts(NamedTuple):
    """
    Planned starts of waiting jobs.

    Attributes
    ----------
    handle, start
        Which jobs, and the second each is planned to start; P of each.
    nodes
        Node indices for jobs whose place is planned too, by handle.
    units
        How many units go on each of these nodes, where that is planned too, by handle.
    """

    handle: Sequence[int]
    start: Sequence[int]
    nodes: Mapping[int, IntArray] = _EMPTY
    units: Mapping[int, IntArray] = _EMPTY


class Decision(NamedTuple):
    """
    A dispatcher's answer to one view.

    Attributes
    ----------
    actions
        Carried out in this order; each is checked first.
    planned_starts
        Where the dispatcher plans ahead.
    again_at
        Wake the dispatcher at this second even if nothing happens until then. With actions it may
        be the present second: the dispatcher is asked again once they are carried out.
    stats
        Numbers about how the decision was found, summed up in the run's record.
    """

    actions: Sequence[Action] = ()
    planned_starts: PlannedStarts | None = None
    again_at: int | None = None
    stats: Mapping[str, float] = _EMPTY


#: Nothing starts, nothing is planned.
NOTHING = Decision()
