"""The dispatcher ``dn-dbes``: what both sides agree on, done on a machine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import jobs, machine, machines, run

from cpsched.model.schedule import JobOutcome
from cpsched.model.workload import Workload
from cpsched.simulation.observers import Observer
from cpsched.util.types import JobType
from cpsched.verification import verify

pytestmark = pytest.mark.slow

EIGHT = machine(*[(1,)] * 8)


class Seen(Observer):
    """Notes the sizes that jobs get, and when they leave their nodes for good."""

    def __init__(self):
        self.sizes = []
        self.left = []

    def on_start(self, job, allocation, now):
        self.sizes.append((now, job, int(allocation.units.sum())))

    def on_resize(self, job, allocation, now):
        self.sizes.append((now, job, int(allocation.units.sum())))


def workload(*rows, **columns):
    """Return jobs ``(submit, units, runtime, least, most)``; their size may change for nothing."""
    columns.setdefault("job_type", [JobType.MALLEABLE] * len(rows))
    columns.setdefault("resize_cost", [0] * len(rows))
    return jobs(
        *[row[:3] for row in rows],
        units_min=[row[3] for row in rows],
        units_max=[row[4] for row in rows],
        **columns,
    )


def simulated(wanted, dispatcher="dn-dbes", system=EIGHT, **settings):
    """Return the sizes that jobs had from when on, and the schedule, which is verified."""
    seen = Seen()
    schedule = run(wanted, system, dispatcher, observers=(seen,), **settings).schedule
    assert verify(schedule) == []
    return seen.sizes, schedule


def test_jobs_shrink_for_new_ones_and_grow_after_them():
    """With two attempts; job 0 may have 2 to 8 units and would run for 100 s on 4."""
    sizes, schedule = simulated(
        workload((0, 4, 100, 2, 8), (20, 4, 10, 4, 4)), "dn-dbes:attempts=2"
    )
    assert sizes == [
        # It gets all 8 units, and would end at 50.
        (0, 0, 8),
        # Job 1 needs 4. A step of (8 - 2) // 2 = 3 is too little; of the 6 that are free after two
        # steps, 2 go back.
        (20, 0, 4),
        (20, 1, 4),
        # 20 s on 8 units and 10 on 4 are half of the work: on 8 units again it takes 25 s more.
        (30, 0, 8),
    ]
    assert schedule.end.tolist() == [55, 30]


def test_a_change_that_costs_more_than_it_gains_is_not_made():
    """Growing from 4 to 8 units would save 30 s, and costs 30."""
    wanted = workload((0, 4, 100, 2, 8), (20, 4, 10, 4, 4), resize_cost=[30, 0])
    sizes, schedule = simulated(wanted, "dn-dbes:attempts=2")
    assert sizes == [(0, 0, 8), (20, 0, 4), (20, 1, 4)]
    # 20 s on 8 units, 30 without progress, and the rest of 400 - 160 on 4; with 8 it would end
    # no sooner: at 80 + 240 / 8.
    assert schedule.end.tolist() == [110, 30]


def test_moldable_jobs_keep_the_size_they_start_with():
    """Their size is chosen once."""
    wanted = workload(
        (0, 4, 100, 2, 8), (0, 4, 40, 4, 4), job_type=[JobType.MOLDABLE, JobType.RIGID]
    )
    sizes, schedule = simulated(wanted)
    assert sorted(job for _, job, _ in sizes) == [0, 1]
    assert schedule.outcome.tolist() == [JobOutcome.COMPLETED] * 2


def test_jobs_that_ask_for_more_than_units_keep_the_size_they_prefer():
    """Another number of units might not do for an even split, or consecutive nodes."""
    wanted = workload((0, 4, 100, 2, 8), (0, 2, 50, 1, 4), contiguous=[True, False], split=[0, 1])
    sizes, _ = simulated(wanted)
    assert sizes == [(0, 0, 4), (0, 1, 2)]


def test_an_urgent_job_waits_where_others_can_give_too_little():
    """Job 1 needs 4 units at 10; job 0 has all 8 and can give 2: that would change nothing."""
    wanted = workload((0, 8, 60, 6, 8), (10, 4, 30, 4, 4), urgent=[False, True])
    assert simulated(wanted)[1].start.tolist() == [0, 60]


def test_an_urgent_job_waits_a_second_for_jobs_that_have_just_started():
    """Nothing is done to a job in the second in which it starts."""
    wanted = workload((0, 8, 60, 2, 8), (0, 4, 30, 4, 4), urgent=[False, True])
    _, schedule = simulated(wanted)
    assert schedule.start.tolist() == [0, 0]
    wanted = workload((0, 8, 60, 2, 8), (0, 8, 30, 4, 8), (0, 4, 30, 4, 4), urgent=[0, 1, 1])
    _, schedule = simulated(wanted)
    # The first urgent job takes what it prefers, and gives nothing to the second.
    assert schedule.start.tolist()[1:] == [0, 30]


def test_jobs_that_differ_start_in_turn():
    """Where units differ, counting them says little: still each job starts, none is overtaken."""
    system = machine((4, 1), (4, 0), resources=("core", "gpu"))
    wanted = workload(
        (0, 1, 50, 1, 1), (1, 1, 50, 1, 1), (2, 2, 50, 1, 4),
        request=[(1, 1), (1, 1), (2, 0)], resources=("core", "gpu"),
    )  # fmt: skip
    _, schedule = simulated(wanted, system=system)
    assert schedule.start[0] == 0
    assert schedule.start[1] >= 50


@st.composite
def changing(draw):
    """Draw jobs of all types for machines of cores, GPUs and memory."""
    num = draw(st.integers(1, 10))

    def column(element):
        return draw(st.lists(element, min_size=num, max_size=num))

    least = column(st.integers(1, 3))
    units = [low + more for low, more in zip(least, column(st.integers(0, 3)), strict=True)]
    most = [low + more for low, more in zip(units, column(st.integers(0, 4)), strict=True)]
    return Workload.build(
        title="random",
        job_id=[str(index) for index in range(num)],
        submit=column(st.integers(0, 30)),
        units=units,
        units_min=least,
        units_max=most,
        runtime=column(st.integers(0, 40)),
        requested_time=column(st.integers(1, 50)),
        request=column(st.tuples(st.integers(1, 2), st.integers(0, 1), st.integers(0, 3))),
        resources=("core", "gpu", "mem"),
        job_type=column(st.sampled_from([*JobType])),
        serial=column(st.sampled_from([0, 100_000])),
        resize_cost=column(st.sampled_from([0, 3])),
        restartable=column(st.booleans()),
        restart_cost=column(st.sampled_from([0, 2])),
        urgent=column(st.sampled_from([False, False, False, True])),
        exclusive=column(st.sampled_from([False, False, False, True])),
        contiguous=column(st.sampled_from([False, False, False, True])),
    )


SPECS = st.sampled_from(
    [
        "dn-dbes",
        "dn-dbes:attempts=3,depth=2,period=5",
        "dn-dbes:attempts=1,period=4,order=slowdown",
    ]
)


@given(changing(), machines(), SPECS)
def test_every_schedule_is_valid(wanted, system, spec):
    """No job is lost, and the sums of every job that changed are right (the verifier's rules)."""
    _, schedule = simulated(wanted, spec, system)
    assert not (schedule.outcome == JobOutcome.NOT_ENDED).any()
