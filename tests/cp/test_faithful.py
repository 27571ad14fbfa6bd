"""CPH and CP as dispatchers: shortcuts, mapping, options, and plans worked out by hand."""

import numpy as np
import pytest
import reference as ref
from exhaustive import listed_on_pool
from hypothesis import given, settings
from hypothesis import strategies as st
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
from tiny import jobs, machine, run

from cpsched.cp import stats
from cpsched.cp.objective import integer_weights
from cpsched.errors import ConfigError
from cpsched.model.system import Queue
from cpsched.util.spec import build, options_of


def decide(spec, state, waits=None, submits=None):
    """Return a dispatcher's decision at a state; every job has waited alike unless given."""
    num = len(state.waiting)
    view = view_with(state, waits or [3600] * num, submits or [0] * num)
    return dispatcher_for(spec, view).decide(view)


def started(decision):
    """Return units by node of the jobs that start."""
    return {
        action.handle: dict(
            zip(action.allocation.node.tolist(), action.allocation.units.tolist(), strict=True)
        )
        for action in decision.actions
    }


@pytest.mark.parametrize("kind", ["cp-pool:fill=none,", "cp-nodes:"])
def test_the_plan_beats_the_list(kind):
    """
    Two cores: A holds one until 10. The list starts long C in the gap and B, which needs both, at
    20; the slowdown of B (5 s) is worth more than that of C (20 s), which can wait.

    ::

        2 |.         BBBBB
        1 |AAAAAAAAAABBBBBCCCC...
          +-----------------------
           0         10   15   35
    """
    state = ref.state_of([2], [((1,), 10)], (1, 20), (2, 5))
    # In order of expected wait C goes first: it has waited longer.
    decision = decide(f"{kind}search=expected-wait,objective=slowdown", state, submits=[-50, 0])
    # C last: 10/5 + 15/20 = 2.75. C first: 20/5 + 0/20 = 4.
    assert started(decision) == {}
    assert ref.planned(decision) == {0: 15, 1: 10}
    assert decision.stats[stats.SOLVER_CALLS] == 1
    assert decision.stats[stats.PROVEN_OPTIMAL] == 1
    assert decision.stats[stats.IMPROVED] == 1


@pytest.mark.parametrize(
    ("fill", "urgent", "begin"),
    [
        ("none", "B", set()),
        ("any", "B", {0}),
        ("easy", "B", set()),
        ("easy,window=1", "B", {2}),
        ("none", "C", set()),
        ("easy", "C", {0}),
    ],
)
def test_what_the_plan_leaves_idle_is_filled(fill, urgent, begin):
    """
    As above: the plan is B at 10 and C at 15. ``any`` starts C now and makes B wait for it. EASY
    keeps 10 for B, of which C would take a core, but not D (10 s), which is outside the window;
    unless C is the more urgent.
    """
    state = ref.state_of([2], [((1,), 10)], (1, 20), (2, 5), *[(1, 10)] * ("window" in fill))
    submits = [-50, 0] if urgent == "C" else [0, -50, *[0] * ("window" in fill)]
    spec = f"cp-pool:search=expected-wait,objective=slowdown,estimate=predicted,fill={fill}"
    decision = decide(spec, state, submits=submits)
    assert set(started(decision)) == begin
    assert decision.stats.get(stats.FILLED, 0) == len(begin)


def test_what_finds_no_nodes_is_postponed_by_the_hybrid_and_planned_by_the_pure():
    """Two nodes with a free core each hold no unit of two cores, though the pool has two."""
    wide = ref.Ask(units=1, request=(2,), per_node=(0,), eligible=(True, True), duration=4)
    state = ref.state_of([2, 2], [((1, 1), 10)], wide, (1, 30))
    hybrid = decide("cph-0", state, submits=[-50, 0])
    # On the pool the wide one starts now and the other at 4, which is cheaper than 0 and 10: only
    # the mapping finds out.
    assert hybrid.stats[stats.POSTPONED] == 1
    assert started(hybrid) == {}
    assert ref.planned(hybrid) == {0: 0, 1: 4}
    pure = decide("cp-nodes", state, submits=[-50, 0])
    # Each on a node of its own.
    assert list(started(pure)) == [1]
    assert ref.planned(pure) == {0: 10}


