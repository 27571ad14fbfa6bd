"""Both models against trying every plan: the objective is the same, for every variant."""

from __future__ import annotations

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
@pytest.mark.parametrize("name", [name for name in VARIANTS if name.startswith("cp-")])
def test_pure_finds_the_best_plan_on_nodes(name, drawn):
    """CP-0..3, units split as the request allows, running jobs fixed until their expected end."""
    state, waits, submits = drawn
    if not state.waiting:
        return
    view = view_with(state, waits, submits)
    decision = dispatcher_for(f"{name}:limit=5", view).decide(view)
    if decision.stats.get("skipped_none_fit"):
        assert not any(every_placement(ask, state.free, state.capacity) for ask in state.waiting)
        return
    assert not decision.stats.get("limit_hits")
    weights = weights_of(state, waits, name)
    assert value_of(planned_starts(decision, state), weights) == best_on_nodes(state, weights)
    free = state.free
    for action in decision.actions:
        ask, takes = state.waiting[action.handle], takes_of(action.allocation, len(free))
        assert obeys(ask, takes, free, state.capacity)
        free = minus(free, held(ask, takes, state.capacity))


@given(drawn=decisions(max_nodes=3, max_waiting=6, max_running=3))
@settings(max_examples=60)
@pytest.mark.parametrize("name", [name for name in VARIANTS if name.startswith("cph")])
def test_hybrid_finds_the_best_plan_on_the_pool(name, drawn):
    """CPH-0..3: the relaxed problem is solved to its optimum."""
    state, waits, submits = drawn
    state = plain(state)
    if not state.waiting or not all(placements(state, ask) for ask in state.waiting):
        return
    view = view_with(state, waits, submits)
    decision = dispatcher_for(f"{name}:limit=5", view).decide(view)
    if decision.stats.get("skipped_none_fit"):
        assert not any(every_placement(ask, state.free, state.capacity) for ask in state.waiting)
        return
    assert not decision.stats.get("limit_hits")
    weights = weights_of(state, waits, name)
    assert value_of(planned_starts(decision, state), weights) == best_on_pool(state, weights)
