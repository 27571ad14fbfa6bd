"""
What ``simulate``, ``compare`` and ``what-if`` print about finished runs: a table and a finding.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, replace
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import typer

from cpsched.cli.heading import left_out, say, width
from cpsched.cli.output import echo, escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cpsched.study.results import RunResult
    from cpsched.study.tables import Tables
    from cpsched.util.tables import Table

#: Of ``run.json``, in JSON.
_SAID = ("allocator", "decisions", "predictions", "provenance")


def show_results(tables: Tables, repeat: str, *, all_tables: bool, place: bool = True) -> None:
    """
    Print what came of runs: what they leave out, the leading figures, the finding, and then how
    near they are to what the log records.

    Parameters
    ----------
    repeat
        What the user adds for repetitions.
    all_tables
        Whether to print all other tables too: who gains and who loses, and all figures.
    place
        Whether to name workload and system above the table, with what they leave out.
    """
    from cpsched.report.leading_rows import leading, leading_text
    from cpsched.report.never_started import never_started
    from cpsched.report.outcomes import load_lines, outcome_lines
    from cpsched.report.readable import readable
    from cpsched.report.sentences import conclusions

    for line in _notes(tables):
        say(line)
    _show_overview(tables)
    first = {run.case: run for run in reversed(tables.results.runs)}
    scenarios = tables.results.by_group
    for found in leading(tables):
        run = first[found.place]
        if place:
            echo(f"\n{found.place}")
            for line in left_out(run.path):
                say(line)
        # Reasons and counts of what is left out stand above where they are the same in all runs.
        above = ("rejected", "set_aside")
        for line in never_started(tables, found.place):
            say(line)
        for line in (
            *outcome_lines(tables, found.place, without=above, never=("never_started",)),
            *load_lines(tables, found.place),
        ):
            echo("\n".join(wrap(line, width(), subsequent_indent="  ", break_on_hyphens=False)))
        if (when := tables.results.measure_from) is not None:
            say(f"the table is of whole runs, sentences of the jobs submitted from {when} on")
        # Escaped already, apart from the colours of a terminal.
        typer.echo(f"\n{leading_text(found, width(), scenarios=scenarios, colour=_in_colour())}")
    if all_tables:
        titled_tables = readable(tables)
        names = ("gains", "summary", "sizes")
        for titled in (table for name in names for table in titled_tables[name]):
            echo(f"\n{titled.place}: {titled.title}\n\n{titled.table.in_words().text(width())}")
        for table in _of_first_runs(tables):
            echo(f"\n{table.in_words().text(width())}")
    _show_sentences(conclusions(tables, repeat))
    _show_sentences(_recorded(tables))


def _show_sentences(sentences: Sequence[str]) -> None:
    if sentences:
        echo("")
    for line in sentences:
        say(line)


def _recorded(tables: Tables) -> list[str]:
    """Return how near the runs are to the recorded schedule; of several places, each with it."""
    from cpsched.report.leading_rows import leading
    from cpsched.report.record import reproduced

    places = [shown.place for shown in leading(tables)]
    return [
        f"{place}: {line}" if len(places) > 1 else line
        for place in places
        for line in reproduced(tables, place)
    ]


def _show_overview(tables: Tables) -> None:
    from cpsched.report.overview import overview

    for table in overview(tables).tables:
        say(f"\n{table.caption}")
        echo(f"\n{replace(table, caption='').text(width())}")


def _in_colour() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _notes(tables: Tables) -> Iterator[str]:
    """Give notes on how to read a comparison."""
    from cpsched.report.decisions import solver_notes
    from cpsched.study.allocators import mixed_allocators

    runs = tables.results.runs
    seen = {(r.workload, r.predictor, r.not_a_forecast) for r in runs if r.not_a_forecast}
    for workload, predictor, note in sorted(seen):
        yield f"not a forecast on {escaped(workload)}: {escaped(predictor)} {note}"
    yield from solver_notes((run.dispatcher, run.decisions) for run in runs)
    mixed = mixed_allocators((run.dispatcher, run.dispatcher_spec, run.allocator) for run in runs)
    if mixed is not None:
        yield mixed


def _of_first_runs(tables: Tables) -> Iterator[Table]:
    """Give tables on decisions, for the first repetitions."""
    from cpsched.report.decisions import count_table, decision_table

    first = {run.key: run for run in reversed(tables.results.runs)}
    runs = [(run, _about(run)) for run in reversed(first.values())]
    table = decision_table([(*run.configuration, a["decisions"], run.timing) for run, a in runs])
    if table is not None:
        yield table
    for run, about in runs:
        title = f"Answers of {run.predictor} for {run.dispatcher}:"
        counts = count_table(title, about["predictions"], run.counts["simulated"])
        if counts is not None:
            yield counts


def _about(run: RunResult, name: str = "run.json") -> dict[str, Any]:
    about: dict[str, Any] = json.loads((run.path / name).read_text(encoding="utf-8"))
    return about


def results_as_data(tables: Tables, *, kept: bool = True) -> dict[str, Any]:
    """
    Return results of runs as data for programs.

    Parameters
    ----------
    kept
        Whether the runs' folders are kept.
    """
    from cpsched.report.leading_rows import leading
    from cpsched.report.never_started import never_started
    from cpsched.report.outcomes import loads
    from cpsched.report.overview import overview
    from cpsched.report.record import reproduced
    from cpsched.report.sentences import conclusions

    told = leading(tables)
    return {
        "reproduced": [line for one in told for line in reproduced(tables, one.place)],
        "never_started": [line for one in told for line in never_started(tables, one.place)],
        "record": tables.record.rows(),
        "outcomes": tables.outcomes.rows(),
        "offered_load": [
            {"place": one.place, "of": load.runs, "load": dict(load.shares)}
            for one in told
            for load in loads(tables, one.place)
        ],
        "leading": [asdict(found) for found in told],
        "over_all_logs": overview(tables).data,
        "finding": conclusions(tables),
        "runs": [_run_as_data(run, kept=kept) for run in tables.results.runs],
    }


def _run_as_data(run: RunResult, *, kept: bool) -> dict[str, Any]:
    about = _about(run)
    return {
        **run.labels,
        "dispatcher_spec": about["dispatcher"],
        "predictor_spec": about["predictor"],
        "seed": run.seed,
        "folder": str(run.path) if kept else None,
        **{key: about[key] for key in _SAID},
        "timing": dict(run.timing),
        "summary": _about(run, "metrics.json"),
    }
