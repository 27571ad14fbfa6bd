"""Malleable jobs under the strategies: by hand, and whatever the workload."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sized import M, R, kinds, sized_jobs, sizes
from tiny import machine, run

from cpsched.model.schedule import JobOutcome
from cpsched.papers.malleable.sizes import SizeLines, Strategy, grown, shrunk
from cpsched.util.types import Split
from cpsched.verification import verify


def played(workload, strategy, cores=8, **options):
    more = "".join(f",{key}={value}" for key, value in options.items())
    schedule = run(workload, machine((cores,)), f"malleable:strategy={strategy}{more}").schedule
    assert verify(schedule) == []
    assert (schedule.outcome != JobOutcome.NOT_ENDED).all()
    return schedule


def test_a_job_alone_grows_to_its_most():
    """It starts with its 2 (or 4) units, and is resized in the next second that anything happens."""
    workload = sized_jobs(((0, 4, 100), 2, 8, M), ((5, 1, 1), 1, 1, R))
    assert sizes(played(workload, "minimum"), 0) == [(0, 2), (5, 7), (6, 8)]
    assert sizes(played(workload, "preferred"), 0) == [(0, 4), (5, 7), (6, 8)]


def test_no_job_grows_that_gains_less_than_the_pause():
    """On 8 of 4 units it would end at 52; with a pause of 50 s later than now."""
    workload = sized_jobs(((0, 4, 100), 2, 8, M), ((5, 1, 1), 1, 1, R), cost=50)
    assert sizes(played(workload, "preferred"), 0) == [(0, 4)]


@pytest.mark.parametrize(
    ("strategy", "start", "left"),
    [
        ("minimum", 10, 4),
        ("preferred", 10, 4),
        ("average", 10, 4),
        # 4 of 6 would be enough, but the job prefers 6.
        ("keep-preferred", 100, 6),
    ],
)
def test_running_jobs_shrink_for_waiting_ones(strategy, start, left):
    workload = sized_jobs(((0, 6, 100), 2, 6, M), ((10, 4, 10), 4, 4, R))
    if strategy in ("minimum", "average"):
        # It starts with 2 units and is 6 units large from second 1 on.
        workload = sized_jobs(((0, 6, 100), 2, 6, M), ((1, 1, 1), 1, 1, R), ((10, 4, 10), 4, 4, R))
    schedule = played(workload, strategy)
    assert schedule.start[-1] == start
    at_ten = [units for second, units in sizes(schedule, 0) if second <= 10]
    assert at_ten[-1] == left


def test_a_job_starts_with_fewer_units_than_it_prefers_where_no_more_are_free():
    workload = sized_jobs(((0, 6, 50), 6, 6, R), ((1, 4, 10), 1, 4, M), ((2, 1, 1), 1, 1, R))
    schedule = played(workload, "preferred")
    assert sizes(schedule, 1)[0] == (1, 2)


def test_a_job_with_needs_besides_a_number_of_units_keeps_the_size_it_prefers():
    """Split evenly, it waits for its 4 units though 2 are free."""
    workload = sized_jobs(
        ((0, 6, 50), 6, 6, R), ((1, 4, 10), 1, 4, M), split=[Split.EVEN, Split.EVEN]
    )
    schedule = played(workload, "preferred")
    assert sizes(schedule, 1) == [(50, 4)]


def test_a_job_that_overtakes_does_not_delay_the_first():
    """The rigid first job gets 8 cores at 50; one of 60 s must not take room until then."""
    workload = sized_jobs(
        ((0, 6, 50), 6, 6, R), ((1, 8, 10), 8, 8, R), ((2, 4, 60), 1, 4, M), ((3, 2, 40), 1, 2, M)
    )
    schedule = played(workload, "preferred")
    assert schedule.start[1] == 50
    assert schedule.start[3] == 3
    assert schedule.start[2] >= 50


def test_sizes_at_one_level():
    held, least, most = (np.array(values) for values in ([4, 4, 1], [1, 2, 1], [8, 4, 3]))
    weight = np.array([1, 1, 2])
    lines = SizeLines(np.array([4.0, 4.0, 1.0]), np.ones(3))
    assert grown(lines, held, most, weight, 5).tolist() == [5, 4, 2]
    assert grown(lines, held, most, weight, 100).tolist() == [8, 4, 3]
    assert grown(lines, held, most, weight, 0).tolist() == [4, 4, 1]
    assert shrunk(lines, held, least, weight, 3).tolist() == [2, 3, 1]
    assert shrunk(lines, held, least, weight, 1).tolist() == [3, 4, 1]
    assert shrunk(lines, held, least, weight, 100).tolist() == [1, 2, 1]


@given(st.lists(st.tuples(*[st.integers(0, 9)] * 3, st.integers(1, 4)), min_size=1, max_size=6),
       st.integers(0, 60))  # fmt: skip
def test_levels_never_give_more_than_there_is_nor_less_than_is_needed(rows, amount):
    least, more, most, weight = (
        np.array(values, dtype=np.int64) for values in zip(*rows, strict=True)
    )
    held, most = least + more, least + more + most
    lines = SizeLines(least.astype(float), np.maximum(most - least, 1).astype(float))
    bigger = grown(lines, held, most, weight, amount)
    assert (held <= bigger).all()
    assert (bigger <= most).all()
    assert ((bigger - held) * weight).sum() <= amount
    smaller = shrunk(lines, held, least, weight, amount)
    assert (least <= smaller).all()
    assert (smaller <= held).all()
    assert ((held - smaller) * weight).sum() >= min(amount, ((held - least) * weight).sum())


@settings(max_examples=80)
@given(
    kinds(),
    st.sampled_from(list(Strategy)),
    st.sampled_from(
        ["easy", "greedy", "fifo", "conservative", "easy,dispatcher.order=slowdown", "cph-0"]
    ),
    st.sampled_from([((8,),), ((1,),) * 8, ((3,), (5,))]),
)
def test_whatever_the_jobs_no_work_is_lost(workload, strategy, inner, nodes):
    system = machine(*nodes)
    schedule = run(workload, system, f"malleable:strategy={strategy},dispatcher={inner}").schedule
    assert verify(schedule) == []
    assert (schedule.outcome != JobOutcome.NOT_ENDED).all()
