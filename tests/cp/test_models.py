"""What goes into the models: demands, capacities, places, sizes, and the model for a look at."""

from __future__ import annotations

import numpy as np
import pytest
import reference as ref
from exhaustive import placements
from hypothesis import given, settings
from hypothesis import strategies as st
from planned import decisions, dispatcher_for, view_with
from tiny import jobs, machine, run

from cpsched.cp.capacity import Asked, binding_kinds, steps
from cpsched.cp.nodes import Timeline
from cpsched.cp.places import places_of, requests_of
from cpsched.cp.pure import MOST_COUNTS
from cpsched.dispatch.allocators import make_allocator
from cpsched.dispatch.pooled import pooled_demand
from cpsched.simulation.observers import Observer


def first_fit(system):
    allocator = make_allocator("first-fit")
    allocator.reset(system)
    return allocator


@given(drawn=decisions(restricted=True, max_nodes=3))
@settings(max_examples=60)
def test_no_placement_takes_less_than_the_pool_counts(drawn):
    """The pool's demand is a lower bound, so the pool is a relaxation whatever jobs ask for."""
    state, waits, submits = drawn
    if not state.waiting:
        return
    view = view_with(state, waits, submits)
    demand = pooled_demand(view, view.waiting, first_fit(view.system))
    for job, ask in enumerate(state.waiting):
        for takes in placements(state, ask):
            total = np.sum(ref.held(ask, takes, state.capacity), axis=0)
            assert (total >= demand[job]).all()


def test_what_a_job_takes_of_the_pool_at_least():
    """Per-node amounts on the fewest nodes, and whole nodes where none is shared."""
    # Nodes of 4 cores and a GPU. Five units need two nodes, hence two GPUs; alone on them, 8 cores.
    everywhere = (True, True)
    gpus = ref.Ask(units=5, request=(1, 0), per_node=(0, 1), eligible=everywhere)
    alone = ref.Ask(units=5, request=(1, 0), per_node=(0, 0), eligible=everywhere, exclusive=True)
    wide = ref.Ask(units=2, request=(1, 0), per_node=(1, 0), eligible=everywhere, nodes_min=2)
    nodes = ((4, 1), (4, 1))
    state = ref.State(now=0, capacity=nodes, free=nodes, running=(), waiting=(gpus, alone, wide))
    view = view_with(state, [3600] * 3, [0] * 3)
    demand = pooled_demand(view, view.waiting, first_fit(view.system))
    assert demand.tolist() == [[5, 2], [8, 2], [4, 0]]


def test_only_kinds_that_can_run_short_are_constrained():
    """Memory follows the cores here (at most 2 of it a core, and 2 are free for each): dropped."""
    demand = np.array([[2, 4, 0], [3, 1, 1], [4, 8, 0]])
    level = np.array([[5, 10, 1], [8, 16, 1]])
    assert binding_kinds(Asked.of(demand), level) == [0]
    # With less memory both can bind; a kind asked for without cores always can.
    assert binding_kinds(Asked.of(demand), level - [0, 1, 0]) == [0, 1]
    assert binding_kinds(Asked.of(np.array([[9, 0], [0, 9]])), np.array([[5, 5]])) == [0, 1]
    assert binding_kinds(Asked.of(np.array([[1, 0]])), np.array([[5, 5]])) == []


def test_capacity_in_few_steps_and_small_numbers():
    """Demands 4 and 6 count in twos; what is beyond their sum is not told apart."""
    level = np.array([5, 7, 8, 100, 200])
    found = steps([4, 6], [1, 1], [0, 10, 20, 30, 40], level, 100)
    assert found == ((2, 3), 5, ((0, 10, 3), (10, 20, 2), (20, 30, 1)), True)
    assert steps([4, 6], [1, 1], [0, 10], np.array([10, 12]), 100) is None
    # Nothing after the horizon.
    assert steps([4, 6], [1, 1], [0, 10, 20], np.array([5, 7, 8]), 10) == (
        (2, 3),
        4,
        ((0, 10, 2),),
        True,
    )


@given(
    demand=st.lists(st.integers(1, 2**50), min_size=1, max_size=6),
    level=st.lists(st.integers(0, 2**53), min_size=1, max_size=6),
    horizon=st.integers(1, 10**14),
)
def test_amounts_times_seconds_stay_in_range_and_nothing_is_let_in(demand, level, horizon):
    """Counted in larger portions, what fits still fits in truth."""
    levels = np.sort(np.array(level)) + max(demand)
    found = steps(demand, [1] * len(demand), list(range(len(level))), levels, horizon)
    if found is None:
        return
    assert found.capacity * horizon < 2**62
    for segment in range(len(level)):
        busy = sum(amount for begin, end, amount in found.busy if begin <= segment < end)
        taken, true = 0, 0
        for portions, amount in zip(found.demand, demand, strict=True):
            if taken + portions + busy <= found.capacity and segment < horizon:
                taken, true = taken + portions, true + amount
        assert true <= levels[segment] or segment >= horizon


def places_at(state, latest=None):
    """Return the places of a decision whose jobs start by ``latest``, and its requests."""
    view = view_with(state, [3600] * len(state.waiting), [0] * len(state.waiting))
    timeline = Timeline.of(view, first_fit(view.system))
    waiting = view.waiting
    last = np.full(len(waiting), timeline.times[-1]) if latest is None else np.array(latest)
    near = timeline.until(int(last.max()))
    requests = requests_of(near, waiting, last)
    duration = np.maximum(waiting.runtime_estimate, 1)
    listed = timeline.listed(waiting.rows, duration, np.arange(len(waiting)))
    return places_of(near, requests, listed.takes), requests


