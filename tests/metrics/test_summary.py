"""The summary: every number of the schedule worked out by hand, and plain JSON throughout."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from tiny import jobs, machine, machines, run, workloads

from cpsched import logs, systems
from cpsched.metrics.rejections import reason_kind, rejections
from cpsched.metrics.summary import statistics, summarize
from cpsched.util.types import MISSING

NOTHING = dict.fromkeys(("mean", "median", "p95", "p99", "p99.9", "max"))


def test_counts_come_first_and_add_up(schedule):
    summary = summarize(schedule)
    assert next(iter(summary)) == "counts"
    assert summary["counts"] == {
        "in_log": 13,
        "set_aside": {"bad line": 1, "never ran": 2},
        "rejected": 1,
        "rejected_because": {
            "needs N tasks of N core, all N eligible nodes hold at most N": 1,
        },
        "simulated": 9,
        "completed": 7,
        "timeout": 1,
        "killed": 0,
        "cancelled": 1,
        "never_started": 0,
        "never_started_because": {},
        "not_ended": 0,
        "attempts": 0,
        "requested_time_assumed": 0,
    }


def test_measures_by_hand(schedule):
    """Waits: plain, even, exclusive and gpu 0, killed 2, empty 2, after 7, later 9."""
    summary = summarize(schedule)
    assert summary["overrun"] == "kill"
    assert summary["window_s"] == [0, 15]
    assert summary["makespan_s"] == 15
    assert summary["wait_s"]["all"]["jobs"] == 8
    assert summary["wait_s"]["all"]["mean"] == 20 / 8
    assert summary["wait_s"]["all"]["median"] == 1.0
    assert summary["wait_s"]["all"]["max"] == 9
    # Runtimes 10 5 8 6 5 0 5 1 on top of the waits.
    assert summary["turnaround_s"]["all"]["mean"] == (20 + 40) / 8
    # 1 four times, (2 + 5) / 5, runtime 0 as 1 second: 3, (7 + 5) / 5, (9 + 1) / 1.
    assert summary["slowdown"]["all"]["mean"] == pytest.approx((4 + 1.4 + 3 + 2.4 + 10) / 8)
    # All 1 but "after": (7 + 5) / 10; later is (9 + 1) / 10.
    assert summary["bounded_slowdown"]["all"]["mean"] == pytest.approx((7 + 1.2) / 8)
    assert summary["never_waited"] == 0.5
    # Widths 2 4 4 2 1 1 4 1 (sum 19), responses 10 5 8 6 7 2 12 10.
    # Areas 20 20 32 12 5 0 20 1 (sum 110).
    assert summary["response_by_area_s"] == (200 + 100 + 256 + 72 + 35 + 0 + 240 + 10) / 110
    # Core seconds: plain 20, even 20, exclusive 4 x 8, gpu 12, killed 5, after 20, later 1, of 24
    # cores for 15 s. GPUs: 6 of 4 x 15. Eight jobs ended.
    assert summary["utilization"] == {"core": 110 / 360, "gpu": 6 / 60}
    assert summary["throughput_jobs_per_hour"] == 8 * 3600 / 15
    # Somebody who may start waits in [1, 9). Cores used there: 12 12 13 13 13 9 7 6, so idle are
    # 12 12 11 11 11 15 17 18. GPUs: 4 x 8 - 6.
    assert summary["loss_of_capacity"] == {"core": 107 / 360, "gpu": 26 / 60}
    # Ten jobs have no steady part, and no user is known.
    assert summary["steady_window_s"] is None
    assert summary["steady_utilization"] == {"core": None, "gpu": None}
    assert summary["wait_by_user_s"]["users"] == 0


def test_waits_by_size_by_hand(schedule):
    """Serial are killed 2, empty 2 and later 9; large are even, exclusive and gpu 0 and after 7."""
    waits = summarize(schedule)["wait_by_size_s"]
    assert {
        name: (waits_of["jobs"], waits_of["mean"], waits_of["max"])
        for name, waits_of in waits.items()
    } == {
        "serial": (3, 13 / 3, 9),
        "small": (0, None, None),
        "midsize": (1, 0, 0),
        "large": (4, 7 / 4, 7),
        "huge": (0, None, None),
    }


def test_queue_by_hand(schedule):
    """At the 15 seconds wait 0 1 3 4 3 3 3 3 3 2 1 1 0 0 0: in order 0000 111 2 333333 4."""
    expected = {"mean": 27 / 15, "median": 2, "p95": 4, "p99": 4, "max": 4}
    assert summarize(schedule)["queue_jobs"] == expected


def test_classes_are_by_the_runtime_simulated():
    """The log says 13 h, but the job is cut after 2: a medium one."""
    workload = jobs((0, 1, 13 * 3600, 2 * 3600), (0, 1, 60), (1, 1, 13 * 3600))
    waits = summarize(run(workload, machine((1,)), "fifo").schedule)["wait_s"]
    assert {name: waits[name]["jobs"] for name in ("short", "medium", "long")} == {
        "short": 1,
        "medium": 1,
        "long": 1,
    }
    assert waits["short"]["mean"] == 7200
    assert waits["long"]["max"] == 7259


def test_recorded_waits_are_those_the_log_knows(schedule):
    """Plain was submitted at 0 and started at 4, even at 1 and 7."""
    assert summarize(schedule)["recorded_wait_s"] == {"jobs": 2, "mean": 5.0, "note": None}
    unknown = np.full(len(schedule.workload), MISSING)
    workload = schedule.workload.with_columns(recorded_start=unknown)
    assert summarize(replace(schedule, workload=workload))["recorded_wait_s"] == {
        "jobs": 0,
        "mean": None,
        "note": "the log records no starts. Assumed 0 where they are needed",
    }


def test_recorded_use_above_the_whole_machine_is_told():
    """One core; by the log's starts one job holds it from 0, a second from 5 on, until 10."""
    log = jobs((0, 1, 10), (0, 1, 10), (0, 1, 10))
    log = log.with_columns(recorded_start=np.array([0, 5, 10]))
    recorded_use = summarize(run(log, machine((1,)), "fifo").schedule)["recorded_use"]
    assert recorded_use == {"mean": 1.5, "peak": 2.0, "over": 0.5}
    none = log.with_columns(recorded_start=np.array([7, MISSING, MISSING]))
    assert summarize(run(none, machine((1,)), "fifo").schedule)["recorded_use"] is None


