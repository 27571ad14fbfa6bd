"""
Slow twins of the native core, written from the documented rules and from nothing else.

Where the core searches, these enumerate: every way to put units on nodes, every second to come.
They take seconds for what the core does in microseconds, so machines have a handful of nodes and
jobs a handful of units. Sections: placements; list scheduling, EASY and the conservative plan at
one state; textbook EASY on a counted pool; random states, and the same state as a dispatcher's
view.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from jobtables import job_table

from cpsched.model import columns as c
from cpsched.model.allocation import Allocation, AllocationArena
from cpsched.model.jobtable import JobTable, RunningTable
from cpsched.model.system import System
from cpsched.model.topology import Topology
from cpsched.model.view import View
from cpsched.util.types import UNBOUNDED

#: What a unit of one core asks for on a machine that has nothing else.
ONE_CORE = {"request": (1,), "per_node": (0,)}
#: What each node has of each kind.
Amounts = tuple[tuple[int, ...], ...]
#: Units on each node.
Takes = tuple[int, ...]

RESOURCES = ("core", "gpu", "mem")
POLICIES = ("first-fit", "best-fit", "pack", "balanced", "spare-scarce")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a job asks for, and for how long it is predicted to run."""

    units: int
    request: tuple[int, ...]
    per_node: tuple[int, ...]
    eligible: tuple[bool, ...]
    nodes_min: int = 1
    nodes_max: int = UNBOUNDED
    even: bool = False
    contiguous: bool = False
    exclusive: bool = False
    duration: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A running job: what it holds of each node, and when it is expected to end."""

    ask: Ask
    takes: Takes
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The machine at one second; ``free`` is what is left beside the running jobs."""

    capacity: Amounts
    free: Amounts
    waiting: tuple[Ask, ...]
    now: int = 0
    running: tuple[Held, ...] = ()


# --- placements ----------------------------------------------------------------------------------


def held(ask, takes, capacity):
    """Return what a placed job takes of each node."""
    return tuple(
        _held_on(ask, units, amounts) if units else (0,) * len(amounts)
        for units, amounts in zip(takes, capacity, strict=True)
    )


def _held_on(ask, units, capacity):
    if ask.exclusive:
        return capacity
    return tuple(
        units * amount + besides for amount, besides in zip(ask.request, ask.per_node, strict=True)
    )


def minus(free, taken):
    """Return what is left of ``free``."""
    return tuple(
        tuple(a - b for a, b in zip(have, take, strict=True))
        for have, take in zip(free, taken, strict=True)
    )


def least(free, other):
    """Return the smaller of two at every place."""
    return tuple(tuple(map(min, have, more)) for have, more in zip(free, other, strict=True))


def num_fitting_tasks(ask, node, free, capacity):
    """Return how many units one node can take, found by trying one more and one more."""
    if not ask.eligible[node] or (ask.exclusive and free[node] != capacity[node]):
        return 0

    def fits(units):
        need = zip(ask.request, ask.per_node, free[node], strict=True)
        return all(units * amount + besides <= have for amount, besides, have in need)

    if not any(ask.request):
        return math.inf if fits(1) else 0
    units = 0
    while fits(units + 1):
        units += 1
    return units


def obeys(ask, takes, free, capacity):
    """Tell whether a placement is what a job asks for, on nodes that have it to give."""
    used = [node for node, units in enumerate(takes) if units]
    return (
        sum(takes) == ask.units
        and ask.nodes_min <= len(used) <= ask.nodes_max
        and all(
            0 <= takes[node] <= num_fitting_tasks(ask, node, free, capacity)
            for node in range(len(takes))
        )
        and (not ask.even or len({takes[node] for node in used}) == 1)
        and (not ask.contiguous or used == list(range(used[0], used[-1] + 1)))
    )


