"""The rules of schedules, and what is said where one is broken."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Rule(StrEnum):
    """What must hold of every schedule; violations are listed in this order."""

    SHAPE = "shape"
    """Every column has one value for each job or segment, and segments belong to jobs of the
    workload. If not, nothing else is checked."""
    OUTCOME = "outcome"
    """Every job has one outcome and exactly the times that belong to it: start and end if it ran,
    an end only if it was cancelled, none if it was rejected."""
    REJECTED = "rejected"
    """Exactly the rejected jobs have a reason."""
    SUBMIT = "submit"
    """No job starts, or is cancelled, before it is submitted."""
    BEGIN = "begin"
    """No job starts before its begin time."""
    CANCEL = "cancel"
    """No job waits or runs beyond the second at which the workload cancels it."""
    DEPENDENCY = "dependency"
    """No job starts before the one it depends on has ended or was cancelled, unless that one was
    rejected."""
    RUNTIME = "runtime"
    """A job runs as long as the log says, under ``kill`` at most its requested time."""
    TIMEOUT = "timeout"
    """Exactly the jobs cut by ``kill`` are timed out."""
    RESTART = "restart"
    """Only restartable jobs, and those on a node that fails, are cut short and start again; what is
    cut short is over then."""
    ALLOCATION = "allocation"
    """Jobs that ran hold nodes, others never do."""
    COVER = "cover"
    """A job holds nodes from its (last) start to its end without a gap, the same ones all along
    unless it is malleable or evolving."""
    NODES = "nodes"
    """The nodes exist, and a job holds each at most once."""
    UNITS = "units"
    """Every node has at least one unit, and a job has as many as it asks for."""
    BOUNDS = "bounds"
    """A job touches at least ``nodes_min`` and at most ``nodes_max`` nodes."""
    SPLIT = "split"
    """Every node has the same number of units where the job asks for an even split."""
    CONTIGUOUS = "contiguous"
    """Nodes are consecutive where the job asks for consecutive nodes."""
    SEGMENT = "segment"
    """Each segment of a job lies inside one group of the topology's lowest level: the nodes in each
    group are a multiple of it."""
    MAX_SWITCHES = "max-switches"
    """A job touches at most ``max_switches`` groups of the lowest level, unless it has waited for
    ``switch_wait``."""
    ELIGIBLE = "eligible"
    """The job's queue and constraint allow the nodes."""
    AMOUNT = "amount"
    """What is taken of a node is units times request plus ``per_node``, in a range up to
    ``per_node_max``; all of it by an exclusive job, whose units must fit."""
    OUTAGE = "outage"
    """No job is on a node while the node is down."""
    PLANNED_OUTAGE = "planned-outage"
    """No job of fixed size starts on a node that is known to go down within its requested time."""
    CAPACITY = "capacity"
    """At no instant is more taken of a node than it has."""
    PREDICTION = "prediction"
    """Predictions are what the predictor may have answered: ``requested`` and ``actual`` (without
    ``sigma``) exactly that, others 1 s to the requested time where they are clipped to it."""


@dataclass(frozen=True, slots=True)
class Violation:
    """
    A rule that a schedule breaks, once.

    Attributes
    ----------
    rule
        Which one.
    job_id
        The job it is about, None if it is about no single one.
    message
        Which job, what was found and what was expected, on one line.
    total
        How often the rule is broken in all; only the first ones are listed.
    """

    rule: Rule
    job_id: str | None
    message: str
    total: int
