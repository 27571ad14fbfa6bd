"""
Decisions to time: those of a simulation, looked at while it runs, and made-up ones of any size.

And a log on a machine with many more nodes, all held by one long job.

The CPU time of a decision is the least of some repeats; what a dispatcher remembers is put back
before each.
"""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from cpsched.model import columns as c
from cpsched.model.allocation import Allocation, AllocationArena
from cpsched.model.arrays import immutable
from cpsched.model.jobstore import JobStore, distinct_shapes, submit_rows
from cpsched.model.jobtable import JobTable, RunningTable
from cpsched.model.system import System
from cpsched.model.topology import Topology
from cpsched.model.view import View
from cpsched.simulation.observers import Observer
from cpsched.systems.mapping import Fitted
from cpsched.util.spec import build

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cpsched.dispatch.contract import Dispatcher
    from cpsched.model.decision import Decision
    from cpsched.util.types import IntArray

#: Cores of a made-up node; every second node has GPUs.
CORES, GPUS = 16, 2
#: Seconds that the job runs which holds what is not in play: longer than any log.
_FOR_EVER = 20 * 366 * 86400


def timed(dispatcher: Dispatcher, view: View, repeats: int) -> tuple[Decision, float]:
    """Return a decision and its CPU seconds, the least of some repeats."""
    before = copy.deepcopy(dict(dispatcher.state()))
    best = float("inf")
    for turn in range(repeats):
        if turn:
            dispatcher.restore(copy.deepcopy(before))
        begin = time.process_time()
        decision = dispatcher.decide(view)
        best = min(best, time.process_time() - begin)
    return decision, best


@dataclass
class Sample(Observer):
    """
    Times dispatchers on some decisions of a simulation, whoever drives it.

    Dispatchers that remember things are asked at every decision, the others at the chosen ones:
    every ``step``-th with ``least`` to ``most`` jobs waiting at which something fits and something
    does not, until there are ``count``.

    Attributes
    ----------
    look
        Called with the view and the decisions by dispatcher, at each chosen one.
    seconds, stats
        CPU time and statistics of each chosen decision, by dispatcher.
    waiting
        Jobs waiting at each.
    """

    system: System
    names: Sequence[str]
    step: int
    count: int
    repeats: int
    look: Callable[[View, Mapping[str, Decision]], None]
    least: int = 20
    most: int = 200
    seconds: dict[str, list[float]] = field(default_factory=dict)
    stats: dict[str, list[Mapping[str, float]]] = field(default_factory=dict)
    waiting: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._dispatchers: dict[str, Dispatcher] = {}
        for name in self.names:
            self._dispatchers[name] = made = build("dispatchers", name)
            made.reset(self.system, 0)
            self.seconds[name], self.stats[name] = [], []
        self._remember = {name: bool(made.state()) for name, made in self._dispatchers.items()}
        # Starts whatever fits: nothing is to be decided where that is nothing, or everything.
        self._greedy = build("dispatchers", "greedy")
        self._greedy.reset(self.system, 0)
        self._seen = 0

    def on_decision(self, view: View, decision: Decision, seconds: float) -> None:  # noqa: ARG002
        """Time everybody on this decision, or only let them see it."""
        if self._is_chosen(view):
            decisions = {}
            for name, dispatcher in self._dispatchers.items():
                decisions[name], cpu = timed(dispatcher, view, self.repeats)
                self.seconds[name].append(cpu)
                self.stats[name].append(decisions[name].stats or {})
            self.waiting.append(len(view.waiting))
            self.look(view, decisions)
            return
        for name, dispatcher in self._dispatchers.items():
            if self._remember[name] and (len(view.waiting) or dispatcher.acts_when_idle):
                dispatcher.decide(view)

    @property
    def is_full(self) -> bool:
        """Whether there are as many decisions as wanted."""
        return len(self.waiting) >= self.count

    def _is_chosen(self, view: View) -> bool:
        if self.is_full or not self.least <= len(view.waiting) <= self.most:
            return False
        fits = len(self._greedy.decide(view).actions)
        if fits in (0, len(view.waiting)):
            return False
        self._seen += 1
        return self._seen % self.step == 0


