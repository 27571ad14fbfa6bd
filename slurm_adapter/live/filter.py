"""Which jobs an engine starts, and which of them people keep back."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cpsched.api.errors import RunError
from cpsched.api.tools import replacing
from slurm_adapter.live.requests import MARK, is_marked

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from slurm_adapter.live.snapshot import LiveJob

#: An operator's hold. The engine's own are those of users, so that this one is never its own.
_HELD_BY_OPERATOR = "JobHeldAdmin"
#: The file of what is paused, in the folder of the engine.
PAUSED = "paused.json"


def hold_of(mark: str) -> str:
    """Return what a comment begins with that keeps a marked job back."""
    return f"{mark}:hold"


def held_comment(job: LiveJob, mark: str) -> str:
    """Return the comment that keeps a job back; its own follows."""
    return f"{hold_of(mark)} {job.comment}".strip()


def aside_of(mark: str) -> str:
    """Return what the AdminComment of a job begins with that the engine has left to Slurm."""
    return f"{mark}:aside"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused:
    """Partitions and users none of whose jobs start for now."""

    partitions: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()

    @classmethod
    def read(cls, folder: Path) -> Paused:
        """
        Return what is paused by the file in a folder; nothing without a file.

        Raises
        ------
        RunError
            If it cannot be read.
        """
        path = folder / PAUSED
        with suppress(FileNotFoundError):
            try:
                known = json.loads(path.read_text())
                return cls(**{key: frozenset(known[key]) for key in ("partitions", "users")})
            except (ValueError, LookupError, TypeError) as error:
                raise RunError(f"{path}: does not say what is paused: {error}") from None
        return cls()

    def write(self, folder: Path) -> None:
        """Write it for the engine of a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        saved = {"partitions": sorted(self.partitions), "users": sorted(self.users)}
        with replacing(folder / PAUSED) as partial:
            partial.write_text(f"{json.dumps(saved)}\n")

    def changed(self, partitions: Iterable[str], users: Iterable[str], *, pause: bool) -> Paused:
        """Return it with partitions and users paused, or resumed."""
        change = frozenset.union if pause else frozenset.difference
        return Paused(
            partitions=change(self.partitions, frozenset(partitions)),
            users=change(self.users, frozenset(users)),
        )

    def stops(self, job: LiveJob) -> bool:
        """Say whether a job's user, or a partition that it may run in, is paused."""
        return job.user in self.users or not self.partitions.isdisjoint(job.partition.split(","))


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """
    Which held jobs this engine schedules.

    Attributes
    ----------
    mark
        Their AdminComment or comment. One that begins with the mark and a colon takes a job out.
    partitions, users
        One of these; empty: any.
    """

    mark: str = MARK
    partitions: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()

    def takes(self, job: LiveJob) -> bool:
        """Whether a job is ours, held or not."""
        out = f"{self.mark}:"
        return (
            not job.is_part
            and is_marked(job, self.mark)
            and not job.comment.startswith(out)
            and not job.admin_comment.startswith(out)
            and (not self.partitions or set(job.partition.split(",")) <= self.partitions)
            and (not self.users or job.user in self.users)
        )

    def may_start(self, job: LiveJob) -> bool:
        """Whether a job waits for us: an operator's hold is respected."""
        return job.waits and job.held and job.reason != _HELD_BY_OPERATOR and self.takes(job)
