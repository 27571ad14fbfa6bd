"""Conservative backfilling on schedules worked out by hand."""

from __future__ import annotations

import pytest
import reference as ref
from tiny import jobs, machine, starts

from cpsched.base.spec import build
from cpsched.dispatch.backfilling import Conservative
from cpsched.errors import ConfigError, UnknownNameError


def decide(dispatcher, state):
    """Return the handles that start at one state, and the planned starts by handle."""
    view = ref.view_of(state)
    dispatcher.reset(view.system, 0)
    decision = dispatcher.decide(view)
    plan = decision.planned_starts
    return (
        [start.handle for start in decision.actions],
        dict(zip(plan.handle, plan.start, strict=True)) if plan else {},
    )


def pool(cores, running, *waiting):
    """Return a state of one node: (cores, end) of running jobs, (cores, length) of waiting ones."""
    one = {"request": (1,), "per_node": (0,), "eligible": (True,)}
    busy = tuple(
        ref.Held(ask=ref.Ask(units=units, **one), takes=(units,), end=end)
        for units, end in sorted(running, key=lambda job: job[1])
    )
    return ref.State(
        now=0,
        capacity=((cores,),),
        free=((cores - sum(units for units, _ in running),),),
        running=busy,
        waiting=tuple(ref.Ask(units=units, duration=length, **one) for units, length in waiting),
    )


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
    state = pool(4, [(3, 10)], (3, 5), (4, 5), (1, 9))
    assert decide(Conservative(), state) == ([2], {0: 10, 1: 15})


def test_planning_stops_where_nobody_behind_could_start():
    """Nothing is free: no plan is made, for nothing can start whatever it says."""
    assert decide(Conservative(), pool(4, [(4, 10)], (3, 5), (4, 5))) == ([], {})


def test_a_depth_plans_only_what_it_reserves():
    """
    Depth 1 reserves 10 for B (4 cores). C and D fit now but run too long: no place is kept.

    They were reported as planned for 15, on top of each other or of whoever comes.
    """
    state = pool(4, [(2, 10)], (4, 5), (2, 20), (1, 20))
    assert decide(Conservative(depth=1), state) == ([], {0: 10})


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


def test_an_early_end_moves_reservations_up():
    """
    A asks for 10 and ends at 4; the queue is planned anew, and B, promised 10, starts at 4.

    ::

        2 |.   BB        promised: B at 10, C at 12
        1 |AAAABBCCC
          +---------
           0   4 6
    """
    workload = jobs((0, 1, 4, 10), (1, 2, 2), (2, 1, 3, 9))
    assert starts(workload, machine((2,)), "conservative") == [0, 4, 6]


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
        started, planned = decide(Conservative(depth=depth), state)
        assert started == [2]
        assert planned == {1: 5}


def test_order_by_priority():
    """At 10 the short job has the higher slowdown and is planned first."""
    workload = jobs((0, 1, 10), (1, 1, 50), (2, 1, 1))
    assert starts(workload, machine((1,)), "conservative:priority=slowdown") == [0, 11, 10]


def test_jobs_of_no_length_take_a_second_of_the_plan():
    """A plan value of 0 occupies one second, so that two of them cannot share a core."""
    state = pool(1, [], (1, 0), (1, 0))
    assert decide(Conservative(), state)[0] == [0]


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
