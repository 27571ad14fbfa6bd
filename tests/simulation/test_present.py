"""A simulation goes on from a present: the future it is given, and nothing of the real one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tiny import CLASSES, jobs, machine, machines, workloads

from cpsched.engine.cluster import Cluster
from cpsched.engine.encoder import Request
from cpsched.model import columns as c
from cpsched.model.schedule import Outages
from cpsched.simulation.arrivals import JobStream
from cpsched.simulation.present import FutureJobs, Present, _known_by
from cpsched.simulation.record import AllocationRecorder, DecisionRecorder
from cpsched.simulation.simulate import Settings, simulator_of
from cpsched.systems.mapping import fit
from cpsched.util.types import MISSING

pytestmark = pytest.mark.slow


def halted(fitted, dispatcher, until, predictor="requested", **more):
    """Return a simulation halted after the last instant before a second."""
    recorders = AllocationRecorder(len(fitted.system.resources)), DecisionRecorder()
    simulator = simulator_of(fitted, dispatcher, predictor, Settings(**more), recorders)
    simulator.run(until=until)
    return simulator


def present_of(simulator, fitted, dispatcher, **more):
    """Return its present."""
    return Present.of_simulator(simulator, fitted, dispatcher, "requested", Settings(**more))


@pytest.mark.slow
@given(workload=workloads(), system=machines(), until=st.integers(0, 60))
@settings(max_examples=10)
@pytest.mark.parametrize("dispatcher", CLASSES)
def test_the_future_that_comes_about_is_the_one_that_was(dispatcher, workload, system, until):
    """With the real runtimes of the jobs known, and no others to come, all starts are the same."""
    fitted = fit(workload.select(end=until), system)
    uninterrupted, simulator = halted(fitted, dispatcher, None), halted(fitted, dispatcher, until)
    num = int(simulator.state()["next_submit"])
    assume(num == len(simulator.arrivals) > 0)
    present = present_of(simulator, fitted, dispatcher)
    # A job that reaches its limit is known to run no longer; so is one that is cancelled.
    assume((simulator.arrivals.cancel == MISSING).all())
    assume(not simulator.arrivals.evolve_to.any())
    future = present.future(simulator.arrivals.runtime, FutureJobs.none())
    future.run()
    assert future.start_time.tolist() == uninterrupted.start_time.tolist()


@given(workload=workloads(), system=machines(), until=st.integers(0, 60), data=st.data())
@settings(max_examples=30)
def test_nothing_of_the_real_future_is_in_a_present(workload, system, until, data):
    """Other runtimes of jobs that have not ended, and other jobs to come: the present is equal."""
    fitted = fit(workload, system)
    simulator = halted(fitted, "easy", until)
    present = present_of(simulator, fitted, "easy")
    submitted = int(simulator.state()["next_submit"])
    rows = simulator.arrivals.workload_row
    open_rows = rows[:submitted][simulator.end_time[:submitted] == MISSING]
    runtime = fitted.workload.runtime.copy()
    for row in open_rows.tolist():
        at_least = 0
        handle = int(np.flatnonzero(rows == row)[0])
        if simulator.start_time[handle] != MISSING:
            at_least = until - int(simulator.start_time[handle])
        runtime[row] = data.draw(st.integers(at_least, at_least + 50))
    runtime[rows[submitted:]] = 7
    other = replace(fitted, workload=fitted.workload.with_columns(runtime=runtime))
    again = halted(other, "easy", until)
    assume(again.start_time[:submitted].tolist() == simulator.start_time[:submitted].tolist())
    assume(again.now == simulator.now)
    second = present_of(again, other, "easy")
    assert second.jobs.workload.digest() == present.jobs.workload.digest()
    for name, value in present.state.items():
        if isinstance(value, np.ndarray):
            assert value.tolist() == second.state[name].tolist(), name


def test_jobs_of_the_past_come_again():
    """One core; job 0 runs. The job that comes like it waits for job 1, as in any queue."""
    fitted = fit(jobs((0, 1, 10), (2, 1, 5)), machine([1]))
    simulator = halted(fitted, "fifo", 3)
    present = present_of(simulator, fitted, "fifo")
    coming = FutureJobs(like=np.array([0]), submit=np.array([4]), runtime=np.array([3]))
    future = present.future(np.array([8, 5]), coming)
    future.run()
    assert future.start_time.tolist() == [0, 8, 13]
    assert future.end_time.tolist() == [8, 13, 16]


def test_a_waiting_job_that_asks_for_less_is_backfilled():
    """
    Two cores; job 0 holds one until 10, job 1 wants both.

    Job 2 would hold job 1 up, and ends before with less time.
    """
    fitted = fit(jobs((0, 1, 10), (1, 2, 5), (2, 1, 20)), machine([2]))
    simulator = halted(fitted, "easy", 3)
    present = present_of(simulator, fitted, "easy")
    runtime = np.array([10, 5, 6])
    for changed, start in ((present, 15), (present.changed(2, requested_time=6), 3)):
        coming = FutureJobs(like=np.array([2]), submit=np.array([4]), runtime=np.array([1]))
        future = changed.future(runtime, coming)
        future.run()
        assert future.start_time[2] == start


def test_what_a_predictor_said_of_a_job_holds_when_it_comes_again():
    """The job that comes like job 1 has its estimate, so that it fits in front of job 2."""
    fitted = fit(jobs((0, 1, 10, 10), (1, 1, 4, 40), (6, 2, 5, 5)), machine([2]))
    simulator = halted(fitted, "easy", 7, predictor="actual")
    present = present_of(simulator, fitted, "easy")
    coming = FutureJobs(like=np.array([1]), submit=np.array([6]), runtime=np.array([4]))
    future = present.future(np.array([10, 4, 5]), coming)
    future.run()
    assert future.start_time.tolist() == [0, 1, 10, 6]


def test_a_machine_somebody_else_runs_goes_on_too():
    """A cluster with a running and a waiting job, and two that are held: by a begin, by a job."""
    cluster = Cluster(machine([1]), "fifo")
    ask = Request(requested_time=20)
    running, waiting = cluster.submit(ask, 0), cluster.submit(ask, 1)
    late = cluster.submit(ask, 2, held=True)
    after = cluster.submit(ask, 2, held=True)
    cluster.start(cluster.decide(2).actions, 2)
    present = Present.of_cluster(
        cluster,
        dispatcher="fifo",
        settings=Settings(),
        begin={late: 30},
        dependency={after: waiting},
    )
    assert present.in_state(c.RUNNING).tolist() == [running]
    assert present.in_state(c.WAITING, c.HELD).tolist() == [waiting, late, after]
    future = present.future(np.array([9, 4, 4, 3]), FutureJobs.none())
    future.run()
    assert future.start_time.tolist() == [2, 11, 30, 15]


@given(workload=workloads(), system=machines(), until=st.integers(0, 60))
@settings(max_examples=40)
def test_a_cluster_alone_tells_the_same_as_the_simulation(workload, system, until):
    """Of jobs that are neither held nor change size: the same futures."""
    fitted = fit(workload.select(end=until), system)
    simulator = halted(fitted, "easy", until)
    num = int(simulator.state()["next_submit"])
    held = simulator.machine.store.columns[:num, c.STATE] == c.HELD
    rigid = (simulator.machine.store.columns[:num, c.JOB_TYPE] == 0).all()
    again = simulator.machine.store.columns[:num, c.ATTEMPTS].any()
    assume(num == len(simulator.arrivals) > 0 and not held.any() and rigid and not again)
    ended = np.flatnonzero(simulator.end_time[:num] != MISSING).tolist()
    ran = {row: int(simulator.end_time[row] - simulator.start_time[row]) for row in ended}
    first = present_of(simulator, fitted, "easy")
    second = Present.of_cluster(simulator.cluster, dispatcher="easy", settings=Settings(), ran=ran)
    elapsed = np.maximum(simulator.now - simulator.start_time, 0)
    runtime = np.where(simulator.start_time == MISSING, 7, elapsed + 3)
    first_future, second_future = (
        present.future(runtime, FutureJobs.none()) for present in (first, second)
    )
    first_future.run()
    second_future.run()
    assert first_future.start_time.tolist() == second_future.start_time.tolist()


def test_how_long_a_node_stays_down_is_not_known():
    """A failure is taken to last as long again; what was announced ends when it was said to."""
    outages = Outages.of([(0, 100, 900), (1, 100, 900), (2, 500, 600)], [100, 50, 500])
    known = _known_by(outages, 200)
    assert known.node.tolist() == [0, 1]
    assert known.end.tolist() == [301, 900]


@given(workload=workloads(), system=machines(), data=st.data())
@settings(max_examples=50)
def test_copies_of_jobs_arrive_as_if_they_had_been_in_the_log(workload, system, data):
    """Arrivals followed by copies are those of a log with the copies in it."""
    arrivals = JobStream(fit(workload, system))
    num = len(arrivals)
    assume(num > 0)
    like = np.array(data.draw(st.lists(st.integers(0, num - 1), max_size=5)), dtype=np.int64)
    submit = arrivals.submit[-1] + np.arange(len(like))
    runtime = np.arange(num + len(like)) + 1
    both = arrivals.followed_by(like, submit, runtime)
    taken = workload.take(arrivals.workload_row[np.concatenate([np.arange(num), like])])
    begin, dependency = taken.begin.copy(), np.full(len(taken), -1)
    begin[num:], dependency[:num] = MISSING, arrivals.dependency
    longer = replace(
        taken,
        submit=np.concatenate([arrivals.submit, submit]).astype(np.int64),
        begin=begin,
        dependency=dependency,
        runtime=runtime,
    )
    expected = JobStream(fit(longer, system))
    for name, value in vars(expected).items():
        if name not in ("workload", "workload_row", "system", "_known", "_block"):
            assert np.array_equal(getattr(both, name), value), name
    for column, expected_column in zip(both.block(0), expected.block(0), strict=True):
        assert np.array_equal(column, expected_column)
    assert [both.job_id(handle) for handle in range(len(both))] == [
        expected.job_id(handle) for handle in range(len(both))
    ]
