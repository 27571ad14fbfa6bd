"""A cluster that follows a live queue from snapshot to snapshot."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.api.errors import (
    CpschedError,
    DispatchError,
    InfeasibleRequestError,
    RunError,
    taking_up,
)
from cpsched.api.model import MISSING, Allocation, Decision, JobType, Requeue, Resize, Start, Status
from cpsched.api.model import columns as c
from cpsched.api.simulation import Cluster, Outages, checkpoint
from slurm_adapter.live.dependencies import is_ready
from slurm_adapter.live.placing import as_slurm_fills, holdings, within
from slurm_adapter.live.requests import YEAR, fewest_nodes, holding, request_of
from slurm_adapter.live.snapshot import LiveJob, Placed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from cpsched.api.model import System
    from slurm_adapter.live.snapshot import Reserved, Snapshot

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
    and item.name not in ("nodes", "comment", "admin_comment", "dependency")
)
#: What a job holds: if any of it changes, it has another run.
_HELD = ("nodes", "cpus", "start", "time_limit")

#: Ended jobs are dropped with more jobs than this, and this many times the number of open ones.
MOST_ROWS, _ROWS_A_JOB = 20_000, 4

#: Seconds before a reservation by which jobs must end: they start a little after the order.
_MARGIN = 60


class Stage(StrEnum):
    """The stage of a job in the mirror."""

    HELD = "held"
    """It waits for its begin time or for other jobs."""
    WAITING = "waiting"
    ORDERED = "ordered"
    """It holds its nodes here, but has not been seen running there."""
    RUNNING = "running"
    LEAVING = "leaving"
    """It runs, and its requeue has been ordered."""
    SHRINKING = "shrinking"
    """It runs, and has been ordered to give up nodes; it holds them until that is seen."""
    LEFT = "left"
    """Its start has been withdrawn, and it waits once this is seen."""
    UNFIT = "unfit"
    """It can never run on the system, or asks for what is not modelled."""


#: Where a job has been seen running.
_ON_NODES = (Stage.RUNNING, Stage.LEAVING, Stage.SHRINKING)


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
    left_at
        When it left its nodes because its requeue was ordered, Unix time.
    """

    job: LiveJob
    stage: Stage
    row: int = -1
    why: str = ""
    left_at: int = 0


