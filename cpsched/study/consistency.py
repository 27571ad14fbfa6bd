"""Does a run folder say the same thing everywhere? Its files are written again and compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from cpsched.errors import RunError
from cpsched.metrics.columns import allocation_columns, job_columns, queue_columns
from cpsched.metrics.summary import summarize
from cpsched.study.folder import digests_of, files_of_run

if TYPE_CHECKING:
    from pathlib import Path

    from cpsched.study.reader import SavedRun

_CHANGED = "it is not as it was written (its SHA-256 is not the one in run.json)"


def contradictions(run: SavedRun) -> list[str]:
    """
    Return what the files of a run contradict each other in, a sentence each.

    The schedule is taken from ``jobs.parquet`` and ``allocations.parquet``; everything derived
    from it and from the workload is worked out anew. Nothing is said about ``timing.json``.
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
        f"metrics.json: {key} is not what follows from the schedule"
        # A run of before lacks what was not measured then; what is taken out later, its hash tells.
        for key in run.summary
        if summary.get(key) != run.summary[key]
    )
    if run.about.get("counts") != summary["counts"]:
        found.append("run.json: counts are not what follows from the schedule")
    # Of a file of which more is known, its hash says nothing new.
    named = {sentence.partition(":")[0] for sentence in found}
    found.extend(f"{name}: {_CHANGED}" for name in _changed(run) if name not in named)
    return sorted(found)


def _changed(run: SavedRun) -> list[str]:
    """Return the names of the files that are not as they were written."""
    here = digests_of(run.folder)
    written = files_of_run(run.folder) or {}
    return [name for name, digest in written.items() if here.get(name) != digest]


def _digests(run: SavedRun) -> Iterator[str]:
    for name, thing in (("workload", run.schedule.workload), ("system", run.schedule.system)):
        said = run.about.get(name)
        if not isinstance(said, Mapping) or said.get("digest") != thing.digest():
            yield f"run.json: the {name} is not the one that was simulated (its digest differs)"


def _differences(path: Path, columns: Mapping[str, Any]) -> Iterator[str]:
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        reason = str(error).partition("\n")[0]
        raise RunError(f"{path} is damaged: {reason}; simulate again with --overwrite") from error
    for name in columns.keys() | set(table.column_names):
        if name not in table.column_names:
            yield f"{path.name}: column {name} is missing"
        elif name not in columns:
            yield f"{path.name}: column {name} does not belong there"
        elif not table.column(name).combine_chunks().equals(columns[name]):
            yield f"{path.name}: column {name} is not what follows from the schedule"
