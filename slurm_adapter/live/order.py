"""Orders to a live Slurm, and what may go wrong with them."""

from __future__ import annotations

from dataclasses import dataclass

from cpsched.api.errors import CpschedError


class UnreachableError(CpschedError, ConnectionError):
    """Slurm does not answer now."""


class UnreadableError(CpschedError, ValueError):
    """Slurm's answer cannot be read; names the field and the value."""


class NotAllowedError(CpschedError, PermissionError):
    """Slurm does not permit the order."""


class WrongNodesError(CpschedError, RuntimeError):
    """A job runs on other nodes than it was told."""


@dataclass(frozen=True, slots=True)
class Order:
    """
    What a job has been ordered to do.

    Attributes
    ----------
    nodes
        Where it starts, or runs.
    required, nodes_min, nodes_max
        The job's own request, restored if the start is withdrawn.
    at
        When, Unix time.
    ran
        Whether it has been seen on these nodes.
    """

    job: str
    nodes: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    nodes_min: int = 1
    nodes_max: int = 1
    at: float = 0.0
    ran: bool = False
