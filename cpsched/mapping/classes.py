"""Which nodes each job may use: its queue's groups and its constraint, as few distinct masks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched.base.words import quoted
from cpsched.mapping.constraint import Constraint, NodeFeatures, parse
from cpsched.model.distinct import distinct

if TYPE_CHECKING:
    from cpsched.base.types import BoolArray, IntArray
    from cpsched.model.system import Queue, System
    from cpsched.model.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """
    Eligible nodes; J jobs, N nodes, C distinct masks.

    Attributes
    ----------
    of_job
        The class of each job, shape ``(J,)``.
    nodes
        The nodes of each class, shape ``(C, N)``.
    exclusive
        Jobs that want their nodes alone, shape ``(J,)``.
    rejected
        Reason by row, for constraints that nothing can satisfy.
    """

    of_job: IntArray
    nodes: BoolArray
    exclusive: BoolArray
    rejected: dict[int, str]


def classify(workload: Workload, system: System) -> Classes:
    """Return each job's eligible nodes; classes are numbered by first appearance."""
    honoured = system.log.constraints == "honour"
    codes = workload.constraint.codes if honoured else np.full(workload.num_jobs, -1, np.int64)
    pair_of_job, first_rows = distinct([workload.queue.codes, codes], workload.num_jobs)
    features = NodeFeatures(system)
    class_of_mask: dict[bytes, int] = {}
    masks: list[BoolArray] = []
    class_of_pair = np.zeros(len(first_rows), dtype=np.int64)
    exclusive = np.zeros(len(first_rows), dtype=np.bool_)
    rejected: dict[int, str] = {}
    for pair in np.argsort(first_rows).tolist():
        row = int(first_rows[pair])
        text = workload.constraint.values[codes[row]] if codes[row] >= 0 else ""
        constraint = parse(text) if text else Constraint()
        mask, problem = _mask(constraint, text, _queue_mask(workload, system, row), features)
        if problem is not None:
            rejected.update(dict.fromkeys(np.flatnonzero(pair_of_job == pair).tolist(), problem))
        key = np.packbits(mask).tobytes()
        if key not in class_of_mask:
            class_of_mask[key] = len(masks)
            masks.append(mask)
        class_of_pair[pair] = class_of_mask[key]
        queues = _queues(workload, system, row)
        alone = bool(queues) and all(queue.exclusive for queue in queues)
        exclusive[pair] = constraint.exclusive or alone
    return Classes(
        of_job=class_of_pair[pair_of_job],
        nodes=np.array(masks, dtype=np.bool_).reshape(len(masks), system.num_nodes),
        exclusive=workload.exclusive | exclusive[pair_of_job],
        rejected=rejected,
    )


def _mask(
    constraint: Constraint, text: str, in_queue: BoolArray, features: NodeFeatures
) -> tuple[BoolArray, str | None]:
    """Return the nodes of a queue that satisfy a constraint, and why none can if so."""
    if constraint.problem is not None:
        return in_queue, constraint.problem
    having, problem = features.mask(constraint)
    mask = having & in_queue
    if problem is None and not mask.any():
        problem = f"no node of its queue satisfies the constraint {quoted(text)}"
    return mask, problem


def _queues(workload: Workload, system: System, row: int) -> tuple[Queue, ...]:
    """Return the queues of a job."""
    code = workload.queue.codes[row]
    return system.queues_of(workload.queue.values[code] if code >= 0 else None)


def _queue_mask(workload: Workload, system: System, row: int) -> BoolArray:
    """Return the nodes that the queues of a job allow, shape ``(N,)``."""
    queues = _queues(workload, system, row)
    if not queues or not all(queue.groups for queue in queues):
        return np.ones(system.num_nodes, dtype=np.bool_)
    groups = [group for queue in queues for group in queue.groups]
    return np.isin(np.asarray(system.node_groups), np.asarray(groups))
