"""IPSCHED's answers against all there are: every set of jobs on every choice of nodes."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference import every_placement, held, minus, obeys, states, takes_of, view_of

from cpsched.cp import stats
from cpsched.papers.ipsched import match
from cpsched.papers.ipsched.dispatcher import Ipsched

pytestmark = pytest.mark.slow


def weights(state, *, by_cores):
    """Return ``P_j`` or ``P_j R_j``: ranks from the last job up, plus the square of their number."""
    num = len(state.waiting)
    ranks = [num * num + num - position for position in range(num)]
    if not by_cores:
        return ranks
    return [
        rank * max(ask.units * ask.request[0], 1)
        for rank, ask in zip(ranks, state.waiting, strict=True)
    ]


def best_value(state, weight):
    """Return the largest ``sum_j P_j (2 |N| s_j - nodes_j)``."""
    double = 2 * len(state.capacity)
    best = [0]

    def choices(ask, free):
        """Return number of nodes and what is taken of all distinct placements."""
        options = {
            (sum(units > 0 for units in takes), held(ask, takes, state.capacity))
            for takes in every_placement(ask, free, state.capacity)
        }
        return sorted(options)

    def follow(position, free, value):
        if value + sum(weight[position:]) * (double - 1) <= best[0]:
            return
        if position == len(state.waiting):
            best[0] = value
            return
        for nodes, taken in choices(state.waiting[position], free):
            follow(position + 1, minus(free, taken), value + weight[position] * (double - nodes))
        follow(position + 1, free, value)

    follow(0, state.free, 0)
    return best[0]


def value_of(state, weight, decision):
    """Return what a decision is worth, and see to it that it can be carried out."""
    free, value = state.free, 0
    for handle, allocation in decision.actions:
        ask = state.waiting[handle]
        takes = takes_of(allocation, len(free))
        assert obeys(ask, takes, free, state.capacity)
        free = minus(free, held(ask, takes, state.capacity))
        value += weight[handle] * (2 * len(free) - len(allocation.node))
    return value


@pytest.mark.parametrize("brief", [match.BRIEF, 1e-9], ids=["at once", "with thought"])
@pytest.mark.parametrize("objective", ["priority", "priority-cores"])
@given(state=states(max_nodes=4, max_waiting=5))
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
def test_no_set_of_jobs_on_any_nodes_is_worth_more(objective, brief, state):
    """Neither where the program is solved as it is, nor where that takes too long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(match, "BRIEF", brief)
        no_set_is_worth_more(objective, state)


def no_set_is_worth_more(objective, state):
    """Compare a decision with all there are."""
    dispatcher = Ipsched(objective=objective)
    view = view_of(state)
    dispatcher.reset(view.system, 0)
    weight = weights(state, by_cores=objective == "priority-cores")
    decision = dispatcher.decide(view)
    assert value_of(state, weight, decision) == best_value(state, weight)
    assert stats.BOUND_GAP not in decision.stats


@given(state=states(max_nodes=4, max_waiting=4), pairs=st.just(0))
@settings(max_examples=80, suppress_health_check=list(HealthCheck))
def test_a_bound_without_nodes_is_a_bound(state, pairs):
    """Where the program is not solved node by node, the gap it reports is no smaller than it is."""
    dispatcher = Ipsched()
    view = view_of(state)
    dispatcher.reset(view.system, 0)
    weight = weights(state, by_cores=False)
    before = match.MAX_PAIRS
    match.MAX_PAIRS = pairs
    try:
        decision = dispatcher.decide(view)
    finally:
        match.MAX_PAIRS = before
    value, best = value_of(state, weight, decision), best_value(state, weight)
    gap = decision.stats.get(stats.BOUND_GAP, 0.0)
    assert value <= best
    assert value >= best * (1 - gap) - 1e-6
