"""
Whether a schedule is valid: every rule is checked again from the record.

Shares no code with the simulator and the kernels. The input is trusted: workload, system (what its
topology says of a set of nodes, too), and the mapping, which says which nodes a job may use.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from cpsched.verification.capacity import check_capacity
from cpsched.verification.findings import Findings, Rule, Violation
from cpsched.verification.jobs import check_jobs
from cpsched.verification.phases import Phases
from cpsched.verification.places import check_places
from cpsched.verification.requests import check_requests
from cpsched.verification.restarts import Restarts, check_outages, check_restarts

if TYPE_CHECKING:
    from cpsched.model.schedule import Schedule

__all__ = ["Rule", "Violation", "verify"]

_JOB_COLUMNS = ("start", "end", "outcome", "ranking_estimate", "runtime_estimate", "runtime_bound")
_SEGMENT_COLUMNS = tuple(
    f"segments.{name}" for name in ("start", "end", "node", "count", "units", "leaving")
)


def verify(
    schedule: Schedule, *, recorded: bool = True, complete: bool = True, limit: int = 20
) -> list[Violation]:
    """
    Return which rules a schedule breaks; an empty list for a valid schedule.

    Parameters
    ----------
    schedule
        With segments in any order.
    recorded
        Whether jobs ran as long as the log says (runtime model ``recorded``). If not, only
        ``kill`` limits how long.
    complete
        Whether every job must have ended. If not, jobs may still wait, or hold nodes to the end
        of the record.
    limit
        How many violations of each rule are listed at most; ``Violation.total`` counts all.

    Raises
    ------
    ValueError
        If ``limit`` is below 1.

    Notes
    -----
    Intervals are half-open: a job that ends at a second gives back before another starts there,
    and a job of runtime 0 holds nothing for any time. Cost is that of sorting every job's nodes
    by time; memory does not grow with nodes times jobs.
    """
    if limit < 1:
        raise ValueError(f"limit is {limit}, must be at least 1")
    findings = Findings(schedule.workload.job_id, limit)
    _check_shapes(schedule, findings)
    if findings:
        # Columns of wrong shapes cannot be checked further.
        return findings.violations()
    phases = Phases.of(schedule)
    restarts = Restarts.of(schedule, phases)
    check_jobs(schedule, findings, restarts, recorded=recorded, complete=complete)
    check_restarts(schedule, findings, phases, restarts, recorded=recorded)
    check_places(schedule, findings, phases, restarts)
    check_requests(schedule, findings, phases)
    check_outages(schedule, findings)
    check_capacity(schedule, findings)
    return findings.violations()


def _check_shapes(schedule: Schedule, findings: Findings) -> None:
    segments, kinds = schedule.segments, schedule.system.resources
    num_jobs, num_segments = len(schedule.workload), len(segments.job)
    expected: dict[str, tuple[int, ...]] = {
        **dict.fromkeys(_JOB_COLUMNS, (num_jobs,)),
        **dict.fromkeys(_SEGMENT_COLUMNS, (num_segments,)),
        "segments.amount": (num_segments, len(kinds)),
    }
    for name, shape in expected.items():
        found = attrgetter(name)(schedule).shape
        if found != shape:
            findings.add_once(Rule.SHAPE, f"{name} has shape {found}, must be {shape}")
    if schedule.workload.resources != kinds:
        findings.add_once(
            Rule.SHAPE,
            f"the workload's resources are {schedule.workload.resources}, the system's {kinds}",
        )
    unknown = segments.job[(segments.job < 0) | (segments.job >= num_jobs)]
    if len(unknown):
        findings.add_once(
            Rule.SHAPE,
            f"{len(unknown)} segments are of jobs outside [0, {num_jobs}), the first of"
            f" {unknown[0]}",
        )
