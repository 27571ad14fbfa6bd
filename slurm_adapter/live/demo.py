"""A private Slurm's 16 nodes, of every kind that Eurora has, and a queue of sleeping jobs."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from slurm_adapter.live.private import PrivateSlurm, Site

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: All submitted jobs are held and marked; users cannot set an AdminComment themselves. Jobs
#: submitted as held are left to their users.
HOLD_ALL = """\
function slurm_job_submit(job_desc, part_list, submit_uid)
   if job_desc.priority ~= 0 then
      job_desc.priority = 0
      job_desc.admin_comment = "cpsched"
   end
   return slurm.SUCCESS
end
function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
   return slurm.SUCCESS
end
return slurm.SUCCESS
"""
_EACH = "CPUs=16 Sockets=1 CoresPerSocket=16 ThreadsPerCore=1 State=UNKNOWN"
_CONF = f"""\
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityType=priority/basic
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,default_queue_depth=2000
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
SITE = Site(conf=_CONF, gres=_GRES, job_submit=HOLD_ALL)

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
