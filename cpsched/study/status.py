"""Runs in progress: small files that workers write and a progress display reads."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cpsched.simulation.observers import Observer

_FILE = "status.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """
    A run in progress.

    Attributes
    ----------
    name
        Of its folder.
    done, total
        Jobs that have ended, and that there are.
    queue, date
        As a progress bar shows them.
    """

    name: str
    done: int = 0
    total: int = 0
    queue: str = ""
    date: str = ""


class Watch(Protocol):
    """Makes observers that call ``display.update`` now and then; goes to workers by name."""

    def __call__(self, display: Any, task: Any, epoch: int | None, /) -> Sequence[Observer]:
        """Return the observers of one simulation."""
        ...


class StatusFile:
    """
    Keeps the status of one run in a folder; is updated like a progress display.

    Parameters
    ----------
    folder
        The run's work folder, which exists.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._path, self._status = folder / _FILE, Status(name=name)

    def begin(self, total: int) -> None:
        """Record that the run has begun, and its number of jobs."""
        self._write(total=total, done=0, queue="", date="")

    def update(self, task: object, *, completed: int, queue: str, date: str) -> None:  # noqa: ARG002
        """Record the progress."""
        self._write(done=completed, queue=queue, date=date)

    def _write(self, **changes: Any) -> None:
        self._status = replace(self._status, **changes)
        # Replaced in one step: a reader finds the one before or this one, never half of it.
        fresh = self._path.with_suffix(".new")
        fresh.write_text(json.dumps(asdict(self._status)), encoding="utf-8")
        os.replace(fresh, self._path)  # noqa: PTH105


def under_way(work: Path) -> list[Status]:
    """Return the runs in progress in a campaign's work folder, in the order they began."""
    found = []
    for path in work.glob(f"*/{_FILE}"):
        try:
            began = path.parent.stat().st_ctime_ns
            status = Status(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            # It has just ended.
            continue
        found.append((began, status.name, status))
    return [status for _, _, status in sorted(found, key=lambda one: one[:2])]


def die_with(parent: int) -> None:
    """
    End this process soon after its parent ends, since no one would take its results.

    Called once in every worker process that a campaign starts itself.
    """
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
