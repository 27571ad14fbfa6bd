"""List schedulers on schedules worked out by hand."""

from __future__ import annotations

import pytest
from tiny import jobs, machine, starts

from cpsched.base.spec import build
from cpsched.errors import ConfigError, UnknownNameError
from cpsched.model.system import Queue

#   4 |
#   3 |AAAA
#   2 |AAAABBBBCC        FIFO: B waits for A, and C behind B although it would fit beside A
#   1 |AAAABBBBCC              (one core is free until 4)
#     +----------
#      0   4   8
A_WIDE_QUEUE = jobs((0, 3, 4), (1, 2, 4), (2, 1, 2))
# One core, A runs until 5; B asks for 3, C for 1, D for 2.
BY_LENGTH = jobs((0, 1, 5), (1, 1, 3), (2, 1, 1), (3, 1, 2))
# In workload order (by submit): 0, then the two of second 1, then that of second 2.
ALIKE = jobs((0, 1, 5), (2, 1, 3), (1, 1, 3), (1, 1, 3))


@pytest.mark.parametrize(
    ("dispatcher", "workload", "cores", "expected"),
    [
        # C would fit on the fourth core at 2, but B is before it and needs two.
        ("fifo", A_WIDE_QUEUE, 4, [0, 4, 4]),
        # B waits; C starts beside A at once.
        ("prb", A_WIDE_QUEUE, 4, [0, 4, 2]),
        # C, D, B; or the other way round.
        ("sjf", BY_LENGTH, 1, [0, 8, 5, 6]),
        ("ljf", BY_LENGTH, 1, [0, 5, 10, 8]),
        # Equal lengths: earlier submit first, then the order of lines.
        ("sjf", ALIKE, 1, [0, 5, 8, 11]),
        ("ljf", ALIKE, 1, [0, 5, 8, 11]),
        # All of 200 jobs fit and start.
        ("sjf", jobs(*[(0, 1, 1 + index % 7) for index in range(200)]), 200, [0] * 200),
        # Same wait, same queue: 2 cores for 2 s (demand 4) before 1 core for 5 s (demand 5).
        ("prb", jobs((0, 2, 3), (1, 1, 5), (1, 2, 2)), 2, [0, 5, 3]),
        # At 10: long (q 9, d 100) has slowdown 1.09, short (q 8, d 1) has 9.
        ("prb:priority=slowdown", jobs((0, 1, 10), (1, 1, 100), (2, 1, 1)), 1, [0, 11, 10]),
    ],
)
def test_the_order_in_which_jobs_start(dispatcher, workload, cores, expected):
    """``prb`` skips what does not fit, the others stop there."""
    assert starts(workload, machine((cores,)), dispatcher) == expected


def test_prb_orders_by_expected_wait():
    """
    At 10 both have waited: debug 9 s of an expected 10, batch 10 s of 100; debug goes first.

    ``E * q / ewt`` = 100 * 9 / 10 = 90 against 100 * 10 / 100 = 10.
    """
    queues = [Queue(name="debug", expected_wait=10), Queue(name="batch", expected_wait=100)]
    workload = jobs((0, 1, 10), (0, 1, 20), (1, 1, 5), queue=["batch", "batch", "debug"])
    assert starts(workload, machine((1,), queues=queues), "prb") == [0, 15, 10]


def test_prb_maps_units_to_nodes_not_to_totals():
    """
    Two nodes of two cores, each with one free: a unit of two cores fits on neither.

    ::

        n1 |A.      C needs one node with 2 cores free: none before 5,
        n0 |B.      although 2 cores are free in all
    """
    workload = jobs((0, 1, 5), (0, 1, 5), (1, 1, 1), request=[[1], [1], [2]])
    dispatcher = "prb:allocator=balanced"  # puts A and B on different nodes
    assert starts(workload, machine((2,), (2,)), dispatcher) == [0, 0, 5]


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("fifi", UnknownNameError, "no dispatcher is called 'fifi'.*Did you mean 'fifo'"),
        ("prb:prio=slowdown", ConfigError, "no such option.*takes: allocator, priority"),
        ("prb:priority=slow", UnknownNameError, "no priority is called 'slow'"),
    ],
)
def test_unknown_names_list_what_there_is(spec, error, message):
    """A slip in a name is answered with the closest one."""
    with pytest.raises(error, match=message):
        build("dispatchers", spec)
