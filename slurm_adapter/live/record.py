"""
The record of a Slurm in a folder: all jobs seen, and nodes out of service.

It is an SQLite database, ``record.sqlite``; every snapshot is one transaction, so that a stop or a
kill leaves the record of the last one. Memory holds the jobs of the queue.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from cpsched.api.errors import ConfigError, RunError
from cpsched.api.model import MISSING
from slurm_adapter.live.snapshot import LiveJob

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from slurm_adapter.live.scontrol import Scontrol
    from slurm_adapter.live.snapshot import Snapshot

    Row = dict[str, Any]

#: Most unseen jobs that Slurm is asked about at once, the last ones.
_MOST_ASKED = 5000
#: Seconds for which a command waits while another one writes.
_PATIENCE = 60
#: Columns of a job: Slurm's values, lists separated by commas. Then when it was first seen; and
#: whether it has left, and its end is known.
_LEFT_OUT = ("placed", "comment", "priority")
_KEPT = {one.name: str(one.type) for one in fields(LiveJob) if one.name not in _LEFT_OUT}
_COLUMNS = (*_KEPT, "first_seen", "gone", "end_known")
_TABLES = f"""
CREATE TABLE IF NOT EXISTS jobs ({", ".join(_COLUMNS)}, PRIMARY KEY (key, submit, first_seen));
CREATE TABLE IF NOT EXISTS nodes (node, since, until);
CREATE TABLE IF NOT EXISTS gaps (since, until);
CREATE TABLE IF NOT EXISTS looks (format PRIMARY KEY, last);
CREATE TABLE IF NOT EXISTS forecasts (dispatcher, job, submit, now, start, raw, told);
"""
_FORMAT = "cpsched.twin/1"


def is_record(folder: Path) -> bool:
    """Say whether a folder has the record of a twin."""
    path = folder / "record.sqlite"
    return path.exists() and not path.is_symlink()


def record_in(folder: Path) -> Record:
    """
    Return the record of a twin's folder.

    Raises
    ------
    ConfigError
        If there is none in it.
    """
    if not is_record(folder):
        raise ConfigError("has no record of a twin", where=folder)
    return Record(folder)


class Record:
    """
    The record of a Slurm in a folder.

    Parameters
    ----------
    folder
        Where it is; created if missing.
    patience
        Seconds without a snapshot after which jobs may have been missed.

    Attributes
    ----------
    open
        Jobs in the queue or on nodes, by key.
    now
        When the last snapshot was, ``MISSING`` before the first.

    Raises
    ------
    RunError
        If there is something else in the folder.
    """

    def __init__(self, folder: Path, *, patience: int = 600) -> None:
        self.folder, self._patience = folder, patience
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()) and not is_record(folder):
            raise RunError(f"{folder}: has files that do not belong to a twin; name another folder")
        try:
            with self.database() as database:
                database.executescript(_TABLES)
                looks = database.execute("SELECT last FROM looks").fetchone()
            self.open: dict[str, Row] = {row["key"]: row for row in self._jobs("WHERE NOT gone")}
            self.now = self._saved = MISSING if looks is None else int(looks[0])
        except sqlite3.DatabaseError as error:
            raise RunError(f"{folder}: is not the record of a twin: {error}") from None

    def see(self, snapshot: Snapshot, source: Scontrol) -> bool:
        """
        Add a snapshot; return whether anything has changed.

        Parameters
        ----------
        source
            Asked about the jobs that have left.
        """
        rows = [*self._that_left(snapshot, source), *self._missed(snapshot, source)]
        seen = {}
        for key, job in snapshot.jobs.items():
            before = self.open.get(key)
            if before is not None and _is_another(before, job):
                before = None
            seen[key] = _row(job, snapshot.now if before is None else before["first_seen"])
            if before is None or _differs(before, seen[key]):
                rows.append(seen[key])
        gap = self.now != MISSING and snapshot.now - self.now > self._patience
        with self.database() as database:
            if gap:
                database.execute("INSERT INTO gaps VALUES (?, ?)", (self.now, snapshot.now))
            values = ", ".join(f":{name}" for name in _COLUMNS)
            database.executemany(f"REPLACE INTO jobs VALUES ({values})", rows)  # noqa: S608
            changed = _note_closed(database, snapshot) or bool(rows)
            # An uneventful interval is recorded, too.
            if changed or gap or snapshot.now - self._saved > self._patience // 2:
                database.execute("REPLACE INTO looks VALUES (?, ?)", (_FORMAT, snapshot.now))
                self._saved = snapshot.now
        self.now, self.open = snapshot.now, seen
        return changed

    def _that_left(self, snapshot: Snapshot, source: Scontrol) -> Iterator[Row]:
        """Yield jobs that have left the queue, or have been submitted or queued again."""
        gone = [key for key in self.open if key not in snapshot.jobs]
        known = source.ended(gone) if gone else {}
        for key, row in self.open.items():
            ran = row["start"] != MISSING
            if (job := snapshot.jobs.get(key)) is not None:
                if _is_another(row, job):
                    yield _ended(row, snapshot.now, "REQUEUED" if ran else "CANCELLED")
                continue
            if (job := known.get(key)) is not None and not _is_another(row, job):
                row = _row(job, row["first_seen"])
                ran = job.start != MISSING
            guessed = row["state"] in ("RUNNING", "COMPLETING", "PENDING", "")
            state = ("COMPLETED" if ran else "CANCELLED") if guessed else row["state"]
            yield _ended(row, snapshot.now, state)

    def _missed(self, snapshot: Snapshot, source: Scontrol) -> Iterator[Row]:
        """Yield jobs that were submitted and left since the last snapshot: later ones are seen."""
        numbers = {job.number for job in snapshot.jobs.values()}
        with self.database() as database:
            (highest,) = database.execute("SELECT max(number) FROM jobs").fetchone()
        last = max(numbers, default=0)
        first = last if highest is None else highest + 1
        missed = [str(number) for number in range(first, last) if number not in numbers]
        for job in source.ended(missed[-_MOST_ASKED:]).values() if missed else ():
            yield _ended(_row(job, snapshot.now), snapshot.now, job.state)

    def jobs(self) -> Iterator[Row]:
        """Yield all jobs seen, those that have left first."""
        return self._jobs("ORDER BY NOT gone, rowid")

    def started_since(self, second: int) -> Iterator[Row]:
        """Yield the jobs that have started since a second, Unix time."""
        return self._jobs("WHERE start >= ? AND state != 'PENDING'", second)

    def _jobs(self, which: str, *values: int) -> Iterator[Row]:
        with self.database() as database:
            for row in database.execute(f"SELECT * FROM jobs {which}", values):  # noqa: S608
                yield dict(zip(_COLUMNS, row, strict=True))

    def first_seen(self) -> int | None:
        """Return when the record began, Unix seconds; None if it has not."""
        with self.database() as database:
            (second,) = database.execute("SELECT min(first_seen) FROM jobs").fetchone()
        return None if second is None else int(second)

    def gaps(self) -> list[tuple[int, int]]:
        """Return the intervals without a record, Unix seconds."""
        with self.database() as database:
            return database.execute("SELECT since, until FROM gaps").fetchall()

    def outages(self) -> list[tuple[str, int, int]]:
        """Return which nodes were closed from when to when, ``MISSING`` if they still are."""
        with self.database() as database:
            return database.execute("SELECT node, since, until FROM nodes").fetchall()

    @contextmanager
    def database(self) -> Iterator[sqlite3.Connection]:
        """
        Give the database for one transaction.

        Raises
        ------
        RunError
            If it cannot be read or written, such as on a full disk.
        """
        path = self.folder / "record.sqlite"
        try:
            with closing(sqlite3.connect(path, timeout=_PATIENCE)) as database, database:
                yield database
        except sqlite3.OperationalError as error:
            raise RunError(f"{path}: {error}") from error


def _note_closed(database: sqlite3.Connection, snapshot: Snapshot) -> bool:
    """Record the nodes that were closed or opened; return whether there are any."""
    rows = database.execute("SELECT node FROM nodes WHERE until = ?", (MISSING,))
    closed = {node for (node,) in rows}
    opened, new = sorted(closed - snapshot.closed), sorted(snapshot.closed - closed)
    database.executemany(
        "UPDATE nodes SET until = ? WHERE node = ? AND until = ?",
        [(snapshot.now, node, MISSING) for node in opened],
    )
    database.executemany(
        "INSERT INTO nodes VALUES (?, ?, ?)", [(node, snapshot.now, MISSING) for node in new]
    )
    return bool(opened or new)


def _row(job: LiveJob, first_seen: int) -> Row:
    """Return a job as a row."""
    values = ((name, getattr(job, name)) for name in _KEPT)
    row = {name: ",".join(one) if isinstance(one, tuple) else one for name, one in values}
    return {**row, "first_seen": first_seen, "gone": False, "end_known": False}


def _ended(row: Row, now: int, state: str) -> Row:
    """Return a job that has left."""
    known = row["state"] not in ("RUNNING", "PENDING") and row["end"] != MISSING
    end = row["end"] if known else now
    return {**row, "state": state, "gone": True, "end_known": known, "end": end}


def live_job(row: Row) -> LiveJob:
    """Return a row as a job; what it holds on each node is not in it."""
    known: dict[str, Any] = {}
    for name, kind in _KEPT.items():
        value = row[name]
        if kind.startswith("tuple"):
            value = tuple(filter(None, value.split(",")))
        known[name] = bool(value) if kind == "bool" else value
    return LiveJob(**known)


def _is_another(before: Row, job: LiveJob) -> bool:
    """Whether a job is not the one seen before: submitted again, or requeued."""
    began = before["start"] != MISSING and before["state"] != "PENDING"
    return bool(before["submit"] != job.submit) or (began and job.waits)


def _differs(before: Row, row: Row) -> bool:
    """Whether more than the waiting reason differs, which is not worth a write."""
    return any(before[name] != value for name, value in row.items() if name != "reason")
