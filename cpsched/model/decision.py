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
    """
    Action of a dispatcher: start a waiting job now on given nodes.

    Attributes
    ----------
    handle
        Handle of the job, see ``JobTable.handle``.
    allocation
        Nodes of the job, with its tasks and resources on each.
    """

    handle: int
    allocation: Allocation


class Resize(NamedTuple):
    """
    Action of a dispatcher: move a running malleable or evolving job to another allocation.

    The new allocation replaces the whole of the old one. The job makes no progress for its
    ``resize_cost`` seconds. A job cannot be changed twice in one second, nor in the second of its
    start.
    """

    handle: int
    allocation: Allocation


class Suspend(NamedTuple):
    """
    Action of a dispatcher: return a running restartable job to the queue with all its progress.

    A later :class:`Start` resumes the job, on any nodes. Starting again takes ``restart_cost`` more
    seconds.
    """

    handle: int


class Requeue(NamedTuple):
    """
    Action of a dispatcher: return a running restartable job to its place in the queue.

    The job loses the work done since its last checkpoint.
    """

    handle: int


class Kill(NamedTuple):
    """Action of a dispatcher: end a running job now, for good."""

    handle: int


Action = Start | Requeue | Resize | Suspend | Kill


class PlannedStarts(NamedTuple):
    """
    Planned starts of waiting jobs, such as the reservations of a backfilling dispatcher.

    For example, job 7 planned for second 3600: ``handle=[7]``, ``start=[3600]``.

    Attributes
    ----------
    handle
        Handles of the P planned jobs.
    start
        The second of the planned start of each of these jobs.
    nodes
        Planned node indices by handle, only for jobs with planned nodes.
    units
        Planned number of tasks on each of these nodes by handle, if the plan includes them.
    """

    handle: Sequence[int]
    start: Sequence[int]
    nodes: Mapping[int, IntArray] = _EMPTY
    units: Mapping[int, IntArray] = _EMPTY


class Decision(NamedTuple):
    """
    Decision of a dispatcher: the jobs to start now, other actions, and planned starts.

    Attributes
    ----------
    actions
        Starts, and changes of running jobs, in the order in which they are checked and carried out.
    planned_starts
        Planned starts of jobs that stay in the queue. None if the dispatcher does not plan ahead.
    again_at
        The second at which the dispatcher is called again even without an event. It must be later
        than now, or equal to now if there are actions: the call then follows the actions.
    stats
        Counts by name. The summary of a run has the sum over all decisions.
    """

    actions: Sequence[Action] = ()
    planned_starts: PlannedStarts | None = None
    again_at: int | None = None
    stats: Mapping[str, float] = _EMPTY


#: Nothing starts, nothing is planned.
NOTHING = Decision()
