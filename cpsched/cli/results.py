"""
The printed results of ``simulate``, ``compare`` and ``what-if``: tables and sentences.
"""

from __future__ import annotations

import json
import os
import sys
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import typer

from cpsched.cli.heading import left_out, say, width
from cpsched.cli.output import echo, escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cpsched.model.schedule import Schedule
    from cpsched.report.results_table import ResultsTable
    from cpsched.report.views import View
    from cpsched.study.results import RunResult

#: Keys of ``run.json`` in JSON.
_OF_RUNS = ("allocator", "decisions", "predictions", "provenance")


def show_results(
    table: ResultsTable,
    repeat: str,
    *,
    all_tables: bool,
    with_case: bool = True,
    schedules: Mapping[str, Schedule] = MappingProxyType({}),
) -> None:
    """
    Print the results of runs: the leading metrics, the outcomes of jobs, and the finding.

    Parameters
    ----------
    repeat
        What the user adds for repetitions.
    all_tables
        Whether to print all metrics and all groups of jobs too.
    with_case
        Whether to name workload and system above the table, with what they leave out.
    schedules
        Loaded schedules by the names of their run folders, which are not read again.
    """
    from cpsched.report.outcomes import load_lines, never_started, outcome_lines
    from cpsched.report.record import validation_lines
    from cpsched.report.terminal import results_text

    for line in _notes(table):
        say(line)
    _show_across(table)
    for case in table.cases:
        if with_case:
            echo(f"\n{case}")
            for line in left_out(table.repetitions[table.cases[case][0]][0].path):
                say(line)
        # Escaped already, apart from the colours of a terminal.
        typer.echo(f"\n{results_text(table, case, width(), colour=_in_colour())}")
        # Reasons and counts of what is left out stand above where they are the same in all runs.
        lines = (
            *never_started(table, case, schedules),
            *outcome_lines(
                table, case, without=("rejected", "set_aside"), never=("never_started",)
            ),
            *load_lines(table, case),
        )
        for line in lines:
            say(line)
    if all_tables:
        _show_all(table)
    _show_finding(table, repeat)
    several = len(table.cases) > 1
    for case in table.cases:
        for line in validation_lines(table, case):
            say(f"{case}: {line}" if several else line)


def _show_finding(table: ResultsTable, repeat: str) -> None:
    from cpsched.report.findings import conclusions, findings, group_lines

    lines = [
        *conclusions(table, repeat),
        *(line for finding in findings(table, repeat) for line in group_lines(table, finding)),
    ]
    if lines:
        echo("")
    for line in lines:
        say(line)


def _show_all(table: ResultsTable) -> None:
    from cpsched.report import views

    for _, of_case in views.documents(table):
        _show_views(view for view in of_case if not view.ratios)
    _show_views(_of_first_runs(table))


def _show_across(table: ResultsTable) -> None:
    """Print what holds over several logs."""
    from cpsched.report.across_logs import across_logs, sentences
    from cpsched.report.views import over_logs

    lines = list(sentences(across_logs(table)))
    if lines:
        echo("")
    for line in lines:
        say(line)
    _show_views(over_logs(table))


def _show_views(views: Iterable[View]) -> None:
    from cpsched.report.terminal import view_text

    for view in views:
        title = f"{view.case}: {view.title}" if view.case else view.title
        echo(f"\n{title[:1].upper()}{title[1:]}\n\n{view_text(view, width())}")


def _in_colour() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _notes(table: ResultsTable) -> Iterator[str]:
    """Yield notes on how to read a comparison."""
    from cpsched.report.decisions import solver_notes
    from cpsched.study.allocators import mixed_allocators

    runs = table.study.runs
    seen = {(r.workload, r.predictor, r.not_a_forecast) for r in runs if r.not_a_forecast}
    for workload, predictor, note in sorted(seen):
        yield f"Not a forecast on {escaped(workload)}: {escaped(predictor)} {note}."
    yield from solver_notes((run.dispatcher, run.decisions) for run in runs)
    mixed = mixed_allocators((run.dispatcher, run.dispatcher_spec, run.allocator) for run in runs)
    if mixed is not None:
        yield mixed


def _of_first_runs(table: ResultsTable) -> Iterator[View]:
    """Yield tables on decisions, for the first repetitions."""
    from cpsched.report.decisions import count_view, decision_view

    first = {key: of[0] for key, of in table.repetitions.items()}
    about = {key: _about(run) for key, run in first.items()}
    rows = [(table.name(key), about[key]["decisions"], run.timing) for key, run in first.items()]
    if (view := decision_view(rows)) is not None:
        yield view
    for key, run in first.items():
        title = f"predictions of {run.predictor} for {run.dispatcher}"
        jobs = int(run.values["simulated"] or 0)
        if (view := count_view(title, about[key]["predictions"], jobs)) is not None:
            yield view


def _about(run: RunResult, name: str = "run.json") -> dict[str, Any]:
    about: dict[str, Any] = json.loads((run.path / name).read_text(encoding="utf-8"))
    return about


def results_as_data(
    table: ResultsTable,
    *,
    kept: bool = True,
    schedules: Mapping[str, Schedule] = MappingProxyType({}),
) -> dict[str, Any]:
    """
    Return results of runs as data for programs.

    Parameters
    ----------
    kept
        Whether the runs' folders are kept.
    schedules
        Loaded schedules by the names of their run folders, which are not read again.
    """
    from cpsched.report.across_logs import across_logs
    from cpsched.report.findings import conclusions
    from cpsched.report.outcomes import loads, never_started
    from cpsched.report.record import validation_lines

    cases = list(table.cases)
    return {
        "finding": conclusions(table),
        "results": table.as_rows(),
        "outcomes": list(table.outcomes()),
        "offered_load": [
            {"case": case, "runs": runs, "load": load}
            for case in cases
            for runs, load in loads(table, case).items()
        ],
        "never_started": [line for case in cases for line in never_started(table, case, schedules)],
        "validation": [line for case in cases for line in validation_lines(table, case)],
        "record": list(table.record),
        "across_logs": [entry.as_data() for entry in across_logs(table)],
        "runs": [_run_as_data(run, kept=kept) for run in table.study.runs],
    }


def _run_as_data(run: RunResult, *, kept: bool) -> dict[str, Any]:
    about = _about(run)
    return {
        **run.labels,
        "dispatcher_spec": about["dispatcher"],
        "predictor_spec": about["predictor"],
        "seed": run.seed,
        "folder": str(run.path) if kept else None,
        **{key: about[key] for key in _OF_RUNS},
        "timing": dict(run.timing),
        "summary": _about(run, "metrics.json"),
    }
