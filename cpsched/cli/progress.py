"""Progress of what takes long, on stderr: bars on a terminal, else a line a minute."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING, Any

from cpsched.cli.output import complain
from cpsched.simulation.observers import Observer
from cpsched.util.words import duration, escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rich.console import Console
    from rich.progress import TaskID

#: Seconds between updates of a simulation's bar.
_REFRESH = 0.2
#: Seconds between lines where stderr is not a terminal.
_LINE = 60
#: Seconds over which the speed is measured: a run may take minutes.
_SPEED = 3600


class Display:
    """A bar for each thing that is under way, with how much is done and how long the rest takes."""

    def __init__(self) -> None:
        from rich import progress as rich

        self.bars = rich.Progress(
            rich.TextColumn("{task.description}", markup=False),
            rich.BarColumn(24),
            rich.TextColumn("{task.fields[count]}", markup=False),
            rich.TextColumn("{task.fields[more]}", markup=False),
            rich.TimeElapsedColumn(),
            rich.TimeRemainingColumn(),
            console=_console(),
            transient=True,
            disable=not sys.stderr.isatty(),
            speed_estimate_period=_SPEED,
        )
        self._began = self._printed = monotonic()

    def add(self, title: str, total: int | None = None, *, visible: bool = True) -> TaskID:
        """Add something that is under way; without a total nobody knows how much there is."""
        return self.bars.add_task(escaped(title), total=total, visible=visible, count="", more="")

    def update(self, task: TaskID, completed: float, **changes: Any) -> None:
        """Show how much is done; where stderr is no terminal, if the last line is old."""
        self.bars.update(task, completed=completed, **changes)
        shown = self.bars.tasks[self.bars.task_ids.index(task)]
        if shown.total:
            count = f"{int(completed):,} of {int(shown.total):,}"
            self.bars.update(task, count=count)
        now = monotonic()
        if self.bars.disable and now - self._printed >= _LINE:
            self._printed = now
            lines = [
                f"{bar.description.strip()}: {bar.fields['count']}"
                for bar in self.bars.tasks
                if bar.fields["count"] and not bar.finished
            ]
            passed = f"{duration(round(now - self._began))} elapsed"
            print(", ".join([*lines, passed]), file=sys.stderr)  # noqa: T201


def _console() -> Console:
    """Return the console to draw on: the terminal of stderr, wherever stdout goes."""
    from rich.console import Console

    return Console(stderr=True)


@contextmanager
def display() -> Iterator[Display]:
    """Give a display for as long as something takes."""
    shown = Display()
    with shown.bars:
        yield shown


class ProgressBar(Observer):
    """
    Shows jobs done, queue length and simulated date of a simulation.

    Parameters
    ----------
    shown, task
        The display, and the bar in it.
    epoch
        Unix time of second 0, or None.
    each
        Called with the number of jobs done at each update.
    """

    def __init__(
        self,
        shown: Display,
        task: TaskID,
        epoch: int | None,
        each: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._shown = shown
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
        self._shown.update(self._task, ended, more=f"queue {waiting:,}  {date}")
        self._each(ended)


@contextmanager
def progress_bar(title: str, num_jobs: int, epoch: int | None) -> Iterator[list[Observer]]:
    """Give the observers that draw the bar of one simulation."""
    with display() as shown:
        yield [ProgressBar(shown, shown.add(title, num_jobs), epoch)]


@contextmanager
def steps() -> Iterator[Callable[[str, int, int | None], None]]:
    """Give a function that shows the step, how many are done, and how many there are."""
    with display() as shown:
        # Nothing is shown before the first step is known.
        task = shown.add("", visible=False)
        yield lambda step, done, total: shown.update(
            task, done, description=escaped(step), total=total, visible=True
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
    with display() as shown:
        yield Bars(shown)


class Bars:
    """A bar for the runs of a study, and one for the run of this process."""

    def __init__(self, shown: Display) -> None:
        self._shown = shown
        self._done = self._failed = 0
        self._run: TaskID | None = None

    def begin(self, runs: int, existing: int) -> None:
        """Show the study, if there is more than one run to make."""
        self._runs = self._shown.add("runs", runs - existing, visible=runs > existing + 1)

    def note(self, sentence: str) -> None:
        """Print why runs that are done are made again."""
        complain(sentence, "note")

    def watch(self, title: str, jobs: int, epoch: int | None) -> list[Observer]:
        """Show a run, which is also a part of the study."""
        self._run = self._shown.add(title, jobs)

        def part(ended: int) -> None:
            self._shown.update(self._runs, self._done + ended / max(jobs, 1))

        return [ProgressBar(self._shown, self._run, epoch, part)]

    def advance(self, *, failed: bool) -> None:
        """Count a run."""
        if self._run is not None:
            self._shown.bars.remove_task(self._run)
            self._run = None
        self._done += 1
        self._failed += failed
        more = f"{self._failed:,} failed" if self._failed else ""
        self._shown.update(self._runs, self._done, more=more)
