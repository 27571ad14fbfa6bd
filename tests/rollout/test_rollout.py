"""``rollout``: what it learns, proposes and judges."""

import numpy as np
import pytest
from jobtables import job_table
from tiny import jobs, machine, run, starts

from cpsched.cp import stats
from cpsched.engine.machine import Machine
from cpsched.mapping import fit
from cpsched.rollout.dispatcher import Rollout, stretched
from cpsched.rollout.judge import Proposal
from cpsched.systems import load
from cpsched.verification import verify
from cpsched_papers.generators.eurora import EURORA, EuroraOptions

pytestmark = pytest.mark.slow

BOTH = ("rollout", "plan")


@pytest.fixture(scope="module")
def eurora():
    """Return a busy piece of a generated year on the real machine's nodes."""
    return fit(EURORA.generate(EuroraOptions(jobs=1000, seed=3, load=1.2)), load("eurora"))


# --- whole runs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("predictor", ["requested", "actual"])
def test_what_is_recorded_adds_up(eurora, predictor):
    """Every decision is of one kind; who chooses among several says what that is worth."""
    done = run(eurora, None, "rollout", predictor)
    assert not verify(done.schedule)
    found = done.decisions
    ways = (stats.AGREED, stats.JUDGED, stats.SKIPPED_ALL_FIT, stats.SKIPPED_NONE_FIT)
    # The rest are views in which nobody waits.
    assert sum(found.get(key, 0) for key in ways) <= found["decisions"]
    judged = found[stats.JUDGED]
    followed = [value for key, value in found.items() if key.startswith(stats.FOLLOWED)]
    assert sum(followed) == judged
    assert 0 < found[stats.GAIN_OVER_FIRST] < judged


@pytest.mark.parametrize("dispatcher", BOTH)
def test_equal_runs_are_equal_and_seeds_differ_in_what_they_draw_only(eurora, dispatcher):
    first, second = (run(eurora, None, dispatcher).schedule for _ in range(2))
    assert np.array_equal(first.start, second.start)
    assert np.array_equal(first.segments.node, second.segments.node)
    other = run(eurora, None, dispatcher, seed=7)
    assert not verify(other.schedule)


def test_a_job_that_waits_too_long_is_held_for():
    """
    Short jobs of 2 cores keep coming; the job that needs all 4 gets its turn sooner or later.

    Both typical and printed runtime make the short ones more urgent for ever, so that without
    patience, and without a bound on waits, the wide job would wait until they stop.
    """
    stream = [(6 * turn, 2, 10, 12) for turn in range(1500)]
    wide = (11, 4, 1000, 1000)
    rows = sorted([*stream, wide])
    position = rows.index(wide)
    specs = {patience: f"rollout:patience={patience},overdue=none" for patience in (200, 10**6)}
    wait = {
        patience: starts(jobs(*rows), machine((4,)), spec)[position] - 11
        for patience, spec in specs.items()
    }
    assert wait[200] < 4000 < 8000 < wait[10**6]


# --- scenarios -----------------------------------------------------------------------------------


def test_a_proposal_is_followed_only_if_its_gain_is_beyond_doubt(monkeypatch):
    """Its mean gain of 1 has a standard error of 1.15 here."""
    chosen = []
    for caution in (0.5, 2.0):
        judge = Rollout(caution=caution, scenarios=4)._judge
        costs = np.array([[9.0, 9, 9, 9], [6, 6, 10, 10]])
        monkeypatch.setattr(judge, "_costs", lambda *_, costs=costs: costs)
        nothing = np.zeros(1, dtype=np.bool_), np.zeros(0)
        proposed = [Proposal(rule, *nothing) for rule in ("first", "second")]
        chosen.append(judge.best(None, 1.0, None, None, proposed)[0])
    assert [proposal.rule for proposal in chosen] == ["second", "first"]


def test_both_orders_propose_and_each_is_followed_somewhere(eurora):
    found = run(eurora, None, "rollout").decisions
    followed = {key.removeprefix(stats.FOLLOWED) for key in found if key.startswith(stats.FOLLOWED)}
    assert followed == {"easy_urgency", "easy_slowdown"}


def test_on_an_overloaded_machine_it_is_easy_by_slowdown():
    """With a patience of a second it always is, and urgency and slowdown differ there."""
    rng = np.random.default_rng(3)
    submit = np.sort(rng.choice(np.arange(0, 6000, 5), 300, replace=False))
    rows = [(int(at), int(rng.integers(1, 5)), int(rng.integers(20, 90)), 90) for at in submit]
    rows = [(*row[:3], row[2] * int(rng.integers(1, 4))) for row in rows]
    log = jobs(*rows, user=[f"u{number % 7}" for number in range(300)])
    by_slowdown = starts(log, machine((4,)), "easy:priority=slowdown,reserve=requested")
    assert starts(log, machine((4,)), "rollout:patience=1,overdue=none") == by_slowdown
    assert starts(log, machine((4,)), "rollout:overdue=none") != by_slowdown


def test_patience_grows_where_all_have_waited_longer():
    """With the cube root of the mean wait."""
    assert stretched(1000, np.array([0, 2000])) == 1000
    assert stretched(1000, np.array([7000, 9000])) == pytest.approx(2000)


# --- nodes, and what comes from outside ----------------------------------------------------------


@pytest.mark.parametrize("dispatcher", BOTH)
def test_a_job_that_only_one_node_can_hold_gets_its_turn(dispatcher):
    """
    One-core jobs keep both nodes of four cores half full for ever; the pool always has room for
    the job of four cores, no node has, until one is kept free for it.
    """
    stream = [(20 * turn, 1, 70, 70) for turn in range(600)]
    rows = sorted([*stream, (101, 1, 50, 50)])
    position = rows.index((101, 1, 50, 50))
    request = [[4 if index == position else 1] for index in range(len(rows))]
    workload = jobs(*rows, request=request)
    spec = f"{dispatcher}:patience=2000,allocator=balanced"
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
    seen = Rollout(arrivals=3)
    seen.reset(system, 0)
    state = Machine(system)
    for now, handle in ((0, 900), (10, 5), (20, 17), (30, 3)):
        view = state.view(now)
        view.waiting = waiting_job(handle, now, "ann")
        view.eligible = np.ones((1, 1), dtype=np.bool_)
        seen.arrivals.note(view, seen.allocator)
    coming = seen.arrivals.again(100, 1)
    assert coming.ready.tolist() == [111, 121, 131]
    assert coming.limit.tolist() == [100, 100, 100]


@pytest.mark.parametrize("name", BOTH)
def test_with_nothing_running_something_starts(name):
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
    done = run(workload, system, f"{name}:allocator=balanced")
    assert verify(done.schedule) == []
