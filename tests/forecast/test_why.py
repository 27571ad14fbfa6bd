"""Why jobs wait, worked out by hand; and never in contradiction to the simulation itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import CLASSES, jobs, machine, machines, run, workloads

from cpsched.dispatch.contract import Dispatcher, WaitReason
from cpsched.errors import ConfigError
from cpsched.forecast import why_in_log
from cpsched.forecast.explanation import JobState
from cpsched.forecast.why_text import text
from cpsched.model.decision import Decision, PlannedStarts
from cpsched.model.prediction import Prediction, RuntimePredictor
from cpsched.simulation.simulate import Settings
from cpsched.systems.mapping import fit
from cpsched.util.spec import build
from cpsched.util.types import MISSING, DependencyType


def ask(workload, system, job, time, dispatcher="easy", **more):
    """Explain one job of a workload that is not mapped yet."""
    return why_in_log(
        fit(workload, system), job=str(job), time=time, dispatcher=dispatcher,
        settings=Settings(**more),
    )  # fmt: skip


def ids(others):
    """Return the ids of other jobs of an explanation."""
    return [other.job_id for other in others]


class Foretold(RuntimePredictor):
    """Plans with 10, 4 and 5 seconds; 14, 4 and 12 are hardly exceeded."""

    name = "foretold"

    def predict(self, jobs, now):
        plan, bound = np.array([(10, 14), (4, 4), (5, 12)], dtype=np.int64)[jobs.handle].T
        return Prediction(plan, plan, bound)


@pytest.fixture
def foretold(monkeypatch):
    """Whatever predictor is asked for, this one answers."""
    monkeypatch.setattr(
        "cpsched.simulation.simulate.build",
        lambda group, spec, **more: (
            Foretold() if group == "predictors" else build(group, spec, **more)
        ),
    )


@pytest.mark.usefixtures("foretold")
@pytest.mark.parametrize(
    ("dispatcher", "could_start"),
    [("easy-wsept", 20), ("easy:order=wsept,estimate=upper", 14), ("lookahead", 10)],
)
def test_rules_and_plans_reserve_as_they_decide(dispatcher, could_start):
    """
    A holds all cores: B waits without a look at anything else.

    A plan of the whole queue is made of predictions, and EASY by WSEPT reserves by requests.
    """
    workload = fit(jobs((0, 4, 10, 20), (1, 4, 4, 20), job_id=list("AB")), machine((4,)))
    explanation = why_in_log(workload, job="B", time=1, dispatcher=dispatcher)
    assert explanation.waiting.could_start == could_start


@pytest.mark.usefixtures("foretold")
@pytest.mark.parametrize("dispatcher", ["easy:estimate=upper", "conservative:estimate=upper"])
def test_reservations_by_bounds(dispatcher):
    """
    By its bound C may run until 3 + 12 = 15, and B is promised 14, by the bound of A.

    ::

        4 |              BBBB
        3 |   CCCCC......BBBB
        2 |AAAAAAAAAA....BBBB
        1 |AAAAAAAAAA....BBBB
          +------------------
           0  3    8 10  14
    """
    workload = jobs((0, 2, 10, 20), (1, 4, 4, 20), (3, 1, 10, 20), job_id=list("ABC"))
    explanation = ask(workload, machine((4,)), "C", 3, dispatcher)
    assert explanation.waiting.reason is WaitReason.RESERVATION
    ahead = explanation.waiting.ahead
    assert (ahead.job_id, ahead.start, ahead.rank) == ("B", 14, 1)
    assert "it is expected to run until 15 s and would delay job B" in explanation.summary
    head = ask(workload, machine((4,)), "B", 3, dispatcher)
    assert [(job.job_id, job.end) for job in head.waiting.waits_for] == [("A", 14)]


def test_easy_keeps_the_heads_reservation():
    """
    D fits at 4 and would end at 12, past the 10 at which B is promised all four cores.

    ::

        4 |   ...... BBBB
        3 |   CCCCCC.BBBB
        2 |AAAAAAAAAABBBBD...
        1 |AAAAAAAAAABBBBD...
          +-------------------
           0  3     9 10  14
    """
    workload = jobs((0, 2, 10), (1, 4, 4), (3, 1, 6), (4, 1, 8), job_id=list("ABCD"))
    four = machine((4,))
    explanation = ask(workload, four, "D", 4)
    assert (explanation.state, explanation.decided, explanation.rank, explanation.queue_length) == (
        JobState.WAITING,
        4,
        2,
        2,
    )
    assert explanation.waiting.reason is WaitReason.RESERVATION
    ahead = explanation.waiting.ahead
    assert (ahead.job_id, ahead.start, ahead.end, ahead.nodes) == ("B", 10, 14, "n0")
    assert explanation.waiting.room.fits
    assert explanation.summary == (
        "job D does not start at 4 s: it would fit, but it is expected to run until 12 s and would"
        " delay job B (4 tasks, number 1 in the queue), planned for 10 s"
    )
    head = ask(workload, four, "B", 4)
    assert head.waiting.reason is WaitReason.NO_ROOM
    assert (head.waiting.planned, head.waiting.planned_nodes) == (10, "n0")
    assert (ids(head.waiting.waits_for), head.waiting.could_start) == (["C", "A"], 10)
    backfilled = ask(workload, four, "C", 3)
    assert backfilled.state is JobState.STARTS
    assert "planned for second 10. This one is expected to end by then, at 9" in backfilled.reason
    assert ask(workload, four, "A", 0).reason == "it is first in the queue, and it fits"
    # Nothing is decided between 4 and 9, so at 8 the answer is that of 4.
    assert ask(workload, four, "D", 8).summary == explanation.summary
    assert max(map(len, text(explanation, width=60).splitlines())) <= 60


def test_a_gpu_is_short():
    """
    n0 and n1 have two cores, n2 and n3 besides a GPU each; A holds one of the two GPUs until 20.

    B wants two units of a core and a GPU: there is one. A's end brings the other; C, which holds
    a core of n0 until 10, is in nobody's way.
    """
    system = machine((2, 0), (2, 0), (2, 1), (2, 1), resources=("core", "gpu"))
    workload = jobs(
        (0, 1, 20), (0, 1, 10), (1, 2, 5),
        request=[[1, 1], [1, 0], [1, 1]], resources=("core", "gpu"), job_id=list("ACB"),
    )  # fmt: skip
    explanation = ask(workload, system, "B", 5, "greedy")
    capacity = explanation.waiting.room
    assert explanation.waiting.reason is WaitReason.NO_ROOM
    assert capacity.obstacle == "it needs 2 GPUs, and 1 GPU is free"
    assert (capacity.units, capacity.short) == (1, 1)
    assert [(place.nodes, place.units) for place in capacity.places] == [("n3", 1)]
    core, gpu = capacity.resources
    assert (core.demand, core.free, core.capacity, core.units) == (2, 6, 8, 2)
    assert (gpu.demand, gpu.free, gpu.capacity, gpu.units) == (2, 1, 2, 1)
    assert (ids(explanation.waiting.waits_for), explanation.waiting.could_start) == (["A"], 20)
    shown = text(explanation)
    assert "gpu 2 1 1 2 1" in " ".join(shown.split())
    assert "fits now    1 of 2 tasks (1 short): 1 task on n3" in shown
    assert "waits for   job A (1 task), from 0 s to 20 s as expected, on n2" in shown


def test_others_start_instead():
    """At 10 both B and C fit alone; B is older and takes all."""
    workload = jobs((0, 4, 10), (1, 4, 4), (2, 1, 3), job_id=list("ABC"))
    explanation = ask(workload, machine((4,)), "C", 10, "greedy:order=fifo")
    assert explanation.waiting.reason is WaitReason.OTHERS_START
    (before,) = explanation.waiting.before
    assert (before.job_id, before.rank, before.start, before.end) == ("B", 1, 10, 14)
    assert (ids(explanation.waiting.waits_for), explanation.waiting.could_start) == (["B"], 14)
    assert explanation.summary.endswith("it would fit, but 1 job that starts now goes before it")


@pytest.mark.parametrize(
    ("rows", "job", "time", "dispatcher", "reason", "words"),
    [
        # FIFO stops at 1, which needs four cores; 2 would fit into the two that are free.
        ([(0, 2, 10), (1, 4, 4), (2, 1, 3)], 2, 2, "fifo", WaitReason.ORDER,
         "job 1 (4 tasks, number 1 in the queue) is ahead of it, does not fit, and may not be"),
        # CPH plans the first only; 3, third, would fit and is not looked at.
        ([(0, 2, 10), (1, 4, 4), (2, 2, 50), (3, 1, 60)], 3, 3, "cph-2:window=1",
         WaitReason.NOT_CONSIDERED,
         "it is number 3 in the queue, and cph-2:window=1 does not consider it"),
        # The second job fits and is not looked at, although nobody is in its way.
        ([(0, 1, 10)] * 2, 1, 0, "ipsched:window=1", WaitReason.NOT_CONSIDERED, "number 2 in the"),
        ([(0, 1, 10)] * 2, 1, 0, "aucsched1:window=1", WaitReason.NOT_CONSIDERED, "number 2 in"),
        # One bid in all is that of 0.
        ([(0, 1, 10)] * 2, 1, 0, "aucsched2:bids=1", WaitReason.NOT_SELECTED,
         "aucsched2:bids=1 selected a set of jobs without it"),
        # The second half of the window is 3, which fits: it is planned behind 1, not unseen.
        ([(0, 2, 10), (1, 4, 4), (1, 4, 4), (2, 2, 50)], 3, 2, "cph-2:window=2",
         WaitReason.RESERVATION, "would delay job 1"),
        # Nobody starts on an empty machine, and that is no fault of the jobs ahead.
        ([(0, 1 + job % 4, 10 + job) for job in range(12)], 7, 0, "ipsched:limit=1e-9",
         WaitReason.UNDECIDED, "reached its limit without an answer and starts nothing (next attempt"),
    ],
)  # fmt: skip
def test_what_dispatchers_say_of_a_job_that_would_fit(rows, job, time, dispatcher, reason, words):
    explanation = ask(jobs(*rows), machine((4,)), job, time, dispatcher)
    assert explanation.waiting.reason is reason
    assert words in explanation.summary


def test_conservative_names_the_reservation_that_is_not_the_heads():
    """
    B is planned for 10 to 14 on one core of four, C behind it for 14 on all; D may delay neither.

    A (4 cores until 10) runs, B takes one core for 4 s, C all for 4 s. D wants one core for 5 s:
    it fits beside B at 10, and would run until 15, into C's reservation.
    """
    workload = jobs((0, 4, 10), (1, 1, 4), (2, 4, 4), (3, 1, 5), job_id=list("ABCD"))
    explanation = ask(workload, machine((4,)), "D", 10, "conservative")
    assert (explanation.waiting.reason, explanation.waiting.ahead.job_id) == (
        WaitReason.RESERVATION,
        "C",
    )
    assert explanation.waiting.ahead.start == 14
    assert explanation.waiting.planned == 18


def test_every_state():
    """A ends at 10, B starts there and runs until 14, C is held until 20, D never fits."""
    workload = jobs(
        (0, 4, 10), (1, 4, 4), (2, 1, 3), (3, 9, 3),
        job_id=list("ABCD"), begin=[-1, -1, 20, -1],
    )  # fmt: skip
    four = machine((4,))
    ended = ask(workload, four, "A", 12)
    assert (ended.state, ended.start, ended.end) == (JobState.ENDED, 0, 10)
    assert ended.summary == "job A ran from 0 s to 10 s"
    assert [(place.nodes, place.units) for place in ended.places] == [("n0", 4)]
    running = ask(workload, four, "B", 13)
    assert (running.state, running.start, running.end) == (JobState.STARTS, 10, 14)
    held = ask(workload, four, "C", 13)
    assert (held.state, held.reason) == (JobState.HELD, "it may not start before 20 s")
    assert ask(workload, four, "C", 25).state is JobState.ENDED
    rejected = ask(workload, four, "D", 13)
    assert rejected.state is JobState.REJECTED
    assert rejected.summary.startswith("job D can never run on this system: needs 9 tasks")


def test_running_since_an_earlier_decision():
    """B is submitted at 3 and so decided there: A's start is history."""
    explanation = ask(jobs((0, 1, 10), (3, 4, 1), job_id=["A", "B"]), machine((4,)), "A", 5)
    assert explanation.state is JobState.RUNNING
    assert explanation.summary == "job A has run since 0 s and is expected to end at 10 s"


