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
    COMPARISON,
    OUTPUT,
    Allocator,
    AsJson,
    Dispatchers,
    Format,
    Part,
    Predictors,
    Rules,
    SkipBadLines,
    Stats,
    StudyFolder,
    Systems,
    WithReport,
    grouped,
)
from cpsched.cli.output import counted, echo, print_json
from cpsched.cli.progress import steps, study_bars
from cpsched.cli.results import results_as_data, show_results
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
        int,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            help="Processes on this machine.",
            metavar="N",
            rich_help_panel=OUTPUT,
        ),
    ] = 1,
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Dask scheduler whose workers do the runs: tcp://HOST:8786.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    *,
    part: Part,
    system: Systems = None,
    dispatcher: Dispatchers = None,
    allocator: Allocator = None,
    predictor: Predictors = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            help="The dispatcher to compare with. [the first]", rich_help_panel=COMPARISON
        ),
    ] = None,
    baseline_system: Annotated[
        str | None,
        typer.Option(
            help="The system to compare with, if there are several. [each with its own runs]",
            rich_help_panel=COMPARISON,
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Repetitions with jittered submits.",
            metavar="N",
            rich_help_panel=COMPARISON,
        ),
    ] = None,
    jitter: Annotated[
        int | None,
        typer.Option(
            min=0, help="Largest delay of a submit, in seconds. [5]", rich_help_panel=COMPARISON
        ),
    ] = None,
    rules: Rules,
    format_name: Format = None,
    skip_bad_lines: SkipBadLines = False,
    stats: Stats = False,
    report: WithReport = True,
    as_json: AsJson = False,
) -> None:
    """
    Run what is missing of a study, compare all runs with a baseline, and write tables and a report.

    Options from --system on apply to a job log; a study sets them in its file.
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
        raise ConfigError(
            "applies to this machine; a cluster runs as many as it has workers", key="--jobs"
        )
    repeat = "--seeds 5"
    if _is_log(study):
        wanted = study_of_log(study, given, part, several_systems=True)
    else:
        wanted = narrowed(_of_file(load_study(study), given), part)
        repeat = "seeds = 5 in its file"
    carry_out_and_show(
        wanted,
        out,
        jobs=jobs,
        scheduler=scheduler,
        repeat=repeat,
        stats=stats,
        report=report,
        as_json=as_json,
    )


def carry_out_and_show(
    study: Study,
    out: Path,
    *,
    jobs: int,
    scheduler: str | None = None,
    repeat: str = "--seeds 5",
    stats: bool = False,
    report: bool = True,
    as_json: bool = False,
) -> None:
    """
    Run what is missing of a study, write tables and the report, and print the results.

    Parameters
    ----------
    repeat
        What the user adds for repetitions.

    Raises
    ------
    typer.Exit
        If a run failed.
    """
    from cpsched.show import write_tables
    from cpsched.study import carry_out, make_tables

    made: list[Tables] = []

    def tables_of(outcome: Outcome) -> None:
        if outcome.folders:
            made.append(make_tables(out))
            write_tables(made[0], out / "tables")

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
    page = _report(out) if made and report else None
    if as_json:
        data = results_as_data(made[0]) if made else {}
        print_json("results", {**data, "report": None if page is None else str(page)})
    elif made:
        _show(outcome, made[0], out, page, repeat, stats=stats)
    if outcome.failed:
        raise typer.Exit(SOME_FAILED)


def _report(out: Path) -> Path | None:
    """Write the report; None where the drawing libraries are not installed."""
    from importlib.util import find_spec

    if any(find_spec(library) is None for library in ("matplotlib", "bokeh")):
        return None
    from cpsched.report.make import make_report

    with steps() as progress:
        return make_report(out, progress=progress).page


def _show(
    outcome: Outcome, tables: Tables, out: Path, page: Path | None, repeat: str, *, stats: bool
) -> None:
    done = outcome.runs - outcome.kept - len(outcome.failed)
    parts = [f"{counted(outcome.runs, 'run')}: {done:,} made", f"{outcome.kept:,} already done"]
    echo(", ".join([*parts, f"{len(outcome.failed):,} failed"]))
    show_results(tables, repeat, stats=stats)
    echo(f"\nTables: {out / 'tables'}")
    echo(f"Report: {page or f'cpsched report {shlex.quote(str(out))} makes one'}")


def _is_log(study: str) -> bool:
    """
    Whether this is a job log and not a study (a ``.toml`` file or the name of a bundled study).
    """
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
    """Return a study; options that apply only to a log are refused."""
    for name, value in given.items():
        if value is not None:
            option = {"systems": "system", "dispatchers": "dispatcher", "predictors": "predictor"}
            flag = "--" + option.get(name, name).replace("_", "-")
            raise ConfigError("applies to a job log; set it in the study's file", key=flag)
    return study
