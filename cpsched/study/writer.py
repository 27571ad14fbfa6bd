"""Write a finished simulation to a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched import logs
from cpsched.metrics.columns import (
    allocation_columns,
    jobs_in_parts,
    outage_columns,
    queue_columns,
)
from cpsched.metrics.predictions import not_a_forecast
from cpsched.metrics.summary import summarize
from cpsched.simulation.identity import versions_here
from cpsched.study.allocators import allocator_of
from cpsched.study.folder import MARK, appearing, digests_of
from cpsched.util import arrow
from cpsched.util.documents import json_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cpsched.model.schedule import Schedule
    from cpsched.simulation.simulate import Run

#: When nodes were down; only if some were.
OUTAGES = "outages.parquet"
#: Of run folders and the names in them; a reader refuses others.
FORMAT = 6


def save_run(
    run: Run,
    folder: str | Path,
    *,
    overwrite: bool = False,
    arguments: Mapping[str, Any] | None = None,
    formats: Sequence[Callable[[Schedule, Path], object]] = (),
) -> dict[str, Any]:
    """
    Write a run to a folder, completely or not at all.

    Parameters
    ----------
    arguments
        The caller's arguments, which are recorded.
    formats
        Writers of additional files, see registry group ``exports``.

    Returns
    -------
    dict
        The summary in ``metrics.json``.

    Raises
    ------
    RunError
        If the folder exists and ``overwrite`` is off, or is not a run.
    """
    schedule = run.schedule
    summary = summarize(schedule)
    with appearing(Path(folder), overwrite=overwrite) as target:
        logs.write(schedule.workload, target / "workload.parquet", format="table")
        _write_json(target / "system.json", schedule.system.to_dict())
        arrow.write_file(target / "jobs.parquet", jobs_in_parts(schedule))
        arrow.write_file(target / "allocations.parquet", allocation_columns(schedule))
        arrow.write_file(target / "queue.parquet", queue_columns(schedule))
        if len(schedule.outages):
            arrow.write_file(target / OUTAGES, [outage_columns(schedule)])
        _write_json(target / "metrics.json", summary)
        _write_json(target / "timing.json", dict(run.timing))
        for write in formats:
            write(schedule, target)
        # Last: the file that makes the folder a run.
        about = description(run, summary, arguments or {}) | {"files": digests_of(target)}
        _write_json(target / MARK, about)
    return summary


def description(
    run: Run, summary: Mapping[str, Any], arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the description of a run in ``run.json``, except its files."""
    schedule = run.schedule
    return {
        "format": FORMAT,
        "versions": versions_here(),
        "arguments": dict(arguments),
        "dispatcher": run.dispatcher,
        # One pool leaves nothing to choose.
        "allocator": allocator_of(run.dispatcher) if schedule.system.num_nodes > 1 else None,
        "predictor": run.predictor,
        "settings": vars(run.settings),
        "workload": {
            "title": schedule.workload.title,
            "jobs": len(schedule.workload),
            "digest": schedule.workload.digest(),
        },
        "system": {"name": schedule.system.name, "digest": schedule.system.digest()},
        "counts": summary["counts"],
        "decisions": dict(run.decisions),
        "predictions": dict(run.predictions),
        "provenance": dict(run.provenance),
        "not_a_forecast": not_a_forecast(run.provenance, schedule.workload),
    }


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json_text(content, indent=1) + "\n", encoding="utf-8")
