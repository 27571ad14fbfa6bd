"""Backfilling on schedules worked out by hand, and EASY against its promise."""

from __future__ import annotations

import numpy as np
import pytest
import reference as ref
from hypothesis import given, settings
from tiny import jobs, machine, machines, run, starts, workloads

from cpsched.base.spec import build
from cpsched.dispatch.backfilling import Conservative, Easy
from cpsched.dispatch.priority import Fifo
from cpsched.dispatch.queue_order import QueueOrder
from cpsched.errors import ConfigError, UnknownNameError
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


@pytest.mark.parametrize("dispatcher", ["easy", "conservative"])
def test_queue_by_priority(dispatcher):
    """By slowdown the one-second job, not the first in line, holds the reservation at 10."""
    workload = jobs((0, 2, 10), (1, 2, 50), (2, 2, 1))
    assert starts(workload, machine((2,)), f"{dispatcher}:priority=slowdown") == [0, 11, 10]


@pytest.mark.parametrize("dispatcher", ["easy", "conservative"])
def test_an_early_end_moves_reservations_up(dispatcher):
    """
    A asks for 10 and ends at 4; the queue is planned anew, and B, promised 10, starts at 4.

    ::

        2 |.   BB        promised: B at 10, C at 12
        1 |AAAABBCCC
          +---------
           0   4 6
    """
    workload = jobs((0, 1, 4, 10), (1, 2, 2), (2, 1, 3, 9))
    assert starts(workload, machine((2,)), dispatcher) == [0, 4, 6]


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


def decide(state, dispatcher=None):
    """Return which jobs start, the planned starts by job, and the nodes of these as far as named."""
    view = ref.view_of(state)
    dispatcher = dispatcher or Easy()
    dispatcher.reset(view.system, 0)
    decision = dispatcher.decide(view)
    plan = decision.planned_starts
    planned = dict(zip(plan.handle, plan.start, strict=True)) if plan else {}
    nodes = [nodes.tolist() for nodes in plan.nodes.values()] if plan else []
    return [start.handle for start in decision.actions], planned, *nodes


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
    assert decide(state) == ([3], {1: 10}, [0])
    # With a B that fits at once, D behind it is the one that waits.
    state = at_zero((1, 5, only_n1), (1, 4, None), (2, 20, None), nodes=((4,), (0,)))
    assert decide(state) == ([1], {2: 4}, [0])
    assert decide(at_zero((1, 5, only_n1), nodes=((4,), (0,)))) == ([], {})


def test_the_last_in_the_queue_is_planned_too():
    """Alone in the queue, or all before it start: it used to have no plan for nobody could mind."""
    assert decide(at_zero((4, 5, None))) == ([], {0: 10}, [0])
    assert decide(at_zero((1, 5, None), (4, 5, None))) == ([0], {1: 10}, [0])
    assert decide(at_zero((1, 5, None))) == ([0], {})


def test_a_job_that_should_have_ended_ends_next_second():
    """Adapters may say so: at 0 a job is expected to have ended at -5, another at 0."""
    state = at_zero((4, 5, None), (2, 1, None), busy=((1, -5), (1, 0)))
    assert decide(state) == ([1], {0: 1}, [0])


# --- a reservation for every job ------------------------------------------------------------------


# A runs on 3 of 4 cores until 10, B (3 cores) and C (4 cores) wait, D (1 core for 20 s) comes last.
A_B_C_D = jobs((0, 3, 10), (1, 3, 5), (2, 4, 5), (3, 1, 20))


def test_everybody_behind_the_head_keeps_a_reservation_too():
    """
    D would not delay B, but it would delay C: it waits for C.

    ::

        4 |.              CCCCC
        3 |AAAAAAAAAABBBBBCCCCC
        2 |AAAAAAAAAABBBBBCCCCC
        1 |AAAAAAAAAABBBBBCCCCCDDDD...
          +---------------------------
           0  3      10   15   20
    """
    assert starts(A_B_C_D, machine((4,)), "conservative") == [0, 10, 15, 20]


@pytest.mark.parametrize("dispatcher", ["easy", "conservative:depth=1"])
def test_one_reservation_lets_d_delay_c(dispatcher):
    """
    With a single reservation (B's) D starts at once and C waits until it has gone.

    ::

        4 |   DDDDDDDDDDDDDDDDDDDDCCCCC
        3 |AAAAAAAAAABBBBB        CCCCC
        2 |AAAAAAAAAABBBBB        CCCCC
        1 |AAAAAAAAAABBBBB        CCCCC
          +----------------------------
           0  3      10   15      23
    """
    assert starts(A_B_C_D, machine((4,)), dispatcher) == [0, 10, 23, 3]


@pytest.mark.parametrize("depth", ["2", "3", "all", "99999999999999999999"])
def test_two_reservations_are_enough_here(depth):
    """B and C are protected; how many more would be is all the same."""
    assert starts(A_B_C_D, machine((4,)), f"conservative:depth={depth}") == [0, 10, 15, 20]


def test_no_reservation_at_all_is_a_list_that_skips():
    """Depth 0: whatever fits starts; narrow jobs starve the wide one."""
    workload = jobs((0, 1, 4), (1, 2, 1), (2, 1, 4), (4, 1, 4), (6, 1, 4))
    assert starts(workload, machine((2,)), "conservative:depth=0") == [0, 10, 2, 4, 6]
    assert starts(workload, machine((2,)), "prb:priority=fifo") == [0, 10, 2, 4, 6]
    # With a reservation the wide one has its turn at 4, and the first narrow one must wait.
    assert starts(workload, machine((2,)), "conservative") == [0, 4, 5, 5, 9]


