"""Read a run folder back, and check that its files agree."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cpsched import logs
from cpsched.errors import CpschedError, RunError, one_of
from cpsched.logs.tables.own import tables_of
from cpsched.metrics.columns import (
    allocation_columns,
    jobs_in_parts,
    outage_columns,
    queue_columns,
)
from cpsched.metrics.summary import summarize
from cpsched.model.arrays import constant, let_go, put_away, shared
from cpsched.model.schedule import JobOutcome, Leaving, Outages, Schedule, Segments
from cpsched.model.system import System
from cpsched.simulation.run import Run
from cpsched.simulation.settings import Overrun, Settings
from cpsched.study.folder import MARK, faults
from cpsched.study.writer import FORMAT, OUTAGES, description
from cpsched.util import arrow
from cpsched.util.arrow import UNREADABLE, check_within, integers, plain, read_file
from cpsched.util.types import MAX_TIME, MISSING
from cpsched.util.words import brief

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from enum import IntEnum

    from cpsched.model.workload import Workload
    from cpsched.util.types import IntArray


_T = TypeVar("_T")
#: What ``run.json`` says that follows from the rest of a run.
_DERIVED = ("settings", "allocator", "workload", "system", "counts", "not_a_forecast")
#: The remedy for any damage.
_REMEDY = "Simulate again with --force."


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SavedRun(Run):
    """
    A run read from a run folder.

    Attributes
    ----------
    folder
        Folder of the run.
    about
        The content of ``run.json``.
    numbers
        The content of ``metrics.json``.
    label
        Name of its dispatcher in the tables of a study.
    """

    folder: Path
    about: Mapping[str, Any]
    numbers: Mapping[str, Any]
    label: str = ""

    @cached_property
    def summary(self) -> Mapping[str, Any]:
        """All metrics of the run, as in ``metrics.json``."""
        return self.numbers

    @property
    def recorded(self) -> bool:
        """
        Whether the runtimes of the simulated jobs are those of the log (runtime model
        ``recorded``).
        """
        return self.settings.runtime_model == "recorded"


def load_run(
    folder: str | Path, workload: Workload | None = None, *, changed: Collection[str] = ()
) -> SavedRun:
    """
    Return the run of a run folder.

    Parameters
    ----------
    workload
        A loaded workload. The jobs are not read again if this is the workload of the run (by
        digest).
    changed
        Names of files that are read although they were changed after they were written.

    Raises
    ------
    RunError
        If the folder is not a run, is incomplete or of another format, or a file in it is damaged.
    """
    folder = Path(folder)
    if not (folder / MARK).is_file():
        raise RunError(f"{folder} is not a run: there is no {MARK} in it")
    about = _read(folder / MARK, _json)
    if about.get("format") != FORMAT:
        raise RunError(
            f"{folder / MARK}: format is {about.get('format')!r}, this cpsched reads {FORMAT}."
            f" {_REMEDY}"
        )
    fields = _fields_of(about, folder / MARK)
    for name, what in faults(folder):
        if name in changed and (folder / name).is_file():
            continue
        raise RunError(f"{folder / name} {what}. {_REMEDY}")
    if workload is None or workload.digest() != about.get("workload", {}).get("digest"):
        workload = _read(folder / "workload.parquet", lambda path: logs.read(path, format="table"))
    system = _read(folder / "system.json", lambda path: System.from_dict(_json(path)))
    jobs = _read(folder / "jobs.parquet", _Stored)
    allocations = _read(folder / "allocations.parquet", _Stored)
    _read(folder / "queue.parquet", pq.read_schema)
    if jobs.num_rows != len(workload):
        raise RunError(
            f"{folder}: jobs.parquet has {jobs.num_rows} rows, workload.parquet has"
            f" {len(workload)}. {_REMEDY}"
        )
    try:
        outcome, reasons = jobs.members("outcome", JobOutcome), jobs.reasons()
        never = {row for row in reasons if outcome[row] == JobOutcome.NEVER_STARTED}
        schedule = Schedule(
            workload=workload,
            system=system,
            start=jobs.integers("start"),
            end=jobs.integers("end"),
            outcome=outcome,
            ranking_estimate=jobs.integers("predicted_priority"),
            runtime_estimate=jobs.integers("predicted"),
            runtime_bound=jobs.integers("predicted_bound"),
            segments=_segments(allocations, system),
            rejected={row: why for row, why in reasons.items() if row not in never},
            overrun=fields["settings"].overrun,
            outages=_outages(folder),
            never_started={row: why for row, why in reasons.items() if row in never},
        )
        _check_ranges(schedule)
    except UNREADABLE as error:
        reason = f"no {error.args[0]}" if isinstance(error, KeyError) else _first_line(error)
        raise RunError(
            f"{folder}: jobs.parquet or allocations.parquet is damaged: {reason}. {_REMEDY}"
        ) from error
    return SavedRun(
        folder=folder,
        about=about,
        numbers=_read(folder / "metrics.json", _json),
        timing=_read(folder / "timing.json", _json),
        schedule=schedule,
        **fields,
    )


def _fields_of(about: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return the description of a run in ``run.json`` as :class:`~cpsched.simulation.run.Run`."""
    try:
        settings = Settings(**about["settings"])
        one_of(Overrun, settings.overrun, "settings.overrun")
        return {
            "settings": settings,
            "dispatcher": _text(about["dispatcher"]),
            "predictor": _text(about["predictor"]),
            "decisions": dict(about["decisions"]),
            "predictions": dict(about["predictions"]),
            "provenance": dict(about["provenance"]),
        }
    except (LookupError, TypeError, ValueError) as error:
        reason = _reason(path, error)
        raise RunError(f"{path} is damaged: {reason}. {_REMEDY}") from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{brief(repr(value))} is not text")
    return value


