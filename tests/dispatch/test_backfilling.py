"""Backfilling on schedules worked out by hand, and EASY against its promise."""

import numpy as np
import pytest
import reference as ref
from hypothesis import given, settings
from recorded import Plans
from tiny import jobs, machine, machines, run, starts, workloads

from cpsched.dispatch.backfilling import Conservative, Easy
from cpsched.dispatch.orders import FifoOrder
from cpsched.dispatch.sorted_queue import QueueOrder
from cpsched.util.spec import build

pytestmark = pytest.mark.slow

#: Specifications of EASY whose queue is in submit order.
IN_ORDER = ("easy", "easy:backfill=sjf", "easy:allocator=best-fit", "easy:allocator=balanced")
BOTH = ("easy", "conservative")


# A runs on 3 of 4 cores until 10, B (3 cores) and C (4 cores) wait, D (1 core for 20 s) comes last.
A_B_C_D = jobs((0, 3, 10), (1, 3, 5), (2, 4, 5), (3, 1, 20))
#: One core is extra at 1: C runs 5 s on it, or D 3 s.
EXTRA = jobs((0, 3, 10), (1, 3, 4), (1, 1, 5), (1, 1, 3))
#: By slowdown the one-second job, not the first in line, holds the reservation at 10.
SLOWED = jobs((0, 2, 10), (1, 2, 50), (2, 2, 1))
#: A asks for 10 and ends at 4; the queue is planned anew, and B, promised 10, starts at 4.
EARLY = jobs((0, 1, 4, 10), (1, 2, 2), (2, 1, 3, 9))
#: Narrow jobs that come one after the other, and the wide second one.
NARROW = jobs((0, 1, 4), (1, 2, 1), (2, 1, 4), (4, 1, 4), (6, 1, 4))
#: E (1 core for 7 s) ends when B begins; F (8 s) does not, and is planned behind C.
HOLE = jobs((0, 3, 10), (1, 4, 5), (2, 4, 5), (3, 1, 8), (3, 1, 7))


@pytest.mark.parametrize(
    ("dispatcher", "workload", "cores", "expected"),
    [
        # B needs 3 of 4 at 10, so one is extra: D may use it for as long as it likes.
        ("easy", jobs((0, 2, 10), (1, 3, 4), (4, 1, 20)), 4, [0, 10, 4]),
        # Behind the reservation: in queue order, or shortest first.
        ("easy", EXTRA, 4, [0, 10, 1, 6]),
        ("easy:backfill=sjf", EXTRA, 4, [0, 10, 4, 1]),
        *((f"{name}:order=slowdown", SLOWED, 2, [0, 11, 10]) for name in BOTH),
        *((name, EARLY, 2, [0, 4, 6]) for name in BOTH),
        # D would not delay B, but it would delay C: it waits for C, or with a single reservation
        # (B's) starts at once. Two are enough here; how many more there are is all the same.
        ("conservative", A_B_C_D, 4, [0, 10, 15, 20]),
        *((name, A_B_C_D, 4, [0, 10, 23, 3]) for name in ("easy", "conservative:depth=1")),
        *(
            (f"conservative:depth={depth}", A_B_C_D, 4, [0, 10, 15, 20])
            for depth in ("2", "3", "all", "99999999999999999999")
        ),
        # No reservation at all is a list that skips; with one the wide job has its turn at 4.
        ("conservative:depth=0", NARROW, 2, [0, 10, 2, 4, 6]),
        ("greedy:order=fifo", NARROW, 2, [0, 10, 2, 4, 6]),
        ("conservative", NARROW, 2, [0, 4, 5, 5, 9]),
        ("conservative", HOLE, 4, [0, 10, 15, 20, 3]),
    ],
)
def test_who_starts_when(dispatcher, workload, cores, expected):
    """On a pool of cores; ``support/reference.py`` covers what nodes change."""
    assert starts(workload, machine((cores,)), dispatcher) == expected


@pytest.mark.parametrize("dispatcher", BOTH)
def test_zero_runtime_jobs_end_where_they_start(dispatcher):
    """A thousand jobs of no length take one core one after another, all at second 5."""
    workload = jobs(*[(5, 1, 0)] * 1000)
    assert starts(workload, machine((1,)), dispatcher) == [5] * 1000


def decide(state, dispatcher=None):
    """Return which jobs start, the planned starts by job, and the nodes of these as far as named."""
    started, decision = ref.decide(dispatcher or Easy(), state)
    plan = decision.planned_starts
    nodes = [nodes.tolist() for nodes in plan.nodes.values()] if plan else []
    return list(started), ref.planned(decision), *nodes


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
    x = ref.Ask(units=1, duration=5, eligible=(False, False), **ref.ONE_CORE)
    machine = ((4, 0), [((2, 0), 10)], x)
    assert decide(ref.state_of(*machine, (4, 4), (2, 20), (1, 5))) == ([3], {1: 10}, [0])
    # With a B that fits at once, D behind it is the one that waits.
    assert decide(ref.state_of(*machine, (1, 4), (2, 20))) == ([1], {2: 4}, [0])
    assert decide(ref.state_of(*machine)) == ([], {})


