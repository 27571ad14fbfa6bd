"""``cpsched batsim serve``: a dispatcher as a scheduler of Batsim."""

from __future__ import annotations

from typing import Annotated

import typer

from cpsched.cli.options import LOOK, Dispatcher, Predictor, Seed
from cpsched.cli.output import echo, escaped

_app = typer.Typer(help="Serve dispatchers to Batsim.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.add_typer(_app, name="batsim", rich_help_panel=LOOK)


@_app.callback()
def _commands() -> None:
    # With a callback a single command keeps its name.
    pass


@_app.command("serve")
def serve_command(
    dispatcher: Dispatcher = "easy",
    predictor: Predictor = "requested",
    socket: Annotated[
        str,
        typer.Option(
            "--socket-endpoint", "--socket", "-s", help="Address to listen at.", metavar="ENDPOINT"
        ),
    ] = "tcp://127.0.0.1:28000",
    default_time: Annotated[
        int | None,
        typer.Option(min=1, help="Walltime of jobs without one. [refuse them]", metavar="S"),
    ] = None,
    protocol: Annotated[
        int,
        typer.Option(min=3, max=5, help="Batsim protocol: 3, 4 or 5.", metavar="N"),
    ] = 4,
    seed: Seed = 0,
) -> None:
    """Serve a dispatcher's decisions to one Batsim simulation."""
    from cpsched.batsim.served import Served, serve
    from cpsched.batsim.sockets import answering
    from cpsched.util.spec import build

    decides, predicts = build("dispatchers", dispatcher), build("predictors", predictor)
    served = Served(decides, predicts, default_time=default_time, seed=seed)
    with answering(socket) as listening:
        echo(f"{escaped(dispatcher)} listens at {escaped(socket)}", err=True)
        serve(listening, served, protocol)
