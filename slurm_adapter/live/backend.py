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
class Begin:
    """Start a held job on exactly these nodes, as soon as Slurm can."""

    job: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TakeBack:
    """Hold a job that has not started, with the nodes and bounds of its own request."""

    job: str
    required: tuple[str, ...]
    nodes_min: int
    nodes_max: int
    at_once: bool = False
    """Whether it may start at once; Slurm makes a requeued job wait for two minutes."""


@dataclass(frozen=True, slots=True)
class Shrink:
    """Leave a running job no more than these of its nodes."""

    job: str
    nodes: tuple[str, ...]


class Backend(Protocol):
    """
    A way to talk to Slurm.

    Every method raises :class:`UnreachableError` if Slurm does not answer.
    """

    @property
    def name(self) -> str:
        """Its name in messages."""
        ...

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

    def begin(self, orders: Sequence[Begin]) -> Mapping[str, str]:
        """
        Bind jobs to nodes and release them; a job that cannot be bound stays held.

        Returns
        -------
        Mapping
            Why, for each job that Slurm refused.

        Raises
        ------
        NotAllowedError
            If Slurm does not permit it.
        """
        ...

    def requeue(self, jobs: Sequence[str]) -> Mapping[str, str]:
        """Requeue running jobs and hold them; as :meth:`begin`."""
        ...

    def shrink(self, orders: Sequence[Shrink]) -> Mapping[str, str]:
        """Leave running jobs some of their nodes; as :meth:`begin`."""
        ...

    def take_back(self, orders: Sequence[TakeBack]) -> Mapping[str, str]:
        """Hold jobs and remove the nodes that they were bound to; as :meth:`begin`."""
        ...
