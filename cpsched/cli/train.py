"""``cpsched train``: a model file from a job log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cpsched.cli.evaluate import (
    ReplayDispatcher,
    ReplaySystem,
    as_data,
    check_dispatcher,
    heading,
    job_progress,
    replayed,
)
from cpsched.cli.options import LOGS, AsJson, Force, Log, Seed, grouped
from cpsched.cli.output import echo, escaped, print_json
from cpsched.util import registry
from cpsched.util.atomic_files import check_new_file
from cpsched.util.model_files import with_models

if TYPE_CHECKING:
    from cpsched.model.workload import Workload
    from cpsched.study.prediction.replay import JobStarts
    from cpsched.study.prediction.training import Training
    from cpsched.systems.mapping import Fitted


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("train", rich_help_panel=LOGS)(train_command)


@grouped
def train_command(
    out: Annotated[Path, typer.Option("--out", "-o", help="Model file to write.")],
    predictor: Annotated[
        str,
        typer.Option(
            "--predictor",
            "-p",
            help="Predictor NAME:KEY=VALUE,... or model file.",
            metavar="NAME",
            callback=with_models,
        ),
    ] = "gbm-log",
    system: ReplaySystem = None,
    dispatcher: ReplayDispatcher = None,
    force: Force = False,
    *,
    log: Log,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Train a predictor on a job log and write its model to a file."""
    from cpsched.study.prediction.training import learner, save, train

    learner(predictor)
    check_dispatcher(dispatcher, system)
    # Refused before minutes are spent.
    check_new_file(out, overwrite=force, key="--out")
    jobs = log.read()
    fitted, starts = replayed(jobs, system, dispatcher)
    num_jobs = len(fitted.workload) - len(fitted.rejected)
    with job_progress(predictor, num_jobs) as progress:
        training = train(fitted, starts, predictor, seed=seed, progress=progress)
    save(out, training, fitted, predictor)
    if as_json:
        print_json("train", {"model": str(out), **as_data(starts, [training.evaluation])})
        return
    _print(fitted, starts, training, out)


def _print(fitted: Fitted, starts: JobStarts, training: Training, out: Path) -> None:
    from cpsched.cli.heading import width
    from cpsched.report.accuracy_tables import overall
    from cpsched.report.terminal import view_text

    echo(heading(fitted, starts, training.evaluation))
    echo("")
    echo(view_text(overall([training.evaluation]), width()))
    echo("")
    # A file that is called like a predictor is not meant by its bare name.
    named = out.name in registry.names("predictors") and out.name == str(out)
    use = f"./{out}" if named else str(out)
    echo(f"Model: {escaped(str(out))} (use it with --predictor {escaped(use)})")
    last = int(fitted.workload.submit[training.evaluation.rows].max())
    moments = [_moment(fitted.workload, second) for second in (last, last + 1)]
    echo(
        f"Last submit of the training jobs: {moments[0].replace('T', ' ')}. Simulate later jobs"
        f" with --from {moments[1]}"
    )


def _moment(workload: Workload, second: int) -> str:
    """Return a second as a UTC date, or as it is if the log has no date."""
    import numpy as np

    if workload.epoch is None:
        return str(second)
    return str(np.datetime64(workload.epoch + second, "s"))
