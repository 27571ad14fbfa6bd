"""``cpsched when``: when jobs will start."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
from cpsched.cli.output import echo, print_json
from cpsched.errors import ConfigError


@grouped
def command(
    system: SystemName,
    at: Annotated[
        str,
        typer.Option("--at", help="The current time: seconds of the log's clock or a date (UTC)."),
    ],
    job: Annotated[
        str | None,
        typer.Option("--job", help="Id of one job; by default all waiting jobs.", metavar="ID"),
    ] = None,
    script: Annotated[
        Path | None,
        typer.Option(
            "--script", help="A batch script, as if submitted at that moment.", metavar="FILE"
        ),
    ] = None,
    user: Annotated[
        str,
        typer.Option(
            "--user", help="User who submits the script, as named in the log.", metavar="NAME"
        ),
    ] = "",
    by: Annotated[
        str | None,
        typer.Option(
            "--by", help="Print the probability that jobs start by this time; given like --at."
        ),
    ] = None,
    policy: Policy = None,
    dispatcher: Annotated[
        str | None,
        typer.Option("--dispatcher", "-d", help="The dispatcher. [slurm with --policy, else easy]"),
    ] = None,
    predictor: Predictor = "requested",
    scenarios: Annotated[
        int, typer.Option(help="Scenarios to simulate.", min=2, max=1000, metavar="N")
    ] = 20,
    judged: Annotated[
        int,
        typer.Option(
            help="Earlier forecasts used to correct these; 0 for none.", min=0, metavar="N"
        ),
    ] = 40,
    *,
    log: Log,
    rules: Rules,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """
    Forecast when waiting jobs will start, how certain that is, and what would start a job earlier.
    """
    from cpsched.base.spec import Spec
    from cpsched.cli.progress import steps
    from cpsched.cli.report import width
    from cpsched.forecast.text import text
    from cpsched.forecast.when import when
    from cpsched.mapping import append
    from cpsched.study.policies import following

    settings = rules.settings(seed)
    dispatcher = following(policy, dispatcher)
    jobs = log.read()
    now = second_of(jobs, "--at", at)
    assert now is not None
    fitted = fitted_of(jobs, system, settings)
    if script is not None:
        from cpsched.base import registry

        if job is not None:
            raise ConfigError("names a job of the log; leave it out with --script", key="--job")
        if not (kinds := registry.names("scripts")):
            raise ConfigError(
                "no installed package reads batch scripts (cpsched.scripts)", key="--script"
            )
        asked = registry.load("scripts", kinds[0])(
            script, submit=now + (jobs.epoch or 0), user=user
        )
        job = str(asked.job_id[0])
        fitted = append(fitted, asked, now)
    with steps() as shown:
        answer = when(
            fitted,
            time=now,
            job=job,
            by=second_of(jobs, "--by", by),
            dispatcher=str(Spec.parse(dispatcher)),
            predictor=str(Spec.parse(predictor)),
            settings=settings,
            scenarios=scenarios,
            judged=judged,
            watch=None if shown is None else lambda done, of: shown("earlier jobs", done, of),
        )
    if as_json:
        print_json("when", answer.to_dict())
    else:
        echo(text(answer, width()))