@dataclass(frozen=True, slots=True)
class Chosen:
    """A job to start or to shrink, and its nodes."""

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
    may_requeue
        Whether the dispatcher may requeue running jobs that it has started.

    Attributes
    ----------
    known
        Every job that is in the queue or holds nodes, with its stage here.
    epoch
        Unix time of the cluster's second 0.
    planned
        Planned starts of waiting jobs, Unix seconds; if the dispatcher plans.
    requeues
        The jobs that the last decision requeues.
    shrinks
        The running jobs to which it gives other nodes, and which nodes.
    may_shrink
        Whether a running job may be ordered to give up nodes, if its comment allows it.
    """

    def __init__(
        self,
        system: System,
        dispatcher: str,
        predictor: str = "requested",
        *,
        mine: Callable[[LiveJob], bool] = lambda _: True,
        seed: int = 0,
        may_requeue: bool = False,
    ) -> None:
        self.system = system
        self.mine = mine
        self.may_shrink: Callable[[LiveJob], bool] = lambda _: False
        self._may_requeue = may_requeue
        self._specs = (dispatcher, predictor)
        self._seed = seed
        self._node_of = {name: node for node, name in enumerate(system.node_names)}
        self._core = system.resource_index("core")
        self._closed: frozenset[int] = frozenset()
        self._reserved: tuple[Reserved, ...] = ()
        self._cluster: Cluster | None = None
        self.epoch = 0
        self.known: dict[str, Known] = {}
        self.planned: dict[str, int] = {}
        self.requeues: list[str] = []
        self.shrinks: list[Chosen] = []
        #: Jobs that were not started although the dispatcher selected them: call it again.
        self._left = False
        #: The second in which a job began that may shrink, or shrank: it can from the next one on.
        self._fixed_in: int | None = None

    @property
    def cluster(self) -> Cluster:
        """The cluster; it exists from the first snapshot on."""
        assert self._cluster is not None
        return self._cluster

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
            self._begin(min([snapshot.now, *(job.submit for job in jobs)]))
        self._forget_gone(snapshot, ended or {})
        if self._is_large():
            self._begin_anew()
        entering = [job for job in jobs if not self._goes_on(job, snapshot)]
        for job in sorted(entering, key=_since):
            if job.holds or self.mine(job):
                self._enter(job, snapshot)
        down = {self._node_of[name] for name in snapshot.closed if name in self._node_of}
        self._set_closed(frozenset(down), self._second(snapshot.now))
        self._keep_reserved(snapshot.reserved)

    def gone(self, snapshot: Snapshot) -> list[str]:
        """Return the jobs that held nodes and are no longer in a snapshot."""
        stages = (*_ON_NODES, Stage.ORDERED, Stage.LEFT)
        return [
            key
            for key, known in self.known.items()
            if key not in snapshot.jobs and known.stage in stages
        ]

    def _begin(self, epoch: int) -> None:
        dispatcher, predictor = self._specs
        self._cluster = Cluster(
            self.system, dispatcher, predictor, any_queue=True, seed=self._seed, epoch=epoch,
        )  # fmt: skip
        self.epoch = epoch

    def _is_large(self) -> bool:
        """Whether by far most jobs here have ended, and all others can be entered again."""
        rows = self.cluster.machine.store.size
        told = (Stage.ORDERED, Stage.SHRINKING)
        ordered = any(known.stage in told for known in self.known.values())
        return rows > max(MOST_ROWS, _ROWS_A_JOB * len(self.known)) and not ordered

    def _begin_anew(self) -> None:
        """
        Drop the ended jobs: a new cluster, with what the predictor has learnt.

        The jobs in the queue and on nodes are entered again, each at its submit. A dispatcher's
        state about single jobs is not kept, because their handles change.
        """
        for known in self.known.values():
            self._leave(known, self.cluster.now)
        old = self.cluster.state()
        self.known, self._reserved, self._closed = {}, (), frozenset()
        self._begin(self.epoch)
        requests = {**old["jobs"], "submitted": old["jobs"]["submitted"][:0]}
        fresh = {**self.cluster.state(), "jobs": requests, "ids": []}
        self.cluster.restore({**fresh, "predictor": old["predictor"]})

    def _second(self, unix: int) -> int:
        """Return a second of the cluster, no earlier than the last one."""
        return max(unix - self.epoch, self.cluster.now)

    def _keep_reserved(self, reserved: tuple[Reserved, ...]) -> None:
        """Start no job that could run into a reservation."""
        if reserved == self._reserved:
            return
        rows = [
            (self._node_of[name], one.start - _MARGIN - self.epoch, one.end - self.epoch)
            for one in reserved
            for name in one.nodes
            if name in self._node_of
        ]
        self.cluster.plan_outages(Outages.of(rows, [0] * len(rows)))
        self._reserved = reserved

    def _set_closed(self, closed: frozenset[int], now: int) -> None:
        if closed != self._closed:
            self.cluster.set_down(closed, now)
            self._closed = closed

    def _forget_gone(self, snapshot: Snapshot, ended: Mapping[str, LiveJob]) -> None:
        ends = {}
        for key in self.known:
            if key not in snapshot.jobs:
                end = ended[key].end if key in ended else MISSING
                ends[key] = min(end if end > 0 else snapshot.now, snapshot.now)
        for key in sorted(ends, key=ends.__getitem__):
            known = self.known.pop(key)
            second = self._second(ends[key])
            if known.row >= 0 and self.cluster.machine.is_in(known.row, c.RUNNING):
                state = ended[key].state if key in ended else "COMPLETED"
                status = _STATUS.get(state, Status.FAILED)
                self.cluster.end(known.row, second, status=status, killed=state == "TIMEOUT")
            else:
                self._leave(known, second)

    def _leave(self, known: Known, now: int) -> None:
        """Remove a job that has not ended from the cluster; nothing is learnt from it."""
        if known.row >= 0:
            if self.cluster.machine.is_in(known.row, c.RUNNING):
                self.cluster.failed(known.row, now)
            self.cluster.cancel(known.row, now)
            known.row = -1

    def _goes_on(self, job: LiveJob, snapshot: Snapshot) -> bool:
        """Record the fate of a job; return False if it has to enter (again)."""
        known, now = self.known.get(job.key), self._second(snapshot.now)
        if known is None:
            return False
        old, known.job = known.job, job
        if job.holds:
            on_nodes = known.stage in _ON_NODES
            same = _same(_HELD, old, job) if on_nodes else self._confirm(known)
            stays = same or (on_nodes and self._shrank(known, old, now))
        elif known.stage in (Stage.ORDERED, Stage.LEAVING, Stage.LEFT):
            stays = True
        else:
            # Otherwise requeued, released by someone else, or changed.
            stays = known.stage not in _ON_NODES and self.mine(job) and _same(_ASKED, old, job)
        if not stays:
            self._leave(known, now)
            del self.known[job.key]
        elif known.stage in (Stage.HELD, Stage.LEFT):
            self._let_in(known, snapshot, now)
        return stays

    def _let_in(self, known: Known, snapshot: Snapshot, now: int) -> None:
        """Let a job into the queue once it may start, and is as its user submitted it."""
        if snapshot.now > known.left_at and is_ready(known.job, snapshot):
            enter = self.cluster.release if known.stage is Stage.HELD else self.cluster.requeue
            enter(known.row, now)
            known.stage = Stage.WAITING

    def _enter(self, job: LiveJob, snapshot: Snapshot) -> None:
        now = min(self._second(_since(job)), self._second(snapshot.now))
        if job.holds:
            self.known[job.key] = Known(job, Stage.RUNNING, self._run(job, now))
            return
        ready = is_ready(job, snapshot)
        known = self.known[job.key] = Known(job, Stage.WAITING if ready else Stage.HELD)
        try:
            request = request_of(job, self.system)
            known.row = self.cluster.submit(
                replace(request, restartable=request.restartable and self._may_requeue),
                now,
                job_id=job.key,
                held=not ready,
                submitted=job.submit - self.epoch,
            )
        except CpschedError as error:
            known.stage = Stage.UNFIT
            known.why = error.reason if isinstance(error, InfeasibleRequestError) else str(error)

    # --- what jobs hold --------------------------------------------------------------------------

    def _run(self, job: LiveJob, now: int) -> int:
        """Enter a running job, with what it holds; return its handle, -1 if it holds nothing."""
        whole = holdings(job, self._node_of, self.system.resources)
        if not self._closed.isdisjoint(whole.node.tolist()):
            # Jobs on a closed node continue; it is closed again when all have entered.
            self._set_closed(frozenset(), now)
        held = within(whole, self.cluster.machine.free, self._core)
        if not np.array_equal(held.amount, whole.amount):
            # Jobs seen running take precedence over ordered ones.
            self._displace(set(whole.node.tolist()), now)
            held = within(whole, self.cluster.machine.free, self._core)
        if not len(held.node):
            return -1
        alike = len(held.node) == len(job.nodes) and len(set(held.units.tolist())) == 1
        fewest = self._fewest(job) if alike else 0
        left = replace(job, time_limit=max(self._end_of(job) - now, 1))
        request = holding(left, held.amount, self.system.resources, fewest=fewest)
        row = self.cluster.submit(request, now, job_id=job.key)
        if fewest:
            held = held._replace(units=np.ones_like(held.units))
            self._fixed_in = now
        self.cluster.start([Start(row, held)], now)
        return row

    def _end_of(self, job: LiveJob) -> int:
        """Return the second at which the limit of a running job is over."""
        return (job.end if job.end > job.start >= 0 else job.start + YEAR) - self.epoch

    def _fewest(self, job: LiveJob) -> int:
        """Return how few nodes a running job may be left, 0 if it is not to shrink."""
        return fewest_nodes(job) if self.may_shrink(job) else 0

    def _shrank(self, known: Known, old: LiveJob, now: int) -> bool:
        """Take note that a job that may shrink has given up nodes; say whether that is all."""
        job, columns = known.job, self.cluster.machine.store.columns
        if not self._is_malleable(known.row):
            return False
        # Of a job that ends, Slurm shows fewer and fewer.
        least = columns.item(known.row, c.UNITS_MIN)
        some = len(job.nodes) >= least and set(job.nodes) < set(old.nodes)
        if not some or not _same(("start", "time_limit"), old, job):
            return False
        held = self.cluster.machine.allocation(known.row)
        left = np.isin(held.node, [self._node_of[name] for name in job.nodes])
        # What runs on a closed node goes on; it is closed again when all has entered.
        self._set_closed(frozenset(), now)
        kept = Allocation(held.node[left], held.units[left], held.amount[left])
        self.cluster.resize(known.row, kept, now, latest=max(self._end_of(job), now + 1))
        # What it has given up it cannot get back.
        self.cluster.set_bounds(known.row, least, len(job.nodes), now)
        if known.stage is Stage.SHRINKING:
            known.stage = Stage.RUNNING
        self._fixed_in = now
        return True

    def _is_malleable(self, row: int) -> bool:
        machine = self.cluster.machine
        return machine.is_in(row, c.RUNNING) and (
            machine.store.columns.item(row, c.JOB_TYPE) == JobType.MALLEABLE
        )

    def _displace(self, nodes: set[int], now: int) -> None:
        """Remove jobs from nodes on which they have not been seen running."""
        for known in self.known.values():
            if known.stage is Stage.ORDERED and known.row >= 0:
                held = self.cluster.machine.allocation(known.row).node
                if not nodes.isdisjoint(held.tolist()):
                    self._leave(known, now)

    def _confirm(self, known: Known) -> bool:
        """Record that a waiting or ordered job runs; return whether it runs as ordered."""
        # One that may shrink enters anew, with its nodes as units.
        job = known.job
        if known.stage is not Stage.ORDERED or known.row < 0 or self._fewest(job):
            return False
        mine = self.cluster.machine.allocation(known.row)
        nodes = [self._node_of.get(name, -1) for name in job.nodes]
        if sorted(nodes) != mine.node.tolist():
            return False
        if job.placed and not job.exclusive:
            cores = holdings(job, self._node_of, self.system.resources).units
            if not np.array_equal(cores, mine.amount[:, self._core]):
                return False
        known.stage = Stage.RUNNING
        return True

    # --- what follows ----------------------------------------------------------------------------

    def decide(self, now: int, *, most: int | None = None) -> list[Chosen]:
        """
        Call the dispatcher, and give its starts their nodes here.

        Parameters
        ----------
        now
            Unix seconds.
        most
            Most jobs to start, None: any number.

        Raises
        ------
        DispatchError
            If the dispatcher breaks an invariant.
        """
        second, cluster = self._second(now), self.cluster
        self.requeues, self.shrinks = [], []
        # What is decided while a job gives up nodes would not know of them.
        if any(known.stage is Stage.SHRINKING for known in self.known.values()):
            return []
        if self._fixed_in is not None and self._fixed_in < second:
            self._left, self._fixed_in = True, None
        if not (cluster.is_due(second) or self._left):
            return []
        self._left = False
        known_of = {known.row: known for known in self.known.values() if known.row >= 0}
        decision = cluster.decide(second)
        self._note_changes(decision, known_of)
        if (plan := decision.planned_starts) is not None:
            planned = zip(plan.handle, plan.start, strict=True)
            self.planned = {known_of[row].job.key: self.epoch + int(at) for row, at in planned}
        chosen: list[Chosen] = []
        starts = [action for action in decision.actions if isinstance(action, Start)]
        for number, start in enumerate(starts):
            if most is not None and number >= most:
                self._left = True
                break
            # A start on nodes that others give up fits once these are free.
            if not self._start(start, second, first=not (number or self.shrinks)):
                # Jobs before it are placed a little differently from the decision.
                self._left = True
                continue
            known = known_of[start.handle]
            known.stage = Stage.ORDERED
            chosen.append(Chosen(known.job.key, self._names(start.allocation)))
        return chosen

    def _names(self, allocation: Allocation) -> tuple[str, ...]:
        return tuple(self.system.node_names[node] for node in allocation.node.tolist())

    def _note_changes(self, decision: Decision, known_of: Mapping[int, Known]) -> None:
        """Record the jobs to requeue or to shrink; they hold their nodes until then."""
        for action in decision.actions:
            if isinstance(action, Start):
                continue
            if not isinstance(action, Requeue | Resize):
                raise DispatchError(
                    f"{self._specs[0]} asks for {type(action).__name__}, which is not possible on a"
                    " live Slurm"
                )
            known = known_of[action.handle]
            if known.stage is not Stage.RUNNING:
                continue
            if isinstance(action, Requeue):
                known.stage = Stage.LEAVING
                self.requeues.append(known.job.key)
                continue
            known.stage = Stage.SHRINKING
            kept, host = self._names(action.allocation), known.job.batch_host
            # The node of its script is one of them.
            kept = (host, *kept[:-1]) if host and host not in kept else kept
            self.shrinks.append(Chosen(known.job.key, kept))

    def _start(self, start: Start, now: int, *, first: bool) -> bool:
        """Start a job on its nodes as Slurm will fill them; return whether there is room."""
        machine = self.cluster.machine
        shape = machine.store.shapes[machine.store.columns.item(start.handle, c.SHAPE)]
        filled = as_slurm_fills(start.allocation, shape, machine.free)
        try:
            self.cluster.start([Start(start.handle, filled)], now)
        except DispatchError:
            if first:
                raise
            return False
        return True

    def undo(self, key: str, now: int, *, for_good: bool = False) -> None:
        """
        Record that what was decided of a job does not take place: it waits, or runs as it was.

        Parameters
        ----------
        for_good
            Whether it is not to be asked to shrink again.
        """
        known = self.known.get(key)
        if known is None:
            return
        if known.stage in (Stage.LEAVING, Stage.SHRINKING):
            # What was to start on its nodes did not.
            self._left |= known.stage is Stage.SHRINKING
            known.stage = Stage.RUNNING
            if for_good and self._is_malleable(known.row):
                held = self.cluster.machine.store.columns.item(known.row, c.HELD_UNITS)
                self.cluster.set_bounds(known.row, held, held, self.cluster.now)
        elif known.stage is Stage.ORDERED and known.row < 0:
            # It enters again with the next snapshot.
            del self.known[key]
        elif known.stage is Stage.ORDERED:
            self.cluster.failed(known.row, self._second(now))
            known.stage = Stage.WAITING

    def left(self, key: str, now: int) -> None:
        """Record that a job whose requeue was decided has left its nodes."""
        known = self.known.get(key)
        if known is not None and known.stage is Stage.LEAVING:
            known.stage, known.left_at = Stage.LEFT, now

    def adopt(self, job: LiveJob, nodes: Sequence[str], now: int) -> None:
        """Record that a job was ordered to nodes earlier, and has not been seen running."""
        known = self.known.pop(job.key, None)
        if known is not None:
            self._leave(known, self._second(now))
        end = now + (YEAR if job.time_limit < 0 else job.time_limit)
        there = replace(job, start=now, end=end, nodes=tuple(nodes), placed=())
        self.known[job.key] = Known(job, Stage.ORDERED, self._run(there, self._second(now)))

    # --- saving ----------------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        """Write everything that an equal mirror needs to continue, or nothing."""
        if self._cluster is None:
            return
        saved = {
            "cluster": self.cluster.state(),
            "epoch": self.epoch,
            "closed": sorted(self._closed),
            "known": json.dumps([asdict(known) for known in self.known.values()]),
        }
        checkpoint.write(path, self._identity(), saved)

    def load(self, path: Path) -> None:
        """
        Load what :meth:`save` wrote.

        Raises
        ------
        RunError
            If it is damaged, or of another system, dispatcher or predictor.
        """
        saved = checkpoint.read(path, self._identity())
        with taking_up("the followed queue"):
            self._begin(int(saved["epoch"]))
            self._closed = frozenset(int(node) for node in saved["closed"])
            for known in json.loads(saved["known"]):
                job, stage = _job(known.pop("job")), Stage(known.pop("stage"))
                self.known[job.key] = Known(job, stage, **known)
        try:
            self.cluster.restore(saved["cluster"])
        except RunError:
            self._cluster, self.known = None, {}
            raise

    def _identity(self) -> str:
        return f"live {self._specs} seed {self._seed} system {self.system.digest()}"


def _since(job: LiveJob) -> int:
    """Return when a job came to where it is."""
    return job.start if job.holds and job.start != MISSING else job.submit


def _same(names: Sequence[str], one: LiveJob, other: LiveJob) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in names)


def _job(saved: Mapping[str, Any]) -> LiveJob:
    known: dict[str, Any] = {}
    for key, value in saved.items():
        known[key] = tuple(value) if isinstance(value, list) else value
    known["placed"] = tuple(Placed(**one) for one in saved["placed"])
    return LiveJob(**known)
