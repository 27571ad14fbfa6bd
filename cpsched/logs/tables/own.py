"""
cpsched's own table of jobs: every column of a workload, by its name.

A table by hand needs ``job_id``, ``submit``, ``runtime``, ``requested_time`` and either ``units``
(with ``request.core``, ``request.gpu``, ... for one unit; one core if there is none) or ``cores``
(as a log that counts processors: that many units of one core). All other columns may be left out:

- ``per_node.gpu``, ``per_node_max.gpu``, ``nodes_min``, ``nodes_max``, ``split``, ``contiguous``,
  ``exclusive``, ``constraint``: how the job lies on nodes;
- ``segment``, ``max_switches``, ``switch_wait``: where the nodes lie in the topology;
- ``queue``, ``partition``, ``user``, ``name``, ``group``;
- ``qos``, ``reservation``, ``licenses`` (``matlab:2,ansys``), ``array``, ``array_limit`` (tasks of
  the array that may run at once), ``nice``: what Slurm's policies go by;
- ``job_type``, ``units_min``, ``units_max``, ``urgent``, ``deadline``, ``begin``, ``dependency``
  (the ``job_id`` that must end first), ``dependency_type`` (``afterany``, ``afterok``,
  ``afternotok``, ``after``), ``cancel`` (when the job is cancelled if it has not ended by then),
  ``requested_time_assumed``;
- ``serial`` (millionths of the work that its units cannot share), ``resize_cost`` (seconds): what
  another size would bring; ``evolve_after`` (seconds of its runtime), ``evolve_to`` (units): when
  an evolving job asks for how much;
- ``restartable``, ``checkpoint``, ``restart_cost`` (seconds): what killing it would cost;
- ``status``, ``recorded_start``.

Times are seconds since the epoch the file names (``# epoch: 1396248670``), memory is in KB, an
empty cell is unknown. A job with an empty ``runtime`` never ran and is excluded.
"""

from __future__ import annotations

import re
from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.errors import TraceError
from cpsched.logs.collect import ordered
from cpsched.logs.tables.cells import TableCells, check_columns
from cpsched.logs.text import MAX_KINDS, title
from cpsched.model.arrays import constant, is_constant, put_away
from cpsched.model.distinct import any_repeated, has_nul
from cpsched.model.workload import (
    AMOUNTS,
    COLUMNS,
    LABEL_COLUMNS,
    RELATIONS,
    Labels,
    Workload,
    taken,
)
from cpsched.util import arrow
from cpsched.util.types import MAX_AMOUNT, MAX_TIME, MISSING, UNBOUNDED

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    import pyarrow as pa

    from cpsched.logs.rejects import RejectedRows, RowChecks
    from cpsched.logs.tables.cells import LogTable
    from cpsched.model.workload import Layout
    from cpsched.util.types import AnyArray, IntArray

REQUIRED = ("job_id", "submit", "runtime", "requested_time")

#: Version of the columns and metadata written.
VERSION = 1
_AMOUNT_COLUMN = re.compile(r"(request|per_node|per_node_max)\.(.+)", re.DOTALL)
#: Columns of numbers in which an empty cell stands for the neutral one: those with no other word
#: for it, and these.
_BLANKS = ("segment", "max_switches", "nodes_max")
_KNOWN = (*(name for name in COLUMNS if name not in AMOUNTS), "cores")


def workload_of(table: LogTable, rejected: RejectedRows) -> Workload:
    """
    Return the workload a table holds.

    Raises
    ------
    TraceError
        If a column is missing or unknown, or there is not a job.
    """
    _check_columns(table)
    layout: Layout = "processors" if "cores" in table.columns else "units"
    matches = map(_AMOUNT_COLUMN.fullmatch, table.columns)
    about = _metadata(table, {match[2] for match in matches if match}, layout)
    resources = about["resources"]
    cells = TableCells(table, rejected)
    columns = _columns(cells, resources)
    _check_rows(columns, resources, cells.checks)
    position = _positions(cells, columns["job_id"])
    rows, excluded = cells.jobs(never_ran=columns["runtime"] == MISSING)
    columns["dependency"] = position
    if not is_constant(position):
        new_row = np.full(table.num_rows + 1, -1, dtype=np.int64)
        new_row[rows] = np.arange(len(rows))
        columns["dependency"] = new_row[position]
    if len(rows) < table.num_rows:
        columns = taken(columns, rows)
    total: Counter[str] = Counter()
    for reason, count in (*about["set_aside"], *excluded):
        total[reason] += count
    return Workload.build(
        **about | {"set_aside": tuple(total.items())},
        **columns,
    )


