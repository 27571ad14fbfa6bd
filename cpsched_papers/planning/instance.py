"""One static instance: which jobs, for how long, on what; and what a plan of it is worth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cpsched.api.dispatchers import FirstFit, pooled_demand
from cpsched.api.errors import ConfigError
from cpsched.api.kernels import pool
from cpsched.api.model import MISSING
from cpsched.api.simulation import Arrivals, Cluster
from cpsched.api.tools import build

if TYPE_CHECKING:
    from cpsched.api.dispatchers import Dispatcher
    from cpsched.api.logs import Fitted
    from cpsched.api.model import FloatArray, IntArray, View


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Instance:
    """
    The n jobs to be planned, in workload order; none of them is rejected.

    Attributes
    ----------
    fitted
        All jobs on their system, every one submitted at its release.
    cluster
        Where all of them wait at second 0, free of begin times and dependencies.
    view
        What the dispatcher is shown there: the empty machine, every job waiting.
    row
        Row of the workload of each job, shape ``(n,)``; positions here are handles.
    release, duration
        Seconds before which a job cannot start, and for which it is planned (at least 1).
    demand
        What each job takes of the machine at least, shape ``(n, R)``.
    expected_wait
        Of the job's queue, seconds; -1 where the system names none.
    """

    fitted: Fitted
    cluster: Cluster
    view: View
    row: IntArray
    release: IntArray
    duration: IntArray
    demand: IntArray
    expected_wait: IntArray

    def __len__(self) -> int:
        return len(self.row)

    def mean_slowdown(self, start: IntArray) -> float:
        """Return the mean of ``(s - release + d) / d``."""
        values: FloatArray = (start - self.release + self.duration) / self.duration
        return float(values.mean())

    def mean_weighted_wait(self, start: IntArray) -> float | None:
        """Return the mean of ``(E / ewt) (s - release)``, seconds; None without expected waits."""
        if (self.expected_wait < 1).any():
            return None
        known = [queue.expected_wait for queue in self.fitted.system.queues.values()]
        largest = max([wait for wait in known if wait] + [self._default])
        return float((largest / self.expected_wait * (start - self.release)).mean())

    def objective(self, name: str | None, start: IntArray) -> float | None:
        """Return the mean of what is minimised: by default the slowdown."""
        if name == "expected-wait":
            return self.mean_weighted_wait(start)
        return self.mean_slowdown(start)

    @property
    def _default(self) -> int:
        return self.fitted.system.default_expected_wait or int(self.expected_wait.max())

    def list_plan(self) -> IntArray:
        """
        Return the starts of the list plan, shape ``(n,)``.

        Each job in turn, in the dispatcher's own order of the queue (that of submits where it has
        none), at the first time it fits behind those before it, on the machine as one pool, with
        all jobs there at once.
        """
        order, rows = self.cluster.dispatcher.ranking(self.view), self.view.waiting.rows
        starts: IntArray = pool.list_plan(
            np.arange(len(rows)) if order is None else np.searchsorted(rows, order),
            self.duration,
            self.demand,
            np.zeros(len(rows), dtype=np.int64),
            np.zeros(1, dtype=np.int64),
            np.array(self.view.free.sum(axis=0)[None]),
        )
        return starts

    def makespan(self, start: IntArray) -> int:
        """Return the last planned end less the first release, seconds."""
        return int((start + self.duration).max() - self.release.min())


def instance_of(
    fitted: Fitted,
    predictor: str,
    dispatcher: str | Dispatcher = "fifo",
    *,
    keep_submits: bool = False,
    seed: int = 0,
) -> Instance:
    """
    Return the static instance of a workload.

    Parameters
    ----------
    predictor
        Gives the durations; asked about all jobs at once, before any has run.
    dispatcher
        Of the instance's cluster.
    keep_submits
        Whether jobs cannot start before they are submitted; otherwise all are there at second 0.

    Raises
    ------
    ConfigError
        If no job can run here.
    """
    rejected = np.zeros(len(fitted.workload), dtype=np.bool_)
    rejected[[row for row, _ in fitted.rejected]] = True
    row = np.flatnonzero(~rejected).astype(np.int64)
    if not len(row):
        raise ConfigError(
            f"none of the {len(fitted.workload):,} jobs can run on this system: there is nothing to"
            " plan"
        )
    workload = fitted.workload
    first = int(workload.submit[row[0]])
    shifted = workload.with_columns(submit=np.maximum(workload.submit - first, 0))
    no_begin = np.full_like(workload.begin, MISSING)
    at_once = workload.with_columns(submit=np.zeros_like(workload.submit), begin=no_begin)
    free = at_once.with_columns(dependency=np.full_like(workload.dependency, -1))
    cluster = cluster_of(replace(fitted, workload=free), predictor, dispatcher, seed)
    view = cluster.view(0)
    allocator = FirstFit()
    allocator.reset(view.system)
    return Instance(
        fitted=replace(fitted, workload=shifted if keep_submits else at_once),
        cluster=cluster,
        view=view,
        row=row,
        release=(shifted if keep_submits else at_once).submit[row],
        duration=np.maximum(view.waiting.runtime_estimate, 1),
        demand=pooled_demand(view, view.waiting, allocator),
        expected_wait=view.waiting.expected_wait,
    )


def cluster_of(
    fitted: Fitted, predictor: str, dispatcher: str | Dispatcher = "fifo", seed: int = 0
) -> Cluster:
    """Return an empty machine where all jobs that can run wait at second 0, by handle."""
    arrivals = Arrivals(fitted)
    predicts = build("predictors", predictor, truth=lambda handle: arrivals.runtime[handle])
    cluster = Cluster(
        fitted.system,
        dispatcher,
        predicts,
        seed=seed,
        epoch=fitted.workload.epoch,
        name_of=arrivals.job_id,
        may_change=False,
    )
    store = cluster.machine.store
    arrivals.enter(store, 0, len(arrivals))
    cluster.admit(0, len(arrivals), 0, classes=arrivals.eligible(store))
    return cluster
