"""Jobs that no pass of Slurm looks at, or that can never start: the parameter is the reason."""

import numpy as np
import pytest
from tiny import jobs, machine, run

from cpsched.dispatch.contract import WaitReason
from cpsched.forecast import why_in_log
from cpsched.forecast.why_text import text
from cpsched.model.schedule import JobOutcome
from cpsched.slurm.dispatch import policy_file
from cpsched.slurm.dispatch.dispatcher import Slurm
from cpsched.systems.mapping import fit
from cpsched.util.types import DependencyType
from cpsched.verification import verify

pytestmark = pytest.mark.slow

BASIC = {"PriorityType": "priority/basic"}


def slurm(policy="", **parameters):
    return Slurm(policy_file.parse(policy), **{**BASIC, **parameters})


def queue(**columns):
    """A holds half of eight nodes for an hour; B, C and D need all of them, E one for a minute."""
    return jobs(
        *[(0, 4, 3600), *[(1, 8, 3600)] * 3, (2, 1, 60)], job_id=list("ABCDE"), **columns
    )  # fmt: skip


def why(job, time, dispatcher, workload=None):
    fitted = fit(queue() if workload is None else workload, machine(*[(1,)] * 8))
    return why_in_log(fitted, job=job, time=time, dispatcher=dispatcher)


USERS = {"user": ["ann", "bob", "bob", "bob", "bob"], "queue": ["q"] * 5}


@pytest.mark.parametrize(
    ("dispatcher", "named"),
    [
        ("slurm-backfill:depth=3", "depth=3), and it is number 4"),
        (slurm(bf_max_job_test="3"), "bf_max_job_test=3), and it is number 4"),
        (slurm(bf_max_job_user="2"), "2 jobs of each user (bf_max_job_user=2)"),
        (slurm(bf_max_job_part="1"), "1 job of each partition (bf_max_job_part=1)"),
        (slurm(bf_max_job_user_part="3"), "bf_max_job_user_part=3"),
    ],
)
def test_a_job_beyond_the_depth_of_backfill_waits_for_that_depth(dispatcher, named):
    explanation = why("E", 100, dispatcher, queue(**USERS))
    assert explanation.waiting.reason is WaitReason.NOT_CONSIDERED
    assert named in explanation.summary
    assert explanation.waiting.ahead.job_id == "B"
    assert "may not be overtaken" not in text(explanation)


@pytest.mark.parametrize(
    "dispatcher", ["slurm-backfill:depth=4", slurm(bf_max_job_test="4"), slurm(bf_max_job_user="4")]
)
def test_a_job_within_the_depth_starts(dispatcher):
    assert why("E", 100, dispatcher, queue(**USERS)).start == 30


def test_a_job_that_waits_for_the_next_pass_is_told_when_that_is():
    """The pass over jobs that are submitted comes three seconds after the one before."""
    explanation = why("B", 1, slurm(), jobs((0, 1, 90), (1, 1, 90), job_id=list("AB")))
    assert "no pass of Slurm has come since it was submitted" in explanation.summary
    assert "at 3 s (batch_sched_delay=3)" in explanation.summary
    # Main passes stop at B, and backfill is due every thirty seconds.
    explanation = why("E", 6, slurm(bf_interval="30"))
    assert explanation.waiting.reason is WaitReason.ORDER
    assert "job B" in explanation.summary
    assert "before 30 s" in explanation.summary


def test_starts_of_a_pass_are_bounded():
    small = jobs(
        (0, 8, 100), *[(1, 1, 500)] * 3, job_id=list("ABCD"),
    )  # fmt: skip
    explanation = why("D", 100, slurm(sched_max_job_start="1", bf_interval="-1"), small)
    assert "at most 1 job (sched_max_job_start=1)" in explanation.summary
    explanation = why("D", 100, slurm(default_queue_depth="1", bf_interval="-1"), small)
    assert "default_queue_depth=1" in explanation.summary or explanation.start == 100


def test_a_job_held_by_a_limit_is_not_said_to_be_in_the_way():
    """B is over a limit, so that the main pass goes on; only C stops it."""
    policy = '[[qos]]\nName = "q"\nMaxWall = "00:30:00"\n'
    workload = queue(qos=[None, "q", None, None, None])
    explanation = why("E", 6, slurm(policy), workload)
    assert explanation.waiting.ahead.job_id == "C"
    assert "job C" in explanation.summary
    own = why("B", 6, slurm(policy), workload)
    assert own.waiting.reason is WaitReason.NEVER
    assert "it can never start: QOSMaxWallDurationPerJobLimit: MaxWall of QOS q is 30 min" in (
        own.summary
    )


# --- jobs that can never start -------------------------------------------------------------------

NEVER = {
    'MaxWall = "00:30:00"': "MaxWall of QOS q is 30 min, and the job asks for 1 h",
    'MaxTRES = "node=2"': "MaxTRES of QOS q is 2 node, and the job asks for 3 node",
    'MaxTRESPerNode = "cpu=0"': "MaxTRESPerNode of QOS q is 0 cpu, and the job asks for 1 cpu on each node",
    'MaxTRESMins = "cpu=60"': "the job asks for 180 cpu minutes",
    'MinTRES = "cpu=4"': "MinTRES of QOS q is 4 cpu, and the job asks for 3 cpu",
    'GrpTRES = "cpu=2"': "GrpTRES of QOS q, 0 cpu of 2 cpu in use, and the job asks for 3 cpu",
    'MaxTRESPU = "cpu=2"': "the job asks for 3 cpu",
    "GrpJobs = 0": "GrpJobs of QOS q, 0 of 0 in use, and the job asks for 1",
    "MaxJobsPU = 0": "the job asks for 1",
}


