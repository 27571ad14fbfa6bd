"""Metadata of a table of jobs: title, epoch, layout, resources, header, set aside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpsched.base.types import MAX_TIME
from cpsched.errors import TraceError
from cpsched.traces.collect import ordered
from cpsched.traces.limits import MAX_KINDS

if TYPE_CHECKING:
    from collections.abc import Collection

    from cpsched.model.workload import Layout, Workload
    from cpsched.traces.table_cells import Table

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


class Metadata:
    """
    The metadata of a table, checked; what it does not say is left to the caller.

    Raises
    ------
    TraceError
        If the table is of a later version; in the methods: if a value is not what it should be.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        version = self._get("cpsched-table", VERSION)
        if not _is_count(version) or version > VERSION:
            raise self._error("cpsched-table", f"this cpsched reads versions up to {VERSION}")

    def title(self, otherwise: str) -> str:
        """Return the workload's title."""
        title = self._get("title", otherwise)
        if not isinstance(title, str):
            raise self._error("title", "must be a string")
        return title

    def epoch(self) -> int | None:
        """Return the unix time of second 0."""
        epoch = self._get("epoch", None)
        if epoch is not None and not (_is_whole(epoch) and abs(epoch) <= MAX_TIME):
            raise self._error("epoch", "must be seconds since 1970, or null")
        return None if epoch is None else int(epoch)

    def layout(self, otherwise: Layout) -> Layout:
        """Return the workload's layout."""
        layout: Layout = self._get("layout", otherwise)
        if layout not in ("units", "processors"):
            raise self._error("layout", 'must be "units" or "processors"')
        return layout

    def resources(self, named: Collection[str]) -> tuple[str, ...]:
        """Return the resource kinds in order; ``named`` are those the columns name."""
        kinds = self._get("resources", list(ordered(named)))
        if not isinstance(kinds, list) or not all(isinstance(kind, str) for kind in kinds):
            raise self._error("resources", "must be a list of strings")
        if len(set(kinds)) < len(kinds) or not kinds:
            raise self._error("resources", "must be different names, at least one")
        if len(kinds) > MAX_KINDS:
            raise self._error("resources", f"must be at most {MAX_KINDS}")
        if not set(named) <= set(kinds):
            left_out = min(set(named) - set(kinds))
            raise self._error("resources", f"must name {left_out!r} too, which has a column")
        return tuple(kinds)

    def header(self) -> tuple[tuple[str, str], ...]:
        """Return the log's header; other comment lines of the file follow with the key ''."""
        pairs = self._get("header", [])
        if not _is_pairs(pairs, lambda text: isinstance(text, str)):
            raise self._error("header", "must be a list of [key, text]")
        comments = tuple(("", comment) for comment in self._table.comments)
        return tuple((key, text) for key, text in pairs) + comments

    def set_aside(self) -> tuple[tuple[str, int], ...]:
        """Return the rows set aside before the table was written, by reason."""
        pairs = self._get("set_aside", [])
        if not _is_pairs(pairs, _is_count):
            raise self._error("set_aside", "must be a list of [reason, count]")
        return tuple((reason, count) for reason, count in pairs)

    def _get(self, key: str, otherwise: Any) -> Any:
        return self._table.metadata.get(key, otherwise)

    def _error(self, key: str, message: str) -> TraceError:
        value = self._table.metadata.get(key)
        return TraceError(message, file=self._table.path, field=f"metadata {key}", value=value)


def _is_pairs(pairs: Any, second: Any) -> bool:
    return isinstance(pairs, list) and all(
        isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) and second(pair[1])
        for pair in pairs
    )


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_whole(value) and 0 <= value <= 2**53
