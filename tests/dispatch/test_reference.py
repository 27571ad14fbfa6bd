"""Dispatchers decide at every state as their slow twins of ``support/reference.py`` do."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import reference as ref
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jobtables import job_table
from tiny import jobs, let_go, machine, machines, run, starts, workloads

from cpsched.base import registry
from cpsched.dispatch.backfilling import Conservative, Easy
from cpsched.dispatch.priority import Priority
from cpsched.dispatch.queue_order import QueueOrder
from cpsched.dispatch.rules import Fifo, Prb
from cpsched.simulation.observers import Observer

pytestmark = pytest.mark.slow

policies = st.sampled_from(ref.POLICIES)
few = settings(max_examples=80)


def decide(dispatcher, state):
    """Return what starts (units by node, by position in the queue), and the decision."""
    view = ref.view_of(state)
    dispatcher.reset(view.system, 0)
    decision = dispatcher.decide(view)
    num_nodes = len(state.capacity)
    return {
        start.handle: ref.takes_of(start.allocation, num_nodes) for start in decision.actions
    }, decision


def planned(decision):
    """Return the planned start of each job."""
    plan = decision.planned_starts
    return dict(zip(plan.handle, plan.start, strict=True)) if plan else {}


def by_length(state):
    """Return the queue, shortest first."""
    return sorted(range(len(state.waiting)), key=lambda job: state.waiting[job].duration)


@given(state=ref.states(), policy=policies)
@few
def test_lists_that_stop(state, policy):
    """FIFO starts the same jobs on the same nodes."""
    started, _ = decide(Fifo(policy), state)
    queue = range(len(state.waiting))
    assert started == ref.list_schedule(policy, state, queue, stop=True).starts


@given(state=ref.states(), policy=policies)
@few
def test_lists_that_skip(state, policy):
    """PRB, shortest first, starts the same jobs on the same nodes."""
    started, _ = decide(Prb("sjf", policy), state)
    assert started == ref.list_schedule(policy, state, by_length(state), stop=False).starts


@given(state=ref.states(), policy=policies, backfill=st.sampled_from([None, "sjf"]))
@settings(max_examples=200)
def test_easy(state, policy, backfill):
    """EASY starts the same jobs on the same nodes, and reserves the same nodes from then on."""
    started, decision = decide(Easy("fifo", backfill, policy), state)
    queue = range(len(state.waiting))
    expected = ref.easy(policy, state, queue, by_length(state) if backfill else queue)
    assert started == expected.starts
    assert planned(decision) == expected.planned
    if expected.nodes is not None:
        (nodes,) = decision.planned_starts.nodes.values()
        assert nodes.tolist() == np.flatnonzero(expected.nodes).tolist()


@given(state=ref.states(), policy=policies, depth=st.sampled_from([None, None, 0, 1, 2]))
@settings(max_examples=150)
def test_conservative(state, policy, depth):
    """
    Conservative backfilling starts the same jobs on the same nodes.

    It may leave out the plan of jobs behind the last that could start now.
    """
    started, decision = decide(Conservative("fifo", depth, policy), state)
    queue = range(len(state.waiting))
    expected = ref.conservative(policy, state, queue, len(queue) if depth is None else depth)
    assert started == expected.starts
    if depth is None:
        assert planned(decision).items() <= expected.planned.items()


def two_nodes(capacity, busy, *waiting):
    """Return a state of two nodes; one job holds ``busy`` cores of them until 10."""
    plain = {"request": (1,), "per_node": (0,), "eligible": (True, True)}
    return ref.State(
        now=0,
        capacity=tuple((cores,) for cores in capacity),
        free=tuple((cores - held,) for cores, held in zip(capacity, busy, strict=True)),
        running=(ref.Held(ask=ref.Ask(units=sum(busy), **plain), takes=busy, end=10),),
        waiting=tuple(ref.Ask(**{**plain, **ask}) for ask in waiting),
    )


def test_easy_uses_up_what_is_reserved_only_once():
    """
    Of five cores h takes four from 10: what A had and both others of n0.

    ::

        n1 |ddddd     .
        n1 |AAAAAAAAAAh      c, d and e end before. c takes what is reserved on n0 first, d the
        n0 |ddddd     h      rest of it and then n1's; nothing is left for e, though c and d
        n0 |ccccc     h      left the reservation as it is.
        n0 |AAAAAAAAAAh
            0        10
    """
    c, d, e = ({"units": units, "duration": 5} for units in (1, 2, 1))
    state = two_nodes((3, 2), (1, 1), {"units": 4, "duration": 3}, c, d, e)
    started, decision = decide(Easy(allocator="balanced"), state)
    assert started == {1: (1, 0), 2: (1, 1)}
    assert planned(decision) == {0: 10}


@pytest.mark.parametrize(
    ("harder", "easier"),
    [
        # Three evenly: one node with three free, or three nodes. Four: two on each.
        ({"units": 3, "even": True}, {"units": 4, "even": True}),
        ({"units": 3, "nodes_max": 1}, {"units": 4}),
        ({"units": 3, "nodes_min": 3}, {"units": 3}),
    ],
)
def test_a_larger_job_of_the_same_kind_can_be_the_easier_one(harder, easier):
    """Two cores are free on each node until 10: the first waits for that, the second starts."""
    state = two_nodes((4, 4), (2, 2), {**harder, "duration": 2}, {**easier, "duration": 3})
    for dispatcher in (Conservative(), Prb("fifo"), Easy()):
        assert list(decide(dispatcher, state)[0]) == [1]


@given(state=ref.states(max_nodes=1))
@few
def test_conservative_with_one_reservation_is_easy_on_one_node(state):
    """
    On one node (a pool) both start the same jobs.

    Until the head can start, what is free only grows; so a job that runs past that second fits
    all along exactly if it fits now and beside the head then, which is EASY's rule. It does not
    hold on several nodes (EASY's head takes what is busy now first, the plan's does not).
    """
    empty = ref.free_at(state, 100, {})
    assume(all(ref.every_placement(ask, empty, state.capacity) for ask in state.waiting))
    easy, _ = decide(Easy(), state)
    conservative, _ = decide(Conservative(depth=1), state)
    assert easy == conservative


def test_conservative_with_one_reservation_differs_from_easy_on_nodes():
    """
    h (3 cores) is reserved for 4; c (1 core for 8 s) may start now beside EASY's reservation only.

    ::

             n1 |AAAAhhhh          |AAAAhhhh
             n1 |AAAAhhhh          |AAAA....
             n0 |....hhhh          |....hhhh
             n0 |cccccccc          |....hhhh
                +--------          +--------
                 0   4              0   4
                EASY: h takes      conservative: h takes
                what is busy now   the first nodes
    """
    both, core = (True, True), {"request": (1,), "per_node": (0,)}
    state = ref.State(
        now=0,
        capacity=((2,), (2,)),
        free=((2,), (0,)),
        running=(ref.Held(ask=ref.Ask(units=2, eligible=both, **core), takes=(0, 2), end=4),),
        waiting=(
            ref.Ask(units=3, eligible=both, duration=4, **core),
            ref.Ask(units=1, eligible=both, duration=8, **core),
        ),
    )
    easy, conservative = decide(Easy(), state), decide(Conservative(depth=1), state)
    assert easy[0] == {1: (1, 0)}
    assert conservative[0] == {}
    assert planned(easy[1]) == {0: 4}


@given(workload=workloads(plain=True, max_jobs=20), processors=st.integers(4, 9))
@few
def test_easy_on_a_pool_is_the_textbook_easy(workload, processors):
    """One-core units on one node: shadow time and extra processors, nothing else."""
    rows = zip(
        workload.submit.tolist(),
        workload.units.tolist(),
        workload.runtime.tolist(),
        workload.requested_time.tolist(),
        strict=True,
    )
    expected = ref.textbook_easy(list(rows), processors)
    pool = machine((processors, 0, 0), resources=("core", "gpu", "mem"))
    assert starts(workload, pool, "easy") == expected


def test_textbook_easy_on_the_textbook_case():
    """The reference itself: C ends by B's reservation at 10, D neither does nor leaves it room."""
    rows = [(0, 2, 10, 10), (1, 4, 4, 4), (3, 1, 6, 6), (4, 1, 8, 8)]
    assert ref.textbook_easy(rows, 4) == [0, 10, 3, 14]
    assert starts(jobs(*rows), machine((4,)), "easy") == [0, 10, 3, 14]


