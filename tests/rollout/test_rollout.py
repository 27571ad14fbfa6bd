"""cph+ and cp+: what they learn, propose, judge and plan."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import jobs, machine, run, starts

from cpsched import cpsat
from cpsched.cp import stats
from cpsched.engine.state import State
from cpsched.errors import ConfigError
from cpsched.generators.eurora import EURORA, EuroraOptions
from cpsched.kernels import pool, scenarios
from cpsched.mapping import fit
from cpsched.model.jobtable import JobTable
from cpsched.rollout import history as lessons
from cpsched.rollout.dispatcher import CphPlus
from cpsched.rollout.history import Experience
from cpsched.rollout.neighbourhood import improve
from cpsched.rollout.rules import RULES
from cpsched.rollout.whole_queue import Tasks
from cpsched.simulation.observers import Observer
from cpsched.spec import build
from cpsched.systems import load
from cpsched.verification import verify

BOTH = ("cph+", "cp+")


@pytest.fixture(scope="module")
def eurora():
    """Return a busy piece of a generated year on the real machine's nodes."""
    return fit(EURORA.generate(EuroraOptions(jobs=1000, seed=3, load=1.2)), load("eurora"))


def timeline(*steps):
    """Return times and levels of one kind from (time, free) pairs."""
    return (
        np.array([time for time, _ in steps], dtype=np.int64),
        np.array([[free] for _, free in steps], dtype=np.int64),
    )


def columns(*rows):
    """Return int64 columns of rows."""
    return tuple(np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))


# --- whole runs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dispatcher", BOTH)
@pytest.mark.parametrize("predictor", ["requested", "actual"])
def test_runs_on_nodes_of_several_kinds_pass_verification(eurora, dispatcher, predictor):
    found = run(eurora, None, dispatcher, predictor)
    assert not verify(found.schedule)
    decided = found.decisions
    followed = stats.PLANNED if predictor == "actual" else stats.JUDGED
    other = stats.JUDGED if predictor == "actual" else stats.PLANNED
    assert decided[followed] > 10 * decided.get(other, 0)


@pytest.mark.parametrize("dispatcher", BOTH)
def test_equal_runs_are_equal_and_seeds_differ_in_what_they_draw_only(eurora, dispatcher):
    first, second = (run(eurora, None, dispatcher).schedule for _ in range(2))
    assert np.array_equal(first.start, second.start)
    assert np.array_equal(first.segments.node, second.segments.node)
    other = run(eurora, None, dispatcher, seed=7)
    assert not verify(other.schedule)


@pytest.mark.parametrize("dispatcher", BOTH)
def test_with_true_runtimes_they_beat_easy_by_far(eurora, dispatcher):
    """A plan for everybody, deterministic: not a matter of luck or of the machine's mood."""
    ours, easy = (run(eurora, None, name, "actual").schedule for name in (dispatcher, "easy"))

    def cost(schedule):
        wait = schedule.start - schedule.workload.submit
        runtime = schedule.end - schedule.start
        return np.maximum((wait + runtime) / np.maximum(runtime, 10), 1).mean()

    assert cost(ours) < 0.7 * cost(easy)


def test_on_one_pool_both_are_the_same_dispatcher():
    """With one node nothing is lost between the pool and the nodes."""
    rng = np.random.default_rng(4)
    rows = [
        (int(submit), int(units), int(runtime), int(runtime * slack))
        for submit, units, runtime, slack in zip(
            np.sort(rng.integers(0, 4000, 120)), rng.integers(1, 9, 120),
            rng.integers(5, 400, 120), rng.integers(1, 5, 120), strict=True,
        )
    ]  # fmt: skip
    for predictor in ("requested", "actual"):
        found = [starts(jobs(*rows), machine((8,)), name, predictor) for name in BOTH]
        assert found[0] == found[1]


