"""
AccaSim's simulator on any log and machine that cpsched reads.

AccaSim itself reads SWF and counts processors; this gives it the jobs of a workload as units with
all their resources, and a machine node by node.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from accasim_adapter.config import system_config
from accasim_adapter.package import (
    AttributeType,
    JobFactory,
    Reader,
    ResourceManager,
    Resources,
    Simulator,
)
from cpsched.errors import ConfigError
from cpsched.systems.mapping import Fitted, fit
from cpsched.util.types import UNBOUNDED

if TYPE_CHECKING:
    from cpsched.model.system import System
    from cpsched.model.workload import Workload

#: Attributes of a job beyond those of every AccaSim job.
_ATTRIBUTES = ("core", "expected_duration")
_OPTIONAL = ("queue", "user_id", "group_id", "executable", "status")


def simulator(
    workload: Workload | Fitted,
    system: System | None = None,
    *,
    dispatcher: Any,
    out: str | Path,
    **settings: Any,
) -> Any:
    """
    Return AccaSim's ``Simulator`` for a workload. ``start_simulation()`` runs it.

    A process runs one simulation at a time.

    Parameters
    ----------
    workload
        The jobs, already mapped onto a system, or together with ``system``. Jobs that can never run
        on it are left out.
    dispatcher
        A dispatcher of AccaSim, or a :class:`~accasim_adapter.dispatcher.CpschedDispatcher`.
    out
        Folder for AccaSim's files, created if necessary.
    settings
        All other arguments of AccaSim's ``Simulator``.

    Raises
    ------
    ConfigError
        If no job can run on the system, or one has a request that AccaSim cannot express: bounds
        on nodes, certain nodes, consecutive or exclusive ones, an even split, or amounts per node.
    """
    if not isinstance(workload, Fitted):
        if system is None:
            raise TypeError("a workload that is not mapped onto a system needs one")
        workload = fit(workload, system, enforce_time_limits=False)
    if len(workload.rejected) == len(workload.workload):
        raise ConfigError("has no job that can run on this system", where=workload.workload.title)
    _check_can_be_said(workload)
    config = system_config(workload.system)
    manager = ResourceManager(Resources(config["groups"], config["resources"]))
    factory = JobFactory(
        manager,
        job_attrs=[
            *(AttributeType(name, int) for name in _ATTRIBUTES),
            # Only if there is one: AccaSim's writer fails on None.
            *(AttributeType("mem", int) for kind in workload.system.resources if kind == "mem"),
            *(AttributeType(name, optional=True) for name in _OPTIONAL),
        ],
    )
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    return Simulator(
        workload.workload.title,
        None,
        dispatcher,
        resource_manager=manager,
        reader=_WorkloadReader(factory, workload),
        job_factory=factory,
        RESULTS_FOLDER_PATH=str(folder),
        **settings,
    )


class _WorkloadReader(Reader):  # type: ignore[misc]
    """
    Passes the jobs of a workload to AccaSim one by one; like any reader it knows the true runtimes.
    """

    def __init__(self, factory: Any, fitted: Fitted) -> None:
        Reader.__init__(self, factory)
        self._workload = fitted.workload
        rejected = dict(fitted.rejected)
        self._rows = iter([row for row in range(len(fitted.workload)) if row not in rejected])

    def _read(self, current_time: int) -> dict[str, Any] | None:  # noqa: ARG002
        row = next(self._rows, None)
        if row is None:
            self.stop_submission()
            return None
        jobs = self._workload
        amounts = dict(zip(jobs.resources, jobs.request[row].tolist(), strict=True))
        units = int(jobs.units[row])
        labels = {
            "queue": jobs.queue,
            "user_id": jobs.user,
            "group_id": jobs.group,
            "executable": jobs.name,
        }
        return {
            "job_id": str(jobs.job_id[row]),
            "queued_time": int(jobs.submit[row]),
            "duration": int(jobs.runtime[row]),
            "requested_nodes": units,
            "requested_resources": amounts,
            "core": units * amounts["core"],
            "mem": units * amounts.get("mem", 0),
            "expected_duration": int(jobs.requested_time[row]),
            "status": int(jobs.status[row]),
            **{
                name: column.values[code] if (code := int(column.codes[row])) >= 0 else -1
                for name, column in labels.items()
            },
        }


def _check_can_be_said(fitted: Fitted) -> None:
    jobs = fitted.workload
    wishes: tuple[tuple[str, Any], ...] = (
        ("at least so many nodes", jobs.nodes_min > 1),
        ("at most so many nodes", jobs.nodes_max < UNBOUNDED),
        ("equally many tasks on each node", jobs.split != 0),
        ("consecutive nodes", jobs.contiguous),
        ("nodes for itself", jobs.exclusive),
        ("something on every node it touches", np.any(jobs.per_node > 0, axis=1)),
        ("certain nodes", ~np.asarray(fitted.eligible.all(axis=1))[fitted.eligible_class]),
    )
    rejected = dict(fitted.rejected)
    for what, rows in wishes:
        for row in np.flatnonzero(rows).tolist():
            if row not in rejected:
                raise ConfigError(
                    f"job {jobs.job_id[row]} asks for {what}, which AccaSim cannot express",
                    where=jobs.title,
                )
