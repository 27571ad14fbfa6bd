"""``cpsched simulate``: what would have happened."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cpsched.cli.log_study import complain_about, study_of_log
from cpsched.cli.options import (
    OUTPUT,
    RULES,
    AllTables,
    AsJson,
    Seed,
    SiteRuns,
    StudyFolder,
    WorkloadFile,
    grouped,
    option,
)
from cpsched.cli.output import SOME_FAILED, counted, echo, print_json
from cpsched.cli.progress import reading, study_bars
from cpsched.errors import ConfigError, InfeasibleRequestError
from cpsched.util.interruption import note_kept_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cpsched.model.schedule import Schedule
    from cpsched.model.workload import Workload
    from cpsched.report.results_table import ResultsTable
    from cpsched.simulation.observers import RunObserver
    from cpsched.simulation.simulate import Checkpoint
    from cpsched.study.campaign import CampaignOutcome
    from cpsched.study.run_spec import RunSpec
    from cpsched.systems.mapping import Fitted

_OBSERVE = "Observer NAME:KEY=VALUE,... (cpsched list observers)."
_EXPORT = "Also write this format (cpsched list exports)."


@grouped
def command(
    workload: WorkloadFile,
    out: Annotated[Path | None, StudyFolder] = None,
    force: Annotated[bool, option(OUTPUT, "--force", help="Replace existing runs.")] = False,
    *,
    runs: SiteRuns,
    on_infeasible: Annotated[
        Literal["reject", "error"],
        option(RULES, help="Treatment of jobs that can never run."),
    ] = "reject",
    checkpoint: Annotated[
        Path | None,
        option(OUTPUT, help="Save the state in this file, or continue from it.", hidden=True),
    ] = None,
    checkpoint_interval: Annotated[
        float, option(OUTPUT, help="Seconds between checkpoints.", min=0, metavar="S", hidden=True)
    ] = 60.0,
    observe: Annotated[
        list[str] | None, option(OUTPUT, help=_OBSERVE, metavar="NAME", hidden=True)
    ] = None,
    seed: Seed = 0,
    export: Annotated[
        list[str] | None, option(OUTPUT, "--export", help=_EXPORT, metavar="NAME")
    ] = None,
    all_tables: AllTables = False,
    as_json: AsJson = False,
) -> None:
    """Simulate a job log under one or more dispatchers, one run each."""
    from cpsched.report import load_results
    from cpsched.study import carry_out
    from cpsched.study.inputs import prepare
    from cpsched.study.run_spec import run_specs

    formats = _formats(export or [], out)
    study = study_of_log(workload, runs, once=["systems"], repeat=[seed])
    tasks = run_specs(study)
    kept = None if checkpoint is None else _checkpoint(checkpoint, checkpoint_interval, len(tasks))
    # Kept by this process, which runs the simulations.
    with reading(workload):
        fitted = prepare(tasks[0].made_of)
    if fitted.rejected and on_infeasible == "error":
        row, reason = fitted.rejected[0]
        raise InfeasibleRequestError(str(fitted.workload.job_id[row]), reason)
    _refuse_unfit(tasks, fitted)
    if out is not None:
        note_kept_runs()
    with (
        _folder(out) as folder,
        _observed(
            observe or [], tasks, fitted, overwrite=force, saved=kept is not None
        ) as observers,
    ):
        # Of one run: those of several would fill the memory.
        schedules: dict[str, Schedule] | None = {} if len(tasks) == 1 else None
        with study_bars() as display:
            outcome = carry_out(
                study,
                folder,
                display=display,
                watch=lambda *_: observers,
                formats=formats,
                again=force,
                checkpoint=kept,
                schedules=schedules,
                tasks=tasks,
            )
        _check_was_observed(observers, outcome)
        complain_about(outcome, kept=out is not None)
        if outcome.folders:
            made = schedules or {}
            table = load_results(folder, workload=fitted.workload, schedules=made)
            _print(table, tasks, fitted, out, made, as_json=as_json, all_tables=all_tables)
    if outcome.existing and not as_json:
        echo(
            f"\nReused: {outcome.existing:,} of {counted(outcome.runs, 'run')}"
            " (--force repeats them)"
        )
    if outcome.failed:
        raise typer.Exit(SOME_FAILED)


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    """Give the folder for the runs, a temporary one if they are not kept."""
    if out is not None:
        yield out
        return
    with TemporaryDirectory(prefix="cpsched-") as folder:
        yield Path(folder)


@contextmanager
def _observed(
    specs: Sequence[str], tasks: Sequence[RunSpec], fitted: Fitted, *, overwrite: bool, saved: bool
) -> Iterator[tuple[RunObserver, ...]]:
    """
    Give the observers of a run, opened.

    Parameters
    ----------
    saved
        Whether the run's state is kept in a checkpoint.

    Raises
    ------
    ConfigError
        If there are several runs, an observer refuses this one, or the run starts from a
        checkpoint.
    """
    from cpsched.util.spec import build

    observers: tuple[RunObserver, ...] = tuple(build("observers", spec) for spec in specs)
    if observers and len(tasks) > 1:
        raise ConfigError(
            f"observes one run, but there are {len(tasks)}. Give one dispatcher and predictor.",
            key="--observe",
        )
    if observers and saved:
        raise ConfigError(
            "cannot be combined with --checkpoint. Leave out one of them.", key="--observe"
        )
    import numpy as np

    rejected = [row for row, _ in fitted.rejected]
    names = np.delete(fitted.workload.job_id, rejected).tolist() if observers else []
    with ExitStack() as stack:
        for observer in observers:
            dispatcher = build("dispatchers", tasks[0].dispatcher)
            stack.enter_context(observer.opened(dispatcher, names, overwrite=overwrite))
        yield observers


def _check_was_observed(observers: Sequence[RunObserver], outcome: CampaignOutcome) -> None:
    """Refuse to say nothing where a run was there already and nothing was observed."""
    if observers and outcome.existing:
        raise ConfigError(
            "the run exists already and was not repeated. Add --force.", key="--observe"
        )


def _checkpoint(file: Path, interval: float, runs: int) -> Checkpoint:
    """Refuse a checkpoint that could not be kept, before anything is simulated."""
    from cpsched.simulation.simulate import Checkpoint

    if runs > 1:
        raise ConfigError(
            f"saves one run, but there are {runs}. Give one dispatcher and predictor.",
            key="--checkpoint",
        )
    if not os.access(file.absolute().parent, os.W_OK):
        raise ConfigError(f"{file}: the folder is not writable", key="--checkpoint")
    return Checkpoint(file, interval)


def _refuse_unfit(tasks: Sequence[RunSpec], fitted: Fitted) -> None:
    """Refuse dispatchers that do not fit the machine, before anything is simulated."""
    from cpsched.util.spec import build

    for spec in dict.fromkeys(task.dispatcher for task in tasks):
        dispatcher = build("dispatchers", spec)
        dispatcher.on_epoch(fitted.workload.epoch)
        dispatcher.reset(fitted.system, tasks[0].settings.seed)


def _formats(names: Sequence[str], out: Path | None) -> list[str]:
    """Return the formats to write, each once; refuse those that are unknown or have no folder."""
    from cpsched.util import registry

    for name in names:
        registry.load("exports", name)
        if out is None:
            raise ConfigError(f"{name} needs a folder. Add --out DIR.", key="--export")
    return list(dict.fromkeys(names))


def _print(
    table: ResultsTable,
    tasks: Sequence[RunSpec],
    fitted: Fitted,
    out: Path | None,
    schedules: Mapping[str, Schedule],
    *,
    as_json: bool,
    all_tables: bool,
) -> None:
    from cpsched.cli.heading import heading, not_simulated, say
    from cpsched.cli.results import results_as_data, show_results
    from cpsched.study.policies import assumed_of

    if as_json:
        data = results_as_data(table, kept=out is not None, schedules=schedules)
        print_json("results", data, version=2)
        return
    echo(heading(fitted.workload, fitted.system))
    for line in not_simulated(fitted.workload, dict(fitted.rejected)):
        say(line)
    for spec in dict.fromkeys(task.dispatcher for task in tasks):
        idle = _without_effect(spec, fitted.workload)
        for line in ([] if idle is None else [idle]) + assumed_of(fitted, spec):
            say(line)
    show_results(
        table,
        "cpsched compare --repeat 5",
        all_tables=all_tables,
        with_case=False,
        schedules=schedules,
    )
    if out is not None:
        echo("\nRuns:")
        for run in table.study.runs:
            echo(f"  {out / 'runs' / run.folder}")


def _without_effect(dispatcher: str, workload: Workload) -> str | None:
    """Return a line if the log has no jobs for which this dispatcher is special; else None."""
    from cpsched.util.spec import build
    from cpsched.util.types import JobType

    setting = build("dispatchers", dispatcher).works_with
    has_jobs = {
        "restarts": bool(workload.restartable.any()),
        "malleable": bool((workload.job_type != JobType.RIGID).any()),
    }
    if has_jobs.get(setting, True):
        return None
    what = "restartable" if setting == "restarts" else "malleable"
    return (
        f"{dispatcher} has no effect: {workload.title} has no {what} jobs."
        f" --{setting} makes a share of the jobs {what}."
    )