def ask(units, cores, nodes, **more):
    return ref.Ask(
        units=units, request=(cores,), per_node=(0,), eligible=(True,) * nodes, duration=5, **more
    )


def state(capacity, free, *waiting):
    return ref.State(
        now=0,
        capacity=tuple((cores,) for cores in capacity),
        free=tuple((cores,) for cores in free),
        running=(),
        waiting=waiting,
    )


def test_nodes_whose_units_are_all_alike_are_one_pool_of_slots():
    """Units of two cores on nodes of 2, 3 and 8 cores: 1 + 1 + 4 slots, one place."""
    places, _ = places_at(state([2, 3, 8], [2, 3, 8], ask(3, 2, 3), ask(5, 2, 3)))
    assert [(place.pool, place.nodes.tolist(), place.level.tolist()) for place in places] == [
        (True, [0, 1, 2], [[6]])
    ]


def test_alike_nodes_are_no_more_places_than_units_could_touch():
    """Three units in all of unlike sizes: three of fifty idle nodes are enough."""
    places, _ = places_at(state([8] * 50, [8] * 50, ask(2, 3, 50), ask(1, 5, 50)))
    assert len(places) == 3
    assert [place.after for place in places] == [None, 0, 1]


def test_what_lies_after_the_last_possible_start_is_no_part_of_the_model():
    """Until 10 and until 20 a node is taken: it is no place for who has to start before."""
    job = ask(1, 2, 3)
    busy = ref.State(
        now=0,
        capacity=((2,),) * 3,
        free=((2,), (0,), (0,)),
        running=(
            ref.Held(ask=job, takes=(0, 1, 0), end=10),
            ref.Held(ask=job, takes=(0, 0, 1), end=20),
        ),
        waiting=(job, ask(1, 2, 3)),
    )
    for latest, nodes, room in (
        ([20, 20], [0, 1, 2], [[1, 1, 1], [1, 1, 1]]),
        ([9, 19], [0, 1], [[1, 0, 0], [1, 1, 0]]),
        ([10, 9], [0, 1], [[1, 1, 0], [1, 0, 0]]),
        ([0, 9], [0], [[1, 0, 0], [1, 0, 0]]),
    ):
        places, requests = places_at(busy, latest)
        assert sorted(np.concatenate([place.nodes for place in places]).tolist()) == nodes
        assert requests.room.tolist() == room


def test_a_contiguous_job_tells_all_nodes_apart():
    """Which node it is matters then."""
    run_of_two = ask(2, 5, 6, contiguous=True)
    places, _ = places_at(state([8] * 6, [8] * 6, run_of_two, ask(1, 3, 6)))
    assert [place.nodes.tolist() for place in places] == [[node] for node in range(6)]
    assert all(place.after is None for place in places)


def test_a_window_too_large_for_its_nodes_is_shortened():
    """Twenty jobs of 300 units and more on 3,000 nodes: 60,000 counts, three times too many."""
    num = 3000
    free = 1 + np.arange(num) % 4
    waiting = [ask(300 + index, 1 + index % 3, num) for index in range(20)]
    everything = ref.State(
        now=0,
        capacity=tuple((4,) for _ in range(num)),
        free=tuple((int(one),) for one in free),
        running=(),
        waiting=tuple(waiting),
    )
    view = view_with(everything, [3600] * 20, [0] * 20)
    built = dispatcher_for("cp-3", view).build(view)
    assert 0 < len(built.other) <= MOST_COUNTS
    assert 0 < len(built.start) < 20


@pytest.mark.parametrize("name", ["cph-0", "cp-0"])
def test_a_decisions_model_can_be_looked_at(name, tmp_path):
    """Whether or not the decision needs the solver; named after jobs, equal every time."""
    view = view_with(state([2, 2], [2, 1], ask(1, 2, 2), ask(2, 1, 2)), [3600] * 2, [0] * 2)
    dispatcher = dispatcher_for(name, view)
    dispatcher.build(view).dump(tmp_path / "one.pb.txt")
    dispatcher.build(view).dump(tmp_path / "two.pb.txt")
    text = (tmp_path / "one.pb.txt").read_text()
    assert text == (tmp_path / "two.pb.txt").read_text()
    assert 'name: "start_0"' in text
    assert "solution_hint" in text


@pytest.mark.parametrize("name", ["cph-0", "cp-0"])
def test_there_is_no_model_of_jobs_that_can_never_start(name):
    """All that is up is too small."""
    view = view_with(state([2, 2], [2, 0], ask(3, 1, 2)), [3600], [0])
    view.node_up = np.array([True, False])
    assert dispatcher_for(name, view).build(view) is None


@pytest.mark.parametrize("name", ["cph-1", "cp-1"])
def test_statistics_add_up_over_a_run(name):
    """Every decision with jobs waiting is counted once, by what it took."""
    workload = jobs(*((index // 3, 1 + index % 3, 5 + index % 4) for index in range(30)))

    class Total(Observer):
        decisions, counted = 0, 0

        def on_decision(self, view, decision, seconds):
            reasons = ("solver_calls", "skipped_all_fit", "skipped_none_fit", "skipped_bound")
            self.decisions += len(view.waiting) > 0
            self.counted += sum(decision.stats.get(reason, 0) for reason in reasons)

    total = Total()
    run(workload, machine((2,), (2,)), f"{name}:limit=0.001", observers=[total])
    assert total.decisions == total.counted > 10
