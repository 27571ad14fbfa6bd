"""The plan of the whole queue: as the slow reference has it, whatever ranges of nodes there are."""

from dataclasses import replace

import numpy as np
import pytest
import reference as ref
from hypothesis import given, settings
from hypothesis import strategies as st

from cpsched.dispatch.allocators import make_allocator
from cpsched.dispatch.passes import decision_of, plan_pass
from cpsched.util.types import UNBOUNDED

pytestmark = pytest.mark.slow

policies = st.sampled_from(ref.POLICIES)
depths = st.sampled_from([2**62, 2**62, 0, 1, 2])


def allocator_of(state, policy):
    """Return a view of a state, and an allocator of its system."""
    view = ref.view_of(state)
    allocator = make_allocator(policy)
    allocator.reset(view.system)
    return view, allocator


def plan(state, policy="first-fit", depth=2**62, *, full=True):
    """Return what starts (tasks by node, by position in the queue), and all planned starts."""
    view, allocator = allocator_of(state, policy)
    result, planned = plan_pass(view, view.waiting.rows, allocator, depth, full=full)
    started = {
        start.handle: ref.takes_of(start.allocation, len(state.capacity))
        for start in decision_of(view, result).actions
    }
    return started, planned.tolist()


@st.composite
def stretched(draw):
    """Draw a state in which every node has neighbours that are like it in all."""
    state = draw(ref.states(max_nodes=3, max_waiting=5))
    times = draw(st.lists(st.integers(1, 3), min_size=3, max_size=3))

    def wide(values):
        return tuple(value for value, num in zip(values, times, strict=False) for _ in range(num))

    def asks(ask):
        return replace(ask, eligible=wide(ask.eligible))

    held = [
        replace(job, ask=asks(replace(job.ask, units=sum(wide(job.takes)))), takes=wide(job.takes))
        for job in state.running
    ]
    return replace(
        state,
        capacity=wide(state.capacity),
        free=wide(state.free),
        running=tuple(held),
        waiting=tuple(asks(ask) for ask in state.waiting),
    )


@given(state=st.one_of(stretched(), ref.states()), policy=policies, depth=depths)
@settings(max_examples=200)
def test_plan_is_the_reference(state, policy, depth):
    """The same jobs start on the same nodes, and reservations are the same."""
    expected = ref.conservative(policy, state, range(len(state.waiting)), depth)
    started, planned = plan(state, policy, depth, full=False)
    assert started == expected.starts
    later = {job: at for job, at in enumerate(planned) if at > state.now}
    if depth > len(state.waiting):
        # What lies behind the last job that could start now is not planned.
        assert later.items() <= expected.planned.items()
        started, planned = plan(state, policy, depth)
        assert started == expected.starts
        later = {job: at for job, at in enumerate(planned) if at > state.now}
        assert later == expected.planned


# --- against node by node, on machines too large for the reference -------------------------------


def node_by_node(state, policy, depth):
    """Plan all jobs as plan_pass does, second by second and node by node."""
    view, allocator = allocator_of(state, policy)
    running = view.running
    queue, durations = view.waiting.rows, np.maximum(view.waiting.runtime_estimate, 1)
    last = max(running.expected_end.tolist(), default=view.now)
    horizon = int(last + durations.sum() - view.now + 1)
    free = np.repeat(view.free[None], horizon, axis=0)
    for position, end in enumerate(running.expected_end.tolist()):
        held = running.allocation(position)
        free[end - view.now :, held.node] += held.amount
    started, planned, num_reserved = {}, [-1] * len(queue), 0
    for i, (row, duration) in enumerate(zip(queue.tolist(), durations.tolist(), strict=True)):
        for second in range(horizon - duration + 1):
            window = free[second : second + duration]
            allocation = allocator.place(view, row, window.min(axis=0))
            if allocation is None:
                continue
            planned[i] = view.now + second
            if second == 0 or num_reserved < depth:
                window[:, allocation.node] -= allocation.amount
            if second == 0:
                started[row] = ref.takes_of(allocation, len(state.capacity))
            else:
                num_reserved += 1
            break
    return started, planned


