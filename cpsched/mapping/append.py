"""Append a job to those of a log: a job that has not been submitted yet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.base.types import UNBOUNDED
from cpsched.errors import InfeasibleRequestError
from cpsched.mapping.fit import Fitted, fit
from cpsched.model.workload import COLUMNS, Labels, Workload

if TYPE_CHECKING:
    from cpsched.base.types import IntArray


def append(fitted: Fitted, job: Workload, submit: int) -> Fitted:
    """
    Return the jobs submitted by a second, and another one, submitted then.

    Where the machine is merged into one node, for the log only counts processors, the job's cores
    alone count.

    Parameters
    ----------
    job
        A workload of one job, layout ``units``; its own submit does not matter.

    Raises
    ------
    InfeasibleRequestError
        If the job can never run there.
    """
    if fitted.system.is_counted_pool:
        job = job.with_columns(
            nodes_min=np.array([1]),
            nodes_max=np.array([UNBOUNDED]),
            per_node=np.zeros_like(job.per_node),
        )
    one = fit(job, fitted.system, enforce_limits=fitted.enforce_limits)
    if one.rejected:
        raise InfeasibleRequestError(str(job.job_id[0]), one.rejected[0][1])
    known = np.flatnonzero(fitted.workload.submit <= submit)
    before = fitted.workload.take(known)
    workload = _joined(before, replace(one.workload, submit=np.array([submit])))
    return replace(
        fitted,
        workload=workload,
        eligible_class=np.append(fitted.eligible_class[known], len(fitted.eligible)),
        eligible=np.concatenate([fitted.eligible, one.eligible[one.eligible_class]]),
        rejected=tuple((row, why) for row, why in fitted.rejected if row < len(known)),
    )


def _joined(first: Workload, second: Workload) -> Workload:
    """Return the jobs of two workloads of the same system, one behind the other."""
    columns: dict[str, Any] = {}
    for name in COLUMNS:
        one, other = getattr(first, name), getattr(second, name)
        columns[name] = (
            _labels(one, other) if isinstance(one, Labels) else np.concatenate([one, other])
        )
    return replace(first, **columns)


def _labels(first: Labels, second: Labels) -> Labels:
    number = {text: code for code, text in enumerate(first.values)}
    new: IntArray = np.array(
        [number.setdefault(text, len(number)) for text in second.values] + [-1], dtype=np.int64
    )
    return Labels(np.concatenate([first.codes, new[second.codes]]), tuple(number))
