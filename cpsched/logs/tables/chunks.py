"""
Tables of chunk requests (``NAME.ext.csv``): what SWF cannot hold of a log, one row a job.

Columns: ``job, submit, run, reqtime, user, name, queue, nodes, cores_per_node, gpus_per_node,
mics_per_node, mem_per_node_kb, constraint, src_id`` and sometimes ``node_ids``.

A job asks for ``nodes`` equal chunks. A chunk becomes a unit: units may share a node, as the
chunks of PBS may. Resource types that no job asks for are left out. The constraint stays as it is;
one that says ``exclusive`` or ends in ``#excl`` also keeps others off the job's nodes. ``src_id``
and ``node_ids`` (the job's id and nodes at the source) are not kept; there are no recorded starts.
A job with run -1 (or none) never ran and is excluded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.logs.tables.cells import TableCells, check_columns
from cpsched.logs.text import title
from cpsched.model.workload import Workload, taken
from cpsched.util.types import MAX_AMOUNT, MAX_TIME, MISSING, UNBOUNDED

if TYPE_CHECKING:
    from cpsched.logs.rejects import RejectedRows
    from cpsched.logs.tables.cells import LogTable

REQUIRED = ("job", "submit", "run", "reqtime", "nodes", "cores_per_node")
#: Column of each resource kind.
AMOUNTS = {
    "core": "cores_per_node",
    "gpu": "gpus_per_node",
    "mic": "mics_per_node",
    "mem": "mem_per_node_kb",
}
KNOWN = (*REQUIRED, *AMOUNTS.values(), "user", "name", "queue", "constraint", "src_id", "node_ids")

#: What a workload has no place for.
_UNREAD = ("src_id", "node_ids")
_EXCLUSIVE = re.compile(r"(?:^|[|&,:])exclusive(?:$|[|&,:])|#excl$")


def workload_of(table: LogTable, rejected: RejectedRows) -> Workload:
    """
    Return the workload a table of chunk requests holds.

    Raises
    ------
    TraceError
        If a column is missing or unknown, or there is not a job.
    """
    check_columns(table, "a table of chunk requests", KNOWN, REQUIRED)
    cells = TableCells(table, rejected)
    columns = _columns(cells)
    rows, excluded = cells.jobs(never_ran=columns["runtime"] < 0)
    jobs = taken(columns, rows)
    request = jobs.pop("request")
    exclusive = [bool(_EXCLUSIVE.search(value)) for value in jobs["constraint"].values]
    asked = [
        kind == "core" or bool(request[:, column].any()) for column, kind in enumerate(AMOUNTS)
    ]
    return Workload.build(
        title=title(table.path),
        resources=[kind for kind, any_asked in zip(AMOUNTS, asked, strict=True) if any_asked],
        layout="units",
        request=request[:, asked],
        exclusive=np.array([*exclusive, False])[jobs["constraint"].codes],
        header=[
            *(("", comment) for comment in table.comments),
            *(
                ("Note", f"the column {name} is not read")
                for name in _UNREAD
                if name in table.columns
            ),
        ],
        set_aside=excluded,
        **jobs,
    )


def _columns(cells: TableCells) -> dict[str, Any]:
    """Return the table's columns as a workload has them, all rows; runtime -1 if never ran."""
    runtime = cells.integers("run", -1, MAX_TIME, -1)
    ids = cells.ids("job")
    requested = cells.integers("reqtime", 0, MAX_TIME, blank=MISSING)
    no_time = (runtime >= 0) & (requested == 0)
    cells.checks.fail(no_time, "must be at least 1, or empty", "reqtime", requested)
    units = cells.integers("nodes", 1, UNBOUNDED - 1)
    amounts = [cells.integers(AMOUNTS["core"], 1, MAX_AMOUNT)]
    amounts += [
        cells.integers(AMOUNTS[kind], 0, MAX_AMOUNT, 0) for kind in AMOUNTS if kind != "core"
    ]
    request = np.stack(amounts, axis=1)
    cells.checks.fail_totals(units, request, "nodes")
    return {
        "job_id": ids,
        "submit": cells.integers("submit", 0, MAX_TIME),
        "runtime": runtime,
        "requested_time": requested,
        "units": units,
        "request": request,
        **{name: cells.labels(name) for name in ("constraint", "user", "name", "queue")},
    }
