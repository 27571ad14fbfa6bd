"""``cpsched slurm plan``: what a dispatcher would start now on a live Slurm."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cpsched.cli.options import AsJson, Dispatcher, Predictor, Seed
from cpsched.cli.output import counted, echo, escaped, print_json
from cpsched.cli.slurm_queue import OpenMetrics, SystemFile, backend_of, system_named, write_metrics


def command(
    system: SystemFile = None,
    dispatcher: Dispatcher = "easy",
    predictor: Predictor = "requested",
    seed: Seed = 0,
    openmetrics: OpenMetrics = None,
    as_json: AsJson = False,
) -> None:
    """Print the jobs that a dispatcher would start now on a live Slurm (read-only)."""
    from cpsched.forecast.openmetrics import plan_metrics
    from cpsched.slurm.live.plan import plan

    slurm = backend_of()
    result = plan(slurm, system_named(system, slurm), dispatcher, predictor, seed)
    write_metrics(openmetrics, plan_metrics(result))
    if as_json:
        print_json("slurm.plan", result)
        return
    for line in _table(result):
        echo(line)


def _table(plan: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a plan as a table."""
    from cpsched.cli.heading import width
    from cpsched.util.node_lists import compress
    from cpsched.util.terminal import table_text
    from cpsched.util.words import duration

    jobs, now = plan["jobs"], plan["now"]
    starting = sum(bool(job["starts_now_on"]) for job in jobs)
    yield (
        f"{plan['dispatcher']} would start {starting} of {counted(len(jobs), 'waiting job')} now,"
        f" with {counted(plan['running'], 'running job')}."
    )

    def until(second: int | None) -> str:
        return "" if second is None else duration(max(second - now, 0))

    columns: dict[str, Callable[[Any], str]] = {
        "job": lambda job: job["job"],
        "user": lambda job: job["user"],
        "partition": lambda job: job["partition"],
        "waits for": lambda job: duration(now - job["submit"]),
        "cores": lambda job: str(job["cores"]),
        "starts now on": lambda job: compress(job["starts_now_on"]),
        "planned in": lambda job: until(job["planned_start"]),
        "Slurm expects in": lambda job: until(job["slurm_expects"]),
        "reason": lambda job: job["why"],
    }
    if jobs:
        rows = [[escaped(text(job)) for text in columns.values()] for job in jobs]
        yield table_text(list(columns), rows, width=width(), names=len(columns))
