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
    """Start of a waiting job now on these nodes."""

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
        The P jobs, and the second of the planned start of each.
    nodes
        Planned node indices by handle, for jobs with planned nodes.
    units
        Planned numbers of tasks on these nodes by handle, if these are planned too.
    """

    handle: Sequence[int]
    start: Sequence[int]
    nodes: Mapping[int, IntArray] = _EMPTY
    units: Mapping[int, IntArray] = _EMPTY


class Decision(NamedTuple):
    """
    Decision of a dispatcher for one view.

    Attributes
    ----------
    actions
        Actions in the order in which they are checked and carried out.
    planned_starts
        Planned starts, if the dispatcher plans ahead.
    again_at
        The second at which the dispatcher is called again even without an event. With actions it
        may be the present second: the call follows when they are carried out.
    stats
        Counts of the decision, summed up in the run's record.
    """

    actions: Sequence[Action] = ()
    planned_starts: PlannedStarts | None = None
    again_at: int | None = None
    stats: Mapping[str, float] = _EMPTY


#: Nothing starts, nothing is planned.
NOTHING = Decision()