@pytest.mark.parametrize("name", VARIANTS)
def test_jobs_past_their_prediction_end_in_the_next_second(name):
    """A job expected to have ended, and one expected to end now, hold their nodes until now + 1."""
    state = ref.state_of([1, 1, 1], [((1, 0, 0), 3), ((0, 1, 0), 7)], (2, 5), (1, 4), (3, 1), now=7)
    decision = decide(name, state)
    assert all(set(nodes) == {2} for nodes in started(decision).values())
    assert min(ref.planned(decision).values()) == 8


@pytest.mark.parametrize("name", ["cph-3", "cp-3"])
def test_no_solver_where_it_cannot_change_what_starts(name):
    """All fit, none fits, or the list plan meets the bound of every job at its earliest."""
    everything = decide(name, ref.state_of([4], [], (2, 5), (1, 5)))
    assert everything.stats == {stats.SKIPPED_ALL_FIT: 1}
    assert set(started(everything)) == {0, 1}
    nothing = decide(name, ref.state_of([2], [((1,), 9)], (2, 5), (2, 5)))
    assert nothing.stats == {stats.SKIPPED_NONE_FIT: 1}
    # The wide one waits for the running job whatever the narrow one does.
    bound = decide(name, ref.state_of([2], [((1,), 9)], (2, 5), (1, 5)))
    assert bound.stats[stats.SKIPPED_BOUND] == 1
    assert set(started(bound)) == {1}
    assert ref.planned(bound) == {0: 9}


@pytest.mark.parametrize("name", ["cph-0", "cp-0"])
def test_only_the_window_is_planned(name):
    """Of three jobs the first one by priority, or also the first that fits; the second does not."""
    state = ref.state_of([2], [((1,), 9)], (2, 5), (2, 6), (1, 3))
    submits = [-9, -8, -7]
    unlimited = decide(name, state, submits=submits)
    assert (started(unlimited), set(ref.planned(unlimited))) == ({2: {0: 1}}, {0, 1})
    two = decide(f"{name}:window=2", state, submits=submits)
    assert (started(two), set(ref.planned(two))) == ({2: {0: 1}}, {0})
    limited = decide(f"{name}:window=1", state, submits=submits)
    assert limited.stats == {stats.SKIPPED_NONE_FIT: 1}


def test_a_window_is_filled_by_priority_where_few_fit():
    """Of five jobs four are planned: three by priority, and the last, which alone fits."""
    state = ref.state_of([2], [((1,), 9)], (2, 5), (2, 6), (2, 7), (2, 8), (1, 3))
    decision = decide("cph-0:window=4", state, submits=[-9, -8, -7, -6, -5])
    assert (set(started(decision)), set(ref.planned(decision))) == ({4}, {0, 1, 2})


@pytest.mark.parametrize("name", ["cph-3", "cp-3"])
def test_an_emptied_window_is_followed_by_another(name):
    """Of six jobs on four processors two are planned and start; the next two a second later."""
    state = ref.state_of([4], [], *[(1, 5)] * 6)
    first = decide(f"{name}:window=2", state)
    assert (set(started(first)), first.again_at) == ({0, 1}, 1)
    # Where one of the window waits, those behind it wait for the next event.
    state = ref.state_of([4], [((1,), 9)], (1, 5), (4, 5), (1, 5))
    second = decide(f"{name}:window=2", state, submits=[0, -9, 0])
    assert (set(started(second)), set(ref.planned(second)), second.again_at) == ({0}, {1}, None)


