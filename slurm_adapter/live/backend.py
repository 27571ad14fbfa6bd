"""What is asked of a live Slurm, and told to it; whoever can do that is a backend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from cpsched.errors import CpschedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from slurm_adapter.live.snapshot import LiveJob, Snapshot


class UnreachableError(CpschedError, ConnectionError):
    """Slurm does not answer; it may later."""


class UnreadableError(CpschedError, ValueError):
    """Slurm's answer is not what it is known to answer; names the field and the value."""


class NotAllowedError(CpschedError, PermissionError):
    """Slurm does not let us do that."""


@dataclass(frozen=True, slots=True)
class Begin:
    """Start a held job on exactly these nodes, as soon as Slurm can."""

    job: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TakeBack:
    """Hold a job that has not started, with the nodes and bounds that its user asked for."""

    job: str
    required: tuple[str, ...]
    nodes_min: int
    nodes_max: int
    at_once: bool = False
    """Whether it may start at once; Slurm lets a job that was queued again wait for two minutes."""


class Backend(Protocol):
    """
    A way to talk to Slurm.

    Every method raises :class:`UnreachableError` if Slurm does not answer.
    """

    @property
    def name(self) -> str:
        """What messages call it."""
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
        """Return what became of jobs that are no longer in the queue, where Slurm still knows."""
        ...

    def expected_starts(self) -> Mapping[str, int]:
        """Return when Slurm expects waiting jobs to start, Unix seconds; only those it has said."""
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
            If Slurm does not let us.
        """
        ...

    def requeue(self, jobs: Sequence[str]) -> Mapping[str, str]:
        """Take running jobs off their nodes and hold them in the queue; as :meth:`begin`."""
        ...

    def take_back(self, orders: Sequence[TakeBack]) -> Mapping[str, str]:
        """Hold jobs and forget the nodes they were bound to; as :meth:`begin`."""
        ...
