"""
Numbers of a live queue as a text file for node_exporter's textfile collector, and for Prometheus.

The text is valid as OpenMetrics and in the older format of Prometheus, which the collector reads:
gauges without timestamps, and ``# EOF``, which is a comment there. The collector reads every file
whose name ends in ``.prom``, also hidden ones: an unfinished file has another ending.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from cpsched.util.atomic_files import replacing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from cpsched.forecast.when import QueueForecast
    from cpsched.model.system import System
    from cpsched.slurm.live.snapshot import Snapshot

#: Quantiles of the start of a job, by their names in an answer.
_QUANTILES = {"p10": "0.1", "p50": "0.5", "p90": "0.9"}


class Metric(NamedTuple):
    """
    A gauge.

    Attributes
    ----------
    name
        Without ``cpsched_``; its last word is the unit.
    samples
        Labels and value of each sample; infinite: beyond the forecast.
    """

    name: str
    help: str
    samples: Sequence[tuple[Mapping[str, str], float]]


def write(path: Path, metrics: Iterable[Metric]) -> None:
    """Write metrics to a file, which is complete at every moment."""
    lines = [line for metric in metrics for line in _lines(metric)]
    with replacing(path, ending=".new") as partial:
        partial.write_text("\n".join([*lines, "# EOF", ""]), encoding="utf-8")


def queue_metrics(snapshot: Snapshot, system: System) -> list[Metric]:
    """Return the numbers of a queue and its nodes."""
    states = ("running", "waiting", "held")
    tally: Counter[tuple[str, str]] = Counter()
    for job in snapshot.jobs.values():
        state = "running" if job.holds else "held" if job.held else "waiting"
        tally[job.partition, state] += 1
    partitions = sorted({partition for partition, _ in tally})
    cores = system.capacity[:, system.resource_index("core")]
    allocated = sum(job.cpus for job in snapshot.jobs.values() if job.holds)
    closed = snapshot.closed.intersection(system.node_names)
    return [
        Metric(
            "snapshot_timestamp_seconds", "Time at which Slurm was asked.", _sample(snapshot.now)
        ),
        Metric(
            "queue_jobs",
            "Jobs by partition and state. A job for several partitions counts under all names.",
            [
                ({"partition": partition, "state": state}, tally[partition, state])
                for partition in partitions
                for state in states
            ],
        ),
        Metric("nodes", "Nodes of the cluster.", _sample(system.num_nodes)),
        Metric("closed_nodes", "Nodes on which no job may start.", _sample(len(closed))),
        Metric("cores", "Cores of the cluster.", _sample(int(cores.sum()))),
        Metric("allocated_cores", "Cores of running jobs.", _sample(allocated)),
    ]


def forecast_metrics(answer: QueueForecast, prefix: str = "") -> list[Metric]:
    """
    Return when waiting jobs are forecast to start, in seconds from now.

    Parameters
    ----------
    prefix
        Of the names: files of one folder must not have the same samples.
    """
    names = {} if answer.bounds else _QUANTILES
    quantiles, latest = [], []
    for job in answer.jobs:
        labels = {"job_id": job.job, "partition": job.queue}
        for name, quantile in names.items():
            ahead = _ahead(getattr(job, name), answer.now)
            quantiles.append(({**labels, "probability": quantile}, ahead))
        latest.append((labels, _ahead(job.planned, answer.now)))
    return [
        Metric(
            f"{prefix}forecast_jobs", "Waiting jobs with a forecast.", _sample(len(answer.jobs))
        ),
        Metric(
            f"{prefix}wait_seconds",
            "Time until a waiting job has started with this probability.",
            quantiles,
        ),
        Metric(
            f"{prefix}requested_time_wait_seconds",
            "Time until a waiting job starts if all jobs use their requested times and none comes.",
            latest,
        ),
    ]


def plan_metrics(plan: Mapping[str, Any]) -> list[Metric]:
    """Return the number of jobs that a dispatcher would start now, and the other planned starts."""
    starting = sum(bool(job["starts_now_on"]) for job in plan["jobs"])
    ahead: dict[str, list[tuple[Mapping[str, str], float]]] = {
        name: [
            ({"job_id": job["job"], "partition": job["partition"]}, max(job[name] - plan["now"], 0))
            for job in plan["jobs"]
            if job[name] is not None
        ]
        for name in ("planned_start", "slurm_expects")
    }
    return [
        Metric(
            "startable_jobs", "Waiting jobs that the dispatcher would start.", _sample(starting)
        ),
        Metric(
            "planned_wait_seconds",
            "Time until the dispatcher plans to start a job.",
            ahead["planned_start"],
        ),
        Metric(
            "slurm_expected_wait_seconds",
            "Time until Slurm expects to start a job.",
            ahead["slurm_expects"],
        ),
    ]


def _sample(value: float) -> list[tuple[Mapping[str, str], float]]:
    """Return the only sample of a metric without labels."""
    return [({}, value)]


def _ahead(start: int | None, now: int) -> float:
    """Return the time until a start; infinite beyond the forecast."""
    return math.inf if start is None else max(start - now, 0)


def _lines(metric: Metric) -> Iterator[str]:
    """Yield the lines of a metric; none where it has no sample."""
    if metric.samples:
        yield f"# HELP cpsched_{metric.name} {metric.help}"
        yield f"# TYPE cpsched_{metric.name} gauge"
    for labels, value in metric.samples:
        pairs = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
        number = "+Inf" if math.isinf(value) else f"{value:g}" if value % 1 else f"{value:.0f}"
        yield (
            f"cpsched_{metric.name}{{{pairs}}} {number}"
            if pairs
            else (f"cpsched_{metric.name} {number}")
        )


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
