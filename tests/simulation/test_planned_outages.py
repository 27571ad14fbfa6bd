"""Outages that are known before they begin: jobs that would run into them keep off their nodes."""

from dataclasses import replace

import numpy as np
import pytest
from scripted import Given
from tiny import CLASSES, jobs, machine, run

from cpsched.dispatch.rules import Fifo
from cpsched.engine.cluster import Cluster
from cpsched.engine.encoder import Request
from cpsched.model.schedule import Leaving, Outages
from cpsched.study.reader import load_run
from cpsched.study.writer import save_run
from cpsched.util.types import JobType
from cpsched.verification import verify

ONE = machine((1,))
TWO = machine((1,), (1,))


@pytest.mark.parametrize("dispatcher", ["fifo", "easy", "conservative", "greedy", "slurm-backfill"])
def test_a_job_that_would_run_into_it_waits(dispatcher):
    """
    The node is down in [50, 60). A asks for 51 s, B for 50.

    B overtakes A, even first come, first served only until A can go nowhere now.
    """
    workload = jobs((0, 1, 20, 51), (0, 1, 20, 50))
    schedule = run(workload, ONE, dispatcher, outages=Given((0, 50, 60, 0))).schedule
    assert schedule.start.tolist()[0] == 60
    if dispatcher != "fifo":
        assert schedule.start.tolist()[1] == 0
    assert verify(schedule) == []
    assert not schedule.segments.leaving.any()


def test_it_goes_where_there_is_no_outage():
    """n0 is down soon: A, which is long, goes on n1, and B, which is short, on n0."""
    workload = jobs((0, 1, 90), (0, 1, 40))
    schedule = run(workload, TWO, "easy", outages=Given((0, 50, 60, 0))).schedule
    assert schedule.start.tolist() == [0, 0]
    assert schedule.segments.node.tolist() == [1, 0]
    assert verify(schedule) == []


def test_before_it_is_known_nobody_keeps_off():
    """Known from 5 on: A has started at 0 and is queued again; B of 5 waits for the end."""
    workload = jobs((0, 1, 90), (5, 1, 80))
    schedule = run(workload, TWO, "easy", outages=Given((0, 50, 60, 5), (1, 50, 55, 5))).schedule
    why = schedule.segments.leaving == Leaving.REQUEUED
    assert schedule.segments.end[why].tolist() == [50]
    assert schedule.start.tolist() == [55, 60]
    assert verify(schedule) == []


def test_two_outages_one_after_the_other():
    """n0 at 50 and n1 at 100: of 40 s both will do, of 90 s n1, of 110 s neither."""
    down = Given((0, 50, 60, 0), (1, 100, 120, 0))
    for length, start, node in ((40, 0, 0), (90, 0, 1), (110, 60, 0)):
        schedule = run(jobs((0, 1, length)), TWO, "easy", outages=down).schedule
        assert schedule.start.tolist() == [start]
        assert schedule.segments.node.tolist() == [node]


def test_jobs_come_to_be_too_long_as_it_draws_near():
    """A holds the node to 30; B of 25 s could have started before 25 and now has to wait."""
    workload = jobs((0, 1, 30), (0, 1, 25), (1, 1, 20))
    schedule = run(workload, ONE, "easy", outages=Given((0, 50, 60, 0))).schedule
    assert schedule.start.tolist() == [0, 60, 30]


@pytest.mark.parametrize("dispatcher", CLASSES)
def test_under_every_dispatcher(dispatcher):
    """Random jobs of several kinds, outages of one node and of all: the rule of the verifier."""
    rng = np.random.default_rng(3)
    rows = zip(
        np.sort(rng.integers(0, 200, 40)).tolist(),
        rng.integers(1, 5, 40).tolist(),
        rng.integers(1, 30, 40).tolist(),
        rng.integers(30, 60, 40).tolist(),
        strict=True,
    )
    workload = jobs(*rows, restartable=[True] * 40, exclusive=rng.random(40) < 0.2)
    down = Given((0, 60, 70, 10), *((node, 150, 160, 20) for node in range(3)), (2, 220, 230, 0))
    schedule = run(workload, machine((2,), (2,), (2,)), dispatcher, outages=down).schedule
    assert verify(schedule) == []
    assert (schedule.outcome == 0).all()


def test_the_rule_can_be_broken():
    """The same run, and somebody had known of the outage."""
    workload = jobs((0, 1, 90), (0, 1, 40))
    schedule = run(workload, TWO, "easy", outages=Given((0, 95, 99, 95))).schedule
    assert verify(schedule) == []
    planned = replace(schedule, outages=Outages.of([(0, 89, 99)], [0]))
    assert "planned-outage" in {violation.rule for violation in verify(planned)}
    sizes = workload.with_columns(job_type=np.full(2, JobType.MOLDABLE))
    planned = replace(planned, workload=sizes)
    assert "planned-outage" not in {violation.rule for violation in verify(planned)}


def test_a_view_holds_nothing_of_what_is_not_known():
    """Up to the second in which it is known, runs with and without the outage look alike."""
    seen = []

    class Looks(Fifo):
        def decide(self, view):
            if view.now < 20:
                arrays = (view.eligible, view.waiting.shape, view.waiting.store.shapes, view.free)
                seen[-1].append((view.now, *(array.tolist() for array in arrays)))
            return super().decide(view)

    for outages in ("none", Given((0, 60, 70, 20))):
        seen.append([])
        run(jobs(*((at, 1, 30) for at in range(30))), TWO, Looks(), outages=outages)
    assert seen[0] == seen[1]
    assert seen[0]


def test_a_table_says_since_when_it_is_known(tmp_path):
    path = tmp_path / "down.csv"
    path.write_text("node,from,to,known\nn0,50,60,10\nn1,70,80,\n")
    result = run(jobs((0, 1, 90), (20, 1, 65)), TWO, "easy", outages=f"table:file={path}")
    assert result.schedule.outages.known.tolist() == [10, 70]
    save_run(result, tmp_path / "run")
    read = load_run(tmp_path / "run").schedule
    assert read.outages.known.tolist() == [10, 70]
    assert verify(read) == []


def test_a_live_machine_is_told():
    cluster = Cluster(TWO, "easy")
    cluster.plan_outages(Outages.of([(0, 50, 60)], [0]))
    request = Request(requested_time=90, units=1)
    job = cluster.submit(request, 0)
    (start,) = cluster.decide(0).actions
    assert (start.handle, start.allocation.node.tolist()) == (job, [1])