def _outages(folder: Path) -> Outages:
    """Return when nodes were down; a run without outages has no such file."""
    if not (folder / OUTAGES).exists():
        return Outages.none()
    table = _read(folder / OUTAGES, read_file)
    columns = [integers(table, name).tolist() for name in ("node", "from", "to")]
    # Where none was planned the column is not there.
    known = integers(table, "known").tolist() if "known" in table.column_names else None
    return Outages.of(list(zip(*columns, strict=True)), known)


def _read(path: Path, reader: Callable[[Path], _T]) -> _T:
    """Read one file; any problem becomes a one-line error."""
    if not path.is_file():
        raise RunError(f"{path} is missing: the run is incomplete. {_REMEDY}")
    try:
        return reader(path)
    except (*UNREADABLE, CpschedError) as error:
        raise RunError(f"{path} is damaged: {_reason(path, error)}. {_REMEDY}") from error


def _reason(path: Path, error: Exception) -> str:
    """Return the fault of a file, in words."""
    if isinstance(error, json.JSONDecodeError):
        return f"it is not JSON (line {error.lineno}, column {error.colno}: {error.msg})"
    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8 text (byte {error.start + 1})"
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing in it"
    if isinstance(error, CpschedError | OSError | pa.ArrowException) or path.suffix != ".json":
        return _first_line(error)
    # Python's own words for a value of a wrong type do not help a reader.
    return f"a value in it has the wrong type ({error})"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise RunError("it is nested too deeply") from None
    if not isinstance(content, dict):
        raise RunError("it is not a JSON object ({...})")
    return content


class _Stored:
    """A Parquet file whose columns are read one by one; large ones lie in files without a name."""

    def __init__(self, path: Path) -> None:
        with pq.ParquetFile(path) as file:
            self.num_rows, self.names = file.metadata.num_rows, file.schema_arrow.names
        self._path = path

    def integers(self, name: str) -> IntArray:
        """Return a column of whole numbers, ``MISSING`` where there is none."""
        numbers: IntArray = put_away(integers(read_file(self._path, [name]), name))
        return numbers

    def members(self, name: str, kind: type[IntEnum]) -> IntArray:
        """Return a column of members of an enumeration, written by their names in lower case."""
        members = np.empty(self.num_rows, dtype=np.int64)
        for first, texts in self._texts(name):
            codes = np.array([kind[text.upper()] for text in texts.dictionary.to_pylist()])
            members[first : first + len(texts)] = codes[plain(texts.indices.cast(pa.int64()))]
        away: IntArray = put_away(members)
        return away

    def reasons(self) -> dict[int, str]:
        """Return why jobs were rejected, or never started, by row."""
        return {
            first + row: texts[row].as_py()
            for first, texts in self._texts("reason")
            if texts.null_count < len(texts)
            for row in np.flatnonzero(texts.is_valid().to_numpy(zero_copy_only=False)).tolist()
        }

    def _texts(self, name: str) -> Iterator[tuple[int, pa.DictionaryArray]]:
        """Yield a column of texts in pieces, with the row of the first."""
        first = 0
        table = read_file(self._path, [name], read_dictionary=[name])
        for chunk in table.column(name).chunks:
            yield first, chunk
            first += len(chunk)


def _segments(table: _Stored, system: System) -> Segments:
    amount = shared(table.num_rows, len(system.resources))[0]
    for kind, resource in enumerate(system.resources):
        amount[:, kind] = table.integers(f"amount.{resource}")
        let_go(amount, 0, table.num_rows)
    return Segments(
        job=table.integers("job"),
        start=table.integers("from"),
        end=table.integers("to"),
        node=table.integers("node"),
        count=table.integers("count"),
        units=table.integers("units"),
        amount=amount,
        leaving=_leaving(table),
    )


