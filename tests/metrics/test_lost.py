"""Goodput and lost core seconds, worked out by hand."""

import pytest
from scripted import Does, on
from tiny import jobs, machine, run

from cpsched.metrics.lost import Reason, goodput, lost_core_seconds
from cpsched.metrics.summary import summarize
from cpsched.model.decision import Kill, Requeue, Resize, Suspend
from cpsched.util.types import JobType
from cpsched.verification import verify


def schedule_of(todo, *rows, **columns):
    """Run jobs of a core each on four nodes of one; checkpoints every 10 s, 3 s to start again."""
    num = len(rows)
    each = {
        "restartable": True,
        "checkpoint": 10,
        "restart_cost": 3,
        "job_type": JobType.MALLEABLE,
        "units_min": 1,
        "units_max": 4,
        "resize_cost": 5,
    } | columns
    workload = jobs(*rows, **{name: [value] * num for name, value in each.items()})
    system = machine((1,), (1,), (1,), (1,))
    schedule = run(workload, system, Does(todo)).schedule
    assert verify(schedule) == []
    return schedule


@pytest.mark.parametrize(
    ("todo", "columns", "end", "expected"),
    [
        ({}, {}, 100, {}),
        # 34 s on two cores, saved at 30; 3 s to start again, and 70 s are left.
        ({34: Requeue(0)}, {}, 107, {Reason.REQUEUED: 8, Reason.RESTARTING: 6}),
        ({34: Requeue(0)}, {"checkpoint": 0}, 137, {Reason.REQUEUED: 68, Reason.RESTARTING: 6}),
        ({34: Suspend(0)}, {}, 103, {Reason.RESTARTING: 6}),
        ({34: Kill(0)}, {}, 34, {Reason.KILLED: 68}),
        # To four cores: 5 s of pause on them.
        ({40: Resize(0, on(0, 1, 2, 3))}, {}, 75, {Reason.RESIZING: 20}),
        # Killed within the pause, 3 s of it on four cores.
        (
            {40: Resize(0, on(0, 1, 2, 3)), 43: Kill(0)},
            {},
            43,
            {Reason.RESIZING: 12, Reason.KILLED: 80},
        ),
        # Started again at 34, resized a second later: the pause to 37 on one core from 35 on.
        (
            {34: Suspend(0), 35: Resize(0, on(2))},
            {},
            174,
            {Reason.RESTARTING: 2 + 2, Reason.RESIZING: 5},
        ),
        # Saved 10 s after 37 and 20 s after, so 47 of 54; all of it and 34 before is killed.
        (
            {34: Suspend(0), 54: Requeue(0), 80: Kill(0)},
            {},
            80,
            {Reason.RESTARTING: 6 + 6, Reason.REQUEUED: 14, Reason.KILLED: 2 * (34 + 10 + 23)},
        ),
        # A requeue during the pause of starting again.
        ({34: Suspend(0), 36: Requeue(0)}, {}, 105, {Reason.RESTARTING: 4 + 6}),
    ],
)
def test_one_job_by_hand(todo, columns, end, expected):
    """A job of 100 s on two of four cores."""
    schedule = schedule_of(todo, (0, 2, 100), **columns)
    assert schedule.end.tolist() == [end]
    lost = lost_core_seconds(schedule)
    assert {why: seconds for why, seconds in lost.items() if seconds} == expected
    summary = summarize(schedule)
    shares = summary["lost"]
    assert shares == {str(why): seconds / (4 * end) for why, seconds in lost.items()}
    assert summary["goodput"] == pytest.approx(
        summary["utilization"]["core"] - sum(shares.values()), abs=1e-12
    )


def test_what_is_left_is_the_work_of_the_log():
    """What rigid jobs did that counts is their runtime times their cores, whatever became of it."""
    todo = {34: Requeue(0), 50: Suspend(1), 60: Requeue(2)}
    rows = ((0, 2, 100), (0, 1, 80), (0, 1, 70))
    each = {"restartable": True, "checkpoint": 10, "restart_cost": 3}
    workload = jobs(*rows, **{name: [value] * 3 for name, value in each.items()})
    schedule = run(workload, machine((1,), (1,), (1,), (1,)), Does(todo)).schedule
    span = int(schedule.end.max())
    assert goodput(schedule)["goodput"] == (200 + 80 + 70) / (4 * span)


def test_a_suspended_job_loses_nothing_but_its_pause():
    schedule = schedule_of({34: Suspend(0)}, (0, 2, 100))
    assert goodput(schedule)["restarts"] == {
        "jobs": 1,
        "starts_cut_short": 1,
        "lost_share": 6 / 206,
    }


def test_nothing_ran():
    schedule = run(jobs((3, 9, 1)), machine((1,)), "fifo").schedule
    assert goodput(schedule) == {
        "goodput": None,
        "lost": None,
        "restarts": {"jobs": 0, "starts_cut_short": 0, "lost_share": 0.0},
    }
