"""The jobs of a log on a machine taken as one pool, as episodes have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from cpsched import _core
from cpsched.dispatch.orders import least_taken
from cpsched.errors import ConfigError, check_choice, check_least
from cpsched.logs import read as read_log
from cpsched.model.system import System
from cpsched.model.workload import Workload
from cpsched.systems import load as load_system
from cpsched.systems import parse as parse_system
from cpsched.systems.mapping import Fitted, fit

if TYPE_CHECKING:
    from os import PathLike

    from cpsched.model.jobtable import JobTable
    from cpsched.util.types import IntArray

#: What becomes of a job that reaches its requested time: ended there, or run as recorded.
OVERRUN = ("kill", "extend")


def pool_of(processors: int) -> System:
    """Return a machine of so many processors, each of which is a node."""
    check_least("processors", processors, 1)
    return parse_system(
        'name = "pool"\ntitle = "processors"\nsource = "made"\nresources = ["core"]\n'
        "default_expected_wait = 3600\n\n"
        f'[[nodes]]\ngroup = "all"\ncount = {processors}\ncore = 1\n\n'
        '[log]\nprocessors = "pool"\n'
    )


def fitted_of(
    log: Workload | Fitted | str | PathLike[str], system: System | str | PathLike[str] | int | None
) -> Fitted:
    """
    Return a log on a machine.

    Parameters
    ----------
    log
        A path, a workload, or one that is on its machine already.
    system
        A name, a path, a system, or a number of processors; None with the last kind of log.

    Raises
    ------
    ConfigError
        If a machine is missing, or given twice.
    """
    if isinstance(log, Fitted):
        if system is not None:
            raise ConfigError("is given twice, as the log is mapped onto one already", key="system")
        return log
    if system is None:
        raise ConfigError(
            "is missing. Give a name, the path of a system file, or a number of processors.",
            key="system",
        )
    if isinstance(system, int):
        system = pool_of(system)
    elif not isinstance(system, System):
        system = load_system(cast("Any", system))
    return fit(log if isinstance(log, Workload) else read_log(cast("Any", log)), system)


def jobs_of(
    fitted: Fitted, estimates: IntArray | None = None, overrun: str = "kill"
) -> _core.PoolJobs:
    """
    Return the jobs that can run, as episodes have them.

    The machine is one pool of each kind of resource, and a job takes what it takes at least: exact
    where a node is a processor or there is one node, else more fits than on the nodes. Begin times,
    dependencies and cancellations of a log are left out.

    Parameters
    ----------
    estimates
        A runtime of each job of the log that is known at its submit, in seconds; the requested
        times if there are none.
    overrun
        ``kill``: a job is ended at its requested time; ``extend``: it runs as long as recorded.

    Raises
    ------
    ConfigError
        If there are too few estimates or too many, or no jobs.
    """
    check_choice("overrun", overrun, OVERRUN)
    workload, system = fitted.workload, fitted.system
    accepted = np.ones(len(workload), dtype=np.bool_)
    accepted[[row for row, _ in fitted.rejected]] = False
    jobs = workload.take(np.flatnonzero(accepted))
    if not len(jobs):
        raise ConfigError("has no job that can run on this system", where=workload.title)
    requested = np.ascontiguousarray(jobs.requested_time)
    if estimates is None:
        estimate = requested.copy()
    else:
        estimates = np.asarray(estimates, dtype=np.int64)
        if estimates.shape != (len(workload),):
            raise ConfigError(
                f"has shape {estimates.shape}, must have one for each of the {len(workload)} jobs",
                key="estimates",
            )
        estimate = np.clip(estimates[accepted], 1, requested)
    # A workload has the columns of a table of jobs that count here.
    nodes = np.unique(system.capacity, axis=0)
    demand = np.ascontiguousarray(least_taken(cast("JobTable", jobs), nodes), dtype=np.int64)
    total = system.total.astype(np.int64)
    demand = np.minimum(demand, total)
    runtime = jobs.runtime if overrun == "extend" else np.minimum(jobs.runtime, requested)
    return _core.PoolJobs(
        submit=np.ascontiguousarray(jobs.submit),
        runtime=np.ascontiguousarray(runtime),
        estimate=estimate,
        requested_time=requested,
        demand=demand,
        total=total,
    )
