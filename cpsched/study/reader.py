"""Read a run folder back, and check that its files agree."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cpsched import traces
from cpsched.base.arrow import integers, read_file
from cpsched.errors import CpschedError, RunError
from cpsched.metrics.columns import allocation_columns, job_columns, queue_columns
from cpsched.metrics.summary import summarize
from cpsched.model.schedule import JobOutcome, Leaving, Outages, Schedule, Segments
from cpsched.model.system import System
from cpsched.simulation.run import Run
from cpsched.simulation.settings import Settings
from cpsched.study.folder import MARK, digests_of, files_of_run
from cpsched.study.writer import FORMAT, OUTAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from enum import IntEnum

    from cpsched.base.types import IntArray


_T = TypeVar("_T")
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
    """

    folder: Path
    about: Mapping[str, Any]
    numbers: Mapping[str, Any]

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
    overrun = _overrun(about, folder / MARK)
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
            overrun=overrun,
            outages=_outages(folder),
        )
    except (KeyError, ValueError, TypeError) as error:
        reason = f"no {error.args[0]}" if isinstance(error, KeyError) else str(error)
        raise RunError(
            f"{folder}: jobs.parquet or allocations.parquet is damaged: {reason}; {_REMEDY}"
        ) from error
    return SavedRun(
        folder=folder,
        about=about,
        numbers=_read(folder / "metrics.json", _json),
        timing=_read(folder / "timing.json", _json),
        schedule=schedule,
        **_said(about, folder / MARK),
    )


def _said(about: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return what ``run.json`` says about a run, as :class:`~cpsched.simulation.run.Run` has it."""
    try:
        return {
            "dispatcher": str(about["dispatcher"]),
            "predictor": str(about["predictor"]),
            "settings": Settings(**about["settings"]),
            "decisions": dict(about["decisions"]),
            "predictions": dict(about["predictions"]),
            "provenance": dict(about["provenance"]),
        }
    except (LookupError, TypeError, ValueError) as error:
        reason = _reason(path, error)
        raise RunError(f"{path} is damaged: {reason}; {_REMEDY}") from error


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
    except (OSError, ValueError, LookupError, TypeError, AttributeError, CpschedError) as error:
        # Arrow's errors are among these.
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
        return str(error).partition("\n")[0] or type(error).__name__
    # Python's own words for a value of a wrong type do not help a reader.
    return f"a value in it has the wrong type ({error})"


def _overrun(about: Mapping[str, Any], path: Path) -> str:
    """Return what the run did with jobs at their requested time."""
    settings = about.get("settings")
    overrun = settings.get("overrun") if isinstance(settings, dict) else None
    if overrun not in ("kill", "extend"):
        raise RunError(
            f"{path} is damaged: settings.overrun is {overrun!r}, 'kill' or 'extend' is expected;"
            f" {_REMEDY}"
        )
    return str(overrun)


def _json(path: Path) -> dict[str, Any]:
    content = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        raise RunError("it is not a JSON object ({...})")
    return content


def _members(kind: type[IntEnum], column: pa.ChunkedArray) -> IntArray:
    return np.array([kind[name.upper()] for name in column.to_pylist()], dtype=np.int64)


def _reasons(jobs: pa.Table) -> dict[int, str]:
    reasons = jobs.column("reason").to_pylist()
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


def _leaving(table: pa.Table) -> IntArray:
    """Return why jobs left their nodes; the column is missing if all left at their end."""
    if "leaving" not in table.column_names:
        return np.zeros(table.num_rows, dtype=np.int64)
    return _members(Leaving, table.column("leaving"))


_CHANGED = "it was changed after it was written (its SHA-256 differs from the one in run.json)"


def contradictions(run: SavedRun) -> list[str]:
    """
    Return the contradictions between the files of a run, a sentence each.

    The schedule is taken from ``jobs.parquet`` and ``allocations.parquet``; everything derived from
    it and from the workload is computed again. ``timing.json`` is not checked.
    """
    found = [*_digests(run)]
    schedule = run.schedule
    for name, columns in (
        ("jobs.parquet", job_columns(schedule)),
        ("allocations.parquet", allocation_columns(schedule)),
        ("queue.parquet", queue_columns(schedule)),
    ):
        found.extend(_differences(run.folder / name, columns))
    summary = summarize(schedule)
    found.extend(
        f"metrics.json: {key} does not follow from the schedule"
        for key in summary
        if summary[key] != run.summary.get(key)
    )
    if run.about.get("counts") != summary["counts"]:
        found.append("run.json: counts do not follow from the schedule")
    # The hash of a file adds nothing if a more precise error is known.
    named = {sentence.partition(":")[0] for sentence in found}
    found.extend(f"{name}: {_CHANGED}" for name in _changed(run) if name not in named)
    return sorted(found)


def _changed(run: SavedRun) -> list[str]:
    """Return the names of the files that were changed after they were written."""
    here = digests_of(run.folder)
    written = files_of_run(run.folder) or {}
    return [name for name, digest in written.items() if here.get(name) != digest]


def _digests(run: SavedRun) -> Iterator[str]:
    for name, thing in (("workload", run.schedule.workload), ("system", run.schedule.system)):
        said = run.about.get(name)
        if not isinstance(said, Mapping) or said.get("digest") != thing.digest():
            yield f"run.json: the {name} is not the simulated one (its digest differs)"


def _differences(path: Path, columns: Mapping[str, Any]) -> Iterator[str]:
    table = _read(path, pq.read_table)
    for name in columns.keys() | set(table.column_names):
        if name not in table.column_names:
            yield f"{path.name}: column {name} is missing"
        elif name not in columns:
            yield f"{path.name}: column {name} does not belong there"
        elif not table.column(name).combine_chunks().equals(columns[name]):
            yield f"{path.name}: column {name} does not follow from the schedule"
