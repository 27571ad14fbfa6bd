"""``cpsched slurm forecast``: when jobs of a live Slurm will start."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated

import typer

from cpsched.cli.one_run import DEADLINE
from cpsched.cli.options import AsJson, grouped
from cpsched.cli.output import echo, escaped, print_json
from cpsched.cli.slurm_queue import Now, OpenMetrics, sentence_on_policy, write_metrics
from cpsched.errors import ConfigError


@grouped
def command(
    job: Annotated[
        str | None,
        typer.Argument(metavar="[JOB]", help="Id of a job. [all waiting jobs]"),
    ] = None,
    deadline: Annotated[str | None, DEADLINE] = None,
    *,
    now: Now,
    openmetrics: OpenMetrics = None,
    as_json: AsJson = False,
) -> None:
    """Forecast when waiting jobs of a live Slurm start, and what would start a job earlier."""
    from cpsched.cli.heading import width
    from cpsched.forecast.openmetrics import forecast_metrics, queue_metrics
    from cpsched.forecast.when_text import text as forecast_text

    latest = _unix(deadline)
    with now.queue() as (queue, remark):
        # Without a waiting job there are numbers of the queue all the same.
        waits = job is not None or openmetrics is None or queue.waits
        answer = queue.when(job, latest, now.scenarios) if waits else None
    forecasts = [] if answer is None else forecast_metrics(answer)
    write_metrics(openmetrics, [*queue_metrics(queue.snapshot, queue.mirror.system), *forecasts])
    if answer is None:
        echo("The queue is empty: 0 waiting jobs.", err=True)
        return
    notes = queue.notes(job)
    if as_json:
        print_json("forecast", {**answer.to_dict(), "policy": remark or None, "notes": notes})
        return
    echo(forecast_text(answer, width()))
    for line in ([sentence_on_policy(remark)] if remark else []) + notes:
        echo(escaped(line))


def _unix(date: str | None) -> int | None:
    if date is None:
        return None
    try:
        moment = datetime.fromisoformat(date)
    except ValueError:
        raise ConfigError(
            f"'{date}' is not a date. Give one like 2026-03-31T12:00.", key="--deadline"
        ) from None
    second = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    if second <= time.time():
        raise ConfigError(f"{date} is in the past. Give a later date.", key="--deadline")
    return second
