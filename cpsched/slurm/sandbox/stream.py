"""Jobs for a sandbox: a bundled cluster with a stream of sleeping jobs, or a file of one's own."""

from __future__ import annotations

import random
import shlex
from typing import TYPE_CHECKING, NamedTuple

from cpsched.errors import ConfigError
from cpsched.slurm.sandbox.private import SlurmFiles
from cpsched.util.documents import read_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_EACH = "CPUs=16 Sockets=1 CoresPerSocket=16 ThreadsPerCore=1 State=UNKNOWN"
_CONF = f"""\
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityType=priority/basic
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,default_queue_depth=2000,sched_interval=2
KillWait=2
GresTypes=gpu,mic
DefMemPerCPU=994
NodeName=node[001-009] RealMemory=15912 Feature=mic Gres=mic:2 {_EACH}
NodeName=node[033-038] RealMemory=15912 Feature=gpu Gres=gpu:2 {_EACH}
NodeName=node039 RealMemory=32071 Feature=gpu_bigmem Gres=gpu:2 {_EACH}
PartitionName=debug Nodes=ALL Default=YES MaxTime=30
PartitionName=parallel Nodes=ALL MaxTime=360
PartitionName=longpar Nodes=ALL MaxTime=1440
PartitionName=np_longpar Nodes=ALL MaxTime=1440
PartitionName=R Nodes=ALL
"""
_GRES = """\
NodeName=node[001-009] Name=mic Count=2
NodeName=node[033-039] Name=gpu File=/dev/gpu[0-1]
"""
#: 16 nodes, of every sort that Eurora has. Slurm's scheduler only starts what is released.
SITE = SlurmFiles(conf=_CONF, gres=_GRES)

#: Nodes that a job asks for; most jobs are small.
_NODES = (1, 1, 1, 1, 1, 2, 2)
_CORES = (1, 2, 4, 8, 16)
_ACCELERATORS = ("", "", "", "gpu:1", "gpu:2", "mic:1", "mic:2")
_PARTITIONS = ("debug", "parallel", "longpar")


class SandboxJob(NamedTuple):
    """
    A job to submit.

    Attributes
    ----------
    at
        Seconds since the sandbox is up.
    options
        Of ``sbatch``.
    source
        File and line, or '' for a bundled job.
    """

    at: float
    options: Sequence[str]
    source: str = ""


def bundled(count: int, seed: int, *, mean: float) -> list[SandboxJob]:
    """
    Return jobs of several kinds, one a second: nodes, cores, GPUs, MICs, partitions.

    Parameters
    ----------
    mean
        Mean sleeping time of a job, seconds; requested times are whole minutes.
    """
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    jobs, at = [], 0.0
    for number in range(count):
        nodes = chance.choice(_NODES)
        seconds = max(chance.expovariate(1 / mean), 0.5)
        options = [
            f"--job-name=sandbox-{number}",
            f"--nodes={nodes}",
            f"--ntasks={nodes * chance.choice(_CORES)}",
            f"--time={1 + int(seconds * chance.choice((1, 1.5, 3)) // 60)}",
            f"--partition={chance.choice(_PARTITIONS)}",
        ]
        if accelerators := chance.choice(_ACCELERATORS):
            options.append(f"--gres={accelerators}")
        jobs.append(SandboxJob(at, [*options, f"--wrap=exec /bin/sleep {seconds:.3f}"]))
        at += chance.expovariate(1)
    return jobs


def in_file(path: Path) -> list[SandboxJob]:
    """
    Return the jobs of a file: in each line a time in seconds, and options of ``sbatch``.

    Raises
    ------
    ConfigError
        If it cannot be read, has no job, or a line has no time or no options.
    """
    jobs = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        source = f"{path}, line {number}"
        try:
            first, *options = shlex.split(line, comments=True) or ("",)
        except ValueError as error:
            raise ConfigError(f"{source}: {error}") from None
        if not first:
            continue
        if not (first.isascii() and first.isdigit() and options):
            raise ConfigError(
                f"{source}: {line.strip()[:60]!r} is not a second with options of sbatch. Write"
                " lines such as 5 --ntasks=4 --time=2 --wrap='sleep 60'."
            )
        jobs.append(SandboxJob(int(first), options, source))
    if not jobs:
        raise ConfigError("the file has no job", where=path)
    return sorted(jobs, key=lambda job: job.at)
