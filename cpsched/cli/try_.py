"""``cpsched try``: six policies on a log, before anything is configured."""

from __future__ import annotations

import os
import shlex
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cpsched.cli.options import STUDY, AsJson, StudyFolder
from cpsched.cli.output import counted, echo, escaped, print_json
from cpsched.errors import CpschedError, RunError

if TYPE_CHECKING:
    from cpsched.model.workload import Workload
    from cpsched.study.inferred_system import InferredSystem
    from cpsched.study.study import Study
    from cpsched.study.tables import Tables

#: What is compared, by names for people; the first is what others are compared with.
POLICIES = {
    "EASY": "easy",
    "FCFS": "fifo",
    "EASY-SJF": "easy:backfill=sjf",
    "conservative": "conservative",
    "EASY by slowdown": "easy:order=slowdown,estimate=requested",
    "EASY by WSEPT": "easy-wsept",
}
SEEDS = 5
#: File of a machine that is not known; its name is in tables.
_ASSUMED = "assumed-machine.toml"


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("try", rich_help_panel=STUDY)(command)


def command(
    log: Annotated[
        Path, typer.Argument(metavar="LOG", help="A job log: SWF, PBS, sacct, CSV or Parquet.")
    ],
    system: Annotated[
        str | None,
        typer.Option(
            "--system", "-s", help="Name or file of the system. [inferred]", metavar="NAME"
        ),
    ] = None,
    out: Annotated[Path | None, StudyFolder] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write the report there.", metavar="FILE")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", "-j", help="Processes. [all cores]", min=1, metavar="N"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """
    Compare six dispatchers on a job log: no system and no options needed.

    All run on the same nodes, five repetitions each. The output names what is assumed and how
    close EASY is to the recorded waits; then each gain with its interval, and who waits longer.
    """
    from cpsched.cli.progress import reading
    from cpsched.logs import read as read_log
    from cpsched.study.inferred_system import InferredSystem, infer_system

    with reading(log):
        workload = read_log(log, skip_bad_lines=True)
    machine = infer_system(workload) if system is None else InferredSystem(system, True, ())
    with ExitStack() as stack:
        folder = out or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cpsched-")))
        study = study_of(log, machine, folder)
        if not as_json:
            for line in heading(workload, machine):
                echo(escaped(line))
        found = carry_out_and_say(study, folder, workers or os.cpu_count() or 1, as_json=as_json)
        nearest = found.get("nearest")
        if html is not None:
            _write_page(folder, html)
            if not as_json:
                echo(f"Report: {html}")
    if not as_json:
        skip = " --skip-bad-lines" if dict(workload.set_aside).get("bad line") else ""
        base = POLICIES.get(str(nearest), "easy")
        compared = bool(found.get("record"))
        for line in where_next(log, machine, out, skip, base, recorded=compared):
            echo(line)
    else:
        print_json("try", {"machine": list(machine.remarks), **found})


def study_of(log: Path, machine: InferredSystem, folder: Path) -> Study:
    """Return the study of a log on a system, whose file is put into the study's folder."""
    from cpsched.cli.options import option_of
    from cpsched.study.log_study import study_of_log as log_study
    from cpsched.study.store import Store
    from cpsched.study.study import LabelledSpec
    from cpsched.util.atomic_files import replacing, subfolder

    # Before anything is written there: this refuses a folder that is not a study.
    Store(folder.absolute())
    name = machine.system
    if not machine.known:
        path = subfolder(folder.absolute(), "inputs") / _ASSUMED
        with replacing(path) as partial:
            partial.write_text(machine.system, encoding="utf-8")
        name = str(path)
    given = {
        "systems": [name], "dispatchers": list(POLICIES.values()), "allocator": "first-fit",
        "repeat": SEEDS, "skip_bad_lines": True,
    }  # fmt: skip
    study = log_study(log, given, option_of)
    labels = dict(zip(POLICIES, study.dispatchers, strict=True))
    choices = tuple(LabelledSpec(label, one.spec) for label, one in labels.items())
    base = replace(study.baseline, dispatcher=next(iter(POLICIES)))
    return replace(study, dispatchers=choices, baseline=base)


def heading(workload: Workload, machine: InferredSystem) -> list[str]:
    """Return what was read, and on what system it is run."""
    from cpsched.util.types import MISSING

    days = (int(workload.submit.max()) - int(workload.submit.min())) / 86400
    lines = [f"{workload.title}: {counted(len(workload), 'job')} submitted over {days:,.1f} days"]
    lines += [f"machine: {one}" for one in machine.remarks]
    if (workload.recorded_start == MISSING).all():
        lines.append("record: no starts, so nothing says how near these runs are to the real ones")
    return lines


def carry_out_and_say(study: Study, folder: Path, jobs: int, *, as_json: bool) -> dict[str, object]:
    """Carry a study out, and print its results; return them as data if that is asked for."""
    from cpsched.cli.heading import say
    from cpsched.cli.progress import study_bars
    from cpsched.cli.results import results_as_data, show_results
    from cpsched.report.record import misfit
    from cpsched.report.sentences import findings
    from cpsched.study import carry_out, make_tables
    from cpsched.study.wait_changes import wait_changes

    with study_bars() as display:
        outcome = carry_out(study, folder, jobs=jobs, display=display)
    if outcome.failed:
        raise RunError(outcome.failed[0].error)
    tables = make_tables(folder)
    nearest = reproducing(tables)
    groups = [
        line for one in findings(tables) for line in wait_changes(tables, one.place, one.about)
    ]
    unfit = bool(misfit(tables.results.runs[0]))
    if as_json:
        told = {"groups": groups, "fits": not unfit, "nearest": nearest}
        return {**results_as_data(tables, kept=False), **told}
    show_results(tables, "", all_tables=False, praise=not unfit)
    for line in () if unfit else groups:
        say(line)
    if nearest and not unfit:
        say(
            f"{nearest} reproduces the recorded waits, EASY does not: if that is what runs there,"
            " compare with it instead."
        )
    return {"nearest": nearest, "record": tables.record.rows()}


def reproducing(tables: Tables) -> str:
    """Return the policy that is nearest to the recorded waits if EASY is not; else ''."""
    from cpsched.metrics.validation import wait_pairs
    from cpsched.study import load_run

    if all(row["reproduced"] != "not" for row in tables.record.rows() if row["kind"] == "all"):
        return ""
    first = {run.dispatcher: run.path for run in reversed(tables.results.runs)}
    near = {}
    for name, path in first.items():
        schedule = load_run(path).schedule
        waits = wait_pairs(schedule, schedule.workload.submit >= 0)
        if len(waits.rows) and (one := waits.errors()).grade != "not":
            near[name] = abs(one.simulated - one.recorded)
    return min(near, key=lambda name: near[name], default="")


def where_next(
    log: Path,
    machine: InferredSystem,
    out: Path | None,
    skip: str = "",
    base: str = "easy",
    *,
    recorded: bool = True,
) -> list[str]:
    """
    Return commands that lead on.

    Parameters
    ----------
    skip
        The option that a log with bad lines needs.
    base
        What others are compared with.
    recorded
        Whether the log has starts with which simulated ones can be compared.
    """
    name = shlex.quote(str(log))
    system = shlex.quote(machine.system if machine.known else f"{out}/inputs/{_ASSUMED}")
    on = f"{name}{skip} --system {system}"
    lines, using = ["", "Next:"], "" if base == "easy" else f" -d {base}"
    if not machine.known and out is None:
        lines.append(f"  cpsched try {name} --out first   keeps the runs and the assumed system")
        return [*lines, "  docs/guides/systems.md           your machine as a file of twenty lines"]
    lines += [
        f"  cpsched compare {on} -d {base} -d easy-wsept --repeat 5 --out runs",
        f"  cpsched what-if {on}{using} --change 'scale-load 1.1' --out answers",
    ]
    return [*lines, f"  cpsched validate {on}{using} --out check"] if recorded else lines


def _write_page(folder: Path, html: Path) -> None:
    """Write the study's report to a file."""
    from cpsched.report.html.make import make_report
    from cpsched.util.atomic_files import replacing

    page = make_report(folder).page
    try:
        with replacing(html.absolute()) as partial:
            partial.write_bytes(page.read_bytes())
    except OSError as error:
        raise CpschedError(f"{html} cannot be written: {error.strerror or error}") from error