def test_held_by_another_job_and_in_a_chain():
    """D waits for C, which waits for B, which waits for its turn; E waits for F, held until 90."""
    workload = jobs((0, 1, 10), (1, 1, 4), job_id=["A", "B"], dependency=[-1, 0])
    explanation = ask(workload, machine((4,)), "B", 5)
    assert explanation.state is JobState.HELD
    assert explanation.reason == "it may not start before job A has ended, which runs"
    names = ["A", "B", "C", "D", "F", "E"]
    workload = jobs(
        (0, 1, 50), *[(1, 1, 4)] * 5, job_id=names, dependency=[-1, -1, 1, 2, -1, 4],
        dependency_type=[0, 0, 0, DependencyType.AFTER, 0, 0], begin=[MISSING] * 4 + [90, MISSING],
    )  # fmt: skip
    assert ask(workload, machine((1,)), "D", 5).reason == (
        "it may not start before job C has started, which may not start before job B has ended,"
        " which waits"
    )
    assert ask(workload, machine((1,)), "E", 5).reason == (
        "it may not start before job F has ended, which may not start before 90 s"
    )


def test_not_asked_since_it_came():
    """On a grid of 10 s a job of second 3 is seen at 10; the decision of 0 is not about it."""
    workload = jobs((0, 1, 30), (3, 1, 4), (12, 4, 1), job_id=["A", "B", "C"])
    explanation = ask(workload, machine((4,)), "B", 7, dispatch_interval=10)
    assert (explanation.state, explanation.waiting, explanation.next_decision) == (
        JobState.WAITING,
        None,
        10,
    )
    assert explanation.summary == (
        "job B does not start at 0 s: the dispatcher has not been called since the job was"
        " submitted (next: 10 s at the earliest)"
    )