def tables_of(workload: Workload) -> Iterator[dict[str, pa.Array]]:
    """
    Return a workload as columns of a table, some rows at a time.

    Columns in which no job asks for anything special are left out: reading gives them back.

    Raises
    ------
    TraceError
        If two jobs have the same id, an id is empty, or a string is not text (a NUL in it).
    """
    ids = workload.job_id
    if any_repeated(ids) or (ids == "").any():
        raise TraceError("a table needs a unique job_id for every job")
    strings = (text for name in LABEL_COLUMNS for text in getattr(workload, name).values)
    if has_nul(ids) or "\0" in "".join(strings):
        raise TraceError("a table cannot hold a string with a NUL character")
    amounts = [
        (kind, position)
        for kind in AMOUNTS
        for position in range(len(workload.resources))
        if kind == "request" or getattr(workload, kind)[:, position].any()
    ]
    first = ("submit", "runtime", "requested_time", "units")
    others = (name for name in COLUMNS if name not in (*first, *AMOUNTS, "job_id"))
    names = [*first, *(name for name in others if not workload.is_neutral(name))]
    workload.let_go()
    return _tables(workload, names, amounts)


def _tables(
    workload: Workload, names: Sequence[str], amounts: Sequence[tuple[str, int]]
) -> Iterator[dict[str, pa.Array]]:
    num, ids = len(workload), workload.job_id
    for start in range(0, max(num, 1), arrow.ROWS):
        part = workload.between(start, start + arrow.ROWS)
        columns = {"job_id": arrow.texts(part.job_id)}
        for name in names[:4]:
            columns[name] = _array(name, getattr(part, name), ids)
        for kind, position in amounts:
            resource = workload.resources[position]
            columns[f"{kind}.{resource}"] = arrow.numbers(getattr(part, kind)[:, position])
        for name in names[4:]:
            columns[name] = _array(name, getattr(part, name), ids)
        yield columns
        workload.let_go(start, min(start + arrow.ROWS, num))


def _check_columns(table: LogTable) -> None:
    """Raise for columns that are missing, unknown or contradict each other."""
    names = set(table.columns)
    amounts = [name for name in table.columns if _AMOUNT_COLUMN.fullmatch(name)]
    check_columns(table, "a table of jobs", (*_KNOWN, *amounts), REQUIRED)
    if ("units" in names) == ("cores" in names):
        raise table.wrong_column(
            "units", "a table has either the column units or the column cores. Keep one of them."
        )
    if "cores" in names and "request.core" in names:
        raise table.wrong_column(
            "request.core", "is not allowed with the column cores. Drop one of them."
        )


def _columns(cells: TableCells, resources: Sequence[str]) -> dict[str, Any]:
    """Return a table's columns as a workload has them, all rows, dependencies left out."""
    units = cells.integers("cores" if "cores" in cells else "units", 1, UNBOUNDED - 1)
    columns: dict[str, Any] = {
        "job_id": cells.ids("job_id"),
        "submit": cells.integers("submit", 0, MAX_TIME),
        "runtime": cells.integers("runtime", 0, MAX_TIME, MISSING),
        "units": units,
        **{kind: put_away(_amounts(cells, kind, resources)) for kind in AMOUNTS},
        "units_min": _or(cells.integers("units_min", 0, UNBOUNDED, MISSING), units),
        "units_max": _or(cells.integers("units_max", 0, UNBOUNDED, MISSING), units),
    }
    for name, column in COLUMNS.items():
        if name in columns or name == "dependency":
            continue
        if column.kind == "Labels":
            columns[name] = cells.labels(name)
        elif column.kind == "BoolArray":
            columns[name] = cells.flag(name)
        elif column.choices is not None:
            columns[name] = cells.choice(name, column.choices, column.neutral or 0)
        else:
            columns[name] = cells.integers(name, column.least, column.limit, column.neutral)
    return columns


def _amounts(cells: TableCells, kind: str, resources: Sequence[str]) -> IntArray:
    """Return the amounts of a kind, shape ``(rows, R)``."""
    single_core = kind == "request" and not any(f"request.{name}" in cells for name in resources)
    columns = []
    for resource in resources:
        absent = int(kind == "request" and resource == "core" and (single_core or "cores" in cells))
        columns.append(cells.integers(f"{kind}.{resource}", 0, MAX_AMOUNT, absent))
    first = columns[0]
    if kind != "request" and all(map(is_constant, columns)):
        none: IntArray = constant(0, (len(first), len(resources)))
        return none
    return np.stack(columns, axis=1)


def _check_rows(columns: Mapping[str, Any], resources: Sequence[str], checks: RowChecks) -> None:
    """Find what no single cell gives away."""
    jobs: Any = SimpleNamespace(**columns)
    for name, wrong, right in RELATIONS:
        checks.fail(wrong(jobs), f"must be {right}", name, columns[name])
    for kind, resource in enumerate(resources):
        lowest, highest = (columns[name][:, kind] for name in ("per_node", "per_node_max"))
        name = f"per_node_max.{resource}"
        right = f"must be at least per_node.{resource}, or 0 for no range"
        checks.fail((highest > 0) & (highest < lowest), right, name, highest)
    checks.fail_totals(columns["units"], columns["request"], "units")


