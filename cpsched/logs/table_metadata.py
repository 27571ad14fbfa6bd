"""Metadata of a table of jobs: title, epoch, layout, resources, header, set aside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpsched.errors import TraceError
from cpsched.logs.collect import ordered
from cpsched.logs.limits import MAX_KINDS
from cpsched.logs.text import title
from cpsched.util.types import MAX_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from cpsched.logs.table_cells import LogTable
    from cpsched.model.workload import Layout, Workload

#: Version of the columns and metadata written.
VERSION = 1


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


def read_metadata(table: LogTable, named: Collection[str], layout: Layout) -> dict[str, Any]:
    """
    Return what a table says of its workload, by the parameters of ``Workload.build``.

    Parameters
    ----------
    named
        The resource kinds that the columns name.
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
    for key, right, holds in _RIGHT:
        if not holds(values[key]):
            raise _error(table, key, right)
    if left_out := set(named) - set(values["resources"]):
        raise _error(table, "resources", f"must name {min(left_out)!r} too, which has a column")
    del values["cpsched-table"]
    # Other comment lines of the file follow the log's header.
    header = [*values["header"], *(["", comment] for comment in table.comments)]
    pairs = {"header": header, "set_aside": values["set_aside"]}
    return values | {key: [(name, value) for name, value in these] for key, these in pairs.items()}


def _error(table: LogTable, key: str, message: str) -> TraceError:
    value = table.metadata.get(key)
    return TraceError(message, file=table.path, field=f"metadata {key}", value=value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_integer(value: Any, lowest: int, greatest: int) -> bool:
    return type(value) is int and lowest <= value <= greatest


def _is_pairs(pairs: Any, second: Callable[[Any], bool]) -> bool:
    return isinstance(pairs, list) and all(
        isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) and second(pair[1])
        for pair in pairs
    )


#: What each value must be, in words and as a test, in the order in which they are looked at.
_RIGHT: tuple[tuple[str, str, Callable[[Any], bool]], ...] = (
    (
        "cpsched-table",
        f"this cpsched reads versions up to {VERSION}",
        lambda value: _is_integer(value, 0, VERSION),
    ),
    (
        "resources",
        "must be a list of strings",
        lambda kinds: isinstance(kinds, list) and all(map(_is_text, kinds)),
    ),
    (
        "resources",
        f"must be different names, at least one and at most {MAX_KINDS}",
        lambda kinds: 0 < len(kinds) == len(set(kinds)) <= MAX_KINDS,
    ),
    ("title", "must be a string", _is_text),
    (
        "epoch",
        "must be seconds since 1970, or null",
        lambda value: value is None or _is_integer(value, -MAX_TIME, MAX_TIME),
    ),
    (
        "layout",
        'must be "units" or "processors"',
        lambda value: value in ("units", "processors"),
    ),
    ("header", "must be a list of [key, text]", lambda pairs: _is_pairs(pairs, _is_text)),
    (
        "set_aside",
        "must be a list of [reason, count]",
        lambda pairs: _is_pairs(pairs, lambda count: _is_integer(count, 0, 2**53)),
    ),
)