def test_events_without_a_decision_behind_the_last_one():
    """
    A ends at 3, and no job is waiting then: the dispatcher is not asked.

    The last decision by 5 is that of 1, although 3 lay before it when it was made.
    """
    explanation = ask(jobs((0, 1, 3), (1, 1, 9)), machine((4,)), 1, 5, "fifo")
    assert (explanation.decided, explanation.state, explanation.queue_length) == (
        1,
        JobState.RUNNING,
        1,
    )


def test_the_plan_of_a_dispatcher_of_ones_own():
    """A dispatcher that only decides is explained by the plan in its decision."""

    class Talker(Dispatcher):
        name = "talker"

        def decide(self, view):
            handle = int(view.waiting.handle[0])
            where = {handle: np.array([0])}
            return Decision(planned_starts=PlannedStarts((handle,), (7,), where))

    fitted = fit(jobs((0, 1, 3), job_id=["A"]), machine((4,), (4,)))
    explanation = why_in_log(fitted, job="A", time=0, dispatcher=Talker())
    assert (explanation.rank, explanation.waiting.reason) == (None, WaitReason.PLANNED_LATER)
    assert explanation.summary.endswith("it would fit, but talker plans it for 7 s")
    shown = text(explanation).splitlines()
    assert "planned     to start at 7 s, in 7 s on n0" in shown