def every_placement(ask, free, capacity):
    """Return all ways to put a job's units on nodes."""
    most = [
        min(num_fitting_tasks(ask, node, free, capacity), ask.units) for node in range(len(free))
    ]

    def spread(node, left):
        if node == len(free):
            if left == 0:
                yield ()
            return
        if sum(most[node:]) < left:
            return
        for units in range(min(int(most[node]), left) + 1):
            for rest in spread(node + 1, left - units):
                yield (units, *rest)

    return [takes for takes in spread(0, ask.units) if obeys(ask, takes, free, capacity)]


def ranking(policy, ask, free, capacity):
    """Return the nodes with room for a unit, in an allocator's order; ties in order of nodes."""
    able = [node for node in range(len(free)) if num_fitting_tasks(ask, node, free, capacity) > 0]
    kinds = range(len(ask.request))
    scarce = [
        kind
        for kind in kinds
        if any(node[kind] == 0 for node in capacity) and any(node[kind] > 0 for node in capacity)
    ]

    def idle(node):
        """Return the free shares of all kinds a node has, added up."""
        return sum(
            (Fraction(free[node][kind], capacity[node][kind]) for kind in kinds
             if capacity[node][kind]),
            Fraction(0),
        )  # fmt: skip

    def wasted(node):
        """Tell whether a node has something scarce that the job does not ask for."""
        asked = [ask.request[kind] + ask.per_node[kind] > 0 for kind in kinds]
        return any(capacity[node][kind] and not asked[kind] for kind in scarce)

    every = [min(amounts[kind] for amounts in capacity) for kind in kinds]

    def spared(node):
        """
        Return how many kinds a node has that others lack, and a job does not ask for.

        Also of how many kinds more is free than every node has, if a unit could do with that.
        """
        asked = [ask.request[kind] + ask.per_node[kind] for kind in kinds]
        more = sum(asked[kind] <= every[kind] < free[node][kind] for kind in kinds)
        return sum(bool(capacity[node][kind]) and not asked[kind] for kind in scarce), more

    keys = {
        "first-fit": lambda node: node,
        "best-fit": lambda node: num_fitting_tasks(ask, node, free, capacity),
        "pack": idle,
        "balanced": lambda node: (wasted(node), -idle(node)),
        "spare-scarce": lambda node: (*spared(node), idle(node)),
    }
    return sorted(able, key=keys[policy])


def place(policy, ask, free, capacity):
    """
    Return where an allocator puts a job, or None if no choice of nodes can hold it.

    Each node in the allocator's order holds as many units as any placement lets it that has the
    nodes before it filled so. Even splits take the fewest nodes, the first in order that can give
    their share. Contiguous jobs take the shortest run, then the first along the line, filled from
    its beginning.
    """
    return _best(ask, every_placement(ask, free, capacity), ranking(policy, ask, free, capacity))


def _best(ask, valid, order):
    def along(order, takes):
        return [takes[node] for node in order]

    if not valid:
        return None
    if ask.contiguous:
        line = range(len(valid[0]))
        return max(valid, key=lambda takes: (-_width(takes), along(line, _first(takes)), takes))
    if ask.even:
        return max(valid, key=lambda takes: (-_width(takes), along(order, takes)))
    return max(valid, key=lambda takes: along(order, takes))


def _width(takes):
    return sum(units > 0 for units in takes)


def _first(takes):
    """Mark the first node of a run."""
    first = next(node for node, units in enumerate(takes) if units)
    return tuple(int(node == first) for node in range(len(takes)))


def place_preferring(policy, ask, free, preferred, capacity):
    """
    Return where an allocator puts a job that uses up a part of ``free`` first.

    Units that may lie anywhere fill what is preferred, in the allocator's order, then the rest. A
    job with bounds takes the nodes first on which what is preferred could hold a unit.
    """
    valid = every_placement(ask, free, capacity)
    order = ranking(policy, ask, free, capacity)
    inside = [num_fitting_tasks(ask, node, preferred, capacity) for node in range(len(free))]
    bound = ask.nodes_min > 1 or ask.nodes_max < min(ask.units, len(free))
    if bound or ask.even or ask.contiguous or ask.exclusive or any(ask.per_node):
        order = sorted(order, key=lambda node: inside[node] == 0)
        return _best(ask, valid, order)
    return max(
        valid,
        key=lambda takes: (
            [min(takes[node], inside[node]) for node in order],
            [takes[node] for node in order],
        ),
        default=None,
    )


