"""Limits of a user's own class: what they say of the jobs that they stop."""

import numpy as np
import pytest
from tiny import jobs, machine, run

from cpsched.cp.cp_pool import CpPool
from cpsched.cp.pool import Limit
from cpsched.dispatch.contract import WaitReason
from cpsched.errors import ConfigError
from cpsched.forecast import why_in_log
from cpsched.systems.mapping import fit


class FewJobs(CpPool):
    """Lets each user have a number of running jobs; in order of submits."""

    def __init__(self, most: int = 1, named: bool = False) -> None:
        super().__init__("expected-wait", "expected-wait")
        self.most = most
        self.named = named

    def own_limits(self, view, jobs):
        """Return a limit for each user with waiting jobs."""
        waiting, running = (np.array(table.strings("user")) for table in (jobs, view.running))
        return [
            Limit(
                (waiting == user).astype(np.int64),
                (running == user).astype(np.int64),
                self.most,
                f"jobs of {user}" if self.named else "",
            )
            for user in sorted(set(waiting))
        ]


def why(workload, job, dispatcher):
    """Explain a job at second 2, on a node of 4 cores."""
    return why_in_log(fit(workload, machine((4,))), job=job, time=2, dispatcher=dispatcher)


@pytest.mark.parametrize(("named", "name"), [
    (True, "jobs of ann"), (False, f"limit 1 of {__name__}:FewJobs"),
])  # fmt: skip
def test_a_job_that_an_own_limit_stops_is_explained_by_it(named, name):
    """A runs, B and C of the same user fit and wait, and D of another user starts."""
    workload = jobs(
        (0, 1, 9), (1, 1, 5), (2, 1, 5), (2, 1, 5), job_id=list("ABCD"),
        user=["ann", "ann", "ann", "bob"],
    )  # fmt: skip
    for job in "BC":
        explanation = why(workload, job, FewJobs(named=named))
        assert explanation.waiting.reason is WaitReason.LIMIT
        assert explanation.waiting.room.fits
        assert explanation.waiting.ahead is None
        assert explanation.summary == (
            f"job {job} does not start at 2 s: a limit stops it: {name}: 1 of 1 in use, it asks for 1"
        )
    passed_over = "job B (1 task, number 1 in the queue) before it does not start now"
    assert passed_over in why(workload, "D", FewJobs()).reason


def test_a_limit_is_kept_for_jobs_before_it():
    """B does not fit with A. It is the second of two jobs of ann, and C would delay it."""
    workload = jobs((0, 2, 9), (1, 4, 5), (2, 1, 20), job_id=list("ABC"), user=["ann"] * 3)
    dispatcher = FewJobs(most=2, named=True)
    assert why(workload, "B", dispatcher).waiting.reason is WaitReason.NO_ROOM
    assert why(workload, "C", dispatcher).summary.endswith(
        "a limit stops it: jobs of ann: 2 in use or for jobs before it, it asks for 1"
    )
    assert run(workload, machine((4,)), dispatcher).schedule.start.tolist() == [0, 9, 14]


def test_a_job_may_overtake_those_that_a_limit_stops():
    """The limit stops B at second 1. At second 2 only C, which does not fit, bars others."""
    workload = jobs((0, 2, 9), (1, 1, 5), (2, 4, 5), job_id=list("ABC"), user=["ann", "ann", "bob"])
    barring = []

    class Witness(FewJobs):
        def choose(self, view):
            decision = super().choose(view)
            barring.append((view.now, *self.barring(view, -1).tolist()))
            return decision

    run(workload, machine((4,)), Witness())
    assert (2, 2) in barring
    assert (1,) in barring


class SmallJobs(CpPool):
    """Has a limit on all tasks that is not larger than some jobs."""

    def own_limits(self, view, jobs):
        """Return the limit of 2 tasks."""
        return [Limit(jobs.units, view.running.units, 2)]


def test_a_job_that_alone_exceeds_an_own_limit_ends_the_run():
    """B asks for 3 tasks and could never start."""
    workload = jobs((0, 2, 9), (5, 3, 5), job_id=list("AB"))
    message = (
        f"^limit 1 of {__name__}:SmallJobs: the job submitted at second 5 asks for 3, more than 2,"
        " and would wait forever. Exclude such jobs, or raise the limit.$"
    )
    with pytest.raises(ConfigError, match=message):
        run(workload, machine((4,)), SmallJobs())
