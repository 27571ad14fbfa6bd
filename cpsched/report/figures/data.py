"""The data of a run's figures, small however many jobs it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched.metrics import jobs
from cpsched.metrics.nominal import nominal
from cpsched.metrics.steps import used, waiting
from cpsched.metrics.waits import began
from cpsched.metrics.window import Window, busy_window, finished
from cpsched.model.arrays import let_go, shared
from cpsched.report.figures.style import round_span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.metrics.steps import StepFunction
    from cpsched.model.schedule import Schedule
    from cpsched.report.figures.looks import Look
    from cpsched.simulation.run import Run
    from cpsched.util.types import AnyArray, FloatArray, IntArray

#: Most points of a line over time; and the least seconds of one point.
_POINTS, _SHORTEST = 200, 60
#: Points of a distribution.
_ON_CURVE = 120
DAY = 86400


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
class Curve:
    """
    A distribution over all jobs: the largest value among a given share of the jobs.

    Attributes
    ----------
    nines
        The share, as ``-log10(1 - share)``: 0 none, 1 for 90 %, 2 for 99 %; the last is all jobs,
        shape ``(P,)``.
    values
        The largest value among these jobs, shape ``(P,)``.
    """

    nines: FloatArray
    values: FloatArray

    @classmethod
    def of(cls, values: AnyArray) -> Curve:
        """Return the distribution of some values; empty of none."""
        number = len(values)
        if not number:
            return cls(nines=np.empty(0), values=np.empty(0))
        nines = np.linspace(0, max(float(np.log10(number)), 0.3), _ON_CURVE)
        rank = np.ceil(number * (1 - 10**-nines)).astype(np.int64) - 1
        rank[-1] = number - 1
        return cls(nines=nines, values=np.sort(values)[np.clip(rank, 0, number - 1)])


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
    look
        How it looks in every figure.
    wait, slowdown
        Waits in seconds, and bounded slowdowns, of all jobs that ended.
    queue_over_time, use
        The queue, and the share of each resource in use, over the window.
    by_size
        Waits by cores held.
    epoch
        Unix time of second 0, or None.
    """

    look: Look
    wait: Curve
    slowdown: Curve
    queue_over_time: Series | None
    use: Mapping[str, Series]
    by_size: BySize
    epoch: int | None


def read(run: Run, look: Look) -> RunData:
    """Return the data of a run for figures."""
    schedule = run.schedule
    window = busy_window(schedule)
    over_time = means(waiting(schedule), window, schedule.workload.epoch) if window else None
    schedule.let_go()
    use = _use(run, window)
    schedule.let_go()
    number = int(finished(schedule).sum())
    wait, width, slowdown = (shared(number)[0] for _ in range(3))
    slowdown = slowdown.view(np.float64)
    first = 0
    for _, part in schedule.parts():
        done = np.flatnonzero(finished(part))
        here = slice(first, first + len(done))
        submit = part.workload.submit[done]
        runtime, width[here] = (values[done] for values in nominal(part))
        wait[here] = jobs.wait(submit, began(part)[done])
        response = jobs.turnaround(submit, part.end[done])
        slowdown[here] = jobs.bounded_slowdown(response, runtime)
        for column in (wait, width, slowdown):
            let_go(column, here.start, here.stop)
        first = here.stop
    return RunData(
        look=look,
        wait=Curve.of(wait),
        slowdown=Curve.of(slowdown),
        queue_over_time=over_time,
        use=use,
        by_size=by_size(width, wait),
        epoch=schedule.workload.epoch,
    )


def bins(window: Window, points: int = _POINTS) -> int:
    """Return the seconds of the parts of a window over which means are taken: a round number."""
    return int(round_span(max(window.length / points, _SHORTEST)))


def means(
    quantity: StepFunction, window: Window, epoch: int | None = None, points: int = _POINTS
) -> Series:
    """Return the means of a quantity over parts of a window that begin at round moments."""
    step = bins(window, points)
    first = window.start + step - (window.start + (epoch or 0)) % step
    inner = np.arange(first, window.end, step)
    edges = np.concatenate([[window.start], inner, [window.end]]).astype(np.float64)
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


def _use(run: Run, window: Window | None) -> dict[str, Series]:
    """Return the share in use of each resource that the system has and some job asked for."""
    system = run.schedule.system
    shares = {}
    for kind, (name, total) in enumerate(zip(system.resources, system.total.tolist(), strict=True)):
        if window is not None and total and run.schedule.segments.amount[:, kind].any():
            series = means(used(run.schedule, kind), window, run.schedule.workload.epoch)
            shares[name] = Series(edges=series.edges, values=series.values / total)
            run.schedule.let_go()
    return shares


def busiest(schedule: Schedule, length: int = DAY) -> Window | None:
    """
    Return the day (or period of another length) with the longest queue on average.

    Days begin at midnight UTC where the log says when its second 0 was. A schedule shorter than
    that is returned whole; None if no job ran.
    """
    window = busy_window(schedule)
    if window is None or window.length <= length:
        return window
    offset = (window.start + (schedule.workload.epoch or 0)) % length
    edges = np.arange(window.start - offset, window.end + length, length)
    most = int(np.argmax(waiting(schedule).means(edges)))
    return Window(max(int(edges[most]), window.start), min(int(edges[most]) + length, window.end))
