"""
Simulations that continue from a present, each with its own future.

Nothing of the real future is in it: the caller sets the runtimes of unfinished jobs, and arriving
jobs are copies of past ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.engine.jobs_of import jobs_of
from cpsched.model import columns as c
from cpsched.model.arrays import immutable
from cpsched.model.jobtable import JobTable
from cpsched.model.prediction import Prediction, RuntimePredictor
from cpsched.model.schedule import JobOutcome, Outages
from cpsched.simulation.arrivals import JobStream
from cpsched.simulation.record import AllocationRecorder, DecisionRecorder
from cpsched.simulation.simulate import simulator_of
from cpsched.simulation.simulator import Phase
from cpsched.util.types import MISSING, Status

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from cpsched.engine.cluster import Cluster
    from cpsched.model.jobstore import JobStore
    from cpsched.simulation.settings import Settings
    from cpsched.simulation.simulator import Simulator
    from cpsched.simulation.work import Work
    from cpsched.systems.mapping import Fitted
    from cpsched.util.types import IntArray

_END, _RELEASE = int(Phase.END), int(Phase.RELEASE)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FutureJobs:
    """
    Jobs that may arrive after the present: m copies of past jobs.

    Attributes
    ----------
    like
        Handle of the past job that each one is a copy of, shape ``(m,)``.
    submit, runtime
        Seconds, shape ``(m,)``. Submits do not decrease and are after the present.
    """

    like: IntArray
    submit: IntArray
    runtime: IntArray

    @classmethod
    def none(cls) -> Self:
        """Return an empty set of future jobs."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(like=nothing, submit=nothing, runtime=nothing)


