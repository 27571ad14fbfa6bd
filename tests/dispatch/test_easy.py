"""EASY on schedules worked out by hand, and against its promise."""

from __future__ import annotations

import numpy as np
import pytest
import reference as ref
from hypothesis import given, settings
from tiny import jobs, machine, machines, run, starts, workloads

from cpsched.dispatch.backfilling import Easy
from cpsched.dispatch.priority import Fifo
from cpsched.dispatch.queue_order import QueueOrder
from cpsched.simulation.observers import Observer

pytestmark = pytest.mark.slow

#: Specifications of EASY whose queue is in submit order.
IN_ORDER = ("easy", "easy:backfill=sjf", "easy:allocator=best-fit", "easy:allocator=balanced")


def test_backfills_what_ends_before_the_shadow_time():
    """
    B (4 cores) is reserved for 10. C ends at 9 and starts; D would end at 12 and may not.

    ::

        4 |   ...... BBBB
        3 |   CCCCCC.BBBB
        2 |AAAAAAAAAABBBBD...
        1 |AAAAAAAAAABBBBD...
          +-------------------
           0  3     9 10  14
    """
    workload = jobs((0, 2, 10), (1, 4, 4), (3, 1, 6), (4, 1, 8))
    assert starts(workload, machine((4,)), "easy") == [0, 10, 3, 14]


def test_backfills_on_extra_processors():
    """
    B needs 3 of 4 at 10, so one processor is extra: D may use it for as long as it likes.

    ::

        4 |    DDDDDDDDDDDDDDDDDDDD
        3 |.         BBBB
        2 |AAAAAAAAAABBBB
        1 |AAAAAAAAAABBBB
          +------------------------
           0   4     10
    """
    workload = jobs((0, 2, 10), (1, 3, 4), (4, 1, 20))
    assert starts(workload, machine((4,)), "easy") == [0, 10, 4]


def test_reservation_is_for_the_estimate_not_the_runtime():
    """A asks for 20 and ends at 5: B, promised 20, starts at 5."""
    workload = jobs((0, 2, 5, 20), (1, 4, 4))
    assert starts(workload, machine((4,)), "easy") == [0, 5]


def test_order_behind_the_reservation_is_separate():
    """
    One core is extra at 1: in queue order C takes it, shortest first D does.

    A holds 2 of 4 until 10, B (3 cores) is reserved for 10, C runs 5 and D runs 3.
    """
    workload = jobs((0, 3, 10), (1, 3, 4), (1, 1, 5), (1, 1, 3))
    assert starts(workload, machine((4,)), "easy") == [0, 10, 1, 6]
    assert starts(workload, machine((4,)), "easy:backfill=sjf") == [0, 10, 4, 1]


def test_head_is_reserved_on_nodes():
    """
    B needs a node with both its cores: 2 free cores on two nodes do not make one.

    Nodes n0, n1 of 2 cores. A0 (1 core, until 10) on n0, A1 (1 core, until 4) on n1. The shadow
    is 4, on n1. C (1 core for 9 s) must not go to n1; it goes to n0.
    """
    workload = jobs((0, 1, 10), (0, 1, 4), (1, 1, 3), (2, 1, 9), request=[[1], [1], [2], [1]])
    result = run(workload, machine((2,), (2,)), "easy:allocator=balanced").schedule
    assert result.start.tolist() == [0, 0, 4, 2]
    placed = dict(zip(result.segments.job.tolist(), result.segments.node.tolist(), strict=True))
    assert placed == {0: 0, 1: 1, 2: 1, 3: 0}


def test_queue_by_priority():
    """By slowdown the one-second job, not the first in line, holds the reservation at 10."""
    workload = jobs((0, 2, 10), (1, 2, 50), (2, 2, 1))
    assert starts(workload, machine((2,)), "easy:priority=slowdown") == [0, 11, 10]


@pytest.mark.parametrize("dispatcher", ["easy", "conservative"])
def test_zero_runtime_jobs_end_where_they_start(dispatcher):
    """A thousand jobs of no length take one core one after another, all at second 5."""
    workload = jobs(*[(5, 1, 0)] * 1000)
    assert starts(workload, machine((1,)), dispatcher) == [5] * 1000


def at_zero(*waiting, nodes=((4,),), busy=((2, 10),), eligible=None):
    """
    Return a state at second 0 of nodes by their cores, some held by jobs of (cores, end) on n0.

    Waiting jobs are (cores, duration, eligible nodes or None for all).
    """
    everywhere = (True,) * len(nodes)
    core = {"request": (1,), "per_node": (0,)}
    rest = (0,) * (len(nodes) - 1)
    held = sum(cores for cores, _ in busy)
    return ref.State(
        now=0,
        capacity=nodes,
        free=((nodes[0][0] - held,), *nodes[1:]),
        running=tuple(
            ref.Held(ask=ref.Ask(units=cores, eligible=everywhere, **core),
                     takes=(cores, *rest), end=end)
            for cores, end in busy
        ),
        waiting=tuple(
            ref.Ask(units=cores, duration=length, eligible=where or everywhere, **core)
            for cores, length, where in waiting
        ),
    )  # fmt: skip