# --- orders that are kept between decisions ------------------------------------------------------


class ByTwoKeys(Priority):
    """Widest first; of equal ones the shortest."""

    name = "by-two-keys"
    static = True

    def keys(self, jobs, now):
        """Return minus the units, and the prediction."""
        return (-jobs.units, jobs.ranking_estimate)


class Anew(Observer):
    """Looks at every decision whether the kept order is the one found anew."""

    def __init__(self, name, system):
        self.priority = ByTwoKeys() if name == "two keys" else registry.load("priorities", name)()
        self.priority.reset(system)
        self.kept = QueueOrder(self.priority)

    def on_decision(self, view, decision, seconds):
        order = self.priority.order(view.waiting, view.now)
        assert self.kept.rows(view).tolist() == view.waiting.rows[order].tolist()


@given(workload=workloads(), system=machines(), data=st.data())
@pytest.mark.parametrize("name", ["sjf", "ljf", "f1", "two keys"])
@settings(max_examples=60)
def test_an_order_that_is_kept_is_the_order_found_anew(name, workload, system, data):
    """Whoever starts, arrives, or is let go into the middle of the queue between two decisions."""
    run(let_go(data, workload), system, "prb", observers=[Anew(name, system)])


def test_an_order_is_kept_for_the_jobs_that_are_shown():
    """Two of three are shown, then all, then one: it used to be the two, and nothing else."""
    table = job_table(
        resources=("core",),
        handle=[0, 1, 2],
        submit=[0, 0, 0],
        requested_time=[3, 2, 1],
        units=[1, 1, 1],
        request=[[1], [1], [1]],
    )
    kept = QueueOrder(registry.load("priorities", "sjf")())
    for shown, expected in (([0, 2], [2, 0]), ([0, 1, 2], [2, 1, 0]), ([1], [1])):
        view = SimpleNamespace(waiting=table.take(shown), now=0)
        assert kept.rows(view).tolist() == expected


def test_a_job_released_while_others_start():
    """
    Two start at 0, one is let go at 5: the queue is one shorter, but not by the first of the two.

    The first in the log may not begin before 5; it fits beside the two that run until 10.
    """
    workload = jobs((0, 1, 1), (0, 1, 10), (0, 1, 10), (0, 3, 20), begin=[5, 0, 0, 0])
    for dispatcher in ("sjf", "easy:priority=sjf", "easy:backfill=sjf", "prb:priority=sjf"):
        assert starts(workload, machine((3,)), dispatcher) == [5, 0, 0, 10]