def test_a_plan_waits_for_the_short_job_that_a_list_would_hold_up():
    """
    Two of four cores are taken until 10; A and B are known to the second.

        core 3-4 |..........|BB|AAAAAAAAAA      A (4 cores, 100 s) first costs B fifty times
        core 1-2 |xxxxxxxxxx|..|AAAAAAAAAA      its own 2 s
    """
    warm = [(second, 1, 1) for second in range(30)]
    busy = (100, 2, 10)
    wide, short = (101, 4, 100), (102, 3, 2)
    found = starts(jobs(*warm, busy, wide, short), machine((4,)), "cph+", "actual")
    assert found[-2:] == [112, 110]


class Plans(Observer):
    """Keeps the plans made."""

    def __init__(self):
        self.plans = []

    def on_decision(self, view, decision, seconds):
        if decision.plan:
            self.plans.append(
                (view.now, dict(zip(decision.plan.handle, decision.plan.start, strict=True)))
            )


def test_what_happens_is_never_worse_than_what_was_planned():
    """With true runtimes and nobody new, the last plan is always there to be followed."""
    rng = np.random.default_rng(11)
    warm = [(second, 1, 1) for second in range(30)]
    sizes = zip(rng.integers(1, 5, 40).tolist(), rng.integers(5, 300, 40).tolist(), strict=True)
    late = [(100, units, runtime) for units, runtime in sizes]
    seen = Plans()
    found = run(jobs(*warm, *late), machine((4,)), "cph+:arrivals=0", "actual", [seen])
    start, runtime = found.schedule.start, found.schedule.workload.runtime
    plan = next(plan for now, plan in seen.plans if now == 100)

    def cost(handles, begins):
        return sum(
            scenarios.job_cost(begin - 100, runtime[handle], 64800.0)
            for handle, begin in zip(handles, begins, strict=True)
        )

    assert len(plan) > 30
    assert cost(plan, start[list(plan)]) <= cost(plan, plan.values()) + 1e-9


def test_a_job_that_waits_too_long_is_held_for():
    """
    Short jobs of 2 cores keep coming; the job that needs all 4 gets its turn sooner or later.

    Both typical and printed runtime make the short ones more urgent for ever, so that without
    patience the wide job would wait until they stop.
    """
    stream = [(6 * turn, 2, 10, 12) for turn in range(1500)]
    wide = (11, 4, 1000, 1000)
    rows = sorted([*stream, wide])
    position = rows.index(wide)
    wait = {
        patience: starts(jobs(*rows), machine((4,)), f"cph+:patience={patience}")[position] - 11
        for patience in (200, 10**6)
    }
    assert wait[200] < 4000 < 8000 < wait[10**6]


def test_a_start_that_finds_no_nodes_is_replanned_in_the_same_decision():
    """
    One core of each node is taken. The pool has room for A (2 units of 2 cores) and B (1 of 2),
    but A, the shortest, leaves one core on each node: B waits, and C (1 of 1) starts in its place
    at once.

        node 2 |x|AAAAAAAAAA|
               |x|
        node 1 |x|AAAAAAAAAA|BB
               |x|C
    """
    rows = [(0, 2, 50), (1, 2, 10), (1, 1, 40), (1, 1, 40)]
    request = [[1], [2], [2], [1]]
    workload = jobs(*rows, request=request, nodes_min=[2, 1, 1, 1])
    assert starts(workload, machine((4,), (4,)), "cph+")[:2] == [0, 1]
    assert starts(workload, machine((3,), (4,)), "cph+") == [0, 1, 11, 1]


def test_trust_can_be_settled(eurora):
    always = run(eurora, None, "cph+:trust=always").decisions
    never = run(eurora, None, "cph+:trust=never", "actual").decisions
    assert always[stats.PLANNED]
    assert stats.JUDGED not in always
    assert never[stats.JUDGED]
    assert stats.PLANNED not in never


