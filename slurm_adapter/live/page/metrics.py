"""
What the page tells Prometheus: queue, waits, forecasts and the health of an engine.

Everything is by partition at most, never by user or job, and is made at each look: a scrape only
writes it as text.
"""

from __future__ import annotations

import math
import time
from collections import Counter as Tally
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder

from cpsched.api.errors import CpschedError, RunError
from slurm_adapter.live.filter import Paused, aside_of, hold_of
from slurm_adapter.live.health import own_leases, sign_of_life, why_not_well
from slurm_adapter.live.judged import JudgedForecasts
from slurm_adapter.live.log_of import wait_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from prometheus_client.core import Metric

    from slurm_adapter.live.record import Record
    from slurm_adapter.live.scontrol import Scontrol
    from slurm_adapter.live.snapshot import Snapshot

_DAY = 86400
#: Upper ends of waits, seconds: 10 s to a week.
_WAITS = (10, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, _DAY, 2 * _DAY, 7 * _DAY)
#: Jobs by how soon they start: the middle one, and the last of the first nine tenths.
_JOBS = (0.5, 0.9)
_LEVELS = {"p10": "0.1", "p50": "0.5", "p90": "0.9"}
#: Seconds without a sign of life after which an engine is not well, as ``cpsched slurm health``.
_SIGN_OF_LIFE = 60
#: What an engine counts, by name in :class:`slurm_adapter.live.orders.Counts`.
_COUNTS = {
    "cycles": ("cycles", "Cycles of the engine since it started."),
    "ordered": ("orders", "Jobs that were ordered to start."),
    "ran": ("orders_ran", "Ordered jobs that were seen running on their nodes."),
    "refused": ("orders_refused", "Orders that Slurm refused."),
    "taken_back": ("orders_withdrawn", "Starts that were withdrawn."),
    "aside": ("jobs_set_aside", "Jobs that were left to Slurm."),
    "wrong": ("jobs_on_wrong_nodes", "Jobs that Slurm started elsewhere than ordered."),
}


class Metrics:
    """
    The metrics of a page.

    Counters and waits count from the start of the process, as Prometheus expects.

    Parameters
    ----------
    engine
        Folder of an engine, or None.
    """

    def __init__(self, engine: Path | None = None) -> None:
        self._engine, self._registry = engine, CollectorRegistry()
        self._waits = Histogram(
            "cpsched_job_wait_seconds",
            "Time that jobs had to wait, of those that started while this process ran.",
            ("partition",),
            buckets=_WAITS,
            registry=self._registry,
        )
        self._looks = Counter("cpsched_looks", "Looks at Slurm.", registry=self._registry)
        self._failed = Counter(
            "cpsched_looks_failed", "Looks at Slurm that failed.", registry=self._registry
        )
        #: Jobs of the last day that have started, and are counted.
        self._counted: set[tuple[str, int, int]] | None = None
        self._seen: tuple[Metric, ...] = ()
        #: When Slurm was seen last, Unix time; 0: never.
        self._seen_at = 0
        self._registry.register(self)

    def collect(self) -> Iterable[Metric]:
        """Return what the last look saw; called by the registry."""
        return self._seen

    def text(self, accept: str) -> tuple[bytes, str]:
        """Return all metrics as text, and its type, by an ``Accept`` header."""
        encoder, kind = choose_encoder(accept)
        return encoder(self._registry), kind

    def note(
        self,
        document: Mapping[str, Any],
        snapshot: Snapshot,
        backend: Scontrol,
        *,
        began: float,
        mark: str,
        record: Record,
        has_twin: bool,
    ) -> None:
        """
        Take up what a look has seen.

        Parameters
        ----------
        document
            As the page shows it.
        began
            When the look began, Unix time.
        mark
            Of the jobs of an engine.
        record
            Of the jobs that have started; if it ``has_twin``, with forecasts that were judged.
        """
        self._looks.inc()
        self._seen_at = snapshot.now
        self._note_waits(record, snapshot.now)
        self._seen = (
            *self._state(1),
            _gauge("look_duration_seconds", "Time of the last look.", time.time() - began),
            *_machine(document),
            _jobs(snapshot),
            *_told(snapshot, mark),
            *_forecasts(document),
            *(_judged(record, document["dispatcher"]) if has_twin else ()),
            *(() if self._engine is None else _health(self._engine, backend)),
        )

    def note_failure(self) -> None:
        """Take up that a look failed: what it would have seen is unknown."""
        self._looks.inc()
        self._failed.inc()
        self._seen = tuple(self._state(0))

    def _state(self, up: int) -> Iterator[Metric]:
        yield _gauge("up", "Whether the last look at Slurm succeeded.", up)
        yield _gauge("look_timestamp_seconds", "When Slurm was seen last.", self._seen_at)

    def _note_waits(self, record: Record, now: int) -> None:
        """Count the jobs that have started since the last look."""
        started = {
            (row["key"], row["submit"], row["start"]): row
            for row in record.started_since(now - _DAY)
        }
        if self._counted is not None:
            for key in started.keys() - self._counted:
                row = started[key]
                self._waits.labels(row["partition"]).observe(wait_of(row))
        self._counted = set(started)


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"cpsched_{name}", text, value=value)


