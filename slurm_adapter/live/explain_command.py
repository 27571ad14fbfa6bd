"""``cpsched slurm explain``: why a job of a live queue waits."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from cpsched.cli.options import AsJson, Predictor  # noqa: TC001  (typer reads them)
from cpsched.cli.output import echo
from slurm_adapter.live.commands import BackendName, Socket, SystemFile, backend_of, machine_of


def command(
    job: Annotated[str, typer.Argument(metavar="JOB", help="Its id; 12_3 for a task of an array.")],
    system: SystemFile = None,
    dispatcher: Annotated[
        str,
        typer.Option("--dispatcher", "-d", help="Who decides: slurm:policy=FILE for Slurm itself."),
    ] = "slurm",
    predictor: Predictor = "requested",
    backend: BackendName = "scontrol",
    socket: Socket = None,
    as_json: AsJson = False,
) -> None:
    """Say why a waiting job of a live Slurm does not start now, or that it would."""
    from cpsched.cli.report import width
    from cpsched.explain.text import text
    from cpsched.spec import build
    from slurm_adapter.live.explain import explain, slurms_view

    build("dispatchers", dispatcher)
    slurm = backend_of(backend, socket)
    machine, snapshot = machine_of(system, slurm), slurm.snapshot()
    view = slurms_view(snapshot, job, slurm.expected_starts().get(job))
    about = explain(snapshot, machine, job, dispatcher=dispatcher, predictor=predictor)
    if as_json:
        echo(json.dumps({**about.to_dict(), "slurm": view}, indent=1))
        return
    echo(text(about, width()))
    echo(f"\nSlurm       {view['state']}, reason {view['reason']}")
    echo(f"\nWhen it will start, and what would start it earlier: cpsched slurm when {job}")