@pytest.mark.parametrize("dispatcher", BOTH)
def test_a_search_goes_by_one_order(eurora, dispatcher):
    """Plans in that order and in that of the last plan, and another order plans otherwise."""
    default = run(eurora, None, dispatcher, "actual")
    slowdown = run(eurora, None, f"{dispatcher}:search=slowdown", "actual")
    waited = run(eurora, None, f"{dispatcher}:search=expected-wait", "actual")
    assert slowdown.decisions[stats.PLANS] < default.decisions[stats.PLANS]
    assert (slowdown.schedule.start != waited.schedule.start).any()
    weighed = run(eurora, None, f"{dispatcher}:search=expected-wait")
    assert weighed.decisions != run(eurora, None, dispatcher).decisions
    assert not verify(waited.schedule)
    assert not verify(weighed.schedule)


@pytest.mark.parametrize("dispatcher", BOTH)
@pytest.mark.parametrize(("predictor", "options"), [("requested", ""), ("actual", ""),
                                                    ("actual", ":neighbourhoods=1")])  # fmt: skip
def test_what_is_recorded_adds_up(eurora, dispatcher, predictor, options):
    """Every decision is of one kind; who chooses among several says what that is worth."""
    found = run(eurora, None, dispatcher + options, predictor).decisions
    ways = (stats.PLANNED, stats.AGREED, stats.JUDGED)
    skips = (stats.SKIPPED_ALL_FIT, stats.SKIPPED_NONE_FIT)
    # The rest are views in which nobody waits.
    assert sum(found.get(key, 0) for key in (*ways, *skips)) <= found["decisions"]
    judged, planned = found.get(stats.JUDGED, 0), found.get(stats.PLANNED, 0)
    followed = [value for key, value in found.items() if key.startswith(stats.FOLLOWED)]
    assert sum(followed) == judged
    assert 2 * judged <= found.get(stats.PROPOSALS, 0) <= len(RULES) * judged
    assert 5 * planned <= found.get(stats.PLANS, 0) <= 6 * planned
    assert 0 < found[stats.GAIN_OVER_FIRST] < planned + judged
    if options:
        assert 0 < found[stats.IMPROVED] <= found[stats.PROVEN_OPTIMAL] + found[stats.LIMIT_HITS]
        assert found[stats.SOLVER_CALLS] >= found[stats.IMPROVED]
    else:
        assert stats.SOLVER_CALLS not in found


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ("cph+:patience=0", "patience is 0, must be from 1 to 1099511627776"),
        ("cp+:patience=99999999999999999999", "must be from 1 to"),
        ("cp+:scenarios=1000000000", "scenarios is 1000000000, must be from 1 to 10000"),
        ("cp+:scenarios=0", "scenarios is 0"),
        ("cp+:arrivals=-1", "arrivals is -1"),
        ("cph+:neighbourhoods=-2", "neighbourhoods is -2"),
        ("cp+:search=sjf", "search is 'sjf', must be one of default, expected-wait, slowdown"),
        ("cph+:limit=0", "limit is 0"),
        ("cp+:trust=sometimes", "trust is 'sometimes', must be one of auto, always, never"),
    ],
)
def test_bad_options_are_named(spec, what):
    with pytest.raises(ConfigError, match=what):
        build("dispatchers", spec)


# --- what is learnt ------------------------------------------------------------------------------


class Watch(CphPlus):
    """Shows what it has learnt when asked."""

    def __init__(self):
        super().__init__()
        self.name = "watch"


def test_ratios_are_learnt_at_the_second_of_the_end_also_when_nobody_waits():
    watch = Watch()
    run(jobs((0, 1, 30, 60), (50, 1, 10, 40), (200, 1, 20, 20)), machine((4,)), watch)
    # The last end comes after the last decision that anybody asks for, or with it.
    assert watch.experience.ratios[-2:].tolist() == [0.25, 0.5]


def test_experience_survives_save_and_load(eurora):
    learnt = CphPlus()
    run(eurora, None, learnt)
    saved = learnt.state()
    again = CphPlus()
    again.restore(saved)
    for key, value in again.state().items():
        assert np.array_equal(np.asarray(value), np.asarray(saved[key])), key
    assert len(saved["users"]) > 1


