"""Judging predictors on logs: order of events, what is left out, and known figures."""

import numpy as np
import pytest
from tiny import jobs, machine

from cpsched import logs, systems
from cpsched.checks.predictor_tools import sample
from cpsched.errors import ConfigError
from cpsched.model.prediction import Prediction, RuntimePredictor
from cpsched.simulation.simulator import Simulator
from cpsched.study.prediction.evaluation import evaluate, to_columns
from cpsched.study.prediction.replay import (
    JobStarts,
    PredictorReplay,
    started_jobs,
    starts_of,
    unmapped,
)
from cpsched.systems.mapping import fit
from cpsched.util.spec import build
from cpsched.util.types import MISSING, Status

pytestmark = pytest.mark.slow


class Diary(RuntimePredictor):
    """Writes down what it is told."""

    name = "diary"

    def __init__(self):
        self.lines = []

    def on_submit(self, jobs, now):
        self.lines.append((now, "submit", jobs.handle.tolist()))

    def on_start(self, jobs, now):
        self.lines.append((now, "start", jobs.handle.tolist()))

    def observe(self, jobs, outcome, now):
        what = [part.tolist() for part in outcome]
        self.lines.append((now, "end", jobs.handle.tolist(), *(part[0] for part in what)))

    def on_cancel(self, jobs, now):
        self.lines.append((now, "cancel", jobs.handle.tolist()))

    def predict(self, jobs, now):
        return Prediction.point(jobs.requested_time)


def test_a_cancelled_job_is_told_to_the_predictor():
    """So that what is kept of waiting jobs can be dropped; it is not observed."""
    diary, fitted = Diary(), fit(jobs((0, 1, 9), (1, 1, 9)), machine((1,)))
    simulator = Simulator(fitted, build("dispatchers", "fifo"), diary)
    simulator.cancel(1, 3)
    simulator.run()
    assert [line[:3] for line in diary.lines[-2:]] == [(3, "cancel", [1]), (9, "end", [0])]


def test_order_of_events():
    """
    Ends before submits before starts; a job of runtime 0 ends after its start.

    ::

        0: |=====|        submit 0, start 0, end 5 (timeout)
        1:       |        submit 5, start 5, end 5
        2:       |==|     submit 5, start 5, end 7
    """
    workload = jobs(
        (0, 1, 5, 5), (5, 1, 0, 9), (5, 1, 2, 9), recorded_start=[0, 5, 5],
        status=[Status.TIMEOUT, Status.FAILED, Status.COMPLETED],
    )  # fmt: skip
    diary = Diary()
    fitted = fit(workload, machine((4,)))
    PredictorReplay(fitted, workload.recorded_start, diary).run()
    assert diary.lines == [
        (0, "submit", [0]),
        (0, "start", [0]),
        (5, "end", [0], 5, Status.TIMEOUT, True),
        (5, "submit", [1, 2]),
        (5, "start", [1]),
        (5, "start", [2]),
        (5, "end", [1], 0, Status.FAILED, False),
        (7, "end", [2], 2, Status.COMPLETED, False),
    ]


def test_a_job_learns_nothing_from_one_that_ends_a_second_later():
    """It does from one that ends in the second of its submit."""
    for submit, wanted in ((5, 5), (4, 50)):
        workload = jobs(
            (0, 1, 5, 50), (submit, 1, 9, 50), user=["ann"] * 2, recorded_start=[0, submit]
        )
        evaluation = evaluate(fit(workload, machine((4,))), starts_of(unmapped(workload)), "last")
        assert evaluation.runtime_estimate.tolist() == [50, wanted]


def test_starts():
    """As recorded; the few unknown at submit; all unknown, or told so: simulated."""
    rows = ((0, 1, 5), (1, 1, 5), (2, 1, 5))
    fitted = fit(jobs(*rows, recorded_start=[3, MISSING, 9]), machine((1,)))
    starts = starts_of(fitted)
    assert (starts.start.tolist(), starts.simulated, starts.assumed) == ([3, 1, 9], "", 1)
    starts = starts_of(fitted, "fifo")
    assert (starts.start.tolist(), starts.simulated, starts.assumed) == ([0, 5, 10], "fifo", 0)
    none = fit(jobs(*rows), machine((1,)))
    assert starts_of(none).simulated == "easy"


def test_jobs_cancelled_before_they_started_teach_nothing():
    """Nobody knows how long they would have run; where no start is known every job is one that ran."""
    rows = ((0, 1, 5), (1, 1, 90), (2, 1, 5))
    log = jobs(
        *rows, recorded_start=[0, MISSING, 5], cancel=[MISSING, 4, MISSING], dependency=[-1, -1, 1]
    )
    started = started_jobs(log)
    assert started.job_id.tolist() == [log.job_id[0], log.job_id[2]]
    assert started.dependency.tolist() == [-1, -1]
    assert started.set_aside == (("cancelled before the start", 1),)
    none = started_jobs(jobs(*rows, cancel=[MISSING, 4, 9]))
    assert (len(none), none.set_aside) == (3, ())
    assert starts_of(fit(none, machine((1,)))).start.tolist() == [0, 5, 95]


