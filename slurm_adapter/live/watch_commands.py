"""``cpsched slurm watchdog`` and ``health``: whether an engine lives, and what if it does not."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cpsched.api.commands import AsJson, echo, escaped, print_json
from slurm_adapter.live.commands import Mark, Through, backend_of, stopped_by_signals, with_time

if TYPE_CHECKING:
    from slurm_adapter.live.scontrol import Scontrol

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
    ill = _ill(state, most, backend_of())
    if as_json:
        print_json("slurm.health", {"schema": "cpsched.slurm.health/1", "why_not_well": ill})
    else:
        echo(escaped(ill or "the engine is well"))
    raise typer.Exit(bool(ill))


def _ill(state: Path, most: float, backend: Scontrol) -> str:
    """Return what an engine lacks, or ''."""
    from slurm_adapter.live.audit import HEALTH
    from slurm_adapter.live.lease import token_of
    from slurm_adapter.live.order import UnreachableError, UnreadableError

    try:
        known = json.loads((state / HEALTH).read_text())
        age = time.time() - known["time"]
    except FileNotFoundError:
        return f"no engine has acted in {state}"
    except (OSError, ValueError, LookupError, TypeError) as error:
        return f"{state / HEALTH} cannot be read: {error}"
    if "ended" in known:
        return f"the engine ended {age:.0f} s ago: {known['ended']}"
    if age > most:
        return f"the engine has given no sign of life for {age:.0f} s"
    try:
        leases, token = backend.leases().values(), token_of(state)
    except (UnreachableError, UnreadableError) as error:
        return str(error)
    valid = any(lease.token == token and lease.until > time.time() for lease in leases)
    return "" if valid else "the engine has no lease"