# --- dispatchers at one state --------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class Answer:
    """What starts now (position in the queue: units by node), and what is planned."""

    starts: dict[int, Takes] = field(default_factory=dict)
    planned: dict[int, int] = field(default_factory=dict)
    nodes: Takes | None = None


def list_schedule(policy, state, order, *, stop):
    """Start jobs in order; the first that does not fit ends it (``stop``) or is skipped."""
    answer = Answer()
    free = state.free
    for position in order:
        ask = state.waiting[position]
        takes = place(policy, ask, free, state.capacity)
        if takes is not None:
            answer.starts[position] = takes
            free = minus(free, held(ask, takes, state.capacity))
        elif stop:
            break
    return answer


def free_at(state, second, starts):
    """Return what is free at a second to come if these jobs start now and no others."""
    free = state.free
    for job in state.running:
        if job.end <= second:
            free = minus(free, _negative(held(job.ask, job.takes, state.capacity)))
    for position, takes in starts.items():
        if state.now + max(state.waiting[position].duration, 1) > second:
            free = minus(free, held(state.waiting[position], takes, state.capacity))
    return free


def _negative(amounts):
    return tuple(tuple(-amount for amount in node) for node in amounts)


def _horizon(state):
    """Return a second by which everything that runs or waits could have run, one by one."""
    last = max([job.end for job in state.running], default=state.now)
    return last + sum(max(ask.duration, 1) for ask in state.waiting) + 1


def easy(policy, state, order, backfill):
    """
    Return what EASY does.

    Heads start until one does not fit. Its reservation is the first second at which it can be
    placed, with that placement, on what is busy now first; one that can never be placed is passed
    over. A later job starts if it fits now and ends by that second (on reserved nodes first), or
    fits beside the reservation too.
    """
    answer, capacity = Answer(), state.capacity
    for first in order:
        head = state.waiting[first]
        takes = place(policy, head, free_at(state, state.now, answer.starts), capacity)
        if takes is not None:
            answer.starts[first] = takes
            continue
        shadow, reserved = _reservation(policy, state, head, answer.starts)
        if reserved is not None:
            break
    else:
        return answer
    for position in backfill:
        if position == first or position in answer.starts:
            continue
        ask = state.waiting[position]
        free = free_at(state, state.now, answer.starts)
        then = minus(free_at(state, shadow, answer.starts), held(head, reserved, capacity))
        beside = least(free, then)
        if state.now + max(ask.duration, 1) <= shadow:
            takes = place_preferring(policy, ask, free, minus(free, beside), capacity)
        else:
            takes = place(policy, ask, beside, capacity)
        if takes is not None:
            answer.starts[position] = takes
    answer.planned, answer.nodes = {first: shadow}, reserved
    return answer


def _reservation(policy, state, head, starts):
    now_free = free_at(state, state.now, starts)
    for second in range(state.now + 1, _horizon(state)):
        then = free_at(state, second, starts)
        if then == free_at(state, second - 1, starts):
            continue
        takes = place_preferring(policy, head, then, minus(then, now_free), state.capacity)
        if takes is not None:
            return second, takes
    return _horizon(state), None