def test_a_hole_before_a_reservation_is_used():
    """
    E (1 core for 7 s) ends when B begins; F (8 s) does not, and is planned behind C.

    ::

        4 |   EEEEEEE     CCCCC
        3 |AAAAAAAAAABBBBBCCCCC
        2 |AAAAAAAAAABBBBBCCCCC
        1 |AAAAAAAAAABBBBBCCCCCFFFFFFFF
          +-----------------------------
           0  3      10   15   20
    """
    workload = jobs((0, 3, 10), (1, 4, 5), (2, 4, 5), (3, 1, 8), (3, 1, 7))
    assert starts(workload, machine((4,)), "conservative") == [0, 10, 15, 20, 3]


def test_the_plan_names_every_reservation():
    """
    One core is free. B (3 cores) from 10, C (4) from 15; D (1 core) fits now, until 9.

    ::

        4 |DDDDDDDDD.     CCCCC
        3 |rrrrrrrrrrBBBBBCCCCC
        2 |rrrrrrrrrrBBBBBCCCCC
        1 |rrrrrrrrrrBBBBBCCCCC
          +--------------------
           0         10   15
    """
    state = at_zero((3, 5, None), (4, 5, None), (1, 9, None), busy=((3, 10),))
    assert decide(state, Conservative()) == ([2], {0: 10, 1: 15})


def test_planning_stops_where_nobody_behind_could_start():
    """Nothing is free: no plan is made, for nothing can start whatever it says."""
    assert decide(at_zero((3, 5, None), (4, 5, None), busy=((4, 10),)), Conservative()) == ([], {})


def test_a_depth_plans_only_what_it_reserves():
    """
    Depth 1 reserves 10 for B (4 cores). C and D fit now but run too long: no place is kept.

    They were reported as planned for 15, on top of each other or of whoever comes.
    """
    state = at_zero((4, 5, None), (2, 20, None), (1, 20, None))
    assert decide(state, Conservative(depth=1)) == ([], {0: 10}, [0])


def test_a_job_needs_the_same_nodes_for_all_of_its_time():
    """
    J (both cores of a node for 3 s) does not fit before H; K (2 s) does.

    ::

        n1 |BBBBBBHHH
        n0 |AAAAKKHHHJJJ
           +-----------
            0   4 6  9
    """
    workload = jobs((0, 1, 4), (0, 1, 6), (1, 2, 3), (2, 1, 3), (3, 1, 2), request=[[2]] * 5)
    assert starts(workload, machine((2,), (2,)), "conservative") == [0, 0, 6, 9, 4]


def test_a_job_that_can_never_start_reserves_nothing():
    """Its node is down (free of nothing, open to nobody): the others are planned without it."""
    one = {"request": (1,), "per_node": (0,)}
    state = ref.State(
        now=0,
        capacity=((2,), (2,)),
        free=((0,), (1,)),
        running=(
            ref.Held(ask=ref.Ask(units=1, eligible=(False, True), **one), takes=(0, 1), end=5),
        ),
        waiting=(
            ref.Ask(units=1, eligible=(False, False), duration=3, **one),
            ref.Ask(units=2, eligible=(False, True), duration=3, **one),
            ref.Ask(units=1, eligible=(False, True), duration=5, **one),
            ref.Ask(units=1, eligible=(False, True), duration=6, **one),
        ),
    )
    for depth in (None, 1):
        started, planned = decide(state, Conservative(depth=depth))[:2]
        assert started == [2]
        assert planned == {1: 5}


def test_jobs_of_no_length_take_a_second_of_the_plan():
    """A plan value of 0 occupies one second, so that two of them cannot share a core."""
    state = at_zero((1, 0, None), (1, 0, None), nodes=((1,),), busy=())
    assert decide(state, Conservative())[0] == [0]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ("depth=-1", ConfigError, "depth is -1, must be 0 or more, or 'all'"),
        ("depth=few", ConfigError, "depth: 'few' is not a whole number"),
        ("priority=best", UnknownNameError, "no priority is called 'best'"),
        ("allocator=worst-fit", UnknownNameError, "no allocator is called 'worst-fit'"),
    ],
)
def test_bad_options(options, error, message):
    """Each is refused when the dispatcher is made, not at the first decision."""
    with pytest.raises(error, match=message):
        build("dispatchers", f"conservative:{options}")


def test_an_empty_queue_is_no_trouble():
    """Nothing waits: nothing starts."""
    one = ref.Ask(units=1, request=(1,), per_node=(0,), eligible=(True,))
    view = ref.view_of(ref.State(now=0, capacity=((1,),), free=((1,),), running=(), waiting=(one,)))
    view.waiting = view.waiting.take([False])
    view.waiting.rows.flags.writeable = False
    for spec in ("conservative", "conservative:priority=sjf", "easy", "prb", "fifo", "sjf"):
        dispatcher = build("dispatchers", spec)
        dispatcher.reset(view.system, 0)
        assert not dispatcher.decide(view).actions


# --- promises ------------------------------------------------------------------------------------


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
