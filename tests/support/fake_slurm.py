"""
An in-memory Slurm, to test code that reads one and decides on a private one.

Jobs have the states of a real Slurm: held until released, then pending until the nodes they are
bound to have room, running, completing, gone. It refuses what a real one refuses, and raises on
unknown input. Its clock moves only with :meth:`advance`.
"""

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from cpsched.slurm.live.fields import gres_of
from cpsched.slurm.live.snapshot import LiveJob, Placed, Reserved, Snapshot, in_order
from cpsched.util.types import MISSING

_INVALID_JOB = "Invalid job id specified"
_BOUNDS = ("nodes_min", "nodes_max")
#: What is no generic resource.
_OWN = ("core", "mem")
_NOT_PENDING = "Job is no longer pending execution"


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
    commands
        Every start it has carried out, in words.
    sacct
        What ``sacct`` prints.
    reserved
        Reservations of nodes; no job starts that could run into one.
    """

    system: Any
    now: int = 1_700_000_000
    completing: int = 1
    sacct: str = ""
    commands: list[str] = field(default_factory=list)
    reserved: tuple[Reserved, ...] = ()
    _jobs: dict[str, LiveJob] = field(default_factory=dict)
    _seconds: dict[str, float] = field(default_factory=dict)
    _gone: dict[str, LiveJob] = field(default_factory=dict)
    _closed: set[str] = field(default_factory=set)
    _capacity: dict[str, Counter[str]] = field(default_factory=dict)
    _count: int = 0

    def __post_init__(self):
        kinds, names = self.system.resources, self.system.node_names
        for name, row in zip(names, self.system.capacity.tolist(), strict=True):
            self._capacity[name] = Counter(dict(zip(kinds, row, strict=True)))

    # --- as a backend ----------------------------------------------------------------------------

    def snapshot(self):
        in_force = [
            reserved for reserved in self.reserved if reserved.start <= self.now < reserved.end
        ]
        closed = self._closed.union(*(reserved.nodes for reserved in in_force))
        return Snapshot(
            self.now, in_order(list(self._jobs.values())), frozenset(closed), self.reserved
        )

    def ended(self, jobs):
        return {key: self._gone[key] for key in jobs if key in self._gone}

    def expected_starts(self):
        """Return nothing: it does not plan."""
        return {}

    def history(self, days):
        return self.sacct

    def begin(self, starts):
        """Bind held jobs to nodes and release them; return why it refuses, by job."""
        refused = {}
        for key, nodes in starts:
            job = self._jobs.get(key)
            if job is None or not job.waits:
                refused[key] = _INVALID_JOB if job is None else _NOT_PENDING
                continue
            self.commands.append(f"begin {key} {','.join(nodes)}")
            bound = {"required": nodes} | dict.fromkeys(_BOUNDS, len(nodes))
            self.change(key, held=False, reason="None", **bound)
        return refused

    def withdraw(self, job):
        """Hold a job again, with the request that it had."""
        own = {name: getattr(job, name) for name in ("required", *_BOUNDS)}
        self.change(job.key, held=True, reason="JobHeldUser", **own)

    # --- what happens ----------------------------------------------------------------------------

    def submit(self, *, seconds=math.inf, **asked):
        """Submit a job that runs so long, by default held; return its key."""
        self._count += 1
        usual = {
            "key": str(self._count), "number": self._count, "state": "PENDING", "held": True,
            "reason": "JobHeldUser", "submit": self.now,
            "time_limit": 3600, "mem_per_core": True,
        }  # fmt: skip
        job = LiveJob(**{**usual, **asked})
        if job.key in self._jobs:
            raise ValueError(f"job {job.key} is there already")
        self._jobs[job.key] = job
        self._seconds[job.key] = seconds
        return job.key

    def advance(self, seconds=1):
        """Advance time second by second: jobs end, and released ones start."""
        for _ in range(seconds):
            self.now += 1
            for key, job in list(self._jobs.items()):
                if job.state == "COMPLETING" and self.now >= job.end + self.completing:
                    del self._jobs[key]
                elif job.state == "RUNNING" and self.now >= min(
                    job.start + self._seconds[key], job.end
                ):
                    timeout = self._seconds[key] > job.end - job.start
                    self._end(key, "TIMEOUT" if timeout else "COMPLETED")
            released = [job for job in self._jobs.values() if job.waits and not job.held]
            free = self.free() if released else {}
            for job in released:
                self._try(job, free)

    def cancel(self, key):
        if self._jobs[key].waits:
            self._gone[key] = replace(self._jobs.pop(key), state="CANCELLED", end=self.now)
        else:
            self._end(key, "CANCELLED")

    def queue_again(self, key, **changed):
        """Requeue a running job as Slurm does: bound to the same nodes."""
        waits = {"state": "PENDING", "nodes": (), "placed": (), "start": MISSING, "end": MISSING}
        again = {"submit": self.now, "reason": "BeginTime"}
        self.change(key, **waits, **again | changed)

    def leave_with(self, key, nodes):
        """Shrink a running job to some of its nodes, as its user may."""
        placed = tuple(part for part in self._jobs[key].placed if part.node in nodes)
        left = {
            "nodes": tuple(part.node for part in placed),
            "cpus": sum(part.cores for part in placed),
        }
        self.change(key, placed=placed, **left, **dict.fromkeys(_BOUNDS, len(placed)))

    def change(self, key, **changed):
        """Change what a job asks for, as scontrol update does."""
        self._jobs[key] = replace(self._jobs[key], **changed)

    def close(self, node, *, down=False):
        """Drain a node, or set it down, which requeues its jobs."""
        if node not in self._capacity:
            raise KeyError(node)
        self._closed.add(node)
        if down:
            for key, job in list(self._jobs.items()):
                if node in job.nodes:
                    self.queue_again(key)

    def open(self, node):
        self._closed.remove(node)

    def _end(self, key, state):
        self._gone[key] = replace(self._jobs[key], state=state, end=self.now)
        self.change(key, state="COMPLETING", end=self.now)
        if not self.completing:
            del self._jobs[key]

    def free(self):
        """Return what no job holds on each node."""
        free = {name: capacity.copy() for name, capacity in self._capacity.items()}
        for job in self._jobs.values():
            for part in job.placed:
                free[part.node].subtract(_amounts(part))
        return free

    def _try(self, job, free):
        """Start a job if the nodes it is bound to have room; without such nodes, on the first."""
        shut = self._closed | set(job.excluded)
        first = [name for name in free if name not in shut][: job.nodes_min]
        names = job.required or first
        limit = 365 * 86400 if job.time_limit == MISSING else job.time_limit
        closed = self._closed.union(
            *(r.nodes for r in self.reserved if r.start < self.now + limit and self.now < r.end)
        )
        placed = [] if closed & set(names) else self._place(job, names, free)
        if not placed:
            self.change(job.key, reason="ReqNodeNotAvail" if closed & set(names) else "Resources")
            return
        for part in placed:
            free[part.node].subtract(_amounts(part))
        nodes, end = tuple(part.node for part in placed), self.now + limit
        times = {"start": self.now, "end": end, "state": "RUNNING", "reason": "None"}
        self.change(job.key, nodes=nodes, placed=tuple(placed), **times)

    def _place(self, job, names, free):
        """Fill nodes in their order, leaving a core for each of the rest, as Slurm does."""
        gres, left = gres_of(job.gres_per_node), job.cpus
        placed = []
        order = sorted(names, key=self.system.node_names.index)
        for at, name in enumerate(order):
            free_here, capacity = free[name], self._capacity[name]
            if job.exclusive and free_here != capacity:
                return []
            cores = min(free_here["core"], left - (len(order) - at - 1))
            if job.mem_per_core and job.mem:
                cores = min(cores, free_here["mem"] // job.mem)
            mem = job.mem * (cores if job.mem_per_core else 1)
            wanted = {"mem": mem, **gres}
            if cores < 1 or any(free_here[kind] < count for kind, count in wanted.items()):
                return []
            left -= cores
            if job.exclusive:
                generic = {kind: n for kind, n in capacity.items() if n and kind not in _OWN}
                placed.append(Placed(name, capacity["core"], capacity["mem"], generic))
            else:
                placed.append(Placed(name, cores, mem, gres))
        return [] if left else placed


def _amounts(part):
    return {"core": part.cores, "mem": part.mem, **part.gres}
