"""A cluster that follows a live queue from snapshot to snapshot."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields, replace
from enum import Enum, auto
from typing import TYPE_CHECKING

from cpsched.api.errors import (
    CpschedError,
    DispatchError,
    InfeasibleRequestError,
    taking_up,
)
from cpsched.api.model import MISSING, Start, Status
from cpsched.api.model import columns as c
from cpsched.api.simulation import checkpoint
from slurm_adapter.live.dependencies import is_ready
from slurm_adapter.live.live_cluster import LiveCluster
from slurm_adapter.live.requests import YEAR, request_of
from slurm_adapter.live.snapshot import LiveJob

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from cpsched.api.model import System
    from slurm_adapter.live.snapshot import Snapshot

_STATUS = {
    "COMPLETED": Status.COMPLETED,
    "TIMEOUT": Status.TIMEOUT,
    "CANCELLED": Status.CANCELLED,
    "PREEMPTED": Status.PREEMPTED,
}
#: What a waiting job asks for: if any of it changes, the job is entered again.
_ASKED = tuple(
    item.name
    for item in fields(LiveJob)
    if item.name not in ("state", "reason", "number", "eligible", "start", "end", "held", "placed")
    and item.name not in ("nodes", "comment", "admin_comment", "dependency", "priority")
)
#: What a job holds: if any of it changes, it has another run.
_HELD = ("nodes", "cpus", "start", "time_limit")

#: Ended jobs are dropped with more jobs than this, and this many times the number of open ones.
MOST_ROWS, _ROWS_A_JOB = 20_000, 4


class Stage(Enum):
    """The stage of a job in the mirror."""

    HELD = auto()
    """It waits for its begin time or for other jobs."""
    WAITING = auto()
    ORDERED = auto()
    """It holds its nodes here, but has not been seen running there."""
    RUNNING = auto()
    UNFIT = auto()
    """It can never run on the system, or asks for what is not modelled."""


@dataclass(slots=True)
class Known:
    """
    What is known about a job.

    Attributes
    ----------
    row
        Its handle; -1 if it has none.
    why
        Why it is unfit.
    """

    job: LiveJob
    stage: Stage
    row: int = -1
    why: str = ""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A job to start, and its nodes."""

    key: str
    nodes: tuple[str, ...]


