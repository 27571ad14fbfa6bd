"""A progress bar for a simulation: on a terminal only, on stderr."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING

from cpsched.simulation.observers import Observer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress, TaskID

#: Seconds between two looks at the display, and instants between two looks at the clock.
_REFRESH = 0.2
_INSTANTS = 256


class ProgressBar(Observer):
    """
    Shows jobs done, queue length, simulated date and time left.

    Parameters
    ----------
    progress, task
        The display and our line of it.
    epoch
        Unix time of second 0, or None.
    """

    def __init__(self, progress: Progress, task: TaskID, epoch: int | None) -> None:
        self._progress = progress
        self._task = task
        self._epoch = epoch
        self._instants = 0
        self._next_look = 0.0
        self._submitted = self._started = self._ended = 0

    def on_submit(self, first: int, end: int, now: int) -> None:  # noqa: ARG002
        """Count arrivals."""
        self._submitted = end

    def on_start(self, job: int, allocation: object, now: int) -> None:  # noqa: ARG002
        """Count starts."""
        self._started += 1

    def on_end(self, job: int, outcome: int, now: int) -> None:  # noqa: ARG002
        """Count ends."""
        self._ended += 1

    def on_instant(self, now: int) -> None:
        """Refresh the display now and then."""
        self._instants += 1
        if self._instants % _INSTANTS:
            return
        if monotonic() >= self._next_look:
            self._next_look = monotonic() + _REFRESH
            self._show(now)

    def _show(self, now: int) -> None:
        if self._epoch is None:
            date = f"day {now // 86400}"
        else:
            date = datetime.fromtimestamp(self._epoch + now, UTC).strftime("%Y-%m-%d")
        self._progress.update(
            self._task,
            completed=self._ended,
            queue=f"queue {self._submitted - self._started:,}",
            date=date,
        )


@contextmanager
def progress_bar(title: str, num_jobs: int, epoch: int | None) -> Iterator[list[Observer]]:
    """Give the observers that draw a bar; none where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield []
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TextColumn("jobs  {task.fields[queue]}  {task.fields[date]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(escape(title), total=num_jobs, queue="", date="")
        yield [ProgressBar(progress, task, epoch)]
