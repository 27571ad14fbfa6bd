"""A cluster that follows a live queue from snapshot to snapshot."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
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
from slurm_adapter.live.fields import gres_of
from slurm_adapter.live.placing import as_slurm_fills
from slurm_adapter.live.requests import YEAR, fewest_nodes, holding, request_of
from slurm_adapter.live.snapshot import LiveJob, Placed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from cpsched.api.model import System
    from slurm_adapter.live.snapshot import Reserved, Snapshot

#: ``afterok:7_2+5(unfulfilled)``: what a job waits for.
_WAITS_FOR = re.compile(r"([a-z]+):([0-9]+)(?:_([0-9]+|\*))?(?:\+[0-9]+)?")
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
    """

    job: LiveJob
    stage: Stage
    row: int = -1
    why: str = ""


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
        mine: Callable[[LiveJob], bool],
        seed: int = 0,
        may_requeue: bool = False,
    ) -> None:
        self.system = system
        self._may_requeue = may_requeue
        self._specs = (dispatcher, predictor)
        self._seed = seed
        self._mine = mine
        self._node_of = {name: node for node, name in enumerate(system.node_names)}
        self._closed: frozenset[int] = frozenset()
        self._reserved: tuple[Reserved, ...] = ()
        self._cluster: Cluster | None = None
        self._epoch = 0
        self.known: dict[str, Known] = {}
        #: Planned starts of waiting jobs, Unix seconds; if the dispatcher plans.
        self.planned: dict[str, int] = {}
        self.requeues: list[str] = []
        self.shrinks: list[Chosen] = []
        self.may_shrink: Callable[[LiveJob], bool] = lambda _: False
        #: When jobs whose requeue was ordered were withdrawn.
        self._left_at: dict[str, int] = {}
        #: Jobs that were not started although the dispatcher selected them: call it again.
        self._left = False
        #: The second in which a job began that may shrink, or shrank: it can from the next one on.
        self._fixed_in: int | None = None

    @property
    def cluster(self) -> Cluster:
        """The cluster; it exists from the first snapshot on."""
        assert self._cluster is not None
        return self._cluster

    @property
    def epoch(self) -> int:
        """Unix time of its second 0."""
        return self._epoch

    # --- what has happened -----------------------------------------------------------------------

    def follow(self, snapshot: Snapshot, ended: Mapping[str, LiveJob] | None = None) -> None:
        """
        Record everything that differs from the last snapshot.

        Parameters
        ----------
        ended
            Outcomes of jobs that have left, if known.
        """
        if self._cluster is None:
            times = [job.submit for job in snapshot.jobs.values()]
            self._begin(min([snapshot.now, *times]))
        self._forget_gone(snapshot, ended or {})
        if self._is_large():
            self._begin_anew()
        new: list[tuple[int, int, LiveJob]] = []
        for job in snapshot.jobs.values():
            if (at := self._follow_known(job, snapshot)) is not None:
                new.append((at, len(new), job))
        for at, _, job in sorted(new):
            self._enter(job, at, snapshot)
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
        self._epoch = epoch

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
        self._begin(self._epoch)
        requests = {**old["jobs"], "submitted": old["jobs"]["submitted"][:0]}
        fresh = {**self.cluster.state(), "jobs": requests, "ids": []}
        self.cluster.restore({**fresh, "predictor": old["predictor"]})

    def _second(self, unix: int) -> int:
        """Return a second of the cluster, no earlier than the last one."""
        return max(unix - self._epoch, self.cluster.now)

    def _keep_reserved(self, reserved: tuple[Reserved, ...]) -> None:
        """Start no job that could run into a reservation."""
        if reserved == self._reserved:
            return
        rows = [
            (self._node_of[name], one.start - _MARGIN - self._epoch, one.end - self._epoch)
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
        gone = [key for key in self.known if key not in snapshot.jobs]
        ends = {
            key: min(ended[key].end if key in ended and ended[key].end > 0 else snapshot.now,
                     snapshot.now)
            for key in gone
        }  # fmt: skip
        for key in sorted(gone, key=ends.__getitem__):
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

    def _follow_known(self, job: LiveJob, snapshot: Snapshot) -> int | None:
        """Record the fate of a job; return when it enters, if it has to (again)."""
        known = self.known.get(job.key)
        if known is None:
            if job.holds or self._mine(job):
                return job.start if job.holds and job.start != MISSING else job.submit
            return None
        old, now = known.job, self._second(snapshot.now)
        known.job = job
        if job.holds:
            if known.stage in _ON_NODES:
                if _held(old) == _held(job) or self._shrank(known, old, now):
                    return None
            elif self._confirm(known):
                return None
            self._drop(known, now)
            return job.start
        if known.stage in (Stage.ORDERED, Stage.LEAVING):
            return None
        if known.stage is Stage.LEFT:
            self._take_in(known, snapshot, now)
            return None
        mine = self._mine(job)
        if known.stage in _ON_NODES or not mine or _asked(old) != _asked(job):
            # Requeued, released by someone else, or changed.
            self._drop(known, now)
            return job.submit if mine else None
        self._wake(known, snapshot, now)
        return None

    def _take_in(self, known: Known, snapshot: Snapshot, now: int) -> None:
        """Return a job to the queue once it is as its user submitted it."""
        if snapshot.now > self._left_at.get(known.job.key, 0) and is_ready(known.job, snapshot):
            self.cluster.requeue(known.row, now)
            known.stage = Stage.WAITING
            self._left_at.pop(known.job.key, None)

    def _drop(self, known: Known, now: int) -> None:
        self._leave(known, now)
        del self.known[known.job.key]

    def _wake(self, known: Known, snapshot: Snapshot, now: int) -> None:
        """Enter into the queue a job that waited for its begin time or for other jobs."""
        if known.stage is Stage.HELD and is_ready(known.job, snapshot):
            self.cluster.release(known.row, now)
            known.stage = Stage.WAITING

    def _enter(self, job: LiveJob, at: int, snapshot: Snapshot) -> None:
        now = min(self._second(at), self._second(snapshot.now))
        if job.holds:
            self.known[job.key] = Known(job, Stage.RUNNING, self._run(job, now))
            return
        ready = is_ready(job, snapshot)
        try:
            request = request_of(job, self.system)
            row = self.cluster.submit(
                replace(request, restartable=request.restartable and self._may_requeue),
                now,
                job_id=job.key,
                held=not ready,
                submitted=job.submit - self._epoch,
            )
        except InfeasibleRequestError as error:
            self.known[job.key] = Known(job, Stage.UNFIT, why=error.reason)
        except CpschedError as error:
            self.known[job.key] = Known(job, Stage.UNFIT, why=str(error))
        else:
            self.known[job.key] = Known(job, Stage.WAITING if ready else Stage.HELD, row)

    # --- what jobs hold --------------------------------------------------------------------------

    def _run(self, job: LiveJob, now: int) -> int:
        """Enter a running job, with what it holds; return its handle, -1 if it holds nothing."""
        everywhere = _placed(job)
        if any(self._node_of.get(one.node) in self._closed for one in everywhere):
            # Jobs on a closed node continue; it is closed again when all have entered.
            self._set_closed(frozenset(), now)
        placed = self._within_free(everywhere)
        kinds = self.system.resources
        if _total(placed, kinds) != _total(everywhere, kinds):
            # Jobs seen running take precedence over ordered ones.
            self._displace({one.node for one in everywhere}, now)
            placed = self._within_free(everywhere)
        if not placed:
            return -1
        left = self._end_of(job) - now
        alike = len(placed) == len(job.nodes) and len({one.cores for one in placed}) == 1
        fewest = self._fewest(job) if alike else 0
        job = replace(job, time_limit=max(left, 1))
        beside = [kind for kind in kinds if kind != "core"]
        request = holding(job, placed, beside, fewest=fewest)
        row = self.cluster.submit(request, now, job_id=job.key)
        held = self._allocation(placed)
        if fewest:
            held = held._replace(units=np.ones_like(held.units))
            self._fixed_in = now
        self.cluster.start([Start(row, held)], now)
        return row

    def _end_of(self, job: LiveJob) -> int:
        """Return the second at which the limit of a running job is over."""
        return (job.end if job.end > job.start >= 0 else job.start + YEAR) - self._epoch

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
        if not some or (job.start, job.time_limit) != (old.start, old.time_limit):
            return False
        held = self.cluster.machine.allocation(known.row)
        left = np.isin(held.node, [self._node_of[name] for name in job.nodes])
        # What runs on a closed node goes on; it is closed again when all has entered.
        self._set_closed(frozenset(), now)
        self.cluster.resize(
            known.row,
            Allocation(held.node[left], held.units[left], held.amount[left]),
            now,
            latest=max(self._end_of(job), now + 1),
        )
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

    def _displace(self, nodes: set[str], now: int) -> None:
        """Remove jobs from nodes on which they have not been seen running."""
        places = {self._node_of[name] for name in nodes if name in self._node_of}
        for known in self.known.values():
            if known.stage is Stage.ORDERED and known.row >= 0:
                held = self.cluster.machine.allocation(known.row).node
                if not places.isdisjoint(held.tolist()):
                    self._leave(known, now)

    def _within_free(self, placed: Sequence[Placed]) -> list[Placed]:
        """Return what a job holds on nodes of the system, limited to what is free here."""
        found = []
        free, kinds = self.cluster.machine.free, self.system.resources
        for one in placed:
            node = self._node_of.get(one.node)
            if node is None:
                continue
            left = dict(zip(kinds, free[node].tolist(), strict=True))
            cores = min(one.cores, left["core"])
            if cores > 0:
                gres = {kind: min(n, left[kind]) for kind, n in one.gres.items() if kind in left}
                found.append(Placed(one.node, cores, min(one.mem, left.get("mem", 0)), gres))
        return found

    def _allocation(self, placed: Sequence[Placed]) -> Allocation:
        """Return what a job holds; a core is a unit."""
        held = sorted(placed, key=lambda one: self._node_of[one.node])
        amounts = [{"core": one.cores, "mem": one.mem, **one.gres} for one in held]
        kinds = self.system.resources
        return Allocation(
            np.array([self._node_of[one.node] for one in held], dtype=np.int64),
            np.array([one.cores for one in held], dtype=np.int64),
            np.array(
                [[amount.get(kind, 0) for kind in kinds] for amount in amounts], dtype=np.int64
            ),
        )

    def _confirm(self, known: Known) -> bool:
        """Record that a waiting or ordered job runs; return whether it runs as ordered."""
        # One that may shrink enters anew, with its nodes as units.
        if known.stage is not Stage.ORDERED or known.row < 0 or self._fewest(known.job):
            return False
        mine = self.cluster.machine.allocation(known.row)
        job = known.job
        nodes = [self._node_of.get(name, -1) for name in job.nodes]
        if sorted(nodes) != mine.node.tolist():
            return False
        placed = sorted(job.placed, key=lambda one: self._node_of[one.node])
        cores = mine.amount[:, self.system.resource_index("core")].tolist()
        if placed and not job.exclusive and [one.cores for one in placed] != cores:
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
        key_of = {known.row: key for key, known in self.known.items() if known.row >= 0}
        chosen: list[Chosen] = []
        decision = cluster.decide(second)
        starts = [action for action in decision.actions if isinstance(action, Start)]
        self._note_changes(decision, key_of)
        if (plan := decision.planned_starts) is not None:
            planned = zip(plan.handle, plan.start, strict=True)
            self.planned = {key_of[row]: self._epoch + int(at) for row, at in planned}
        for number, start in enumerate(starts):
            if most is not None and number >= most:
                self._left = True
                break
            known = self.known[key_of[start.handle]]
            # A start on nodes that others give up fits once these are free.
            if not self._start(start, second, first=not (number or self.shrinks)):
                # Jobs before it are placed a little differently from the decision.
                self._left = True
                continue
            known.stage = Stage.ORDERED
            nodes = start.allocation.node.tolist()
            names = tuple(self.system.node_names[node] for node in nodes)
            chosen.append(Chosen(known.job.key, names))
        return chosen

    def _note_changes(self, decision: Decision, key_of: Mapping[int, str]) -> None:
        """Record the jobs to requeue or to shrink; they hold their nodes until then."""
        for action in decision.actions:
            if isinstance(action, Requeue | Resize):
                known = self.known[key_of[action.handle]]
                if known.stage is not Stage.RUNNING:
                    continue
                if isinstance(action, Requeue):
                    known.stage = Stage.LEAVING
                    self.requeues.append(known.job.key)
                else:
                    known.stage = Stage.SHRINKING
                    self.shrinks.append(Chosen(known.job.key, self._kept(known.job, action)))
            elif not isinstance(action, Start):
                raise DispatchError(
                    f"{self._specs[0]} asks for {type(action).__name__}, which is not possible on a"
                    " live Slurm"
                )

    def _kept(self, job: LiveJob, resize: Resize) -> tuple[str, ...]:
        """Return the nodes that a job is to hold; its script's is one of them."""
        kept = [self.system.node_names[node] for node in resize.allocation.node.tolist()]
        if job.batch_host and job.batch_host not in kept:
            kept = [job.batch_host, *kept[:-1]]
        return tuple(kept)

    def stays(self, key: str, *, for_good: bool = False) -> None:
        """
        Record that a job to be requeued or to shrink keeps running as it is.

        Parameters
        ----------
        for_good
            Whether it is not to be asked to shrink again.
        """
        known = self.known.get(key)
        if known is None or known.stage not in (Stage.LEAVING, Stage.SHRINKING):
            return
        # What was to start on its nodes did not.
        self._left |= known.stage is Stage.SHRINKING
        known.stage = Stage.RUNNING
        if for_good and self._is_malleable(known.row):
            held = self.cluster.machine.store.columns.item(known.row, c.HELD_UNITS)
            self.cluster.set_bounds(known.row, held, held, self.cluster.now)

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

    def returned(self, key: str, now: int) -> None:
        """Record that a job's start was withdrawn, or that it was requeued."""
        known = self.known[key]
        if known.stage is Stage.LEAVING:
            known.stage = Stage.LEFT
            self._left_at[key] = now
            return
        if known.stage is not Stage.ORDERED:
            return
        if known.row < 0:
            # It enters again with the next snapshot.
            del self.known[key]
        else:
            self.cluster.failed(known.row, self._second(now))
            known.stage = Stage.WAITING

    def adopt(self, key: str, job: LiveJob, nodes: Sequence[str], now: int) -> None:
        """Record that a job was ordered to nodes earlier, and has not been seen running."""
        known = self.known.pop(key, None)
        if known is not None:
            self._leave(known, self._second(now))
        placed = _estimate(replace(job, nodes=tuple(nodes)))
        start = replace(job, start=now, end=now + (YEAR if job.time_limit < 0 else job.time_limit))
        row = self._run(replace(start, placed=tuple(placed), nodes=tuple(nodes)), self._second(now))
        self.known[key] = Known(job, Stage.ORDERED, row)

    # --- saving ----------------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        """Write everything that an equal mirror needs to continue, or nothing."""
        if self._cluster is None:
            return
        saved = {
            "cluster": self.cluster.state(),
            "epoch": self._epoch,
            "closed": sorted(self._closed),
            "known": [[key, str(one.stage), one.row, one.why, _plain(one.job)]
                      for key, one in self.known.items()],
        }  # fmt: skip
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
            for key, stage, row, why, job in saved["known"]:
                self.known[str(key)] = Known(_job(job), Stage(stage), int(row), str(why))
        cluster = saved["cluster"]
        for name in ("dispatcher", "predictor"):
            cluster.setdefault(name, {})
        try:
            self.cluster.restore(cluster)
        except RunError:
            self._cluster, self.known = None, {}
            raise

    def _identity(self) -> str:
        return f"live {self._specs} seed {self._seed} system {self.system.digest()}"


def is_ready(job: LiveJob, snapshot: Snapshot) -> bool:
    """
    Whether a held job may start: its begin time has come, and its dependencies are met.

    Slurm itself checks dependencies of held jobs only when they are released. Then it holds the job
    back if a job that should have succeeded has failed.
    """
    if job.eligible != MISSING and job.eligible > snapshot.now:
        return False
    return not any(_is_in_the_way(*item, job, snapshot) for item in _dependencies(job.dependency))


def _dependencies(text: str) -> Iterator[tuple[str, str]]:
    """Yield the dependencies of a job: the type, and the job's key or array."""
    if "singleton" in text:
        yield "singleton", ""
    for word, number, task in _WAITS_FOR.findall(text):
        yield word, f"{number}_{task}" if task and task != "*" else number


def _is_in_the_way(word: str, key: str, job: LiveJob, snapshot: Snapshot) -> bool:
    if word == "singleton":
        same = (one for one in snapshot.jobs.values() if one.name == job.name)
        return any(one.user == job.user and one.number < job.number for one in same)
    others = [one for one in snapshot.jobs.values() if key in (one.key, one.array, str(one.number))]
    if word == "after":
        return any(one.waits for one in others)
    return any(one.state != "COMPLETING" for one in others)


def _total(placed: Sequence[Placed], kinds: Sequence[str]) -> list[int]:
    held = [{"core": one.cores, "mem": one.mem, **one.gres} for one in placed]
    return [sum(amounts.get(kind, 0) for amounts in held) for kind in kinds]


def _asked(job: LiveJob) -> tuple[object, ...]:
    return tuple(getattr(job, name) for name in _ASKED)


def _held(job: LiveJob) -> tuple[object, ...]:
    return job.nodes, job.cpus, job.start, job.time_limit


def _placed(job: LiveJob) -> Sequence[Placed]:
    """Return what a job holds on each node, estimated if Slurm does not say."""
    return job.placed or _estimate(job)


def _estimate(job: LiveJob) -> list[Placed]:
    """Distribute a job's cores evenly over its nodes."""
    if not job.nodes:
        return []
    gres = gres_of(job.gres_per_node)
    share, more = divmod(job.cpus, len(job.nodes))
    cores = [max(share + (at < more), 1) for at in range(len(job.nodes))]
    return [
        Placed(node, own, job.mem * (own if job.mem_per_core else 1), gres)
        for node, own in zip(job.nodes, cores, strict=True)
    ]


def _plain(job: LiveJob) -> dict[str, Any]:
    """Return a job as JSON types."""
    found = {item.name: getattr(job, item.name) for item in fields(job)}
    found["placed"] = [[one.node, one.cores, one.mem, dict(one.gres)] for one in job.placed]
    return {key: list(value) if isinstance(value, tuple) else value for key, value in found.items()}


def _job(saved: Mapping[str, Any]) -> LiveJob:
    known: dict[str, Any] = {}
    for key, value in saved.items():
        known[key] = tuple(value) if isinstance(value, list) else value
    known["placed"] = tuple(Placed(*one) for one in saved["placed"])
    return LiveJob(**known)
