"""A live Slurm at one time: its jobs and nodes, and the errors of reading them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cpsched.errors import CpschedError
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from collections.abc import Mapping

#: States in which a job holds nodes.
HOLDING = frozenset(
    ("RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT")
)
PENDING = "PENDING"
#: Node states, or flags, in which no job starts.
_CLOSED = frozenset(
    (
        *("DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "ERROR", "MAINT", "UNKNOWN"),
        *("FUTURE", "NOT_RESPONDING", "NO_RESPOND", "POWERED_DOWN", "POWERING_DOWN", "POWERING_UP"),
        *("POWER_DOWN", "POWER_UP", "REBOOT", "REBOOT_REQUESTED", "REBOOT_ISSUED", "RESERVED"),
        *("POWERED", "INVAL", "INVALID_REG", "BLOCKED"),
    )
)


class UnreachableError(CpschedError, ConnectionError):
    """Slurm does not answer now."""


class UnreadableError(CpschedError, ValueError):
    """Slurm's answer cannot be read; names the field and the value."""


@dataclass(frozen=True, slots=True)
class Placed:
    """The part of a job's allocation on one node: cores, KB of memory, and generic resources."""

    node: str
    cores: int
    mem: int
    gres: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveJob:
    """
    A job in its current state.

    Attributes
    ----------
    key
        Its name in orders: ``7``, or ``12_3`` for a task of an array.
    array, array_limit
        The array that it is a task of, '' for none; the most tasks that may run at once, 0: any.
    is_part
        Whether it is a component of a heterogeneous job.
    state
        ``PENDING``, ``RUNNING``, ...
    held
        Whether its priority is 0, so that Slurm does not start it.
    priority
        Slurm's own; 0: it is held, or its priority is unknown.
    submit, eligible, start, end
        Unix seconds, ``MISSING`` where unknown.
    time_limit
        Seconds; ``MISSING``: no limit.
    nodes_min, nodes_max
        Bounds on its nodes.
    cpus, cpus_per_task, tasks_per_node
        CPUs in all; for each task; tasks on each node, 0 where the user did not say.
    mem, mem_per_core
        KB, for each core or for each node; 0: all of the node's.
    gres_per_node, gres_per_job, gres_per_task
        As Slurm writes them (``gres:gpu:2``), '' for none.
    required, excluded
        Required and excluded nodes.
    nodes, placed
        The nodes that it holds; and how much on each, if known.
    """

    key: str
    state: str
    submit: int
    number: int = 0
    array: str = ""
    array_limit: int = 0
    is_part: bool = False
    reason: str = ""
    held: bool = False
    priority: int = 0
    eligible: int = MISSING
    start: int = MISSING
    end: int = MISSING
    time_limit: int = MISSING
    nodes_min: int = 1
    nodes_max: int = 1
    cpus: int = 1
    cpus_per_task: int = 1
    tasks: int = 1
    tasks_per_node: int = 0
    mem: int = 0
    mem_per_core: bool = False
    gres_per_node: str = ""
    gres_per_job: str = ""
    gres_per_task: str = ""
    features: str = ""
    exclusive: bool = False
    contiguous: bool = False
    dependency: str = ""
    licenses: str = ""
    nice: int = 0
    partition: str = ""
    user: str = ""
    account: str = ""
    name: str = ""
    qos: str = ""
    reservation: str = ""
    required: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    placed: tuple[Placed, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether it holds nodes."""
        return self.state in HOLDING

    @property
    def waits(self) -> bool:
        """Whether it is in the queue."""
        return self.state == PENDING


@dataclass(frozen=True, slots=True)
class Reserved:
    """Nodes that a reservation blocks for other jobs, Unix seconds ``[start, end)``."""

    nodes: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """
    The queue and the nodes.

    Attributes
    ----------
    now
        Unix seconds.
    jobs
        By key, in submit order: those that wait or hold nodes.
    closed
        Nodes on which nothing may start.
    reserved
        Reservations of nodes that have not ended. While one is in force its nodes are closed.
    """

    now: int
    jobs: Mapping[str, LiveJob]
    closed: frozenset[str]
    reserved: tuple[Reserved, ...] = ()


def is_closed(state: str) -> bool:
    """Whether no job starts on a node in a state such as ``mixed+drain`` or ``down*``."""
    # Non-letters after a state qualify it: not responding, rebooting, ...; a single + means
    # completing jobs, a - that Slurm plans to use it.
    words = [word for word in state.upper().split("+") if word]
    marked = any(not word.replace("_", "").isalpha() for word in words)
    names = {"".join(mark for mark in word if mark.isalpha() or mark == "_") for word in words}
    return bool(names & _CLOSED) or (marked and not state.endswith("-"))


def in_order(jobs: list[LiveJob]) -> dict[str, LiveJob]:
    """Return jobs by key, in the order of their submits."""
    jobs.sort(key=lambda job: (job.submit, job.number, len(job.key), job.key))
    return {job.key: job for job in jobs}
