"""What a page of the live queue shows: forecasts, reasons and the next hours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cpsched.api.errors import ConfigError, CpschedError
from cpsched.api.model import MISSING
from slurm_adapter.live.queue import LiveQueue
from slurm_adapter.live.record import Record, is_record
from slurm_adapter.live.requests import may_start, waits_for_engine

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cpsched.api.model import System
    from slurm_adapter.live.policy_now import Now, Renewed
    from slurm_adapter.live.scontrol import Scontrol
    from slurm_adapter.live.snapshot import LiveJob, Snapshot

SCHEMA = "cpsched.live/2"
_FORECAST = ("p10", "p50", "p90", "planned")


@dataclass(kw_only=True, slots=True)
class Watch:
    """
    What is seen of a Slurm.

    Attributes
    ----------
    dispatcher
        The dispatcher of the forecasts.
    now
        The same with today's policy, None for that of the specification.
    twin
        Folder of a twin, or None, for runtimes and statements.
    mark
        Of the jobs that an engine starts; '': none runs.
    document
        The last state, as plain JSON types; replaced as a whole.
    """

    backend: Scontrol
    system: System
    dispatcher: str
    now: Now | Renewed | None = None
    twin: Path | None = None
    mark: str = ""
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
        told, bounds = self._told(snapshot)
        expected = self.backend.expected_starts()
        running = [job for job in snapshot.jobs.values() if job.holds]
        # Those without an end come last.
        running.sort(key=lambda job: (job.end == MISSING, job.end))
        return {
            "schema": SCHEMA,
            "now": snapshot.now,
            "error": None,
            "dispatcher": self.dispatcher,
            "bounds": bounds,
            "policy": self.now.remark if self.now else "",
            "nodes": system.num_nodes,
            "closed_nodes": len(snapshot.closed.intersection(system.node_names)),
            "cores": int(system.capacity[:, system.resource_index("core")].sum()),
            "cores_in_use": sum(job.cpus for job in running),
            "running": [{**_plain(job), "end": _known(job.end)} for job in running],
            "waiting": [
                {
                    **_plain(job),
                    "submit": job.submit,
                    "held": job.held,
                    "reason": job.reason,
                    "for_engine": waits_for_engine(job)
                    and not may_start(job, self.mark, snapshot.engines),
                    **told.get(job.key, dict.fromkeys(_FORECAST)),
                    "slurm_expects": expected.get(job.key),
                }
                for job in snapshot.jobs.values()
                if job.waits
            ],
            "statement": self._statement(),
        }

    def _told(self, snapshot: Snapshot) -> tuple[dict[str, dict[str, int | None]], bool]:
        """Return forecasts by job, in Unix time, and whether they are bounds."""
        twin = self.twin
        record = Record(twin) if twin is not None and is_record(twin) else None
        try:
            spec = self.now.dispatcher if self.now else self.dispatcher
            queue = LiveQueue(
                snapshot, self.system, spec, record=record, mark=self.mark, name=self.dispatcher
            )
            answer = queue.when()
        except ConfigError:
            # No job is waiting.
            return {}, False
        epoch = answer.epoch or 0
        found = {
            one.job: {
                name: None if (at := getattr(one, name)) is None else at + epoch
                for name in _FORECAST
            }
            for one in answer.jobs
        }
        return found, answer.bounds

    def _statement(self) -> str | None:
        """Return the last statement of the twin."""
        weeks = [] if self.twin is None else self.twin.glob("weeks/*.txt")
        last = max(weeks, key=lambda path: path.stat().st_mtime, default=None)
        return None if last is None else last.read_text(encoding="utf-8")


def _plain(job: LiveJob) -> dict[str, Any]:
    return {
        "job": job.key,
        "user": job.user,
        "partition": job.partition,
        "cores": job.cpus,
        "time_limit": _known(job.time_limit),
    }


def _known(second: int) -> int | None:
    return None if second == MISSING else second