@pytest.mark.parametrize(("limit", "named"), NEVER.items())
def test_a_job_over_a_limit_is_counted_and_named(limit, named):
    """B can never start, C and D only after it; A and E are not of its kind."""
    policy = slurm(f'[[qos]]\nName = "q"\n{limit}\n')
    workload = jobs(
        *[(0, 1, 60), (0, 3, 3600), (1, 1, 5), (1, 1, 5), (2, 1, 60)],
        job_id=list("ABCDE"), qos=[None, "q", None, None, None], nodes_min=[1, 3, 1, 1, 1],
        dependency=[-1, -1, 1, 2, -1],
    )  # fmt: skip
    result = run(workload, machine(*[(1,)] * 8), policy)
    schedule, counts = result.schedule, result.summary["counts"]
    assert verify(schedule) == []
    assert [row for row, _ in sorted(schedule.never_started.items())] == [1, 2, 3]
    assert named in schedule.never_started[1]
    assert schedule.never_started[2] == "depends on job B, which can never start"
    assert counts["never_started"] == 3
    assert counts["cancelled"] == 0
    assert sum(counts["never_started_because"].values()) == 3
    (at,) = np.flatnonzero(schedule.workload.job_id == "B")
    assert schedule.outcome[at] == JobOutcome.NEVER_STARTED
    early = why("B", 5, slurm(f'[[qos]]\nName = "q"\n{limit}\n'), workload)
    assert named in early.summary
    late = why("C", 10**6, slurm(f'[[qos]]\nName = "q"\n{limit}\n'), workload)
    assert "before job B has ended, which can never start" in late.summary


def test_licences_that_the_site_does_not_have():
    dispatcher = slurm("[licenses]\nlic = 1\n")
    workload = jobs((0, 1, 5), (0, 1, 5), licenses=["lic:2", "lic"], job_id=list("AB"))
    result = run(workload, machine((4,), (4,)), dispatcher)
    assert result.schedule.never_started == {
        0: "Licenses: of licence lic, 0 of 1 in use, and the job asks for 2"
    }


def test_a_job_behind_one_that_can_never_start_runs_in_the_end():
    """assoc_limit_stop: A stops all others of its partition until it has left the queue."""
    policy = '[[qos]]\nName = "q"\nGrpTRES = "cpu=2"\n'
    workload = jobs((0, 3, 10), (1, 1, 10), qos=["q", None], job_id=list("AB"))
    result = run(workload, machine(*[(1,)] * 8), slurm(policy, assoc_limit_stop="yes"))
    assert result.schedule.never_started.keys() == {0}
    assert result.schedule.outcome[1] == JobOutcome.COMPLETED
    assert verify(result.schedule) == []


RESERVED = """
[[reservation]]
ReservationName = "course"
StartTime = "1970-01-01T00:01:40Z"
EndTime = "1970-01-01T00:03:20Z"
Nodes = ["n0", "n1"]
Users = "ann"
"""


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ((0, 1, 200), "reservation course lasts 1 min 40 s, and the job asks for 3 min 20 s"),
        ((150, 1, 60), "reservation course ends at 200 s"),
        ((0, 3, 10), "the job needs 3 nodes, and reservation course has 2"),
        ((250, 1, 10), "reservation course ended at 200 s, before it was submitted"),
    ],
)
def test_a_reservation_without_a_place_for_a_job(asked, named):
    workload = jobs(
        asked, (300, 1, 5), reservation=["course", None], nodes_min=[asked[1], 1],
        job_id=list("AB"),
    )  # fmt: skip
    result = run(workload, machine(*[(1,)] * 4), slurm(RESERVED))
    assert named in result.schedule.never_started[0]
    explanation = why_in_log(
        fit(workload, machine(*[(1,)] * 4)), job="A", time=asked[0] + 5, dispatcher=slurm(RESERVED)
    )
    assert named in explanation.summary


def test_a_reservation_that_keeps_a_job_from_its_nodes_is_the_reason():
    """Nodes 0 and 1 are kept from 100 on, and B would run until 150."""
    workload = jobs(
        (0, 2, 500), (5, 2, 145), (5, 1, 50), job_id=list("ABC"),
        reservation=[None, None, "course"],
    )  # fmt: skip
    fitted = fit(workload, machine(*[(1,)] * 4))
    explanation = why_in_log(fitted, job="B", time=10, dispatcher=slurm(RESERVED))
    assert "reservation course has its nodes from 100 s to 200 s" in explanation.summary
    explanation = why_in_log(fitted, job="C", time=10, dispatcher=slurm(RESERVED))
    assert "its reservation course begins at 100 s" in explanation.summary


def test_an_unfulfilled_dependency_is_a_reason_of_its_own():
    workload = jobs(
        (0, 1, 10), (0, 1, 10), job_id=list("AB"), dependency=[-1, 0],
        dependency_type=[0, DependencyType.AFTERNOTOK],
    )  # fmt: skip
    for dispatcher in ("easy", slurm()):
        result = run(workload, machine((4,), (4,)), dispatcher)
        reason = "depends (afternotok) on job A, which did not fail"
        assert result.schedule.never_started == {1: reason}
        explanation = why_in_log(
            fit(workload, machine((4,), (4,))), job="B", time=60, dispatcher=dispatcher
        )
        assert reason in explanation.summary