def among(fitted: Fitted, nodes: int) -> Fitted:
    """
    Return a fitted log on so many nodes: its own, spread evenly, and others that one job holds.

    The others are like their neighbours but for a core more, so that this job fits on them alone;
    every second has what no other node has. It comes first, and takes whole nodes.
    """
    system, jobs = fitted.system, fitted.workload
    own = system.num_nodes
    home = np.linspace(0, nodes - 1, own).astype(np.int64)
    near = np.clip(np.searchsorted(home, np.arange(nodes), side="right") - 1, 0, own - 1)
    other = np.ones(nodes, dtype=np.bool_)
    other[home] = False
    capacity = system.capacity[near].copy()
    capacity[other, 0] = capacity[:, 0].max() + 1
    capacity[other, 1] += np.arange(int(other.sum())) % 2
    larger = replace(
        system,
        name=f"{system.name}-{nodes}",
        capacity=capacity,
        node_names=tuple(f"n{number}" for number in range(nodes)),
        node_groups=tuple(system.node_groups[node] for node in near.tolist()),
        features=tuple(system.features[node] for node in near.tolist()),
        topology=Topology(nodes),
    )
    rows = np.concatenate([[0], np.arange(len(jobs))])
    request = jobs.request[rows].copy()
    request[0] = 0
    request[0, 0] = capacity[:, 0].max()
    changed = {"units": other.sum(), "exclusive": True, "contiguous": False, "split": 0}
    changed |= {"nodes_min": 1, "nodes_max": nodes, "per_node": 0, "per_node_max": 0}
    changed |= {"units_min": changed["units"], "units_max": changed["units"]}
    changed |= {"requested_time": _FOR_EVER, "runtime": _FOR_EVER, "dependency": -1}
    columns = {name: getattr(jobs, name)[rows].copy() for name in changed}
    for name, value in changed.items():
        columns[name][0] = value
    columns["dependency"][1:] += jobs.dependency >= 0
    eligible = np.concatenate([np.ones((1, nodes), dtype=np.bool_), fitted.eligible[:, near]])
    return Fitted(
        workload=jobs.take(rows).with_columns(request=request, **columns),
        system=larger,
        eligible_class=np.concatenate([[0], fitted.eligible_class + 1]),
        eligible=eligible,
        rejected=tuple((row + 1, reason) for row, reason in fitted.rejected),
    )


@dataclass(frozen=True)
class Made:
    """
    A made-up machine with jobs on it.

    Attributes
    ----------
    nodes
        How many there are; jobs run on and wait for ``active`` of them, spread evenly, and one
        long job holds all others.
    """

    nodes: int
    active: int
    waiting: int
    running: int
    seed: int

    def view(self) -> View:
        """Return the view; the same queue, running jobs and free amounts whatever ``nodes``."""
        rng = np.random.default_rng(self.seed)
        home = np.linspace(0, self.nodes - 1, self.active).astype(np.int64)
        capacity = np.full((self.nodes, 2), (CORES, 0), dtype=np.int64)
        capacity[::2, 1] = GPUS
        capacity[home] = [(CORES, GPUS * (number % 2)) for number in range(self.active)]
        jobs = _Jobs(rng, self.waiting + self.running + 1)
        now = 10**6
        table = jobs.table(now)
        free = capacity.copy()
        arena = AllocationArena(2)
        running = [
            row
            for row in range(self.waiting, self.waiting + self.running)
            if _run(table, row, jobs, home, free, arena, now, rng)
        ]
        last = self.waiting + self.running
        self._hold_others(table, last, home, free, arena, now)
        running.append(last)
        store = table.store
        running.sort(key=lambda row: int(store.columns[row, c.EXPECTED_END]))
        eligible = np.ones((1, self.nodes), dtype=np.bool_)
        return View(
            now,
            _system(capacity),
            _read_only(free),
            np.ones(self.nodes, dtype=np.bool_),
            _read_only(eligible),
            JobTable(store, _read_only(np.arange(self.waiting, dtype=np.int64))),
            RunningTable(store, _read_only(np.array(running, dtype=np.int64)), arena),
        )

    def _hold_others(
        self,
        table: JobTable,
        row: int,
        home: IntArray,
        free: IntArray,
        arena: AllocationArena,
        now: int,
    ) -> None:
        """Let one job hold whatever is not in play, and a core of the first node that is."""
        others = np.setdiff1d(np.arange(self.nodes), home[1:])
        amount = free[others].copy()
        at_home = np.flatnonzero(others == home[0])
        amount[at_home] = np.minimum(amount[at_home], (1, 0))
        _hold(table, row, Allocation(others, amount[:, 0], amount), arena, now, 30 * 86400)
        free[others] -= amount