class Mirror:
    """
    Keeps a cluster in step with a live Slurm.

    Waiting jobs selected by ``mine`` wait here. All others appear when they run.

    Parameters
    ----------
    system
        The nodes, by the names that Slurm has for them, and the partitions.
    dispatcher, predictor, seed
        As for :class:`~cpsched.engine.cluster.Cluster`.
    mine
        Whether a waiting job is ours to start.

    Attributes
    ----------
    known
        Every job that is in the queue or holds nodes, with its stage here.
    specs
        Dispatcher and predictor.
    planned
        Planned starts of waiting jobs, Unix seconds; if the dispatcher plans.
    """

    def __init__(
        self,
        system: System,
        dispatcher: str,
        predictor: str = "requested",
        *,
        mine: Callable[[LiveJob], bool] = lambda _: True,
        seed: int = 0,
    ) -> None:
        self.system = system
        self.mine = mine
        self.specs = (dispatcher, predictor)
        self._seed = seed
        self._cluster: LiveCluster | None = None
        self.known: dict[str, Known] = {}
        self.planned: dict[str, int] = {}
        #: Jobs that were not started although the dispatcher selected them: call it again.
        self._left = False

    @property
    def cluster(self) -> LiveCluster:
        """The cluster; it exists from the first snapshot on."""
        assert self._cluster is not None
        return self._cluster

    @property
    def epoch(self) -> int:
        """Unix time of the cluster's second 0."""
        return self.cluster.epoch

    # --- what has happened -----------------------------------------------------------------------

    def follow(self, snapshot: Snapshot, ended: Mapping[str, LiveJob] | None = None) -> None:
        """
        Record everything that differs from the last snapshot.

        Parameters
        ----------
        ended
            Outcomes of jobs that have left, if known.
        """
        jobs = snapshot.jobs.values()
        if self._cluster is None:
            self._cluster = self._made(min([snapshot.now, *(job.submit for job in jobs)]))
        self._forget_gone(snapshot, ended or {})
        if self._is_large():
            self._begin_anew()
        entering = [job for job in jobs if not self._goes_on(job, snapshot)]
        for job in sorted(entering, key=_since):
            if job.holds or self.mine(job):
                self._enter(job, snapshot)
        now = self.cluster.second(snapshot.now)
        self.cluster.follow_nodes(snapshot.closed, snapshot.reserved, now)

    def gone(self, snapshot: Snapshot) -> list[str]:
        """Return the jobs that held nodes and are no longer in a snapshot."""
        stages = (Stage.RUNNING, Stage.ORDERED)
        return [
            key
            for key, known in self.known.items()
            if key not in snapshot.jobs and known.stage in stages
        ]

    def _made(self, epoch: int) -> LiveCluster:
        return LiveCluster(self.system, *self.specs, seed=self._seed, epoch=epoch)

    def _is_large(self) -> bool:
        """Whether by far most jobs here have ended, and all others can be entered again."""
        rows = self.cluster.machine.store.size
        ordered = any(known.stage is Stage.ORDERED for known in self.known.values())
        return rows > max(MOST_ROWS, _ROWS_A_JOB * len(self.known)) and not ordered

    def _begin_anew(self) -> None:
        """
        Drop the ended jobs: a new cluster, with what the predictor has learnt.

        The jobs in the queue and on nodes are entered again, each at its submit. A dispatcher's
        state about single jobs is not kept, because their handles change.
        """
        fresh = self._made(self.epoch)
        fresh.learn_from(self.cluster)
        self._cluster, self.known = fresh, {}

    def _forget_gone(self, snapshot: Snapshot, ended: Mapping[str, LiveJob]) -> None:
        ends = {}
        for key in self.known:
            if key not in snapshot.jobs:
                end = ended[key].end if key in ended else MISSING
                ends[key] = min(end if end > 0 else snapshot.now, snapshot.now)
        for key in sorted(ends, key=ends.__getitem__):
            known = self.known.pop(key)
            second = self.cluster.second(ends[key])
            if known.row >= 0 and self.cluster.machine.is_in(known.row, c.RUNNING):
                state = ended[key].state if key in ended else "COMPLETED"
                status = _STATUS.get(state, Status.FAILED)
                self.cluster.end(known.row, second, status=status, killed=state == "TIMEOUT")
            else:
                self._leave(known, second)

    def _leave(self, known: Known, now: int) -> None:
        """Remove a job that has not ended from the cluster; nothing is learnt from it."""
        if known.row >= 0:
            self.cluster.leave(known.row, now)
            known.row = -1

    def _goes_on(self, job: LiveJob, snapshot: Snapshot) -> bool:
        """Record the fate of a job; return False if it has to enter (again)."""
        known, now = self.known.get(job.key), self.cluster.second(snapshot.now)
        if known is None:
            return False
        old, known.job = known.job, job
        if job.holds and known.stage is Stage.RUNNING:
            stays = _same(_HELD, old, job)
        elif job.holds:
            stays = self._confirm(known)
        elif known.stage is Stage.ORDERED:
            stays = True
        else:
            # Otherwise requeued, released by someone else, or changed.
            ran = known.stage is Stage.RUNNING
            stays = not ran and self.mine(job) and _same(_ASKED, old, job)
        if not stays:
            self._leave(known, now)
            del self.known[job.key]
        elif known.stage is Stage.HELD and is_ready(job, snapshot):
            self.cluster.release(known.row, now)
            known.stage = Stage.WAITING
        return stays

    def _enter(self, job: LiveJob, snapshot: Snapshot) -> None:
        now = min(self.cluster.second(_since(job)), self.cluster.second(snapshot.now))
        if job.holds:
            row = self.cluster.run(job, now, self._displace)
            self.known[job.key] = Known(job, Stage.RUNNING, row)
            return
        ready = is_ready(job, snapshot)
        known = self.known[job.key] = Known(job, Stage.WAITING if ready else Stage.HELD)
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

    # --- what jobs hold --------------------------------------------------------------------------

    def _displace(self, nodes: set[int], now: int) -> None:
        """Remove jobs from nodes on which they have not been seen running."""
        for known in self.known.values():
            if known.stage is Stage.ORDERED and known.row >= 0:
                held = self.cluster.machine.allocation(known.row).node
                if not nodes.isdisjoint(held.tolist()):
                    self._leave(known, now)

    def _confirm(self, known: Known) -> bool:
        """Record that a waiting or ordered job runs; return whether it runs as ordered."""
        if known.stage is not Stage.ORDERED or known.row < 0:
            return False
        if self.cluster.runs_as_told(known.row, known.job):
            known.stage = Stage.RUNNING
        return known.stage is Stage.RUNNING

    # --- what follows ----------------------------------------------------------------------------

    def decide(
        self, now: int, *, most: int | None = None, most_of_user: int | None = None
    ) -> list[Chosen]:
        """
        Call the dispatcher, and give its starts their nodes here.

        Parameters
        ----------
        now
            Unix seconds.
        most, most_of_user
            Most jobs to start, in all and of each user; None: any number.

        Raises
        ------
        DispatchError
            If the dispatcher breaks an invariant.
        """
        second, cluster = self.cluster.second(now), self.cluster
        if not (cluster.is_due(second) or self._left):
            return []
        self._left = False
        known_of = {known.row: known for known in self.known.values() if known.row >= 0}
        decision = cluster.decide(second)
        starts = [action for action in decision.actions if isinstance(action, Start)]
        if len(starts) < len(decision.actions):
            raise DispatchError(f"{self.specs[0]} asks for more than starts on a live Slurm")
        if (plan := decision.planned_starts) is not None:
            planned = zip(plan.handle, plan.start, strict=True)
            self.planned = {known_of[row].job.key: self.epoch + int(at) for row, at in planned}
        chosen: list[Chosen] = []
        of_user: Counter[str] = Counter()
        for number, start in enumerate(starts):
            if most is not None and number >= most:
                self._left = True
                break
            known = known_of[start.handle]
            of_user[known.job.user] += 1
            if most_of_user is not None and of_user[known.job.user] > most_of_user:
                self._left = True
                continue
            if not cluster.has_started(start, second, must=not number):
                # Jobs before it are placed a little differently from the decision.
                self._left = True
                continue
            known.stage = Stage.ORDERED
            chosen.append(Chosen(known.job.key, cluster.names(start.allocation)))
        return chosen

    def undo(self, key: str, now: int) -> None:
        """Record that a start that was decided does not take place."""
        known = self.known.get(key)
        if known is None or known.stage is not Stage.ORDERED:
            return
        if known.row < 0:
            # It enters again with the next snapshot.
            del self.known[key]
        else:
            self.cluster.failed(known.row, self.cluster.second(now))
            known.stage = Stage.WAITING

    def adopt(self, job: LiveJob, nodes: Sequence[str], now: int) -> None:
        """Record that a job was ordered to nodes earlier, and has not been seen running."""
        known = self.known.pop(job.key, None)
        if known is not None:
            self._leave(known, self.cluster.second(now))
        end = now + (YEAR if job.time_limit < 0 else job.time_limit)
        there = replace(job, start=now, end=end, nodes=tuple(nodes), placed=())
        row = self.cluster.run(there, self.cluster.second(now), self._displace)
        self.known[job.key] = Known(job, Stage.ORDERED, row)

    # --- saving ----------------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        """Write what the predictor has learnt, and all that belongs to it, or nothing."""
        if self._cluster is not None:
            saved = {"epoch": self.epoch, "cluster": self.cluster.state()}
            checkpoint.write(path, self._identity(), saved)

    def load(self, path: Path) -> None:
        """
        Learn what another mirror knew that was saved; jobs are entered again, as they are then.

        Raises
        ------
        RunError
            If it is damaged, or of another system, dispatcher or predictor.
        """
        saved = checkpoint.read(path, self._identity())
        with taking_up("what a predictor has learnt"):
            old = self._made(int(saved["epoch"]))
            old.restore(saved["cluster"])
            fresh = self._made(old.epoch)
            fresh.learn_from(old)
        self._cluster = fresh

    def _identity(self) -> str:
        return f"live {self.specs} seed {self._seed} system {self.system.digest()}"


def _since(job: LiveJob) -> int:
    """Return when a job came to where it is."""
    return job.start if job.holds and job.start != MISSING else job.submit


def _same(names: Sequence[str], one: LiveJob, other: LiveJob) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in names)
