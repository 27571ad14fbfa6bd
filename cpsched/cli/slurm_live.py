"""``cpsched slurm forecast``, ``explain`` and ``plan``: questions about a live queue."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpsched.cli.options import AsJson, Dispatcher, Group, Predictor, Seed, grouped
from cpsched.cli.output import counted, echo, escaped, print_json
from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from cpsched.forecast.live_queue import LiveQueue
    from cpsched.forecast.openmetrics import Metric
    from cpsched.model.system import System
    from cpsched.slurm.live.scontrol import Scontrol

SystemFile = Annotated[
    str | None,
    typer.Option(
        "--system",
        "-s",
        help="System file of the cluster. [as the controller describes it]",
        metavar="NAME",
    ),
]
OpenMetrics = Annotated[
    Path | None,
    typer.Option(
        "--openmetrics",
        help="Also write the numbers to this file for node_exporter; its name ends in .prom.",
        metavar="FILE",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Now(Group):
    """Options: the live queue under a dispatcher."""

    system: SystemFile = None
    dispatcher: Annotated[
        str,
        typer.Option(
            "--dispatcher", "-d", help="The dispatcher; slurm:policy=FILE stands for Slurm itself."
        ),
    ] = "slurm"
    predictor: Predictor = "requested"
    history: Annotated[
        Path | None,
        typer.Option(
            help="Job log with the past jobs, such as the output of sacct. [sacct is called]",
            metavar="FILE",
        ),
    ] = None
    scenarios: Annotated[
        int, typer.Option(help="Scenarios to simulate.", min=2, max=1000, metavar="N")
    ] = 20

    @contextmanager
    def queue(self) -> Iterator[tuple[LiveQueue, str]]:
        """Give the queue, and a remark on the policy that it is asked under."""
        from cpsched.forecast.live_queue import LiveQueue
        from cpsched.slurm.live.history import history_in, history_of
        from cpsched.slurm.live.policy_now import up_to_date

        slurm = backend_of()
        system = system_named(self.system, slurm)
        with up_to_date(self.dispatcher, slurm) as now:
            snapshot = slurm.snapshot()
            if self.history is None:
                past = history_of(slurm, system, snapshot.now)
            else:
                past = history_in(self.history, system, snapshot.now)
            yield (
                LiveQueue(
                    snapshot, system, now.dispatcher, self.predictor, past, name=self.dispatcher
                ),
                now.remark,
            )


@grouped
def forecast_command(
    job: Annotated[
        str | None,
        typer.Argument(metavar="[JOB]", help="Id of one job; by default all waiting jobs."),
    ] = None,
    deadline: Annotated[
        str | None,
        typer.Option(
            "--deadline",
            help="Print the probability that jobs start by this date (UTC).",
            metavar="TIME",
        ),
    ] = None,
    *,
    now: Now,
    openmetrics: OpenMetrics = None,
    as_json: AsJson = False,
) -> None:
    """Forecast when waiting jobs of a live Slurm will start, and what would start a job earlier."""
    from cpsched.cli.report import width
    from cpsched.forecast.openmetrics import forecast_metrics, queue_metrics
    from cpsched.forecast.when_text import text as forecast_text

    latest = _unix(deadline)
    with now.queue() as (queue, remark):
        # Without a waiting job there are numbers of the queue all the same.
        waits = job is not None or openmetrics is None or queue.waits
        answer = queue.when(job, latest, now.scenarios) if waits else None
    forecasts = [] if answer is None else forecast_metrics(answer)
    _write(openmetrics, [*queue_metrics(queue.snapshot, queue.mirror.system), *forecasts])
    if answer is None:
        echo("No job is waiting.", err=True)
        return
    notes = queue.notes(job)
    if as_json:
        print_json("forecast", {**answer.to_dict(), "policy": remark or None, "notes": notes})
        return
    echo(forecast_text(answer, width()))
    for line in ([_sentence(remark)] if remark else []) + notes:
        echo(escaped(line))


@grouped
def explain_command(
    job: Annotated[str, typer.Argument(metavar="JOB", help="Its id; 12_3 for a task of an array.")],
    *,
    now: Now,
    openmetrics: OpenMetrics = None,
    as_json: AsJson = False,
) -> None:
    """Say why a job of a live Slurm waits, when it will start, and what to change."""
    from cpsched.cli.report import width
    from cpsched.forecast.explanation import JobState
    from cpsched.forecast.openmetrics import forecast_metrics
    from cpsched.forecast.when_text import changes, summary
    from cpsched.forecast.why_text import labelled, text

    with now.queue() as (queue, remark):
        view = queue.slurms_view(job, backend_of().expected_starts().get(job))
        about = queue.why(job)
        starts = about.state is JobState.STARTS
        ahead = None if starts else queue.when(job, scenarios=now.scenarios)
    _write(openmetrics, [] if ahead is None else forecast_metrics(ahead, "explained_"))
    notes = queue.notes(job)
    if as_json:
        forecast = None if ahead is None else ahead.to_dict()
        more = {"slurm": view, "forecast": forecast, "policy": remark or None, "notes": notes}
        print_json("explain", {**about.to_dict(), **more})
        return
    echo(text(about, width()))
    lines = [("Slurm", f"{view['state']}, reason {view['reason']}")]
    if ahead is not None:
        lines += [("forecast", summary(ahead))]
        advice = changes(ahead) or [
            "no shorter time limit would start it earlier, no smaller size end it earlier"
        ]
        lines += [("" if at else "change", change) for at, change in enumerate(advice)]
    lines += [("note", note) for note in notes]
    if remark:
        lines.append(("policy", _sentence(remark)))
    echo("")
    for label, line in lines:
        echo("\n".join(labelled(label, line, width())))


def plan_command(
    system: SystemFile = None,
    dispatcher: Dispatcher = "easy",
    predictor: Predictor = "requested",
    seed: Seed = 0,
    openmetrics: OpenMetrics = None,
    as_json: AsJson = False,
) -> None:
    """Show what a dispatcher would start now on a live Slurm, without changing anything."""
    from cpsched.forecast.openmetrics import plan_metrics
    from cpsched.slurm.live.plan import plan

    slurm = backend_of()
    result = plan(slurm, system_named(system, slurm), dispatcher, predictor, seed)
    _write(openmetrics, plan_metrics(result))
    if as_json:
        print_json("slurm.plan", result)
        return
    for line in _table(result):
        echo(line)


def backend_of() -> Scontrol:
    """Return the live Slurm that the commands ask."""
    from cpsched.slurm.live.scontrol import Scontrol

    return Scontrol()


def system_named(name: str | None, backend: Scontrol) -> System:
    """Return a system by name or file; without one, as the controller describes it."""
    from cpsched import systems
    from cpsched.slurm.live.plan import system_of

    return system_of(backend) if name is None else systems.load(name)


def _write(path: Path | None, metrics: list[Metric]) -> None:
    """Write metrics to the file that was asked for."""
    from cpsched.forecast.openmetrics import write
    from cpsched.util.atomic_files import check_new_file

    if path is not None:
        check_new_file(path, overwrite=True, suffixes=(".prom",), key="--openmetrics")
        write(path, metrics)


def _sentence(remark: str) -> str:
    """Say under which policy jobs were asked about."""
    return f"{remark[:1].upper()}{remark[1:]}; waiting jobs are in the order of Slurm's priorities."


def _unix(date: str | None) -> int | None:
    if date is None:
        return None
    try:
        moment = datetime.fromisoformat(date)
    except ValueError:
        raise ConfigError(
            f"'{date}' is not a date like 2026-03-31T12:00", key="--deadline"
        ) from None
    second = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    if second <= time.time():
        raise ConfigError(f"is {date}, which has passed", key="--deadline")
    return second


def _table(plan: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a plan as a table."""
    from cpsched.cli.report import width
    from cpsched.util.node_lists import compress
    from cpsched.util.tables import Column, Table
    from cpsched.util.words import duration

    jobs, now = plan["jobs"], plan["now"]
    starting = sum(bool(job["starts_now_on"]) for job in jobs)
    yield (
        f"{plan['dispatcher']} would start {starting} of {counted(len(jobs), 'waiting job')} now;"
        f" {counted(plan['running'], 'job')} run"
    )

    def until(second: int | None) -> str:
        return "" if second is None else duration(max(second - now, 0))

    columns: dict[str, Callable[[Any], str]] = {
        "job": lambda job: job["job"],
        "user": lambda job: job["user"],
        "partition": lambda job: job["partition"],
        "waits": lambda job: duration(now - job["submit"]),
        "cores": lambda job: str(job["cores"]),
        "starts now on": lambda job: compress(job["starts_now_on"]),
        "planned in": lambda job: until(job["planned_start"]),
        "Slurm expects in": lambda job: until(job["slurm_expects"]),
        "why not": lambda job: job["why"],
    }
    if jobs:
        cells = {head: tuple(escaped(text(job)) for job in jobs) for head, text in columns.items()}
        table = Table("", tuple(Column(head, "", texts) for head, texts in cells.items()))
        yield table.text(width=width())
