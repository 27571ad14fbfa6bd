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
    from rich.progress import Progress, Task, TaskID

#: Seconds between updates of the display.
_REFRESH = 0.2
#: Seconds between lines where stderr is not a terminal.
_LINE = 60


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
        self._next_look = 0.0

    def on_progress(self, ended: int, waiting: int, now: int) -> None:
        """Refresh the display now and then."""
        if monotonic() >= self._next_look:
            self._next_look = monotonic() + _REFRESH
            self._show(ended, waiting, now)

    def _show(self, ended: int, waiting: int, now: int) -> None:
        if self._epoch is None:
            date = f"day {now // 86400}"
        else:
            date = datetime.fromtimestamp(self._epoch + now, UTC).strftime("%Y-%m-%d")
        self._progress.update(
            self._task,
            completed=ended,
            more=f"queue {waiting:,}  {date}",
        )


def _console() -> Console:
    """Return the console to draw on: the terminal of stderr, wherever stdout goes."""
    from rich.console import Console

    return Console(stderr=True)


def counted_of(task: Task) -> str:
    """Return how many are done, as ``2 of 3 runs``; nothing before that is known."""
    if not task.total:
        return ""
    return f"{int(task.completed):,} of {int(task.total):,} {task.fields.get('unit', '')}".rstrip()


def times(task: Task) -> str:
    """Return the time elapsed and, once it can be estimated, the time left."""
    left = task.time_remaining
    passed = f"{duration(round(task.elapsed or 0))} elapsed"
    return passed if left is None or task.finished else f"{passed}, {duration(round(left))} left"


@contextmanager
def display(*wanted: str | Callable[[Task], str]) -> Iterator[Progress]:
    """
    Give a display on stderr; where that is no terminal, lines.

    Parameters
    ----------
    wanted
        Columns: ``BarColumn``, templates of text, or functions that return a task's text.
    """
    if not sys.stderr.isatty():
        yield cast("Progress", _Lines())
        return
    from rich import progress as rich
    from rich.text import Text

    class Told(rich.ProgressColumn):
        """Text that a function returns for a task; updated twice a second to avoid flicker."""

        max_refresh = 0.5

        def __init__(self, words: Callable[[Task], str]) -> None:
            super().__init__()
            self._words = words

        def render(self, task: Task) -> Text:
            return Text(self._words(task))

    class Bar(rich.BarColumn):
        """A bar where it is known how much there is to do."""

        def render(self, task: Task) -> Any:
            return super().render(task) if task.total else Text("")

    columns = [
        Bar()
        if name == "BarColumn"
        else rich.TextColumn(name, markup=False)
        if isinstance(name, str)
        else Told(name)
        for name in wanted
    ]
    with rich.Progress(*columns, console=_console(), transient=True) as progress:
        yield progress


@contextmanager
def progress_bar(title: str, num_jobs: int, epoch: int | None) -> Iterator[list[Observer]]:
    """Give the observers that draw the bar of one simulation."""
    columns = ("{task.description}", "BarColumn", counted_of, "{task.fields[more]}", times)
    with display(*columns) as progress:
        task = progress.add_task(title, total=num_jobs, unit="jobs", more="")
        yield [ProgressBar(progress, task, epoch)]


@contextmanager
def steps() -> Iterator[Callable[[str, int, int], None]]:
    """Give a function that shows the step, how many are done, and how many there are."""
    with display("{task.description}", "BarColumn", counted_of, times) as progress:
        # Nothing is shown before the first step is known.
        task = progress.add_task("", total=None, visible=False)
        yield lambda step, done, total: progress.update(
            task, description=escaped(step), completed=done, total=total, visible=True
        )


class _Lines:
    """What a display shows, as a line now and then."""

    def __init__(self) -> None:
        self._began = self._told = monotonic()
        self._tasks: dict[int, dict[str, Any]] = {}
        self._added = 0

    def add_task(self, description: str, **about: Any) -> int:
        """Add something that is under way."""
        self._tasks[self._added] = {"unit": "", "description": description, "completed": 0, **about}
        self._added += 1
        return self._added - 1

    def update(self, task: int, *, advance: int = 0, **changes: Any) -> None:
        """Change what is known of it, and print a line if the last one is old."""
        about = self._tasks[task]
        about |= changes
        about["completed"] += advance
        now = monotonic()
        if now - self._told >= _LINE:
            self._told = now
            shown = [
                f"{escaped(one['description'].strip())}: {one['completed']:,} of {one['total']:,}"
                + f" {one['unit']}".rstrip()
                for one in self._tasks.values()
                if one["completed"] < (one.get("total") or 0)
            ]
            passed = duration(round(now - self._began))
            print(", ".join([*shown, f"{passed} elapsed"]), file=sys.stderr)  # noqa: T201

    def remove_task(self, task: int) -> None:
        """Forget it."""
        del self._tasks[task]


def share_of(task: Task) -> str:
    """Return which share is done, where that is known."""
    return f"{task.percentage:.0f} %" if task.total else ""


@contextmanager
def working(words: str) -> Iterator[Callable[[int, int], None]]:
    """
    Say on a terminal what is under way, and for how long it has been.

    Yields what may be called with how much is done, and how much there is: then there is a bar.
    """
    with display("{task.description}", "BarColumn", share_of, times) as progress:
        task = progress.add_task(escaped(words), total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """Say on a terminal that a log is read."""
    from pathlib import Path

    with working(f"reading {Path(path).name}"):
        yield


@contextmanager
def study_bars() -> Iterator[Bars]:
    """Give what shows the runs of a study."""
    columns = ("{task.description}", "BarColumn", counted_of, "{task.fields[more]}", times)
    with display(*columns) as progress:
        yield Bars(progress)


class Bars:
    """A bar for a study, and one for the run of this process."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._failed = 0
        self._run: TaskID | None = None

    def begin(self, runs: int, existing: int) -> None:
        """Show the study."""
        self._whole = self._progress.add_task(
            "study", total=runs - existing, unit="runs", more="", visible=runs > existing
        )

    def note(self, sentence: str) -> None:
        """Print why runs that are done are made again."""
        complain(sentence, "note")

    def watch(self, name: str, jobs: int, epoch: int | None) -> list[Observer]:
        """Show a run by its dispatcher, predictor and seed: the end of its name, without hash."""
        title = f"  {name.rpartition('-')[0][-32:].lstrip('-')}"
        self._run = self._progress.add_task(title, total=jobs, unit="jobs", more="")
        return [ProgressBar(self._progress, self._run, epoch)]

    def advance(self, name: str, error: str | None) -> None:
        """Count a run."""
        del name
        if self._run is not None:
            self._progress.remove_task(self._run)
            self._run = None
        self._failed += error is not None
        more = f"{self._failed:,} failed" if self._failed else ""
        self._progress.update(self._whole, advance=1, more=more)
