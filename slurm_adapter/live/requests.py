"""A live job's request in our form, and its mark."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from cpsched.api.errors import InfeasibleRequestError
from cpsched.api.model import MISSING, NO_TIME_LIMIT, MemoryMapping
from cpsched.api.simulation import Request
from slurm_adapter.live.fields import gres_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.api.model import IntArray, System
    from slurm_adapter.live.snapshot import LiveJob

#: Slurm's planning time for jobs without a time limit, seconds.
YEAR = NO_TIME_LIMIT
#: The mark of jobs held for cpsched.
MARK = "cpsched"
#: Reasons of jobs held by users or operators.
_HELD_BY_PEOPLE = ("JobHeldUser", "JobHeldAdmin")


def request_of(job: LiveJob, system: System) -> Request:
    """
    Return what a waiting job asks for.

    A task of several cores does not span nodes; ``--ntasks-per-node`` spreads tasks evenly;
    required and excluded nodes are part of the constraint; amounts for a job or for its tasks are
    divided by its nodes. A job that asks for all the memory of its nodes is alone there.

    Raises
    ------
    InfeasibleRequestError
        If it asks for what is not modelled.
    """
    if job.reservation:
        raise InfeasibleRequestError(job.key, "asks for a reservation, which is not modelled")
    memory = system.log.memory is not MemoryMapping.IGNORED and "mem" in system.resources
    of_task = job.cpus_per_task if job.cpus % job.cpus_per_task == 0 else 1
    resources, per_node = {"core": of_task}, _gres_on_node(job, system)
    if memory and job.mem and job.mem_per_core:
        resources["mem"] = of_task * job.mem
    elif memory and job.mem:
        per_node["mem"] = job.mem
    is_fixed = job.nodes_min == job.nodes_max
    even = job.tasks_per_node and job.tasks == job.nodes_min * job.tasks_per_node
    return Request(
        units=job.cpus // of_task,
        resources=resources,
        per_node=per_node,
        nodes_min=job.nodes_min,
        nodes_max=job.nodes_max,
        split="even" if even and is_fixed else "any",
        contiguous=job.contiguous,
        exclusive=job.exclusive or (memory and not job.mem),
        constraint=_constraint(job),
        queue=job.partition,
        **_labels(job),
    )


def _gres_on_node(job: LiveJob, system: System) -> dict[str, int]:
    """Return generic resources per node, of types those that the system knows."""
    found = Counter(gres_of(job.gres_per_node))
    for text, times in ((job.gres_per_job, 1), (job.gres_per_task, job.tasks)):
        for kind, count in gres_of(text).items():
            found[kind] += -(-count * times // job.nodes_min)
    return {kind: count for kind, count in found.items() if not system.is_untold_type(kind)}


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
    """Return what of a request says nothing of nodes."""
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


def holding(job: LiveJob, held: IntArray, kinds: Sequence[str]) -> Request:
    """
    Return a request that what a job holds satisfies, wherever its nodes are.

    Parameters
    ----------
    held
        Its resources on each of its nodes, shape ``(nodes, kinds)``.
    """
    least, most, total = (
        dict(zip(kinds, row.tolist(), strict=True))
        for row in (held.min(axis=0), held.max(axis=0), held.sum(axis=0))
    )
    return Request(
        units=total["core"],
        per_node={kind: amount for kind, amount in least.items() if amount and kind != "core"},
        per_node_max={kind: amount for kind, amount in most.items() if amount and kind != "core"},
        nodes_min=len(held),
        nodes_max=len(held),
        **_labels(job),
    )


def is_marked(job: LiveJob, mark: str = MARK) -> bool:
    """Say whether a job carries a mark, as AdminComment or comment."""
    return mark in (job.admin_comment, job.comment)


def may_start(job: LiveJob, mark: str = "", engines: frozenset[str] = frozenset()) -> bool:
    """
    Say whether a job waits that somebody starts: no user or operator holds it, or an engine does.

    Parameters
    ----------
    mark
        Of the jobs that are held for an engine; '': the usual one, where an engine runs.
    engines
        Partitions that an engine leases.
    """
    held_by_people = job.held and job.reason in _HELD_BY_PEOPLE
    has_engine = bool(mark) or engines.issuperset(job.partition.split(","))
    is_ours = has_engine and is_marked(job, mark or MARK)
    return job.waits and not job.is_part and (is_ours or not held_by_people)


def waits_for_engine(job: LiveJob) -> bool:
    """Say whether a job is held for an engine, by a mark that begins with the usual one."""
    marked = any(text.startswith(MARK) for text in (job.admin_comment, job.comment))
    return marked and job.waits and not may_start(job)
