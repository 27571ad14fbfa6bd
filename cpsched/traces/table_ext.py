"""
Tables of chunk requests (``NAME.ext.csv``): what SWF cannot hold of a log, one row a job.

Columns: ``job, submit, run, reqtime, user, name, queue, nodes, cores_per_node, gpus_per_node,
mics_per_node, mem_per_node_kb, constraint, src_id`` and sometimes ``node_ids``.

A job asks for ``nodes`` equal chunks. A chunk becomes a unit: units may share a node, as the
chunks of PBS may. Resource kinds nobody asks for are left out. The constraint is kept whole; one
that says ``exclusive`` or ends in ``#excl`` also keeps others off the job's nodes. ``src_id`` and
``node_ids`` (the job's id and nodes at the source) are not kept; there are no recorded starts. A
job with run -1 (or none) never ran and is set aside.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np

from cpsched.errors import TraceError
from cpsched.model.types import MAX_AMOUNT, MAX_TIME, MISSING, UNBOUNDED
from cpsched.model.workload import Labels, Workload
from cpsched.traces.checks import RowChecks, counted, no_jobs, repeated
from cpsched.traces.table_cells import Cells
from cpsched.traces.text import title

if TYPE_CHECKING:
    from cpsched.model.types import BoolArray
    from cpsched.traces.table_cells import Table

REQUIRED = ("job", "submit", "run", "reqtime", "nodes", "cores_per_node")
#: Column of each resource kind.
AMOUNTS = {
    "core": "cores_per_node",
    "gpu": "gpus_per_node",
    "mic": "mics_per_node",
    "mem": "mem_per_node_kb",
}
KNOWN = (*REQUIRED, *AMOUNTS.values(), "user", "name", "queue", "constraint", "src_id", "node_ids")

_EXCLUSIVE = re.compile(r"(?:^|[|&,:])exclusive(?:$|[|&,:])|#excl$")


def workload_of(table: Table, *, skip_bad_lines: bool) -> Workload:
    """
    Return the workload a table of chunk requests holds.

    Raises
    ------
    TraceError
        If a column is missing or unknown, a row cannot be true (unless ``skip_bad_lines``), or
        there is no job.
    """
    _check_columns(table)
    checks = RowChecks(table.num_rows)
    cells = Cells(table, checks)
    run = cells.seconds("run", -1, blank=-1)
    never_ran = run == -1
    ids = np.array(cells.strings("job"), dtype=np.str_)
    checks.fail(np.equal(ids, ""), "must not be empty", "job")
    checks.fail(repeated(ids), "another row has this number", "job", ids)
    submit = cells.seconds("submit")
    requested = cells.whole("reqtime", 0, MAX_TIME, blank=MISSING)
    checks.fail(~never_ran & (requested == 0), "must be at least 1, or empty", "reqtime", requested)
    units = cells.whole("nodes", 1, UNBOUNDED - 1)
    request = np.stack(
        [
            cells.whole(column, int(kind == "core"), MAX_AMOUNT, None if kind == "core" else 0)
            for kind, column in AMOUNTS.items()
        ],
        axis=1,
    )
    too_much = (request > (MAX_AMOUNT // np.maximum(units, 1))[:, None]).any(axis=1)
    checks.fail(too_much, f"times the amounts must be at most {MAX_AMOUNT}", "nodes", units)
    bad = checks.settle(table.path, table.line, skip_bad_lines=skip_bad_lines)
    set_aside = counted(never_ran=int((checks.good & never_ran).sum()), bad_line=bad + table.bad)
    rows = np.flatnonzero(checks.good & ~never_ran)
    if not len(rows):
        raise no_jobs(table.path, set_aside)
    asked = [
        kind == "core" or bool(request[rows, place].any()) for place, kind in enumerate(AMOUNTS)
    ]
    constraint = cells.labels("constraint").take(rows)
    return Workload.build(
        title=title(table.path),
        resources=[kind for kind, some in zip(AMOUNTS, asked, strict=True) if some],
        layout="units",
        job_id=ids[rows],
        submit=submit[rows],
        runtime=run[rows],
        units=units[rows],
        request=request[rows][:, asked],
        requested_time=requested[rows],
        constraint=constraint,
        exclusive=_exclusive(constraint),
        header=[("", comment) for comment in table.comments],
        set_aside=set_aside,
        user=cells.labels("user").take(rows),
        name=cells.labels("name").take(rows),
        queue=cells.labels("queue").take(rows),
    )


def _check_columns(table: Table) -> None:
    for name in table.columns:
        if name not in KNOWN:
            close = get_close_matches(name, KNOWN, n=1)
            hint = f"; did you mean '{close[0]}'?" if close else ""
            raise TraceError(
                f"a table of chunk requests has no such column{hint}",
                file=table.path,
                field=f"column {name or repr(name)}",
            )
    for name in REQUIRED:
        if name not in table.columns:
            raise TraceError(
                "a table of chunk requests needs it", file=table.path, field=f"column {name}"
            )


def _exclusive(constraint: Labels) -> BoolArray:
    says = [bool(_EXCLUSIVE.search(value)) for value in constraint.values]
    exclusive: BoolArray = np.array([*says, False])[constraint.codes]
    return exclusive
