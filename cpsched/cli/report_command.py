"""``cpsched report``: tables, figures and one HTML file of finished runs."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cpsched.cli.output import counted, echo, escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.report.make import Progress

#: Seconds before a bar appears.
_PATIENCE = 2.0


def command(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="Made by cpsched compare; or a run, or a folder of runs, made by simulate.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where report, figures and tables go. [DIR]"),
    ] = None,
    form: Annotated[
        Literal["svg", "png", "pdf"], typer.Option("--format", help="Format of the figures.")
    ] = "svg",
    baseline: Annotated[
        str | None,
        typer.Option(help="The dispatcher to compare with. [the study's, or the first by name]"),
    ] = None,
) -> None:
    """Make tables, figures and a report (one HTML file) of finished runs."""
    from cpsched.report.make import make_report

    with _progress() as progress:
        report = make_report(folder, out=out, form=form, baseline=baseline, progress=progress)
    size = report.page.stat().st_size / 1e6
    echo(f"{counted(report.runs, 'run')}, {counted(len(report.figures), 'figure')}")
    echo(f"Report:  {escaped(str(report.page))} ({size:.1f} MB)")
    echo(f"Figures: {escaped(str(report.page.parent / 'figures'))}")
    echo(f"Tables:  {escaped(str(report.page.parent / 'tables'))}")


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """Give what shows the steps, once they have taken a while; None if stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(bar_width=30), MofNCompleteColumn(), TextColumn("{task.description}"))
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    shown = _Bar(bar)
    try:
        yield shown
    finally:
        bar.stop()


class _Bar:
    """A bar that appears after a while."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._began = monotonic()
        self._task = bar.add_task("", total=None)

    def __call__(self, step: str, done: int, total: int) -> None:
        """See :class:`~cpsched.report.make.Progress`."""
        from rich.markup import escape

        if monotonic() - self._began >= _PATIENCE:
            self._bar.start()
        text = escape(escaped(step))
        self._bar.update(self._task, description=text, completed=done, total=total)
