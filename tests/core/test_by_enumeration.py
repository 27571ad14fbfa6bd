"""Placements and starts of the native core against enumeration on a handful of nodes."""

from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import reference as ref
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import jobs, machine, run, starts

from cpsched import _core
from cpsched.dispatch.allocators import make_allocator
from cpsched.dispatch.passes import fits_now
from cpsched.model.allocation import Allocation
from cpsched.model.topology import Topology, TopologyKind
from cpsched.verification import verify

pytestmark = pytest.mark.slow

examples = settings(max_examples=80)


# --- placing one job -----------------------------------------------------------------------------


@given(state=ref.states(), policy=st.sampled_from((*ref.POLICIES, "fgd")))
@settings(max_examples=200)
def test_a_job_is_placed_whenever_any_choice_of_nodes_can_hold_it(state, policy):
    """Feasible exactly if enumeration finds a placement; then within every bound, as documented."""
    view = ref.view_of(state)
    allocator = make_allocator(policy)
    allocator.reset(view.system)
    for row, ask in enumerate(state.waiting):
        allocation = allocator.place(view, row, view.free)
        placements = ref.every_placement(ask, state.free, state.capacity)
        assert (allocation is not None) == bool(placements)
        if allocation is None:
            continue
        takes = ref.takes_of(allocation, len(state.free))
        assert takes in placements
        assert ref.obeys(ask, takes, state.free, state.capacity)
        if policy in ref.POLICIES:
            assert takes == ref.place(policy, ask, state.free, state.capacity)
        expected = ref.allocation_of(ask, takes, state.capacity)
        assert np.array_equal(allocation.amount, expected.amount)


def test_under_few_switches_a_job_is_placed_whenever_some_nodes_can_hold_it():
    """On unlike nodes, in segments of one or two: as enumeration of all sets of nodes finds."""
    rng = np.random.default_rng(3)
    fitted = 0
    for _ in range(150):
        capacities = rng.integers(1, 6, rng.integers(4, 9))
        group = np.sort(rng.integers(0, 4, len(capacities)))
        sizes = tuple(np.unique(group, return_counts=True)[1].tolist())
        topology = Topology(len(capacities), group_sizes=(sizes,), kind=TopologyKind.BLOCK)
        system = replace(machine(*capacities[:, None].tolist()), topology=topology)
        segment, switches = int(rng.integers(1, 3)), int(rng.integers(1, 3))
        num = segment * int(rng.integers(1, 3))
        units = int(rng.integers(num, 5 * num + 1))
        asked = {"nodes_min": [num], "nodes_max": [num + segment], "segment": [segment]}
        workload = jobs((0, units, 5), max_switches=[switches], **asked)
        possible = any(
            num <= len(nodes) <= num + segment
            and len(nodes) <= units <= capacities[list(nodes)].sum()
            and len(held := Counter(group[list(nodes)])) <= switches
            and all(number % segment == 0 for number in held.values())
            for wide in (num, num + segment)
            for nodes in combinations(range(len(capacities)), wide)
        )
        schedule = run(workload, system, "easy").schedule
        assert (schedule.start[0] == 0) == possible
        assert verify(schedule) == []
        fitted += possible
    assert 40 < fitted < 130


@given(state=ref.states())
@examples
def test_fits_now_is_never_false_for_a_job_that_fits(state):
    """And exact for jobs without bounds on nodes, even splits or contiguity."""
    view = ref.view_of(state)
    allocator = make_allocator("first-fit")
    allocator.reset(view.system)
    fits = fits_now(view, view.waiting.rows, allocator)
    for answer, ask in zip(fits.tolist(), state.waiting, strict=True):
        really = bool(ref.every_placement(ask, state.free, state.capacity))
        assert answer or not really
        if ask.nodes_min == 1 and ask.nodes_max >= len(state.free):
            assert answer == really or ask.even or ask.contiguous


@pytest.mark.parametrize("units", [2**31 - 1, 2**31, 2**40])
def test_very_many_units(units):
    """More units than 32 bits count fit where there is room, and where they ask for nothing."""
    assert starts(jobs((0, units, 5), (0, units, 5)), machine((units,)), "easy") == [0, 5]
    assert starts(jobs((0, units, 5), request=[[0]]), machine((1,)), "fifo") == [0]


@pytest.mark.parametrize(
    "dispatcher", ["fifo", "easy", "conservative", "greedy:allocator=balanced"]
)
def test_memory_beyond_32_bits(dispatcher):
    """Amounts of 2^50 on a thousand nodes: sums stay within 64 bits."""
    nodes = [(4, 2**50)] * 1000
    workload = jobs(
        *[(0, 1000, 5)] * 2,
        request=[(1, 2**50), (1, 2**50)],
        resources=("core", "mem"),
    )
    assert starts(workload, machine(*nodes, resources=("core", "mem")), dispatcher) == [0, 5]


# --- what a cluster accepts ----------------------------------------------------------------------

#: What is wrong with a start, by the numbers of the core.
ACCEPTED, BAD_TASKS, BAD_ELIGIBLE, BAD_BOUNDS, BAD_AMOUNT, TOO_LITTLE, BAD_SHAPE = (
    0,
    2,
    3,
    4,
    7,
    8,
    9,
)