def _machine(document: Mapping[str, Any]) -> Iterator[Metric]:
    yield _gauge("nodes", "Nodes of the machine.", document["nodes"])
    yield _gauge("nodes_closed", "Nodes on which nothing may start.", document["closed_nodes"])
    yield _gauge("cores", "Cores of the machine.", document["cores"])
    yield _gauge("cores_in_use", "Cores of running jobs.", document["cores_in_use"])


def _jobs(snapshot: Snapshot) -> Metric:
    found = GaugeMetricFamily(
        "cpsched_jobs",
        "Jobs by partition, as Slurm names it, and state; held: by users, operators or for an"
        " engine.",
        labels=("partition", "state"),
    )
    tally: Tally[tuple[str, str]] = Tally()
    for job in snapshot.jobs.values():
        if job.holds:
            tally[job.partition, "running"] += 1
        elif job.waits:
            tally[job.partition, "held" if job.held else "waiting"] += 1
    for partition in sorted({name for name, _ in tally}):
        for state in ("running", "waiting", "held"):
            found.add_metric((partition, state), tally[partition, state])
    return found


def _told(snapshot: Snapshot, mark: str) -> Iterator[Metric]:
    """Yield what people and the engine have written into comments of waiting jobs."""
    waiting = [job for job in snapshot.jobs.values() if job.waits]
    paused = sum(job.comment.startswith(hold_of(mark)) for job in waiting)
    aside = sum(job.admin_comment.startswith(aside_of(mark)) for job in waiting)
    yield _gauge("jobs_paused", "Waiting jobs that cpsched slurm pause keeps back.", paused)
    yield _gauge("jobs_set_aside", "Waiting jobs that the engine has left to Slurm.", aside)


def _forecasts(document: Mapping[str, Any]) -> Iterator[Metric]:
    """Yield, by partition, in how many seconds jobs start."""
    waiting: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for job in document["waiting"]:
        if job["forecast"]:
            waiting[job["partition"]].append(job)
    count = GaugeMetricFamily(
        "cpsched_forecast_jobs", "Waiting jobs whose start is forecast.", labels=("partition",)
    )
    ahead = GaugeMetricFamily(
        "cpsched_forecast_start_seconds",
        "Time until waiting jobs start: by level, the probability that a job has started by then,"
        " or bound, if only bounds are known; by jobs, the share of the jobs whose time is no"
        " longer.",
        labels=("partition", "level", "jobs"),
    )
    levels = {"planned": "bound"} if document["bounds"] else _LEVELS
    for partition, jobs in sorted(waiting.items()):
        count.add_metric((partition,), len(jobs))
        for name, level in levels.items():
            seconds = _ahead([job[name] for job in jobs], document["now"])
            for share, value in zip(_JOBS, seconds, strict=True):
                ahead.add_metric((partition, level, str(share)), value)
    yield count
    yield ahead


def _ahead(starts: Sequence[int | None], now: int) -> list[float]:
    """Return quantiles of the times until starts; what is beyond the scenarios is infinite."""
    seconds = [math.inf if start is None else max(start - now, 0) for start in starts]
    found: list[float] = np.quantile(seconds, _JOBS, method="inverted_cdf").tolist()
    return found


def _judged(record: Record, dispatcher: str) -> Iterator[Metric]:
    """Yield how good the twin's last forecasts were, and when it looked last."""
    if record.now > 0:
        yield _gauge("twin_timestamp_seconds", "When the twin saw Slurm last.", record.now)
    known = JudgedForecasts(record).accuracy(dispatcher)
    if known is None:
        return
    yield _gauge("past_forecasts", "Forecasts of the twin whose jobs have started.", known.jobs)
    yield _gauge(
        "past_forecasts_inside_ratio",
        "Share of these jobs that started within the 80 % interval.",
        known.inside,
    )
    yield _gauge(
        "past_forecast_error_seconds",
        "Median error of their median forecasts.",
        known.error,
    )


def _health(engine: Path, backend: Scontrol) -> Iterator[Metric]:
    """Yield what is known of an engine."""
    ill = why_not_well(engine, _SIGN_OF_LIFE, backend)
    yield _gauge("engine_well", "Whether cpsched slurm health finds the engine well.", not ill)
    try:
        known = sign_of_life(engine)
    except RunError:
        return
    yield _gauge("engine_cycle_timestamp_seconds", "Its last sign of life.", known["time"])
    counts = known.get("counts", {})
    for key, (name, text) in _COUNTS.items():
        if key in counts:
            yield CounterMetricFamily(f"cpsched_engine_{name}", text, value=counts[key])
    leases = GaugeMetricFamily(
        "cpsched_engine_lease_expiry_timestamp_seconds",
        "When its lease of a partition ends.",
        labels=("partition",),
    )
    try:
        for partition, lease in sorted(own_leases(engine, backend).items()):
            leases.add_metric((partition,), lease.until)
        paused = Paused.read(engine)
    except CpschedError:
        # The engine is not well then, or says what is wrong itself.
        return
    yield leases
    yield _gauge("paused_partitions", "Partitions that are paused.", len(paused.partitions))
    yield _gauge("paused_users", "Users that are paused.", len(paused.users))
