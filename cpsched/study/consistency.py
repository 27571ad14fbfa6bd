"""Whether the files of a run folder are consistent: they are derived again and compared."""

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
        # An older run lacks what was not measured then; later removals show in the hash.
        for key in run.summary
        if summary.get(key) != run.summary[key]
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
            yield f"{path.name}: column {name} does not follow from the schedule"
