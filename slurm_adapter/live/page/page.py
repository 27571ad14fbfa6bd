"""What a page of the live queue shows: forecasts, reasons and the next hours."""

from __future__ import annotations

import sqlite3
import threading
import time
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from cpsched.api.errors import ConfigError, CpschedError
from cpsched.api.model import MISSING
from slurm_adapter.live.queue import LiveQueue
from slurm_adapter.live.record import Record, is_record
from slurm_adapter.live.requests import MARK, may_start, waits_for_engine

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cpsched.api.model import System
    from slurm_adapter.live.page.metrics import Metrics
    from slurm_adapter.live.policy_now import Now, Renewed
    from slurm_adapter.live.scontrol import Scontrol
    from slurm_adapter.live.snapshot import LiveJob, Snapshot

SCHEMA, SCHEMA_OF_JOB = "cpsched.live/2", "cpsched.live.job/1"
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
    own
        A record for the waits of started jobs, where there is no twin's; None: no waits.
    metrics
        For Prometheus, or None.
    explains
        Whether reasons may be told that name jobs of others.
    document
        The last state, as plain JSON types; replaced as a whole.
    """

    backend: Scontrol
    system: System
    dispatcher: str
    now: Now | Renewed | None = None
    twin: Path | None = None
    mark: str = ""
    own: Record | None = None
    metrics: Metrics | None = None
    explains: bool = True
    document: Mapping[str, Any] = field(
        default_factory=lambda: {"schema": SCHEMA, "now": None, "error": "starting"}
    )
    #: The queue that was seen last, which answers one question at a time.
    _queue: LiveQueue | None = None
    _asking: threading.Lock = field(default_factory=threading.Lock)

    def look(self) -> None:
        """Poll once; errors are shown together with the last state."""
        began = time.time()
        try:
            snapshot = self.backend.snapshot()
            twin = self.twin
            record = Record(twin) if twin is not None and is_record(twin) else None
            document = self._seen(snapshot, record)
            self.document = document
            self._note(document, snapshot, record, began)
        except (CpschedError, sqlite3.Error) as error:
            self.document = {**self.document, "error": str(error)}
            if self.metrics is not None:
                self.metrics.note_failure()

    def _note(
        self, document: dict[str, Any], snapshot: Snapshot, record: Record | None, began: float
    ) -> None:
        """Tell the metrics what was seen."""
        if self.own is not None:
            self.own.see(snapshot, self.backend)
        if self.metrics is not None and (known := record or self.own) is not None:
            self.metrics.note(
                document,
                snapshot,
                self.backend,
                began=began,
                mark=self.mark or MARK,
                record=known,
                has_twin=record is not None,
            )

    def shown_to(self, user: str | None) -> Mapping[str, Any]:
        """Return the last state, with the jobs of one user only; None: of all."""
        seen = self.document
        if user is None or seen["now"] is None:
            return seen
        own = {
            name: [job for job in seen[name] if job["user"] == user]
            for name in ("running", "waiting")
        }
        return {**seen, **own, "statement": None}

    def job(self, key: str, user: str | None = None) -> Mapping[str, Any] | None:
        """
        Return when a waiting job will start, as the last look saw it, and why it waits.

        Parameters
        ----------
        user
            Whose jobs may be asked about; None: everybody's.

        Returns
        -------
        Mapping or None
            None where no such job waits.
        """
        seen = self.shown_to(user)
        found = next((job for job in seen.get("waiting", ()) if job["job"] == key), None)
        if found is None:
            return None
        facts = {name: seen[name] for name in ("now", "dispatcher", "policy", "bounds")}
        return {"schema": SCHEMA_OF_JOB, **facts, **found, "why": self._why(key)}

    def _why(self, key: str) -> str | None:
        """Return why a job does not start, None where it is not told."""
        if not self.explains or self._queue is None:
            return None
        with self._asking:
            try:
                return self._queue.why(key).summary
            except CpschedError:
                # Nobody starts it.
                return None

    def _seen(self, snapshot: Snapshot, record: Record | None) -> dict[str, Any]:
        system = self.system
        told, bounds = self._told(snapshot, record)
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
                    "forecast": job.key in told,
                    **told.get(job.key, dict.fromkeys(_FORECAST)),
                    "slurm_expects": expected.get(job.key),
                }
                for job in snapshot.jobs.values()
                if job.waits
            ],
            "statement": self._statement(),
        }

    def _told(
        self, snapshot: Snapshot, record: Record | None
    ) -> tuple[dict[str, dict[str, int | None]], bool]:
        """Return forecasts by job, in Unix time, and whether they are bounds."""
        try:
            spec = self.now.dispatcher if self.now else self.dispatcher
            queue = LiveQueue(
                snapshot, self.system, spec, record=record, mark=self.mark, name=self.dispatcher
            )
            answer = queue.when()
        except ConfigError:
            # No job is waiting.
            self._queue = None
            return {}, False
        self._queue = queue
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


def metrics_of(engine: Path | None) -> Metrics | None:
    """Return metrics for Prometheus; None where prometheus-client is not installed."""
    if find_spec("prometheus_client") is None:
        return None
    from slurm_adapter.live.page.metrics import Metrics

    return Metrics(engine)


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
