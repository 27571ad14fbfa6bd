"""Jobs of a log that can never run on a system: why, how much work that is, and what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.workload import Workload
    from cpsched.util.types import IntArray

_USER = re.compile(r"^user ('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")")
_JOB = re.compile(r"(?<=^depends on job ).*(?=, which)")
_NUMBER = re.compile(r"(?<![\w'-])\d+(?:\.\d+)?(?![\w'])")
#: What a reason says, and what can be done about it; the first that is found counts.
_REMEDIES = (
    ("constraint", "list such features of the nodes in the system file (features = [...])"),
    ("has the feature", "list such features of the nodes in the system file (features = [...])"),
    ("the system has none", "add it to the nodes of the system file if they have it"),
    (" s, queue ", "--no-enforce-time-limits, or another max_time of the queue in the system file"),
    ("is not allowed in queue", "see users of that queue in the system file"),
    ("nodes, queue ", "see the limits of that queue in the system file"),
    ("no eligible node has", "compare the nodes of the system file with the cluster's"),
    ("eligible node", "compare the nodes and queues of the system file with the cluster's"),
    ("depends on", "see the job that it depends on"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """
    Jobs that are rejected for the same reason.

    Attributes
    ----------
    reason
        Of the job with the most core time among them, with its numbers.
    job_id
        Of that job.
    jobs
        How many there are.
    share_of_core_time
        Of the core time that all jobs of the log recorded, within [0, 1].
    remedy
        What to do where they should run; may be empty.
    """

    reason: str
    job_id: str
    jobs: int
    share_of_core_time: float
    remedy: str


def reason_kind(reason: str) -> str:
    """Return a rejection's reason without what differs between jobs: numbers (``N``) and users."""
    return _NUMBER.sub("N", _JOB.sub("N", _USER.sub("a user", reason)))


def rejections(workload: Workload, rejected: Mapping[int, str]) -> list[Rejection]:
    """
    Return why jobs are rejected, the reason that takes most core time first.

    Parameters
    ----------
    workload
        All jobs, the rejected ones too, in the resource kinds of a system.
    rejected
        Why, by row.
    """
    time = core_time(workload)
    # In floats, whose sum cannot overflow.
    total = max(float(time.sum(dtype=np.float64)), 1.0)
    kinds: dict[str, list[int]] = {}
    for row, reason in rejected.items():
        kinds.setdefault(reason_kind(reason), []).append(row)
    by_reason = []
    for rows in kinds.values():
        largest = max(rows, key=lambda row: (int(time[row]), -row))
        reason = rejected[largest]
        by_reason.append(
            Rejection(
                reason=reason,
                job_id=str(workload.job_id[largest]),
                jobs=len(rows),
                share_of_core_time=float(time[rows].sum(dtype=np.float64)) / total,
                remedy=next((text for phrase, text in _REMEDIES if phrase in reason), ""),
            )
        )
    return sorted(
        by_reason,
        key=lambda entry: (-entry.share_of_core_time, -entry.jobs, entry.reason),
    )


def core_time(workload: Workload) -> IntArray:
    """Return the cores that each job asks for, times the seconds that it ran in the log."""
    cores: IntArray = np.ones(len(workload), dtype=np.int64)
    if "core" in workload.resources:
        kind = workload.resources.index("core")
        cores = workload.units * workload.request[:, kind]
        cores += np.maximum(workload.nodes_min, 1) * workload.per_node[:, kind]
    time: IntArray = cores * np.maximum(workload.runtime, 0)
    return time
