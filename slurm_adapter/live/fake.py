"""
An in-memory Slurm, to test code that acts on one.

Jobs have the states of a real Slurm: held until released, then pending until the nodes they are
bound to have room, running, completing, gone. It refuses what a real one refuses, and raises on
unknown input. Its clock moves only with :meth:`advance`.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from cpsched.api.model import MISSING
from slurm_adapter.live.backend import NotAllowedError, UnreachableError
from slurm_adapter.live.fields import gres_of
from slurm_adapter.live.snapshot import LiveJob, Placed, Reserved, Snapshot, in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cpsched.api.model import System
    from slurm_adapter.live.backend import Order

_INVALID_JOB = "Invalid job id specified"
_INVALID_NODE = "Invalid node name specified"
_NOT_NOW = "Requested operation is presently disabled"
#: Seconds that a requeued job has to wait.
_DELAY = 121
#: What is no generic resource.
_OWN = ("core", "mem")
_NOT_PENDING = "Job is no longer pending execution"
_NOT_RUNNING = "Job is not running"
_NO_INDEX = "Job update not available right now, the DB index is being set, try again in a bit"


@dataclass(slots=True)
class FakeSlurm:
    """
    A Slurm in memory.

    Attributes
    ----------
    system
        Its nodes.
    now
        Unix seconds.
    completing
        Seconds for which an ended job still holds its nodes.
    reachable, allowed
        Whether it answers, and whether it accepts our orders.
    accounting
        Whether it has slurmdbd; without it a job shrinks only once.
    orders
        Every order it has carried out, in words.
    reserved
        Reservations of nodes; no job starts that could run into one.
    """

    system: System
    now: int = 1_700_000_000
    completing: int = 1
    reachable: bool = True
    allowed: bool = True
    accounting: bool = True
    orders: list[str] = field(default_factory=list)
    reserved: tuple[Reserved, ...] = ()
    _jobs: dict[str, LiveJob] = field(default_factory=dict)
    _seconds: dict[str, float] = field(default_factory=dict)
    _gone: dict[str, LiveJob] = field(default_factory=dict)
    _shrunk: set[str] = field(default_factory=set)
    _closed: set[str] = field(default_factory=set)
    _free: dict[str, Counter[str]] = field(default_factory=dict)
    _whole: dict[str, Counter[str]] = field(default_factory=dict)
    _count: int = 0

    def __post_init__(self) -> None:
        kinds, names = self.system.resources, self.system.node_names
        for name, row in zip(names, self.system.capacity.tolist(), strict=True):
            self._whole[name] = Counter(dict(zip(kinds, row, strict=True)))
            self._free[name] = self._whole[name].copy()

    # --- as a backend ----------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Return the queue and the nodes."""
        self._answer()
        in_force = [one for one in self.reserved if one.start <= self.now < one.end]
        closed = self._closed.union(*(one.nodes for one in in_force))
        jobs = in_order(list(self._jobs.values()))
        return Snapshot(self.now, jobs, frozenset(closed), self.reserved)

    def ended(self, jobs: Iterable[str]) -> dict[str, LiveJob]:
        """Return the outcomes of jobs."""
        self._answer()
        return {key: self._gone[key] for key in jobs if key in self._gone}

    def expected_starts(self) -> dict[str, int]:
        """Return nothing: it does not plan."""
        self._answer()
        return {}

    def configuration(self) -> dict[str, str]:
        """Raise an error: a fake has only its system."""
        raise NotImplementedError("the fake has no configuration; use its system")

    def begin(self, orders: Sequence[Order]) -> dict[str, str]:
        """Bind jobs to nodes and release them."""
        return self._each(orders, self._begin)

    def requeue(self, orders: Sequence[Order]) -> dict[str, str]:
        """Requeue running jobs and hold them."""
        return self._each(orders, self._requeue)

    def shrink(self, orders: Sequence[Order]) -> dict[str, str]:
        """Leave running jobs some of their nodes."""
        return self._each(orders, self._shrink)

    def take_back(self, orders: Sequence[Order]) -> dict[str, str]:
        """Hold jobs and remove the nodes that they were bound to."""
        return self._each(orders, self._take_back)

    def _each(
        self, orders: Sequence[Order], carry_out: Callable[[Order, LiveJob], str]
    ) -> dict[str, str]:
        """Carry out orders; ``carry_out`` returns why it cannot, or ''."""
        refused: dict[str, str] = {}
        for order in orders:
            self._answer()
            if not self.allowed:
                raise NotAllowedError("Slurm refuses orders: Access/permission denied")
            job = self._jobs.get(order.job)
            why = _INVALID_JOB if job is None else carry_out(order, job)
            if why:
                refused[order.job] = why
        return refused

    def _begin(self, order: Order, job: LiveJob) -> str:
        if not job.waits:
            return _NOT_PENDING
        if not set(order.nodes) <= self._free.keys():
            return _INVALID_NODE
        count = len(order.nodes)
        self.orders.append(f"begin {order.job} {','.join(order.nodes)}")
        self._jobs[order.job] = replace(
            job, required=order.nodes, nodes_min=count, nodes_max=count, held=False, reason="None",
        )  # fmt: skip
        return ""

    def _requeue(self, order: Order, job: LiveJob) -> str:
        if job.state != "RUNNING" or not job.restartable:
            return _NOT_NOW
        self.orders.append(f"requeue {order.job}")
        self.queue_again(order.job, held=True, eligible=self.now + _DELAY)
        return ""

    def _shrink(self, order: Order, job: LiveJob) -> str:
        if job.state != "RUNNING":
            return _NOT_RUNNING
        if not set(order.keeps) <= set(job.nodes) or job.batch_host not in order.keeps:
            # A job grows only by another one, and keeps the node on which its script runs.
            return _INVALID_NODE
        if order.job in self._shrunk and not self.accounting:
            return _NO_INDEX
        self.orders.append(f"shrink {order.job} {','.join(order.keeps)}")
        self._shrunk.add(order.job)
        self.leave_with(order.job, order.keeps)
        return ""

    def _take_back(self, order: Order, job: LiveJob) -> str:
        if not job.waits:
            return _NOT_PENDING
        self.orders.append(f"take back {order.job}")
        self._jobs[order.job] = replace(
            job, required=order.required, nodes_min=order.nodes_min, held=True,
            nodes_max=order.nodes_max, reason="JobHeldAdmin",
            eligible=self.now if order.leaves else job.eligible,
        )  # fmt: skip
        return ""

    def _answer(self) -> None:
        if not self.reachable:
            raise UnreachableError("Slurm does not answer: Unable to contact slurm controller")

    # --- what happens ----------------------------------------------------------------------------

    def submit(self, *, seconds: float = math.inf, **asked: Any) -> str:
        """
        Submit a job, by default held and marked; return its key.

        Parameters
        ----------
        seconds
            How long it runs.
        asked
            What a :class:`~slurm_adapter.live.snapshot.LiveJob` has.
        """
        self._count += 1
        usual: dict[str, Any] = {
            "key": str(self._count), "number": self._count, "state": "PENDING", "held": True,
            "reason": "JobHeldUser", "admin_comment": "cpsched", "submit": self.now,
            "time_limit": 3600, "mem_per_core": True, "restartable": True,
        }  # fmt: skip
        job = LiveJob(**{**usual, **asked})
        if job.key in self._jobs:
            raise ValueError(f"job {job.key} is there already")
        self._jobs[job.key] = job
        self._seconds[job.key] = seconds
        return job.key

    def advance(self, seconds: int = 1) -> None:
        """Advance time second by second: jobs end, and released ones start."""
        for _ in range(seconds):
            self.now += 1
            for key, job in list(self._jobs.items()):
                if job.state == "COMPLETING" and self.now >= job.end + self.completing:
                    self._leave(key)
                elif job.state == "RUNNING" and self.now >= min(
                    job.start + self._seconds[key], job.end
                ):
                    timeout = self._seconds[key] > job.end - job.start
                    self._end(key, "TIMEOUT" if timeout else "COMPLETED")
            for key, job in self._jobs.items():
                if job.waits and not job.held:
                    self._try(key, job)

    def cancel(self, key: str) -> None:
        """Cancel a job as its user would."""
        if self._jobs[key].waits:
            self._gone[key] = replace(self._jobs.pop(key), state="CANCELLED", end=self.now)
        else:
            self._end(key, "CANCELLED")

    def queue_again(self, key: str, **changed: Any) -> None:
        """Requeue a running job as Slurm does: bound to the same nodes."""
        self._give_back(self._jobs[key])
        self._jobs[key] = replace(
            self._jobs[key], state="PENDING", nodes=(), placed=(), start=MISSING, end=MISSING,
            batch_host="", submit=self.now, **{"reason": "BeginTime", **changed},
        )  # fmt: skip

    def leave_with(self, key: str, nodes: Sequence[str]) -> None:
        """Shrink a running job to some of its nodes, whoever ordered it."""
        job = self._jobs[key]
        kept = tuple(one for one in job.placed if one.node in nodes)
        self._give_back(replace(job, placed=tuple(one for one in job.placed if one not in kept)))
        self._jobs[key] = replace(
            job, nodes=tuple(one.node for one in kept), placed=kept, nodes_min=len(kept),
            nodes_max=len(kept), cpus=sum(one.cores for one in kept),
        )  # fmt: skip

    def change(self, key: str, **changed: Any) -> None:
        """Change what a job asks for, as scontrol update does."""
        self._jobs[key] = replace(self._jobs[key], **changed)

    def close(self, node: str, *, down: bool = False) -> None:
        """Drain a node, or set it down, which requeues its jobs."""
        if node not in self._free:
            raise KeyError(node)
        self._closed.add(node)
        if down:
            for key, job in list(self._jobs.items()):
                if node in job.nodes:
                    self.queue_again(key)

    def open(self, node: str) -> None:
        """Let jobs start on a node again."""
        self._closed.remove(node)

    def _end(self, key: str, state: str) -> None:
        self._gone[key] = replace(self._jobs[key], state=state, end=self.now)
        self._jobs[key] = replace(self._jobs[key], state="COMPLETING", end=self.now)
        if not self.completing:
            self._leave(key)

    def _leave(self, key: str) -> None:
        self._give_back(self._jobs.pop(key))

    def _give_back(self, job: LiveJob) -> None:
        for one in job.placed:
            self._free[one.node].update(_amounts(one))

    def _try(self, key: str, job: LiveJob) -> None:
        """Start a job if the nodes it is bound to have room; without such nodes, on the first."""
        shut = self._closed | set(job.excluded)
        first = [name for name in self._free if name not in shut][: job.nodes_min]
        names = job.required or first
        limit = 365 * 86400 if job.time_limit == MISSING else job.time_limit
        kept = self._closed.union(
            *(r.nodes for r in self.reserved if r.start < self.now + limit and self.now < r.end)
        )
        placed = [] if kept & set(names) else self._place(job, names)
        if not placed:
            reason = "ReqNodeNotAvail" if kept & set(names) else "Resources"
            self._jobs[key] = replace(job, reason=reason)
            return
        for one in placed:
            self._free[one.node].subtract(_amounts(one))
        self._jobs[key] = replace(
            job, state="RUNNING", reason="None", nodes=tuple(one.node for one in placed),
            placed=tuple(placed), start=self.now, end=self.now + limit, batch_host=placed[0].node,
        )  # fmt: skip

    def _place(self, job: LiveJob, names: Sequence[str]) -> list[Placed]:
        """Fill nodes in their order, leaving a core for each of the rest, as Slurm does."""
        gres, left = gres_of(job.gres_per_node), job.cpus
        placed: list[Placed] = []
        order = sorted(names, key=self.system.node_names.index)
        for at, name in enumerate(order):
            free, whole = self._free[name], self._whole[name]
            if job.exclusive and free != whole:
                return []
            cores = min(free["core"], left - (len(order) - at - 1))
            if job.mem_per_core and job.mem:
                cores = min(cores, free["mem"] // job.mem)
            mem = job.mem * (cores if job.mem_per_core else 1)
            wanted = {"mem": mem, **gres}
            if cores < 1 or any(free[kind] < count for kind, count in wanted.items()):
                return []
            left -= cores
            if job.exclusive:
                generic = {kind: n for kind, n in whole.items() if n and kind not in _OWN}
                placed.append(Placed(name, whole["core"], whole["mem"], generic))
            else:
                placed.append(Placed(name, cores, mem, gres))
        return [] if left else placed


def _amounts(one: Placed) -> dict[str, int]:
    return {"core": one.cores, "mem": one.mem, **one.gres}
