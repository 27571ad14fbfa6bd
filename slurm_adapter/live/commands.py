"""``cpsched slurm`` on a live Slurm."""

from __future__ import annotations

import shlex
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpsched.api.commands import (
    AsJson,
    Dispatcher,
    Predictor,
    Seed,
    counted,
    echo,
    escaped,
    print_json,
)
from cpsched.api.errors import ConfigError

if TYPE_CHECKING:
    from cpsched.api.model import System
    from slurm_adapter.live.orders import Counts
    from slurm_adapter.live.scontrol import Scontrol

SystemFile = Annotated[
    str | None,
    typer.Option("--system", help="System file of the machine. [as the controller describes it]"),
]

Mark = Annotated[
    str, typer.Option(help="AdminComment or comment that marks the held jobs to schedule.")
]

Through = Annotated[
    str,
    typer.Option(
        help="Command that is given the orders in place of scontrol, such as 'sudo -n -u slurmop"
        " /usr/local/sbin/cpsched-slurm-order'. [scontrol]",
        metavar="COMMAND",
    ),
]


def demo_command(
    jobs: Annotated[
        int, typer.Option(min=0, help="Number of held jobs to submit.", metavar="N")
    ] = 40,
    mean: Annotated[
        float, typer.Option(min=1, help="Mean runtime of a job.", metavar="SECONDS")
    ] = 30,
    seed: Seed = 0,
) -> None:
    """Start a private Slurm of 16 nodes here with a queue of held jobs, until Ctrl-C."""
    from slurm_adapter.live import demo
    from slurm_adapter.live.private import PrivateSlurm

    with (
        stopped_by_signals() as stop,
        tempfile.TemporaryDirectory(prefix="cpsched-slurm-") as folder,
        PrivateSlurm(Path(folder) / "slurm", demo.SITE) as slurm,
    ):
        for job in demo.jobs(jobs, seed, mean=mean, most_nodes=2):
            demo.submit(slurm, job)
        echo(f"Slurm is up with {counted(len(slurm.nodes), 'node')}, {counted(jobs, 'held job')}.")
        echo("In another terminal:\n")
        echo(f"  export SLURM_CONF={slurm.conf}")
        echo("  cpsched slurm plan -d easy")
        echo("  cpsched slurm when -d easy --mark cpsched")
        echo("  cpsched slurm explain -d easy --mark cpsched JOB")
        echo("  cpsched slurm run -d easy --act --state live-state\n")
        echo("Ctrl-C stops it.")
        stop.wait()
        echo("Stopping.")