@pytest.mark.parametrize(
    ("job", "cause", "sentence"),
    [
        ("B", WaitReason.NOT_SELECTED, "chooser selected a set of jobs without it"),
        ("C", WaitReason.NOT_CONSIDERED, "chooser does not consider it"),
    ],
)
def test_a_dispatcher_of_ones_own_says_whom_it_looks_at(job, cause, sentence):
    """It chooses among A and B, and C comes later; all would fit."""

    class Chooser(Dispatcher):
        name = "chooser"
        selects_sets = True

        def decide(self, view):
            return Decision()

        def considered(self, view):
            return view.waiting.rows[:2]

    workload = jobs((0, 1, 10), (0, 1, 10), (0, 1, 10), job_id=list("ABC"))
    explanation = why_in_log(fit(workload, machine((4,))), job=job, time=0, dispatcher=Chooser())
    assert explanation.waiting.reason is cause
    assert sentence in explanation.summary


def test_slurms_window_is_one_of_time():
    """C fits beside A and waits behind B for the backfill pass at 30 s."""
    workload = jobs((0, 2, 100), (1, 4, 10), (2, 1, 10), job_id=list("ABC"))
    explanation = ask(workload, machine((1,), (1,), (1,), (1,)), "C", 2, "slurm-backfill:window=1")
    assert (explanation.waiting.reason, explanation.waiting.asked_again) == (WaitReason.ORDER, 30)
    assert explanation.summary.endswith("does not fit, and may not be overtaken before 30 s")