def test_predictions_are_exact_only_if_nearly_all_are():
    seen = Experience(0)
    for _ in range(lessons._ENOUGH - 1):
        seen._note(-1, 100, 100, 100)
    assert not seen.is_exact
    seen._note(-1, 100, 100, 100)
    assert seen.is_exact
    for _ in range(6):
        seen._note(-1, 100, 100, 50)
    assert not seen.is_exact


# --- plans and proposals -------------------------------------------------------------------------


@st.composite
def queues(draw, max_jobs=7):
    """Draw a timeline of two kinds and jobs that fit its end."""
    num = draw(st.integers(1, max_jobs))
    whole = (8, 4)
    steps = draw(st.integers(0, 3))
    times, level = [0], [[draw(st.integers(0, 8)), draw(st.integers(0, 4))]]
    for _ in range(steps):
        times.append(times[-1] + draw(st.integers(1, 20)))
        level.append(
            [draw(st.integers(low, top)) for low, top in zip(level[-1], whole, strict=True)]
        )
    level[-1] = list(whole)
    rows = st.tuples(st.integers(1, 30), st.integers(0, 8), st.integers(0, 4))
    drawn = draw(st.lists(rows, min_size=num, max_size=num))
    duration = np.array([row[0] for row in drawn], dtype=np.int64)
    demand = np.array([row[1:] for row in drawn], dtype=np.int64).reshape(num, 2)
    order = np.array(draw(st.permutations(range(num))), dtype=np.int64)
    return order, duration, demand, np.array(times), np.array(level)


def _respects(start, duration, demand, times, level):
    """Whether no second of a plan needs more than the timeline has."""
    for second in {*times.tolist(), *start.tolist()}:
        used = demand[(start <= second) & (second < start + duration)].sum(axis=0)
        at = np.searchsorted(times, second, side="right") - 1
        if (used > level[at]).any():
            return False
    return True


@settings(max_examples=150, deadline=None)
@given(queues())
def test_plans_with_nobody_late_are_list_plans_and_keep_to_the_timeline(queue):
    order, duration, demand, times, level = queue
    listed = pool.list_plan(order, duration, demand, times, level)
    ready = np.zeros(len(order), dtype=np.int64)
    found = scenarios.plan_with_arrivals(order, duration, demand, ready, times, level)
    assert found.tolist() == listed.tolist()
    assert _respects(listed, duration, demand, times, level)


@settings(max_examples=150, deadline=None)
@given(queues(), st.data())
def test_nobody_is_planned_before_it_is_there(queue, data):
    order, duration, demand, times, level = queue
    ready = np.array([data.draw(st.integers(0, 50)) for _ in order], dtype=np.int64)
    found = scenarios.plan_with_arrivals(order, duration, demand, ready, times, level)
    assert (found >= ready).all()
    assert _respects(found, duration, demand, times, level)


@settings(max_examples=100, deadline=None)
@given(queues(), st.data())
def test_what_a_plan_leaves_is_the_timeline_less_the_jobs(queue, data):
    order, duration, demand, times, level = queue
    start = pool.list_plan(order, duration, demand, times, level)
    taken = np.array([data.draw(st.booleans()) for _ in order])
    left_times, left = pool.pool_left(start, duration, demand, taken, times, level)
    for second in range(int((start + duration).max()) + 2):
        runs = taken & (start <= second) & (second < start + duration)
        before = level[np.searchsorted(times, second, side="right") - 1]
        now = left[np.searchsorted(left_times, second, side="right") - 1]
        assert now.tolist() == (before - demand[runs].sum(axis=0)).tolist()


@settings(max_examples=60, deadline=None)
@given(queues(), st.integers(0, 3))
def test_neighbourhoods_never_make_a_plan_worse(queue, rounds):
    order, duration, demand, times, level = queue
    zeros = np.zeros(len(order), dtype=np.int64)
    tasks = Tasks(len(order), order, duration, demand, zeros, zeros, times, level, 100.0)
    plan = tasks.plan(order)
    limits = cpsat.Limits(deterministic=0.01, presolve=False)
    better, numbers = improve(tasks, plan, rounds, limits)
    assert better.cost <= plan.cost
    assert _respects(better.start, duration, demand, times, level)
    assert numbers.get(stats.IMPROVED, 0) <= numbers.get(stats.SOLVER_CALLS, 0) <= rounds


