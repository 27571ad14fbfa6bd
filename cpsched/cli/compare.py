"""``cpsched compare``: many runs, and tables of them."""

from __future__ import annotations

import os
import shlex
import sys
import threading
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpsched.cli.errors import complain
from cpsched.cli.options import CorrectionRule, First, Format, From, OverrunRule, SkipBadLines, To
from cpsched.cli.output import counted, echo, escaped
from cpsched.errors import ConfigError, UnknownNameError
from cpsched.model_files import with_models

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cpsched.study.campaign import Display, Outcome
    from cpsched.study.study import Study
    from cpsched.study.tables import Tables

#: Some run failed; the others are there.
_SOME_FAILED = 1
#: Columns of a terminal that has room for everything.
_WIDE = 120
#: Seconds between two looks at the runs under way.
_REFRESH = 0.5


def command(
    plan: Annotated[
        str,
        typer.Argument(
            metavar="PLAN",
            help="A plan: a TOML file, or one of demo, remediani, ipsched, aucsched,"
            " aucsched-tree; or a job log, with --system.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Folder of the experiment; goes on with what is there."),
    ],
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, help="Processes on this machine.", metavar="N")
    ] = 1,
    scheduler: Annotated[
        str | None,
        typer.Option(help="Dask scheduler whose workers do the runs: tcp://HOST:8786."),
    ] = None,
    system: Annotated[
        str | None, typer.Option("--system", help="For a log: a system by name or TOML file.")
    ] = None,
    dispatcher: Annotated[
        list[str] | None,
        typer.Option("--dispatcher", "-d", help="For a log: NAME:KEY=VALUE,...; repeat. [easy]"),
    ] = None,
    predictor: Annotated[
        list[str] | None,
        typer.Option(
            "--predictor", "-p", help="For a log; repeat. [requested]", callback=with_models
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="For a log: the dispatcher to compare with. [the first]"),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="For a log: repetitions with jittered submits.", metavar="N"),
    ] = None,
    jitter: Annotated[
        int | None,
        typer.Option(min=0, help="For a log: seconds submits are delayed at most. [5]"),
    ] = None,
    first: First = None,
    start: From = None,
    end: To = None,
    overrun: Annotated[
        OverrunRule | None,
        typer.Option(help="For a log: what happens at the requested time. [kill]"),
    ] = None,
    correction: Annotated[
        CorrectionRule | None,
        typer.Option(
            help="For a log: expected end of a job that outlives its prediction. [requested]"
        ),
    ] = None,
    dispatch_interval: Annotated[
        int | None,
        typer.Option(min=1, help="For a log: dispatch on a grid of so many seconds.", metavar="S"),
    ] = None,
    enforce_limits: Annotated[
        bool | None,
        typer.Option(
            "--enforce-limits/--no-enforce-limits",
            help="For a log: reject jobs that ask for more than their queue allows. [yes]",
        ),
    ] = None,
    runtime_model: Annotated[
        str | None,
        typer.Option(help="For a log: how long jobs run, NAME:KEY=VALUE,... [recorded]"),
    ] = None,
    format_name: Format = None,
    skip_bad_lines: SkipBadLines = False,
) -> None:
    """Carry out the runs of a plan that are missing, and write tables of all."""
    from cpsched.study import carried_out, load_study, make_tables, write_tables

    given = {
        "file": plan,
        "format": format_name,
        "skip_bad_lines": skip_bad_lines or None,
        "systems": system,
        "dispatchers": dispatcher,
        "predictors": predictor,
        "baseline": baseline,
        "seeds": seeds,
        "jitter": jitter,
        "overrun": overrun,
        "correction": correction,
        "dispatch_interval": dispatch_interval,
        "enforce_limits": enforce_limits,
        "runtime_model": runtime_model,
    }
    if scheduler is not None and jobs > 1:
        raise ConfigError("is for this machine; a cluster has as many as its workers", key="--jobs")
    wanted = _of_log(given) if _is_log(plan) else _of_plan(load_study(plan), given)
    wanted = wanted.narrowed(first, _moment("--from", start), _moment("--to", end))
    with ExitStack() as kept:
        with _display() as display:
            # Nobody else may begin there before the tables of these runs are written.
            outcome = kept.enter_context(
                carried_out(
                    wanted,
                    out,
                    jobs=jobs,
                    scheduler=scheduler,
                    watch=None if display is None else _watch(),
                    display=display,
                )
            )
        _complain(outcome)
        if len(outcome.failed) == outcome.runs:
            raise typer.Exit(_SOME_FAILED)
        tables = make_tables(out)
        files = write_tables(tables, out / "tables")
    _print(outcome, tables, files)
    if outcome.failed:
        raise typer.Exit(_SOME_FAILED)


def _is_log(plan: str) -> bool:
    """Tell a job log from a plan, which ends in ``.toml`` or is the name of a shipped one."""
    from cpsched.study import study_names

    if plan.endswith(".toml") or plan in study_names():
        return False
    if not Path(plan).is_file():
        if os.sep in plan or Path(plan).suffix:
            known = ", ".join(study_names())
            raise ConfigError(f"is no file, and no plan; the plans are: {known}", where=plan)
        raise UnknownNameError("plan or file", plan, study_names())
    return True