def test_a_window_that_is_halved_keeps_jobs_that_fit(monkeypatch):
    """Four jobs of nine cores at the head fit beside nothing; those behind them do."""
    monkeypatch.setattr("cpsched.cp.cp_nodes.MAX_COUNTS", 6)
    waiting = [(9, 50), (9, 51), (9, 52), (9, 53), (2, 5), (2, 6), (2, 7), (2, 8)]
    state = ref.state_of([9], [((4,), 30)], *waiting)
    decision = decide("cp-3:window=8", state, submits=[-5000] * 4 + [-1] * 4)
    assert decision.stats[stats.WINDOW_SHORTENED] == 1
    assert started(decision)


def test_a_window_that_was_cut_short_is_followed_by_another(monkeypatch):
    """The model holds one job of three; it starts, and the others are looked at next."""
    monkeypatch.setattr("cpsched.cp.cp_nodes.MAX_COUNTS", 1)
    state = ref.state_of([4], [((1,), 9)], (2, 50), (2, 4), (1, 3))
    decision = decide("cp-2:window=all", state, submits=[-9, -8, -7])
    assert decision.stats[stats.WINDOW_SHORTENED] == 1
    assert (len(started(decision)), ref.planned(decision), decision.again_at) == (1, {}, 1)


@given(drawn=decisions(max_nodes=3), limit=st.sampled_from(["1e-9", "1e-5", "1e-4"]))
@settings(max_examples=25)
@pytest.mark.parametrize("name", VARIANTS)
def test_never_worse_than_the_list_plan(name, drawn, limit):
    """The engine compares: whatever the limit, the plan is at least as good as the list's."""
    state, waits, submits = drawn
    pure = name.startswith("cp-")
    state = state if pure else plain(state)
    if not state.waiting:
        return
    view = view_with(state, waits, submits)
    dispatcher = dispatcher_for(f"{name}:limit={limit}", view)
    decision = dispatcher.decide(view)
    if decision.stats.get(stats.SKIPPED_NONE_FIT):
        return
    order = dispatcher.priority.order(view.waiting, view.now).tolist()
    if pure:
        listed = ref.conservative("first-fit", state, order, 99).planned
        starts = [listed.get(job, state.now) - state.now for job in range(len(order))]
    else:
        starts = listed_on_pool(state, order)
    weights = weights_of(state, waits, name)
    value = value_of(planned_starts(decision, state), weights)
    assert value <= value_of(starts, weights)


@pytest.mark.parametrize(
    ("alias", "search", "objective"),
    [
        ("cph-0", "expected-wait", "expected-wait"),
        ("cph-1", "slowdown", "expected-wait"),
        ("cph-2", "expected-wait", "slowdown"),
        ("cph-3", "slowdown", "slowdown"),
        ("cp-0", "default", "expected-wait"),
        ("cp-1", "slowdown", "expected-wait"),
        ("cp-2", "default", "slowdown"),
        ("cp-3", "slowdown", "slowdown"),
    ],
)
def test_the_aliases_are_the_thesis_variants(alias, search, objective):
    """Sections 4.2.1 and 4.3.1; what an alias fixes is no option of it."""
    name = {"cph": "cp-pool", "cp": "cp-nodes"}[alias[:-2]]
    long = build("dispatchers", f"{name}:search={search},objective={objective}")
    short = build("dispatchers", alias)
    for attribute in ("search", "window", "limits"):
        assert getattr(short, attribute) == getattr(long, attribute)
    assert (short.objective.name, short.priority.name) == (long.objective.name, long.priority.name)
    assert not {"search", "objective"} & set(options_of("dispatchers", alias))
    assert short.name == name


@pytest.mark.parametrize("name", ["cph-0", "cph-1", "cph-2", "cp-0", "cp-1"])
def test_an_expected_wait_that_is_needed_must_be_there(name):
    """In the search or in the objective; a queue without one is named."""
    system = machine((2,), queues=[Queue(name="debug")], expected_wait=None)
    with pytest.raises(ConfigError, match="queue 'debug' has no expected wait"):
        build("dispatchers", name).reset(system, 0)
    build("dispatchers", "cph-3").reset(system, 0)