def test_a_neighbourhood_finds_the_exchange_that_lists_in_the_wrong_order_miss():
    times, level = timeline((0, 1), (10, 4))
    duration, units = columns((100, 4), (2, 3), (3, 1))
    zeros = np.zeros(3, dtype=np.int64)
    tasks = Tasks(3, zeros, duration, units[:, None], zeros, zeros, times, level, 1e6)
    plan = tasks.plan(np.array([0, 1, 2]))
    better, numbers = improve(tasks, plan, 1, cpsat.Limits(deterministic=0.1, presolve=False))
    assert better.start.tolist() == [12, 10, 0]
    assert numbers[stats.IMPROVED] == 1


@settings(max_examples=100, deadline=None)
@given(queues())
def test_a_proposal_with_one_reservation_is_textbook_easy(queue):
    """On one kind: against the shadow time and the extra processors, worked out another way."""
    order, duration, demand, times, level = queue
    demand, level = demand[:, :1].copy(), level[:, :1].copy()
    barred = np.zeros(len(order), dtype=np.bool_)
    found, held, shadow, _ = scenarios.propose(
        order, order, 1, barred, duration, demand, times, level
    )
    free, started, head = int(level[0, 0]), [], None
    ends = [
        (int(t), int(b - a)) for t, a, b in zip(times[1:], level[:-1, 0], level[1:, 0], strict=True)
    ]
    for at, job in enumerate(order.tolist()):
        need, length = int(demand[job, 0]), int(duration[job])
        if head is None and need <= free:
            free -= need
            ends.append((length, need))
            started.append(job)
        elif head is None:
            head = (job, at)
            room = free
            for time, back in sorted(ends):
                room += back
                if room >= need and all(t != time for t, _ in ends if t > time):
                    when = time
                    break
            extra = free + sum(back for time, back in ends if time <= when) - need
        elif need <= free and (length <= when or need <= extra):
            free -= need
            if length > when:
                extra -= need
            started.append(job)
    assert sorted(np.flatnonzero(found).tolist()) == sorted(started)
    assert (held, shadow) == ((head[0], when) if head else (-1, 0))


def test_a_scenario_is_played_by_hand():
    """
    Four cores, all taken until 10. Nothing starts now; at 10 the job that has waited longer for
    its length (1: 20 s of 2 s) starts before the other (0: 20 s of 100 s), which waits for it.
    """
    none = np.zeros(2, dtype=np.bool_)
    runtime, demand = columns((100, 4), (2, 3))
    submit = np.array([-20, -20])
    zeros = np.zeros(2, dtype=np.int64)
    cost = scenarios.roll_out(
        0, 2, none, -1, 0, np.zeros(1, dtype=np.int64), runtime, runtime, runtime, submit,
        demand[:, None], zeros, np.array([10]), np.array([[4]]), np.array([0]), 1e9,
    )  # fmt: skip
    assert cost == pytest.approx((32 + 100) / 100 + (30 + 2) / 10)


def test_in_a_scenario_nobody_passes_the_job_held_for():
    """
    As above, but capacity is held for job 0 from 10 on: the other may only pass if it is
    *predicted* to be done by then, whatever its runtime in the scenario.
    """
    none = np.zeros(2, dtype=np.bool_)
    runtime, demand = columns((100, 4), (2, 3))
    submit = np.array([-20, -20])
    zeros = np.zeros(2, dtype=np.int64)

    def cost(plan):
        return scenarios.roll_out(
            0, 2, none, 0, 10, np.zeros(1, dtype=np.int64), runtime, np.array([100, plan]),
            runtime, submit, demand[:, None], zeros, np.array([5, 10]), np.array([[3], [1]]),
            np.array([0]), 1e9,
        )  # fmt: skip

    passed = (30 + 100) / 100 + (25 + 2) / 10
    held = (30 + 100) / 100 + (130 + 2) / 10
    assert cost(5) == pytest.approx(passed)
    assert cost(6) == pytest.approx(held)