@dataclass(frozen=True, kw_only=True, eq=False)
class Present:
    """
    State of a system with its jobs and dispatcher at one second, from which simulations continue.

    K jobs have been submitted by then. It is valid until the next event.

    Attributes
    ----------
    now
        The present second.
    jobs
        The K jobs by handle, mapped onto their system. The runtimes of unfinished jobs are 0,
        because they are unknown.
    cluster
        Queue, running jobs and dispatcher.
    dispatcher, predictor
        Specifications of its dispatcher and predictor.
    settings
        Settings of a simulation that continues from here.
    outages
        Outages that are known by now.
    state
        The state of a simulator (:meth:`cpsched.simulation.simulator.Simulator.state`) with these
        jobs, without future ends.
    work
        Remaining work of the jobs. None if it follows from their starts alone.
    """

    now: int
    jobs: Fitted
    cluster: Cluster
    dispatcher: str
    predictor: str
    settings: Settings
    outages: Outages
    state: Mapping[str, Any]
    work: Work | None

    def __len__(self) -> int:
        return len(self.jobs.workload)

    @classmethod
    def of_simulator(
        cls,
        simulator: Simulator,
        fitted: Fitted,
        dispatcher: str,
        predictor: str,
        settings: Settings,
        *,
        now: int | None = None,
    ) -> Present:
        """
        Return the present of a simulation that has stopped after the events of a second.

        Parameters
        ----------
        fitted, dispatcher, predictor, settings
            The arguments of the simulation.
        now
            A later second, before the next event. By default the last simulated second.
        """
        saved = simulator.state()
        saved["now"] = now = simulator.now if now is None else now
        saved["cluster"]["now"] = now
        num = int(saved["next_submit"])
        for name in ("start_time", "end_time", "outcome"):
            saved[name] = saved[name][:num]
        events = saved["events"]
        saved["events"] = events[(events[:, 1] == _RELEASE) & (events[:, 3] < num)]
        return cls(
            now=now,
            jobs=_without_future(_taken(fitted, simulator.arrivals.workload_row[:num]), saved),
            cluster=simulator.cluster,
            dispatcher=dispatcher,
            predictor=predictor,
            settings=settings,
            outages=_known_by(simulator.outages, now),
            state=_memory(saved),
            work=simulator.work,
        )

    @classmethod
    def of_cluster(
        cls,
        cluster: Cluster,
        *,
        dispatcher: str,
        settings: Settings,
        predictor: str = "requested",
        ran: Mapping[int, int] | None = None,
        begin: Mapping[int, int] | None = None,
        dependency: Mapping[int, int] | None = None,
        outages: Outages | None = None,
        epoch: int | None = None,
    ) -> Present:
        """
        Return the present of a cluster that your own program runs.

        Parameters
        ----------
        dispatcher, predictor
            The specifications of the cluster's dispatcher and predictor.
        ran
            Runtimes of ended jobs in seconds, by handle. Omitted jobs never ran.
        begin, dependency
            For held jobs, by handle: the second until which they are held, and the jobs that they
            wait for. Other held jobs are assumed to be able to start at once.
        outages
            The known outages.
        epoch
            Unix time of second 0.
        """
        jobs = jobs_of(
            cluster,
            ran=ran or {},
            begin=begin or {},
            dependency=dependency or {},
            epoch=epoch,
        )
        num = len(jobs.workload)
        columns = cluster.machine.store.columns[:num]
        states = columns[:, c.STATE]
        ended, runtime = states == c.ENDED, jobs.workload.runtime
        began = states == c.RUNNING
        began[list(ran or ())] = True
        # Jobs that ran elsewhere have no start here.
        start = np.maximum(columns[:, c.START], columns[:, c.SUBMIT])
        end = np.where(began, start + runtime, cluster.now)
        became = np.where(began, int(JobOutcome.COMPLETED), int(JobOutcome.CANCELLED))
        saved: dict[str, Any] = {
            "now": cluster.now,
            "next_submit": num,
            "tick": -1,
            "start_time": np.where(began, start, MISSING),
            "end_time": np.where(ended, end, MISSING),
            "outcome": np.where(ended, became, int(JobOutcome.NOT_ENDED)),
            "events": _releases(states, jobs, cluster.now),
            "cluster": cluster.state(),
        }
        # The dispatcher may not have been called yet.
        wakes = saved["cluster"]["wakes"]
        saved["cluster"]["wakes"] = np.union1d(wakes, [cluster.now + 1])
        return cls(
            now=cluster.now,
            jobs=_without_future(jobs, saved),
            cluster=cluster,
            dispatcher=dispatcher,
            predictor=predictor,
            settings=settings,
            outages=Outages.none() if outages is None else outages,
            state=_memory(saved),
            work=None,
        )

    @property
    def table(self) -> JobTable:
        """The K submitted jobs, with the columns that a dispatcher sees."""
        return JobTable(self.cluster.machine.store, immutable(np.arange(len(self))))

    def in_state(self, *states: int) -> IntArray:
        """
        Return the handles of the jobs in some states, such as ``WAITING`` and ``HELD``.

        The states are constants of :mod:`cpsched.model.columns`.
        """
        return np.flatnonzero(np.isin(self.table.column(c.STATE), states))

    def elapsed(self, handles: IntArray) -> IntArray:
        """
        Return the runtime so far of running jobs, in seconds at their preferred numbers of tasks.
        """
        ran = [self.cluster.ran(handle, self.now) for handle in handles.tolist()]
        return np.array(ran, dtype=np.int64)

    def changed(self, handle: int, **columns: int) -> Present:
        """
        Return a present in which a waiting job has another request and the same place in the queue.

        Parameters
        ----------
        **columns
            Changed values by column of the workload: ``requested_time``, ``units``, ...
        """
        workload = self.jobs.workload
        new = {name: getattr(workload, name).copy() for name in columns}
        for name, value in columns.items():
            new[name][handle] = value
        state, cluster = dict(self.state), dict(self.state["cluster"])
        if "requested_time" in new:
            cluster["machine"] = _shorter(
                cluster["machine"],
                handle,
                int(workload.requested_time[handle]),
                int(new["requested_time"][handle]),
            )
        # The dispatcher has decided on the job as it was.
        cluster["wakes"] = np.union1d(cluster["wakes"], [self.now + 1]).astype(np.int64)
        state["cluster"] = cluster
        changed = replace(self.jobs, workload=workload.with_columns(**new))
        return replace(self, jobs=changed, state=state)

    def future(self, runtime: IntArray, future_jobs: FutureJobs) -> Simulator:
        """
        Return a simulation that continues from this present.

        Parameters
        ----------
        runtime
            Runtime of each job in seconds, shape ``(K,)``. That of a running job is more than its
            elapsed time. Those of ended jobs are ignored.
        future_jobs
            Jobs that arrive later.
        """
        arrivals = self._arrivals.followed_by(
            future_jobs.like, future_jobs.submit, np.concatenate([runtime, future_jobs.runtime])
        )
        simulator = self._built(arrivals, future_jobs)
        simulator.restore(self._restored(simulator, len(future_jobs.like)))
        return simulator

    @cached_property
    def _arrivals(self) -> JobStream:
        return JobStream(self.jobs)

    def _built(self, future: JobStream, future_jobs: FutureJobs) -> Simulator:
        store = self.cluster.machine.store
        estimates = store.columns[: len(self), c.RANKING_ESTIMATE : c.NUM_SUBMIT]
        predictor: str | RuntimePredictor = "requested"
        more = store.quantiles is not None or store.ends_within is not None
        if more or (estimates != self.table.requested_time[:, None]).any():
            predictor = _AsBefore(store, future_jobs.like, len(self))
        # The simulation can continue natively only with these.
        recorders = AllocationRecorder(len(self.jobs.system.resources)), DecisionRecorder()
        return simulator_of(
            future, self.dispatcher, predictor, self.settings, recorders, self.outages
        )

    def _restored(self, future: Simulator, num_future: int) -> dict[str, Any]:
        """Return the present as the state of a simulation with a future."""
        saved = dict(self.state)
        for name in ("start_time", "end_time", "outcome"):
            nothing = JobOutcome.NOT_ENDED if name == "outcome" else MISSING
            more = np.full(num_future, int(nothing), dtype=np.int64)
            saved[name] = np.concatenate([saved[name], more])
        work = future.work
        if self.work is not None:
            work = self.work.with_model(future.runtime_model, future.arrivals)
        machine, table = self.cluster.machine, self.table
        since, attempts = table.column(c.SINCE), table.column(c.ATTEMPTS)
        ends = [
            work.end(row, machine.allocation(row), int(since[row]), again=bool(attempts[row]))
            for row in self.in_state(c.RUNNING).tolist()
        ]
        events = np.zeros((len(ends), 4), dtype=np.int64)
        events[:, 0] = np.maximum(ends, self.now + 1)
        events[:, 1], events[:, 3] = _END, self.in_state(c.RUNNING)
        saved["events"] = events = np.concatenate([events, self.state["events"]])
        events[:, 2] = np.arange(len(events))
        saved["counter"] = len(events)
        saved["work"] = work.state()
        return saved


