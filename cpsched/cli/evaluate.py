"""``cpsched evaluate``: how good predictors are on a job log."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cpsched.cli.heading import not_simulated
from cpsched.cli.options import LOGS, AsJson, Force, Log, Seed, grouped
from cpsched.cli.output import counted, echo, escaped, print_json
from cpsched.cli.progress import working
from cpsched.errors import ConfigError
from cpsched.util.atomic_files import check_new_file, replacing
from cpsched.util.csv_cells import guarded
from cpsched.util.model_files import with_models

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from cpsched.model.workload import Workload
    from cpsched.study.prediction.evaluation import Evaluation
    from cpsched.study.prediction.replay import JobStarts
    from cpsched.systems.mapping import Fitted

ReplaySystem = Annotated[
    str | None,
    typer.Option(
        "--system",
        "-s",
        metavar="NAME",
        help="System name or file (cpsched list systems).",
    ),
]
ReplayDispatcher = Annotated[
    str | None,
    typer.Option(
        "--dispatcher",
        "-d",
        help="Dispatcher to simulate the starts. [recorded]",
        metavar="NAME",
    ),
]
#: Judged where the command line names none.
_DEFAULT = ("requested", "last:count=2", "user-history", "user-history-plus")


def register(app: typer.Typer) -> None:
    """Add the commands of this package to the command line."""
    app.command("evaluate", rich_help_panel=LOGS)(evaluate_command)


@grouped
def evaluate_command(
    predictor: Annotated[
        list[str] | None,
        typer.Option(
            "--predictor",
            "-p",
            help="NAME:KEY=VALUE,... or model file (repeatable).",
            callback=with_models,
            metavar="NAME",
        ),
    ] = None,
    system: ReplaySystem = None,
    dispatcher: ReplayDispatcher = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File for all predictions (.csv, .csv.gz, .parquet)."),
    ] = None,
    force: Force = False,
    warmup: Annotated[float, typer.Option(help="Share of first jobs that are not scored.")] = 0.1,
    min_runtime: Annotated[
        int,
        typer.Option(min=0, help="Exclude jobs that ran for fewer seconds."),
    ] = 0,
    *,
    log: Log,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """
    Predict the runtime of every job at its submit time, and print the errors.

    Without --predictor: requested, last:count=2, user-history and user-history-plus.
    """
    from cpsched.study.prediction.evaluation import evaluate
    from cpsched.util.spec import Spec, build

    specs = list(dict.fromkeys(str(Spec.parse(text)) for text in predictor or _DEFAULT))
    for spec in specs:
        build("predictors", spec, truth=lambda handle: handle)
    check_dispatcher(dispatcher, system)
    if out is not None:
        check_new_file(out, overwrite=force, suffixes=(".csv", ".csv.gz", ".parquet"), key="--out")
    jobs = log.read()
    fitted, starts = replayed(_long_enough(jobs, min_runtime), system, dispatcher)
    num_jobs = len(fitted.workload) - len(fitted.rejected)
    evaluations = []
    for spec in specs:
        with job_progress(spec, num_jobs) as progress:
            evaluations.append(
                evaluate(fitted, starts, spec, seed=seed, warmup=warmup, progress=progress)
            )
    if out is not None:
        _write(out, fitted, evaluations)
    if as_json:
        print_json("evaluate", as_data(starts, evaluations))
    else:
        _print(fitted, starts, evaluations)
        if out is not None:
            echo(f"\n{out}: all predictions")


def heading(fitted: Fitted, starts: JobStarts, evaluation: Evaluation) -> str:
    """Return the lines on the predicted jobs, the assumed starts, and the excluded jobs."""
    workload = fitted.workload
    lines = [
        f"{escaped(workload.title)}: {counted(len(workload), 'job')}",
        *not_simulated(workload, dict(fitted.rejected)),
    ]
    if starts.simulated:
        lines.append(f"Starts: simulated with {starts.simulated} and requested times.")
    elif starts.assumed:
        lines.append(f"Starts: as recorded, {starts.assumed:,} unknown ones at submit.")
    else:
        lines.append("Starts: as recorded.")
    zeros = int((workload.runtime[evaluation.rows] == 0).sum())
    if zeros:
        lines.append(f"Runtime 0: {counted(zeros, 'job')}, counted as 1 second in log errors.")
    first = counted(evaluation.scored, "job")
    lines.append(f"Scored: the predictions for planning, without the first {first}.")
    return "\n".join(lines)


def trained_on_these_jobs(fitted: Fitted, evaluations: Sequence[Evaluation]) -> list[str]:
    """Return a line for each model that has seen some of the jobs it is judged on."""
    from cpsched.metrics.predictions import not_a_forecast

    notes = [(item, not_a_forecast(item.provenance, fitted.workload)) for item in evaluations]
    return [f"Not a forecast: {escaped(item.predictor)} {note}." for item, note in notes if note]


def _long_enough(jobs: Workload, min_runtime: int) -> Workload:
    import numpy as np

    rows = np.flatnonzero(jobs.runtime >= min_runtime)
    if not len(rows):
        raise ConfigError(
            f"all jobs are shorter than {min_runtime} seconds. Give a lower --min-runtime.",
            key="--min-runtime",
        )
    return jobs if len(rows) == len(jobs) else jobs.take(rows)


def check_dispatcher(dispatcher: str | None, system: str | None) -> None:
    """Refuse a dispatcher that cannot simulate the starts, before the log is read."""
    from cpsched.util.spec import build

    if dispatcher is not None:
        if system is None:
            raise ConfigError("needs a system to simulate on. Add --system.", key="--dispatcher")
        build("dispatchers", dispatcher)


def replayed(
    jobs: Workload, system: str | None, dispatcher: str | None
) -> tuple[Fitted, JobStarts]:
    """
    Return the jobs, and when they start.

    Jobs are taken as the system does, where one is named; limits on the time asked for are not.
    """
    from cpsched import systems
    from cpsched.cli.progress import progress_bar
    from cpsched.study.prediction.replay import started_jobs, starts_of, unmapped
    from cpsched.systems.mapping import fit

    jobs = started_jobs(jobs)
    if system is None:
        fitted = unmapped(jobs)
    else:
        # What ran is scored, whether or not a queue's rules as they are written had let it in.
        fitted = fit(jobs, systems.load(system), enforce_time_limits=False)
    num_jobs = len(fitted.workload) - len(fitted.rejected)
    with progress_bar("starts", num_jobs, fitted.workload.epoch) as observers:
        return fitted, starts_of(fitted, dispatcher, observers)


def _write(out: Path, fitted: Fitted, evaluations: list[Evaluation]) -> None:
    import pyarrow as pa
    from pyarrow import csv, parquet

    from cpsched.study.prediction.evaluation import to_columns

    table = pa.table(to_columns(fitted, evaluations))
    with replacing(out) as partial:
        if out.suffix == ".parquet":
            parquet.write_table(table, partial)
        else:
            packed = "gzip" if out.suffix == ".gz" else None
            with pa.output_stream(partial, compression=packed) as stream:
                csv.write_csv(pa.table(dict(map(_guarded, table.column_names, table))), stream)


def _guarded(name: str, column: pa.ChunkedArray) -> tuple[str, pa.ChunkedArray | pa.Array]:
    """Return a column in which no text is a spreadsheet's formula."""
    import pyarrow as pa

    if not pa.types.is_string(column.type):
        return name, column
    return name, pa.array([guarded(text) for text in column.to_pylist()], pa.string())


