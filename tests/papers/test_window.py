"""How many jobs a decision considers, which, and their integer priorities."""

from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from jobtables import job_table
from tiny import machine

from cpsched.dispatch.orders import Slowdown
from cpsched.model.decision import NOTHING
from cpsched.papers.priorities import Basic
from cpsched.papers.window import (
    WindowDispatcher,
    point_priorities,
    priority_values,
    rank_priorities,
)


def table(num, **columns):
    """Return waiting jobs, one a second."""
    ones = np.ones(num, dtype=np.int64)
    return job_table(
        resources=("core",),
        handle=np.arange(num),
        submit=columns.pop("submit", np.arange(num)),
        requested_time=columns.pop("requested_time", 60 * ones),
        units=columns.pop("units", ones),
        request=ones[:, None],
    )


class Small(WindowDispatcher):
    """Decides nothing."""

    name = "small"
    allocates = "first-fit"

    def choose(self, view):
        return NOTHING


def miss(dispatcher, considered):
    """Let a decision miss its limit."""
    return dispatcher.missed(SimpleNamespace(now=0), considered, {})


def test_the_window_halves_after_each_miss_and_is_whole_after_a_decision_that_met():
    dispatcher, sizes = Small(window=200), []
    for _ in range(9):
        assert miss(dispatcher, 300).again_at == 3
        sizes.append(dispatcher.size)
    assert sizes == [100, 50, 25, 12, 6, 3, 1, 1, 1]
    assert dispatcher.met(SimpleNamespace(now=0), (), {}, more=False).again_at == 3
    assert dispatcher.size == 200
    assert dispatcher.met(SimpleNamespace(now=0), (), {}, more=False).again_at is None


def test_half_of_the_jobs_that_were_considered_remain():
    """Half of a window that is not full would be the same jobs again."""
    dispatcher = Small(window=200)
    miss(dispatcher, 40)
    assert dispatcher.size == 20
    miss(dispatcher, 40)
    assert dispatcher.size == 10


def test_a_halved_window_is_saved():
    dispatcher, other = Small(window=7), Small(window=7)
    miss(dispatcher, 300)
    other.restore(dispatcher.state())
    assert other.size == 3
    other.reset(machine((4,)), 0)
    assert other.size == 7


def test_the_window_holds_the_highest_and_ties_keep_queue_order():
    dispatcher = Small(window=4, order="multifactor:age_weight=0")
    dispatcher.reset(machine((4,)), 0)
    jobs = table(5, units=np.array([1, 3, 2, 3, 2]))
    rows, priorities = dispatcher.in_window(SimpleNamespace(waiting=jobs, now=9))
    assert rows.tolist() == [1, 3, 2, 4]
    assert priorities.tolist() == [750, 750, 500, 500]
    assert not rows.flags.writeable


@given(st.lists(st.integers(-5, 5) | st.floats(-1e300, 1e300), min_size=1, max_size=30))
def test_ranks_keep_order_and_ties_and_more_jobs_always_weigh_more(values):
    values = np.array(values, dtype=np.float64)
    ranks = rank_priorities(values)
    for value, rank in zip(values, ranks.tolist(), strict=True):
        for other, beside in zip(values, ranks.tolist(), strict=True):
            assert (value < other) == (rank < beside)
    ascending = np.sort(ranks)
    for count in range(len(ranks)):
        # The k + 1 least important jobs against the k most important.
        assert ascending[: count + 1].sum() > ascending[len(ranks) - count :].sum()


def test_points_are_whole_and_ranks_count_down():
    assert point_priorities(np.array([1.0, 7.5, 8.6, 1e30])).tolist() == [1, 8, 9, 2**31]
    assert point_priorities(np.array([])).tolist() == []
    # Those below are raised, and stay apart.
    assert point_priorities(np.array([-3.0, 0.2, 7.5])).tolist() == [1, 4, 12]
    # Slurm gives every arriving job one less, whatever the second.
    priority = Basic()
    priority.reset(machine((4,)))
    values = priority_values(priority, table(3, submit=np.zeros(3, dtype=np.int64)), 5)
    assert values.tolist() == [0.0, -1.0, -2.0]
    assert rank_priorities(values).tolist() == [12, 11, 10]


def test_multifactor_has_points_and_others_ranks():
    for priority, right in (("multifactor:size_weight=100", [52, 27]), ("basic", [6, 5])):
        dispatcher = Small(order=priority)
        dispatcher.reset(machine((4,)), 0)
        jobs = table(2, units=np.array([1, 2]))
        _, priorities = dispatcher.in_window(SimpleNamespace(waiting=jobs, now=120))
        assert priorities.tolist() == right


def test_a_priority_of_several_keys_becomes_ranks_with_its_ties():
    """Equal slowdown: the smaller demand goes first; equal in both is a tie."""
    priority = Slowdown()
    priority.reset(machine((4,)))
    jobs = table(3, submit=np.zeros(3, dtype=np.int64), units=np.array([2, 1, 2]))
    assert priority_values(priority, jobs, 60).tolist() == [-1.0, 0.0, -1.0]