def test_simulated_jobs_run_as_long_as_the_log_says():
    """A job that overran its request holds its node until it ends."""
    workload = jobs((0, 1, 9, 5), (0, 1, 1))
    assert starts_of(fit(workload, machine((1,)))).start.tolist() == [0, 9]


def test_warmup_and_classes():
    """The first tenth teaches only; a job of just an hour is short."""
    runtimes = [1, 3600, 3601, 43_200, 43_201, 7, 7, 7, 7, 7]
    workload = jobs(
        *((index, 1, runtime, 10**6) for index, runtime in enumerate(runtimes)),
        recorded_start=range(10),
    )
    fitted = fit(workload, machine((10,)))
    evaluation = evaluate(fitted, starts_of(fitted), "requested")
    assert (evaluation.scored, evaluation.overall.jobs) == (1, 9)
    assert [score.jobs for score in evaluation.by_class.values()] == [6, 2, 1]
    assert evaluation.by_class["long"].mean_error_s == 10**6 - 43_201
    assert evaluate(fitted, starts_of(fitted), "requested", warmup=0).overall.jobs == 10
    with pytest.raises(ConfigError, match="at least 0 and below 1"):
        evaluate(fitted, starts_of(fitted), "requested", warmup=1)


def test_rejected_jobs_are_left_out():
    """They are in no row of the answers, and teach nothing."""
    workload = jobs(
        (0, 1, 5, 50), (1, 9, 7, 50), (9, 1, 5, 50), user=["a"] * 3, recorded_start=[0, 1, 9]
    )
    fitted = fit(workload, machine((4,)))
    evaluation = evaluate(fitted, starts_of(fitted), "last", warmup=0)
    assert evaluation.rows.tolist() == [0, 2]
    assert evaluation.runtime_estimate.tolist() == [50, 5]


def test_actual_has_no_error_and_keeps_a_zero():
    """The upper bound is unclipped."""
    fitted = sample()
    evaluation = evaluate(fitted, starts_of(fitted), "actual")
    assert evaluation.overall.mean_error_s == 0
    assert (evaluation.overall.close, evaluation.overall.under) == (1, 0)
    assert evaluation.runtime_estimate.min() == 0


def test_columns_have_a_row_for_each_job_and_predictor():
    """Long format."""
    fitted = sample(20)
    starts = starts_of(fitted)
    items = [evaluate(fitted, starts, spec) for spec in ("requested", "last:limit=3")]
    columns = {name: column.to_pylist() for name, column in to_columns(fitted, items).items()}
    assert columns["predictor"] == ["requested"] * 20 + ["last:limit=3"] * 20
    assert columns["runtime_estimate"][:20] == columns["requested_time"][:20]
    assert columns["scored"][:4] == [False, False, True, True]
    assert columns["runtime"][20:] == fitted.workload.runtime.tolist()


def test_without_a_machine():
    """Everything is as the log has it; what is missing needs a system."""
    workload = jobs((0, 2, 5), (1, 7, 3), recorded_start=[0, 1])
    fitted = unmapped(workload)
    assert fitted.system.capacity.tolist() == [[7]]
    assert not fitted.rejected
    with pytest.raises(ConfigError, match="does not record when jobs started. Give a --system"):
        unmapped(jobs((0, 1, 5)))
    with pytest.raises(ConfigError, match=r"job 0 has no requested time \(1 of 1 have none\)"):
        unmapped(jobs((0, 1, 5), requested_time=[MISSING], recorded_start=[0]))


#: Mean error in minutes and median log error, as measured by an independent prototype.
KTH = {
    "requested": (83.2, 0.82, 0.30, 0.02),
    "last": (92.2, 0.51, 0.36, 0.50),
    "last:count=2": (90.3, 0.55, 0.33, 0.47),
    "user-history": (74.7, 0.39, 0.41, 0.49),
    "user-history-plus": (71.9, 0.41, 0.40, 0.50),
}


@pytest.mark.shared
@pytest.mark.parametrize("spec", KTH)
def test_known_figures_of_kth_sp2(spec, shared):
    """The figures measured before anything was built; as they were printed, within 1 %."""
    path = shared / "traces" / "KTH-SP2-1996-2.1-cln.swf.gz"
    fitted = fit(logs.read(path), systems.load("kth-sp2"), enforce_time_limits=False)
    accuracy = evaluate(fitted, starts_of(fitted), spec).overall
    error, log_error, close, under = KTH[spec]
    assert accuracy.mean_error_s / 60 == pytest.approx(error, rel=0.002)
    assert accuracy.median_log_error == pytest.approx(log_error, abs=0.005)
    assert accuracy.close == pytest.approx(close, abs=0.005)
    assert accuracy.under == pytest.approx(under, abs=0.005)


def test_starts_are_given_as_an_object():
    """Anybody's own starts can be scored."""
    fitted = sample(10)
    starts = JobStarts(fitted.workload.submit, "mine", 0)
    assert evaluate(fitted, starts, "last").rows.tolist() == list(range(10))
    assert np.array_equal(starts.start, fitted.workload.submit)


def test_progress_is_told():
    """Jobs submitted so far, and all of them at last."""
    fitted = sample(2000)
    numbers = []
    evaluate(fitted, starts_of(fitted), "last", progress=numbers.append)
    assert numbers == sorted(numbers)
    assert len(numbers) > 1
    assert numbers[-1] == 2000
