"""
Jobs that may lose nodes while they run: those whose comment says so, as ``nodes=2-8``.

Slurm has no field for it. Comments are whatever users write, so that nothing but one such word
counts, and only a job with as much on each of its nodes can stand it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slurm_adapter.live.snapshot import LiveJob

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
