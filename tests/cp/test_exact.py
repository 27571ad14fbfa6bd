"""Both models against trying every plan: the objective is the same, for every variant."""

import pytest
from exhaustive import best_on_nodes, best_on_pool, placements
from hypothesis import given, settings
from planned import (
    VARIANTS,
    decisions,
    dispatcher_for,
    plain,
    planned_starts,
    value_of,
    view_with,
    weights_of,
)
from reference import every_placement, held, minus, obeys, takes_of

pytestmark = pytest.mark.slow


@given(
    drawn=decisions(max_nodes=3, max_waiting=6, max_running=3)
    | decisions(restricted=True, max_nodes=3, max_waiting=6, max_running=3)
)
@settings(max_examples=60)
@pytest.mark.parametrize("name", VARIANTS)
def test_the_best_plan_is_found(name, drawn):
    """
    On nodes, units split as the request allows (CP), or on the pool, a relaxation (CPH).

    Running jobs are fixed until their expected end.
    """
    state, waits, submits = drawn
    pure = name.startswith("cp-")
    if not pure:
        state = plain(state)
    if not state.waiting or not (pure or all(placements(state, ask) for ask in state.waiting)):
        return
    view = view_with(state, waits, submits)
    decision = dispatcher_for(f"{name}:limit=5", view).decide(view)
    if decision.stats.get("skipped_none_fit"):
        assert not any(every_placement(ask, state.free, state.capacity) for ask in state.waiting)
        return
    assert not decision.stats.get("limit_hits")
    weights = weights_of(state, waits, name)
    best = best_on_nodes if pure else best_on_pool
    assert value_of(planned_starts(decision, state), weights) == best(state, weights)
    free = state.free
    for action in decision.actions:
        ask, takes = state.waiting[action.handle], takes_of(action.allocation, len(free))
        assert obeys(ask, takes, free, state.capacity)
        free = minus(free, held(ask, takes, state.capacity))
