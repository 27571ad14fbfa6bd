"""What a plan is worth, as lines for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.base.tables import Column, Table
from cpsched.base.words import brief, counted, duration, estimate

if TYPE_CHECKING:
    from cpsched.base.tables import Number
    from cpsched_papers.planning.offline import OfflinePlan

_OBJECTIVES = {"slowdown": "mean slowdown", "expected-wait": "mean weighted wait [s]"}


def report(plan: OfflinePlan, width: int = 120) -> str:
    """Return heading, table and what is proven, without a newline at the end."""
    return "\n".join([*_heading(plan), "", _table(plan).text(width), "", *_proven(plan)])


def _heading(plan: OfflinePlan) -> list[str]:
    instance = plan.instance
    fitted = instance.fitted
    released = "each from its submit on" if instance.release.any() else "all there at second 0"
    lines = [
        f"{brief(fitted.workload.title)}: {counted(len(instance), 'job')}, {released},"
        f" on {brief(fitted.system.title)}, empty",
        f"runtime estimate: {estimate(plan.predictor)}",
    ]
    if fitted.rejected:
        row, reason = fitted.rejected[0]
        lines.append(
            f"rejected: {counted(len(fitted.rejected), 'job')} that can never run here"
            f" (the first: job {brief(str(fitted.workload.job_id[row]))}, {reason})"
        )
    return lines


def _table(plan: OfflinePlan) -> Table:
    instance = plan.instance
    starts, names = [plan.start], [plan.dispatcher]
    if plan.listed is not None:
        starts.append(plan.listed)
        names.append("list plan in its order, on one pool")
    return Table(
        "",
        (
            Column("plan", "", tuple(names)),
            Column("mean slowdown", "", tuple(map(instance.mean_slowdown, starts)), 3),
            _spans("mean weighted wait", list(map(instance.mean_weighted_wait, starts))),
            _spans("makespan", list(map(instance.makespan, starts))),
        ),
    )


def _spans(header: str, values: list[Number]) -> Column:
    shown = tuple("-" if value is None else duration(value) for value in values)
    return Column(header, "", shown, sorted_by=tuple(values))


def _proven(plan: OfflinePlan) -> list[str]:
    named, jobs = len(plan.placed), len(plan.instance)
    where = "capacity is kept on every node at every second"
    if plan.checked == "pool":
        where = (
            "capacity is kept on the machine as one pool at every second, and on nodes by"
            f" {counted(named, 'job')}; the other {jobs - named:,} found no nodes at their planned"
            " starts"
        )
    lines = [f"status      {plan.status}"]
    if plan.minimised is not None and plan.gap is not None and plan.bound is not None:
        value, name = plan.objective(plan.start), _OBJECTIVES[plan.minimised]
        lines.append(f"objective   {name} {value:,.3f}, no plan is below {plan.bound:,.3f}")
        lines.append(f"gap         {plan.gap:.2%} of the delay")
        listed = None if plan.listed is None else plan.objective(plan.listed)
        if value is not None and listed is not None and listed < value:
            lines.append("list plan   better on one pool, but not all of its jobs find nodes")
    return [*lines, f"checked     {where}"]
