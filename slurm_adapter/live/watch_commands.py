"""``cpsched slurm watchdog`` and ``health``: whether an engine lives, and what if it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cpsched.api.commands import AsJson, echo, escaped, print_json
from slurm_adapter.live.commands import Mark, Through, backend_of, stopped_by_signals, with_time

State = Annotated[Path, typer.Argument(help="Folder of the engine.", metavar="STATE")]


def watchdog_command(
    partition: Annotated[
        list[str], typer.Option(help="A partition of an engine; repeat for several.")
    ],
    state: Annotated[
        Path | None, typer.Option("--state", help="Folder of the engine, if it is on this machine.")
    ] = None,
    mark: Mark = "cpsched",
    grace: Annotated[
        float,
        typer.Option(
            min=0,
            help="Time for which a partition has to be without an engine.",
            metavar="SECONDS",
        ),
    ] = 60,
    every: Annotated[
        float, typer.Option(min=0.1, help="Time between two looks.", metavar="SECONDS")
    ] = 15,
    through: Through = "",
) -> None:
    """Leave held jobs to Slurm when their engine is gone, until SIGTERM or Ctrl-C."""
    from slurm_adapter.live.filter import Filter
    from slurm_adapter.live.watchdog import Watchdog

    ours = Filter(mark=mark, partitions=frozenset(partition))
    with stopped_by_signals() as stop:
        Watchdog(backend_of(through), ours, state, grace, with_time).run(stop, every)


def health_command(
    state: State,
    most: Annotated[
        float,
        typer.Option(
            min=1, help="Time since the last sign of life that is too long.", metavar="SECONDS"
        ),
    ] = 60,
    as_json: AsJson = False,
) -> None:
    """Say in a line whether an engine is well; the exit code is 0 if it is, else 1."""
    from slurm_adapter.live.health import why_not_well

    ill = why_not_well(state, most, backend_of())
    if as_json:
        print_json("slurm.health", {"schema": "cpsched.slurm.health/1", "why_not_well": ill})
    else:
        echo(escaped(ill or "the engine is well"))
    raise typer.Exit(bool(ill))
