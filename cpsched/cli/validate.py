"""``cpsched validate``: how closely a simulation reproduces what a log recorded."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cpsched.cli.heading import say, width
from cpsched.cli.log_study import say_what_is_assumed, study_of_log
from cpsched.cli.options import (
    AsJson,
    MeasuredRuns,
    StudyFolder,
    Workers,
    WorkloadFile,
    grouped,
    moment,
)
from cpsched.cli.output import echo, escaped, print_json
from cpsched.cli.progress import study_bars
from cpsched.util.words import counted, duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.metrics.validation import WaitErrors
    from cpsched.study.validation.errors import Validation
    from cpsched.study.validation.validate import ValidationResult

#: How many groups of a kind a table shows.
_MOST = 8


@grouped
def command(
    log: WorkloadFile,
    out: Annotated[Path, StudyFolder],
    examples: Annotated[
        int,
        typer.Option(
            min=0,
            help="Explained jobs, those that differ most.",
            metavar="N",
        ),
    ] = 3,
    repeat: Annotated[
        int,
        typer.Option(min=1, help="Repetitions with delayed submit times.", metavar="N"),
    ] = 3,
    workers: Workers = 1,
    force: Annotated[bool, typer.Option("--force", help="Replace existing runs.")] = False,
    *,
    runs: MeasuredRuns,
    as_json: AsJson = False,
) -> None:
    """
    Simulate a job log and compare every start with the recorded one.

    The log needs recorded starts (SWF, PBS, sacct). --slurm-policy simulates a site's own Slurm.
    The lag from a decision to a start is measured on jobs that start at once.
    """
    from cpsched.forecast import why_in_log
    from cpsched.logs.sacct.records import reasons_of
    from cpsched.study.validation.downtime import downtime_sentence, downtimes
    from cpsched.study.validation.files import write_files
    from cpsched.study.validation.validate import validate

    study = study_of_log(log, runs, once=("systems", "dispatchers", "predictors"), repeat=repeat)
    if not as_json:
        say_what_is_assumed(study)
    with study_bars() as display:
        checked = validate(
            study,
            out,
            start=moment("--measure-from", runs.measure_from),
            examples=examples,
            jobs=workers,
            explain=lambda fitted, **asked: why_in_log(fitted, **asked).summary,
            display=display,
            reasons=reasons_of(log),
            again=force,
        )
    files = write_files(checked, out)
    if as_json:
        print_json("validation", json.loads(files[0].read_text(encoding="utf-8")))
        return
    for line in _lines(checked):
        echo(line) if "\n" in line else say(line)
    down = downtimes(checked.schedule)
    if down and study.settings.outages == "none":
        table = escaped(str(out / "validation-outages.csv"))
        say(f"{downtime_sentence(down)} If so: --outages table:file={table}")
    for difference in checked.differences:
        echo(f"\n{escaped(difference.title)}")
        say(f"  simulated: {escaped(difference.simulated)}")
        say(f"  recorded:  {escaped(difference.recorded)}")
    echo(f"\nFiles: {', '.join(escaped(str(path)) for path in files)}")


def _lines(checked: ValidationResult) -> Iterator[str]:
    from cpsched.report.outcomes import lines_of_run
    from cpsched.study.validation.files import statement

    validation = checked.validation
    starts = validation.overall.jobs
    again = f" ({starts:,} attempts)" if starts > validation.jobs else ""
    yield f"{counted(validation.jobs, 'job')}{again} with a recorded start"
    for reason, number in validation.left_out.items():
        yield f"Excluded: {counted(number, 'job')} {reason}."
    yield from lines_of_run(checked.summary)
    yield ""
    yield from map(escaped, statement(validation, checked.repeats))
    yield ""
    yield _groups(validation)
    there = Counter(kind for kind, _, _ in validation.groups)
    if cut := [f"{kind} ({of})" for kind, of in there.items() if of > _MOST]:
        yield f"The {_MOST} largest groups of {', '.join(cut)}. All are in validation.json."
    yield ""
    yield f"Lag from decision to start: {checked.lag} s, the median of jobs that start at once."


def _groups(validation: Validation) -> str:
    """Return the errors of each group of jobs as a table."""
    from cpsched.util.terminal import table_text
    from cpsched.util.words import percent

    shown: dict[str, int] = {}
    rows: list[tuple[str, str, WaitErrors]] = [("all", "all", validation.overall)]
    for kind, name, errors in validation.groups:
        shown[kind] = shown.get(kind, 0) + 1
        if shown[kind] <= _MOST:
            rows.append((kind, name, errors))

    headers = [
        *("group", "jobs", "recorded\nmean wait", "simulated\nmean wait", "median\nerror"),
        *("p90\nerror", "within\n10 min", "rank\ncorr."),
    ]
    times = ("recorded", "simulated", "median_error", "p90_error")
    cells = [
        [
            "all jobs" if kind == "all" else f"{kind} {escaped(name)}",
            f"{errors.jobs:,}",
            *(duration(round(getattr(errors, time))) for time in times),
            percent(errors.within[1], 1),
            "-" if errors.rank is None else f"{errors.rank:.2f}",
        ]
        for kind, name, errors in rows
    ]
    return table_text(headers, cells, width=width())
