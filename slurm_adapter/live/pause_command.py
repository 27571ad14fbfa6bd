"""``cpsched slurm pause`` and ``resume``: jobs that an engine is not to start for now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cpsched.api.commands import counted, echo
from cpsched.api.errors import ConfigError
from slurm_adapter.live.commands import Mark, backend_of

if TYPE_CHECKING:
    from slurm_adapter.live.snapshot import LiveJob

Jobs = Annotated[
    list[str] | None,
    typer.Argument(help="Waiting jobs or arrays: 7, 12, 12_3.", metavar="[JOB]..."),
]
Partitions = Annotated[
    list[str] | None, typer.Option("--partition", help="A partition; repeat for several.")
]
Users = Annotated[list[str] | None, typer.Option("--user", help="A user; repeat for several.")]
State = Annotated[
    Path | None, typer.Option(help="Folder of the engine; needed for partitions and users.")
]


def pause_command(
    job: Jobs = None,
    partition: Partitions = None,
    user: Users = None,
    state: State = None,
    mark: Mark = "cpsched",
) -> None:
    """Keep jobs, or all jobs of partitions and users, from being started by an engine."""
    from slurm_adapter.live.filter import held_comment, hold_of

    _change(state, partition or [], user or [], pause=True)
    for known in _waiting(job or []):
        if not known.comment.startswith(hold_of(mark)):
            _comment(known, held_comment(known, mark))


def resume_command(
    job: Jobs = None,
    partition: Partitions = None,
    user: Users = None,
    state: State = None,
    mark: Mark = "cpsched",
) -> None:
    """Let an engine start again what was paused, or what it has set aside."""
    from slurm_adapter.live.filter import aside_of, hold_of

    _change(state, partition or [], user or [], pause=False)
    for known in _waiting(job or []):
        if known.comment.startswith(hold_of(mark)):
            _comment(known, known.comment.removeprefix(hold_of(mark)).strip())
        if known.admin_comment.startswith(aside_of(mark)):
            _comment(known, mark, admin=True)


def _change(state: Path | None, partitions: list[str], users: list[str], *, pause: bool) -> None:
    """Pause or resume partitions and users in the file that the engine reads."""
    from slurm_adapter.live.filter import Paused

    if not partitions and not users:
        return
    if state is None:
        raise ConfigError("partitions and users are paused in the engine's folder", key="--state")
    paused = Paused.read(state).changed(partitions, users, pause=pause)
    paused.write(state)
    number, people = (
        counted(len(paused.partitions), "partition"),
        counted(len(paused.users), "user"),
    )
    echo(f"{number} and {people} are paused now.")


def _waiting(keys: list[str]) -> list[LiveJob]:
    """Return jobs that wait; of an array its first one that waits, under the array's number."""
    if not keys:
        return []
    waiting = [job for job in backend_of().snapshot().jobs.values() if job.waits]
    found = {job.array: replace(job, key=job.array) for job in reversed(waiting) if job.array}
    found |= {job.key: job for job in waiting}
    if unknown := [key for key in keys if key not in found]:
        raise ConfigError("is no waiting job", key=unknown[0])
    return [found[key] for key in keys]


def _comment(job: LiveJob, text: str, *, admin: bool = False) -> None:
    if refused := backend_of().comment(job.key, text, admin=admin):
        raise ConfigError(f"Slurm refuses the comment: {refused}", key=job.key)
