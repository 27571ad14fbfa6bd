"""``cpsched train``: a model file from a job log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cpsched import registry
from cpsched.atomic_files import check_new_file
from cpsched.cli.options import (
    First,
    Format,
    From,
    SkipBadLines,
    To,
    WorkloadFile,
    read_workload,
)
from cpsched.cli.output import echo, escaped
from cpsched.errors import ConfigError
from cpsched.model_files import with_models

if TYPE_CHECKING:
    from cpsched.mapping import Fitted
    from predictors.replay import Starts
    from predictors.training import Training


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("train")(train_command)


def train_command(
    workload: WorkloadFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="The model file.")],
    predictor: Annotated[
        str,
        typer.Option(
            "--predictor",
            "-p",
            help="NAME:KEY=VALUE,..., or a model file to go on from.",
            callback=with_models,
        ),
    ] = "gbm-log",
    system: Annotated[
        str | None,
        typer.Option("--system", help="Take jobs as this system does (cpsched list systems)."),
    ] = None,
    dispatcher: Annotated[
        str | None,
        typer.Option(
            "--dispatcher", "-d", help="Simulate the starts with it, instead of the log's own."
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
    first: First = None,
    start: From = None,
    end: To = None,
    seed: Annotated[int, typer.Option(help="Seed of the predictor.")] = 0,
    format_name: Format = None,
    skip_bad_lines: SkipBadLines = False,
) -> None:
    """Train a predictor on a job log and write its model to a file."""
    from cpsched.cli.progress import progress_bar
    from cpsched.spec import build
    from predictors.evaluate_command import fitted_to, job_progress
    from predictors.replay import starts_of
    from predictors.training import learner, save, train

    learner(predictor)
    if dispatcher is not None:
        if system is None:
            raise ConfigError("needs a --system to simulate on", key="--dispatcher")
        build("dispatchers", dispatcher)
    _check_out(out, overwrite=overwrite)
    fitted = fitted_to(
        read_workload(workload, format_name, skip_bad_lines, first, start, end), system
    )
    num_jobs = len(fitted.workload) - len(fitted.rejected)
    with progress_bar("starts", num_jobs, fitted.workload.epoch) as observers:
        starts = starts_of(fitted, dispatcher, observers)
    with job_progress(predictor, num_jobs) as progress:
        training = train(fitted, starts, predictor, seed=seed, progress=progress)
    save(out, training, fitted, predictor)
    _print(fitted, starts, training, out)


def _check_out(out: Path, *, overwrite: bool) -> None:
    """Refuse a file before minutes are spent."""
    check_new_file(out, overwrite=overwrite, key="--out")


def _print(fitted: Fitted, starts: Starts, training: Training, out: Path) -> None:
    from cpsched.cli.report import width
    from predictors.evaluate_command import heading
    from predictors.tables import overall

    echo(heading(fitted, starts, training.evaluation))
    echo("")
    echo(overall([training.evaluation]).text(width=width()))
    echo("")
    # A file that is called like a predictor is not meant by its bare name.
    named = out.name in registry.names("predictors") and out.name == str(out)
    use = f"./{out}" if named else str(out)
    echo(f"{escaped(str(out))}: the model; use it with --predictor {escaped(use)}")
