"""A plan as a file (CSV, Parquet or JSON), and what it is worth as lines for a terminal."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

from cpsched.api.errors import ConfigError
from cpsched.api.tools import Column, Table, brief, cell, counted, duration, estimate, replacing

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cpsched.api.tools import Number
    from cpsched_papers.planning.offline import OfflinePlan

SUFFIXES = (".csv", ".parquet", ".json")
_TEXTS = ("job_id", "nodes", "units_per_node")


def write(plan: OfflinePlan, path: Path) -> None:
    """
    Write a plan; the file's name says how.

    Columns are job_id, release, start, end (seconds), units, nodes and units_per_node (missing
    where the plan leaves them open; like ``n[1-3]`` and ``2(x2),1``). JSON also has the figures of
    the plan. The file appears when complete.

    Raises
    ------
    ConfigError
        If it cannot be written.
    """
    try:
        with replacing(path) as partial:
            _write(plan, partial)
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror or error}", where=path) from error


def _write(plan: OfflinePlan, path: Path) -> None:
    columns = _columns(plan)
    if path.suffix == ".parquet":
        _parquet(columns, path)
    elif path.suffix == ".json":
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        content = {**figures(plan), "jobs": rows}
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            for row in zip(*columns.values(), strict=True):
                writer.writerow([cell(value) for value in row])


def figures(plan: OfflinePlan) -> dict[str, Any]:
    """Return what the plan is worth, beside the list plan, as plain JSON types."""
    instance = plan.instance
    return {
        "dispatcher": plan.dispatcher,
        "predictor": plan.predictor,
        "jobs_planned": len(instance),
        "jobs_rejected": len(instance.fitted.rejected),
        "status": plan.status,
        "checked_on": plan.checked,
        "minimised": plan.minimised,
        "objective": plan.objective(plan.start),
        "bound": plan.bound,
        "gap": plan.gap,
        **{
            name: {
                "mean_slowdown": instance.mean_slowdown(start),
                "mean_weighted_wait_s": instance.mean_weighted_wait(start),
                "makespan_s": instance.makespan(start),
            }
            for name, start in (("plan", plan.start), ("list_plan", plan.listed))
            if start is not None
        },
        "stats": dict(plan.stats),
    }


def _columns(plan: OfflinePlan) -> dict[str, list[Any]]:
    instance = plan.instance
    workload = instance.fitted.workload
    return {
        "job_id": workload.job_id[instance.row].tolist(),
        "release": instance.release.tolist(),
        "start": plan.start.tolist(),
        "end": (plan.start + instance.duration).tolist(),
        "units": workload.units[instance.row].tolist(),
        "nodes": plan.nodes,
        "units_per_node": plan.units_per_node,
    }


def _parquet(columns: Mapping[str, list[Any]], path: Path) -> None:
    from cpsched.api.studies import Rows, as_parquet

    kinds = {name: str if name in _TEXTS else int for name in columns}
    rows = Rows({name: tuple(values) for name, values in columns.items()}, kinds)
    path.write_bytes(as_parquet(rows))


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
