"""Jobs that have ended, from ``sacct``: how long they ran, and when they came."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.engine.encoder import Request
from cpsched.errors import ConfigError, TraceError
from cpsched.logs import read as read_log
from cpsched.logs.rejects import RejectedRows
from cpsched.logs.sacct.format import SACCT
from cpsched.slurm.live.mirror import PastJob
from cpsched.systems.mapping import fit
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from cpsched.model.system import System
    from cpsched.model.workload import Workload
    from cpsched.slurm.live.scontrol import Scontrol

#: Days of jobs that may come again, and the most jobs, the last ones.
DAYS, _MOST = 7, 5000
_DAY = 86400
#: Columns of a workload that a request has under the same name.
_VALUES = (
    *("requested_time", "units", "nodes_min", "nodes_max", "contiguous", "exclusive"),
    *("segment", "max_switches", "array_limit", "nice"),
)
_LABELS = (
    *("queue", "user", "name", "group", "qos", "reservation", "licenses", "array"),
    "constraint",
)


def history_of(backend: Scontrol, system: System, now: int) -> list[PastJob]:
    """
    Return the jobs of the last days as ``sacct`` shows them; none without accounting.

    Parameters
    ----------
    now
        Unix seconds.
    """
    text = backend.history(DAYS)
    if not text:
        return []
    with tempfile.TemporaryDirectory(prefix="cpsched-") as folder:
        path = Path(folder) / "sacct"
        path.write_text(text, encoding="utf-8")
        try:
            workload = SACCT.read(path, RejectedRows())
        except TraceError:
            # No job has ended yet.
            return []
    return _past(workload, system, now)


def history_in(path: Path, system: System, now: int) -> list[PastJob]:
    """
    Return the jobs of the last days in a file, such as one that ``sacct`` has written.

    Raises
    ------
    ConfigError
        If it cannot be read, has no dates, or has no job of these days.
    """
    workload = read_log(path)
    if workload.epoch is None:
        raise ConfigError(
            "the log has no dates, so its last days are unknown. Export it with sacct.", where=path
        )
    past = _past(workload, system, now)
    if not past:
        raise ConfigError(
            f"no job of the log started in the last {DAYS} days. Export a newer log.", where=path
        )
    return past


def _past(workload: Workload, system: System, now: int) -> list[PastJob]:
    """Return the jobs that were submitted in the last days, and have run on the system."""
    jobs, epoch = fit(workload, system).workload, workload.epoch or 0
    submit = jobs.submit + epoch
    is_past = (submit >= now - DAYS * _DAY) & (submit <= now) & (jobs.recorded_start != MISSING)
    labels = {name: getattr(jobs, name).decode() for name in _LABELS}
    past = []
    for row in np.flatnonzero(is_past)[-_MOST:].tolist():
        given: dict[str, Any] = {name: getattr(jobs, name)[row].item() for name in _VALUES}
        given |= {name: texts[row] or "" for name, texts in labels.items()}
        given |= {
            name: dict(zip(system.resources, amounts[row].tolist(), strict=True))
            for name, amounts in (("resources", jobs.request), ("per_node", jobs.per_node))
        }
        past.append(PastJob(int(submit[row]), max(int(jobs.runtime[row]), 1), Request(**given)))
    return past
