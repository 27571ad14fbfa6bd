"""Slowdowns of jobs that were resized or cut short go by the runtime of the log."""

import numpy as np
import pytest
from scripted import Does
from tiny import jobs, machine, run

from cpsched.dispatch.rules import Fifo
from cpsched.metrics.definitions import ALL
from cpsched.metrics.nominal import nominal
from cpsched.metrics.summary import summarize
from cpsched.model.allocation import Allocation
from cpsched.model.decision import Decision, Kill, Requeue, Start
from cpsched.study import save_run
from cpsched.study.results import collect
from cpsched.util.types import JobType


class OnOne(Fifo):
    """Starts every job on the first free node, with one unit."""

    def decide(self, view):
        free = np.flatnonzero(view.free[:, 0]).tolist()
        ones = np.ones(1, dtype=np.int64)
        waiting = view.waiting.handle.tolist()
        return Decision(
            [
                Start(handle, Allocation(np.array([node]), ones, ones[:, None]))
                for handle, node in zip(waiting, free, strict=False)
            ]
        )


def test_a_job_on_few_units_is_slow():
    """100 s on four units take 400 on one: slowdown 4, weighted as the job of four cores it is."""
    columns = {"job_type": [JobType.MOLDABLE], "units_min": [1], "units_max": [4]}
    result = run(jobs((0, 4, 100), **columns), machine((1,), (1,), (1,), (1,)), OnOne())
    assert result.schedule.end.tolist() == [400]
    assert nominal(result.schedule).width.tolist() == [4]
    summary = summarize(result.schedule)
    assert summary["slowdown"]["all"]["mean"] == 4
    assert summary["bounded_slowdown"]["all"]["mean"] == 4
    assert summary["response_by_area_s"] == 400
    assert summary["wait_s"]["all"]["mean"] == 0


@pytest.mark.parametrize(("overrun", "runtime", "end"), [("kill", 40, 70), ("extend", 50, 80)])
def test_a_start_cut_short_is_no_runtime(overrun, runtime, end):
    """
    Cut at 20 without a checkpoint, 10 s to start again. It asks for 40 s and is killed there, or
    runs its 50.
    """
    workload = jobs((0, 1, 50, 40), restartable=[True], restart_cost=[10])
    result = run(workload, machine((1,)), Does({20: Requeue(0)}), overrun=overrun)
    assert result.schedule.end.tolist() == [end]
    assert nominal(result.schedule).runtime.tolist() == [runtime]
    assert summarize(result.schedule)["slowdown"]["all"]["mean"] == end / runtime


def test_jobs_that_ran_through_have_the_runtime_of_the_simulation():
    """Also under a runtime model."""
    workload = jobs((0, 1, 50, 40), (0, 1, 30))
    schedule = run(workload, machine((2,)), "fifo").schedule
    assert nominal(schedule).runtime.tolist() == [40, 30]


def test_killed_jobs_are_counted_and_not_measured():
    """A is killed after 5 s of 100; B waits 5 s for its 10."""
    result = run(jobs((0, 1, 100), (0, 1, 10)), machine((1,)), Does({5: Kill(0)}))
    summary = summarize(result.schedule)
    assert (summary["counts"]["killed"], summary["counts"]["completed"]) == (1, 1)
    for measure in ("wait_s", "turnaround_s", "slowdown"):
        assert summary[measure]["all"]["jobs"] == 1
    assert summary["slowdown"]["all"]["mean"] == 1.5
    assert summary["throughput_jobs_per_hour"] == 3600 / 15


def test_tables_of_studies_have_the_same_slowdowns(tmp_path):
    """They read the folders of runs."""
    workload = jobs((0, 1, 50, 60), (0, 1, 30), restartable=[True, True], restart_cost=[10, 10])
    in_memory = run(workload, machine((1,)), Does({20: Requeue(0)}))
    save_run(in_memory, tmp_path / "runs" / "one")
    (result,) = collect(tmp_path / "runs").runs
    summary = summarize(in_memory.schedule)
    for measure in ("slowdown", "bounded_slowdown"):
        assert result.days[ALL, f"{measure}_mean"].mean == summary[measure]["all"]["mean"]
    assert result.days[ALL, "response_by_area_s"].mean == summary["response_by_area_s"]
    assert result.values["killed"] == 0
