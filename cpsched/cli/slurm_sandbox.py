"""``cpsched slurm sandbox``: a dispatcher decides on a private Slurm of this machine."""

from __future__ import annotations

import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cpsched.cli.options import AsJson, Dispatcher, Predictor, Seed
from cpsched.cli.output import counted, echo, escaped, print_json

if TYPE_CHECKING:
    from cpsched.slurm.sandbox.loop import JobResult


def command(
    dispatcher: Dispatcher = "easy",
    predictor: Predictor = "requested",
    jobs: Annotated[
        Path | None,
        typer.Option(
            help="File with a line per job: seconds and sbatch options.",
            metavar="FILE",
        ),
    ] = None,
    count: Annotated[
        int, typer.Option(min=1, help="Number of generated sleep jobs.", metavar="N")
    ] = 40,
    mean: Annotated[
        float, typer.Option(min=1, help="Mean runtime of generated jobs.", metavar="S")
    ] = 30,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """
    Start a private Slurm of 16 nodes on this machine, driven by a dispatcher.

    The sandbox ends when all jobs have ended, or at Ctrl-C. Other clusters stay as they are.
    """
    from cpsched.slurm.live.plan import system_of
    from cpsched.slurm.live.scontrol import Scontrol
    from cpsched.slurm.sandbox.follower import Follower, warm_up
    from cpsched.slurm.sandbox.loop import SandboxLoop
    from cpsched.slurm.sandbox.private import PrivateSlurm
    from cpsched.slurm.sandbox.stream import SITE, bundled, in_file
    from cpsched.util.spec import build

    # Wrong names must be reported before Slurm starts.
    build("dispatchers", dispatcher)
    build("predictors", predictor)
    stream = bundled(count, seed, mean=mean) if jobs is None else in_file(jobs)
    say = partial(_with_time, err=as_json)
    with (
        _stopped_by_signals() as stop,
        tempfile.TemporaryDirectory(prefix="cpsched-") as folder,
        PrivateSlurm(Path(folder) / "slurm", SITE) as slurm,
    ):
        say(f"Slurm runs with {counted(len(slurm.nodes), 'node')}, SLURM_CONF={slurm.conf}")
        system = system_of(Scontrol(slurm.environment))
        warm_up(system, dispatcher, predictor)
        loop = SandboxLoop(slurm, Follower(system, dispatcher, predictor, seed=seed), stream, say)
        loop.run(stop)
        results = loop.results
    if as_json:
        ended = [result._asdict() for result in results]
        print_json("slurm.sandbox", {"dispatcher": dispatcher, "jobs": ended})
    else:
        echo(_summary(dispatcher, results, len(stream)))


def _summary(dispatcher: str, results: Sequence[JobResult], submitted: int) -> str:
    waits = [result.start - result.submit for result in results if result.start is not None]
    ran = f"{dispatcher}: {len(waits)} of {counted(submitted, 'submitted job')} ran"
    if not waits:
        return f"{ran}."
    return f"{ran}, mean wait {sum(waits) / len(waits):.1f} s, longest wait {max(waits):,} s."


def _with_time(line: str, *, err: bool) -> None:
    """Print a line with the time, unbuffered, because the output may be a pipe."""
    echo(f"{time.strftime('%H:%M:%S')} {escaped(line)}", err=err)
    sys.stdout.flush()


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """Give an event that SIGTERM and SIGINT set."""
    stop = threading.Event()
    signs = (signal.SIGTERM, signal.SIGINT)
    before = {sign: signal.signal(sign, lambda *_: stop.set()) for sign in signs}
    try:
        yield stop
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)
