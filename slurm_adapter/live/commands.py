"""``cpsched slurm`` on a live Slurm."""

from __future__ import annotations

import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import Annotated

import typer

from cpsched.cli.options import Seed
from cpsched.cli.output import counted, echo


def demo_command(
    system: Annotated[str, typer.Option(help="Whose nodes and queues.")] = "eurora",
    nodes: Annotated[int, typer.Option(min=1, help="How many of its nodes.", metavar="N")] = 16,
    jobs: Annotated[
        int, typer.Option(min=0, help="Jobs to submit; they are held.", metavar="N")
    ] = 40,
    mean: Annotated[
        float, typer.Option(min=1, help="How long a job runs in the mean.", metavar="SECONDS")
    ] = 30,
    seed: Seed = 0,
) -> None:
    """Start a private Slurm on this machine with a queue of held jobs, until Ctrl-C."""
    from cpsched import systems
    from slurm_adapter.live import demo
    from slurm_adapter.live.private import PrivateSlurm
    from slurm_adapter.live.site import site_of

    machine = systems.load(system)
    site = site_of(machine, nodes=min(nodes, machine.num_nodes))
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with (
        tempfile.TemporaryDirectory(prefix="cpsched-slurm-") as folder,
        PrivateSlurm(Path(folder) / "slurm", site) as slurm,
    ):
        for job in demo.jobs(jobs, seed, mean=mean):
            demo.submit(slurm, job)
        echo(f"Slurm is up with {counted(len(slurm.nodes), 'node')}, {counted(jobs, 'held job')}.")
        echo("In another terminal:\n")
        echo(f"  export SLURM_CONF={slurm.conf}")
        echo("  squeue\n")
        echo("Ctrl-C stops it.")
        try:
            stop.wait()
        except KeyboardInterrupt:
            echo("Stopping.")
