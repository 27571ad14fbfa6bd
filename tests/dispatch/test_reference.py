"""Dispatchers decide at every state as their slow twins of ``support/reference.py`` do."""

from types import SimpleNamespace

import numpy as np
import pytest
import reference as ref
from hypothesis import given, settings
from hypothesis import strategies as st
from jobtables import job_table
from tiny import jobs, let_go, machine, machines, run, starts, workloads

from cpsched.dispatch.backfilling import Conservative, Easy
from cpsched.dispatch.orders import Priority
from cpsched.dispatch.rules import Fifo, Greedy
from cpsched.dispatch.sorted_queue import QueueOrder
from cpsched.simulation.observers import Observer
from cpsched.util import registry

pytestmark = pytest.mark.slow

policies = st.sampled_from(ref.POLICIES)
few = settings(max_examples=80)


def by_length(state):
    """Return the queue, shortest first."""
    return sorted(range(len(state.waiting)), key=lambda job: state.waiting[job].duration)


@given(state=ref.states(), policy=policies)
@few
def test_lists(state, policy):
    """FIFO, and PRB shortest first, start the same jobs on the same nodes."""
    for dispatcher, order, stop in (
        (Fifo(policy), range(len(state.waiting)), True),
        (Greedy("sjf", policy), by_length(state), False),
    ):
        started, _ = ref.decide(dispatcher, state)
        assert started == ref.list_schedule(policy, state, order, stop=stop).starts


@given(state=ref.states(), policy=policies, backfill=st.sampled_from([None, "sjf"]))
@settings(max_examples=200)
def test_easy(state, policy, backfill):
    """EASY starts the same jobs on the same nodes, and reserves the same nodes from then on."""
    started, decision = ref.decide(Easy("fifo", backfill, policy), state)
    queue = range(len(state.waiting))
    expected = ref.easy(policy, state, queue, by_length(state) if backfill else queue)
    assert started == expected.starts
    assert ref.planned(decision) == expected.planned
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
    started, decision = ref.decide(Conservative("fifo", depth, policy), state)
    queue = range(len(state.waiting))
    expected = ref.conservative(policy, state, queue, len(queue) if depth is None else depth)
    assert started == expected.starts
    if depth is None:
        assert ref.planned(decision).items() <= expected.planned.items()


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
    state = ref.state_of((3, 2), [((1, 1), 10)], (4, 3), (1, 5), (2, 5), (1, 5))
    started, decision = ref.decide(Easy(allocator="balanced"), state)
    assert started == {1: (1, 0), 2: (1, 1)}
    assert ref.planned(decision) == {0: 10}


@given(workload=workloads(plain=True, max_jobs=20), processors=st.integers(4, 9))
@few
def test_easy_on_a_pool_is_the_textbook_easy(workload, processors):
    """One-core units on one node: shadow time and extra processors, nothing else."""
    columns = (workload.submit, workload.units, workload.runtime, workload.requested_time)
    expected = ref.textbook_easy(np.stack(columns, axis=1).tolist(), processors)
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
        self.queue_order = QueueOrder(self.priority)

    def on_decision(self, view, decision, seconds):
        order = self.priority.order(view.waiting, view.now)
        assert self.queue_order.rows(view).tolist() == view.waiting.rows[order].tolist()


@given(workload=workloads(), system=machines(), data=st.data())
@pytest.mark.parametrize("name", ["sjf", "ljf", "f1", "two keys"])
@settings(max_examples=60)
def test_an_order_that_is_kept_is_the_order_found_anew(name, workload, system, data):
    """Whoever starts, arrives, or is let go into the middle of the queue between two decisions."""
    run(let_go(data, workload), system, "greedy", observers=[Anew(name, system)])


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
    order = QueueOrder(registry.load("priorities", "sjf")())
    for shown, expected in (([0, 2], [2, 0]), ([0, 1, 2], [2, 1, 0]), ([1], [1])):
        view = SimpleNamespace(waiting=table.take(shown), now=0)
        assert order.rows(view).tolist() == expected


def test_a_job_released_while_others_start():
    """
    Two start at 0, one is let go at 5: the queue is one shorter, but not by the first of the two.

    The first in the log may not begin before 5; it fits beside the two that run until 10.
    """
    workload = jobs((0, 1, 1), (0, 1, 10), (0, 1, 10), (0, 3, 20), begin=[5, 0, 0, 0])
    for dispatcher in ("sjf", "easy:order=sjf", "easy:backfill=sjf", "greedy:order=sjf"):
        assert starts(workload, machine((3,)), dispatcher) == [5, 0, 0, 10]
