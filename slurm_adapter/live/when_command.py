"""``cpsched slurm when``: when jobs of a live queue will start."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated

import typer

from cpsched.api.commands import (
    AsJson,
    echo,
    print_json,
)
from cpsched.api.errors import ConfigError
from slurm_adapter.live.commands import (
    RecordFolder,
    Scenarios,
    SystemFile,
    backend_of,
    machine_of,
)


def command(
    job: Annotated[
        str | None,
        typer.Argument(metavar="[JOB]", help="Id of one job; by default all waiting jobs."),
    ] = None,
    system: SystemFile = None,
    dispatcher: Annotated[
        str,
        typer.Option(
            "--dispatcher", "-d", help="The dispatcher; slurm:policy=FILE stands for Slurm itself."
        ),
    ] = "slurm",
    by: Annotated[
        str | None,
        typer.Option("--by", help="Print the probability that jobs start by this date (UTC)."),
    ] = None,
    record: RecordFolder = None,
    scenarios: Scenarios = 20,
    as_json: AsJson = False,
) -> None:
    """Forecast when waiting jobs of a live Slurm will start, and what would start a job earlier."""
    from cpsched.api.commands import width
    from cpsched.api.studies import forecast_text as text
    from cpsched.api.tools import build
    from slurm_adapter.live.when import record_in, when

    slurm = backend_of()
    machine = machine_of(system, slurm)
    build("dispatchers", dispatcher)
    answer = when(
        slurm.snapshot(),
        machine,
        dispatcher=dispatcher,
        job=job,
        by=_unix(by),
        record=record_in(record),
        scenarios=scenarios,
    )
    if as_json:
        print_json("when", answer.to_dict())
    else:
        echo(text(answer, width()))


def _unix(date: str | None) -> int | None:
    if date is None:
        return None
    try:
        moment = datetime.fromisoformat(date)
    except ValueError:
        raise ConfigError(f"'{date}' is not a date like 2026-03-31T12:00", key="--by") from None
    second = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    if second <= time.time():
        raise ConfigError(f"is {date}, which has passed", key="--by")
    return second
