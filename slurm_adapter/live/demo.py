"""A queue of sleeping jobs, for a private Slurm with the nodes of Eurora."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slurm_adapter.live.private import PrivateSlurm

#: Nodes that a job asks for; most jobs are small.
_NODES = (1, 1, 1, 1, 1, 2, 2, 3, 4, 8)
_CORES = (1, 2, 4, 8, 16)
_ACCELERATORS = ("", "", "", "gpu:1", "gpu:2", "mic:1", "mic:2")
_PARTITIONS = ("debug", "parallel", "longpar")


def jobs(count: int, seed: int, *, mean: float, most_nodes: int = 8) -> Iterator[list[str]]:
    """
    Yield the options of jobs of several kinds: nodes, cores, GPUs, MICs, partitions.

    Parameters
    ----------
    mean
        Mean sleeping time of a job, seconds; requested times are whole minutes.
    """
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    for number in range(count):
        nodes = min(chance.choice(_NODES), most_nodes)
        seconds = max(chance.expovariate(1 / mean), 0.5)
        options = [
            f"--job-name=demo-{number}",
            f"--nodes={nodes}",
            f"--ntasks={nodes * chance.choice(_CORES)}",
            f"--time={1 + int(seconds * chance.choice((1, 1.5, 3)) // 60)}",
            f"--partition={chance.choice(_PARTITIONS)}",
        ]
        if accelerators := chance.choice(_ACCELERATORS):
            options.append(f"--gres={accelerators}")
        yield [*options, f"--wrap=exec /bin/sleep {seconds:.3f}"]


def submit(slurm: PrivateSlurm, options: Sequence[str]) -> int:
    """Submit a job; return its number."""
    fixed = ("--parsable", "--export=NIL", "--output=/dev/null", "--chdir=/tmp")
    return int(slurm.run("sbatch", *fixed, *options))