def _of_plan(plan: Study, given: Mapping[str, Any]) -> Study:
    """Return the plan; what it says itself is not said again."""
    for name, value in given.items():
        if name != "file" and value is not None:
            option = {"systems": "system", "dispatchers": "dispatcher", "predictors": "predictor"}
            flag = "--" + option.get(name, name).replace("_", "-")
            raise ConfigError("is for a job log; a plan says so itself", key=flag)
    return plan


def _of_log(given: Mapping[str, Any]) -> Study:
    """Return the plan that the options describe, read like one in a file."""
    from cpsched.spec import Spec
    from cpsched.study.study_file import log_name, parse_study

    def said(*keys: str) -> dict[str, Any]:
        return {key: given[key] for key in keys if given[key] is not None}

    if given["systems"] is None:
        raise ConfigError(
            "is missing; a log needs a machine (cpsched list systems)", key="--system"
        )
    path = Path(given["file"]).absolute()
    base = given["baseline"]
    content: dict[str, Any] = {
        "title": log_name(path),
        "systems": [given["systems"]],
        "dispatchers": list(dict.fromkeys(given["dispatchers"] or ["easy"])),
        "predictors": list(dict.fromkeys(given["predictors"] or ["requested"])),
        "workloads": [{"file": str(path), **said("format", "skip_bad_lines")}],
        "run": said(
            "overrun", "correction", "dispatch_interval", "enforce_limits", "runtime_model"
        ),
        "baseline": {} if base is None else {"dispatcher": str(Spec.parse(base))},
        **said("seeds", "jitter"),
    }
    return parse_study(content, Path("command line"))


def _moment(option: str, text: str | None) -> int | str | None:
    """Return seconds, or a date as it was given."""
    from datetime import datetime

    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text).isoformat()
    except ValueError:
        raise ConfigError(
            f"'{text}' is neither seconds nor a date like 2014-03-31 or 2014-03-31T12:00",
            key=option,
        ) from None


def _print(outcome: Outcome, tables: Tables, files: list[Path]) -> None:
    from cpsched.cli.report import width
    from cpsched.study.readable import main_table

    made = outcome.runs - outcome.kept - len(outcome.failed)
    parts = [f"{counted(outcome.runs, 'run')}: {made:,} made", f"{outcome.kept:,} there before"]
    echo(", ".join([*parts, f"{len(outcome.failed):,} failed"]))
    for titled in main_table(tables):
        echo(f"\n{escaped(titled.place)}\n\n{titled.table.text(width=width())}")
    folder = files[0].parent
    echo(f"\nFigures and a report: cpsched report {escaped(shlex.quote(str(folder.parent)))}")
    echo(f"Tables: {escaped(str(folder))}")


def _complain(outcome: Outcome) -> None:
    """Say what was not whole, and what failed, once for each error."""
    for folder in outcome.damaged:
        complain(f"a run was not whole and is made again; what there was of it: {folder}")
    by_error: dict[str, list[Any]] = {}
    for failure in outcome.failed:
        by_error.setdefault(failure.error, []).append(failure)
    for error, failures in by_error.items():
        what = f"{failures[0].name} failed"
        where = str(failures[0].file)
        if len(failures) > 1:
            what, where = f"{counted(len(failures), 'run')} failed", f"the first: {where}"
        complain(f"{what}: {error} ({where})")


def _watch() -> Any:
    """Return what observes each run; a worker finds it by its name."""
    from cpsched.cli.progress import ProgressBar

    return ProgressBar


@contextmanager
def _display() -> Iterator[Display | None]:
    """Give what shows the campaign; None where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    wide = console.width >= _WIDE
    # Where there is little room the times left are worth more than bars and dates.
    columns = (
        TextColumn("{task.description}", markup=False),
        *([BarColumn(bar_width=20)] if wide else []),
        MofNCompleteColumn(),
        TextColumn("{task.fields[unit]}  {task.fields[more]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("gone,"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        display = _Bars(progress, wide=wide)
        try:
            yield display
        finally:
            display.stop()


class _Bars:
    """A bar for the campaign, and one for each run under way."""

    def __init__(self, progress: Any, *, wide: bool) -> None:
        self._progress = progress
        self._wide = wide
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._ended = self._failed = 0
        self._bars: dict[str, Any] = {}

    def begin(self, work: Path, runs: int, kept: int) -> None:
        """Show the campaign, and look for runs under way from now on."""
        self._whole = self._progress.add_task("campaign", total=runs - kept, unit="runs", more="")
        self._thread = threading.Thread(target=self._look, args=(work,), daemon=True)
        self._thread.start()

    def advance(self, name: str, error: str | None) -> None:
        """Count a run."""
        del name
        self._ended += 1
        self._failed += error is not None

    def stop(self) -> None:
        """Look no longer."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def _look(self, work: Path) -> None:
        from cpsched.study.status import under_way

        while not self._stopped.wait(_REFRESH):
            self.show(under_way(work))

    def show(self, running: list[Any]) -> None:
        """Show what is done and what is under way; a run's share counts for the time left."""
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
