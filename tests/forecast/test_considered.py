"""A window, a depth or an unknown time limit that is the reason of a wait is named as such."""

import numpy as np
import pytest
from tiny import jobs, machine

from cpsched.dispatch.contract import Dispatcher, WaitReason
from cpsched.forecast import why_in_log
from cpsched.forecast.explanation import JobState
from cpsched.forecast.why_text import text
from cpsched.model.decision import Decision
from cpsched.systems.mapping import fit
from cpsched.util.types import NO_TIME_LIMIT


def ask(workload, system, job, time, dispatcher="easy"):
    return why_in_log(fit(workload, system), job=job, time=time, dispatcher=dispatcher)


def crowd():
    """A holds six of eight nodes; B to E ask for four of them for longer than F, G for one."""
    return jobs(*[(0, 6, 500), *[(1, 4, 50)] * 4, (2, 1, 600), (2, 1, 600)], job_id=list("ABCDEFG"))


class First(Dispatcher):
    """Considers the first job alone, and says so by its rows."""

    name = "first"

    def decide(self, view):
        del view
        return Decision()

    def considered(self, view):
        return view.waiting.rows[:1]


class WithOwnReason(First):
    """Says why, too."""

    name = "told"

    def not_considered(self, view, decision, row):
        del decision
        return "" if row in view.waiting.rows[:1] else "only the first job is considered (depth=1)"


def test_what_a_dispatcher_considers_comes_before_what_starts():
    workload = jobs((0, 1, 5), (0, 1, 5), job_id=list("AB"))
    answer = ask(workload, machine((4,)), "B", 0, First())
    assert answer.waiting.reason is WaitReason.NOT_CONSIDERED
    assert answer.summary.endswith("it would fit, but first does not consider it")
    explanation = ask(workload, machine((4,)), "B", 0, WithOwnReason())
    assert explanation.waiting.reason is WaitReason.NOT_CONSIDERED
    assert explanation.summary.endswith(
        "it would fit, but told does not consider it: only the first job is considered (depth=1)"
    )
    # The first is considered, and nothing is said of why it does not start.
    assert "depth" not in ask(workload, machine((4,)), "A", 0, WithOwnReason()).summary


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dispatcher", "named"),
    [
        ("cp-nodes:window=2", "window=2"),
        ("cp-pool:window=2,fill=none", "window=2"),
        ("ipsched:window=3", "only the first 3 of 6 waiting jobs are considered (window=3)"),
        ("wla:window=1,backfill=none,interval=none", "window=1"),
    ],
)
def test_a_job_outside_a_window_waits_for_that_window(dispatcher, named):
    explanation = ask(
        crowd(), machine(*[(1,)] * 8), "G", 3 if "ipsched" in dispatcher else 2, dispatcher
    )
    assert explanation.state is JobState.WAITING
    assert explanation.waiting.reason is WaitReason.NOT_CONSIDERED
    assert named in explanation.summary


def test_a_limit_that_is_not_known_is_no_date():
    """A runs without a known limit, and so does B; C would delay B."""
    year = NO_TIME_LIMIT
    workload = jobs(
        (0, 2, 10, year), (1, 4, 4, year), (2, 2, 4, year), (3, 1, 5), job_id=list("ABCD"),
        requested_time=[year, year, year, 5],
    )  # fmt: skip
    for job, time in (("B", 1), ("C", 2), ("A", 0), ("A", 5), ("D", 3)):
        for dispatcher in ("easy", "conservative", "lookahead"):
            explanation = ask(workload, machine((4,)), job, time, dispatcher)
            shown = text(explanation)
            assert "31,536," not in shown, shown
            assert "365 d" not in shown, shown
            assert "364 d" not in shown, shown
            if job != "D":
                assert "no time limit" in shown
    numbers = np.unique(workload.requested_time)
    assert numbers.tolist() == [5, year]
