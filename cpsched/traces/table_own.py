"""
cpsched's own table of jobs: every column of a workload, by its name.

A table by hand needs ``job_id``, ``submit``, ``runtime``, ``requested_time`` and either ``units``
(with ``request.core``, ``request.gpu``, ... for one unit; one core if there is none) or ``cores``
(as a log that counts processors: that many units of one core). All other columns may be left out:

- ``per_node.gpu``, ``per_node_max.gpu``, ``nodes_min``, ``nodes_max``, ``split``, ``contiguous``,
  ``exclusive``, ``constraint``: how the job lies on nodes;
- ``queue``, ``partition``, ``user``, ``name``, ``group``;
- ``job_type``, ``units_min``, ``units_max``, ``urgent``, ``deadline``, ``begin``, ``dependency``
  (the ``job_id`` that must end first), ``requested_time_assumed``;
- ``status``, ``recorded_start``.

Times are seconds since the epoch the file names (``# epoch: 1396248670``), memory is in KB, an
empty cell is unknown. A job with an empty ``runtime`` never ran and is set aside.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any, TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cpsched.errors import TraceError
from cpsched.model.types import (
    MAX_AMOUNT,
    MAX_TIME,
    MISSING,
    UNBOUNDED,
    JobType,
    Split,
    Status,
)
from cpsched.model.workload import COLUMNS, Labels, Workload
from cpsched.traces.checks import RowChecks, counted, no_jobs, repeated
from cpsched.traces.collect import ordered
from cpsched.traces.table_cells import Cells
from cpsched.traces.text import title

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from enum import IntEnum
    from pathlib import Path

    from cpsched.model.types import AnyArray, BoolArray, IntArray
    from cpsched.traces.table_cells import Table

#: Version of the columns and metadata written.
VERSION = 1
REQUIRED = ("job_id", "submit", "runtime", "requested_time")

_AMOUNTS = ("request", "per_node", "per_node_max")
_AMOUNT_COLUMN = re.compile(r"(request|per_node|per_node_max)\.(\S+)")
_LABELS = ("constraint", "queue", "partition", "user", "name", "group")
_FLAGS = ("contiguous", "exclusive", "urgent", "requested_time_assumed")
_CHOICES: Mapping[str, tuple[type[IntEnum], IntEnum]] = {
    "split": (Split, Split.ANY),
    "job_type": (JobType, JobType.RIGID),
    "status": (Status, Status.UNKNOWN),
}
#: Times that may be unknown.
_TIMES = ("deadline", "begin", "recorded_start")
_KNOWN = (*(set(COLUMNS) - set(_AMOUNTS)), "cores")


def workload_of(table: Table, *, skip_bad_lines: bool) -> Workload:
    """
    Return the workload a table holds.

    Raises
    ------
    TraceError
        If a column is missing or unknown, a row cannot be true (unless ``skip_bad_lines``), or
        there is no job.
    """
    _check_columns(table)
    metadata = _Metadata(table)
    checks = RowChecks(table.num_rows)
    cells = Cells(table, checks)
    resources = metadata.resources(_resources(table.columns))
    columns = _columns(cells, resources)
    never_ran = columns["runtime"] == MISSING
    _check_rows(columns, checks, never_ran)
    position = _positions(cells, checks, columns["job_id"])
    bad = checks.settle(
        table.path,
        lambda row: row + 1 if table.line is None else int(table.line[row]),
        skip_bad_lines=skip_bad_lines,
    )
    rows = np.flatnonzero(checks.good & ~never_ran)
    set_aside = counted(
        never_ran=int((checks.good & never_ran).sum()), bad_line=bad + table.bad
    )
    if not len(rows):
        raise no_jobs(table.path, set_aside)
    new_row = np.full(table.num_rows + 1, -1, dtype=np.int64)
    new_row[rows] = np.arange(len(rows))
    columns["dependency"] = new_row[position]
    return Workload.build(
        title=metadata.title(title(table.path)),
        epoch=metadata.epoch(),
        resources=resources,
        layout=metadata.layout("processors" if "cores" in cells else "units"),
        header=metadata.header(),
        set_aside=_added(metadata.set_aside(), set_aside),
        **{name: _rows(column, rows) for name, column in columns.items()},
    )
