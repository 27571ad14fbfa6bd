"""``cpsched slurm when`` and ``cpsched slurm explain``: questions about jobs of a live queue."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from cpsched.api.commands import AsJson, Group, Predictor, echo, grouped, print_json
from cpsched.api.errors import ConfigError
from slurm_adapter.live.commands import (
    PolicyDispatcher,
    RecordFolder,
    SystemFile,
    backend_of,
    machine_of,
)

if TYPE_CHECKING:
    from slurm_adapter.live.queue import LiveQueue


@dataclass(frozen=True, kw_only=True)
class Now(Group):
    """Options: the live queue under a dispatcher."""

    system: SystemFile = None
    dispatcher: PolicyDispatcher = "slurm"
    predictor: Predictor = "requested"
    record: RecordFolder = None
    scenarios: Annotated[
        int, typer.Option(help="Scenarios to simulate.", min=2, max=1000, metavar="N")
    ] = 20

    def queue(self) -> tuple[LiveQueue, dict[str, int]]:
        """Return the queue, and when Slurm expects which job to start."""
        from cpsched.api.tools import build
        from slurm_adapter.live.queue import LiveQueue, record_in

        slurm = backend_of()
        machine = machine_of(self.system, slurm)
        build("dispatchers", self.dispatcher)
        record = record_in(self.record)
        queue = LiveQueue(slurm.snapshot(), machine, self.dispatcher, self.predictor, record)
        return queue, dict(slurm.expected_starts())


@grouped
def when_command(
    job: Annotated[
        str | None,
        typer.Argument(metavar="[JOB]", help="Id of one job; by default all waiting jobs."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", help="Print the probability that jobs start by this date (UTC)."),
    ] = None,
    *,
    now: Now,
    as_json: AsJson = False,
) -> None:
    """Forecast when waiting jobs of a live Slurm will start, and what would start a job earlier."""
    from cpsched.api.answers import forecast_text
    from cpsched.api.commands import width

    deadline = _unix(by)
    answer = now.queue()[0].when(job, deadline, now.scenarios)
    if as_json:
        print_json("when", answer.to_dict())
    else:
        echo(forecast_text(answer, width()))


@grouped
def explain_command(
    job: Annotated[str, typer.Argument(metavar="JOB", help="Its id; 12_3 for a task of an array.")],
    *,
    now: Now,
    as_json: AsJson = False,
) -> None:
    """Say why a job of a live Slurm waits, when it will start, and what to change."""
    from cpsched.api.answers import JobState, changes, labelled, summary, text
    from cpsched.api.commands import width

    queue, expected = now.queue()
    view = queue.slurms_view(job, expected.get(job))
    about = queue.why(job)
    starts = about.state is JobState.STARTS
    ahead = None if starts else queue.when(job, scenarios=now.scenarios)
    if as_json:
        forecast = None if ahead is None else ahead.to_dict()
        print_json("explain", {**about.to_dict(), "slurm": view, "forecast": forecast})
        return
    echo(text(about, width()))
    lines = [("Slurm", f"{view['state']}, reason {view['reason']}")]
    if ahead is not None:
        lines += [("forecast", summary(ahead))]
        told = changes(ahead) or ["neither less time nor fewer nodes would start it earlier"]
        lines += [("" if at else "change", change) for at, change in enumerate(told)]
    echo("")
    for label, line in lines:
        echo("\n".join(labelled(label, line, width())))


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