def random_state(rng):
    """Return a machine of up to 30 nodes in ranges of alike ones, jobs running and waiting."""
    capacity = tuple(
        (int(rng.choice([2, 4, 8])), int(rng.choice([0, 0, 2])), int(rng.choice([4, 16])))
        for _ in range(rng.integers(1, 5))
        for _ in range(rng.integers(1, 8))
    )
    num = len(capacity)
    masks = [(True,) * num, (True,) * num, tuple(n < num // 2 for n in range(num))]
    bounded = rng.random() < 0.7

    def ask():
        low = int(rng.choice([1, 1, 1, 2, 3])) if bounded else 1
        kind = rng.integers(0, 10) if bounded else 9
        return ref.Ask(
            units=int(rng.choice([1, 1, 2, 3, 4, 6, 8, 12, 20])),
            request=[(1, 0, 0), (2, 0, 1), (1, 0, 3), (1, 1, 0)][rng.integers(0, 4)],
            per_node=[(0, 0, 0), (0, 0, 0), (0, 1, 0), (1, 0, 0)][rng.integers(0, 4)],
            eligible=masks[rng.integers(0, 3)],
            nodes_min=low,
            nodes_max=low + int(rng.integers(0, 4)) if kind in (0, 1, 2) else UNBOUNDED,
            even=kind in (2, 3),
            contiguous=kind in (3, 4),
            exclusive=kind in (4, 5),
            duration=int(rng.integers(0, 9)),
        )

    free, running = capacity, []
    for _ in range(rng.integers(0, 12)):
        job = ask()
        takes = place(job, free, capacity, rng.choice(ref.POLICIES))
        if takes is not None:
            running.append(ref.Held(ask=job, takes=takes, end=int(rng.integers(1, 12))))
            free = ref.minus(free, ref.held(job, takes, capacity))
    # Often one request, several widths and lengths.
    waiting = [ask() for _ in range(rng.integers(1, 20))]
    if rng.random() < 0.5:
        waiting = [replace(waiting[0], units=job.units, duration=job.duration) for job in waiting]
    return ref.State(
        capacity=capacity,
        free=free,
        running=tuple(sorted(running, key=lambda job: job.end)),
        waiting=tuple(waiting),
    )


def place(ask, free, capacity, policy):
    """Place natively: the reference would take too long on so many nodes."""
    state = ref.State(capacity=capacity, free=free, waiting=(ask,))
    view, allocator = allocator_of(state, policy)
    allocation = allocator.place(view, 0, view.free)
    return None if allocation is None else ref.takes_of(allocation, len(capacity))


@pytest.mark.parametrize("policy", ref.POLICIES)
def test_ranges_are_as_good_as_nodes(policy):
    """Also where queue, machine and bounds are larger than the reference could take."""
    for seed in range(60):
        rng = np.random.default_rng([seed, ref.POLICIES.index(policy)])
        depth = int(rng.choice([2**62, 2**62, 0, 1, 3]))
        state = random_state(rng)
        started, planned = node_by_node(state, policy, depth)
        assert plan(state, policy, depth) == (started, planned), seed
        assert plan(state, policy, depth, full=False)[0] == started, seed


# --- ranges --------------------------------------------------------------------------------------


def core(units, num, **more):
    """Return a request for cores on any of some nodes."""
    return ref.Ask(units=units, request=(1,), per_node=(0,), eligible=(True,) * num, **more)


def test_more_ranges_than_there_was_space_for():
    """Each of 200 jobs splits the last range of 300 alike nodes; they stay in their order."""
    num = 300
    waiting = tuple(core(1, num, duration=1 + job, exclusive=True) for job in range(200))
    state = ref.state_of((2,) * num, [], *waiting)
    started, planned = plan(state)
    assert planned == [0] * 200
    assert [takes.index(1) for takes in started.values()] == list(range(200))


@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=5),
    units=st.integers(1, 40),
    bounds=st.tuples(st.integers(1, 8), st.integers(0, 8)),
    data=st.data(),
)
@settings(max_examples=100)
def test_tasks_on_ranges_as_on_their_nodes(sizes, units, bounds, data):
    """One node each for what is owed, the roomiest where the number is bounded: as one by one."""
    capacities = data.draw(st.lists(st.integers(0, 9), min_size=len(sizes), max_size=len(sizes)))
    nodes = [
        (capacity,) for capacity, size in zip(capacities, sizes, strict=True) for _ in range(size)
    ]
    policy = data.draw(policies)
    even = data.draw(st.booleans())
    ask = core(units, len(nodes), nodes_min=bounds[0], nodes_max=sum(bounds), even=even, duration=1)
    state = ref.State(capacity=((9,),) * len(nodes), free=tuple(nodes), waiting=(ask,))
    started, _ = plan(state, policy)
    assert started.get(0) == place(ask, tuple(nodes), ((9,),) * len(nodes), policy)


# --- rules of its own ----------------------------------------------------------------------------


@pytest.mark.parametrize("end", [-5, 0, 1])
def test_who_should_have_ended_ends_in_the_next_second(end):
    """A running job's expected end has passed: what it holds is not free now."""
    state = ref.state_of((2,), [((1,), end)], (2, 5), (1, 1))
    assert plan(state) == ({1: (1,)}, [1, 0])


def test_very_many_units_within_bounds():
    """2^41 units on two of three nodes: nothing is counted out unit by unit."""
    amount = 2**40
    two = core(2 * amount, 3, nodes_max=2, duration=1)
    state = ref.state_of((amount, 1, amount), [], two, core(amount + 1, 3, nodes_max=1))
    assert plan(state) == ({0: (amount, 0, amount)}, [0, -1])
