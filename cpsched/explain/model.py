"""What an explanation says, as plain data: the text and the JSON are made of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cpsched.dispatch.contract import WaitReason


class JobState(StrEnum):
    """Where a job stands once everything of an instant has happened."""

    STARTS = "starts"
    """It starts at this very second."""
    WAITING = "waiting"
    HELD = "held"
    """Submitted, and kept out of the queue by its begin time or the job it depends on."""
    RUNNING = "running"
    ENDED = "ended"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    """It can never run on this system."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """
    Some nodes and what lies on each of them.

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
        What the job takes in all; where it needs something per node, with the fewest
        nodes it may touch.
    free
        What all nodes have to give.
    eligible
        What the nodes it may use have to give.
    capacity
        What the whole machine holds.
    units
        For how many of its units this resource alone would do, node by node, at most all.
    """

    resource: str
    demand: int
    free: int
    eligible: int
    capacity: int
    units: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """
    What the free nodes hold of a job.

    Attributes
    ----------
    fits
        Whether it could start, were it alone.
    units
        How many of its units there is room for, at most all.
    short
        How many are left over.
    places
        Which nodes have room for how many, most first.
    obstacle
        What is in the way where it does not fit; '' where it does.
    """

    fits: bool
    units: int
    short: int
    resources: tuple[Demand, ...]
    places: tuple[Place, ...]
    obstacle: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NearestNode:
    """
    The node that is the first to have room for a job's share of it, of those that have not.

    Attributes
    ----------
    units, room
        How many units the job would have there, and for how many there is room now.
    resource
        The kind that is shortest there.
    free, needed, capacity
        Of that kind: what is free now, what the share takes, and what the node has.
    at
        When there is room, as running jobs are expected to end and no other starts, seconds.
    """

    node: str
    units: int
    room: int
    resource: str
    free: int
    needed: int
    capacity: int
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherJob:
    """
    A job that has to do with why ours does not start.

    Attributes
    ----------
    rank
        Its place in the dispatcher's order, from 1.
    start, end
        When it started, starts or is planned to start, and is expected to end, seconds.
    nodes
        Where, if that is known.
    """

    job_id: str
    units: int
    rank: int | None = None
    start: int | None = None
    end: int | None = None
    nodes: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """
    What is known of the job at submit.

    Attributes
    ----------
    units, request, per_node
        Number of units, what one needs, and what is needed on each node in addition.
    nodes_min, nodes_max
        Bounds on the nodes it touches; None: no upper bound.
    rules
        ``even``, ``contiguous``, ``exclusive`` where they hold; segments, limit of switches and box
        in words.
    predicted
        Runtime the plan reckons with, seconds; None for a job that never entered the queue.
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
class Waiting:
    """
    Why a job that waits does not start.

    Attributes
    ----------
    reason
        The reason that decides.
    room
        What is free before any job starts in this decision.
    before
        Jobs that start now and go before it.
    ahead
        The job that its start would delay, or that it may not overtake; None if neither.
    waits_for
        Running jobs whose ends make room for it, if no other job starts, by expected end; jobs
        that start now are among them.
    could_start
        When these have ended, seconds; None where it fits already.
    nearest
        The node that has room for its share next; None where room is not what it lacks.
    would_end
        When the dispatcher would expect it to end, were it started now.
    planned, planned_nodes
        When and where the dispatcher plans to start it, where it plans.
    asked_again
        When the dispatcher wants to be asked next, whatever happens until then; None: never.
    note
        What the dispatcher says of it besides: with the reason ``LIMIT`` the limit's name.
    """

    reason: WaitReason
    room: Room
    before: tuple[OtherJob, ...] = ()
    ahead: OtherJob | None = None
    waits_for: tuple[OtherJob, ...] = ()
    could_start: int | None = None
    nearest: NearestNode | None = None
    would_end: int | None = None
    planned: int | None = None
    planned_nodes: str | None = None
    asked_again: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """
    Where a job stands at a second, and why.

    Attributes
    ----------
    time
        The second asked about.
    decided
        When the dispatcher was last asked by then; None: never.
    next_decision
        When it is asked next at the earliest, where the job waits to be seen at all.
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
        Of a job that is held or rejected, or that starts: why.
    waiting
        Of a job that waits: why it does not start.
    overtaken
        How many jobs have started that were submitted after one that waits or is held.
    epoch
        Unix time of second 0, or None.
    same_id
        How many jobs of the log have this id; the last submitted by then is meant.
    """

    dispatcher: str
    predictor: str
    time: int
    decided: int | None
    job: Asked
    state: JobState
    summary: str
    rank: int | None = None
    queue_length: int | None = None
    num_running: int | None = None
    next_decision: int | None = None
    start: int | None = None
    end: int | None = None
    places: tuple[Place, ...] = ()
    reason: str | None = None
    waiting: Waiting | None = None
    overtaken: int | None = None
    epoch: int | None = None
    same_id: int = 1
    stats: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON types; what is there stays under this schema."""
        return {"schema": "cpsched.explain/1", **asdict(self)}
