"""Progress of what takes long, on stderr: bars on a terminal, else a line a minute."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from cpsched.cli.output import complain
from cpsched.simulation.observers import Observer
from cpsched.util.words import duration, escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rich.console import Console
    from rich.progress import Progress, TaskID

#: Seconds between updates of a simulation's bar.
_REFRESH = 0.2
#: Seconds between lines where stderr is not a terminal.
_LINE = 60
#: Seconds over which the speed is measured: a run may take minutes.
_SPEED = 3600


class _Lines:
    """What a display shows, as a line now and then."""

    def __init__(self) -> None:
        self._began = self._printed = monotonic()
        self._tasks: list[dict[str, Any]] = []

    def add_task(self, description: str, **about: Any) -> int:
        """Add something that is under way."""
        self._tasks.append({"description": description, "completed": 0, **about})
        return len(self._tasks) - 1

    def update(self, task: int, **changes: Any) -> None:
        """Change what is known of it, and print a line if the last one is old."""
        self._tasks[task] |= changes
        now = monotonic()
        if now - self._printed < _LINE:
            return
        self._printed = now
        counts = [
            f"{escaped(about['description'])}: {int(about['completed']):,} of {about['total']:,}"
            for about in self._tasks
            if about["completed"] < (about["total"] or 0)
        ]
        passed = f"{duration(round(now - self._began))} elapsed"
        print(", ".join([*counts, passed]), file=sys.stderr)  # noqa: T201

    def remove_task(self, task: int) -> None:
        """Forget it."""
        self._tasks[task]["total"] = 0


def _console() -> Console:
    """Return the console to draw on: the terminal of stderr, wherever stdout goes."""
    from rich.console import Console

    return Console(stderr=True)


@contextmanager
def display() -> Iterator[Progress]:
    """Give a display on stderr; where that is no terminal, lines without rich."""
    if not sys.stderr.isatty():
        yield cast("Progress", _Lines())
        return
    from rich import progress as rich

    with rich.Progress(
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(24),
        rich.TaskProgressColumn(),
        rich.TextColumn("{task.fields[more]}", markup=False),
        rich.TimeElapsedColumn(),
        rich.TimeRemainingColumn(),
        console=_console(),
        transient=True,
        speed_estimate_period=_SPEED,
    ) as progress:
        yield progress


class ProgressBar(Observer):
    """
    Shows jobs done, queue length and simulated date of a simulation.

    Parameters
    ----------
    progress, task
        The display, and the bar in it.
    epoch
        Unix time of second 0, or None.
    each
        Called with the number of jobs done at each update.
    """

    def __init__(
        self,
        progress: Progress,
        task: TaskID,
        epoch: int | None,
        each: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._progress = progress
        self._task = task
        self._epoch = epoch
        self._each = each
        self._next_update = 0.0

    def on_progress(self, ended: int, waiting: int, now: int) -> None:
        """Refresh the display now and then."""
        if monotonic() < self._next_update:
            return
        self._next_update = monotonic() + _REFRESH
        date = f"day {now // 86400}"
        if self._epoch is not None:
            date = datetime.fromtimestamp(self._epoch + now, UTC).strftime("%Y-%m-%d")
        more = f"{ended:,} jobs, queue {waiting:,}, {date}"
        self._progress.update(self._task, completed=ended, more=more)
        self._each(ended)


@contextmanager
def progress_bar(title: str, num_jobs: int, epoch: int | None) -> Iterator[list[Observer]]:
    """Give the observers that draw the bar of one simulation."""
    with display() as progress:
        task = progress.add_task(title, total=num_jobs, more="")
        yield [ProgressBar(progress, task, epoch)]


@contextmanager
def steps() -> Iterator[Callable[[str, int, int | None], None]]:
    """Give a function that shows the step, how many are done, and how many there are."""
    with display() as progress:
        # Nothing is shown before the first step is known.
        task = progress.add_task("", total=None, visible=False, more="")
        yield lambda step, done, total: progress.update(
            task, description=escaped(step), completed=done, total=total, visible=True
        )


@contextmanager
def working(words: str) -> Iterator[Callable[[int, int], None]]:
    """
    Show what is under way, and for how long it has been.

    Yields what may be called with how much is done, and how much there is.
    """
    with steps() as show:
        show(words, 0, None)
        yield lambda done, total: show(words, done, total)


@contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """Show that a log is read."""
    from pathlib import Path

    with working(f"reading {Path(path).name}"):
        yield


@contextmanager
def study_bars() -> Iterator[Bars]:
    """Give what shows the runs of a study."""
    with display() as progress:
        yield Bars(progress)


class Bars:
    """A bar for the runs of a study, and one for the run of this process."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._done = self._failed = 0
        self._run: TaskID | None = None

    def begin(self, runs: int, existing: int) -> None:
        """Show the study, if there is more than one run to make."""
        left = runs - existing
        self._runs = self._progress.add_task("runs", total=left, visible=left > 1, more="")

    def note(self, sentence: str) -> None:
        """Print why runs that are done are made again."""
        complain(sentence, "note")

    def watch(self, title: str, jobs: int, epoch: int | None) -> list[Observer]:
        """Show a run, which is also a part of the study."""
        self._run = self._progress.add_task(escaped(title), total=jobs, more="")

        def part(ended: int) -> None:
            self._progress.update(self._runs, completed=self._done + ended / max(jobs, 1))

        return [ProgressBar(self._progress, self._run, epoch, part)]

    def advance(self, *, failed: bool) -> None:
        """Count a run."""
        if self._run is not None:
            self._progress.remove_task(self._run)
            self._run = None
        self._done += 1
        self._failed += failed
        more = f"{self._done:,} ended" + f", {self._failed:,} failed" * bool(self._failed)
        self._progress.update(self._runs, completed=self._done, more=more)