def plan_command(
    system: SystemFile = None,
    dispatcher: Dispatcher = "easy",
    predictor: Predictor = "requested",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Show what a dispatcher would start now on a live Slurm, without changing anything."""
    from slurm_adapter.live.plan import plan

    slurm = backend_of()
    found = plan(slurm, machine_of(system, slurm), dispatcher, predictor, seed)
    if as_json:
        print_json("slurm.plan", found)
        return
    for line in _table(found):
        echo(line)


def run_command(
    system: SystemFile = None,
    dispatcher: Dispatcher = "easy",
    predictor: Predictor = "requested",
    act: Annotated[
        bool, typer.Option("--act", help="Send orders to Slurm. Without it they are only printed.")
    ] = False,
    state: Annotated[
        Path | None,
        typer.Option(
            "--state", help="Folder of the journal and the saved state; needed with --act."
        ),
    ] = None,
    mark: Mark = "cpsched",
    partition: Annotated[
        list[str] | None, typer.Option(help="Only jobs of this partition; repeat for several.")
    ] = None,
    user: Annotated[
        list[str] | None, typer.Option(help="Only jobs of this user; repeat for several.")
    ] = None,
    starts: Annotated[
        int, typer.Option(min=1, help="Largest number of starts per cycle.", metavar="N")
    ] = 50,
    starts_of_user: Annotated[
        int | None,
        typer.Option(min=1, help="Largest number of starts per cycle of each user.", metavar="N"),
    ] = None,
    patience: Annotated[
        float,
        typer.Option(
            min=1,
            help="Withdraw the start of a job that does not run after this time.",
            metavar="SECONDS",
        ),
    ] = 8,
    slowest: Annotated[
        float,
        typer.Option(
            min=0.1, help="Longest time between polls while nothing happens.", metavar="SECONDS"
        ),
    ] = 2,
    lease: Annotated[
        int,
        typer.Option(
            min=10,
            help="Time for which partitions are leased; renewed after a quarter of it.",
            metavar="SECONDS",
        ),
    ] = 300,
    keep: Annotated[
        bool,
        typer.Option(
            "--keep",
            help="When stopped by a signal, keep jobs held and the leases until they end, for the"
            " next engine. [leave the jobs to Slurm]",
        ),
    ] = False,
    through: Through = "",
    seed: Seed = 0,
) -> None:
    """Schedule the held jobs of a live Slurm that are marked for it, until SIGTERM or Ctrl-C."""
    from slurm_adapter.live.engine import Engine, Limits
    from slurm_adapter.live.filter import Filter
    from slurm_adapter.live.mirror import Mirror

    slurm = backend_of(through)
    machine = machine_of(system, slurm)
    engine = Engine(
        slurm,
        Mirror(machine, dispatcher, predictor, seed=seed),
        folder=state,
        act=act,
        ours=Filter(mark=mark, partitions=frozenset(partition or ()), users=frozenset(user or ())),
        limits=Limits(
            starts=starts, starts_of_user=starts_of_user, patience=patience, slowest=slowest
        ),
        say=with_time,
        lease=lease,
        keep=keep,
    )
    with stopped_by_signals() as stop:
        with_time(f"{'acts' if act else 'dry run'}: {dispatcher} on {machine.num_nodes} nodes")
        try:
            with engine.opened():
                engine.run(stop)
        finally:
            with_time(_summary(engine.counts))


def with_time(line: str) -> None:
    """Print a line with the time, unbuffered, because the output may be a pipe."""
    echo(f"{time.strftime('%H:%M:%S')} {escaped(line)}")
    sys.stdout.flush()


@contextmanager
def stopped_by_signals() -> Iterator[threading.Event]:
    """Give an event that SIGTERM and SIGINT set."""
    stop = threading.Event()
    signs = (signal.SIGTERM, signal.SIGINT)
    before = {sign: signal.signal(sign, lambda *_: stop.set()) for sign in signs}
    try:
        yield stop
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)


def _summary(counts: Counts) -> str:
    took = sorted(counts.latencies)
    shown = f", median {took[len(took) // 2]:.1f} s to run" if took else ""
    return (
        f"ended after {counted(counts.cycles, 'cycle')}: {counts.ordered} ordered to start,"
        f" {counts.ran} seen running{shown}, {counts.wrong} on wrong nodes,"
        f" {counts.aside} set aside, {counts.taken_back} withdrawn, {counts.refused} refused"
    )


def backend_of(through: str = "") -> Scontrol:
    """Return the live Slurm that the commands talk to, with orders through another command."""
    from slurm_adapter.live.scontrol import Scontrol

    try:
        return Scontrol(through=shlex.split(through))
    except ValueError as error:
        raise ConfigError(f"{through!r} is not a command: {error}", key="--through") from None


def machine_of(name: str | None, backend: Scontrol) -> System:
    """Return a system by name or file; without one, as the controller describes it."""
    from cpsched.api.machines import systems
    from slurm_adapter.live.plan import system_of

    return system_of(backend) if name is None else systems.load(name)


def _table(plan: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a plan as a table."""
    from cpsched.api.commands import width
    from cpsched.api.machines import compress
    from cpsched.api.tools import Column, Table, duration

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