def _positions(cells: TableCells, ids: AnyArray) -> IntArray:
    """Return the row each job depends on, -1 for none."""
    names = cells.labels("dependency")
    if not names.values:
        return names.codes
    row_of = {job_id: row for row, job_id in enumerate(ids.tolist())}
    rows = np.array([*(row_of.get(name, -1) for name in names.values), -1], dtype=np.int64)
    unknown = np.array([*(name not in row_of for name in names.values), False])
    cells.checks.fail(unknown[names.codes], "is the id of no job", "dependency", names.decode())
    positions: IntArray = rows[names.codes]
    return positions


def _array(name: str, value: Any, ids: AnyArray) -> pa.Array:
    """Return a workload's column as a column of a table."""
    if isinstance(value, Labels):
        return arrow.coded(value.codes, value.values)
    if name == "dependency":
        return arrow.strings([str(ids[row]) if row >= 0 else None for row in value])
    column = COLUMNS[name]
    if column.choices is not None:
        words = {int(choice): choice.name.lower() for choice in column.choices}
        return arrow.strings([words[code] for code in value.tolist()])
    blank = column.neutral if name in _BLANKS or column.neutral == MISSING else None
    return arrow.numbers(value, None if blank is None else value != blank)


def _or(values: IntArray, instead: IntArray) -> IntArray:
    if is_constant(values):
        return instead
    return np.where(values == MISSING, instead, values)


# -- metadata -----------------------------------------------------------------------------------


def metadata_of(workload: Workload) -> dict[str, Any]:
    """Return a workload's metadata, ready for JSON."""
    return {
        "cpsched-table": VERSION,
        "title": workload.title,
        "epoch": workload.epoch,
        "layout": workload.layout,
        "resources": list(workload.resources),
        "header": [list(pair) for pair in workload.header],
        "set_aside": [list(pair) for pair in workload.set_aside],
    }


def _metadata(table: LogTable, named: Collection[str], layout: Layout) -> dict[str, Any]:
    """
    Return what a table says of its workload, by the parameters of ``Workload.build``.

    Parameters
    ----------
    named
        The resource types that the columns name.
    layout
        The workload's layout where the table does not say.

    Raises
    ------
    TraceError
        If the table is of a later version, or a value is not what it should be.
    """
    usual: dict[str, Any] = {
        "cpsched-table": VERSION,
        "title": title(table.path),
        "epoch": None,
        "layout": layout,
        "resources": list(ordered(named)),
        "header": [],
        "set_aside": [],
    }
    values = {key: table.metadata.get(key, value) for key, value in usual.items()}
    faults = list(_faults(values))
    if not faults and (left_out := set(named) - set(values["resources"])):
        faults = [("resources", f"must name {min(left_out)!r} too, which has a column")]
    for key, right in faults:
        value = table.metadata.get(key)
        raise TraceError(right, file=table.path, field=f"metadata {key}", value=value)
    del values["cpsched-table"]
    # Other comment lines of the file follow the log's header.
    header = [*values["header"], *(["", comment] for comment in table.comments)]
    pairs = {"header": header, "set_aside": values["set_aside"]}
    return values | {key: [(name, value) for name, value in these] for key, these in pairs.items()}


def _faults(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the keys whose values are wrong, and what would be right."""
    kinds, epoch = values["resources"], values["epoch"]
    if not _is_integer(values["cpsched-table"], 0, VERSION):
        yield "cpsched-table", f"this cpsched reads versions up to {VERSION}"
    if not (isinstance(kinds, list) and all(isinstance(kind, str) for kind in kinds)):
        yield "resources", "must be a list of strings"
    elif not 0 < len(kinds) == len(set(kinds)) <= MAX_KINDS:
        yield "resources", f"must be different names, at least one and at most {MAX_KINDS}"
    if not isinstance(values["title"], str):
        yield "title", "must be a string"
    if epoch is not None and not _is_integer(epoch, -MAX_TIME, MAX_TIME):
        yield "epoch", "must be seconds since 1970, or null"
    if values["layout"] not in ("units", "processors"):
        yield "layout", 'must be "units" or "processors"'
    if not _are_pairs(values["header"], lambda text: isinstance(text, str)):
        yield "header", "must be a list of [key, text]"
    if not _are_pairs(values["set_aside"], lambda count: _is_integer(count, 0, 2**53)):
        yield "set_aside", "must be a list of [reason, count]"


def _is_integer(value: Any, lowest: int, greatest: int) -> bool:
    return type(value) is int and lowest <= value <= greatest


def _are_pairs(pairs: Any, second: Callable[[Any], bool]) -> bool:
    return isinstance(pairs, list) and all(
        isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) and second(pair[1])
        for pair in pairs
    )