def conservative(policy, state, order, depth):
    """
    Return what conservative backfilling does: ``planned`` holds all of its reservations.

    Each job in order gets the first second from which on it fits for its whole duration, beside
    those before it. Jobs planned for now start. At most ``depth`` others hold their place; jobs
    behind them start now or are not planned.
    """
    answer = Answer()
    horizon = _horizon(state)
    line = {second: free_at(state, second, {}) for second in range(state.now, 2 * horizon)}
    for position in order:
        ask = state.waiting[position]
        length = max(ask.duration, 1)
        for second in range(state.now, horizon):
            if second > state.now and len(answer.planned) == depth:
                break
            low = line[second]
            for during in range(second + 1, second + length):
                low = least(low, line[during])
            takes = place(policy, ask, low, state.capacity)
            if takes is None:
                continue
            for during in range(second, second + length):
                line[during] = minus(line[during], held(ask, takes, state.capacity))
            if second == state.now:
                answer.starts[position] = takes
            else:
                answer.planned[position] = second
            break
    return answer


# --- textbook EASY on a counted pool -------------------------------------------------------------


def textbook_easy(jobs, processors):
    """
    Simulate EASY as Mu'alem and Feitelson (2001) have it, on a counted pool.

    Parameters
    ----------
    jobs
        (submit, processors, runtime, requested time), in order of submission; a job is killed at
        its requested time.

    Returns
    -------
    list of int
        The start of each job. At one second all ends come first, then all submits, then one
        pass, again until no job of no length is left.
    """
    start = [-1] * len(jobs)
    ends = []
    queue = []
    coming = list(range(len(jobs)))
    while coming or ends:
        now = min([jobs[coming[0]][0]] if coming else [ends[0][0]], default=0)
        if ends:
            now = min(now, ends[0][0])
        while ends and ends[0][0] == now:
            heapq.heappop(ends)
        while coming and jobs[coming[0]][0] == now:
            queue.append(coming.pop(0))
        running = [(start[job] + max(jobs[job][3], 1), jobs[job][1]) for _, job in ends]
        for job in _textbook_pass(now, [(job, *jobs[job]) for job in queue], running, processors):
            start[job] = now
            queue.remove(job)
            heapq.heappush(ends, (now + min(jobs[job][2], jobs[job][3]), job))
    return start


def _textbook_pass(now, queue, running, processors):
    """Return the jobs that start now; ``running`` holds (expected end, processors)."""
    free = processors - sum(size for _, size in running)
    starts = []
    while queue and queue[0][2] <= free:
        job, _, size, _, requested = queue.pop(0)
        free -= size
        running = [*running, (now + requested, size)]
        starts.append(job)
    if not queue:
        return starts
    # The head's shadow time, and the processors it leaves then.
    shadow = min(
        second
        for second, _ in running
        if free + sum(size for end, size in running if end <= second) >= queue[0][2]
    )
    extra = free + sum(size for end, size in running if end <= shadow) - queue[0][2]
    for job, _, size, _, requested in queue[1:]:
        if size <= free and now + requested <= shadow:
            free -= size
            starts.append(job)
        elif size <= min(free, extra):
            free -= size
            extra -= size
            starts.append(job)
    return starts


# --- random states -------------------------------------------------------------------------------


@st.composite
def asks(draw, masks):
    """Draw a request; some ask for nothing, for more than there is, or for the impossible."""
    nodes_min, extra = draw(_BOUNDS)
    even, contiguous, exclusive = draw(_FLAGS)
    return Ask(
        units=draw(_UNITS),
        request=draw(_REQUESTS),
        per_node=draw(_PER_NODE),
        eligible=draw(st.sampled_from(masks)),
        nodes_min=nodes_min,
        nodes_max=UNBOUNDED if extra is None else nodes_min + extra,
        even=even,
        contiguous=contiguous,
        exclusive=exclusive,
        duration=draw(st.integers(0, 8)),
    )


