"""What the page shows: the queue with forecasts, refreshed regularly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cpsched.api.errors import ConfigError, CpschedError
from cpsched.api.model import MISSING
from slurm_adapter.live.queue import LiveQueue
from slurm_adapter.live.record import Record, is_record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cpsched.api.model import System
    from slurm_adapter.live.scontrol import Scontrol
    from slurm_adapter.live.snapshot import LiveJob, Snapshot

SCHEMA = "cpsched.live/1"
_FORECAST = ("p10", "p50", "p90", "planned")


@dataclass(kw_only=True, slots=True)
class Watch:
    """
    What is seen of a Slurm.

    Attributes
    ----------
    dispatcher
        The dispatcher of the forecasts.
    twin
        Folder of a twin, or None, for runtimes and statements.
    document
        The last state, as plain JSON types; replaced as a whole.
    """

    backend: Scontrol
    system: System
    dispatcher: str
    twin: Path | None = None
    document: Mapping[str, Any] = field(
        default_factory=lambda: {"schema": SCHEMA, "now": None, "error": "starting"}
    )

    def look(self) -> None:
        """Poll once; errors are shown together with the last state."""
        try:
            self.document = self._seen()
        except CpschedError as error:
            self.document = {**self.document, "error": str(error)}

    def _seen(self) -> dict[str, Any]:
        snapshot, system = self.backend.snapshot(), self.system
        told = self._told(snapshot)
        expected = self.backend.expected_starts()
        jobs = snapshot.jobs.values()
        running = [_running(job) for job in jobs if job.holds]
        return {
            "schema": SCHEMA,
            "now": snapshot.now,
            "error": None,
            "dispatcher": self.dispatcher,
            "nodes": system.num_nodes,
            "closed_nodes": len(snapshot.closed.intersection(system.node_names)),
            "cores": int(system.capacity[:, system.resource_index("core")].sum()),
            "cores_in_use": sum(job["cores"] for job in running),
            "running": sorted(running, key=lambda job: (job["end"] is None, job["end"] or 0)),
            "waiting": [
                {
                    **_plain(job),
                    "submit": job.submit,
                    "held": job.held,
                    "reason": job.reason,
                    **told.get(job.key, dict.fromkeys(_FORECAST)),
                    "slurm_expects": expected.get(job.key),
                }
                for job in jobs
                if job.waits
            ],
            "statement": self._statement(),
        }

    def _told(self, snapshot: Snapshot) -> dict[str, dict[str, int | None]]:
        """Return forecasts by job, in Unix time."""
        twin = self.twin
        record = Record(twin) if twin is not None and is_record(twin) else None
        try:
            queue = LiveQueue(snapshot, self.system, self.dispatcher, record=record)
            answer = queue.when()
        except ConfigError:
            # No job is waiting.
            return {}
        epoch = answer.epoch or 0
        return {
            one.job: {
                name: None if (at := getattr(one, name)) is None else at + epoch
                for name in _FORECAST
            }
            for one in answer.jobs
        }

    def _statement(self) -> dict[str, str] | None:
        """Return the last statement of the twin."""
        weeks = [] if self.twin is None else self.twin.glob("weeks/*.txt")
        last = max(weeks, key=lambda path: path.stat().st_mtime, default=None)
        if last is None:
            return None
        return {"name": last.stem, "text": last.read_text(encoding="utf-8")}


def _plain(job: LiveJob) -> dict[str, Any]:
    return {
        "job": job.key,
        "user": job.user,
        "partition": job.partition,
        "account": job.account,
        "cores": job.cpus,
        "gres": job.gres_per_node or job.gres_per_job,
        "time_limit": _known(job.time_limit),
    }


def _running(job: LiveJob) -> dict[str, Any]:
    return {
        **_plain(job),
        "state": job.state,
        "nodes": list(job.nodes),
        "start": _known(job.start),
        "end": _known(job.end),
    }


def _known(second: int) -> int | None:
    return None if second == MISSING else second
