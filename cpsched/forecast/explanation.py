"""The content of an explanation as plain data; text and JSON are made from it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cpsched.dispatch.contract import WaitReason


class JobState(StrEnum):
    """State of a job after all events of a second, such as waiting or running."""

    STARTS = "starts"
    """It starts in this second."""
    WAITING = "waiting"
    HELD = "held"
    """Submitted, and kept out of the queue by its begin time or the job it depends on."""
    RUNNING = "running"
    ENDED = "ended"
    CANCELLED = "cancelled"
    NEVER_STARTED = "never-started"
    """It has left the queue, for it could never start."""
    REJECTED = "rejected"
    """It can never run on this system."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUnits:
    """
    Some nodes, and the number of tasks on each of them.

    Attributes
    ----------
    nodes
        Node list like ``n[1-16]``.
    units
        Number of tasks on each of these nodes.
    """

    nodes: str
    units: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """
    Demand of one job for one resource type, and the capacity for it.

    Attributes
    ----------
    demand
        Total amount that the job takes. The per-node request counts for the fewest possible nodes.
    free
        Free amount on all nodes.
    eligible
        Free amount on the nodes that the job may use.
    capacity
        Capacity of the whole system.
    units
        Number of tasks of the job that would fit if only this resource type mattered, at most all.
    """

    resource: str
    demand: int
    free: int
    eligible: int
    capacity: int
    units: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeCapacity:
    """
    Number of tasks of a job that fit on the free nodes, and what prevents more.

    Attributes
    ----------
    fits
        Whether the job could start if no other job waited.
    units
        Number of its tasks that fit, at most all.
    short
        Number of its tasks that do not fit.
    places
        Nodes with the number of tasks that fit on each, largest first.
    obstacle
        What prevents the start, in words. '' if the job fits.
    """

    fits: bool
    units: int
    short: int
    resources: tuple[Demand, ...]
    places: tuple[NodeUnits, ...]
    obstacle: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherJob:
    """
    Another job that is part of the reason why a job does not start.

    Attributes
    ----------
    rank
        Its place in the dispatcher's order, from 1.
    start, end
        Its start or planned start, and its expected end, seconds.
    nodes
        Its nodes, if known.
    """

    job_id: str
    units: int
    rank: int | None = None
    start: int | None = None
    end: int | None = None
    nodes: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """
    Request of a job, as known at submit.

    Attributes
    ----------
    units, request, per_node
        Number of tasks, amounts that each task needs, and additional amounts on each node.
    nodes_min, nodes_max
        Bounds on the number of its nodes. None: no upper bound.
    rules
        ``even``, ``contiguous``, ``exclusive`` if they apply. Segments and limit of switches in
        words.
    predicted
        Predicted runtime in the plan, seconds. None for a job that never entered the queue.
    """

    job_id: str
    queue: str | None
    user: str | None
    submit: int
    units: int
    request: dict[str, int]
    per_node: dict[str, int]
    nodes_min: int
    nodes_max: int | None
    rules: tuple[str, ...]
    requested_time: int
    predicted: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitCause:
    """
    Reason why a waiting job does not start, with the jobs and times involved.

    Attributes
    ----------
    reason
        The decisive reason.
    room
        Free capacity for the job before any job starts in this decision.
    before
        Jobs before it in the order that start now.
    ahead
        The job that its start would delay, that it must not overtake, or behind which the
        dispatcher does not consider it. None if there is none.
    waits_for
        Running jobs, including those that start now, whose ends free enough for it if no other job
        starts, in order of expected end.
    could_start
        The second when these jobs have ended. None if it fits already.
    would_end
        Its expected end if it were started now, seconds.
    planned, planned_nodes
        The second and the nodes of its planned start, if the dispatcher plans.
    open_ended
        Whether the planned start of this job, or of ``ahead``, follows from the end of a job
        without a known time limit.
    asked_again
        The second at which the dispatcher is called next even if nothing happens. None: never.
    note
        Further information of the dispatcher: the limit that stops the job, why it can never start,
        or the depth, window or interval that excludes it.
    """

    reason: WaitReason
    room: FreeCapacity
    before: tuple[OtherJob, ...] = ()
    ahead: OtherJob | None = None
    waits_for: tuple[OtherJob, ...] = ()
    could_start: int | None = None
    would_end: int | None = None
    planned: int | None = None
    planned_nodes: str | None = None
    open_ended: bool = False
    asked_again: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """
    State of a job at a second, and the reason for it.

    Attributes
    ----------
    time
        The second in question.
    decided
        The second of the last decision by then. None: there was none.
    next_decision
        The earliest second of the next decision, if no decision has considered the job yet.
    summary
        The answer in one sentence.
    rank, queue_length
        Place of the job in the dispatcher's order (from 1, None without an order), and number of
        jobs that waited at the decision.
    num_running
        Number of jobs that ran at the decision, before it started any.
    start, end
        Its start, and its end or expected end, seconds.
    places
        The nodes on which it runs, with its tasks on each.
    reason
        Why a job is held or rejected, starts, or could never start.
    waiting
        Why a waiting job does not start.
    overtaken
        Number of jobs submitted after it that have started, for a job that waits or is held.
    epoch
        Unix time of second 0, or None.
    same_id
        Number of jobs of the log with this id. The explanation is of the last one submitted by
        then.
    """

    dispatcher: str
    predictor: str
    time: int
    decided: int | None
    job: JobRequest
    state: JobState
    summary: str
    rank: int | None = None
    queue_length: int | None = None
    num_running: int | None = None
    next_decision: int | None = None
    start: int | None = None
    end: int | None = None
    places: tuple[NodeUnits, ...] = ()
    reason: str | None = None
    waiting: WaitCause | None = None
    overtaken: int | None = None
    epoch: int | None = None
    same_id: int = 1
    stats: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """
        Return the explanation as plain JSON types.

        The keys stay the same under one ``schema``.
        """
        return {"schema": "cpsched.explain/1", **asdict(self)}
