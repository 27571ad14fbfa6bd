"""What goes into the models: demands, capacities, places, sizes, and the model for a look at."""

import numpy as np
import pytest
import reference as ref
from exhaustive import placements
from hypothesis import given, settings
from hypothesis import strategies as st
from planned import decisions, dispatcher_for, view_with
from tiny import jobs, machine, run

from cpsched.cp.capacity import steps
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


@given(
    demand=st.lists(st.integers(1, 2**50), min_size=1, max_size=6),
    level=st.lists(st.integers(0, 2**53), min_size=1, max_size=6),
    horizon=st.integers(1, 10**14),
)
def test_amounts_times_seconds_stay_in_range_and_nothing_is_let_in(demand, level, horizon):
    """Counted in larger portions, what fits still fits in truth."""
    levels = np.sort(np.array(level)) + max(demand)
    scaled = steps(demand, [1] * len(demand), list(range(len(level))), levels, horizon)
    if scaled is None:
        return
    assert scaled.capacity * horizon < 2**62
    for segment in range(len(level)):
        busy = sum(amount for begin, end, amount in scaled.busy if begin <= segment < end)
        taken, true = 0, 0
        for portions, amount in zip(scaled.demand, demand, strict=True):
            if taken + portions + busy <= scaled.capacity and segment < horizon:
                taken, true = taken + portions, true + amount
        assert true <= levels[segment] or segment >= horizon


def ask(units, cores, nodes, **more):
    return ref.Ask(
        units=units, request=(cores,), per_node=(0,), eligible=(True,) * nodes, duration=5, **more
    )


def state(capacity, free, *waiting):
    return ref.State(
        capacity=tuple((cores,) for cores in capacity),
        free=tuple((cores,) for cores in free),
        waiting=waiting,
    )


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
