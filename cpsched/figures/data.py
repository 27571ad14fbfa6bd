"""The data of a run's figures, small however many jobs it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched.figures.boxes import Box
from cpsched.metrics import jobs
from cpsched.metrics.nominal import nominal
from cpsched.metrics.steps import used, waiting
from cpsched.metrics.window import busy_window, finished

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.metrics.steps import StepFunction
    from cpsched.metrics.window import Window
    from cpsched.model.types import AnyArray, BoolArray, FloatArray, IntArray
    from cpsched.study import SavedRun
    from cpsched.study.results import RunResult

#: Points of a line over time, at most; and seconds one stands for, at least.
_POINTS = 240
_SHORTEST = 60


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Series:
    """
    Means over time.

    Attributes
    ----------
    edges
        Seconds, increasing, shape ``(B + 1,)``.
    values
        The mean over ``[edges[b], edges[b + 1])``, shape ``(B,)``.
    """

    edges: FloatArray
    values: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BySize:
    """
    Mean waits by the number of cores a job held, in classes of doubling width.

    Attributes
    ----------
    cores
        The smallest number of each class that has jobs: 1, 2, 4, 8, ...; shape ``(S,)``.
    wait
        Mean over all jobs of the class, seconds, shape ``(S,)``.
    number
        Its jobs, shape ``(S,)``.
    """

    cores: IntArray
    wait: FloatArray
    number: IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunData:
    """
    The data of a run's figures.

    Attributes
    ----------
    dispatcher, predictor
        Labels.
    slowdown
        Box of the jobs that ended and waited, of ``all``, ``short``, ``medium`` and ``long`` ones;
        None where there is none.
    wait
        The same jobs' waits, seconds.
    mean_wait
        Of all jobs that ended, those that never waited too, seconds.
    ended, never_waited
        Jobs.
    queue
        Waiting jobs at every second of the window.
    queue_over_time, use
        The queue, and the share of each resource in use, over the window.
    by_size
        Waits by cores held.
    epoch
        Unix time of second 0, or None.
    decision_s
        Median, p99 and maximum time of a decision, seconds; None where it was not measured.
    gap
        Mean relative gap to the solver's bound over its calls; None without a solver.
    """

    dispatcher: str
    predictor: str
    slowdown: Mapping[str, Box | None]
    wait: Box | None
    mean_wait: float | None
    ended: int
    never_waited: int
    queue: Box | None
    queue_over_time: Series | None
    use: Mapping[str, Series]
    by_size: BySize
    epoch: int | None
    decision_s: tuple[float, float, float] | None
    gap: float | None

    @property
    def excluded(self) -> float:
        """Share of the ended jobs that never waited, which box plots leave out."""
        return self.never_waited / self.ended if self.ended else 0.0


def read(run: SavedRun, result: RunResult) -> RunData:
    """Return what the figures show of a run; ``result`` has its labels."""
    schedule = run.schedule
    window, done = busy_window(schedule), finished(schedule)
    submit, start, end = (
        values[done] for values in (schedule.workload.submit, schedule.start, schedule.end)
    )
    wait, response = jobs.wait(submit, start), jobs.turnaround(submit, end)
    runtime, width = (values[done] for values in nominal(schedule))
    queue = waiting(schedule)
    return RunData(
        dispatcher=result.dispatcher,
        predictor=result.predictor,
        slowdown=_slowdowns(wait, response, runtime),
        wait=Box.of(wait[wait > 0]),
        mean_wait=float(wait.mean()) if len(wait) else None,
        ended=len(wait),
        never_waited=int((wait == 0).sum()),
        queue=Box.over_time(queue.distribution(*window)) if window else None,
        queue_over_time=means(queue, window) if window else None,
        use=_use(run, window),
        by_size=by_size(width, wait),
        epoch=schedule.workload.epoch,
        decision_s=_decisions(run.timing),
        gap=_gap(run),
    )


def means(quantity: StepFunction, window: Window, points: int = _POINTS) -> Series:
    """Return the means of a quantity over equal parts of a window, at most ``points`` of them."""
    parts = max(1, min(points, window.length // _SHORTEST))
    edges = np.linspace(window.start, window.end, parts + 1)
    return Series(edges=edges, values=quantity.means(edges))


def by_size(cores: IntArray, wait: IntArray) -> BySize:
    """Return mean waits of jobs by the cores they held, shape ``(num_jobs,)`` each."""
    held = cores > 0
    power = np.floor(np.log2(cores[held])).astype(np.int64)
    number = np.bincount(power)
    total = np.bincount(power, weights=wait[held])
    there = np.flatnonzero(number)
    return BySize(
        cores=np.left_shift(1, there), wait=total[there] / number[there], number=number[there]
    )


def _slowdowns(wait: IntArray, response: IntArray, runtime: IntArray) -> dict[str, Box | None]:
    """Return the boxes of slowdowns; slowdown 1 (no wait) is left out, as in the thesis."""
    waited: BoolArray = wait > 0
    slowdown: AnyArray = jobs.slowdown(response, runtime)
    length = jobs.job_class(runtime)
    groups = {"all": waited}
    groups |= {item.name.lower(): waited & (length == item) for item in jobs.JobClass}
    return {name: Box.of(slowdown[rows]) for name, rows in groups.items()}


def _use(run: SavedRun, window: Window | None) -> dict[str, Series]:
    """Return the share in use of each resource that the machine has and some job asked for."""
    machine = run.schedule.system
    found = {}
    for kind, (name, total) in enumerate(
        zip(machine.resources, machine.total.tolist(), strict=True)
    ):
        if window is not None and total and run.schedule.segments.amount[:, kind].any():
            series = means(used(run.schedule, kind), window)
            found[name] = Series(edges=series.edges, values=series.values / total)
    return found


def _decisions(timing: Mapping[str, float]) -> tuple[float, float, float] | None:
    try:
        median, p99, most = (float(timing[f"decision_{n}_s"]) for n in ("median", "p99", "max"))
    except (LookupError, TypeError, ValueError):
        return None
    return median, p99, most


def _gap(run: SavedRun) -> float | None:
    decisions = run.about.get("decisions")
    if not isinstance(decisions, dict):
        return None
    calls, gap = decisions.get("solver_calls"), decisions.get("bound_gap")
    return float(gap) / calls if calls and gap is not None else None
