"""What commands share that ask about the queue of a live Slurm: options, system, metrics."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cpsched.cli.options import Group, Predictor

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
        help="System name or file. [from scontrol]",
        metavar="NAME",
    ),
]
OpenMetrics = Annotated[
    Path | None,
    typer.Option(
        "--openmetrics",
        help="File of metrics for node_exporter (.prom).",
        metavar="FILE",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Now(Group):
    """Options: the live queue under a dispatcher."""

    system: SystemFile = None
    dispatcher: Annotated[
        str,
        typer.Option("--dispatcher", "-d", help="Dispatcher NAME:KEY=VALUE,...", metavar="NAME"),
    ] = "slurm"
    predictor: Predictor = "requested"
    history: Annotated[
        Path | None,
        typer.Option(
            help="Log of past jobs. [from sacct]",
            metavar="FILE",
        ),
    ] = None
    scenarios: Annotated[
        int, typer.Option(help="Number of simulated scenarios.", min=2, max=1000, metavar="N")
    ] = 20

    @contextmanager
    def queue(self) -> Iterator[tuple[LiveQueue, str]]:
        """Give the queue, and a remark on the policy that it is asked under."""
        from cpsched.forecast.live_queue import LiveQueue
        from cpsched.slurm.live.history import history_in, history_of
        from cpsched.slurm.live.policy_now import up_to_date

        slurm = backend_of()
        system = system_named(self.system, slurm)
        with up_to_date(self.dispatcher, slurm) as (dispatcher, remark):
            snapshot = slurm.snapshot()
            if self.history is None:
                past = history_of(slurm, system, snapshot.now)
            else:
                past = history_in(self.history, system, snapshot.now)
            name = self.dispatcher
            yield LiveQueue(snapshot, system, dispatcher, self.predictor, past, name=name), remark


def backend_of() -> Scontrol:
    """Return the live Slurm that the commands ask."""
    from cpsched.slurm.live.scontrol import Scontrol

    return Scontrol()


def system_named(name: str | None, backend: Scontrol) -> System:
    """Return a system by name or file; without one, as the controller describes it."""
    from cpsched import systems
    from cpsched.slurm.live.plan import system_of

    return system_of(backend) if name is None else systems.load(name)


def write_metrics(path: Path | None, metrics: list[Metric]) -> None:
    """Write metrics to the file that was asked for."""
    from cpsched.forecast.openmetrics import write
    from cpsched.util.atomic_files import check_new_file

    if path is not None:
        check_new_file(path, overwrite=True, suffixes=(".prom",), key="--openmetrics")
        write(path, metrics)


def sentence_on_policy(remark: str) -> str:
    """Return the policy of an answer in a sentence."""
    return f"{remark[:1].upper()}{remark[1:]}. Waiting jobs are in the order of Slurm's priorities."
