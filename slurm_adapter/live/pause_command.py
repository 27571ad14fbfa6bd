"""``cpsched slurm pause`` and ``resume``: jobs that an engine is not to start for now."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path  # noqa: TC003  (typer reads it)
from typing import TYPE_CHECKING, Annotated

import typer

from cpsched.api.commands import Group, counted, echo, grouped
from cpsched.api.errors import ConfigError
from slurm_adapter.live.commands import Mark, Through, backend_of

if TYPE_CHECKING:
    from slurm_adapter.live.snapshot import LiveJob


@dataclass(frozen=True, kw_only=True)
class Some(Group):
    """Arguments and options: jobs, and all jobs of partitions and users."""

    job: Annotated[
        list[str] | None,
        typer.Argument(help="Waiting jobs or arrays: 7, 12, 12_3.", metavar="[JOB]..."),
    ] = None
    partition: Annotated[
        list[str] | None, typer.Option("--partition", help="A partition; repeat for several.")
    ] = None
    user: Annotated[
        list[str] | None, typer.Option("--user", help="A user; repeat for several.")
    ] = None
    state: Annotated[
        Path | None, typer.Option(help="Folder of the engine; needed for partitions and users.")
    ] = None
    mark: Mark = "cpsched"
    through: Through = ""

    def change(self, *, pause: bool) -> None:
        """Pause or resume partitions and users in the file that the engine reads."""
        from slurm_adapter.live.filter import Paused

        if not self.partition and not self.user:
            return
        if self.state is None:
            raise ConfigError(
                "partitions and users are paused in the engine's folder", key="--state"
            )
        known = Paused.read(self.state)
        paused = known.changed(self.partition or (), self.user or (), pause=pause)
        paused.write(self.state)
        number = counted(len(paused.partitions), "partition")
        people = counted(len(paused.users), "user")
        echo(f"{number} and {people} are paused now.")

    def waiting(self) -> list[LiveJob]:
        """Return jobs that wait; of an array its first one that waits, under its number."""
        if not self.job:
            return []
        waiting = [job for job in backend_of().snapshot().jobs.values() if job.waits]
        found = {job.array: replace(job, key=job.array) for job in reversed(waiting) if job.array}
        found |= {job.key: job for job in waiting}
        if unknown := [key for key in self.job if key not in found]:
            raise ConfigError("is no waiting job", key=unknown[0])
        return [found[key] for key in self.job]

    def comment(self, job: LiveJob, text: str, *, admin: bool = False) -> None:
        """Give a job a comment."""
        if refused := backend_of(self.through).comment(job.key, text, admin=admin):
            raise ConfigError(f"Slurm refuses the comment: {refused}", key=job.key)


@grouped
def pause_command(*, some: Some) -> None:
    """Keep jobs, or all jobs of partitions and users, from being started by an engine."""
    from slurm_adapter.live.filter import held_comment, hold_of

    some.change(pause=True)
    for known in some.waiting():
        if not known.comment.startswith(hold_of(some.mark)):
            some.comment(known, held_comment(known, some.mark))


@grouped
def resume_command(*, some: Some) -> None:
    """Let an engine start again what was paused, or what it has set aside."""
    from slurm_adapter.live.filter import aside_of, hold_of

    some.change(pause=False)
    for known in some.waiting():
        if known.comment.startswith(hold := hold_of(some.mark)):
            some.comment(known, known.comment.removeprefix(hold).strip())
        if known.admin_comment.startswith(aside_of(some.mark)):
            some.comment(known, some.mark, admin=True)
