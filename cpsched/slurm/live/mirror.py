"""The jobs of a live queue on a cluster, and the starts of a dispatcher there."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.errors import CpschedError, DispatchError, InfeasibleRequestError
from cpsched.model import columns as c
from cpsched.model.decision import Start
from cpsched.model.workload import MAX_NICE
from cpsched.slurm.dispatch.dispatcher import Slurm
from cpsched.slurm.live.dependencies import is_ready
from cpsched.slurm.live.live_cluster import LiveCluster
from cpsched.slurm.live.requests import may_start, request_of
from cpsched.util.spec import build
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cpsched.engine.encoder import Request
    from cpsched.model.system import System
    from cpsched.slurm.live.snapshot import LiveJob, Snapshot


class Stage(Enum):
    """The stage of a job in the mirror."""

    HELD = auto()
    """It waits for its begin time or for other jobs."""
    WAITING = auto()
    STARTED = auto()
    """The dispatcher has started it; it has not been seen running on its nodes."""
    RUNNING = auto()
    UNFIT = auto()
    """It can never run on the system, or asks for what is not modelled."""


@dataclass(slots=True)
class MirroredJob:
    """
    A job of the queue in the mirror.

    Attributes
    ----------
    row
        Its handle; -1 if it has none.
    why
        The reason why it is unfit.
    """

    job: LiveJob
    stage: Stage
    row: int = -1
    why: str = ""


class JobStart(NamedTuple):
    """A job to start, and its nodes."""

    key: str
    nodes: tuple[str, ...]


class PastJob(NamedTuple):
    """A job that has ended: its submit in Unix seconds, and how long it ran, seconds."""

    submit: int
    runtime: int
    request: Request


class LiveMirror:
    """
    A cluster with the jobs of a live queue.

    Waiting jobs selected by ``mine`` wait here. All others appear when they run.

    Parameters
    ----------
    system
        The nodes, by the names that Slurm has for them, and the partitions.
    dispatcher, predictor, seed
        As for :class:`~cpsched.engine.cluster.Cluster`.
    mine
        Whether a waiting job may be started.

    Attributes
    ----------
    known
        Every job that is in the queue or holds nodes, with its stage here.
    planned
        Planned starts of waiting jobs, Unix seconds; if the dispatcher plans.
    left_out
        Whether the last decision had a start whose nodes are taken.
    """

    def __init__(
        self,
        system: System,
        dispatcher: str,
        predictor: str = "requested",
        *,
        mine: Callable[[LiveJob], bool] = may_start,
        seed: int = 0,
    ) -> None:
        self.system, self.mine = system, mine
        self._dispatcher, self._predictor, self._seed = dispatcher, predictor, seed
        self._cluster: LiveCluster | None = None
        self.known: dict[str, MirroredJob] = {}
        self.planned: dict[str, int] = {}
        self.left_out = False

    @property
    def cluster(self) -> LiveCluster:
        """The cluster; it exists from the first snapshot on."""
        assert self._cluster is not None
        return self._cluster

    @property
    def epoch(self) -> int:
        """Unix time of the cluster's second 0."""
        return self.cluster.epoch

    def enter(self, snapshot: Snapshot, past: Sequence[PastJob] = ()) -> dict[int, int]:
        """
        Enter the jobs of a first snapshot, and before them jobs that have ended.

        Returns
        -------
        dict
            The runtimes of the jobs that have ended, by handle, without those that the system can
            never run.
        """
        jobs = [job for job in snapshot.jobs.values() if job.holds or self.mine(job)]
        first = min([snapshot.now, *(job.submit for job in jobs), *(job.submit for job in past)])
        self._cluster = LiveCluster(
            self.system, self._dispatcher, self._predictor, seed=self._seed, epoch=first
        )
        ran: dict[int, int] = {}
        coming: list[tuple[int, LiveJob | PastJob]] = [
            *((since(job), job) for job in jobs),
            *((job.submit, job) for job in past),
        ]
        for second, job in sorted(coming, key=lambda item: item[0]):
            if isinstance(job, PastJob):
                # The system may never be able to run it.
                with suppress(CpschedError):
                    row = self.cluster.submit(job.request, self.cluster.second(second))
                    ran[row] = job.runtime
            else:
                self._enter_job(job, snapshot)
        self._follow_nodes(snapshot)
        return ran

    def _follow_nodes(self, snapshot: Snapshot) -> None:
        now = self.cluster.second(snapshot.now)
        self.cluster.follow_nodes(snapshot.closed, snapshot.reserved, now)

    def _enter_job(self, job: LiveJob, snapshot: Snapshot) -> None:
        """Enter a job that runs or waits."""
        now = min(self.cluster.second(since(job)), self.cluster.second(snapshot.now))
        if job.holds:
            self.known[job.key] = MirroredJob(job, Stage.RUNNING, self.cluster.run(job, now))
            return
        ready = is_ready(job, snapshot)
        known = self.known[job.key] = MirroredJob(job, Stage.WAITING if ready else Stage.HELD)
        try:
            known.row = self.cluster.submit(
                request_of(job, self.system),
                now,
                job_id=job.key,
                held=not ready,
                submitted=job.submit - self.epoch,
            )
        except CpschedError as error:
            known.stage = Stage.UNFIT
            known.why = error.reason if isinstance(error, InfeasibleRequestError) else str(error)

    def follow_priorities(self) -> None:
        """
        Give the waiting jobs the priorities that Slurm gives them, before the first decision.

        Only under a site's own policy. The difference between Slurm's priority and the policy's,
        because of usage, age, a site factor or an operator, becomes a part of the job's nice value:
        from now on both change alike. Jobs whose priority is unknown, those that are held, have the
        policy's.
        """
        slurm = build("dispatchers", self._dispatcher)
        if not isinstance(slurm, Slurm):
            return
        priorities = {
            known.row: known.job.priority
            for known in self.known.values()
            if known.row >= 0 and known.job.waits and known.job.priority
        }
        rows, cluster = list(priorities), self.cluster
        slurm.passes.on_epoch(self.epoch)
        slurm.passes.reset(cluster.system, 0)
        store = cluster.machine.store
        below = slurm.passes.priorities(store, rows, cluster.now) - np.array([*priorities.values()])
        nice = store.columns[rows, c.NICE] + below
        # If priorities are of another magnitude than the policy's, the differences count.
        if nice.max(initial=0) > MAX_NICE:
            nice -= nice.max()
        nice += max(-MAX_NICE - int(nice.min(initial=0)), 0)
        store.writable[rows, c.NICE] = np.minimum(nice, MAX_NICE)

    def decide(self, now: int) -> list[JobStart]:
        """
        Call the dispatcher, and give the jobs that it starts their nodes here.

        A job whose nodes are taken, because Slurm fills those of the jobs before it in another way,
        is left out.

        Parameters
        ----------
        now
            Unix seconds.

        Raises
        ------
        DispatchError
            If the dispatcher breaks an invariant.
        """
        second, cluster = self.cluster.second(now), self.cluster
        known_of = {known.row: known for known in self.known.values() if known.row >= 0}
        decision = cluster.decide(second)
        starts = [action for action in decision.actions if isinstance(action, Start)]
        if len(starts) < len(decision.actions):
            raise DispatchError(
                f"{self._dispatcher} asks for actions other than starts, and on a live Slurm"
                " jobs can only start. Use another dispatcher."
            )
        if (plan := decision.planned_starts) is not None:
            planned = zip(plan.handle, plan.start, strict=True)
            self.planned = {known_of[row].job.key: self.epoch + int(at) for row, at in planned}
        chosen: list[JobStart] = []
        for number, start in enumerate(starts):
            if cluster.has_started(start, second, must=not number):
                known = known_of[start.handle]
                known.stage = Stage.STARTED
                nodes = map(cluster.system.node_names.__getitem__, start.allocation.node.tolist())
                chosen.append(JobStart(known.job.key, tuple(nodes)))
        self.left_out = len(chosen) < len(starts)
        return chosen


def since(job: LiveJob) -> int:
    """Return when a job came to where it is."""
    return job.start if job.holds and job.start != MISSING else job.submit
