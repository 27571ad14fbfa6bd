"""``cpsched slurm when``, ``explain`` and ``serve``: questions about jobs of a live queue."""

from __future__ import annotations

import secrets
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path  # noqa: TC003  (typer reads it)
from typing import TYPE_CHECKING, Annotated

import typer

from cpsched.api.commands import AsJson, Group, Predictor, echo, escaped, grouped, print_json
from cpsched.api.errors import ConfigError
from slurm_adapter.live.commands import SystemFile, backend_of, machine_of, stopped_by_signals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurm_adapter.live.queue import LiveQueue
    from slurm_adapter.live.scontrol import Scontrol

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
        echo(_sentence(remark))
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
        told = changes(ahead) or ["neither less time nor fewer nodes would start it earlier"]
        lines += [("" if at else "change", change) for at, change in enumerate(told)]
    if remark:
        lines.append(("policy", _sentence(remark)))
    echo("")
    for label, line in lines:
        echo("\n".join(labelled(label, line, width())))


def serve_command(
    system: SystemFile = None,
    dispatcher: PolicyDispatcher = "slurm",
    twin: Annotated[
        Path | None,
        typer.Option(help="Folder of a twin, for runtimes and findings."),
    ] = None,
    port: Annotated[
        int,
        typer.Option(
            min=1, max=65535, help="On 127.0.0.1, which every account of this machine can read."
        ),
    ] = 8642,
    socket: Annotated[
        Path | None,
        typer.Option(
            help="Instead: a Unix socket that only you can read, for ssh -L.", metavar="PATH"
        ),
    ] = None,
    token: Annotated[
        bool, typer.Option("--token", help="Show the page only to who has the printed token.")
    ] = False,
    every: Annotated[
        int, typer.Option(min=1, help="Seconds between polls.", metavar="SECONDS")
    ] = 30,
    mark: EngineMark = "",
) -> None:
    """Show the queue with forecasts and reasons as a read-only web page on this machine."""
    from slurm_adapter.live.page.page import Watch
    from slurm_adapter.live.page.server import server
    from slurm_adapter.live.policy_now import Renewed, up_to_date

    if twin is not None and not twin.is_dir():
        raise ConfigError("is not a folder", where=twin)
    slurm = backend_of()
    machine = machine_of(system, slurm)
    secret = secrets.token_urlsafe(24) if token else ""
    with stopped_by_signals() as stop, Renewed(lambda: up_to_date(dispatcher, slurm)) as policy:
        watch = Watch(
            backend=slurm, system=machine, dispatcher=dispatcher, now=policy, twin=twin, mark=mark
        )
        with server(watch, port, path=socket, token=secret) as page:
            threading.Thread(target=page.serve_forever, daemon=True).start()
            echo(_where(port, socket, secret))
            if not secret and socket is None:
                _warn_of_private_data(slurm)
            if policy.remark:
                echo(_sentence(policy.remark))
            while not stop.is_set():
                policy.renew()
                watch.look()
                stop.wait(every)
            page.shutdown()


def _where(port: int, socket: Path | None, secret: str) -> str:
    """Say where the page is, here and from elsewhere."""
    at = f"http://127.0.0.1:{port}/" + (f"?token={secret}" if secret else "")
    if socket is None:
        return f"{at} until Ctrl-C. From elsewhere: ssh -L {port}:127.0.0.1:{port} HOST"
    there = escaped(str(socket.absolute()))
    return f"On {there} until Ctrl-C. From elsewhere: ssh -L {port}:{there} HOST, then {at}"


def _warn_of_private_data(slurm: Scontrol) -> None:
    if private := slurm.private_data():
        echo(
            f"Slurm has PrivateData={private}, but every account of this machine can read this"
            " page, which shows what you may see: use --socket or --token.",
            err=True,
        )


def _sentence(remark: str) -> str:
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