def _taken(fitted: Fitted, rows: IntArray) -> Fitted:
    """Return some of the jobs, none of them rejected."""
    return replace(
        fitted,
        workload=fitted.workload.take(rows),
        eligible_class=fitted.eligible_class[rows],
        rejected=(),
    )


def _without_future(jobs: Fitted, saved: Mapping[str, Any]) -> Fitted:
    """Hide the future of unfinished jobs."""
    workload, ended = jobs.workload, saved["outcome"] != JobOutcome.NOT_ENDED
    never = np.full(len(workload), MISSING, dtype=np.int64)
    nothing = np.zeros(len(workload), dtype=np.int64)
    return replace(
        jobs,
        workload=replace(
            workload,
            runtime=np.where(ended, workload.runtime, 0),
            status=np.where(ended, workload.status, int(Status.UNKNOWN)),
            recorded_start=never,
            # Future cancellations and requests for another size are unknown.
            cancel=never,
            evolve_after=nothing,
            evolve_to=nothing,
        ),
    )


def _memory(saved: dict[str, Any]) -> dict[str, Any]:
    """Drop state that a future does not need: the predictor is not called again."""
    cluster = {k: v for k, v in saved["cluster"].items() if k not in ("jobs", "ids")}
    saved.pop("observers", None)
    return {**saved, "cluster": {**cluster, "predictor": {}}}


def _releases(states: IntArray, jobs: Fitted, now: int) -> IntArray:
    """Return the events that release held jobs, but for those that wait for others."""
    releases = []
    begin, dependency = jobs.workload.begin, jobs.workload.dependency
    for row in np.flatnonzero(states == c.HELD).tolist():
        needed = int(dependency[row])
        if needed < 0 or states[needed] == c.ENDED:
            releases.append((max(int(begin[row]), now + 1), _RELEASE, 0, row))
    return np.array(releases, dtype=np.int64).reshape(-1, 4)


def _shorter(machine: Mapping[str, Any], row: int, before: int, limit: int) -> dict[str, Any]:
    """Return a machine's state in which a job's estimates go with another requested time."""
    columns = machine["columns"].copy()
    estimates = columns[row, : c.NUM_SUBMIT - c.RANKING_ESTIMATE]
    estimates[estimates == before] = limit
    np.minimum(estimates, limit, out=estimates)
    return {**machine, "columns": columns}


def _known_by(outages: Outages, now: int) -> Outages:
    """Return the outages that are known by a second."""
    # When one that was not announced will be over is not known: it is taken to last as long again.
    keep = outages.known <= now
    node, start, end, known = (
        getattr(outages, name)[keep] for name in ("node", "start", "end", "known")
    )
    announced = (known < start) | (end <= now)
    return Outages(
        node=node,
        start=start,
        end=np.where(announced, end, 2 * now - start + 1),
        known=known,
    )


class _AsBefore(RuntimePredictor):
    """Predicts for a job that comes again what was predicted for it before."""

    name = "as-before"

    def __init__(self, store: JobStore, like: IntArray, first: int) -> None:
        self._store, self._like, self._first = store, like, first

    def predict(self, jobs: JobTable, now: int) -> Prediction:  # noqa: ARG002
        """Return it."""
        rows, store = self._like[jobs.handle - self._first], self._store
        return Prediction(
            store.columns[rows, c.RANKING_ESTIMATE],
            store.columns[rows, c.RUNTIME_ESTIMATE],
            store.columns[rows, c.RUNTIME_BOUND],
            None if store.quantiles is None else store.quantiles[rows],
            None if store.ends_within is None else store.ends_within[rows],
        )
