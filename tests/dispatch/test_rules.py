"""List schedulers on schedules worked out by hand."""

from __future__ import annotations

import pytest
from tiny import jobs, machine, starts

from cpsched.base.spec import build
from cpsched.errors import ConfigError, UnknownNameError

#   4 |
#   3 |AAAA
#   2 |AAAABBBBCC        FIFO: B waits for A, and C behind B although it would fit beside A
#   1 |AAAABBBBCC              (one core is free until 4)
#     +----------
#      0   4   8
A_WIDE_QUEUE = jobs((0, 3, 4), (1, 2, 4), (2, 1, 2))


def test_fifo_stops_at_first_that_does_not_fit():
    """C would fit on the fourth core at 2, but B is before it and needs two."""
    assert starts(A_WIDE_QUEUE, machine((4,)), "fifo") == [0, 4, 4]


def test_prb_skips_what_does_not_fit():
    """B waits; C starts beside A at once."""
    assert starts(A_WIDE_QUEUE, machine((4,)), "prb") == [0, 4, 2]


def test_sjf_takes_shortest_request_and_stops():
    """
    One core, A runs until 5; then by requested time: C (1), D (2), B (3).

    ::

        1 |AAAAACDDBBB
          +-----------
           0    5
    """
    workload = jobs((0, 1, 5), (1, 1, 3), (2, 1, 1), (3, 1, 2))
    assert starts(workload, machine((1,)), "sjf") == [0, 8, 5, 6]


def test_ljf_takes_longest_request():
    """As above, the other way round: B (3), D (2), C (1)."""
    workload = jobs((0, 1, 5), (1, 1, 3), (2, 1, 1), (3, 1, 2))
    assert starts(workload, machine((1,)), "ljf") == [0, 5, 10, 8]


@pytest.mark.parametrize("dispatcher", ["sjf", "ljf"])
def test_ties_keep_submit_then_log_order(dispatcher):
    """Equal lengths: earlier submit first, then the order of lines."""
    workload = jobs((0, 1, 5), (2, 1, 3), (1, 1, 3), (1, 1, 3))
    # In workload order (by submit): 0, then the two of second 1, then that of second 2.
    assert starts(workload, machine((1,)), dispatcher) == [0, 5, 8, 11]


def test_sjf_starts_more_than_it_sorts_at_once():
    """All of 200 one-second jobs fit at 0 and start, though only the first few are sorted."""
    workload = jobs(*[(0, 1, 1 + index % 7) for index in range(200)])
    assert starts(workload, machine((200,)), "sjf") == [0] * 200


def test_prb_orders_by_expected_wait():
    """
    At 10 both have waited: debug 9 s of an expected 10, batch 10 s of 100; debug goes first.

    ``E * q / ewt`` = 100 * 9 / 10 = 90 against 100 * 10 / 100 = 10.
    """
    from cpsched.model.system import Queue

    queues = [Queue(name="debug", expected_wait=10), Queue(name="batch", expected_wait=100)]
    workload = jobs((0, 1, 10), (0, 1, 20), (1, 1, 5), queue=["batch", "batch", "debug"])
    assert starts(workload, machine((1,), queues=queues), "prb") == [0, 15, 10]


def test_prb_breaks_ties_by_demand():
    """Same wait, same queue: 2 cores for 2 s (demand 4) before 1 core for 5 s (demand 5)."""
    workload = jobs((0, 2, 3), (1, 1, 5), (1, 2, 2))
    assert starts(workload, machine((2,)), "prb") == [0, 5, 3]


def test_prb_by_slowdown_prefers_short():
    """At 10: long (q 9, d 100) has slowdown 1.09, short (q 8, d 1) has 9."""
    workload = jobs((0, 1, 10), (1, 1, 100), (2, 1, 1))
    assert starts(workload, machine((1,)), "prb:priority=slowdown") == [0, 11, 10]


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


def test_expected_wait_needs_one_for_each_queue():
    """A system without expected waits cannot be scheduled by them, and says so at once."""
    with pytest.raises(ConfigError, match="expected wait"):
        starts(jobs((0, 1, 1)), machine((1,), expected_wait=None), "prb")


def test_unknown_names_list_what_there_is():
    """A slip in a name is answered with the closest one."""
    with pytest.raises(
        UnknownNameError, match=r"no dispatcher is called 'fifi'.*Did you mean 'fifo'"
    ):
        build("dispatchers", "fifi")
    with pytest.raises(ConfigError, match=r"no such option.*takes: allocator, priority"):
        build("dispatchers", "prb:prio=slowdown")
    with pytest.raises(UnknownNameError, match="no priority is called 'slow'"):
        build("dispatchers", "prb:priority=slow")
