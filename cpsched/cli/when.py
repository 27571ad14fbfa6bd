"""``cpsched when``: when jobs will start."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from cpsched.cli.options import (
    AsJson,
    Dispatcher,
    Log,
    Predictor,
    Rules,
    Seed,
    SystemName,
    grouped,
    second_of,
)
from cpsched.cli.output import echo
from cpsched.errors import ConfigError


@grouped
def command(
    system: SystemName,
    at: Annotated[
        str, typer.Option("--at", help="Now: seconds of the log's clock or a date (UTC).")
    ],
    job: Annotated[
        str | None,
        typer.Option("--job", help="Id of one job; by default all that wait.", metavar="ID"),
    ] = None,
    script: Annotated[
        Path | None,
        typer.Option(
            "--script", help="A batch script, as if submitted at that moment.", metavar="FILE"
        ),
    ] = None,
    user: Annotated[
        str, typer.Option("--user", help="Who submits the script, as in the log.", metavar="NAME")
    ] = "",
    by: Annotated[
        str | None,
        typer.Option("--by", help="Say how likely jobs are to have started by then; like --at."),
    ] = None,
    dispatcher: Dispatcher = "easy",
    predictor: Predictor = "requested",
    scenarios: Annotated[
        int, typer.Option(help="Futures to play.", min=2, max=1000, metavar="N")
    ] = 20,
    judged: Annotated[
        int,
        typer.Option(help="Earlier forecasts to correct these by; 0 for none.", min=0, metavar="N"),
    ] = 40,
    *,
    log: Log,
    rules: Rules,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Say when waiting jobs will start, with what certainty, and what would start one earlier."""
    from cpsched import systems
    from cpsched.cli.progress import steps
    from cpsched.cli.report import width
    from cpsched.forecast.text import text
    from cpsched.forecast.when import when
    from cpsched.mapping import append, fit
    from cpsched.simulation.simulate import Settings
    from cpsched.spec import Spec, canonical

    settings = Settings(
        **{key: one for key, one in vars(rules).items() if one is not None}, seed=seed
    )
    settings = replace(
        settings,
        runtime_model=canonical("runtime_models", settings.runtime_model),
        outages=canonical("outages", settings.outages),
    )
    machine = systems.load(system)
    jobs = log.read()
    now = second_of(jobs, "--at", at)
    assert now is not None
    fitted = fit(
        jobs,
        machine,
        enforce_limits=settings.enforce_limits,
        restarts=settings.restarts,
        malleable=settings.malleable,
    )
    if script is not None:
        from cpsched.traces import batch_script

        if job is not None:
            raise ConfigError("asks for a job of the log; leave it out with --script", key="--job")
        asked = batch_script.read(script, submit=now + (jobs.epoch or 0), user=user)
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
    echo(json.dumps(answer.to_dict(), indent=1) if as_json else text(answer, width()))
