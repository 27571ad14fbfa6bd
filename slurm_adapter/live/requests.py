"""A live job's request in our form, and what its comment says of other sizes."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cpsched.api.errors import InfeasibleRequestError
from cpsched.api.model import MISSING, MemoryMapping
from cpsched.api.simulation import Request
from slurm_adapter.live.fields import gres_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.api.model import IntArray, System
    from slurm_adapter.live.snapshot import LiveJob

#: Slurm's planning time for jobs without a time limit, seconds.
YEAR = 365 * 86400


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
    resources, per_node = {"core": of_task}, _gres_on_node(job)
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
        restartable=job.restartable,
        constraint=_constraint(job),
        queue=job.partition,
        **_labels(job),
    )


def _gres_on_node(job: LiveJob) -> Counter[str]:
    """Return generic resources per node."""
    found = Counter(gres_of(job.gres_per_node))
    for text, times in ((job.gres_per_job, 1), (job.gres_per_task, job.tasks)):
        for kind, count in gres_of(text).items():
            found[kind] += -(-count * times // job.nodes_min)
    return found


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


def holding(job: LiveJob, held: IntArray, kinds: Sequence[str], *, fewest: int = 0) -> Request:
    """
    Return a request that what a job holds satisfies, wherever its nodes are.

    Parameters
    ----------
    held
        Its resources on each of its nodes, shape ``(nodes, kinds)``.
    fewest
        How few of its nodes it may be left, each then a unit; 0: it keeps them, and a core is one.
        It never gets more: a job of Slurm grows only by another job.
    """
    least, most, total = (
        dict(zip(kinds, row.tolist(), strict=True))
        for row in (held.min(axis=0), held.max(axis=0), held.sum(axis=0))
    )
    nodes = len(held)
    request = Request(
        units=total["core"],
        per_node={kind: amount for kind, amount in least.items() if amount and kind != "core"},
        per_node_max={kind: amount for kind, amount in most.items() if amount and kind != "core"},
        nodes_min=fewest or nodes,
        nodes_max=nodes,
        **_labels(job),
    )
    if not fewest:
        return request
    core = {"core": least["core"]}
    return replace(request, units=nodes, resources=core, job_type="malleable", units_min=fewest)


_BEGINS = "nodes="
_WORD = re.compile(r"nodes=([1-9][0-9]{0,5})-([1-9][0-9]{0,5})")


def is_marked(job: LiveJob, mark: str) -> bool:
    """Say whether a job carries a mark: as AdminComment, or as comment beside its bounds."""
    rest = " ".join(word for word in job.comment.split() if not word.startswith(_BEGINS))
    return mark in (job.admin_comment, job.comment, rest)


def fewest_nodes(job: LiveJob) -> int:
    """Return how few nodes a running job may be left; 0 if it has to keep what it holds."""
    bounds = _bounds(job)
    if bounds is None or job.state != "RUNNING" or job.is_part or _why_uneven(job):
        return 0
    fewest, most = bounds
    alike = len({one.cores for one in job.placed}) == 1 and len(job.placed) == len(job.nodes)
    return fewest if alike and fewest < len(job.nodes) <= most else 0


def why_rigid(job: LiveJob) -> str:
    """Return why a waiting job will keep its nodes though its comment has bounds; '' otherwise."""
    if not any(word.startswith(_BEGINS) for word in job.comment.split()):
        return ""
    bounds = _bounds(job)
    if bounds is None:
        return "its comment must have one word nodes=FEWEST-MOST, such as nodes=2-8"
    fewest, most = bounds
    if not fewest <= job.nodes_min == job.nodes_max <= most:
        return f"it must ask for one number of nodes from {fewest} to {most}"
    if not job.exclusive and job.tasks != job.nodes_min * job.tasks_per_node:
        return "it must ask for as much on each node: --ntasks-per-node or --exclusive"
    return _why_uneven(job)


def _bounds(job: LiveJob) -> tuple[int, int] | None:
    """Return the fewest and most nodes in a job's comment; None unless they are there once."""
    words = [word for word in job.comment.split() if word.startswith(_BEGINS)]
    match = _WORD.fullmatch(words[0]) if len(words) == 1 else None
    if match is None or int(match[1]) > int(match[2]):
        return None
    return int(match[1]), int(match[2])


def _why_uneven(job: LiveJob) -> str:
    if not (job.exclusive or job.tasks_per_node):
        return "it must ask for as much on each node: --ntasks-per-node or --exclusive"
    if job.contiguous:
        return "it asks for consecutive nodes"
    if job.gres_per_job or job.gres_per_task:
        return "it asks for GRES for the job or its tasks, not for each node"
    return ""
