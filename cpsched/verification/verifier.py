"""
Whether a schedule is valid: every rule is checked again from the record.

Shares no code with the simulator and the native core. The input is trusted: workload, system (what
its topology says of a set of nodes, too), and the mapping, which says which nodes a job may use.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from cpsched.verification import interrupted, jobs, places, requests
from cpsched.verification.capacity import check_capacity
from cpsched.verification.checked import Checked
from cpsched.verification.findings import Rule, Violation
from cpsched.verification.predictions import check_predictions

if TYPE_CHECKING:
    from cpsched.model.schedule import Schedule

__all__ = ["Rule", "Violation", "verify"]

#: Of the whole schedule; those of shapes come before, without them nothing else can be checked.
_OF_ALL = (jobs.check_rejected, jobs.check_dependency, check_capacity)
#: Of each job by itself.
_OF_JOBS = (
    jobs.check_outcome,
    jobs.check_not_early,
    jobs.check_cancel,
    jobs.check_runtime,
    jobs.check_timeout,
    interrupted.check_restarts,
    places.check_allocation,
    places.check_cover,
    places.check_nodes,
    places.check_eligible,
    requests.check_units,
    requests.check_bounds,
    requests.check_shape,
    requests.check_locality,
    requests.check_amount,
    interrupted.check_outages,
    check_predictions,
)
_JOB_COLUMNS = ("start", "end", "outcome", "ranking_estimate", "runtime_estimate", "runtime_bound")
_SEGMENT_COLUMNS = tuple(
    f"segments.{name}" for name in ("start", "end", "node", "count", "units", "leaving")
)


def verify(
    schedule: Schedule,
    *,
    recorded: bool = True,
    complete: bool = True,
    predictor: str | None = None,
    limit: int = 20,
) -> list[Violation]:
    """
    Return the violations of a schedule's rules. An empty list for a valid schedule.

    Parameters
    ----------
    schedule
        The schedule, with segments in any order.
    recorded
        Whether jobs ran as long as in the log (runtime model ``recorded``). If not, only ``kill``
        limits their runtimes.
    complete
        Whether every job must have ended. If not, jobs may still wait, or run to the end of the
        schedule.
    predictor
        The specification of the predictor. None: predictions are not checked.
    limit
        Largest number of listed violations of each rule. ``Violation.total`` counts all.

    Raises
    ------
    ValueError
        If ``limit`` is below 1.

    Notes
    -----
    Intervals are half-open: the resources of a job that ends at a second are free for another that
    starts at it, and a job of runtime 0 uses none. The cost is that of sorting every job's nodes by
    time. Memory does not grow with nodes times jobs.
    """
    if limit < 1:
        raise ValueError(f"limit is {limit}, must be at least 1")
    checked = Checked(
        schedule, recorded=recorded, complete=complete, predictor=predictor, limit=limit
    )
    _check_shapes(checked)
    if not checked:
        for part in checked.parts():
            for check in _OF_JOBS:
                check(part)
        for check in _OF_ALL:
            check(checked)
            schedule.let_go()
    return checked.violations()


def _check_shapes(checked: Checked) -> None:
    schedule, segments, kinds = checked.schedule, checked.segments, checked.system.resources
    num_jobs, num_segments = len(schedule.workload), len(segments.job)
    expected: dict[str, tuple[int, ...]] = {
        **dict.fromkeys(_JOB_COLUMNS, (num_jobs,)),
        **dict.fromkeys(_SEGMENT_COLUMNS, (num_segments,)),
        "segments.amount": (num_segments, len(kinds)),
    }
    for name, shape in expected.items():
        actual = attrgetter(name)(schedule).shape
        if actual != shape:
            checked.add_once(Rule.SHAPE, f"{name} has shape {actual}, must be {shape}")
    if schedule.workload.resources != kinds:
        checked.add_once(
            Rule.SHAPE,
            f"the workload has the resources {schedule.workload.resources}, and the system {kinds}",
        )
    unknown = segments.job[(segments.job < 0) | (segments.job >= num_jobs)]
    if len(unknown):
        checked.add_once(
            Rule.SHAPE,
            f"{len(unknown)} segments are of unknown jobs, the first of row {unknown[0]}. The rows"
            f" of jobs are 0 to {num_jobs - 1}.",
        )
