"""Follows AccaSim's state from one dispatch to the next."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from accasim_adapter.jobs import predicted_of, request_of, status_of
from cpsched.errors import DispatchError, InfeasibleRequestError
from cpsched.model import columns as c
from cpsched.model.allocation import Allocation
from cpsched.model.decision import Start
from cpsched.util.types import Status
from cpsched.util.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accasim_adapter.package import Event
    from cpsched.engine.cluster import Cluster
    from cpsched.model.decision import Decision

    #: Second of the start or None, job, a node name for each unit.
    Answer = tuple[int | None, str, list[str]]


class AccasimMirror:
    """
    Keeps a cluster in step with AccaSim, from one dispatch to the next.

    Parameters
    ----------
    cluster
        The machine as cpsched knows it.
    manager
        AccaSim's resource manager.
    """

    def __init__(self, cluster: Cluster, manager: Any) -> None:
        self._cluster = cluster
        self._manager = manager
        self._node_of = {name: node for node, name in enumerate(cluster.system.node_names)}
        #: Waiting jobs by row, in queue order, and the answer that keeps each waiting.
        self._waiting: dict[int, Event] = {}
        self._answers: dict[int, Answer] = {}
        self._row_of: dict[str, int] = {}
        #: Row and job, in the order of starts.
        self._running: dict[str, tuple[int, Event]] = {}
        #: Jobs started by the last decision, and the nodes they were to get.
        self._started: list[tuple[Event, list[str]]] = []
        self._status: dict[str, int] = {}
        #: Whether a started job is waiting again.
        self._is_back = False

    # --- what has happened -----------------------------------------------------------------------

    def follow(self, now: int, jobs: list[Event]) -> dict[str, str]:
        """Record ends, failed starts, and submits; return jobs that can never run, and why."""
        allocated = self._manager.current_allocations
        self._follow_status()
        if self._started:
            self._check_starts()
        if self._running.keys() != allocated.keys():
            self._follow_ends(now, allocated, jobs)
            if len(self._running) != len(allocated):
                stranger = min(allocated.keys() - self._running.keys())
                raise DispatchError(
                    f"job {stranger} runs, but was not started by {self._cluster.dispatcher.name}:"
                    " other code starts jobs in this simulation"
                )
        known = len(self._waiting)
        if not self._is_back and jobs[:known] == [*self._waiting.values()]:
            return self._submit(jobs[known:], now)
        return self._follow_queue(jobs, now)

    def _follow_status(self) -> None:
        """Record nodes switched off and on."""
        # It has no public name for that.
        status: Mapping[str, int] = self._manager._resources._resources_status
        if status != self._status:
            if self._status or not all(status.values()):
                down = [self._node_of[name] for name, is_on in status.items() if not is_on]
                self._cluster.set_down(down)
            self._status = dict(status)

    def _check_starts(self) -> None:
        """Check whether the last starts took place as decided."""
        for job, nodes in self._started:
            row = self._row_of[job.id]
            if job.start_time is None:
                # AccaSim refused it, or other code removed it from the decision.
                self._cluster.failed(row, self._cluster.now)
                del self._running[job.id]
                self._is_back = True
            elif job.assigned_nodes is not nodes and list(job.assigned_nodes) != nodes:
                self._cluster.failed(row, self._cluster.now)
                self._cluster.start([Start(row, self._allocation(job, row))], self._cluster.now)
        self._started.clear()

    def _follow_ends(self, now: int, allocated: Mapping[str, Any], jobs: Sequence[Event]) -> None:
        """Record jobs that no longer hold nodes, in the order in which they ended."""
        cluster = self._cluster
        ended: list[tuple[int, int, Event]] = []
        for key in [key for key in self._running if key not in allocated]:
            row, job = self._running.pop(key)
            if job.end_time is None:
                self._lose(row, job, now, jobs)
            else:
                ended.append((job.end_time, row, job))
        # Equal ends in the order of their starts, as in the simulator.
        ended.sort(key=itemgetter(0))
        for end, of_second in groupby(ended, itemgetter(0)):
            for _, row, job in of_second:
                cluster.end(row, end, status=status_of(job))
                del self._row_of[job.id]
            # AccaSim calls no dispatcher while no job waits, but some learn from ends when they
            # happen. There is nothing they could start.
            if end < now and cluster.dispatcher.acts_when_idle and not cluster.machine.num_waiting:
                cluster.decide(end)

    def _lose(self, row: int, job: Event, now: int, jobs: Sequence[Event]) -> None:
        """Record a job that other code removed from its nodes before its end."""
        if any(job is other for other in jobs):
            self._cluster.failed(row, now)
            self._is_back = True
        else:
            self._cluster.end(row, now, status=Status.CANCELLED)
            del self._row_of[job.id]

    def _follow_queue(self, jobs: Sequence[Event], now: int) -> dict[str, str]:
        """Update the queue if it is not the old one with new jobs at its end."""
        self._is_back = False
        queued = {job.id for job in jobs}
        for row, job in self._waiting.items():
            if job.id not in queued:
                del self._row_of[job.id]
                self._cluster.cancel(row, now)
        old = {self._row_of[job.id]: job for job in jobs if job.id in self._row_of}
        self._waiting = dict(sorted(old.items()))
        self._answers = {row: (None, job.id, []) for row, job in self._waiting.items()}
        return self._submit([job for job in jobs if job.id not in self._row_of], now)

    def _submit(self, jobs: Sequence[Event], now: int) -> dict[str, str]:
        rejected = {}
        cluster = self._cluster
        for job in jobs:
            left = predicted_of(job)
            try:
                request = request_of(job, cluster.system)
                row = cluster.submit(
                    request, now, job_id=job.id, predicted=None if left is None else left.answers
                )
            except InfeasibleRequestError as error:
                rejected[job.id] = error.reason
                continue
            self._row_of[job.id] = row
            self._waiting[row] = job
            self._answers[row] = (None, job.id, [])
        return rejected

    # --- what follows ----------------------------------------------------------------------------

    def is_news(self, now: int) -> bool:
        """Whether anything has happened for which a dispatcher would be called."""
        if self._waiting or self._cluster.dispatcher.acts_when_idle:
            return self._cluster.is_due(now)
        self._cluster.prepare(now)
        return False

    def postponed(self) -> list[Answer]:
        """Return the answers that leave all jobs waiting."""
        return [*self._answers.values()]

    def decide(self, now: int) -> list[Answer]:
        """Call the dispatcher; return starts in its order, then the other jobs in queue order."""
        decision = self._cluster.decide(now)
        wake = self._cluster.next_wake
        answers = [*self._start(decision, now), *self._answers.values()]
        if wake is not None and self._answers:
            # AccaSim wakes up at the second given by a postponed job.
            answers[-1] = (wake, answers[-1][1], [])
        return answers

    def _start(self, decision: Decision, now: int) -> list[Answer]:
        if not decision.actions:
            return []
        cluster = self._cluster
        starts: list[Start] = list(decision.actions)  # type: ignore[arg-type]
        cluster.start(starts, now)
        answers: list[Answer] = []
        for row, allocation in starts:
            job = self._waiting.pop(row)
            del self._answers[row]
            nodes = cluster.node_names(allocation)
            answers.append((now, job.id, nodes))
            self._running[job.id] = (row, job)
            self._started.append((job, nodes))
        return answers

    def check_not_stuck(self, num_loaded: int) -> None:
        """Raise DispatchError if jobs wait, nothing runs, and no submits are left."""
        if self._running or self._cluster.next_wake is not None or not self._waiting:
            return
        if all(self._status.values()) and num_loaded == len(self._waiting):
            first = next(iter(self._waiting.values()))
            raise DispatchError(
                f"{self._cluster.dispatcher.name} deadlocked:"
                f" {counted(len(self._waiting), 'job')} waiting (the first is job {first.id}),"
                " none running, no submissions left"
            )

    def _allocation(self, job: Event, row: int) -> Allocation:
        """Return what a job holds on its nodes according to AccaSim."""
        nodes, units = np.unique(
            [self._node_of[name] for name in job.assigned_nodes], return_counts=True
        )
        store = self._cluster.machine.store
        kinds = len(store.resources)
        request = store.shapes[store.columns[row, c.SHAPE], c.SHAPE_REQUEST :][:kinds]
        return Allocation(
            nodes.astype(np.int64), units.astype(np.int64), units[:, None] * request[None, :]
        )
