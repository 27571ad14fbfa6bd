"""``cpsched slurm serve``: a page of the live queue on this machine."""

from __future__ import annotations

import threading
from pathlib import Path  # noqa: TC003  (typer reads it)
from typing import Annotated

import typer

from cpsched.api.commands import echo
from cpsched.api.errors import ConfigError
from slurm_adapter.live.commands import SystemFile, backend_of, machine_of, stopped_by_signals


def command(
    system: SystemFile = None,
    dispatcher: Annotated[
        str,
        typer.Option(
            "--dispatcher", "-d", help="The dispatcher; slurm:policy=FILE stands for Slurm itself."
        ),
    ] = "slurm",
    twin: Annotated[
        Path | None,
        typer.Option(help="Folder of a twin, for runtimes and findings."),
    ] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="On 127.0.0.1.")] = 8642,
    every: Annotated[
        int, typer.Option(min=1, help="Seconds between polls.", metavar="SECONDS")
    ] = 30,
) -> None:
    """Show the queue with forecasts and reasons as a read-only web page on this machine."""
    from cpsched.api.tools import build
    from slurm_adapter.live.page.app import server
    from slurm_adapter.live.page.watch import Watch

    build("dispatchers", dispatcher)
    if twin is not None and not twin.is_dir():
        raise ConfigError("is not a folder", where=twin)
    slurm = backend_of()
    machine = machine_of(system, slurm)
    watch = Watch(backend=slurm, system=machine, dispatcher=dispatcher, twin=twin)
    with stopped_by_signals() as stop, server(watch, port) as page:
        threading.Thread(target=page.serve_forever, daemon=True).start()
        echo(
            f"http://127.0.0.1:{port}/ until Ctrl-C. From elsewhere: ssh -L {port}:127.0.0.1:{port}"
        )
        while not stop.is_set():
            watch.look()
            stop.wait(every)
        page.shutdown()