class _Jobs:
    """Requests and times of made-up jobs, drawn."""

    def __init__(self, rng: np.random.Generator, num: int) -> None:
        self.units = 2 ** rng.integers(0, 8, size=num)
        self.request = np.ones((num, 2), dtype=np.int64)
        self.request[:, 1] = rng.random(num) < 0.25
        # A unit of a GPU job is a core and a GPU; there are few of them.
        self.units = np.where(self.request[:, 1] > 0, np.minimum(self.units, 8), self.units)
        self.runtime = np.rint(np.exp(rng.uniform(4, 11, size=num))).astype(np.int64)
        self.waited = np.sort(rng.integers(0, 86400, size=num))[::-1]

    def table(self, now: int) -> JobTable:
        num = len(self.units)
        store = JobStore(("core", "gpu"), num)
        none = [np.zeros(num, dtype=np.int64)]
        asked = [*none * c.SHAPE_REQUEST, *self.request.T, *none * 4]
        shapes, shape_of = distinct_shapes(asked, num)
        store.add_shapes(shapes)
        store.add_strings("user", [f"u{number}" for number in range(17)])
        known = {
            "handle": np.arange(num),
            "submit": now - self.waited,
            "requested_time": self.runtime,
            "units": self.units,
            "shape": shape_of,
            "expected_wait": 3600,
            "user": np.arange(num) % 17,
        }
        store.append(submit_rows(num, known))
        return JobTable(store, immutable(np.arange(num, dtype=np.int64)))


def _run(
    table: JobTable,
    row: int,
    jobs: _Jobs,
    home: IntArray,
    free: IntArray,
    arena: AllocationArena,
    now: int,
    rng: np.random.Generator,
) -> bool:
    """Let a job run on the nodes in play, first fit; return whether it fits."""
    request = jobs.request[row]
    fitting = np.min(free[home][:, request > 0] // request[request > 0], axis=1)
    before = np.cumsum(fitting) - fitting
    units = np.clip(jobs.units[row] - before, 0, fitting)
    elapsed = int(jobs.runtime[row] * rng.random())
    if units.sum() < jobs.units[row]:
        return False
    node = home[units > 0]
    amount = units[units > 0, None] * request
    free[node] -= amount
    held = Allocation(node, units[units > 0], amount)
    _hold(table, row, held, arena, now - elapsed, int(jobs.runtime[row]))
    return True


def _hold(
    table: JobTable, row: int, held: Allocation, arena: AllocationArena, start: int, plan: int
) -> None:
    columns = table.store.writable
    columns[row, [c.STATE, c.START, c.EXPECTED_END]] = c.RUNNING, start, start + plan + 1
    columns[row, c.ALLOC_FIRST] = arena.add(held)
    columns[row, c.ALLOC_COUNT] = len(held.node)


def _system(capacity: IntArray) -> System:
    num = len(capacity)
    return System(
        name="made",
        title="made up",
        source="benchmarks/views.py",
        resources=("core", "gpu"),
        capacity=capacity,
        node_names=tuple(f"n{number}" for number in range(num)),
        node_groups=("all",) * num,
        features=(frozenset(),) * num,
        queues={},
        topology=Topology(num),
        default_expected_wait=3600,
    )


def _read_only(array: IntArray) -> IntArray:
    array.flags.writeable = False
    return array
