"""
A live job's request in our form, and what its comment says of other sizes.

The rules are those of accounting (:mod:`slurm_adapter.sacct.request`), which
:func:`slurm_adapter.sacct.request.shape` follows. Beyond them: a task of several cores does not
span nodes; ``--ntasks-per-node`` spreads tasks evenly; required and excluded nodes are part of a
job's constraint.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.api.errors import InfeasibleRequestError
from cpsched.api.logs import Job, Jobs, Place
from cpsched.api.model import MISSING, UNBOUNDED, MemoryMapping, Split, Status
from cpsched.api.simulation import Request
from slurm_adapter.sacct.request import shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cpsched.api.logs import Shape, Workload
    from cpsched.api.model import System
    from slurm_adapter.live.snapshot import LiveJob, Placed

#: Slurm's planning time for jobs without a time limit, seconds.
YEAR = 365 * 86400
_QUEUE = Path("queue")
_COUNT = re.compile(r"(?:^|[:=])([0-9]+)$")


def shape_of(job: LiveJob, *, memory: bool) -> Shape:
    """
    Return the shape of a waiting job's request.

    Parameters
    ----------
    memory
        Whether jobs consume memory.

    Raises
    ------
    TraceError
        If its request cannot be read.
    InfeasibleRequestError
        If it asks for what is not modelled.
    """
    place = Place(_QUEUE, item=f"job {job.key}")
    row = {
        "reqtres": f"cpu={job.cpus},node={job.nodes_min}",
        "constraints": _constraint(job),
    }
    options: dict[str, str] = {}
    if memory and job.mem:
        row["reqmem"] = f"{job.mem}k{'c' if job.mem_per_core else 'n'}"
    elif memory:
        options["mem"] = "0"
    if job.exclusive:
        options["exclusive"] = ""
    if job.contiguous:
        options["contiguous"] = ""
    if job.nodes_max > job.nodes_min:
        options["nodes"] = f"{job.nodes_min}-{job.nodes_max}"
    if gres := ",".join(_gres_on_node(job)):
        options["gres"] = gres
    found = shape(row, options, place)
    if found.nodes_max == UNBOUNDED:
        found = replace(found, nodes_max=job.nodes_max)
    each = job.cpus_per_task
    if each > 1 and found.units % each == 0:
        request = {kind: each * amount for kind, amount in found.request.items()}
        found = replace(found, units=found.units // each, request=request)
    return found


def _gres_on_node(job: LiveJob) -> Iterable[str]:
    """Yield generic resources per node: amounts per task or per job are divided."""
    if job.gres_per_node:
        yield job.gres_per_node
    for text, times in ((job.gres_per_job, 1), (job.gres_per_task, job.tasks)):
        for item in text.split(",") if text else ():
            count = _COUNT.search(item)
            total = times * int(count[1] if count else 1)
            name = item[: count.start()] if count else item
            yield f"{name}:{-(-total // job.nodes_min)}"


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


def consumes_memory(system: System) -> bool:
    """Whether jobs consume memory on a system."""
    return system.log.memory is not MemoryMapping.IGNORED and "mem" in system.resources


def requested_time(job: LiveJob) -> int:
    """Return a job's time limit in seconds; a year if it has none."""
    return YEAR if job.time_limit == MISSING else max(job.time_limit, 1)


def request_of(job: LiveJob, system: System) -> Request:
    """Return what a waiting job asks for; raises as :func:`shape_of`."""
    if job.reservation:
        raise InfeasibleRequestError(job.key, "asks for a reservation, which is not modelled")
    asked = shape_of(job, memory=consumes_memory(system))
    return Request(
        requested_time=requested_time(job),
        units=asked.units,
        resources=dict(asked.request),
        per_node=dict(asked.per_node),
        nodes_min=asked.nodes_min,
        nodes_max=asked.nodes_max,
        split=_split(job).name.lower(),
        contiguous=asked.contiguous,
        exclusive=asked.exclusive,
        restartable=job.restartable,
        constraint=asked.constraint or "",
        queue=job.partition,
        **_labels(job),
    )


def _split(job: LiveJob) -> Split:
    even = job.tasks_per_node and job.tasks == job.nodes_min * job.tasks_per_node
    return Split.EVEN if even and job.nodes_min == job.nodes_max else Split.ANY


def _labels(job: LiveJob) -> dict[str, Any]:
    return {
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


def holding(
    job: LiveJob, placed: Sequence[Placed], kinds: Iterable[str], *, fewest: int = 0
) -> Request:
    """
    Return a request that what a job holds satisfies, wherever its nodes are.

    Parameters
    ----------
    fewest
        How few of its nodes it may be left, each then a unit; 0: it keeps them, and a core is one.
        It never gets more: a job of Slurm grows only by another job.
    """
    least: Counter[str] = Counter()
    most: Counter[str] = Counter()
    amounts = [{"mem": one.mem, **one.gres} for one in placed]
    for kind in kinds:
        held = [amount.get(kind, 0) for amount in amounts]
        least[kind], most[kind] = min(held), max(held)
    request = Request(
        requested_time=requested_time(job),
        units=sum(one.cores for one in placed),
        per_node={kind: amount for kind, amount in least.items() if amount},
        per_node_max={kind: amount for kind, amount in most.items() if amount},
        nodes_min=len(placed),
        nodes_max=len(placed),
        **_labels(job),
    )
    if not fewest:
        return request
    return replace(
        request,
        units=len(placed),
        resources={"core": placed[0].cores},
        nodes_min=fewest,
        job_type="malleable",
        units_min=fewest,
    )


def workload_of(jobs: Sequence[LiveJob], *, memory: bool) -> Workload:
    """
    Return live jobs as a workload, in the order of their submits; runtimes are 0.

    Parameters
    ----------
    memory
        Whether jobs consume memory.

    Raises
    ------
    TraceError
        If there are none, or a request cannot be read.
    InfeasibleRequestError
        If one asks for what is not modelled.
    """
    gathered = Jobs(_QUEUE, skip_bad_lines=False)
    for job in jobs:
        gathered.add(
            Job(
                job_id=job.key,
                submit=job.submit,
                start=job.start,
                runtime=0,
                requested_time=requested_time(job),
                status=Status.UNKNOWN,
                shape=shape_of(job, memory=memory),
                queue=job.partition or None,
                partition=job.partition or None,
                user=job.user or None,
                name=job.name or None,
                group=job.account or None,
                qos=job.qos or None,
                reservation=job.reservation or None,
                licenses=job.licenses or None,
                array=job.array or None,
                array_limit=job.array_limit,
                nice=job.nice,
                begin=job.eligible if job.eligible > job.submit else MISSING,
            ),
            Place(_QUEUE, item=f"job {job.key}"),
        )

    return gathered.workload(split=np.array([int(_split(job)) for job in jobs]))


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
