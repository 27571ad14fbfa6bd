"""Read a run folder back, and check that its files agree."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cpsched import traces
from cpsched.base.arrow import UNREADABLE, check_within, integers, read_file
from cpsched.base.types import MAX_TIME, MISSING
from cpsched.base.words import brief
from cpsched.errors import CpschedError, RunError
from cpsched.metrics.columns import (
    allocation_columns,
    job_columns,
    outage_columns,
    queue_columns,
)
from cpsched.metrics.summary import summarize
from cpsched.model.schedule import JobOutcome, Leaving, Outages, Schedule, Segments
from cpsched.model.system import System
from cpsched.simulation.run import Run
from cpsched.simulation.settings import RULES, Settings
from cpsched.study.folder import MARK, faults
from cpsched.study.writer import FORMAT, OUTAGES, description
from cpsched.traces.table_own import columns_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from enum import IntEnum

    from cpsched.base.types import IntArray


_T = TypeVar("_T")
#: What ``run.json`` says that follows from the rest of a run.
_DERIVED = ("settings", "allocator", "workload", "system", "counts", "not_a_forecast")
#: The remedy for any damage.
_REMEDY = "simulate again with --overwrite"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SavedRun(Run):
    """
    A run read from its folder.

    Attributes
    ----------
    folder
        Where it is.
    about
        The content of ``run.json``.
    numbers
        The content of ``metrics.json``.
    label
        What tables call its dispatcher, where it is one of a study.
    """

    folder: Path
    about: Mapping[str, Any]
    numbers: Mapping[str, Any]
    label: str = ""

    @cached_property
    def summary(self) -> Mapping[str, Any]:
        """Every number of the run, as ``metrics.json`` has it."""
        return self.numbers

    @property
    def recorded(self) -> bool:
        """Whether jobs ran as long as the log says."""
        return self.settings.runtime_model == "recorded"


def load_run(folder: str | Path) -> SavedRun:
    """
    Read a run folder.

    Raises
    ------
    RunError
        If it is not a run, is incomplete, of another format, or a file in it is damaged.
    """
    folder = Path(folder)
    if not (folder / MARK).is_file():
        raise RunError(f"{folder} is not a run: there is no {MARK} in it")
    about = _read(folder / MARK, _json)
    if about.get("format") != FORMAT:
        raise RunError(
            f"{folder / MARK}: format is {about.get('format')!r}, this cpsched reads {FORMAT};"
            f" {_REMEDY}"
        )
    said = _said(about, folder / MARK)
    for name, what in faults(folder):
        raise RunError(f"{folder / name} {what}; {_REMEDY}")
    workload = _read(folder / "workload.parquet", lambda path: traces.read(path, format="table"))
    system = _read(folder / "system.json", lambda path: System.from_dict(_json(path)))
    jobs = _read(folder / "jobs.parquet", read_file)
    allocations = _read(folder / "allocations.parquet", read_file)
    _read(folder / "queue.parquet", pq.read_schema)
    if jobs.num_rows != len(workload):
        raise RunError(
            f"{folder}: jobs.parquet has {jobs.num_rows} rows, workload.parquet has"
            f" {len(workload)}; {_REMEDY}"
        )
    try:
        schedule = Schedule(
            workload=workload,
            system=system,
            start=integers(jobs, "start"),
            end=integers(jobs, "end"),
            outcome=_members(JobOutcome, jobs.column("outcome")),
            ranking_estimate=integers(jobs, "predicted_priority"),
            runtime_estimate=integers(jobs, "predicted"),
            runtime_bound=integers(jobs, "predicted_bound"),
            segments=_segments(allocations, system),
            rejected=_reasons(jobs),
            overrun=said["settings"].overrun,
            outages=_outages(folder),
        )
        _check_ranges(schedule)
    except UNREADABLE as error:
        reason = f"no {error.args[0]}" if isinstance(error, KeyError) else _first_line(error)
        raise RunError(
            f"{folder}: jobs.parquet or allocations.parquet is damaged: {reason}; {_REMEDY}"
        ) from error
    return SavedRun(
        folder=folder,
        about=about,
        numbers=_read(folder / "metrics.json", _json),
        timing=_read(folder / "timing.json", _json),
        schedule=schedule,
        **said,
    )


def _said(about: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return what ``run.json`` says about a run, as :class:`~cpsched.simulation.run.Run` has it."""
    try:
        settings = Settings(**about["settings"])
        if settings.overrun not in RULES["overrun"].choices:
            raise ValueError(f"settings.overrun is {settings.overrun!r}")
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
        raise RunError(f"{path} is damaged: {reason}; {_REMEDY}") from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{brief(repr(value))} is no text")
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
        raise RunError(f"{path} is missing: the run is incomplete; {_REMEDY}")
    try:
        return reader(path)
    except (*UNREADABLE, CpschedError) as error:
        raise RunError(f"{path} is damaged: {_reason(path, error)}; {_REMEDY}") from error


