"""``cpsched explain``: why a job starts or does not start at a given time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cpsched.cli.options import (
    AsJson,
    Log,
    Policy,
    Predictor,
    Rules,
    Seed,
    SystemName,
    fitted_of,
    grouped,
    second_of,
)
from cpsched.cli.output import echo, escaped, print_json

if TYPE_CHECKING:
    from cpsched.explain.dump import ModelDump


@grouped
def command(
    system: SystemName,
    job: Annotated[str, typer.Option("--job", help="Id of the job, as in the log.", metavar="ID")],
    at: Annotated[
        str,
        typer.Option(
            "--at", help="The time asked about: seconds of the log's clock or a date (UTC)."
        ),
    ],
    policy: Policy = None,
    dispatcher: Annotated[
        str | None,
        typer.Option("--dispatcher", "-d", help="The dispatcher. [slurm with --policy, else easy]"),
    ] = None,
    predictor: Predictor = "requested",
    dump_model: Annotated[
        Path | None,
        typer.Option(
            help="Write the CP-SAT model of the decision: .pb, or .pb.txt for text.",
            metavar="FILE",
        ),
    ] = None,
    *,
    log: Log,
    rules: Rules,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Simulate up to a given time and say why a job starts then, or why it does not."""
    from cpsched.base.spec import Spec
    from cpsched.cli.progress import progress_bar
    from cpsched.cli.report import width
    from cpsched.explain import explain
    from cpsched.explain.text import text
    from cpsched.study.policies import following

    settings = rules.settings(seed)
    dispatcher = following(policy, dispatcher)
    dump = None if dump_model is None else _dump(dump_model, dispatcher)
    jobs = log.read()
    time = second_of(jobs, "--at", at)
    assert time is not None
    fitted = fitted_of(jobs, system, settings)
    with progress_bar(f"up to {time:,} s", len(jobs), jobs.epoch) as observers:
        about = explain(
            fitted,
            job=job,
            time=time,
            dispatcher=str(Spec.parse(dispatcher)),
            predictor=str(Spec.parse(predictor)),
            settings=settings,
            prepare=dump,
            observers=observers,
        )
    if as_json:
        print_json("explain", about.to_dict())
    else:
        echo(text(about, width()))
    if dump is not None and dump_model is not None:
        dump.write(dump_model, about)
        if not as_json:
            echo(f"\nModel of the decision at {about.decided:,} s: {escaped(str(dump_model))}")


def _dump(path: Path, dispatcher: str) -> ModelDump:
    """Refuse a dispatcher without a model, or an impossible file, before anything is simulated."""
    from cpsched.base.spec import build
    from cpsched.explain.dump import ModelDump

    dump = ModelDump()
    dump.check(build("dispatchers", dispatcher), path)
    return dump
