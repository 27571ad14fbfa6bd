"""
The record of a Slurm as a folder of Parquet files: all jobs seen, and nodes out of service.

Jobs that have left are in ``jobs-000001.parquet`` and so on, which are never rewritten; the rest is
in ``open.parquet``, which is replaced at every change. So a folder is always consistent when read,
and memory holds the jobs of the queue and at most one part of those that have left.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
from pyarrow import parquet

from cpsched.api.errors import RunError
from cpsched.api.model import MISSING
from cpsched.api.tools import replacing
from slurm_adapter.live.snapshot import LiveJob

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from slurm_adapter.live.snapshot import Snapshot

    Row = dict[str, Any]

#: Jobs in one file.
_PART = 500
#: Most unseen jobs that Slurm is asked about at once, the last ones.
_MOST_ASKED = 5000
_TYPES = {"int": pa.int64(), "bool": pa.bool_(), "str": pa.string()}
#: Columns of a job: Slurm's values, lists separated by commas. Then what it holds in total; when it
#: was first and last seen; and whether it has left, and its end is known.
_LEFT_OUT = ("placed", "comment", "restartable", "batch_host")
_KEPT = tuple(one.name for one in fields(LiveJob) if one.name not in _LEFT_OUT)
_LISTS = tuple(
    one.name for one in fields(LiveJob) if one.name in _KEPT and str(one.type).startswith("tuple")
)
SCHEMA = pa.schema(
    [
        *(
            (one.name, _TYPES.get(str(one.type), pa.string()))
            for one in fields(LiveJob)
            if one.name in _KEPT
        ),
        ("held_cores", pa.int64()),
        ("held_mem", pa.int64()),
        ("held_gres", pa.string()),
        ("first_seen", pa.int64()),
        ("last_seen", pa.int64()),
        ("gone", pa.bool_()),
        ("end_known", pa.bool_()),
    ]
)
_NODES = pa.schema([("node", pa.string()), ("since", pa.int64()), ("until", pa.int64())])
_GAPS = pa.schema([("since", pa.int64()), ("until", pa.int64())])


class Source(Protocol):
    """A source of job outcomes."""

    def ended(self, jobs: Iterable[str]) -> Mapping[str, LiveJob]:
        """Return jobs that have left the queue, if known."""
        ...


class Record:
    """
    The record of a Slurm in a folder.

    Parameters
    ----------
    folder
        Where it is; created if missing.
    patience
        Seconds without a snapshot after which jobs may have been missed.

    Raises
    ------
    RunError
        If there is something else in the folder.
    """

    def __init__(self, folder: Path, *, patience: int = 600) -> None:
        self.folder, self._patience = folder, patience
        self.now = MISSING
        #: Jobs in the queue or on nodes, by key.
        self.open: dict[str, Row] = {}
        self._gone: list[Row] = []
        #: Times since when nodes are closed.
        self._closed: dict[str, int] = {}
        self._parts = 0
        self._saved = MISSING
        #: The highest number of a job so far, 0: none was seen.
        self._highest = 0
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / "open.parquet").exists():
            self._take_up()
        elif any(folder.iterdir()):
            raise RunError(f"{folder}: has files that do not belong to a twin; name another folder")

    def _take_up(self) -> None:
        try:
            self._parts = len(list(self.folder.glob("jobs-*.parquet")))
            table = parquet.read_table(self.folder / "open.parquet")
            self.now = int(json.loads(table.schema.metadata[b"cpsched"])["now"])
            rows = table.to_pylist()
            last = self._rows_of_part(self._parts) if self._parts else []
            closed = self._read("nodes", _NODES)
        except (OSError, KeyError, ValueError, TypeError, pa.ArrowException) as error:
            raise RunError(f"{self.folder}: is not the record of a twin: {error}") from None
        # A part may have been written, and the rest not yet.
        done = {_identity(row) for row in last}
        rows = [row for row in rows if _identity(row) not in done]
        self.open = {row["key"]: row for row in rows if not row["gone"]}
        self._gone = [row for row in rows if row["gone"]]
        self._closed = {row["node"]: row["since"] for row in closed if row["until"] == MISSING}
        self._highest = max((row["number"] for row in (*rows, *last)), default=0)

    def see(self, snapshot: Snapshot, source: Source) -> bool:
        """
        Add a snapshot; return whether anything has changed.

        Parameters
        ----------
        source
            Asked about the jobs that have left.
        """
        now = snapshot.now
        if self.now != MISSING and now - self.now > self._patience:
            self._append("gaps", _GAPS, [{"since": self.now, "until": now}])
        changed = self._jobs_gone(snapshot, source) | self._jobs_missed(snapshot, source)
        for key, job in snapshot.jobs.items():
            before = self.open.get(key)
            if before is not None and _is_another(before, job):
                self._close(before, now, "REQUEUED" if before["start"] != MISSING else "CANCELLED")
                before = None
            row = _row(job, now if before is None else before["first_seen"], now)
            changed |= before is None or _differs(before, row)
            self.open[key] = row
        changed |= self._nodes(snapshot)
        self.now = now
        # An uneventful interval is recorded, too.
        if changed or now - self._saved > self._patience // 2:
            self._save()
        return changed

    def _jobs_gone(self, snapshot: Snapshot, source: Source) -> bool:
        gone = [key for key in self.open if key not in snapshot.jobs]
        if not gone:
            return False
        known = source.ended(gone)
        for key in gone:
            before, job = self.open[key], known.get(key)
            if job is not None and not _is_another(before, job):
                self.open[key] = before = _row(job, before["first_seen"], snapshot.now)
            ran = before["start"] != MISSING
            state = before["state"]
            if state in ("RUNNING", "COMPLETING", "PENDING") or not state:
                state = "COMPLETED" if ran else "CANCELLED"
            self._close(before, snapshot.now, state)
        return True

    def _jobs_missed(self, snapshot: Snapshot, source: Source) -> bool:
        """
        Add jobs that were submitted and left since the last snapshot: later ones have been seen.
        """
        numbers = {job.number for job in snapshot.jobs.values()}
        last = max(numbers, default=0)
        first = self._highest + 1 if self._highest else last
        self._highest = max(self._highest, last)
        missed = [str(number) for number in range(first, last) if number not in numbers]
        found = source.ended(missed[-_MOST_ASKED:]) if missed else {}
        for job in found.values():
            self._close(_row(job, snapshot.now, snapshot.now), snapshot.now, job.state)
        return bool(found)

    def _close(self, row: Row, now: int, state: str) -> None:
        """Record that a job has left."""
        end = row["end"]
        known = row["state"] not in ("RUNNING", "PENDING") and end != MISSING
        row |= {"state": state, "gone": True, "end_known": known}
        if not known:
            row["end"] = now
        self.open.pop(row["key"], None)
        self._gone.append(row)

    def _nodes(self, snapshot: Snapshot) -> bool:
        opened = self._closed.keys() - snapshot.closed
        new = snapshot.closed - self._closed.keys()
        if not opened and not new:
            return False
        rows = self._read("nodes", _NODES)
        for row in rows:
            if row["node"] in opened and row["until"] == MISSING:
                row["until"] = snapshot.now
        rows += [{"node": node, "since": snapshot.now, "until": MISSING} for node in sorted(new)]
        self._write("nodes", _NODES, rows)
        self._closed = {
            **{node: since for node, since in self._closed.items() if node not in opened},
            **dict.fromkeys(sorted(new), snapshot.now),
        }
        return True

    def _save(self) -> None:
        """Write the changes."""
        while len(self._gone) >= _PART:
            self._parts += 1
            self._write(f"jobs-{self._parts:06}", SCHEMA, self._gone[:_PART])
            del self._gone[:_PART]
        self._write("open", SCHEMA, [*self._gone, *self.open.values()])
        self._saved = self.now

    def _write(self, name: str, schema: pa.Schema, rows: list[Row]) -> None:
        about = {"cpsched": json.dumps({"schema": "cpsched.twin/1", "now": self.now})}
        table = pa.Table.from_pylist(rows, schema=schema.with_metadata(about))
        with replacing(self.folder / f"{name}.parquet") as path:
            parquet.write_table(table, path, compression="zstd")

    def _read(self, name: str, schema: pa.Schema) -> list[Row]:
        path = self.folder / f"{name}.parquet"
        if not path.exists():
            return []
        rows: list[Row] = parquet.read_table(path, schema=schema).to_pylist()
        return rows

    def _append(self, name: str, schema: pa.Schema, rows: list[Row]) -> None:
        self._write(name, schema, [*self._read(name, schema), *rows])

    def _rows_of_part(self, number: int) -> list[Row]:
        return self._read(f"jobs-{number:06}", SCHEMA)

    def jobs(self) -> Iterator[Row]:
        """Yield all jobs seen, those that have left first."""
        for number in range(1, self._parts + 1):
            yield from self._rows_of_part(number)
        yield from self._gone
        yield from self.open.values()

    def recent(self) -> Iterator[Row]:
        """Yield the jobs in the queue or on nodes, and the last ones that have left."""
        if self._parts:
            yield from self._rows_of_part(self._parts)
        yield from self._gone
        yield from self.open.values()

    def gaps(self) -> list[tuple[int, int]]:
        """Return the intervals without a record, Unix seconds."""
        return [(row["since"], row["until"]) for row in self._read("gaps", _GAPS)]

    def outages(self) -> list[tuple[str, int, int]]:
        """Return which nodes were closed from when to when, ``MISSING`` if they still are."""
        rows = self._read("nodes", _NODES)
        return [(row["node"], row["since"], row["until"]) for row in rows]


def _row(job: LiveJob, first_seen: int, now: int) -> Row:
    """Return a job as a row."""
    row = {name: getattr(job, name) for name in _KEPT}
    for name in _LISTS:
        row[name] = ",".join(row[name])
    gres: dict[str, int] = {}
    for one in job.placed:
        for kind, count in one.gres.items():
            gres[kind] = gres.get(kind, 0) + count
    return {
        **row,
        "held_cores": sum(one.cores for one in job.placed),
        "held_mem": sum(one.mem for one in job.placed),
        "held_gres": json.dumps(gres, sort_keys=True),
        "first_seen": first_seen,
        "last_seen": now,
        "gone": False,
        "end_known": False,
    }


def live_job(row: Row) -> LiveJob:
    """Return a row as a job; what it holds on each node is not in it."""
    known: dict[str, Any] = {name: row[name] for name in _KEPT}
    for name in _LISTS:
        known[name] = tuple(filter(None, known[name].split(",")))
    return LiveJob(**known)


def _identity(row: Row) -> tuple[Any, ...]:
    return row["key"], row["submit"], row["start"]


def _is_another(before: Row, job: LiveJob) -> bool:
    """Whether a job is not the one seen before: submitted again, or requeued."""
    began = before["start"] != MISSING and before["state"] != "PENDING"
    return before["submit"] != job.submit or (began and job.waits)


def _differs(before: Row, row: Row) -> bool:
    """Whether more than the time differs; a changed waiting reason is not worth a write."""
    passing = ("last_seen", "reason")
    return any(before[name] != value for name, value in row.items() if name not in passing)