def test_no_jobs_have_a_summary_without_numbers():
    for schedule in (
        run(jobs(), machine((1,)), "fifo").schedule,
        run(jobs((0, 9, 5)), machine((1,)), "fifo").schedule,
    ):
        summary = summarize(schedule)
        assert summary["wait_s"]["all"] == {"jobs": 0, **NOTHING}
        assert set(summary["queue_jobs"].values()) == {None}
        assert summary["makespan_s"] is None
        assert summary["never_waited"] is None
        assert summary["response_by_area_s"] is None
        json.dumps(summary, allow_nan=False)


def test_statistics_by_hand():
    """Quantiles interpolate: of 0..10 the 95 % one is 9.5."""
    measures = statistics(np.arange(11))
    assert measures["jobs"] == 11
    assert measures["mean"] == measures["median"] == 5
    assert measures["p95"] == pytest.approx(9.5)
    assert measures["max"] == 10
    assert statistics(np.array([7]))["p99.9"] == 7


def test_reasons_differ_by_more_than_numbers_and_users():
    assert reason_kind("needs 17 tasks of 2.5 core") == "needs N tasks of N core"
    first, second = (f"user {name} is not allowed in queue R" for name in (r"'a\'b'", '"it\'s"'))
    assert reason_kind(first) == reason_kind(second) == "a user is not allowed in queue R"
    assert reason_kind("depends on job a.7, which can never run").endswith(
        "job N, which can never run"
    )
    # Names that tell what is missing are kept.
    for reason in ("no node has the feature 'gpu80'", "requested time in queue q1"):
        assert reason_kind(reason) == reason


def test_rejections_are_told_with_their_share_of_the_work(schedule):
    """One job of the eight, and its share of cores times runtime."""
    (rejection,) = rejections(schedule.workload, schedule.rejected)
    (row,) = schedule.rejected
    workload = schedule.workload
    cores = workload.units * workload.request[:, workload.resources.index("core")]
    time = (cores * workload.runtime).tolist()
    assert rejection.jobs == 1
    assert rejection.job_id == str(workload.job_id[row])
    assert rejection.share_of_core_time == pytest.approx(time[row] / sum(time))
    assert "N" not in rejection.reason
    assert "system file" in rejection.remedy


@given(workloads(), machines())
def test_a_summary_is_plain_json(workload, system):
    """Equal runs give equal text; the queue's mean is the sum of waits over the window."""
    schedule = run(workload, system, "easy:backfill=sjf").schedule
    summary = summarize(schedule)
    text = json.dumps(summary, allow_nan=False)
    assert text == json.dumps(summarize(schedule), allow_nan=False)
    assert json.loads(text) == summary
    counts = summary["counts"]
    assert counts["in_log"] == counts["rejected"] + counts["simulated"] == len(workload)
    if summary["makespan_s"]:
        waits = summary["wait_s"]["all"]["mean"] * summary["wait_s"]["all"]["jobs"]
        assert summary["queue_jobs"]["mean"] * summary["makespan_s"] == pytest.approx(waits)


@pytest.mark.shared
def test_real_log_has_the_published_recorded_wait(shared):
    """The Eurora excerpt: mean recorded wait 5888 s over 5930 jobs."""
    workload = logs.read(shared / "traces" / "eurora-2014.swf.gz")
    summary = summarize(run(workload, systems.load("eurora"), "fifo").schedule)
    assert summary["recorded_wait_s"]["jobs"] == 5930
    assert round(summary["recorded_wait_s"]["mean"]) == 5888


def test_jobs_of_the_steady_window_are_measured_by_themselves():
    """A hundred jobs one after the other; the last wait longest."""
    log = jobs(*((at, 1, 3) for at in range(100)))
    schedule = run(log, machine((1,)), "fifo").schedule
    summary = summarize(schedule)
    start, end = summary["steady_window_s"]
    own = [schedule.start[at] - at for at in range(100) if start <= at < end]
    assert summary["wait_s"]["steady"]["jobs"] == len(own) == 90
    assert summary["wait_s"]["steady"]["mean"] == sum(own) / len(own)
    few = run(log.take(np.arange(50)), machine((1,)), "fifo").schedule
    assert "steady" not in summarize(few)["wait_s"]
