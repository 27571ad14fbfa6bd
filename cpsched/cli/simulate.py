"""``cpsched simulate``: what would have happened."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cpsched.cli.options import (
    Correction,
    First,
    From,
    Overrun,
    RuntimeModel,
    SkipBadLines,
    To,
    WorkloadFile,
    read_workload,
)
from cpsched.cli.output import echo, escaped
from cpsched.errors import ConfigError, InfeasibleRequestError
from cpsched.model_files import with_models

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cpsched.mapping import Fitted
    from cpsched.simulation.simulate import Checkpoint, Run, Settings
    from cpsched.tables import Table

    _Writer = Callable[[Run, Path], object]


def command(
    workload: WorkloadFile,
    system: Annotated[
        str, typer.Option("--system", help="A system by name or TOML file (cpsched list systems).")
    ],
    dispatcher: Annotated[
        list[str] | None,
        typer.Option(
            "--dispatcher", "-d", help="NAME or NAME:KEY=VALUE,...; repeat to compare. [easy]"
        ),
    ] = None,
    predictor: Annotated[
        list[str] | None,
        typer.Option(
            "--predictor",
            "-p",
            help="Where runtimes come from: NAME:KEY=VALUE,... or a model file. [requested]",
            callback=with_models,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for the run; several runs get one each in it."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace runs that exist already.")
    ] = False,
    first: First = None,
    start: From = None,
    end: To = None,
    overrun: Overrun = "kill",
    correction: Correction = "requested",
    dispatch_interval: Annotated[
        int | None,
        typer.Option(min=1, help="Dispatch on a grid of so many seconds only.", metavar="S"),
    ] = None,
    on_infeasible: Annotated[
        Literal["reject", "error"],
        typer.Option(help="Jobs that can never run here: reject and count them, or stop."),
    ] = "reject",
    enforce_limits: Annotated[
        bool, typer.Option(help="Reject jobs that ask for more time than their queue allows.")
    ] = True,
    runtime_model: RuntimeModel = "recorded",
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Keep the state in this file; go on from it if it is there."),
    ] = None,
    checkpoint_interval: Annotated[
        float, typer.Option(min=0, help="Seconds between two writes of it.", metavar="S")
    ] = 60.0,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            help="Format of the log, where its content does not tell; or of files to write into"
            " the run besides (cpsched list formats).",
        ),
    ] = None,
    skip_bad_lines: SkipBadLines = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summaries as JSON instead of a table.")
    ] = False,
) -> None:
    """Simulate a job log under one or more dispatchers and print what would have happened."""
    from cpsched import systems
    from cpsched.mapping import fit
    from cpsched.simulation.simulate import Checkpoint, Settings
    from cpsched.spec import canonical

    settings = Settings(
        overrun=overrun,
        correction=correction,
        dispatch_interval=dispatch_interval,
        enforce_limits=enforce_limits,
        runtime_model=canonical("runtime_models", runtime_model),
        seed=seed,
    )
    format_name, writers = _formats(formats or [], out, _log_name(workload))
    machine = systems.load(system)
    jobs = read_workload(workload, format_name, skip_bad_lines, first, start, end)
    fitted = fit(jobs, machine, enforce_limits=enforce_limits)
    if fitted.rejected and on_infeasible == "error":
        row, reason = fitted.rejected[0]
        raise InfeasibleRequestError(str(jobs.job_id[row]), reason)
    tasks = _tasks(fitted, settings, dispatcher or ["easy"], predictor or ["requested"], out)
    if checkpoint is not None and len(tasks) > 1:
        raise ConfigError(f"a checkpoint is of one run, these are {len(tasks)}", key="--checkpoint")
    if len(tasks) > 1 and out is not None and (out / "run.json").is_file():
        raise ConfigError("is a run; several runs need a folder of their own", where=out)
    if checkpoint is not None and not os.access(checkpoint.absolute().parent, os.W_OK):
        raise ConfigError("its folder cannot be written to", where=checkpoint)
    _check_targets(tasks, overwrite=overwrite)
    arguments = {"workload": str(workload), "system": system, "first": first, "from": start}
    arguments["to"] = end
    keep = None if checkpoint is None else Checkpoint(checkpoint, checkpoint_interval)
    done = [_run(task, fitted, settings, arguments, overwrite, keep, writers) for task in tasks]
    _print(done, fitted, as_json=as_json)


@dataclass(frozen=True)
class _Task:
    """One simulation to do, and where its files go."""

    dispatcher: str
    predictor: str
    folder: Path | None


@dataclass(frozen=True)
class _Done:
    """What is shown of a simulation; its schedule is let go."""

    task: _Task
    summary: dict[str, Any]
    decisions: Mapping[str, Any]
    predictions: Mapping[str, int]
    provenance: Mapping[str, str]
    timing: Mapping[str, float]
    deterministic: bool


def _formats(names: Sequence[str], out: Path | None, log: str) -> tuple[str | None, list[_Writer]]:
    """Tell the format of the log from those to write; the same option names both."""
    from cpsched import registry
    from cpsched.errors import UnknownNameError

    readers, written = registry.names("traces"), registry.names("formats")
    for name in names:
        if name not in readers and name not in written:
            raise UnknownNameError("trace format", name, [*readers, *written])
    read = [name for name in names if name not in written]
    if len(read) > 1:
        raise ConfigError(f"a log has one format, not {' and '.join(read)}", key="--format")
    wanted = list(dict.fromkeys(name for name in names if name in written))
    if wanted and out is None:
        raise ConfigError(f"{wanted[0]} is written into a run: add --out", key="--format")
    writers: list[_Writer] = [
        partial(_write, registry.load("formats", name), log) for name in wanted
    ]
    return (read[0] if read else None), writers


def _write(write: Callable[[Run, Path, str], object], log: str, run: Run, folder: Path) -> None:
    write(run, folder, log)


def _log_name(path: Path) -> str:
    return path.name.removesuffix(".gz")


def _tasks(
    fitted: Fitted,
    settings: Settings,
    dispatchers: Sequence[str],
    predictors: Sequence[str],
    out: Path | None,
) -> list[_Task]:
    """Return all combinations; bad specifications are found before anything is simulated."""
    from cpsched.spec import Spec, build

    pairs = []
    for dispatcher in dispatchers:
        build("dispatchers", dispatcher)
        for predictor in predictors:
            build("predictors", predictor, truth=lambda handle: handle)
            pairs.append((str(Spec.parse(dispatcher)), str(Spec.parse(predictor))))
    pairs = list(dict.fromkeys(pairs))
    if out is None or len(pairs) == 1:
        return [_Task(*pair, out) for pair in pairs]
    from cpsched.study import run_name

    digests = fitted.workload.digest(), fitted.system.digest()
    return [_Task(*pair, out / run_name(*pair, settings, *digests)) for pair in pairs]


def _check_targets(tasks: Sequence[_Task], *, overwrite: bool) -> None:
    """Refuse folders that exist before hours are spent."""
    from cpsched.study.folder import check_target

    for task in tasks:
        if task.folder is not None:
            check_target(task.folder, overwrite=overwrite)


def _run(
    task: _Task,
    fitted: Fitted,
    settings: Settings,
    arguments: dict[str, Any],
    overwrite: bool,
    checkpoint: Checkpoint | None,
    writers: Sequence[_Writer],
) -> _Done:
    from cpsched.cli.progress import progress_bar
    from cpsched.metrics.summary import summarize
    from cpsched.simulation.simulate import simulate
    from cpsched.study import save_run

    title = f"{task.dispatcher} {task.predictor}"
    jobs = len(fitted.workload) - len(fitted.rejected)
    with progress_bar(title, jobs, fitted.workload.epoch) as observers:
        run: Run = simulate(
            fitted,
            dispatcher=task.dispatcher,
            predictor=task.predictor,
            settings=settings,
            observers=observers,
            checkpoint=checkpoint,
        )
    if task.folder is None:
        summary = summarize(run.schedule)
    else:
        summary = save_run(
            run, task.folder, overwrite=overwrite, arguments=arguments, formats=writers
        )
    return _Done(
        task, summary, run.decisions, run.predictions, run.provenance, run.timing,
        run.deterministic,
    )  # fmt: skip


def _print(done: Sequence[_Done], fitted: Fitted, *, as_json: bool) -> None:
    if as_json:
        runs = [
            {
                "dispatcher": one.task.dispatcher,
                "predictor": one.task.predictor,
                "folder": None if one.task.folder is None else str(one.task.folder),
                "deterministic": one.deterministic,
                "decisions": dict(one.decisions),
                "predictions": dict(one.predictions),
                "provenance": dict(one.provenance),
                "timing": dict(one.timing),
                "summary": one.summary,
            }
            for one in done
        ]
        echo(json.dumps(runs, indent=1))
        return
    from cpsched.cli.report import heading, width
    from cpsched.report.decision_table import decision_table
    from cpsched.report.run_tables import comparison, placement_table

    echo(heading(fitted, done[0].summary))
    for note in _notes(done, fitted):
        echo(note)
    echo("")
    rows = [(one.task.dispatcher, one.task.predictor, one.summary) for one in done]
    echo(comparison(rows).text(width=width()))
    decided = decision_table(
        [(one.task.dispatcher, one.task.predictor, one.decisions, one.timing) for one in done]
    )
    for found in (placement_table(rows), decided, *_counted(done, fitted)):
        if found is not None:
            echo(f"\n{found.text(width=width())}")
    written = [one.task.folder for one in done if one.task.folder is not None]
    if written:
        echo("")
        echo("Files:")
        for folder in written:
            echo(f"  {escaped(str(folder))}")


def _notes(done: Sequence[_Done], fitted: Fitted) -> list[str]:
    """Return a line for each model that has seen some of the jobs it predicts."""
    from cpsched.metrics.predictions import not_a_forecast

    of = {one.task.predictor: not_a_forecast(one.provenance, fitted.workload) for one in done}
    return [f"not a forecast: {escaped(name)} {note}" for name, note in of.items() if note]


def _counted(done: Sequence[_Done], fitted: Fitted) -> list[Table | None]:
    """Return how the predictors came to their answers, run by run."""
    from cpsched.report.run_tables import count_table

    jobs = len(fitted.workload) - len(fitted.rejected)
    one_dispatcher = len({one.task.dispatcher for one in done}) == 1
    tables = []
    for one in done:
        title = f"Answers of {one.task.predictor}"
        title += ":" if one_dispatcher else f" for {one.task.dispatcher}:"
        tables.append(count_table(title, one.predictions, jobs))
    return tables
