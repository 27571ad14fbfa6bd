"""``cpsched slurm when`` and ``explain``: questions about jobs of a live queue."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path  # noqa: TC003  (typer reads it)
from typing import TYPE_CHECKING, Annotated

import typer

from cpsched.api.commands import AsJson, Group, Predictor, echo, grouped, print_json
from cpsched.api.errors import ConfigError
from slurm_adapter.live.commands import SystemFile, backend_of, machine_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurm_adapter.live.queue import LiveQueue

PolicyDispatcher = Annotated[
    str,
    typer.Option(
        "--dispatcher", "-d", help="The dispatcher; slurm:policy=FILE stands for Slurm itself."
    ),
]


EngineMark = Annotated[
    str,
    typer.Option(
        "--mark",
        help="Mark of the held jobs that a running engine (cpsched slurm run) starts. [cpsched, in"
        " partitions that an engine leases]",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Now(Group):
    """Options: the live queue under a dispatcher."""

    system: SystemFile = None
    dispatcher: PolicyDispatcher = "slurm"
    predictor: Predictor = "requested"
    record: Annotated[
        Path | None,
        typer.Option(
            help="Folder of a twin, for runtimes and the accuracy of past forecasts.",
            metavar="FOLDER",
        ),
    ] = None
    scenarios: Annotated[
        int, typer.Option(help="Scenarios to simulate.", min=2, max=1000, metavar="N")
    ] = 20
    mark: EngineMark = ""

    @contextmanager
    def queue(self) -> Iterator[tuple[LiveQueue, str]]:
        """Give the queue, and a remark on the policy that it is asked under."""
        from slurm_adapter.live.policy_now import up_to_date
        from slurm_adapter.live.queue import LiveQueue
        from slurm_adapter.live.record import record_in

        slurm = backend_of()
        machine = machine_of(self.system, slurm)
        record = None if self.record is None else record_in(self.record)
        with up_to_date(self.dispatcher, slurm) as now:
            yield (
                LiveQueue(
                    slurm.snapshot(),
                    machine,
                    now.dispatcher,
                    self.predictor,
                    record,
                    mark=self.mark,
                    name=self.dispatcher,
                ),
                now.remark,
            )


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
    with now.queue() as (queue, remark):
        answer = queue.when(job, deadline, now.scenarios)
    left = "" if job else queue.left_out()
    if as_json:
        more = {"policy": remark or None, "left_out": left or None}
        print_json("when", {**answer.to_dict(), **more})
        return
    echo(forecast_text(answer, width()))
    if remark:
        echo(sentence(remark))
    if left:
        echo(f"Left out: {left}.")


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

    with now.queue() as (queue, remark):
        view = queue.slurms_view(job, backend_of().expected_starts().get(job))
        about = queue.why(job)
        starts = about.state is JobState.STARTS
        ahead = None if starts else queue.when(job, scenarios=now.scenarios)
    if as_json:
        forecast = None if ahead is None else ahead.to_dict()
        more = {"slurm": view, "forecast": forecast, "policy": remark or None}
        print_json("explain", {**about.to_dict(), **more})
        return
    echo(text(about, width()))
    lines = [("Slurm", f"{view['state']}, reason {view['reason']}")]
    if ahead is not None:
        lines += [("forecast", summary(ahead))]
        told = changes(ahead) or [
            "no shorter time limit would start it earlier, no smaller size end it earlier"
        ]
        lines += [("" if at else "change", change) for at, change in enumerate(told)]
    if remark:
        lines.append(("policy", sentence(remark)))
    echo("")
    for label, line in lines:
        echo("\n".join(labelled(label, line, width())))


def sentence(remark: str) -> str:
    """Say under which policy jobs were asked about."""
    return f"{remark[:1].upper()}{remark[1:]}; waiting jobs are in the order of Slurm's priorities."


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
