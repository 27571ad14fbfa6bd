"""``lookahead``: a plan of the whole queue, on the pool and on nodes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jobtables import job_table
from recorded import Plans
from tiny import jobs, machine, run, starts

from cpsched import _core
from cpsched.cp import stats
from cpsched.cp.lookahead import Lookahead
from cpsched.engine.machine import ClusterState
from cpsched.papers.generators.eurora import EURORA, EuroraOptions
from cpsched.systems import load
from cpsched.systems.mapping import fit
from cpsched.verification import verify

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def eurora():
    """Return a busy piece of a generated year on the real machine's nodes."""
    return fit(EURORA.generate(EuroraOptions(jobs=1000, seed=3, load=1.2)), load("eurora"))


# --- whole runs ----------------------------------------------------------------------------------


def test_what_is_recorded_adds_up(eurora):
    """Every decision is of one kind, and where plans are made there are five or six of them."""
    result = run(eurora, None, "lookahead", "actual")
    assert not verify(result.schedule)
    counts = result.decisions
    planned = counts[stats.PLANNED]
    skipped = counts.get(stats.SKIPPED_ALL_FIT, 0) + counts.get(stats.SKIPPED_NONE_FIT, 0)
    assert 0 < planned + skipped <= counts["decisions"]
    assert 5 * planned <= counts[stats.PLANS] <= 6 * planned
    assert 0 < counts[stats.GAIN_OVER_FIRST] < planned


def test_with_true_runtimes_it_beats_easy_by_far(eurora):
    """A plan for everybody, deterministic: not a matter of luck or of the machine's mood."""
    ours, easy = (run(eurora, None, name, "actual").schedule for name in ("lookahead", "easy"))

    def cost(schedule):
        wait = schedule.start - schedule.workload.submit
        runtime = schedule.end - schedule.start
        return np.maximum((wait + runtime) / np.maximum(runtime, 10), 1).mean()

    assert cost(ours) < 0.7 * cost(easy)


def test_a_plan_waits_for_the_short_job_that_a_list_would_hold_up():
    """
    Two of four cores are taken until 10; A and B are known to the second.

        core 3-4 |..........|BB|AAAAAAAAAA      A (4 cores, 100 s) first costs B fifty times
        core 1-2 |xxxxxxxxxx|..|AAAAAAAAAA      its own 2 s
    """
    busy, wide, short = (100, 2, 10), (101, 4, 100), (102, 3, 2)
    start_times = starts(jobs(busy, wide, short), machine((4,)), "lookahead", "actual")
    assert start_times[-2:] == [112, 110]


def test_what_happens_is_never_worse_than_what_was_planned():
    """With true runtimes and nobody new, the last plan is always there to be followed."""
    rng = np.random.default_rng(11)
    sizes = zip(rng.integers(1, 5, 40).tolist(), rng.integers(5, 300, 40).tolist(), strict=True)
    late = [(100, units, runtime) for units, runtime in sizes]
    seen = Plans()
    result = run(jobs(*late), machine((4,)), "lookahead:arrivals=0", "actual", [seen])
    start, runtime = result.schedule.start, result.schedule.workload.runtime
    plan = next(plan for now, plan in seen.plans if now == 100)

    def cost(handles, begins):
        return sum(
            _core.job_cost(begin - 100, runtime[handle], 64800.0)
            for handle, begin in zip(handles, begins, strict=True)
        )

    assert len(plan) > 30
    assert cost(plan, start[list(plan)]) <= cost(plan, plan.values()) + 1e-9


def test_very_long_requests_are_planned_without_overflow():
    rows = [(0, 3, 10, 10**12) for _ in range(12)]
    assert starts(jobs(*rows), machine((4,)), "lookahead") == [10 * turn for turn in range(12)]


# --- nodes, and what comes from outside ----------------------------------------------------------


def test_a_job_that_only_one_node_can_hold_gets_its_turn():
    """
    One-core jobs keep both nodes of four cores half full for ever; the pool always has room for
    the job of four cores, no node has, until one is kept free for it.
    """
    stream = [(20 * turn, 1, 70, 70) for turn in range(600)]
    rows = sorted([*stream, (101, 1, 50, 50)])
    position = rows.index((101, 1, 50, 50))
    request = [[4 if index == position else 1] for index in range(len(rows))]
    workload = jobs(*rows, request=request)
    spec = "lookahead:aging=2000,allocator=balanced"
    assert starts(workload, machine((4,), (4,)), spec)[position] < 3000


def waiting_job(handle, submit, user):
    """Return a table of one job, built with no workload behind it."""
    return job_table(
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
    seen = Lookahead(arrivals=3)
    seen.reset(system, 0)
    state = ClusterState(system)
    for now, handle in ((0, 900), (10, 5), (20, 17), (30, 3)):
        view = state.view(now)
        view.waiting = waiting_job(handle, now, "ann")
        view.eligible = np.ones((1, 1), dtype=np.bool_)
        seen.arrivals.note(view, seen.allocator)
    coming = seen.arrivals.again(100, 1)
    assert coming.ready.tolist() == [111, 121, 131]
    assert coming.estimate.tolist() == [100, 100, 100]


def test_with_nothing_running_something_starts():
    """At 1 the machine is empty and three jobs are left: the pool holds two, the nodes one."""
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
    result = run(workload, system, "lookahead:allocator=balanced")
    assert verify(result.schedule) == []


# --- plans on the pool ---------------------------------------------------------------------------


@st.composite
def queues(draw, max_jobs=7):
    """Draw a timeline of two kinds and jobs that fit its end."""
    num = draw(st.integers(1, max_jobs))
    capacity = (8, 4)
    steps = draw(st.integers(0, 3))
    times, level = [0], [[draw(st.integers(0, 8)), draw(st.integers(0, 4))]]
    for _ in range(steps):
        times.append(times[-1] + draw(st.integers(1, 20)))
        level.append(
            [draw(st.integers(low, top)) for low, top in zip(level[-1], capacity, strict=True)]
        )
    level[-1] = list(capacity)
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


@settings(max_examples=80)
@given(queues(), st.data())
def test_nobody_is_planned_before_it_is_there(queue, data):
    order, duration, demand, times, level = queue
    ready = np.array([data.draw(st.integers(0, 50)) for _ in order], dtype=np.int64)
    planned = _core.list_plan(order, duration, demand, ready, times, level)
    assert (planned >= ready).all()
    assert _respects(planned, duration, demand, times, level)