def _check_ranges(schedule: Schedule) -> None:
    """Check what would take any time or memory if it were wrong; all else is the verifier's."""
    segments = schedule.segments
    num_jobs, num_nodes = len(schedule.workload), schedule.system.num_nodes
    for times in (schedule.start, schedule.end, segments.start, segments.end):
        check_within("a time", times[times != MISSING], 0, MAX_TIME)
        schedule.let_go()
    outages = schedule.outages
    check_within("the length of an outage", outages.end - outages.start, 0, MAX_TIME)
    check_within("a job", segments.job, 0, num_jobs - 1)
    check_within("a node", segments.node, 0, num_nodes - 1)
    check_within("a number of nodes", segments.count, 1, num_nodes)
    check_within("a last node", segments.node + segments.count - 1, 0, num_nodes - 1)


def _leaving(table: _Stored) -> IntArray:
    """Return why jobs left their nodes; the column is missing if all left at their end."""
    if "leaving" not in table.names:
        none: IntArray = constant(int(Leaving.END), (table.num_rows,))
        return none
    return table.members("leaving", Leaving)


def contradictions(run: SavedRun) -> list[str]:
    """
    Return the contradictions between the files of a run, a sentence each.

    The schedule is taken from ``jobs.parquet`` and ``allocations.parquet``; everything derived from
    it and from the workload is computed again. ``timing.json`` is not checked. Whether files are
    as they were written is not asked, see :func:`cpsched.study.folder.faults`.
    """
    schedule = run.schedule
    sentences: list[str] = []
    for name, columns in (
        ("workload.parquet", tables_of(schedule.workload)),
        ("jobs.parquet", jobs_in_parts(schedule)),
        ("allocations.parquet", allocation_columns(schedule)),
        ("queue.parquet", queue_columns(schedule)),
        (OUTAGES, iter([outage_columns(schedule)])),
    ):
        if name != OUTAGES or (run.folder / name).exists():
            sentences.extend(_differences(run.folder / name, columns))
    if not _in_order(schedule.segments):
        sentences.append("allocations.parquet: rows are out of order")
    summary = summarize(schedule)
    sentences.extend(_unlike("metrics.json", run.numbers, summary))
    expected = description(run, summary, {})
    derived = {name: expected[name] for name in _DERIVED}
    if expected["allocator"] is None:
        # Perhaps the dispatcher is not installed here.
        derived["allocator"] = run.about.get("allocator")
    sentences.extend(_unlike(MARK, {n: run.about[n] for n in derived if n in run.about}, derived))
    return sorted(sentences)


def wrong_inputs(run: SavedRun) -> list[str]:
    """Return which inputs are not those that ``run.json`` names: then nothing else is checked."""
    return [
        f"{MARK}: the {name} is not the simulated one (its digest differs)"
        for name, thing in (("workload", run.schedule.workload), ("system", run.schedule.system))
        if not isinstance(named := run.about.get(name), dict)
        or named.get("digest") != thing.digest()
    ]


def _unlike(file: str, here: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a JSON file says differently; 1, 1.0 and true are not the same."""
    for name in expected.keys() | here.keys():
        texts = [json.dumps(of.get(name), sort_keys=True) for of in (here, expected)]
        if texts[0] != texts[1] or (name in here) != (name in expected):
            yield f"{file}: {name} does not follow from the schedule"


def _in_order(segments: Segments) -> bool:
    """Tell whether rows are by (start, job, node)."""
    unlike = np.zeros(max(len(segments) - 1, 0), dtype=np.bool_)
    for column in (segments.start, segments.job, segments.node):
        if (~unlike & (column[1:] < column[:-1])).any():
            return False
        unlike |= column[1:] != column[:-1]
    return True


def _differences(path: Path, tables: Iterator[Mapping[str, Any]]) -> Iterator[str]:
    """Yield which columns of a file are not those expected, looked at some rows at a time."""
    expected = next(tables)
    schema = _read(path, pq.read_schema)
    wrong = {}
    for name in expected.keys() | set(schema.names):
        if name not in schema.names:
            wrong[name] = "is missing"
        elif name not in expected or schema.names.count(name) > 1:
            wrong[name] = "does not belong there"
    both = [name for name in schema.names if name not in wrong]
    rows = _Rows(arrow.read_batches(path, both), schema.empty_table().select(both))
    for columns in chain([expected], tables) if both else ():
        here = _read(path, partial(rows.take, len(columns[both[0]])))
        for name in both:
            column = here.column(name).combine_chunks()
            if name not in wrong and not column.equals(columns[name]):
                wrong[name] = "does not follow from the schedule"
    if both and _read(path, partial(rows.take, 1)).num_rows:
        wrong = dict.fromkeys(both, "does not follow from the schedule") | wrong
    yield from (f"{path.name}: column {name} {what}" for name, what in wrong.items())


class _Rows:
    """The rows of a Parquet file, taken in order."""

    def __init__(self, pieces: Iterator[pa.Table], rest: pa.Table) -> None:
        self._pieces, self._rest = pieces, rest

    def take(self, num: int, _: Path) -> pa.Table:
        """Return the next rows, fewer where the file ends."""
        while self._rest.num_rows < num and (piece := next(self._pieces, None)) is not None:
            self._rest = pa.concat_tables([self._rest, piece])
        taken, self._rest = self._rest[:num], self._rest[num:]
        return taken