class Machine:
    """A native cluster in some state, and its job table."""

    def __init__(self, state):
        view = ref.view_of(state)
        self.columns = view.waiting.store.writable
        self.cluster = _core.Cluster(view.system.capacity)
        self.cluster.look_at_jobs(self.columns)
        self.cluster.look_at_requests(view.waiting.store.shapes)
        self.cluster.look_at_eligible(view.eligible)
        for row in range(len(state.waiting) + len(state.running)):
            self.cluster.enqueue(row)
        for row, job in enumerate(state.running, start=len(state.waiting)):
            allocation = ref.allocation_of(job.ask, job.takes, state.capacity)
            assert self.claim(row, allocation) == ACCEPTED

    @property
    def free(self):
        return self.cluster.free.copy()

    def claim(self, row, allocation, now=0):
        """Start a job; return what is wrong with that."""
        fault, _, _ = self.cluster.start(row, *allocation, now)
        return fault

    def release(self, row):
        self.cluster.leave(row)


@given(state=ref.states(), data=st.data())
@settings(max_examples=150)
def test_claim_accepts_exactly_what_a_job_asks_for(state, data):
    """Any spread of units is taken if it obeys every bound, and refused unchanged if not."""
    row = data.draw(st.integers(0, len(state.waiting) - 1))
    ask = state.waiting[row]
    # Half of the time a placement that is right, or nearly.
    right = ref.every_placement(ask, state.capacity, state.capacity)
    anything = st.tuples(*[st.integers(0, 3)] * len(state.free)).filter(any)
    takes = data.draw(st.one_of(anything, st.sampled_from(right)) if right else anything)
    engine = Machine(state)
    before = engine.free
    wrong = engine.claim(row, ref.allocation_of(ask, takes, state.capacity))
    assert (wrong == 0) == ref.obeys(ask, takes, state.free, state.capacity)
    if wrong:
        assert np.array_equal(engine.free, before)
        assert engine.columns[row].tolist() == Machine(state).columns[row].tolist()
        return
    assert engine.free.tolist() == [
        list(node) for node in ref.minus(before, ref.held(ask, takes, state.capacity))
    ]
    engine.release(row)
    assert np.array_equal(engine.free, before)


@given(state=ref.states(max_waiting=6), data=st.data())
@examples
def test_claim_and_release_in_any_order_restore_what_is_free(state, data):
    """After everybody has left, exactly what was free is free again."""
    engine = Machine(state)
    before = engine.free
    inside = []
    for row, ask in enumerate(state.waiting):
        free = tuple(tuple(node) for node in engine.free.tolist())
        takes = ref.place("best-fit", ask, free, state.capacity)
        if takes is not None:
            assert engine.claim(row, ref.allocation_of(ask, takes, state.capacity)) == 0
            inside.append(row)
        if inside and data.draw(st.booleans()):
            engine.release(inside.pop(data.draw(st.integers(0, len(inside) - 1))))
    running = [row for row in engine.cluster.running().tolist() if row < len(state.waiting)]
    assert sorted(running) == inside
    for row in inside:
        engine.release(row)
    assert np.array_equal(engine.free, before)


@pytest.mark.parametrize(
    ("node", "units", "wanted", "code"),
    [
        ([0, 1], [2], {}, BAD_SHAPE),
        # Two numbers that add up to two where 64 bits are all there is.
        ([0, 1, 2], [2**63 - 1, 2**63 - 1, 4], {}, BAD_TASKS),
        ([], [], {}, BAD_TASKS),
        ([3], [2], {}, BAD_ELIGIBLE),
        ([0], [2], {"nodes_min": 2}, BAD_BOUNDS),
        # Alone on a node of two cores, three units would have all of it and still not fit.
        ([0], [3], {"units": 3, "exclusive": True}, TOO_LITTLE),
        ([0], [2], {"exclusive": True}, ACCEPTED),
    ],
)
def test_claim_names_what_is_wrong(node, units, wanted, code):
    """Two units of one core, unless said otherwise; four nodes of two, the last not for them."""
    plain = {"units": 2, "request": (1,), "per_node": (0,), "eligible": (True, True, True, False)}
    ask = ref.Ask(**{**plain, **wanted})
    state = ref.State(capacity=((2,),) * 4, free=((2,),) * 4, waiting=(ask,))
    amount = np.array(units, dtype=np.int64).reshape(-1, 1)
    if ask.exclusive:
        amount = np.full_like(amount, 2)
    allocation = Allocation(np.array(node, dtype=np.int64), np.array(units, dtype=np.int64), amount)
    assert Machine(state).claim(0, allocation) == code


@pytest.mark.parametrize(
    ("amount", "code"),
    [
        *(([taken], BAD_AMOUNT) for taken in ([1, 0], [3, 0], [2, 1])),
        # It used to read beyond the amounts of a job that was given one kind of two.
        ([[2]], BAD_SHAPE),
    ],
)
def test_claim_takes_exactly_what_is_asked_for(amount, code):
    """Two cores and no GPU: neither less nor more may be taken, and every kind is named."""
    ask = ref.Ask(units=2, request=(1, 0), per_node=(0, 0), eligible=(True,))
    state = ref.State(capacity=((4, 4),), free=((4, 4),), waiting=(ask,))
    engine = Machine(state)
    allocation = Allocation(np.array([0]), np.array([2]), np.array(amount))
    assert engine.claim(0, allocation) == code
    assert engine.free.tolist() == [[4, 4]]
