"""``cpsched compare``: many runs, and tables of them."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpsched.cli.errors import SOME_FAILED
from cpsched.cli.log_study import complain_about, narrowed, study_of_log
from cpsched.cli.options import (
    Allocator,
    Dispatchers,
    Format,
    Part,
    Predictors,
    Rules,
    SkipBadLines,
    StudyFolder,
    Systems,
    grouped,
)
from cpsched.cli.output import counted, echo, escaped
from cpsched.cli.progress import study_bars
from cpsched.errors import ConfigError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.study.campaign import Outcome
    from cpsched.study.study import Study
    from cpsched.study.tables import Tables


@grouped
def command(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="A study: a TOML file, or one of demo, remediani, ipsched, aucsched,"
            " aucsched-tree; or a job log, with --system.",
        ),
    ],
    out: Annotated[Path, StudyFolder],
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, help="Processes on this machine.", metavar="N")
    ] = 1,
    scheduler: Annotated[
        str | None,
        typer.Option(help="Dask scheduler whose workers do the runs: tcp://HOST:8786."),
    ] = None,
    *,
    part: Part,
    system: Systems = None,
    dispatcher: Dispatchers = None,
    allocator: Allocator = None,
    predictor: Predictors = None,
    baseline: Annotated[
        str | None, typer.Option(help="The dispatcher to compare with. [the first]")
    ] = None,
    baseline_system: Annotated[
        str | None,
        typer.Option(help="The system to compare with, of several. [each with its own runs]"),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Repetitions with jittered submits.", metavar="N")
    ] = None,
    jitter: Annotated[
        int | None, typer.Option(min=0, help="Seconds submits are delayed at most. [5]")
    ] = None,
    rules: Rules,
    format_name: Format = None,
    skip_bad_lines: SkipBadLines = False,
) -> None:
    """
    Carry out the runs of a study that are missing, and write tables of all.

    Options from --system on are for a job log: a study's file says so itself.
    """
    from cpsched.study import load_study

    given = {
        "format": format_name,
        "skip_bad_lines": skip_bad_lines or None,
        "systems": system,
        "dispatchers": dispatcher,
        "allocator": allocator,
        "predictors": predictor,
        "baseline": baseline,
        "baseline_system": baseline_system,
        "seeds": seeds,
        "jitter": jitter,
        **vars(rules),
    }
    if scheduler is not None and jobs > 1:
        raise ConfigError("is for this machine; a cluster has as many as its workers", key="--jobs")
    if _is_log(study):
        wanted = study_of_log(study, given, part, several_systems=True)
    else:
        wanted = narrowed(_of_file(load_study(study), given), part)
    carry_out_and_show(wanted, out, jobs=jobs, scheduler=scheduler)


def carry_out_and_show(study: Study, out: Path, *, jobs: int, scheduler: str | None = None) -> None:
    """
    Make the runs of a study that are missing, write the tables of all, and print what came of it.

    Raises
    ------
    typer.Exit
        If a run failed.
    """
    from cpsched.study import carry_out, make_tables, write_tables

    written: list[tuple[Tables, list[Path]]] = []

    def tables_of(outcome: Outcome) -> None:
        if outcome.folders:
            tables = make_tables(out)
            written.append((tables, write_tables(tables, out / "tables")))

    with study_bars() as (watch, display):
        outcome = carry_out(
            study,
            out,
            jobs=jobs,
            scheduler=scheduler,
            watch=watch,
            display=display,
            finish=tables_of,
        )
    complain_about(outcome)
    for tables, files in written:
        show(outcome, tables, files)
    if outcome.failed:
        raise typer.Exit(SOME_FAILED)


def _is_log(study: str) -> bool:
    """Tell a job log from a study, which ends in ``.toml`` or is the name of a shipped one."""
    from cpsched.study import study_names

    if study.endswith(".toml") or study in study_names():
        return False
    if not Path(study).is_file():
        if os.sep in study or Path(study).suffix:
            known = ", ".join(study_names())
            raise ConfigError(
                f"is not a file, and not a study; the studies are: {known}", where=study
            )
        raise UnknownNameError("study or file", study, study_names())
    return True


def _of_file(study: Study, given: Mapping[str, Any]) -> Study:
    """Return a study; what its file says is not said again."""
    for name, value in given.items():
        if value is not None:
            option = {"systems": "system", "dispatchers": "dispatcher", "predictors": "predictor"}
            flag = "--" + option.get(name, name).replace("_", "-")
            raise ConfigError("is for a job log; a study's file says so itself", key=flag)
    return study


def show(outcome: Outcome, tables: Tables, files: list[Path]) -> None:
    """Print what came of a study."""
    from cpsched.cli.report import width
    from cpsched.study.allocators import unequal
    from cpsched.study.conclusion import conclusions
    from cpsched.study.readable import GAINS, main_table

    made = outcome.runs - outcome.kept - len(outcome.failed)
    parts = [f"{counted(outcome.runs, 'run')}: {made:,} made", f"{outcome.kept:,} already done"]
    echo(", ".join([*parts, f"{len(outcome.failed):,} failed"]))
    runs = tables.results.runs
    seen = {(r.workload, r.predictor, r.not_a_forecast) for r in runs if r.not_a_forecast}
    for workload, predictor, note in sorted(seen):
        echo(f"not a forecast on {escaped(workload)}: {escaped(predictor)} {note}")
    mixed = unequal((run.dispatcher, run.dispatcher_spec, run.allocator) for run in runs)
    if mixed is not None:
        echo(escaped(mixed))
    for titled in main_table(tables):
        of_groups = titled.title.startswith(GAINS)
        title = f"{titled.place}: {titled.title}" if of_groups else titled.place
        echo(f"\n{escaped(title)}\n\n{titled.table.text(width=width())}")
    folder = files[0].parent
    echo(f"\nFigures and a report: cpsched report {escaped(shlex.quote(str(folder.parent)))}")
    echo(f"Tables: {escaped(str(folder))}\n")
    for line in conclusions(tables):
        echo(escaped(line))