# --- what a pool cannot see, and what comes from outside -----------------------------------------


@pytest.mark.parametrize("trust", ["never", "always"])
@pytest.mark.parametrize("dispatcher", BOTH)
def test_a_job_that_only_one_node_can_hold_gets_its_turn(dispatcher, trust):
    """
    One-core jobs keep both nodes of four cores half full for ever; the pool always has room for
    the job of four cores, no node has, until one is kept free for it.
    """
    stream = [(20 * turn, 1, 70, 70) for turn in range(600)]
    rows = sorted([*stream, (101, 1, 50, 50)])
    position = rows.index((101, 1, 50, 50))
    request = [[4 if index == position else 1] for index in range(len(rows))]
    workload = jobs(*rows, request=request)
    spec = f"{dispatcher}:trust={trust},patience=2000,allocator=balanced"
    assert starts(workload, machine((4,), (4,)), spec)[position] < 3000


def waiting_job(handle, submit, user):
    """Return a table of one job, built with no workload behind it."""
    return JobTable.build(
        resources=("core",),
        handle=np.array([handle]),
        submit=np.array([submit]),
        requested_time=np.array([100]),
        units=np.array([1]),
        request=np.ones((1, 1), dtype=np.int64),
        strings={"user": [user]},
    )


def test_arrivals_are_those_submitted_last_whatever_their_handles():
    system = machine((4,))
    seen = CphPlus(arrivals=3)
    seen.reset(system, 0)
    state = State(system)
    for now, handle in ((0, 900), (10, 5), (20, 17), (30, 3)):
        view = state.view(now)
        view.waiting = waiting_job(handle, now, "ann")
        view.eligible = np.ones((1, 1), dtype=np.bool_)
        seen.experience.note_arrivals(view, seen.allocator, seen.reserving)
    coming = seen.experience.arrivals(100, 1)
    assert coming.ready.tolist() == [111, 121, 131]
    assert coming.limit.tolist() == [100, 100, 100]


def test_very_long_requests_are_planned_without_overflow():
    rows = [(0, 3, 10, 2**50) for _ in range(12)]
    found = starts(jobs(*rows), machine((4,)), "cph+:trust=always")
    assert found == [10 * turn for turn in range(12)]


@pytest.mark.parametrize("name", ["cph+", "cp+"])
@pytest.mark.parametrize("trust", ["always", "never"])
def test_with_nothing_running_something_starts(name, trust):
    """
    At 1 the machine is empty, and three jobs are left.

    On the pool two of them start, `balanced` finds nodes for neither beside the other, and the
    third would wait for them: nothing started, and nothing ever ended.
    """
    submit, units = [0] * 11 + [1], [1] * 7 + [3, 2, 2, 2, 3]
    asked = [1, 1, 1, 1, 1, 1, 5, 7, 1, 1, 7, 8]
    workload = jobs(
        *zip(submit, units, [0] * 9 + [1, 0, 0], asked, strict=True),
        resources=("core", "gpu", "mem"),
        request=[(1, 0, 0)] * 7 + [(2, 0, 0)] + [(1, 0, 0)] * 3 + [(1, 0, 3)],
        per_node=[(0, 0, 0)] * 8 + [(0, 1, 0)] + [(0, 0, 0)] * 3,
        nodes_max=np.array([1] * 7 + [2, 1, 1, 1, 2]),
    )
    nodes = [(1, 0, 2), (1, 0, 2), (3, 0, 6), (4, 1, 3)]
    system = machine(*nodes, resources=("core", "gpu", "mem"))
    done = run(workload, system, f"{name}:trust={trust},allocator=balanced")
    assert verify(done.schedule) == []
