"""The content of an explanation as plain data; text and JSON are made from it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cpsched.dispatch.contract import WaitReason


class JobState(StrEnum):
    """The state of a job after all events of an instant."""

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
    Some nodes, and the units on each of them.

    Attributes
    ----------
    nodes
        Node list like ``n[1-16]``.
    units
        Units on each of them.
    """

    nodes: str
    units: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """
    One resource kind, seen by one job.

    Attributes
    ----------
    demand
        What the job takes in total; needs per node are counted for the fewest nodes it may use.
    free
        What is free on all nodes.
    eligible
        What is free on the nodes that it may use.
    capacity
        What the whole machine holds.
    units
        For how many of its units this resource alone would suffice, node by node; at most all.
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
    How much of a job fits on the free nodes.

    Attributes
    ----------
    fits
        Whether it could start if it were alone.
    units
        For how many of its units there is room; at most all.
    short
        For how many there is no room.
    places
        The nodes and how many units each has room for, most first.
    obstacle
        What is in the way if it does not fit; '' if it does.
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
    A job that is part of the reason why this one does not start.

    Attributes
    ----------
    rank
        Its place in the dispatcher's order, from 1.
    start, end
        When it started, starts or is planned to start, and is expected to end, seconds.
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
    What is known about the job at submit.

    Attributes
    ----------
    units, request, per_node
        Number of units, what each unit needs, and what is needed on each node in addition.
    nodes_min, nodes_max
        Bounds on the number of its nodes; None: no upper bound.
    rules
        ``even``, ``contiguous``, ``exclusive`` where they hold; segments and limit of switches in
        words.
    predicted
        Runtime used in the plan, seconds; None for a job that never entered the queue.
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
    Why a waiting job does not start.

    Attributes
    ----------
    reason
        The reason that decides.
    room
        What is free before any job starts in this decision.
    before
        Jobs before it in the order that start now.
    ahead
        The job that its start would delay, that it must not overtake, or behind which the
        dispatcher does not consider it; None if there is none.
    waits_for
        Running jobs, including those that start now, whose ends make room for it if no other job
        starts; by expected end.
    could_start
        When these have ended, seconds; None if it fits already.
    would_end
        Its expected end if it were started now.
    planned, planned_nodes
        When and where the dispatcher plans to start it, if it plans.
    open_ended
        Whether the start that is planned, of this job or of ``ahead``, follows from the end of a
        job without a known time limit.
    asked_again
        When the dispatcher asks to be called next even if nothing happens; None: never.
    note
        What else the dispatcher says about it: the limit that holds it, why it can never start, or
        the depth, window or interval for which it is not considered.
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
    The state of a job at a second, and why.

    Attributes
    ----------
    time
        The second asked about.
    decided
        When the dispatcher was last called by then; None: never.
    next_decision
        When it is called next at the earliest, if it has not seen the job yet.
    summary
        The answer in one sentence.
    rank, queue_length
        Place of the job in the dispatcher's order (from 1; None where it has none), and how many
        jobs waited at the decision.
    num_running
        Jobs that ran at the decision, before it started any.
    start, end
        When it started or starts, and ended or is expected to end, seconds.
    places
        Where it runs.
    reason
        Why a job is held or rejected, starts, or could never start.
    waiting
        Why a waiting job does not start.
    overtaken
        How many jobs submitted after it have started, for a job that waits or is held.
    epoch
        Unix time of second 0, or None.
    same_id
        How many jobs of the log have this id; the explanation is of the last one submitted by then.
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
        """Return everything as plain JSON types; keys stay as they are under this schema."""
        return {"schema": "cpsched.explain/1", **asdict(self)}