def test_a_job_of_no_queue_needs_the_systems_default():
    """The objective asks for the job's own expected wait."""
    state = ref.state_of([2], [((1,), 9)], (2, 5), (1, 20))
    with pytest.raises(ConfigError, match="Set default_expected_wait"):
        decide("cph-1", state, waits=[3600, -1])


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("seconds", [10**9, 10**12])
def test_huge_times_and_amounts_stay_in_range(name, seconds):
    """Memory in KB for thirty years and more: sums of products would leave 64 bits."""
    kinds = ("core", "mem")
    terabyte = 2**30 + 1
    workload = jobs(
        *((0, 1 + index % 3, 50, seconds - index) for index in range(12)),
        request=[[1 + index % 2, terabyte - 7 * index] for index in range(12)],
        resources=kinds,
    )
    system = machine(*[(4, 3 * terabyte)] * 3, resources=kinds)
    result = run(workload, system, f"{name}:limit=0.0005")
    assert (result.schedule.start >= 0).all()
    assert result.decisions["solver_calls"] > 0


@pytest.mark.parametrize("name", ["cph-3", "cp-3"])
def test_a_model_that_rounds_proves_nothing(name):
    """
    Amounts times seconds leave 64 bits, so the model counts in portions: demands up, capacity down.

    A, B and C fill the machine to the last unit and start together. Rounded they do not fit, and
    the best the model can do is worse than the list plan, which is followed.
    """
    unit = 2**33
    waiting = [
        ref.Ask(units=1, request=(amount,), per_node=(0,), eligible=(True,), duration=2**30)
        for amount in (3 * unit + 1, 3 * unit + 1, 4 * unit - 2, unit)
    ]
    decision = decide(name, ref.state_of([10 * unit], [], *waiting), submits=[-9, -8, -7, 0])
    assert set(started(decision)) == {0, 1, 2}
    assert decision.stats[stats.SOLVER_CALLS] == 1
    assert decision.stats[stats.PROVEN_OPTIMAL] == 0
    assert decision.stats[stats.BOUND_GAP] == 1


@pytest.mark.parametrize("name", ["cph-3", "cp-3"])
def test_a_job_that_nothing_that_is_up_can_hold_is_left_out(name):
    """With node 1 down nobody plans the job of four units, and the others go ahead of it."""
    wide = ref.Ask(units=4, eligible=(True, False), duration=5, **ref.ONE_CORE)
    narrow = ref.Ask(units=1, eligible=(True, False), duration=5, **ref.ONE_CORE)
    pair = ref.Ask(units=2, eligible=(True, False), duration=4, **ref.ONE_CORE)
    state = ref.State(capacity=((2,), (2,)), free=((2,), (0,)), waiting=(wide, narrow, pair))
    view = view_with(state, [3600] * 3, [-9, 0, 0])
    view.node_up = np.array([True, False])
    decision = dispatcher_for(name, view).decide(view)
    assert started(decision) == {2: {0: 2}} or started(decision) == {1: {0: 1}}
    assert 0 not in ref.planned(decision)


def test_weights_are_exact_where_that_stays_in_range():
    """1/2, 1/3, 1/4 are 6, 4, 3 twelfths."""
    assert integer_weights(np.array([2, 3, 4]), 100) == [6, 4, 3]
    assert integer_weights(np.array([3600, 21600]), 10**6) == [6, 1]


@given(
    divisors=st.lists(st.integers(1, 10**12), min_size=1, max_size=60),
    horizon=st.integers(1, 10**14),
)
def test_rounded_weights_are_near_and_in_range(divisors, horizon):
    """As documented: off by at most 1/(2w), at least 1, and the sum of products below 2^62."""
    weights = integer_weights(np.array(divisors), horizon)
    assert len(weights) * max(weights) * horizon < 2**62 or max(weights) == 1
    top, least = max(weights), min(divisors)
    for weight, divisor in zip(weights, divisors, strict=True):
        exact = top * least / divisor
        assert weight == 1 or abs(weight - exact) <= 0.5 * (1 + exact / top) + 1e-6 * weight
