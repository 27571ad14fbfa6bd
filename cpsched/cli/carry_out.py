"""What ``compare`` and ``what-if`` do with a study: carry it out, write and print its results."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cpsched.cli.log_study import complain_about
from cpsched.cli.options import Shown
from cpsched.cli.output import SOME_FAILED, counted, echo, print_json
from cpsched.cli.progress import steps, study_bars
from cpsched.cli.results import results_as_data, show_results
from cpsched.util.interruption import note_kept_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.cli.inferred import InferredLog
    from cpsched.report.results_table import ResultsTable
    from cpsched.study.campaign import CampaignOutcome
    from cpsched.study.study import Study


def carry_out_and_show(
    study: Study,
    shown: Shown,
    out: Path,
    *,
    repeat: str = "--repeat 5",
    inferred: Sequence[InferredLog] = (),
) -> None:
    """
    Run the missing runs of a study, write tables and the report, and print the results.

    Parameters
    ----------
    out
        Folder for runs and results.
    repeat
        What the user adds for repetitions.
    inferred
        The logs whose systems are inferred.

    Raises
    ------
    typer.Exit
        If a run failed.
    """
    from cpsched.report import load_results, write_tables
    from cpsched.study import carry_out
    from cpsched.util.atomic_files import subfolder

    made: list[ResultsTable] = []

    def tables_of(outcome: CampaignOutcome) -> None:
        if outcome.folders:
            made.append(load_results(out))
            write_tables(made[0], subfolder(out, "tables"))

    study = replace(study, ignore_recorded_waits=shown.ignore_recorded_waits)
    note_kept_runs()
    with study_bars() as display:
        outcome = carry_out(
            study,
            out,
            jobs=shown.workers,
            display=display,
            executor=shown.executor,
            finish=tables_of,
        )
    complain_about(outcome)
    page = _report(out) if made and shown.report else None
    if shown.as_json:
        data = results_as_data(made[0]) if made else {}
        assumed = {log.log: log.system.remarks for log in inferred}
        path = None if page is None else str(page)
        print_json("results", {**data, "inferred_systems": assumed, "report": path}, version=2)
    elif made:
        _show_counts(outcome)
        show_results(made[0], repeat, all_tables=shown.all_tables)
        echo(f"\nTables: {out / 'tables'}")
        echo(f"Report: {page or f'write it with cpsched report {shlex.quote(str(out))}'}")
        if len(inferred) == 1:
            inferred[0].print_next_steps(made[0])
    if outcome.failed:
        raise typer.Exit(SOME_FAILED)


def _report(out: Path) -> Path | None:
    """Write the report; None where a drawing library is not installed."""
    from importlib.util import find_spec

    if any(find_spec(library) is None for library in ("matplotlib", "bokeh")):
        return None
    from cpsched.report.html.make import make_report

    with steps() as progress:
        return make_report(out, progress=progress).page


def _show_counts(outcome: CampaignOutcome) -> None:
    done = outcome.runs - outcome.existing - len(outcome.failed)
    parts = [f"{counted(outcome.runs, 'run')}: {done:,} simulated", f"{outcome.existing:,} reused"]
    echo(", ".join([*parts, f"{len(outcome.failed):,} failed"]))
