"""``cpsched simulate``: what would have happened."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cpsched.cli.errors import SOME_FAILED
from cpsched.cli.log_study import complain_about, study_of_log
from cpsched.cli.options import (
    Allocator,
    AsJson,
    Dispatchers,
    Part,
    Predictors,
    Rules,
    Seed,
    SkipBadLines,
    StudyFolder,
    Systems,
    WorkloadFile,
    grouped,
)
from cpsched.cli.output import echo, escaped
from cpsched.cli.progress import study_bars
from cpsched.errors import ConfigError, InfeasibleRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.cli.negotiation_log import NegotiationLog
    from cpsched.mapping import Fitted
    from cpsched.simulation.simulate import Checkpoint
    from cpsched.study.task import Task
    from cpsched.tables import Table


@grouped
def command(
    workload: WorkloadFile,
    system: Systems = None,
    dispatcher: Dispatchers = None,
    allocator: Allocator = None,
    predictor: Predictors = None,
    out: Annotated[Path | None, StudyFolder] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Make runs again that are there already.")
    ] = False,
    *,
    part: Part,
    rules: Rules,
    on_infeasible: Annotated[
        Literal["reject", "error"],
        typer.Option(help="Jobs that can never run here: reject and count them, or stop."),
    ] = "reject",
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Keep the state in this file; go on from it if it is there."),
    ] = None,
    checkpoint_interval: Annotated[
        float, typer.Option(min=0, help="Seconds between two writes of it.", metavar="S")
    ] = 60.0,
    log_negotiation: Annotated[
        Path | None,
        typer.Option(
            help="Write what the two sides of dn-dbes say to each other, as JSON lines.",
            metavar="FILE",
        ),
    ] = None,
    seed: Seed = 0,
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            help="Format of the log, where its content does not tell; or of files to write into"
            " the run besides (cpsched list formats).",
        ),
    ] = None,
    skip_bad_lines: SkipBadLines = False,
    as_json: AsJson = False,
) -> None:
    """Simulate a job log under one or more dispatchers and print what would have happened."""
    from cpsched.cli.negotiation_log import negotiation_log
    from cpsched.study import carry_out
    from cpsched.study.sources import prepare
    from cpsched.study.task import tasks_of

    format_name, written = _formats(formats or [], out)
    study = study_of_log(
        workload,
        {
            "systems": system,
            "dispatchers": dispatcher,
            "allocator": allocator,
            "predictors": predictor,
            "seeds": [seed],
            "format": format_name,
            "skip_bad_lines": skip_bad_lines,
            **vars(rules),
        },
        part,
    )
    tasks = tasks_of(study)
    kept = None if checkpoint is None else _checkpoint(checkpoint, checkpoint_interval, len(tasks))
    # Kept by this process, which makes the runs.
    fitted = prepare(tasks[0].made_of)
    if fitted.rejected and on_infeasible == "error":
        row, reason = fitted.rejected[0]
        raise InfeasibleRequestError(str(fitted.workload.job_id[row]), reason)
    with negotiation_log(
        log_negotiation, tasks, fitted, overwrite=overwrite, saved=kept is not None
    ) as log:
        if out is None:
            _print([_Done.make(task, fitted, kept, log) for task in tasks], fitted, as_json=as_json)
            if kept is not None:
                kept.remove()
            return
        with study_bars() as (watch, display):
            outcome = carry_out(
                study,
                out,
                watch=watch if log is None else log.beside(watch),
                display=display,
                formats=written,
                again=overwrite,
                checkpoint=kept,
            )
    complain_about(outcome)
    if outcome.folders:
        done = [_Done.read(out / "runs" / path.name, tasks) for path in outcome.folders]
        _print(done, fitted, as_json=as_json)
    if outcome.kept and not as_json:
        echo(f"\nAlready done: {outcome.kept:,} of {outcome.runs:,}; --overwrite makes them again")
    if outcome.failed:
        raise typer.Exit(SOME_FAILED)


def _checkpoint(file: Path, interval: float, runs: int) -> Checkpoint:
    """Refuse a checkpoint that could not be kept, before anything is simulated."""
    from cpsched.simulation.simulate import Checkpoint

    if runs > 1:
        raise ConfigError(f"a checkpoint is of one run, these are {runs}", key="--checkpoint")
    if not os.access(file.absolute().parent, os.W_OK):
        raise ConfigError("its folder cannot be written to", where=file)
    return Checkpoint(file, interval)


@dataclass(frozen=True)
class _Done:
    """What is shown of a run, which is little beside its schedule."""

    folder: Path | None
    dispatcher: str
    about: Mapping[str, Any]
    summary: dict[str, Any]
    timing: Mapping[str, float]

    @classmethod
    def read(cls, folder: Path, tasks: Sequence[Task]) -> _Done:
        """Read what the folder of one of the runs says of it, but not its schedule."""
        # It may have been made under another label.
        task = next(task for task in tasks if folder.name.endswith(task.key))
        about, summary, timing = (
            json.loads((folder / name).read_text(encoding="utf-8"))
            for name in ("run.json", "metrics.json", "timing.json")
        )
        return cls(folder, _label(task), about, summary, timing)

    @classmethod
    def make(
        cls,
        task: Task,
        fitted: Fitted,
        checkpoint: Checkpoint | None,
        log: NegotiationLog | None,
    ) -> _Done:
        """Simulate a run that is not saved."""
        from cpsched.cli.progress import progress_bar
        from cpsched.metrics.summary import summarize
        from cpsched.study.worker import arguments_of, simulated
        from cpsched.study.writer import description

        title = f"{task.dispatcher} {task.predictor}"
        jobs = len(fitted.workload) - len(fitted.rejected)
        with progress_bar(title, jobs, fitted.workload.epoch) as observers:
            if log is not None:
                observers.append(log)
            run = simulated(task, fitted, observers, checkpoint)
        summary = summarize(run.schedule)
        about = description(run, summary, arguments_of(task))
        return cls(None, _label(task), about, summary, run.timing)

    @property
    def predictor(self) -> str:
        return str(self.about["predictor"])

    @property
    def allocator(self) -> str | None:
        found = self.about["allocator"]
        return None if found is None else str(found)


def _label(task: Task) -> str:
    """Return the dispatcher as it was named, without an allocator that all have."""
    return str(dict(task.labels)["dispatcher"])


def _formats(names: Sequence[str], out: Path | None) -> tuple[str | None, list[str]]:
    """Tell the format of the log from those to write; the same option names both."""
    from cpsched import registry
    from cpsched.errors import UnknownNameError

    readers, writers = registry.names("traces"), registry.names("formats")
    for name in names:
        if name not in readers and name not in writers:
            raise UnknownNameError("trace format", name, [*readers, *writers])
    read = [name for name in names if name not in writers]
    if len(read) > 1:
        raise ConfigError(f"a log has one format, not {' and '.join(read)}", key="--format")
    written = list(dict.fromkeys(name for name in names if name in writers))
    if written and out is None:
        raise ConfigError(f"{written[0]} is written into a run: add --out", key="--format")
    return (read[0] if read else None), written


def _print(done: Sequence[_Done], fitted: Fitted, *, as_json: bool) -> None:
    if as_json:
        keys = ("allocator", "deterministic", "decisions", "predictions", "provenance")
        runs = [
            {
                "dispatcher": one.about["dispatcher"],
                "predictor": one.about["predictor"],
                "folder": None if one.folder is None else str(one.folder),
                **{key: one.about[key] for key in keys},
                "timing": one.timing,
                "summary": one.summary,
            }
            for one in done
        ]
        echo(json.dumps(runs, indent=1))
        return
    from cpsched.cli.log_study import assumed_of
    from cpsched.cli.report import heading, width
    from cpsched.metrics.predictions import knows_runtimes
    from cpsched.report.decision_table import decision_table
    from cpsched.report.run_tables import (
        comparison,
        groups_table,
        machine_table,
        placement_table,
    )
    from cpsched.study.allocators import unequal
    from cpsched.study.effects import without_effect

    echo(heading(fitted))
    for name, note in {one.predictor: one.about["not_a_forecast"] for one in done}.items():
        if note:
            echo(f"not a forecast: {escaped(name)} {note}")
    for spec in dict.fromkeys(one.about["dispatcher"] for one in done):
        idle = without_effect(spec, fitted.workload)
        for line in ([] if idle is None else [idle]) + assumed_of(fitted, spec):
            echo(escaped(line))
    mixed = unequal((one.dispatcher, one.about["dispatcher"], one.allocator) for one in done)
    if mixed is not None:
        echo(escaped(mixed))
    rows = [(one.dispatcher, one.predictor, one.summary) for one in done]
    allocators = [one.allocator for one in done]
    tables = (
        comparison(rows, allocators, [knows_runtimes(one.about) for one in done]),
        groups_table(rows, allocators),
        machine_table(rows, allocators),
        placement_table(rows, allocators),
        decision_table(
            [(one.dispatcher, one.predictor, one.about["decisions"], one.timing) for one in done]
        ),
        *_counted(done, fitted),
    )
    for found in tables:
        if found is not None:
            echo(f"\n{found.text(width=width())}")
    folders = [one.folder for one in done if one.folder is not None]
    if folders:
        echo("\nFiles:")
    for folder in folders:
        echo(f"  {escaped(str(folder))}")


def _counted(done: Sequence[_Done], fitted: Fitted) -> list[Table | None]:
    """Return how the predictors came to their answers, run by run."""
    from cpsched.report.run_tables import count_table

    jobs = len(fitted.workload) - len(fitted.rejected)
    one_dispatcher = len({one.dispatcher for one in done}) == 1
    tables = []
    for one in done:
        title = f"Answers of {one.predictor}"
        title += ":" if one_dispatcher else f" for {one.dispatcher}:"
        tables.append(count_table(title, one.about["predictions"], jobs))
    return tables
