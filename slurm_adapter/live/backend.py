"""The interface of backends: queries to a live Slurm, and orders to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from cpsched.api.errors import CpschedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from slurm_adapter.live.snapshot import LiveJob, Snapshot


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
    keeps
        The nodes that it has been ordered to keep, until it is seen to hold only these; else empty.
    leaves
        Whether it has been ordered to leave its nodes and wait again.
    """

    job: str
    nodes: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    nodes_min: int = 1
    nodes_max: int = 1
    at: float = 0.0
    ran: bool = False
    keeps: tuple[str, ...] = ()
    leaves: bool = False


class Backend(Protocol):
    """
    A way to talk to Slurm.

    Every method raises :class:`UnreachableError` if Slurm does not answer, every order
    :class:`NotAllowedError` if Slurm does not permit it. Orders return why, for each job that Slurm
    refused.
    """

    def snapshot(self) -> Snapshot:
        """
        Return the queue and the nodes.

        Raises
        ------
        UnreadableError
            If the answer cannot be read.
        """
        ...

    def ended(self, jobs: Iterable[str]) -> Mapping[str, LiveJob]:
        """Return the outcomes of jobs that have left the queue, if Slurm still remembers them."""
        ...

    def expected_starts(self) -> Mapping[str, int]:
        """Return Slurm's expected starts of waiting jobs, Unix seconds; only jobs that have one."""
        ...

    def configuration(self) -> Mapping[str, str]:
        """Return what ``scontrol show`` prints of ``config``, ``node`` and ``partition``."""
        ...

    def begin(self, orders: Sequence[Order]) -> Mapping[str, str]:
        """Bind jobs to their nodes and release them; a job that cannot be bound stays held."""
        ...

    def requeue(self, orders: Sequence[Order]) -> Mapping[str, str]:
        """Requeue running jobs and hold them."""
        ...

    def shrink(self, orders: Sequence[Order]) -> Mapping[str, str]:
        """Leave running jobs only the nodes that they keep."""
        ...

    def take_back(self, orders: Sequence[Order]) -> Mapping[str, str]:
        """
        Hold jobs, with the nodes and bounds of their own requests.

        Those that were ordered to leave their nodes may start at once; Slurm makes a requeued job
        wait for two minutes.
        """
        ...
