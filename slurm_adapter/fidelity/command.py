"""``cpsched slurm fidelity``: how closely a simulation reproduces what a log recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cpsched.api.commands import (
    AsJson,
    Jobs,
    SiteRuns,
    StudyFolder,
    WorkloadFile,
    echo,
    escaped,
    grouped,
    moment,
    print_json,
    say_what_is_assumed,
    study_bars,
    study_of_log,
    width,
)
from cpsched.api.tools import clock, counted, duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.api.tools import Table
    from slurm_adapter.fidelity.check import Check
    from slurm_adapter.fidelity.measures import Fidelity, Measured

#: How many groups of a kind a table shows.
_MOST = 8


@grouped
def command(
    log: WorkloadFile,
    out: Annotated[Path, StudyFolder],
    fit: Annotated[
        list[str] | None,
        typer.Option(
            help="Values to try for an unknown parameter, such as"
            " PriorityWeightAge=0,1000,10000; repeat to try all combinations.",
            metavar="KEY=VALUE,VALUE,...",
        ),
    ] = None,
    examples: Annotated[
        int,
        typer.Option(
            min=0,
            help="Number of jobs that differ most, each explained from both sides.",
            metavar="N",
        ),
    ] = 3,
    seeds: Annotated[
        int,
        typer.Option(
            min=1,
            help=(
                "Number of simulations, all but one with submits moved by up to 5 s, to measure"
                " chance."
            ),
            metavar="N",
        ),
    ] = 3,
    jobs: Jobs = 1,
    *,
    runs: SiteRuns,
    as_json: AsJson = False,
) -> None:
    """
    Simulate a log, and compare every start with the recorded one.

    Any log with recorded starts will do (SWF, PBS, sacct), under any dispatcher; --policy is for
    what a site's own Slurm decides.

    Unknown values (the controller's lag, parameters of --fit) are fitted on the first three
    quarters of the jobs and scored on the last quarter.
    """
    from slurm_adapter.fidelity.check import check, told
    from slurm_adapter.fidelity.downtime import downtimes, told_of
    from slurm_adapter.fidelity.files import write_files
    from slurm_adapter.fidelity.fitting import grid

    values = grid(fit or [])
    study = study_of_log(log, runs, once=("systems", "dispatchers", "predictors"), seeds=seeds)
    if not as_json:
        say_what_is_assumed(study)
    with study_bars() as display:
        checked = check(
            study,
            out,
            values=values,
            start=moment("--measure-from", runs.measure_from),
            jobs=jobs,
            display=display,
        )
        found = told(checked, study, examples)
    files = write_files(checked, found, out)
    if as_json:
        print_json("fidelity", json.loads(files[0].read_text(encoding="utf-8")))
        return
    for line in _lines(checked):
        echo(line)
    down = downtimes(checked.schedule)
    if down and study.settings.outages == "none":
        table = escaped(str(out / "fidelity-outages.csv"))
        echo(f"{told_of(down)} Then: --outages table:file={table}")
    for one in found:
        echo(f"\n{escaped(one.title)}\n  simulation: {escaped(one.simulated)}")
        echo(f"  record:     {escaped(one.recorded)}")
    echo(f"\nFiles: {', '.join(escaped(str(path)) for path in files)}")


def _lines(checked: Check) -> Iterator[str]:
    from slurm_adapter.fidelity.files import statement

    whole = checked.whole
    yield f"{counted(whole.overall.jobs, 'job')} with a recorded start"
    for reason, number in whole.left_out.items():
        yield f"left out: {counted(number, 'job')} that {reason}"
    yield ""
    yield from map(escaped, statement(whole, checked.repeats))
    given = checked.given
    yield (
        f"Given the jobs that were really running, {given.same:.0%} of the jobs start within a"
        f" minute of their recorded start, {given.earlier:.0%} earlier and {given.later:.0%} later."
    )
    yield ""
    yield _groups(whole).text(width=width())
    yield ""
    yield from _of_fit(checked)


def _groups(whole: Fidelity) -> Table:
    shown: dict[str, int] = {}
    rows: list[tuple[str, str, Measured]] = [("all", "all", whole.overall)]
    for kind, name, one in whole.groups:
        shown[kind] = shown.get(kind, 0) + 1
        if shown[kind] <= _MOST:
            rows.append((kind, name, one))
    return measured_table(rows)


def measured_table(rows: list[tuple[str, str, Measured]]) -> Table:
    """Return a table of how closely groups of jobs are reproduced."""
    from cpsched.api.tools import Column, Table

    def times(header: str, name: str) -> Column:
        seconds = tuple(float(getattr(one, name)) for _, _, one in rows)
        return Column(header, "", tuple(duration(round(one)) for one in seconds), sorted_by=seconds)

    shares = zip(*(one.within for _, _, one in rows), strict=True)
    named = ("within 1 min", "within 10 min", "within 1 h")
    return Table(
        "",
        (
            Column("kind", "", tuple(kind for kind, _, _ in rows)),
            Column("group", "", tuple(name for _, name, _ in rows)),
            Column("jobs", "", tuple(one.jobs for _, _, one in rows)),
            times("recorded mean wait", "recorded"),
            times("simulated mean wait", "simulated"),
            times("median error", "median_error"),
            times("p90 error", "p90_error"),
            *(
                Column(header, "%", tuple(100 * share for share in of), 1)
                for header, of in zip(named, shares, strict=True)
            ),
            Column("rank correlation", "", tuple(one.rank for _, _, one in rows), 2),
        ),
    )


def _of_fit(checked: Check) -> Iterator[str]:
    """Say what was fitted, and how closely the other jobs are reproduced."""
    first, last = checked.first.overall, checked.last.overall
    when = clock(checked.split, checked.schedule.workload.epoch)
    lag = f"from a decision to a start {checked.lag} s"
    if checked.fit is not None:
        options = ", ".join(f"{key}={value}" for key, value in checked.fit.options.items())
        yield (
            f"Fitted on jobs submitted before {when}: {options} (best of"
            f" {checked.fit.tried}; mean error there {duration(checked.fit.after)}, before"
            f" {duration(checked.fit.before)}); {lag}."
        )
    else:
        yield f"Fitted on jobs submitted before {when}: {lag}."
    rest = [f"{duration(last.mean_error)} on the {counted(last.jobs, 'job')} after that"]
    if checked.unfitted is not None:
        rest.append(f"{duration(checked.unfitted.overall.mean_error)} there without the fit")
    yield f"Mean error of a start: {duration(first.mean_error)} on these, {', '.join(rest)}."
