"""The event loop: order of events, overrun, correction, holds, grids, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest
from tiny import jobs, machine, run, started, starts

from cpsched.dispatch.contract import Dispatcher
from cpsched.dispatch.rules import Fifo
from cpsched.errors import ConfigError, DispatchError
from cpsched.model.allocation import Allocation
from cpsched.model.decision import Decision, Kill, Start
from cpsched.model.estimates import Actual, Requested
from cpsched.model.prediction import Prediction, RuntimePredictor
from cpsched.model.schedule import JobOutcome
from cpsched.simulation.observers import Observer
from cpsched.simulation.simulator import Simulator
from cpsched.systems.mapping import fit
from cpsched.util.types import MISSING, DependencyType, Status
from cpsched.verification import verify


@pytest.mark.parametrize(
    ("rows", "dispatcher", "overrun", "start", "end", "outcome"),
    [
        # What A gives back at 5 can be taken by B, which arrives at 5.
        ([(0, 1, 5), (5, 1, 5)], "fifo", "kill", [0, 5], [5, 10], [0, 0]),
        # One dispatch sees all submits of an instant, whatever their order in the log.
        ([(0, 1, 5), (0, 1, 2)], "sjf", "kill", [2, 0], [7, 2], [0, 0]),
        # A job of runtime 0 ends where it starts; the next one starts at that second too.
        ([(3, 1, 0), (3, 1, 4)], "fifo", "kill", [3, 3], [3, 7], [0, 0]),
        # A asks for 4 and would run 9: it is killed, or runs for as long as the log says.
        ([(0, 1, 9, 4), (0, 1, 1)], "fifo", "kill", [0, 4], [4, 5], [JobOutcome.TIMEOUT, 0]),
        ([(0, 1, 9, 4), (0, 1, 1)], "fifo", "extend", [0, 9], [9, 10], [0, 0]),
        # Exactly the requested time is no timeout.
        ([(0, 1, 4, 4)], "fifo", "kill", [0], [4], [0]),
    ],
)
def test_the_order_of_events_and_what_ends_jobs(rows, dispatcher, overrun, start, end, outcome):
    schedule = run(jobs(*rows), machine((1,)), dispatcher, overrun=overrun).schedule
    assert schedule.start.tolist() == start
    assert schedule.end.tolist() == end
    assert schedule.outcome.tolist() == outcome


class ExpectedEnds(Observer):
    """Keeps (now, expected end of the first running job) of every decision."""

    def __init__(self):
        self.seen = []

    def on_decision(self, view, decision, seconds):
        if len(view.running):
            self.seen.append((view.now, int(view.running.expected_end[0])))


@pytest.mark.parametrize(
    ("correction", "expected"),
    [
        # Predicted 5 (a tenth of the truth); asked for 60; ticks at 5, 10, 20, 50.
        ("requested", [(1, 5), (6, 60), (12, 60), (30, 60)]),
        # 5 -> 10 -> 20 -> 40.
        ("double", [(1, 5), (6, 10), (12, 20), (30, 40)]),
    ],
)
def test_expected_end_is_corrected_when_it_has_passed(correction, expected):
    """The end expected of an underestimated job moves when it is looked at."""
    workload = jobs((0, 1, 50, 60), (1, 1, 1), (6, 1, 1), (12, 1, 1), (30, 1, 1))
    ends = ExpectedEnds()
    predictor = Actual(lambda handle: np.where(handle == 0, 5, 1))
    run(
        workload, machine((1,)), "fifo", predictor, observers=[ends], estimate_correction=correction
    )
    assert ends.seen[: len(expected)] == expected
    if correction == "double":
        # 5 -> 10 -> 20 -> 40 at once, where nothing happened in between.
        ends.seen.clear()
        rare = jobs((0, 1, 50, 60), (30, 1, 1))
        run(
            rare, machine((1,)), "fifo", predictor, observers=[ends], estimate_correction=correction
        )
        assert ends.seen == [(30, 40)]


class Wrong(RuntimePredictor):
    """Answers what it was given, whatever that is."""

    name = "wrong"

    def __init__(self, answer, clipped=True):
        self.answer, self.clipped = answer, clipped

    def predict(self, jobs, now):
        answer = np.full(len(jobs), self.answer)
        return Prediction(answer, answer, answer)


class One(Wrong):
    """Answers the same object however many jobs it is asked about."""

    def predict(self, jobs, now):
        return self.answer


POINT = Prediction.point
EACH = "for ranking_estimate, .* each of the 2 jobs"
WHOLE = "for ranking_estimate, must be whole seconds"


@pytest.mark.parametrize(
    ("predictor", "message"),
    [
        (Wrong(float("nan")), f"answers with float64 {WHOLE}"),
        (Wrong(2**62, clipped=False), "answers 4611686018427387904 s, must be from 0 to"),
        (Wrong(-1, clipped=False), "answers -1 s, must be from 0 to"),
        (One(POINT(np.array([5]))), rf"answers with shape \(1,\) {EACH}"),
        (One(POINT(5)), rf"answers with shape \(\) {EACH}"),
        (One(POINT([1.5, 2.0])), f"answers with float64 {WHOLE}"),
        (One(POINT(None)), f"answers with object {WHOLE}"),
        (One(Prediction([1, 2], [1, 2], [1, 2])), f"answers with list {WHOLE}"),
        (One(None), "answers with NoneType, must be a Prediction"),
    ],
)
def test_answers_that_are_no_runtimes_are_refused(predictor, message):
    """Nothing is stretched to jobs it was not given for, rounded, or taken for a number."""
    with pytest.raises(DispatchError, match=f"predictor 'wrong' {message}"):
        run(jobs((0, 1, 5), (0, 1, 5)), machine((1,)), "fifo", predictor)


def test_a_clipped_answer_is_in_range():
    assert run(jobs((0, 1, 5)), machine((1,)), "fifo", Wrong(2**62)).schedule.start.tolist() == [0]


def test_expected_end_is_never_in_the_past():
    """With ``extend`` a job may outlive its request; it is then expected to end next second."""
    ends = ExpectedEnds()
    workload = jobs((0, 1, 50, 10), (20, 1, 1))
    run(workload, machine((1,)), "fifo", observers=[ends], overrun="extend")
    assert ends.seen == [(20, 21)]


def test_dispatch_interval_is_a_grid_from_second_zero():
    """Jobs that arrive at 1 and 10 are looked at on multiples of 10 only."""
    workload = jobs((1, 1, 3), (1, 1, 3), (10, 1, 3))
    assert starts(workload, machine((1,)), "fifo", dispatch_interval=10) == [10, 20, 30]
    with pytest.raises(ConfigError, match="dispatch_interval is 0"):
        starts(workload, machine((1,)), "fifo", dispatch_interval=0)


def test_dependency_and_begin_time_hold_a_job():
    """
    B depends on A (ends at 5); C may not begin before 9. Held jobs block nobody.

    ::

        1 |AAAAABB..CD
          +-----------
           0    5   9
    """
    workload = jobs(
        (0, 1, 5), (0, 1, 2), (0, 1, 1), (9, 1, 1),
        dependency=[-1, 0, -1, -1], begin=[MISSING, MISSING, 9, MISSING],
    )  # fmt: skip
    assert starts(workload, machine((1,)), "fifo") == [0, 5, 9, 10]


@pytest.mark.parametrize(
    ("kind", "status", "start"),
    [
        (DependencyType.AFTERANY, Status.FAILED, 5),
        (DependencyType.AFTEROK, Status.COMPLETED, 5),
        (DependencyType.AFTEROK, Status.UNKNOWN, 5),
        (DependencyType.AFTEROK, Status.FAILED, None),
        (DependencyType.AFTERNOTOK, Status.COMPLETED, None),
        (DependencyType.AFTERNOTOK, Status.FAILED, 5),
        (DependencyType.AFTER, Status.FAILED, 1),
    ],
)
@pytest.mark.parametrize("submit", [0, 8])
def test_dependencies_have_types(kind, status, start, submit):
    """B waits for A, which runs from 1 to 5; where that can never be it never starts."""
    workload = jobs(
        (1, 1, 4), (submit, 1, 2),
        dependency=[-1, 0], dependency_type=[0, kind], status=[status, Status.UNKNOWN],
    )  # fmt: skip
    schedule = run(workload, machine((2,)), "easy").schedule
    at = int(np.flatnonzero(schedule.workload.dependency >= 0)[0])
    if start is None:
        assert schedule.outcome[at] == JobOutcome.NEVER_STARTED
        assert f"depends ({kind.name.lower()}) on job" in schedule.never_started[at]
        assert schedule.end[at] == max(5, submit)
    else:
        assert schedule.start[at] == max(start, submit)
    assert verify(schedule) == []


def test_a_start_before_what_a_job_depends_on_is_found():
    """B, which must not run unless A has completed, ran after A had failed."""
    schedule = run(jobs((0, 1, 4), (8, 1, 2), dependency=[-1, 0]), machine((2,)), "easy").schedule
    wrong = schedule.workload.with_columns(
        dependency_type=np.array([0, int(DependencyType.AFTEROK)]),
        status=np.array([int(Status.FAILED), int(Status.COMPLETED)]),
    )
    (problem,) = verify(replace(schedule, workload=wrong))
    assert "before its dependency is met: afterok" in str(problem)


def test_released_job_takes_its_own_place_in_the_queue():
    """B is held until 5; then it is before C, which was submitted after it."""
    workload = jobs((0, 1, 10), (1, 1, 1), (2, 1, 1), begin=[MISSING, 5, MISSING])
    assert starts(workload, machine((1,)), "fifo") == [0, 10, 11]


def test_cancelled_job_leaves_the_queue():
    """B is cancelled at 3 while it waits; C starts in its stead."""
    fitted = fit(jobs((0, 1, 5), (1, 1, 5), (2, 1, 5)), machine((1,)))
    simulator = Simulator(fitted, Fifo(), Requested())
    simulator.cancel(1, 3)
    simulator.run()
    assert started(simulator.start_time) == [0, None, 5]
    assert simulator.outcome.tolist() == [0, JobOutcome.CANCELLED, 0]
    assert simulator.end_time.tolist() == [5, 3, 10]


@pytest.mark.parametrize("dispatcher", ["easy", "fifo", "sjf"])
def test_a_job_is_cancelled_when_its_log_says_so(dispatcher):
    """B waits for A and is cancelled at 3, D runs from 10 and is killed at 12, E ends before 30."""
    workload = jobs(
        (0, 1, 5), (1, 1, 5), (2, 1, 5), (10, 1, 9), (20, 1, 5), (30, 1, 5),
        cancel=[MISSING, 3, 5, 12, 30, 30],
    )  # fmt: skip
    schedule = run(workload, machine((1,)), dispatcher).schedule
    cancelled, killed = JobOutcome.CANCELLED, JobOutcome.KILLED
    assert started(schedule.start) == [0, None, None, 10, 20, None]
    assert schedule.outcome.tolist() == [0, cancelled, cancelled, killed, 0, cancelled]
    assert schedule.end.tolist() == [5, 3, 5, 12, 25, 30]
    assert verify(schedule) == []


def test_held_jobs_are_cancelled_too():
    """B may begin at 9 and is cancelled at 4; C waits for it and starts then."""
    workload = jobs(
        (0, 1, 2), (1, 1, 5), (1, 1, 5),
        begin=[MISSING, 9, MISSING], dependency=[-1, -1, 1], cancel=[MISSING, 4, MISSING],
    )  # fmt: skip
    assert started(run(workload, machine((1,)), "fifo").schedule.start) == [0, None, 4]


def test_step_by_step_equals_run():
    """Stepping by hand gives what ``run`` gives."""
    workload = jobs((0, 3, 4), (1, 2, 4), (2, 1, 2), (2, 4, 1))
    fitted = fit(workload, machine((4,)))
    simulator = Simulator(fitted, Fifo(), Requested())
    instants = 0
    while simulator.step():
        instants += 1
    assert simulator.start_time.tolist() == starts(workload, machine((4,)), "fifo")
    assert instants == len({0, 1, 2, 4, 6, 8, 9})


def test_run_until_stops_before_the_second():
    """``until`` is exclusive, and the simulation can go on from there."""
    fitted = fit(jobs((0, 1, 5), (0, 1, 5)), machine((1,)))
    simulator = Simulator(fitted, Fifo(), Requested())
    simulator.run(until=5)
    assert started(simulator.start_time) == [0, None]
    simulator.run()
    assert started(simulator.start_time) == [0, 5]


def test_rejected_jobs_never_enter_and_are_kept():
    """A job larger than the machine is recorded as rejected, with its reason."""
    schedule = run(jobs((0, 9, 5), (0, 1, 5)), machine((4,)), "fifo").schedule
    assert schedule.outcome.tolist() == [JobOutcome.REJECTED, JobOutcome.COMPLETED]
    assert started(schedule.start) == [None, 0]
    assert list(schedule.rejected) == [0]


class Scripted(Dispatcher):
    """Answers what it is told to."""

    name = "scripted"

    def __init__(self, answer):
        self._answer = answer

    def decide(self, view):
        return self._answer(view)


def _allocation(node, units, amount=None):
    given = units if amount is None else amount
    return Allocation(
        np.array(node, dtype=np.int64),
        np.array(units, dtype=np.int64),
        np.array(given, dtype=np.int64).reshape(len(node), -1),
    )


@pytest.mark.parametrize(
    ("allocation", "rule", "complaint"),
    [
        (
            _allocation([0, 1], [2, 1]),
            "split",
            "needs equally many tasks on each node, but node n1",
        ),
        (_allocation([0, 2], [2, 1]), "contiguous", "needs consecutive nodes, but node n2"),
        (_allocation([0], [2]), "", "is given 2 tasks, but must have 3"),
        (_allocation([0, 1], [2, 0]), "", "is given 0 tasks on node n1"),
        (_allocation([0], [3]), "", "is given 3 core on node n0, where 2 are free"),
        (
            _allocation([0, 1], [1, 2], [1, 1]),
            "",
            "is given 1 core on node n1, which differs from its request",
        ),
        (_allocation([1, 0], [2, 1]), "", r"is given node 0: nodes must be from 0 to 2"),
        (_allocation([0, 0], [2, 1]), "", "is given node 0: nodes must be"),
        (_allocation([0, 3], [2, 1]), "", "is given node 3: nodes must be"),
        (_allocation([-1, 0], [2, 1]), "", "is given node -1: nodes must be"),
        (_allocation([0, 1, 2], [1, 1, 1]), "", "is given 3 nodes, but may have 1 to 2"),
    ],
)
def test_wrong_allocations_are_refused_with_their_numbers(allocation, rule, complaint):
    """Job, node, resource, demand and free are in the message; nothing is taken."""
    workload = jobs((0, 3, 5), **({rule: [1]} if rule else {"nodes_max": [2]}))
    dispatcher = Scripted(lambda view: Decision([Start(0, allocation)]))
    with pytest.raises(DispatchError, match=f"job 0 {complaint}"):
        run(workload, machine((2,), (2,), (2,)), dispatcher)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([Start(7, _allocation([0], [1]))], "scripted: cannot start job 7: it is not waiting"),
        ([Start(-1, _allocation([0], [1]))], "cannot start job -1: it is not waiting"),
        ([Start(0, _allocation([0], [1]))] * 2, r"cannot start job 17\.pbs: it is not waiting"),
        ([Kill(0)], r"cannot kill job 17\.pbs: the job is not running"),
    ],
)
def test_only_waiting_jobs_start_once_and_only_running_ones_are_killed(actions, message):
    """The message says which job of the log, and which dispatcher."""
    workload = jobs((0, 1, 5), job_id=["17.pbs"])
    with pytest.raises(DispatchError, match=message):
        run(workload, machine((2,)), Scripted(lambda view: Decision(actions)))


def test_a_dispatcher_that_never_starts_anything_is_found_out():
    """Nothing runs and nothing will come: two jobs would wait for ever."""
    dispatcher = Scripted(lambda view: Decision())
    with pytest.raises(DispatchError, match="scripted deadlocked: 2 jobs waiting"):
        run(jobs((0, 1, 5), (1, 1, 5)), machine((2,)), dispatcher)


def test_again_at_wakes_the_dispatcher():
    """A dispatcher that asks for second 8 decides there although nothing happens then."""

    def late(view):
        if view.now < 8:
            return Decision(again_at=8)
        return Decision([Start(0, _allocation([0], [1]))])

    assert starts(jobs((0, 1, 5)), machine((1,)), Scripted(late)) == [8]
    with pytest.raises(DispatchError, match="again_at=0, must be after the current second 0"):
        run(jobs((0, 1, 5)), machine((1,)), Scripted(lambda view: Decision(again_at=0)))


class Asks(Dispatcher):
    """Notes when it is asked, and asks to be woken at given seconds."""

    name = "asks"

    def __init__(self, wakes):
        self.wakes, self.asked = list(wakes), []

    def decide(self, view):
        self.asked.append(view.now)
        return Decision(again_at=self.wakes.pop(0) if self.wakes else None)


@pytest.mark.parametrize(
    ("interval", "wakes", "asked"),
    [
        (None, [1000, 2000], [0, 10, 1000, 2000]),
        (None, [2000, 1000], [0, 10, 1000, 2000]),
        (30, [2010], [0, 30, 2010]),
        (30, [995, 2010], [0, 30, 1020, 2010]),
    ],
)
def test_no_wake_up_is_lost(interval, wakes, asked):
    """Neither to a tick of the grid, nor to another wake-up."""
    dispatcher = Asks(wakes)
    with pytest.raises(DispatchError, match="asks deadlocked: 2 jobs waiting"):
        run(jobs((0, 1, 5), (10, 1, 5)), machine((1,)), dispatcher, dispatch_interval=interval)
    assert dispatcher.asked == asked


def test_cancelled_in_its_submit_second_or_while_held():
    """Both leave for good, and what waits for them goes on."""
    workload = jobs((0, 1, 5), (3, 1, 5), (3, 1, 5), (4, 1, 2), dependency=[-1, -1, 0, 2])
    simulator = Simulator(fit(workload, machine((1,))), Fifo(), Requested())
    simulator.cancel(1, 3)
    simulator.cancel(2, 4)
    with pytest.raises(ConfigError, match="job 3 cannot be cancelled at 2: it is submitted at 4"):
        simulator.cancel(3, 2)
    simulator.run()
    assert simulator.outcome.tolist() == [0, JobOutcome.CANCELLED, JobOutcome.CANCELLED, 0]
    assert started(simulator.start_time) == [0, None, None, 5]


def test_options_that_are_none():
    """One line that lists what there is."""
    with pytest.raises(ConfigError, match="overrun: is 'Kill', must be one of: kill, extend"):
        run(jobs((0, 1, 5)), machine((1,)), "fifo", overrun="Kill")


def test_jobs_that_wait_for_what_never_runs():
    """They are rejected and say why; nobody else is held up."""
    workload = jobs(
        (0, 9, 5), (1, 1, 5), (2, 1, 5), (3, 1, 5), (4, 1, 5), (5, 1, 5), (6, 1, 5),
        dependency=[-1, 0, 1, 3, 5, 4, -1], job_id=list("abcdefg"),
    )  # fmt: skip
    schedule = run(workload, machine((2,)), "fifo").schedule
    assert {row: reason for row, reason in schedule.rejected.items() if row} == {
        1: "depends on job a, which can never run",
        2: "depends on job b, which can never run",
        3: "depends on itself",
        4: "depends on job f, which can never run",
        5: "depends on job e, which can never run",
    }
    assert schedule.outcome.tolist() == [JobOutcome.REJECTED] * 6 + [JobOutcome.COMPLETED]


def test_the_order_of_a_log_does_not_tell_the_future():
    """Accounting writes jobs as they end: an array of one second is queued by id all the same."""
    runtimes = [90, 30, 70, 10, 50]
    ids = [f"8[{index}].server" for index in (2, 0, 10, 1, 9)]
    by_end = sorted(range(5), key=runtimes.__getitem__)
    workload = jobs(
        *((0, 1, runtimes[at], 100) for at in by_end), job_id=[ids[at] for at in by_end]
    )
    assert workload.job_id.tolist() == [f"8[{index}].server" for index in (0, 1, 2, 9, 10)]
    assert starts(workload, machine((1,)), "fifo") == [0, 30, 40, 130, 180]
    plain = jobs((5, 1, 1), (5, 1, 2), (3, 1, 3), (5, 1, 4), job_id=["100", "20", "7", "3"])
    assert plain.job_id.tolist() == ["7", "3", "20", "100"]


def test_workloads_that_make_no_sense():
    """A clock that goes back, and bounds on units that the units themselves break."""
    workload = jobs((1, 2, 5), (100, 1, 5))
    with pytest.raises(ValueError, match="job 1: submit is 1, must be at least 100"):
        workload.with_columns(submit=np.array([100, 1]))
    with pytest.raises(ValueError, match="job 1: submit is 1, must be at least 100"):
        run(workload.take(np.array([1, 0])).with_columns(job_id=np.array(["0", "1"])),
            machine((2,)), "fifo")  # fmt: skip
    for bound in ({"units_max": [1, 1]}, {"units_min": [3, 1]}):
        with pytest.raises(ValueError, match="job 0: units_m.. is"):
            jobs((1, 2, 5), (100, 1, 5), **bound)


def test_systems_are_equal_by_what_they_are():
    """And a set can hold them."""
    assert machine((2,)) == machine((2,)) != "tiny"
    assert len({machine((2,)), machine((2,)), machine((3,))}) == 2
