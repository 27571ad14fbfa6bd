"""What the page shows: the queue with forecasts, refreshed regularly in its own thread."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from cpsched.api.errors import ConfigError, CpschedError
from cpsched.api.model import MISSING
from slurm_adapter.live.queue import LiveQueue

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cpsched.api.answers import JobForecast
    from cpsched.api.model import System
    from slurm_adapter.live.backend import Backend
    from slurm_adapter.live.snapshot import LiveJob, Snapshot

SCHEMA = "cpsched.live/1"


class Watch:
    """
    Polls a Slurm regularly.

    Parameters
    ----------
    dispatcher
        The dispatcher of the forecasts.
    twin
        Folder of a twin, or None, for runtimes and statements.
    interval
        Seconds between polls.
    """

    def __init__(
        self,
        backend: Backend,
        system: System,
        *,
        dispatcher: str,
        twin: Path | None = None,
        interval: float = 30,
    ) -> None:
        self._backend, self._system, self._dispatcher = backend, system, dispatcher
        self._twin, self._interval = twin, interval
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look_on, daemon=True)
        #: The last state, as plain JSON types; replaced as a whole.
        self.document: Mapping[str, Any] = {"schema": SCHEMA, "now": None, "error": "starting"}

    def start(self) -> None:
        """Begin polling."""
        self._thread.start()

    def stop(self) -> None:
        """Stop polling."""
        self._stop.set()
        self._thread.join()

    def _look_on(self) -> None:
        while not self._stop.is_set():
            self.look()
            self._stop.wait(self._interval)

    def look(self) -> None:
        """Poll once; errors are shown together with the last state."""
        try:
            self.document = self._seen()
        except CpschedError as error:
            self.document = {**self.document, "error": str(error)}

    def _seen(self) -> dict[str, Any]:
        snapshot = self._backend.snapshot()
        told = self._told(snapshot)
        expected = self._backend.expected_starts()
        jobs = snapshot.jobs.values()
        closed = sum(name in snapshot.closed for name in self._system.node_names)
        running = [_running(job) for job in jobs if job.holds]
        at = self._system.resource_index("core")
        return {
            "schema": SCHEMA,
            "now": snapshot.now,
            "error": None,
            "dispatcher": self._dispatcher,
            "nodes": self._system.num_nodes,
            "closed_nodes": closed,
            "cores": int(self._system.capacity[:, at].sum()),
            "cores_in_use": sum(job["cores"] for job in running),
            "running": sorted(running, key=lambda job: (job["end"] is None, job["end"] or 0)),
            "waiting": [
                _waiting(job, told.get(job.key), expected.get(job.key)) for job in jobs if job.waits
            ],
            "statement": self._statement(),
        }

    def _told(self, snapshot: Snapshot) -> dict[str, dict[str, int | None]]:
        """Return forecasts by job, in Unix time."""
        from slurm_adapter.live.record import Record

        there = self._twin is not None and (self._twin / "open.parquet").exists()
        record = Record(self._twin) if there and self._twin is not None else None
        try:
            queue = LiveQueue(snapshot, self._system, self._dispatcher, record=record)
            answer = queue.when()
        except ConfigError:
            # No job is waiting.
            return {}
        epoch = answer.epoch or 0
        return {one.job: _in_unix(one, epoch) for one in answer.jobs}

    def _statement(self) -> dict[str, str] | None:
        """Return the last statement of the twin."""
        if self._twin is None:
            return None
        found = sorted(self._twin.glob("weeks/*.txt"), key=lambda path: path.stat().st_mtime)
        if not found:
            return None
        return {"name": found[-1].stem, "text": found[-1].read_text(encoding="utf-8")}


def _in_unix(one: JobForecast, epoch: int) -> dict[str, int | None]:
    seconds = {name: getattr(one, name) for name in ("p10", "p50", "p90", "planned")}
    return {name: None if at is None else at + epoch for name, at in seconds.items()}


def _plain(job: LiveJob) -> dict[str, Any]:
    return {
        "job": job.key,
        "user": job.user,
        "partition": job.partition,
        "account": job.account,
        "cores": job.cpus,
        "gres": job.gres_per_node or job.gres_per_job,
        "time_limit": None if job.time_limit == MISSING else job.time_limit,
    }


def _running(job: LiveJob) -> dict[str, Any]:
    return {
        **_plain(job),
        "state": job.state,
        "nodes": list(job.nodes),
        "start": None if job.start == MISSING else job.start,
        "end": None if job.end == MISSING else job.end,
    }


def _waiting(
    job: LiveJob, told: dict[str, int | None] | None, expected: int | None
) -> dict[str, Any]:
    return {
        **_plain(job),
        "submit": job.submit,
        "held": job.held,
        "reason": job.reason,
        **(told or dict.fromkeys(("p10", "p50", "p90", "planned"))),
        "slurm_expects": expected,
    }
