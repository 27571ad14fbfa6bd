"""From a log's jobs to requests on a machine, with a reason for each job that can never run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.errors import InfeasibleRequestError
from cpsched.model.arrays import plain
from cpsched.model.system import ProcessorMapping
from cpsched.model.workload import COLUMNS, Labels
from cpsched.systems.mapping.classes import classify
from cpsched.systems.mapping.draft import Draft
from cpsched.systems.mapping.feasibility import infeasible
from cpsched.systems.mapping.limits import (
    bound_nodes,
    choose_queues,
    fill_requested_time,
    resolve_queues,
)
from cpsched.systems.mapping.malleable import NONE, bound_units, set_malleable, set_restarts
from cpsched.systems.mapping.requests import align, keep_in_one_group, pooled, to_units
from cpsched.util.types import UNBOUNDED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.system import System
    from cpsched.model.workload import Workload
    from cpsched.util.types import BoolArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fitted:
    """
    A workload mapped onto a system: which nodes each job may use, and which jobs can never run.

    It has J jobs, N nodes and C classes. A class is a set of jobs with the same eligible nodes.

    Attributes
    ----------
    workload
        Every job of the log, with layout ``units`` (tasks and nodes instead of processors), the
        resource types and queues of the system, and a ``requested_time`` for every job.
    system
        The system as given. If the log only counts processors and the system maps them to a
        ``pool``, each node group is one node.
    eligible_class
        Class of each job, a row of ``eligible``, int64, shape ``(J,)``.
    eligible
        Whether jobs of each class may use each node, shape ``(C, N)``.
    rejected
        Row and reason of every job that can never run on the system, in row order. These jobs stay
        in ``workload``.
    enforce_time_limits
        Whether jobs that ask for more time than their queue allows are rejected.
    restarts, malleable
        Settings for jobs that may be restarted, and for jobs that may change size.
    """

    workload: Workload
    system: System
    eligible_class: IntArray
    eligible: BoolArray
    rejected: tuple[tuple[int, str], ...]
    enforce_time_limits: bool = True
    restarts: str = NONE
    malleable: str = NONE


def fit(
    workload: Workload,
    system: System,
    *,
    enforce_time_limits: bool = True,
    restarts: str = NONE,
    malleable: str = NONE,
) -> Fitted:
    """
    Return the jobs of a workload mapped onto a system: eligible nodes, queues, time limits.

    Parameters
    ----------
    workload
        The workload, as read from a log.
    system
        The system. The section ``log`` of its file defines how processors, memory, queues and
        constraints of a log are interpreted.
    enforce_time_limits
        Whether a job that asks for more time than its queue allows is rejected.
    restarts
        Jobs that may be restarted, such as ``share=0.5,cost=30``, see
        :class:`~cpsched.systems.mapping.settings.RestartOptions`. ``none``: as in the log.
    malleable
        Jobs that may change size, such as ``share=0.5,least=0.5,most=2``, see
        :class:`~cpsched.systems.mapping.settings.MalleableOptions`. ``none``: as in the log.

    Returns
    -------
    Fitted
        The jobs, the system, the eligible nodes of each job, and the rejected jobs. A job is
        rejected if the rules of its queue exclude it, or if it cannot be placed on the empty
        system. The placement must have its resources, numbers of nodes and tasks per node, and
        neighbouring nodes if the job needs them. The first reason is recorded, in the order: queue
        rules, constraint, missing resource types, size, dependency. A dependency is a reason if the
        job depends on itself or on a rejected job, directly or through others. A job that may
        change size must fit with the number of tasks in the log. Its largest number of tasks is
        bounded by its eligible nodes.

    Raises
    ------
    ConfigError
        If the log only counts processors and the system does not define what a processor is. If a
        job names a queue that the system does not have. If a job has no requested time, and neither
        its queue nor the system has a default. If processors are whole nodes, and these differ in
        cores.
    """
    if workload.layout == "processors" and system.log.processors is ProcessorMapping.POOL:
        system = pooled(system)
    draft = Draft(workload, system)
    set_restarts(draft, restarts)
    resolve_queues(draft)
    fill_requested_time(draft)
    choose_queues(draft, enforce_time_limits=enforce_time_limits)
    draft.classes = classes = classify(draft.workload, system)
    draft.reject(classes.rejected)
    draft.change(exclusive=classes.exclusive)
    align(draft)
    keep_in_one_group(draft)
    set_malleable(draft, malleable)
    workload.let_go()
    to_units(draft)
    bound_nodes(draft)
    bound_units(draft)
    fitted = draft.workload.with_columns()
    rest = draft.accepted()
    draft.reject(infeasible(fitted, system, classes.of_job, classes.nodes, rows=rest))
    draft.reject(_never_released(fitted, draft.rejected))
    fitted.let_go()
    return Fitted(
        workload=fitted,
        system=system,
        eligible_class=classes.of_job,
        eligible=classes.nodes,
        rejected=tuple(sorted(draft.rejected.items())),
        enforce_time_limits=enforce_time_limits,
        restarts=restarts,
        malleable=malleable,
    )


def _never_released(workload: Workload, rejected: Mapping[int, str]) -> dict[int, str]:
    """Return the rows whose dependency can never end, and why."""
    needed = plain(workload.dependency)
    reasons: dict[int, str] = {}
    done = set(rejected)
    for row in np.flatnonzero(workload.dependency >= 0).tolist():
        chain: list[int] = []
        on_chain: set[int] = set()
        at = row
        while at >= 0 and at not in done and at not in on_chain:
            chain.append(at)
            on_chain.add(at)
            at = needed[at]
        if at >= 0 and (at in on_chain or at in rejected or at in reasons):
            for dependent in chain:
                reasons[dependent] = (
                    "depends on itself"
                    if dependent == needed[dependent]
                    else f"depends on job {workload.job_id[needed[dependent]]}, which can never run"
                )
        done.update(chain)
    return reasons


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
    fitted_job = fit(job, fitted.system, enforce_time_limits=fitted.enforce_time_limits)
    if fitted_job.rejected:
        raise InfeasibleRequestError(str(job.job_id[0]), fitted_job.rejected[0][1])
    known = np.flatnonzero(fitted.workload.submit <= submit)
    before = fitted.workload.take(known)
    new = replace(fitted_job.workload, submit=np.array([submit]))
    joined = {name: _joined(getattr(before, name), getattr(new, name)) for name in COLUMNS}
    return replace(
        fitted,
        workload=replace(before, **joined),
        eligible_class=np.append(fitted.eligible_class[known], len(fitted.eligible)),
        eligible=np.concatenate([fitted.eligible, fitted_job.eligible[fitted_job.eligible_class]]),
        rejected=tuple((row, why) for row, why in fitted.rejected if row < len(known)),
    )


def _joined(first: Any, other: Any) -> Any:
    """Return two columns, one behind the other."""
    if not isinstance(first, Labels):
        return np.concatenate([first, other])
    number = {text: code for code, text in enumerate(first.values)}
    codes = [number.setdefault(text, len(number)) for text in other.values]
    new = np.array([*codes, -1], dtype=np.int64)[other.codes]
    return Labels(np.concatenate([first.codes, new]), tuple(number))
