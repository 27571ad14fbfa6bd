"""A finished simulation: its schedule, its metrics, and how it shows itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.metrics.columns import job_columns, job_measures
from cpsched.metrics.definitions import leading, leading_text
from cpsched.metrics.jobs import wait
from cpsched.metrics.outcomes import in_words
from cpsched.metrics.summary import summarize
from cpsched.metrics.waits import began
from cpsched.metrics.window import finished
from cpsched.model import columns as c
from cpsched.model.arrays import move, put_away
from cpsched.model.schedule import JobOutcome, Schedule
from cpsched.util import registry
from cpsched.util.arrow import data_frame
from cpsched.util.types import MISSING
from cpsched.util.words import brief, counted, duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.figure import Figure

    from cpsched.simulation.record import AllocationRecorder
    from cpsched.simulation.settings import Settings
    from cpsched.simulation.simulator import Simulator
    from cpsched.systems.mapping import Fitted
    from cpsched.util.types import IntArray

#: Columns of a run's data frame that are moments.
_TIMES = ("submit", "start", "end")
#: Order of the first columns: a job's properties before its outcome.
_FIRST = ("job_id", "user", "group", "queue", "name", "units", "cores", "num_nodes", "nodes")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Run:
    """
    Result of a simulation: the schedule, its settings and counts.

    Attributes
    ----------
    dispatcher, predictor
        Canonical specifications, or the name of an object without one.
    schedule
        Starts, ends and nodes of all jobs.
    decisions, predictions
        Counts by name, from the dispatcher and from the predictor. Equal runs have equal counts.
    provenance
        Basis of the predictions besides the predictor's options, such as the hash of a model file.
    timing
        Wall-clock and CPU seconds of the simulation by part.
    """

    dispatcher: str
    predictor: str
    settings: Settings
    schedule: Schedule
    decisions: Mapping[str, Any]
    predictions: Mapping[str, int]
    timing: Mapping[str, float]
    provenance: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def summary(self) -> Mapping[str, Any]:
        """All metrics of the run, see :func:`~cpsched.metrics.summary.summarize`."""
        return summarize(self.schedule)

    @cached_property
    def metrics(self) -> Mapping[str, int | float | None]:
        """
        The main metrics by name, such as ``run.metrics["wait_mean_s"]`` and ``["wait_max_s"]``.

        Times are in seconds. None if there is nothing to measure, for example no job that ran.
        """
        return leading(self.summary)

    def to_pandas(self) -> pd.DataFrame:
        """
        Return the jobs as a data frame, one row per job in submit order.

        Returns
        -------
        pandas.DataFrame
            The columns of ``jobs.parquet``, and ``user``, ``group``, ``queue``, ``name``,
            ``cores``, ``turnaround``, ``bounded_slowdown`` and ``recorded_wait``. ``submit``,
            ``start`` and ``end`` are timestamps (UTC), or time deltas since second 0 if the log
            does not have its date. All other times are seconds. Jobs that never started have
            neither start nor wait (NaT and NaN).

        Raises
        ------
        ConfigError
            If pandas is not installed.
        """
        columns = job_columns(self.schedule) | job_measures(self.schedule)
        ordered = {name: columns[name] for name in dict.fromkeys((*_FIRST, *columns))}
        return data_frame(ordered, times=_TIMES, epoch=self.schedule.workload.epoch)

    def plot(self, kind: str = "wait", **options: Any) -> Figure:
        """
        Return a figure of the run, which notebooks show. ``figure.savefig(path)`` writes it.

        Parameters
        ----------
        kind
            ``wait``, ``slowdown`` (all jobs, by percentile), ``size`` (mean waits by cores of a
            job), ``queue``, ``use`` (over time) or ``schedule`` (the nodes on the busiest day).
        options
            Options of the figure. For ``use`` the resource type: ``resource="gpu"``.

        Raises
        ------
        ConfigError
            If there is no such figure, no job ran, or matplotlib is not installed.
        """
        figure: Figure = registry.load("plots", kind)(self, **options)
        return figure

    def __repr__(self) -> str:
        waits = self._waits()
        summary = "0 completed jobs"
        if len(waits):
            mean, longest = duration(float(waits.mean())), duration(int(waits.max()))
            summary = f"mean wait {mean}, longest {longest}"
        number = counted(len(self.schedule.workload), "job")
        return f"<{type(self).__name__} {self._title()}: {number}, {summary}>"

    def _repr_html_(self) -> str:
        """Return the leading metrics as a small table, for notebooks."""
        number = counted(len(self.schedule.workload), "job")
        outcomes = self.summary["outcomes"]
        parts = [f"{item['jobs']:,} {in_words(name)}"
                 for name, item in outcomes.items() if name != "completed"]  # fmt: skip
        caption = ", ".join([f"{self._title()}: {number}", *parts])
        return f"<pre>{escape(caption)}\n\n{escape(leading_text(self.summary))}</pre>"

    def _title(self) -> str:
        """Return what ran where, on one line whatever it is called."""
        with_ = "" if self.predictor == "requested" else f" with {brief(self.predictor, 60)}"
        return f"{brief(self.dispatcher, 60)}{with_} on {brief(self.schedule.system.name, 40)}"

    def _waits(self) -> Any:
        """Return the waits of the jobs that ran to an end, seconds."""
        done = finished(self.schedule)
        return wait(self.schedule.workload.submit[done], began(self.schedule)[done])


def schedule_of(fitted: Fitted, simulator: Simulator, allocations: AllocationRecorder) -> Schedule:
    """Return the result of a simulation, by row of the workload."""
    arrivals, store = simulator.arrivals, simulator.machine.store
    rows = arrivals.workload_row

    def by_row(values: IntArray) -> IntArray:
        full = np.full(len(fitted.workload), MISSING, dtype=np.int64)
        if fitted.rejected:
            full[rows[: len(values)]] = values
        else:
            move(values, full)
        column: IntArray = put_away(full)
        return column

    def estimate(column: int) -> IntArray:
        values = by_row(store.columns[: store.size, column])
        requested = fitted.workload.requested_time
        # One array for all that are the requested time.
        return requested if np.array_equal(values, requested) else values

    outcome = by_row(simulator.outcome)
    outcome[outcome == MISSING] = JobOutcome.REJECTED
    return Schedule(
        workload=fitted.workload,
        system=fitted.system,
        start=by_row(simulator.start_time),
        end=by_row(simulator.end_time),
        outcome=outcome,
        ranking_estimate=estimate(c.RANKING_ESTIMATE),
        runtime_estimate=estimate(c.RUNTIME_ESTIMATE),
        runtime_bound=estimate(c.RUNTIME_BOUND),
        segments=allocations.segments(rows, simulator.end_time, simulator.now),
        rejected=dict(fitted.rejected),
        overrun=str(simulator.overrun),
        outages=simulator.outages,
        never_started={int(rows[row]): why for row, why in simulator.why_never().items()},
    )