@contextmanager
def job_progress(title: str, num_jobs: int) -> Iterator[Callable[[int], None]]:
    """Give the function that moves a bar on stderr."""
    with working(title) as show:
        yield lambda done: show(done, num_jobs)


def as_data(starts: JobStarts, evaluations: list[Evaluation]) -> dict[str, object]:
    """Return how good predictors were as plain JSON types."""
    return {
        "starts": {"simulated": starts.simulated or None, "assumed": starts.assumed},
        "predictors": [
            {
                "predictor": item.predictor,
                "warmup_jobs": item.scored,
                "overall": asdict(item.overall),
                "distribution": item.distribution and asdict(item.distribution),
                "by_class": {name: asdict(score) for name, score in item.by_class.items()},
                "stats": dict(item.stats),
                "provenance": dict(item.provenance),
                "cpu_us_per_job": item.cpu_us,
            }
            for item in evaluations
        ],
    }


def _print(fitted: Fitted, starts: JobStarts, evaluations: list[Evaluation]) -> None:
    from cpsched.cli.heading import width
    from cpsched.report.accuracy_tables import by_class, distributions, overall, used
    from cpsched.report.terminal import view_text

    echo(heading(fitted, starts, evaluations[0]))
    for note in trained_on_these_jobs(fitted, evaluations):
        echo(note)
    views = (overall(evaluations), by_class(evaluations), distributions(evaluations))
    for view in (*views, *used(evaluations)):
        if view is not None:
            echo(f"\n{view.title}\n" if view.title else "")
            echo(view_text(view, width()))
