"""``cpsched slurm serve``: the page of a live queue, and its metrics."""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from cpsched.api.commands import echo, escaped
from cpsched.api.errors import ConfigError
from slurm_adapter.live.ask_command import EngineMark, PolicyDispatcher, sentence
from slurm_adapter.live.commands import SystemFile, backend_of, machine_of, stopped_by_signals

#: Characters of the shortest token that a file may have.
_SHORTEST = 16


def command(
    system: SystemFile = None,
    dispatcher: PolicyDispatcher = "slurm",
    twin: Annotated[
        Path | None,
        typer.Option(help="Folder of a twin, for runtimes and findings."),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(help="Folder of an engine, whose health is in /metrics."),
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
    shared: Annotated[
        Path | None,
        typer.Option(
            help="Besides: a Unix socket on which every account sees its own jobs only.",
            metavar="PATH",
        ),
    ] = None,
    token: Annotated[
        bool, typer.Option("--token", help="Show the page only to who has the printed token.")
    ] = False,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="Only to who has the token in this file, which is made if missing.", metavar="FILE"
        ),
    ] = None,
    every: Annotated[
        int, typer.Option(min=1, help="Seconds between polls.", metavar="SECONDS")
    ] = 30,
    mark: EngineMark = "",
) -> None:
    """Show the queue with forecasts and reasons as a read-only web page on this machine."""
    from slurm_adapter.live.page.page import Watch, metrics_of
    from slurm_adapter.live.page.server import server
    from slurm_adapter.live.policy_now import Renewed, up_to_date
    from slurm_adapter.live.record import Record, is_record

    if twin is not None and not twin.is_dir():
        raise ConfigError("is not a folder", where=twin)
    secret = _token_in(token_file) if token_file else secrets.token_urlsafe(24) if token else ""
    slurm = backend_of()
    machine = machine_of(system, slurm)
    with ExitStack() as stack:
        stop = stack.enter_context(stopped_by_signals())
        now = stack.enter_context(Renewed(lambda: up_to_date(dispatcher, slurm)))
        private = slurm.private_data()
        watch = Watch(
            backend=slurm,
            system=machine,
            dispatcher=dispatcher,
            now=now,
            twin=twin,
            mark=mark,
            metrics=metrics_of(state),
            explains=not private,
        )
        if watch.metrics is not None and (twin is None or not is_record(twin)):
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="cpsched-"))
            watch.own = Record(Path(folder))
        pages = [stack.enter_context(server(watch, port, path=socket, token=secret))]
        if shared is not None:
            pages.append(stack.enter_context(server(watch, path=shared, shared=True)))
        for page in pages:
            threading.Thread(target=page.serve_forever, daemon=True).start()
        echo(_where(port, socket, "" if token_file else secret))
        if not secret and socket is None and private:
            _warn_of(private)
        if now.remark:
            echo(sentence(now.remark))
        while not stop.is_set():
            now.renew()
            watch.look()
            stop.wait(every)
        for page in pages:
            page.shutdown()


def _token_in(path: Path) -> str:
    """
    Return the token of a file, made if missing.

    Raises
    ------
    ConfigError
        If it can be read by others, is short, or cannot be read or made.
    """
    try:
        if not path.exists():
            made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(made, "w") as file:  # noqa: PTH123 - it is no path
                file.write(f"{secrets.token_urlsafe(24)}\n")
        others = stat.S_IMODE(path.stat().st_mode) & 0o007
        token = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigError(f"cannot be read or made: {why}", where=path) from None
    if others:
        raise ConfigError("every account can read it: chmod o= it", where=path)
    if len(token) < _SHORTEST or not token.isprintable() or " " in token or ";" in token:
        raise ConfigError(
            f"is no token: one line of at least {_SHORTEST} characters, without blanks", where=path
        )
    return token


def _where(port: int, socket: Path | None, secret: str) -> str:
    """Say where the page is, here and from elsewhere."""
    at = f"http://127.0.0.1:{port}/" + (f"?token={secret}" if secret else "")
    if socket is None:
        return f"{at} until Ctrl-C. From elsewhere: ssh -L {port}:127.0.0.1:{port} HOST"
    there = escaped(str(socket.absolute()))
    return f"On {there} until Ctrl-C. From elsewhere: ssh -L {port}:{there} HOST, then {at}"


def _warn_of(private: str) -> None:
    echo(
        f"Slurm has PrivateData={private}, but every account of this machine can read this"
        " page, which shows what you may see: use --socket, --token or --token-file.",
        err=True,
    )