def test_an_exclusive_head_takes_nodes_that_are_released_whole():
    """
    At 10 both nodes are free, but of n0 only one core is released: X is given n1, and C n0 at once.

    If a unit in the released capacity were enough, X would be given n0, and C would wait.
    """
    workload = jobs(
        (0, 1, 10), (0, 2, 10), (1, 1, 5), (2, 1, 100),
        nodes_max=[1] * 4, exclusive=[False, False, True, False],
    )  # fmt: skip
    assert starts(workload, machine((2,), (2,)), "easy") == [0, 0, 10, 2]


def test_a_job_that_should_have_ended_ends_next_second():
    """Adapters may say so: at 0 a job is expected to have ended at -5, another at 0."""
    state = ref.state_of((4,), [((1,), -5), ((1,), 0)], (4, 5), (2, 1))
    assert decide(state) == ([1], {0: 1}, [0])


# --- a reservation for every job ------------------------------------------------------------------


def test_planning_stops_where_nobody_behind_could_start():
    """Nothing is free: no plan is made, for nothing can start whatever it says."""
    full = ref.state_of((4,), [((4,), 10)], (3, 5), (4, 5))
    assert decide(full, Conservative()) == ([], {})


def test_a_depth_plans_only_what_it_reserves():
    """
    Depth 1 reserves 10 for B (4 cores). C and D fit now but run too long: no place is kept.

    They were reported as planned for 15, on top of each other or of whoever comes.
    """
    state = ref.state_of((4,), [((2,), 10)], (4, 5), (2, 20), (1, 20))
    assert decide(state, Conservative(depth=1)) == ([], {0: 10}, [0])


def test_an_empty_queue_is_no_trouble():
    """Nothing waits: nothing starts."""
    view = ref.view_of(ref.state_of((1,), [], (1, 1)))
    view.waiting = view.waiting.take([False])
    view.waiting.rows.flags.writeable = False
    for spec in ("conservative", "conservative:order=sjf", "easy", "greedy", "fifo", "sjf"):
        dispatcher = build("dispatchers", spec)
        dispatcher.reset(view.system, 0)
        assert not dispatcher.decide(view).actions


# --- promises ------------------------------------------------------------------------------------


class LikeFifo(FifoOrder):
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


def test_a_job_that_asks_for_less_is_tried_where_one_before_it_fits_nowhere():
    """
    Beside B's reservation of node 2 there are cores without memory and memory without cores.

    C, who needs both, fits nowhere, though enough of each is free; D needs a core alone.
    """
    workload = jobs(
        (0, 1, 10), (0, 2, 5), (0, 1, 100), (0, 1, 100),
        resources=("core", "mem"), request=[[1, 1], [1, 1], [1, 1], [1, 0]],
    )  # fmt: skip
    system = machine((2, 0), (0, 2), (2, 2), resources=("core", "mem"))
    assert starts(workload, system, "easy") == [0, 10, 15, 0]


@given(workload=workloads(), system=machines())
@settings(max_examples=80)
@pytest.mark.parametrize("dispatcher", IN_ORDER)
def test_head_never_starts_after_its_reservation(dispatcher, workload, system):
    """With requested times and jobs killed at them, no promise to a head is broken or moved on."""
    plans = Plans()
    result = run(workload, system, dispatcher, observers=[plans])
    handles = np.flatnonzero(result.schedule.outcome != 3)
    for handle in {handle for _, plan in plans.plans for handle in plan}:
        promised = [start for _, start in plans.of(handle)]
        assert promised == sorted(promised, reverse=True)
        assert result.schedule.start[handles[handle]] <= promised[-1]


@given(workload=workloads(plain=True), system=machines())
@settings(max_examples=80)
def test_any_layout_of_one_core_units_equals_one_pool(workload, system):
    """For one-core units, nodes are no different from a counted pool of all cores."""
    cores = [int(row[0]) for row in system.capacity]
    layout = machine(*[(count, 0, 0) for count in cores], resources=("core", "gpu", "mem"))
    pool = machine((sum(cores), 0, 0), resources=("core", "gpu", "mem"))
    for dispatcher in ("easy", "easy:backfill=sjf", "easy:order=slowdown"):
        assert starts(workload, layout, dispatcher) == starts(workload, pool, dispatcher)
