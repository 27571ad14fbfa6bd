"""A cluster that follows the queue of a sandbox from poll to poll."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from cpsched.errors import RunError
from cpsched.model import columns as c
from cpsched.slurm.live.dependencies import is_ready
from cpsched.slurm.live.mirror import LiveMirror, Stage, since
from cpsched.slurm.live.snapshot import LiveJob, Snapshot
from cpsched.util.types import MISSING, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.system import System
    from cpsched.slurm.live.mirror import JobStart, MirroredJob

_STATUS = {
    "COMPLETED": Status.COMPLETED,
    "TIMEOUT": Status.TIMEOUT,
    "CANCELLED": Status.CANCELLED,
    "PREEMPTED": Status.PREEMPTED,
}
#: Not part of the request of a waiting job; a change of anything else is another request.
_NOT_ASKED = (
    *("state", "reason", "number", "eligible", "start", "end", "held", "placed", "nodes"),
    *("dependency", "priority"),
)
_ASKED = tuple(item.name for item in fields(LiveJob) if item.name not in _NOT_ASKED)


class Follower(LiveMirror):
    """
    A cluster that follows the queue of a sandbox.

    Held jobs wait here; a job that the dispatcher starts has its nodes here before Slurm shows it.

    Parameters
    ----------
    system, dispatcher, predictor, seed
        As for :class:`~cpsched.slurm.live.mirror.LiveMirror`.
    """

    def __init__(
        self, system: System, dispatcher: str, predictor: str = "requested", *, seed: int = 0
    ) -> None:
        super().__init__(system, dispatcher, predictor, mine=_is_held, seed=seed)
        #: The nodes decided of jobs that have started.
        self._decided: dict[str, tuple[str, ...]] = {}

    def gone(self, snapshot: Snapshot) -> list[str]:
        """Return the jobs that are no longer in a snapshot."""
        return [key for key in self.known if key not in snapshot.jobs]

    def follow(self, snapshot: Snapshot, ended: Mapping[str, LiveJob]) -> None:
        """
        Record everything that differs from the last snapshot.

        Parameters
        ----------
        ended
            Outcomes of the jobs that have left.

        Raises
        ------
        RunError
            If a job runs on other nodes than those decided.
        """
        if self._cluster is None:
            self.enter(snapshot)
            return
        self._end(snapshot, ended)
        entering = [job for job in snapshot.jobs.values() if not self._is_followed(job, snapshot)]
        for job in sorted(entering, key=since):
            if job.holds or self.mine(job):
                self._enter_job(job, snapshot)
        self._follow_nodes(snapshot)

    def _end(self, snapshot: Snapshot, ended: Mapping[str, LiveJob]) -> None:
        """Let the jobs end that have left the queue."""
        ends = {}
        for key in self.gone(snapshot):
            end = ended[key].end if key in ended else MISSING
            ends[key] = min(end if end > 0 else snapshot.now, snapshot.now)
        for key in sorted(ends, key=ends.__getitem__):
            known = self.known.pop(key)
            if (job := ended.get(key)) is not None and job.nodes:
                self._check_nodes(known, job)
            second = self.cluster.second(ends[key])
            if known.row >= 0 and self.cluster.machine.is_in(known.row, c.RUNNING):
                state = "COMPLETED" if job is None else job.state
                status = _STATUS.get(state, Status.FAILED)
                self.cluster.end(known.row, second, status=status, killed=state == "TIMEOUT")
            else:
                self._leave(known, second)

    def _is_followed(self, job: LiveJob, snapshot: Snapshot) -> bool:
        """Record the fate of a job; return False if it has to enter (again)."""
        known, now = self.known.get(job.key), self.cluster.second(snapshot.now)
        if known is None:
            return False
        before, known.job = known.job, job
        if job.holds and known.stage is Stage.STARTED:
            self._check_nodes(known, job)
            stays = known.row >= 0 and self.cluster.holds_as_seen(known.row, job)
        elif job.holds:
            stays = known.stage is Stage.RUNNING and before.nodes == job.nodes
        else:
            same = all(getattr(before, name) == getattr(job, name) for name in _ASKED)
            ran = known.stage is Stage.RUNNING
            stays = known.stage is Stage.STARTED or (self.mine(job) and same and not ran)
        if not stays:
            self._leave(known, now)
            del self.known[job.key]
        elif job.holds:
            known.stage = Stage.RUNNING
        elif known.stage is Stage.HELD and is_ready(job, snapshot):
            self.cluster.release(known.row, now)
            known.stage = Stage.WAITING
        return stays

    def _enter_job(self, job: LiveJob, snapshot: Snapshot) -> None:
        """Enter a job; one that runs takes its nodes from those that have not been seen running."""
        if job.holds:
            nodes, now = set(job.nodes), self.cluster.second(snapshot.now)
            for key, known in self.known.items():
                if known.stage is Stage.STARTED and not nodes.isdisjoint(self._decided[key]):
                    self._leave(known, now)
        super()._enter_job(job, snapshot)

    def _leave(self, known: MirroredJob, now: int) -> None:
        """Remove a job that has not ended from the cluster; nothing is learnt from it."""
        if known.row >= 0:
            self.cluster.leave(known.row, now)
            known.row = -1

    def decide(self, now: int) -> list[JobStart]:
        """Call the dispatcher if anything has happened; as :meth:`Mirror.decide`."""
        if not (self.cluster.is_due(self.cluster.second(now)) or self.left_out):
            return []
        chosen = super().decide(now)
        self._decided |= dict(chosen)
        return chosen

    def undo(self, key: str, now: int) -> None:
        """Record that a start that was decided does not take place."""
        known = self.known[key]
        if known.row < 0:
            # It enters again with the next snapshot.
            del self.known[key]
            return
        self.cluster.failed(known.row, self.cluster.second(now))
        known.stage = Stage.WAITING

    def _check_nodes(self, known: MirroredJob, job: LiveJob) -> None:
        """Check that a started job runs, or ran, on the nodes decided."""
        decided = self._decided.get(job.key, ())
        if known.stage is Stage.STARTED and set(job.nodes) != set(decided):
            raise RunError(
                f"job {job.key} runs on {','.join(job.nodes)}, must run on {','.join(decided)}"
            )


def warm_up(system: System, dispatcher: str, predictor: str = "requested") -> None:
    """Let a dispatcher load what it needs: until it decides, jobs would wait for that."""
    every = system.num_nodes
    job = LiveJob(
        key="1", state="PENDING", submit=0, nodes_min=every, nodes_max=every, cpus=every, mem=1
    )
    jobs = {key: replace(job, key=key) for key in "123"}
    mirror = LiveMirror(system, dispatcher, predictor)
    mirror.enter(Snapshot(0, jobs, frozenset()))
    mirror.decide(0)


def _is_held(job: LiveJob) -> bool:
    return job.waits and job.held and not job.is_part
