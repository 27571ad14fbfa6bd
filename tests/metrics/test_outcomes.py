"""What became of jobs and rows, with shares worked out by hand."""

from enum import IntEnum

import numpy as np
import pytest
from scripted import Does
from tiny import jobs, machine, run

from cpsched.metrics import outcomes as module
from cpsched.metrics.outcomes import in_words, is_attempt, outcomes
from cpsched.model.decision import Kill, Requeue, Suspend


def test_every_outcome_has_its_jobs_and_their_core_hours():
    """Of 50, 30 and 20 core seconds: one is cut at 30 s, one completes, one is too wide."""
    log = jobs((0, 1, 50, 30), (0, 1, 30), (0, 10, 2), set_aside=[("bad line", 1)])
    table = outcomes(run(log, machine((2,)), "fifo").schedule)
    assert table == {
        "completed": {"jobs": 1, "of_jobs": 1 / 3, "of_core_hours": 0.3},
        "timeout": {"jobs": 1, "of_jobs": 1 / 3, "of_core_hours": 0.5},
        "rejected": {"jobs": 1, "of_jobs": 1 / 3, "of_core_hours": 0.2},
        "set_aside: bad line": {"jobs": 1, "of_jobs": 0.25, "of_core_hours": None},
    }


def test_jobs_taken_off_their_nodes_are_counted_beside_how_they_ended():
    each = {"restartable": True, "checkpoint": 0, "restart_cost": 0}
    log = jobs(*[(0, 1, 100)] * 4, **{name: [value] * 4 for name, value in each.items()})
    todo = {10: Requeue(0), 20: Suspend(1), 30: Kill(2)}
    table = outcomes(run(log, machine((4,)), Does(todo)).schedule)
    jobs_of = {name: item["jobs"] for name, item in table.items()}
    assert jobs_of == {"completed": 3, "killed": 1, "requeued": 1, "suspended": 1}


def test_an_outcome_that_nobody_has_described_is_shown_by_its_name(monkeypatch):
    class More(IntEnum):
        COMPLETED = 0
        EATEN_BY_BEARS = 1

    log = jobs((0, 1, 50, 30), (0, 1, 30))
    schedule = run(log, machine((2,)), "fifo").schedule
    monkeypatch.setattr(module, "JobOutcome", More)
    assert outcomes(schedule)["eaten_by_bears"]["jobs"] == 1
    assert in_words("eaten_by_bears") == "eaten by bears"


def test_no_jobs_have_no_outcomes():
    assert outcomes(run(jobs(), machine((1,)), "fifo").schedule) == {}


@pytest.mark.parametrize(
    ("ids", "users", "expected"),
    [
        (["7", "7#2", "7#3"], ["ann"] * 3, [False, True, True]),
        (["7", "7#2"], ["ann", "bea"], [False, False]),
        (["8", "7#2"], ["ann"] * 2, [False, False]),
        (["7", "7#x", "7#1"], ["ann"] * 3, [False, False, False]),
        (["7#2", "7#3", "7@2"], ["ann"] * 3, [False, True, False]),
    ],
)
def test_further_attempts_are_rows_of_the_same_job(ids, users, expected):
    rows = [(10 * at, 1, 5) for at in range(len(ids))]
    log = jobs(*rows, job_id=ids, user=users)
    order = [log.job_id.tolist().index(job_id) for job_id in ids]
    assert is_attempt(log)[order].tolist() == expected


def test_shares_of_jobs_that_never_ran_in_the_log_are_unknown():
    log = jobs((0, 1, 0), (0, 1, 0))
    table = outcomes(run(log, machine((1,)), "fifo").schedule)
    assert table == {"completed": {"jobs": 2, "of_jobs": 1.0, "of_core_hours": None}}
    assert np.isfinite(table["completed"]["of_jobs"])
