"""EASY on schedules worked out by hand, and against its promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from tiny import jobs, machine, machines, run, starts, workloads

from cpsched.simulation.observers import Observer

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


class Promises(Observer):
    """Keeps every reservation EASY has given, and the first promise to each head."""

    def __init__(self):
        self.promised: dict[int, list[int]] = {}

    def on_decision(self, view, decision, seconds):
        if decision.plan:
            for handle, start in zip(decision.plan.handle, decision.plan.start, strict=True):
                self.promised.setdefault(handle, []).append(start)


@given(workload=workloads(), system=machines())
@settings(max_examples=150, deadline=None)
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
@settings(max_examples=150, deadline=None)
def test_any_layout_of_one_core_units_equals_one_pool(workload, system):
    """For one-core units, nodes are no different from a counted pool of all cores."""
    cores = [int(row[0]) for row in system.capacity]
    layout = machine(*[(count, 0, 0) for count in cores], resources=("core", "gpu", "mem"))
    pool = machine((sum(cores), 0, 0), resources=("core", "gpu", "mem"))
    for dispatcher in ("easy", "easy:backfill=sjf", "easy:priority=slowdown"):
        assert starts(workload, layout, dispatcher) == starts(workload, pool, dispatcher)
