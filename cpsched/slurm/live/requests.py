"""The request of a live job in the form of the engine, and whether Slurm may start the job."""

from __future__ import annotations

from collections import Counter
from math import gcd
from typing import TYPE_CHECKING, Any

from cpsched.engine.encoder import Request
from cpsched.errors import InfeasibleRequestError
from cpsched.model.system import MemoryMapping
from cpsched.slurm.live.fields import gres_of
from cpsched.util.types import MISSING, NO_TIME_LIMIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.model.system import System
    from cpsched.slurm.live.snapshot import LiveJob
    from cpsched.util.types import IntArray

#: Slurm's planning time for jobs without a time limit, seconds.
YEAR = NO_TIME_LIMIT
#: Reasons of jobs held by users or operators.
_HELD_BY_PEOPLE = ("JobHeldUser", "JobHeldAdmin")


def request_of(job: LiveJob, system: System) -> Request:
    """
    Return what a waiting job asks for.

    A task of several cores does not span nodes; ``--ntasks-per-node`` spreads tasks evenly;
    required and excluded nodes are part of the constraint. Amounts for each task are part of the
    task; amounts for the job are shared by its nodes or, where they do not divide, by its cores.
    A job that asks for all the memory of its nodes is alone there.

    Raises
    ------
    InfeasibleRequestError
        If it asks for what is not modelled.
    """
    if job.reservation:
        raise InfeasibleRequestError(job.key, "asks for a reservation, which is not modelled")
    memory = system.log.memory is not MemoryMapping.IGNORED and "mem" in system.resources
    is_fixed = job.nodes_min == job.nodes_max
    even = job.tasks_per_node and job.tasks == job.nodes_min * job.tasks_per_node and is_fixed
    resources, per_node = _gres(job, system, may_group=not even)
    if memory and job.mem and job.mem_per_core:
        resources["mem"] = resources["core"] * job.mem
    elif memory and job.mem:
        per_node["mem"] = job.mem
    return Request(
        units=job.cpus // resources["core"],
        resources=resources,
        per_node=per_node,
        nodes_min=job.nodes_min,
        nodes_max=job.nodes_max,
        split="even" if even else "any",
        contiguous=job.contiguous,
        exclusive=job.exclusive or (memory and not job.mem),
        constraint=_constraint(job),
        queue=job.partition,
        **_labels(job),
    )


def _gres(
    job: LiveJob, system: System, *, may_group: bool
) -> tuple[dict[str, int], dict[str, int]]:
    """
    Return cores and generic resources of a unit, and generic resources of each node.

    Parameters
    ----------
    may_group
        Whether a unit may be other than a task.
    """

    def known(text: str) -> dict[str, int]:
        amounts = gres_of(text).items()
        return {kind: count for kind, count in amounts if not system.is_untold_type(kind)}

    cores = job.cpus_per_task if job.cpus % job.cpus_per_task == 0 else 1
    per_node, total, of_task = map(known, (job.gres_per_node, job.gres_per_job, job.gres_per_task))
    if job.cpus != cores * job.tasks:
        # Tasks are no units: their amounts are the job's.
        total = dict(Counter(total) + Counter({k: n * job.tasks for k, n in of_task.items()}))
        of_task = {}
    divides = job.nodes_min == job.nodes_max and not any(n % job.nodes_min for n in total.values())
    # 3 GPUs and 6 cores on 2 nodes: 3 units of a GPU and 2 cores.
    units = gcd(job.cpus, *total.values())
    is_group = (
        may_group and not of_task and units >= job.nodes_min and job.cpus // units % cores == 0
    )
    if total and not divides and is_group:
        own = {kind: count // units for kind, count in total.items()}
        return {"core": job.cpus // units, **own}, per_node
    shares = {kind: -(-count // job.nodes_min) for kind, count in total.items()}
    return {"core": cores, **of_task}, dict(Counter(per_node) + Counter(shares))


def _constraint(job: LiveJob) -> str:
    """Return required and excluded features and nodes of a job."""
    parts = [job.features] if job.features else []
    if job.required:
        if len(job.required) < job.nodes_max:
            raise InfeasibleRequestError(
                job.key, f"requires {len(job.required)} of its nodes, which is not modelled"
            )
        parts.append("|".join(job.required))
    parts += (f"^{name}" for name in job.excluded)
    return "&".join(parts)


def _labels(job: LiveJob) -> dict[str, Any]:
    """Return the fields of a request that do not concern nodes."""
    return {
        "requested_time": YEAR if job.time_limit == MISSING else max(job.time_limit, 1),
        "user": job.user,
        "name": job.name,
        "group": job.account,
        "qos": job.qos,
        "reservation": job.reservation,
        "licenses": job.licenses,
        "array": job.array,
        "array_limit": job.array_limit,
        "nice": job.nice,
    }


def running_request(job: LiveJob, allocated: IntArray, resources: Sequence[str]) -> Request:
    """
    Return a request that a job's allocation satisfies, wherever its nodes are.

    Parameters
    ----------
    allocated
        Its resources on each of its nodes, shape ``(nodes, resources)``.
    """
    core = resources.index("core")
    least, largest = (
        {name: amount for name, amount in zip(resources, amounts, strict=True) if name != "core"}
        for amounts in (allocated.min(axis=0).tolist(), allocated.max(axis=0).tolist())
    )
    return Request(
        units=int(allocated[:, core].sum()),
        per_node={name: amount for name, amount in least.items() if amount},
        per_node_max={name: amount for name, amount in largest.items() if amount},
        nodes_min=len(allocated),
        nodes_max=len(allocated),
        **_labels(job),
    )


def may_start(job: LiveJob) -> bool:
    """Return whether a job waits and Slurm may start it: no user or operator holds it."""
    held_by_people = job.held and job.reason in _HELD_BY_PEOPLE
    return job.waits and not job.is_part and not held_by_people
