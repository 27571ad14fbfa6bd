"""Progress bars of simulations, studies and reports: on a terminal only, on stderr."""

from __future__ import annotations

import sys
import threading
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from cpsched.base.words import duration, escaped
from cpsched.simulation.observers import Observer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from rich.console import Console
    from rich.progress import Progress, Task, TaskID

    from cpsched.study.campaign import Display
    from cpsched.study.status import Watch

_T = TypeVar("_T")
#: Seconds between updates of the display.
_REFRESH = 0.2
#: Width of a terminal that has room for everything.
_WIDE = 120
#: Seconds between updates of the runs in progress.
_LOOK = 0.5
#: Seconds after which it is said what is under way.
_PATIENCE = 1.0


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
            queue=f"queue {waiting:,}",
            date=date,
        )


def bars_of(progress: Progress, task: TaskID, epoch: int | None) -> tuple[Observer, ...]:
    """Return the progress bar of one run, as a watch of a study."""
    return (ProgressBar(progress, task, epoch),)


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
def display(*wanted: str | Callable[[Task], str]) -> Iterator[Progress | None]:
    """
    Give a display on stderr; None where that is not a terminal.

    Parameters
    ----------
    wanted
        Columns: ``BarColumn``, templates of text, or functions that return a task's text.
    """
    if not sys.stderr.isatty():
        yield None
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
    more = "{task.fields[queue]}  {task.fields[date]}  "
    with display("{task.description}", "BarColumn", counted_of, more, times) as progress:
        if progress is None:
            yield []
            return
        task = progress.add_task(title, total=num_jobs, unit="jobs", queue="", date="")
        yield [ProgressBar(progress, task, epoch)]


def counting(things: Sequence[_T], title: str) -> Iterator[_T]:
    """Iterate, and show on a terminal how many are done."""
    with working(title) as told:
        for done, thing in enumerate(things):
            if len(things) > 1:
                told(done, len(things))
            yield thing


@contextmanager
def steps() -> Iterator[Callable[[str, int, int], None] | None]:
    """Give a function that shows the step, how many are done, and how many there are."""
    with display("{task.description}", "BarColumn", counted_of, times) as progress:
        if progress is None:
            yield None
            return
        # Nothing is shown before the first step is known.
        task = progress.add_task("", total=None, visible=False)
        yield lambda step, done, total: progress.update(
            task, description=escaped(step), completed=done, total=total, visible=True
        )


def share_of(task: Task) -> str:
    """Return which share is done, where that is known."""
    return f"{task.percentage:.0f} %" if task.total else ""


@contextmanager
def working(words: str) -> Iterator[Callable[[int, int], None]]:
    """
    Say on a terminal what is under way if it takes more than a second, and for how long it has.

    Yields what may be called with how much is done, and how much there is: then there is a bar.
    """
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    late = _Late(words)
    timer = threading.Timer(_PATIENCE, late.begin)
    timer.daemon = True
    timer.start()
    try:
        yield late.told
    finally:
        timer.cancel()
        # It may have begun just now.
        timer.join()
        late.end()


class _Late:
    """A display that is begun by another thread."""

    def __init__(self, words: str) -> None:
        self._words = escaped(words)
        self._done, self._total = 0, 0
        self._began = monotonic()
        self._stack = ExitStack()
        self._show: Callable[[], None] = lambda: None

    def begin(self) -> None:
        """Begin to show it."""
        columns = ("{task.description}", "BarColumn", share_of, times)
        progress = self._stack.enter_context(display(*columns))
        if progress is not None:
            task = progress.add_task(self._words, total=None, visible=False)
            # Since it began, and not since it is shown.
            progress.tasks[0].start_time = progress.get_time() - (monotonic() - self._began)
            progress.update(task, completed=self._done, total=self._total or None, visible=True)
            self._show = lambda: progress.update(task, completed=self._done, total=self._total)

    def told(self, done: int, total: int) -> None:
        """Hear how much is done."""
        self._done, self._total = done, total
        self._show()

    def end(self) -> None:
        """Show it no more."""
        self._stack.close()


@contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """Say on a terminal how far reading a log is, if it takes more than a second."""
    from pathlib import Path

    from cpsched.traces.text import heard

    with working(f"reading {Path(path).name}") as told, heard(told):
        yield


@contextmanager
def study_bars() -> Iterator[tuple[Watch | None, Display | None]]:
    """Give what watches the runs of a study and shows them; None if stderr is not a terminal."""
    wide = sys.stderr.isatty() and _console().width >= _WIDE
    # With little room, the time left matters more than bars and dates.
    bar = ["BarColumn"] if wide else []
    with display("{task.description}", *bar, counted_of, "{task.fields[more]}", times) as progress:
        if progress is None:
            yield None, None
            return
        bars = Bars(progress, wide=wide)
        try:
            yield bars_of, bars
        finally:
            bars.stop()


class Bars:
    """A bar for a study, and one for each run in progress."""

    def __init__(self, progress: Any, *, wide: bool) -> None:
        self._progress = progress
        self._wide = wide
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._ended = self._failed = 0
        self._bars: dict[str, Any] = {}

    def begin(self, work: Path, runs: int, kept: int) -> None:
        """Show the study, and follow runs in progress from now on."""
        self._whole = self._progress.add_task(
            "study", total=runs - kept, unit="runs", more="", visible=runs > kept
        )
        self._thread = threading.Thread(target=self._look, args=(work,), daemon=True)
        self._thread.start()

    def advance(self, name: str, error: str | None) -> None:
        """Count a run."""
        del name
        self._ended += 1
        self._failed += error is not None

    def stop(self) -> None:
        """Stop following."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def _look(self, work: Path) -> None:
        from cpsched.study.status import under_way

        while not self._stopped.wait(_LOOK):
            self.show(under_way(work))

    def show(self, running: list[Any]) -> None:
        """Show what is done and in progress; partly finished runs count for the time left."""
        shares = sum(one.done / one.total for one in running if one.total)
        more = f"{self._failed:,} failed" if self._failed else ""
        self._progress.update(self._whole, completed=self._ended + shares, more=more)
        for name in self._bars.keys() - {one.name for one in running}:
            self._progress.remove_task(self._bars.pop(name))
        for one in running:
            if one.name not in self._bars:
                self._bars[one.name] = self._progress.add_task(
                    f"  {_short(one.name)}", total=None, unit="jobs", more=""
                )
            self._progress.update(
                self._bars[one.name],
                completed=one.done,
                total=one.total or None,
                more=f"{one.queue}  {one.date}" if self._wide else "",
            )


def _short(name: str) -> str:
    """Return the end of a run's name, without the hash: dispatcher, predictor and seed."""
    return name.rpartition("-")[0][-32:].lstrip("-")