def _reason(path: Path, error: Exception) -> str:
    """Return what is wrong with a file, in words."""
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


def _members(kind: type[IntEnum], column: pa.ChunkedArray) -> IntArray:
    return np.array([kind[name.upper()] for name in column.to_pylist()], dtype=np.int64)


def _reasons(jobs: pa.Table) -> dict[int, str]:
    reasons = jobs.column("reason").cast(pa.string()).to_pylist()
    return {row: reason for row, reason in enumerate(reasons) if reason is not None}


def _segments(table: pa.Table, system: System) -> Segments:
    amounts = [integers(table, f"amount.{resource}") for resource in system.resources]
    return Segments(
        job=integers(table, "job"),
        start=integers(table, "from"),
        end=integers(table, "to"),
        node=integers(table, "node"),
        count=integers(table, "count"),
        units=integers(table, "units"),
        amount=np.stack(amounts, axis=1),
        leaving=_leaving(table),
    )


def _check_ranges(schedule: Schedule) -> None:
    """Check what would take any time or memory if it were wrong; all else is the verifier's."""
    segments = schedule.segments
    num_jobs, num_nodes = len(schedule.workload), schedule.system.num_nodes
    for times in (schedule.start, schedule.end, segments.start, segments.end):
        check_within("a time", times[times != MISSING], 0, MAX_TIME)
    outages = schedule.outages
    check_within("the length of an outage", outages.end - outages.start, 0, MAX_TIME)
    check_within("a job", segments.job, 0, num_jobs - 1)
    check_within("a node", segments.node, 0, num_nodes - 1)
    check_within("a number of nodes", segments.count, 1, num_nodes)
    check_within("a last node", segments.node + segments.count - 1, 0, num_nodes - 1)


def _leaving(table: pa.Table) -> IntArray:
    """Return why jobs left their nodes; the column is missing if all left at their end."""
    if "leaving" not in table.column_names:
        return np.zeros(table.num_rows, dtype=np.int64)
    return _members(Leaving, table.column("leaving"))


def contradictions(run: SavedRun) -> list[str]:
    """
    Return the contradictions between the files of a run, a sentence each.

    The schedule is taken from ``jobs.parquet`` and ``allocations.parquet``; everything derived from
    it and from the workload is computed again. ``timing.json`` is not checked. Whether files are
    as they were written is not asked, see :func:`cpsched.study.folder.faults`.
    """
    schedule = run.schedule
    found: list[str] = []
    for name, columns in (
        ("workload.parquet", columns_of(schedule.workload)),
        ("jobs.parquet", job_columns(schedule)),
        ("allocations.parquet", allocation_columns(schedule)),
        ("queue.parquet", queue_columns(schedule)),
        (OUTAGES, outage_columns(schedule)),
    ):
        if name != OUTAGES or (run.folder / name).exists():
            found.extend(_differences(run.folder / name, columns))
    segments = schedule.segments
    order = np.lexsort((segments.node, segments.job, segments.start))
    if (np.diff(order) < 0).any():
        found.append("allocations.parquet: rows are out of order")
    summary = summarize(schedule)
    found.extend(_unlike("metrics.json", run.numbers, summary))
    said = description(run, summary, {})
    derived = {name: said[name] for name in _DERIVED}
    if said["allocator"] is None:
        # Perhaps the dispatcher is not installed here.
        derived["allocator"] = run.about.get("allocator")
    found.extend(_unlike(MARK, {n: run.about[n] for n in derived if n in run.about}, derived))
    return sorted(found)


def wrong_inputs(run: SavedRun) -> list[str]:
    """Return which inputs are not those that ``run.json`` names: then nothing else is checked."""
    return [
        f"{MARK}: the {name} is not the simulated one (its digest differs)"
        for name, thing in (("workload", run.schedule.workload), ("system", run.schedule.system))
        if not isinstance(said := run.about.get(name), dict) or said.get("digest") != thing.digest()
    ]


def _unlike(file: str, here: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a JSON file says differently; 1, 1.0 and true are not the same."""
    for name in expected.keys() | here.keys():
        texts = [json.dumps(of.get(name), sort_keys=True) for of in (here, expected)]
        if texts[0] != texts[1] or (name in here) != (name in expected):
            yield f"{file}: {name} does not follow from the schedule"


def _differences(path: Path, columns: Mapping[str, Any]) -> Iterator[str]:
    table = _read(path, read_file)
    for name in columns.keys() | set(table.column_names):
        if name not in table.column_names:
            yield f"{path.name}: column {name} is missing"
        elif name not in columns or table.column_names.count(name) > 1:
            yield f"{path.name}: column {name} does not belong there"
        elif not table.column(name).combine_chunks().equals(columns[name]):
            yield f"{path.name}: column {name} does not follow from the schedule"
