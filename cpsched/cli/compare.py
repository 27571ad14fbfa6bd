"""``cpsched compare``: many runs, and tables of them."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpsched.cli.log_study import (
    complain_about,
    narrowed,
    say_what_is_not_followed,
    study_of_log,
)
from cpsched.cli.options import COMPARISON, RepeatedRuns, Shown, grouped, option
from cpsched.cli.output import SOME_FAILED, counted, echo, print_json
from cpsched.cli.progress import steps, study_bars
from cpsched.cli.results import results_as_data, show_results
from cpsched.errors import ConfigError, UnknownNameError
from cpsched.simulation.settings import option_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.study.campaign import CampaignOutcome
    from cpsched.study.study import Study
    from cpsched.study.tables import Tables

#: Options of a log whose names are not those of a study file.
_OPTIONS = {
    "systems": "system",
    "dispatchers": "dispatcher",
    "predictors": "predictor",
    "seeds": "repeat",
    "format": "input-format",
}
_SYSTEM = "The system to compare with, if there are several. [each with its own runs]"


@grouped
def command(
    study: Annotated[
        list[str],
        typer.Argument(
            metavar="STUDY",
            help="A study: a TOML file, or one of demo, remediani, ipsched, aucsched,"
            " aucsched-tree; or a job log, with --system; or several logs, with a --system for each"
            " in the same order, or for all.",
        ),
    ],
    baseline: Annotated[
        str | None, option(COMPARISON, help="The dispatcher to compare with. [the first]")
    ] = None,
    baseline_system: Annotated[str | None, option(COMPARISON, help=_SYSTEM, hidden=True)] = None,
    *,
    runs: RepeatedRuns,
    shown: Shown,
) -> None:
    """
    Run what is missing of a study, compare all runs with a baseline, and write tables and a report.

    Options from --system on apply to a job log; a study sets them in its file.
    """
    from cpsched.study import load_study

    named = {"baseline": baseline, "baseline_system": baseline_system}
    against: dict[str, Any] = {key: one for key, one in named.items() if one is not None}
    # Each is looked at, so that a file that is not there is named.
    if False not in [_is_log(one) for one in study]:
        wanted, repeat = study_of_log(study, runs, **against), "--repeat 5"
        if not shown.as_json:
            say_what_is_not_followed(wanted)
    else:
        if len(study) > 1:
            raise ConfigError("is one of several; name one study, or logs", where=study[0])
        wanted, repeat = load_study(study[0]), "seeds = 5 in its file"
        _refuse_any(runs.given() | against)
        wanted = narrowed(wanted, runs)
    carry_out_and_show(wanted, shown, repeat=repeat)


def carry_out_and_show(study: Study, shown: Shown, *, repeat: str = "--repeat 5") -> None:
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
    from cpsched.report import write_tables
    from cpsched.study import carry_out, make_tables
    from cpsched.util.atomic_files import subfolder
    from cpsched.util.spec import build

    made: list[Tables] = []

    def tables_of(outcome: CampaignOutcome) -> None:
        if outcome.folders:
            made.append(make_tables(shown.out))
            write_tables(made[0], subfolder(shown.out, "tables"))

    with study_bars() as display:
        outcome = carry_out(
            study,
            shown.out,
            jobs=shown.workers,
            display=display,
            backend=None if shown.executor is None else build("backends", shown.executor),
            finish=tables_of,
        )
    complain_about(outcome)
    page = _report(shown.out) if made and shown.report else None
    if shown.as_json:
        data = results_as_data(made[0]) if made else {}
        print_json("results", {**data, "report": None if page is None else str(page)})
    elif made:
        _show(outcome, made[0], page, repeat, shown)
    if outcome.failed:
        raise typer.Exit(SOME_FAILED)


def _report(out: Path) -> Path | None:
    """Write the report; None where no package makes one, or a drawing library is not installed."""
    from importlib.util import find_spec

    from cpsched.util import registry

    if registry.entry("reports", "html") is None:
        return None
    if any(find_spec(library) is None for library in ("matplotlib", "bokeh")):
        return None
    make_report = registry.load("reports", "html")
    with steps() as progress:
        page: Path = make_report(out, progress=progress).page
    return page


def _show(
    outcome: CampaignOutcome, tables: Tables, page: Path | None, repeat: str, shown: Shown
) -> None:
    from cpsched.util import registry

    done = outcome.runs - outcome.existing - len(outcome.failed)
    parts = [f"{counted(outcome.runs, 'run')}: {done:,} made", f"{outcome.existing:,} already done"]
    echo(", ".join([*parts, f"{len(outcome.failed):,} failed"]))
    show_results(tables, repeat, all_tables=shown.all_tables)
    echo(f"\nTables: {shown.out / 'tables'}")
    if page or registry.entry("reports", "html") is not None:
        echo(f"Report: {page or f'cpsched report {shlex.quote(str(shown.out))} makes one'}")


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


def _refuse_any(given: Mapping[str, Any]) -> None:
    """Refuse options that apply only to a log: a study sets them in its file."""
    for name in given:
        flag = option_of(_OPTIONS.get(name, name))
        raise ConfigError("applies to a job log; set it in the study's file", key=flag)
