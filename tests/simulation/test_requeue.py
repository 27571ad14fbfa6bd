"""Running jobs that are queued again: what they keep, what it costs, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import Does
from tiny import jobs, machine, run

from cpsched.dispatch.rules import Fifo
from cpsched.errors import DispatchError
from cpsched.model.decision import Decision, Kill, Requeue
from cpsched.model.estimates import Requested
from cpsched.model.schedule import JobOutcome
from cpsched.simulation.simulator import Simulator
from cpsched.systems.mapping import fit
from cpsched.util.spec import build
from cpsched.verification import verify


def queues_again(*seconds):
    """Return a dispatcher that queues the first job again at given seconds."""
    return Does({second: Requeue(0) for second in seconds})


def phases(schedule, job):
    """Return when a job held nodes."""
    own = schedule.segments.job == job
    pairs = zip(schedule.segments.start[own], schedule.segments.end[own], strict=True)
    return [(int(start), int(end)) for start, end in pairs]


def checked(*rows, seconds, **columns):
    """Simulate jobs on one core of which the first is queued again; the schedule is valid."""
    workload = jobs(*rows, restartable=[True] * len(rows), **columns)
    schedule = run(workload, machine((1,)), queues_again(*seconds)).schedule
    assert verify(schedule) == []
    return schedule


def test_a_job_begins_anew():
    """A runs 4 of its 10 s in vain; B, which waits, comes after it, for A keeps its place."""
    schedule = checked((0, 1, 10), (1, 1, 3), seconds=(4,))
    assert phases(schedule, 0) == [(0, 4), (4, 14)]
    assert schedule.start.tolist() == [4, 14]
    assert schedule.end.tolist() == [14, 17]
    assert schedule.outcome.tolist() == [JobOutcome.COMPLETED] * 2


def test_a_checkpoint_keeps_what_was_saved_and_starting_again_is_not_run():
    """Of 7 s, 6 are saved; of the 3 s that follow another 2, when 1 of which went to restarting."""
    schedule = checked((0, 1, 10), seconds=(7, 10), checkpoint=[2], restart_cost=[1])
    assert phases(schedule, 0) == [(0, 7), (7, 10), (10, 13)]
    # With a limit of 10 s and 3 s to start again, a job of 10 s ends after 13, a longer one too.
    for runtime, outcome in ((10, JobOutcome.COMPLETED), (99, JobOutcome.TIMEOUT)):
        schedule = checked((0, 1, runtime, 10), seconds=(4,), restart_cost=[3])
        assert phases(schedule, 0) == [(0, 4), (4, 17)]
        assert schedule.outcome.tolist() == [outcome]


def test_it_is_known_how_long_a_job_ran():
    """After 4 s, and after 2, it is known that it runs for more than 4."""
    seen = []

    class Looks(Does):
        def decide(self, view):
            if len(view.waiting):
                seen.append((view.waiting.attempts.tolist(), view.waiting.ran.tolist()))
            return super().decide(view)

    run(jobs((0, 1, 10), restartable=[True]), machine((1,)), Looks({4: Requeue(0), 6: Requeue(0)}))
    assert seen == [([0], [0]), ([1], [4]), ([2], [4])]


@pytest.mark.parametrize(
    ("action", "restartable", "message"),
    [
        (Requeue(0), False, "fifo cannot requeue job 0: the job is not restartable"),
        (Requeue(1), True, "fifo cannot requeue job 1: the job is not running"),
        (Requeue(9), True, "fifo cannot requeue job 9: the job is not running"),
        (Kill(1), True, "cannot kill job 1: the job is not running"),
    ],
)
def test_what_is_refused(action, restartable, message):
    workload = jobs((0, 1, 10), (1, 1, 3), restartable=[restartable] * 2)
    with pytest.raises(DispatchError, match=message):
        run(workload, machine((1,)), Does({4: action}))


def test_a_job_is_not_queued_again_in_the_second_in_which_it_started():
    """That could go on for ever."""

    class AtOnce(Fifo):
        def decide(self, view):
            if len(view.running):
                return Decision([Requeue(0)])
            return super().decide(view)

    # The second job ends at once, so that there is another decision at 0.
    workload = jobs((0, 1, 9), (0, 1, 0), (0, 2, 1), restartable=[True] * 3)
    with pytest.raises(DispatchError, match="the job started or was resized in this second"):
        run(workload, machine((2,)), AtOnce())


job = st.tuples(st.integers(0, 20), st.integers(1, 3), st.integers(0, 30), st.integers(1, 40))


@settings(max_examples=60)
@given(
    rows=st.lists(job, min_size=1, max_size=12),
    data=st.data(),
    every=st.integers(0, 5),
    cost=st.integers(0, 4),
)
def test_work_is_conserved_and_a_checkpoint_goes_on_the_same(rows, data, every, cost):
    """Whatever is cut short when, the schedule is valid, whole, and the same after a checkpoint."""
    num = len(rows)
    flags = data.draw(st.lists(st.booleans(), min_size=num, max_size=num))
    workload = jobs(*rows, restartable=flags, checkpoint=[every] * num, restart_cost=[cost] * num)
    fitted = fit(workload, machine((2,), (1,)))
    spec = "speculative:dispatcher=easy,seconds=3,least=5,share=1"
    result = run(fitted, fitted.system, spec)
    assert verify(result.schedule) == []
    stop = data.draw(st.integers(0, 60))
    first, second = (
        Simulator(fitted, build("dispatchers", spec), Requested(), seed=0) for _ in range(2)
    )
    first.run(until=stop)
    second.restore(first.state())
    second.run()
    started = np.array([result.schedule.start[row] for row in second.arrivals.workload_row])
    assert second.start_time.tolist() == started.tolist()