#: Most requests are ordinary; what is listed once is rare.
_UNITS = st.sampled_from([1, 1, 2, 2, 3, 4, 5])
_REQUESTS = st.sampled_from(
    [(1, 0, 0)] * 8 + [(1, 0, 1), (2, 0, 0), (2, 0, 2), (1, 1, 0), (0, 1, 1), (3, 0, 1), (0, 0, 0)]
)
_PER_NODE = st.sampled_from([(0, 0, 0)] * 12 + [(0, 1, 0), (1, 0, 0), (0, 0, 2), (1, 1, 1)])
_BOUNDS = st.sampled_from(
    [(1, None)] * 8 + [(1, 0), (1, 1), (2, None), (2, 0), (2, 1), (3, None), (3, 0)]
)
_FLAGS = st.sampled_from(
    [(False, False, False)] * 12
    + [(True, False, False), (False, True, False), (False, False, True)] * 2
    + [(True, True, False), (True, False, True), (False, True, True)]
)
_NODES = st.tuples(
    st.sampled_from([2, 2, 4, 4, 1, 0]), st.sampled_from([0, 1, 2]), st.sampled_from([4, 8, 0])
)


def state_of(nodes, busy, *waiting, now=0):
    """
    Return a state of nodes by their cores.

    Running jobs are (units by node, end), waiting ones an ``Ask`` or (units, duration).
    """
    plain = ONE_CORE | {"eligible": (True,) * len(nodes)}
    capacity = free = tuple((cores,) for cores in nodes)
    running = tuple(
        Held(ask=Ask(units=sum(takes), **plain), takes=takes, end=end)
        for takes, end in sorted(busy, key=lambda job: job[1])
    )
    for job in running:
        free = minus(free, held(job.ask, job.takes, capacity))
    asks = tuple(
        ask if isinstance(ask, Ask) else Ask(units=ask[0], duration=ask[1], **plain)
        for ask in waiting
    )
    return State(now=now, capacity=capacity, free=free, running=running, waiting=asks)


@st.composite
def states(draw, max_nodes=4, max_waiting=6, max_running=6):
    """
    Draw a machine, some of its nodes down, with jobs running and waiting.

    Often the first in the queue is too wide to start now, and often all in it are alike but for
    their width, bounds and length: that is where reservations and shortcuts are.
    """
    capacity = tuple(draw(st.lists(_NODES, min_size=min(2, max_nodes), max_size=max_nodes)))
    num = len(capacity)
    luck = draw(st.lists(st.integers(0, 9), min_size=num, max_size=num))
    works = tuple(value < 9 for value in luck)
    masks = [works, works, works, tuple(value < 5 for value in luck)]
    empty = tuple(
        have if good else (0,) * len(have) for have, good in zip(capacity, works, strict=True)
    )
    plain = Ask(units=1, request=(1, 0, 0), per_node=(0, 0, 0), eligible=works)

    def possible(drawn):
        """Replace most of those that could never run by ordinary ones."""
        return [
            ask
            if ask.duration == 0 or every_placement(ask, empty, capacity)
            else replace(plain, units=ask.units, duration=ask.duration)
            for ask in drawn
        ]

    now, free, running = draw(st.integers(0, 3)), empty, []
    for ask in possible(draw(st.lists(asks(masks), min_size=1, max_size=max_running))):
        takes = place(draw(st.sampled_from(POLICIES)), ask, free, capacity)
        if takes is not None:
            running.append(Held(ask=ask, takes=takes, end=now + draw(st.integers(1, 8))))
            free = minus(free, held(ask, takes, capacity))
    waiting = draw(st.lists(asks(masks), min_size=1, max_size=max_waiting))
    if draw(st.integers(0, 2)) == 0:
        first = waiting[0]
        waiting = [
            replace(first, units=ask.units, nodes_min=ask.nodes_min, nodes_max=ask.nodes_max,
                    duration=ask.duration)
            for ask in waiting
        ]  # fmt: skip
    if draw(st.booleans()):
        wide = 1 + sum(node[0] for node in free) + draw(st.integers(0, 2))
        waiting.insert(0, replace(plain, units=wide, duration=draw(st.integers(1, 8))))
    return State(
        now=now,
        capacity=capacity,
        free=free,
        running=tuple(sorted(running, key=lambda job: job.end)),
        waiting=tuple(possible(waiting)),
    )