def decide(state):
    """Return which jobs start, and EASY's plan as (job, start, nodes)."""
    view = ref.view_of(state)
    dispatcher = Easy()
    dispatcher.reset(view.system, 0)
    decision = dispatcher.decide(view)
    plan = decision.planned_starts
    return [start.handle for start in decision.actions], plan and (
        *plan.handle, *plan.start, *(nodes.tolist() for nodes in plan.nodes.values())
    )  # fmt: skip


def test_a_head_that_can_never_be_placed_is_passed_over():
    """
    X may only use n1, which is down. B has the reservation at 10, so D waits; C ends in time.

    ::

        4 |CCCCC     BBBB
        3 |.         BBBB
        2 |AAAAAAAAAABBBB
        1 |AAAAAAAAAABBBB
          +---------------
           0         10

    It used to reserve nothing, and D (two cores for 20 s) started: a wide B waits as long as there
    are narrow jobs behind it.
    """
    only_n1 = (False, False)
    state = at_zero(
        (1, 5, only_n1), (4, 4, (True, False)), (2, 20, (True, False)), (1, 5, (True, False)),
        nodes=((4,), (0,)),
    )  # fmt: skip
    assert decide(state) == ([3], (1, 10, [0]))
    # With a B that fits at once, D behind it is the one that waits.
    state = at_zero((1, 5, only_n1), (1, 4, None), (2, 20, None), nodes=((4,), (0,)))
    assert decide(state) == ([1], (2, 4, [0]))
    assert decide(at_zero((1, 5, only_n1), nodes=((4,), (0,)))) == ([], None)


def test_the_last_in_the_queue_is_planned_too():
    """Alone in the queue, or all before it start: it used to have no plan for nobody could mind."""
    assert decide(at_zero((4, 5, None))) == ([], (0, 10, [0]))
    assert decide(at_zero((1, 5, None), (4, 5, None))) == ([0], (1, 10, [0]))
    assert decide(at_zero((1, 5, None))) == ([0], None)


def test_a_job_that_should_have_ended_ends_next_second():
    """Adapters may say so: at 0 a job is expected to have ended at -5, another at 0."""
    state = at_zero((4, 5, None), (2, 1, None), busy=((1, -5), (1, 0)))
    assert decide(state) == ([1], (0, 1, [0]))


class LikeFifo(Fifo):
    """Last come, first served, by way of first come."""

    name = "like-fifo"

    def order(self, jobs, now):
        """Return the positions, last first."""
        return np.arange(len(jobs), dtype=np.int64)[::-1]

    def keys(self, jobs, now):
        """Return minus the position."""
        return (-jobs.handle,)


def test_a_priority_made_from_another_keeps_its_own_order():
    """It used to be taken for its parent."""
    dispatcher = Easy()
    dispatcher.queues = (QueueOrder(LikeFifo()),)
    assert starts(jobs((0, 1, 5), (0, 1, 5), (0, 1, 5)), machine((1,)), dispatcher) == [10, 5, 0]


class Promises(Observer):
    """Keeps every reservation EASY has given, and the first promise to each head."""

    def __init__(self):
        self.promised: dict[int, list[int]] = {}

    def on_decision(self, view, decision, seconds):
        if decision.planned_starts:
            for handle, start in zip(
                decision.planned_starts.handle, decision.planned_starts.start, strict=True
            ):
                self.promised.setdefault(handle, []).append(start)


@given(workload=workloads(), system=machines())
@settings(max_examples=80)
@pytest.mark.parametrize("dispatcher", IN_ORDER)
def test_head_never_starts_after_its_reservation(dispatcher, workload, system):
    """With requested times and jobs killed at them, no promise to a head is broken or moved on."""
    promises = Promises()
    result = run(workload, system, dispatcher, observers=[promises])
    handles = np.flatnonzero(result.schedule.outcome != 3)
    for handle, promised in promises.promised.items():
        assert promised == sorted(promised, reverse=True)
        assert result.schedule.start[handles[handle]] <= promised[-1]


@given(workload=workloads(plain=True), system=machines())
@settings(max_examples=80)
def test_any_layout_of_one_core_units_equals_one_pool(workload, system):
    """For one-core units, nodes are no different from a counted pool of all cores."""
    cores = [int(row[0]) for row in system.capacity]
    layout = machine(*[(count, 0, 0) for count in cores], resources=("core", "gpu", "mem"))
    pool = machine((sum(cores), 0, 0), resources=("core", "gpu", "mem"))
    for dispatcher in ("easy", "easy:backfill=sjf", "easy:priority=slowdown"):
        assert starts(workload, layout, dispatcher) == starts(workload, pool, dispatcher)