def test_several_jobs_of_one_id():
    """The one submitted last by then is meant, and the text says so."""
    workload = jobs((0, 1, 3), (5, 1, 3), (9, 1, 3), job_id=["A", "A", "A"])
    explanation = ask(workload, machine((4,)), "A", 6)
    assert (explanation.job.submit, explanation.same_id) == (5, 3)
    assert "last submitted of 3 jobs with this id" in text(explanation)


def test_ids_that_are_not_there_and_times_too_early():
    workload = jobs((0, 1, 3), (5, 1, 3), job_id=["1001", "1002"])
    with pytest.raises(
        ConfigError, match=r"none of the 2 jobs read has the id 1003\. Near it: 1001|2"
    ):
        ask(workload, machine((4,)), "1003", 6)
    with pytest.raises(ConfigError, match="job 1002 is not submitted until second 5"):
        ask(workload, machine((4,)), "1002", 4)
    tasks = jobs((0, 1, 3), (0, 1, 3), job_id=["5_1", "5_2"], array=["5", "5"])
    with pytest.raises(ConfigError, match=r"5 is an array of 2 tasks.*: 5_1, 5_2$"):
        ask(tasks, machine((4,)), "5", 6)


def test_hostile_names_are_escaped():
    """Control characters of a log do not reach a terminal."""
    evil = "\x1b[2Jx\nrm"
    workload = jobs((0, 4, 3), (0, 4, 3), job_id=[evil, "B"], user=["\x1b[31m", "b"])
    four = machine((4,))
    for explanation in (ask(workload, four, evil, 0), ask(workload, four, "B", 0)):
        shown = text(explanation)
        assert "\x1b" not in shown
        assert "\\x1b[2Jx\\nrm" in shown
    with pytest.raises(ConfigError) as error:
        ask(workload, four, evil + "y", 0)
    assert "\x1b" not in str(error.value)


@pytest.mark.parametrize("name", [*CLASSES, "cph-0", "cph-3"])
@settings(max_examples=4)
@given(
    system=machines(max_nodes=2),
    workload=workloads(),
    time=st.integers(0, 40),
    interval=st.sampled_from([None, None, 7]),
)
def test_explanations_agree_with_the_schedule(name, system, workload, time, interval):
    """What is said of each job is what the whole simulation makes of it."""
    fitted = fit(workload, system)
    if len(fitted.rejected) == len(workload):
        return
    schedule = run(fitted, system, name, dispatch_interval=interval).schedule
    for row in np.flatnonzero(workload.submit <= time).tolist():
        explanation = why_in_log(
            fitted, job=str(workload.job_id[row]), time=time, dispatcher=name,
            settings=Settings(dispatch_interval=interval),
        )  # fmt: skip
        start, end = int(schedule.start[row]), int(schedule.end[row])
        holds = {
            JobState.REJECTED: row in schedule.rejected,
            JobState.STARTS: start == explanation.decided,
            JobState.WAITING: start > time,
            JobState.RUNNING: start <= time < end,
            JobState.ENDED: end <= time,
        }
        assert holds[explanation.state]
        if explanation.waiting is not None:
            assert explanation.waiting.room.fits == (
                explanation.waiting.reason is not WaitReason.NO_ROOM
            )
            assert (
                explanation.waiting.could_start is None
                or explanation.waiting.could_start > explanation.decided
            )
            # EASY and FIFO hold nobody back without a reason that can be named.
            assert explanation.waiting.reason is not WaitReason.PLANNED_LATER or name.startswith(
                ("conserv", "cp-pool")
            )
        assert text(explanation)


def test_how_many_jobs_have_overtaken_it():
    """Job 1 wants all cores; jobs 2 and 3 are backfilled, job 4 comes later and waits."""
    workload = jobs((0, 1, 50), (1, 3, 10), (2, 1, 5), (3, 1, 5), (4, 2, 90))
    explanation = ask(workload, machine([3]), 1, 6)
    assert explanation.overtaken == 2
    assert "overtaken by 2 jobs submitted later" in text(explanation)
    assert explanation.to_dict()["schema"] == "cpsched.explain/1"
    assert ask(workload, machine([3]), 0, 6).overtaken is None
    # One that may not start before second 4 is overtaken by nobody until then.
    held = workload.with_columns(begin=np.array([-1, 4, -1, -1, -1]))
    assert ask(held, machine([3]), 1, 6).overtaken == 0