# --- the same state for the engine ---------------------------------------------------------------


def system_of(capacity):
    """Return a system of nodes given by their capacities."""
    num = len(capacity)
    return System(
        name="reference",
        title="a handful of nodes",
        source="made up",
        resources=RESOURCES[: len(capacity[0])],
        capacity=np.array(capacity, dtype=np.int64),
        node_names=tuple(f"n{index}" for index in range(num)),
        node_groups=("all",) * num,
        features=(frozenset(),) * num,
        queues={},
        topology=Topology(num),
        default_expected_wait=3600,
    )


def view_of(state):
    """
    Return a state as a dispatcher sees it, with no workload and no simulator behind it.

    Handles are positions: waiting jobs first, running ones behind them.
    """
    known = [*state.waiting, *(job.ask for job in state.running)]
    masks = list(dict.fromkeys(ask.eligible for ask in known))
    table = _table(known, masks, len(state.capacity[0]))
    columns = table.store.writable
    arena = AllocationArena(len(state.capacity[0]))
    for row, job in enumerate(state.running, start=len(state.waiting)):
        allocation = allocation_of(job.ask, job.takes, state.capacity)
        columns[row, [c.ALLOC_FIRST, c.ALLOC_COUNT]] = arena.add(allocation)
        columns[row, c.EXPECTED_END] = job.end
        columns[row, c.STATE] = c.RUNNING
    rows = np.arange(len(known), dtype=np.int64)
    free = np.array(state.free, dtype=np.int64)
    eligible = np.array(masks, dtype=np.bool_).reshape(len(masks), len(free))
    up = np.ones(len(free), dtype=np.bool_)
    for array in (rows, free, eligible, up):
        array.flags.writeable = False
    return View(
        state.now,
        system_of(state.capacity),
        free,
        up,
        eligible,
        JobTable(table.store, rows[: len(state.waiting)]),
        RunningTable(table.store, rows[len(state.waiting) :], arena),
    )


def _table(known, masks, kinds):
    def integers(values):
        return np.array(values, dtype=np.int64)

    return job_table(
        resources=RESOURCES[:kinds],
        handle=np.arange(len(known)),
        submit=np.zeros(len(known), dtype=np.int64),
        requested_time=integers([ask.duration for ask in known]),
        units=integers([ask.units for ask in known]),
        request=integers([ask.request for ask in known]),
        per_node=integers([ask.per_node for ask in known]).reshape(len(known), kinds),
        nodes_min=integers([ask.nodes_min for ask in known]),
        nodes_max=integers([ask.nodes_max for ask in known]),
        split=integers([ask.even for ask in known]),
        contiguous=integers([ask.contiguous for ask in known]),
        exclusive=integers([ask.exclusive for ask in known]),
        eligible_class=integers([masks.index(ask.eligible) for ask in known]),
    )


def allocation_of(ask, takes, capacity):
    """Return a placement as an allocation."""
    node = np.flatnonzero(takes).astype(np.int64)
    amount = np.array(held(ask, takes, capacity), dtype=np.int64)
    return Allocation(node, np.array(takes, dtype=np.int64)[node], amount[node])


def takes_of(allocation, num_nodes):
    """Return an allocation as units by node."""
    takes = np.zeros(num_nodes, dtype=np.int64)
    takes[allocation.node] = allocation.units
    return tuple(takes.tolist())


def decide(dispatcher, state):
    """Return what starts (units by node, by position in the queue), and the decision."""
    view = view_of(state)
    dispatcher.reset(view.system, 0)
    decision = dispatcher.decide(view)
    num_nodes = len(state.capacity)
    return {
        start.handle: takes_of(start.allocation, num_nodes) for start in decision.actions
    }, decision


def planned(decision):
    """Return the planned start of each job of a decision."""
    plan = decision.planned_starts
    return dict(zip(plan.handle, plan.start, strict=True)) if plan else {}
