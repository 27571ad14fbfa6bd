"""Forecasts of starts: by hand, without the future, and corrected by what came of earlier ones."""

from dataclasses import replace

import numpy as np
import pytest
from tiny import jobs, machine

from cpsched.answer.calibration import Calibration
from cpsched.answer.forecaster import Forecaster, PastDays, _together
from cpsched.answer.prequential import Prequential
from cpsched.answer.starts import NEVER, Starts
from cpsched.answer.when import when_in_log
from cpsched.answer.when_text import text
from cpsched.errors import ConfigError, InfeasibleRequestError
from cpsched.mapping import append, fit
from cpsched.simulation.simulate import Settings
from cpsched.systems import parse
from slurm_adapter.sacct import batch_script

pytestmark = pytest.mark.slow

_DAY = 86400


def starts(*scenarios, now=0, handle=0, planned=NEVER):
    """Return a forecast of one job."""
    return Starts(now, np.array([handle]), np.array(scenarios)[:, None], np.array([planned]))


def test_quantiles_are_of_scenarios_of_equal_probability():
    """Ten scenarios stand for tenths: the median is between the fifth and the sixth."""
    told = starts(*range(100, 0, -10))
    assert told.quantile(0.5).tolist() == [55]
    assert told.quantile(0.05).tolist() == [10]
    assert told.quantile(0.999).tolist() == [100]
    assert told.chance_by(30).tolist() == [0.3]
    assert starts(10, 20, NEVER).quantile(0.9).tolist() == [NEVER]


def test_days_of_the_past_come_again_at_their_time_of_day():
    """Two days are known, with jobs at hours 1 and 2 of the first, 3 of the second."""
    submit = np.array([0, 3600, 7200, _DAY + 10800])
    past = PastDays(submit, 2 * _DAY, 7)
    like, when_ = past.draw(6 * _DAY, np.random.default_rng(0))
    assert set(like.tolist()) == {1, 2, 3}
    assert ((when_ - submit[like]) % _DAY == 0).all()
    assert (np.diff(when_) >= 0).all()
    assert when_[0] > 2 * _DAY


def test_less_than_a_day_comes_again_at_once():
    """An hour is known: it repeats."""
    like, when_ = PastDays(np.array([0, 1800]), 3600, 7).draw(10800, np.random.default_rng(0))
    assert like.tolist() == [1, 1]
    assert when_.tolist() == [5400, 9000]


def _log(num):
    system = parse(
        'name = "m"\ntitle = "m"\nsource = "made up"\nresources = ["core"]\n'
        'default_expected_wait = 3600\n[[nodes]]\ngroup = "all"\ncount = 16\ncore = 1\n'
    )
    rng = np.random.default_rng(1)
    submit = np.cumsum(rng.exponential(420, num)).astype(int)
    runtime = np.exp(rng.normal(6.8, 1.2, num)).astype(int) + 1
    rows = [
        (int(s), int(u), int(r), int(r * f) + 60)
        for s, u, r, f in zip(
            submit, rng.integers(1, 9, num), runtime, rng.uniform(1, 8, num), strict=True
        )
    ]
    users = [f"u{user}" for user in rng.integers(0, 6, num)]
    return jobs(*rows, user=users), system


def test_the_future_changes_no_forecast():
    """
    Other runtimes of jobs that have not ended, and no more jobs: the answer is the same.

    So it is the same every time, too.
    """
    workload, system = _log(600)
    fitted = fit(workload, system)
    now = int(workload.submit[400])
    answer = when_in_log(fitted, time=now, judged=10)
    assert answer.jobs
    run = Prequential(
        fitted, dispatcher="easy", predictor="requested", settings=Settings(),
        forecaster=Forecaster(),
    )  # fmt: skip
    run.go_to(now)
    ended = run.simulator.end_time < now
    runtime = np.where(ended & (run.simulator.end_time >= 0), workload.runtime, 0)
    longer = workload.runtime + 1 + (now - run.simulator.start_time).clip(0)
    running = (run.simulator.start_time >= 0) & ~(ended & (run.simulator.end_time >= 0))
    runtime = np.where(running, np.minimum(longer, workload.requested_time), runtime)
    other = workload.with_columns(runtime=runtime).select(first=401)
    again = when_in_log(fit(other, system), time=now, judged=10)
    assert again == answer


def test_corrected_intervals_hold_what_they_promise():
    """Along a log, eight of ten jobs start inside; medians beat the plan by requested times."""
    workload, system = _log(700)
    run = Prequential(
        fit(workload, system), dispatcher="easy", predictor="requested", settings=Settings(),
        forecaster=Forecaster(scenarios=5),
    )  # fmt: skip
    run.run(range(100, 700, 3))
    run.finish()
    assert len(run.told) > 100
    start = np.array([one.start for one in run.told])
    low, middle, high = (
        np.array([one.starts.quantile(level)[0] for one in run.told]) for level in (0.1, 0.5, 0.9)
    )
    coverage = ((low <= start) & (start <= high)).mean()
    assert 0.74 <= coverage <= 0.86
    planned = np.array([one.raw.planned[0] for one in run.told])
    assert np.median(abs(middle - start)) < 0.8 * np.median(abs(planned - start))


def test_a_calibration_moves_quantiles_by_the_errors_seen():
    """All waits are four times as long as said: so is the next one, when enough is known."""
    calibration, start = Calibration(), np.array([4 * 6000])
    for seen in range(30):
        told = starts(*[6000] * 10, handle=seen)
        corrected = calibration.corrected(told)
        if seen < 20:
            assert corrected.quantile(0.5)[0] == pytest.approx(6000, rel=0.01)
            assert corrected.quantile(0.9) > told.quantile(0.9)
        calibration.note(told, corrected, start)
    moved = calibration.corrected(told).quantile(0.5)[0]
    assert moved == pytest.approx(24000, rel=0.01)


def test_starts_that_are_never_missed_may_go_on_for_ever():
    """Each job starts exactly when it was said to: no share of misses leaves its bounds."""
    calibration = Calibration()
    for handle in range(400):
        told = starts(*[6000] * 10, handle=handle)
        calibration.note(told, told, np.array([6000]))
    assert set(calibration.corrected(told).scenario[:, 0].tolist()) == {6000}


def test_where_jobs_start_half_way_from_scenarios_to_plan_the_next_does_too():
    """
    Scenarios always say 30 min, and plans something else: between them by logarithms of wait + 30 min.

    The plan alone, and the scenarios moved by the usual error, would both be far off.
    """
    calibration = Calibration()
    plans = [int(3600 * np.exp(at % 7 / 2)) - 1800 for at in range(60)]
    for handle, plan in enumerate(plans):
        told = starts(*[1800] * 10, handle=handle, planned=plan)
        wait = int(np.sqrt(3600 * (plan + 1800))) - 1800
        calibration.note(told, calibration.corrected(told), np.array([wait]))
    next_ = starts(*[1800] * 10, handle=60, planned=3600 * 16 - 1800)
    low, middle, high = (calibration.corrected(next_).quantile(at)[0] for at in (0.1, 0.5, 0.9))
    assert middle == pytest.approx(3600 * 4 - 1800, rel=0.03)
    assert high - low < 0.1 * middle
    # Where there is no plan, nothing lies between.
    assert calibration.corrected(starts(*[1800] * 10, handle=60)).quantile(0.5)[0] < 2 * 3600


def test_runtimes_of_one_user_are_long_in_the_same_scenarios():
    """Each job keeps its runtimes; jobs whose users are unknown go together as all jobs do."""
    rng = np.random.default_rng(0)
    drawn = np.sort(rng.integers(1, 10**6, (1000, 6)), axis=0)
    user = np.array([3, 3, 8, 8, -1, -1])
    together = _together(drawn, user, rng)
    assert (np.sort(together, axis=0) == drawn).all()
    alike = np.corrcoef(together.T)
    assert alike[0, 1] > 0.8
    assert alike[2, 3] > 0.8
    assert abs(alike[[0, 0, 4], [2, 4, 5]] - 0.3).max() < 0.12


def test_a_job_that_waits_beyond_its_interval_is_a_miss_already():
    """Waits of an hour become longer: what is said next knows of it before any of them starts."""
    calibration = Calibration()
    for seen in range(30):
        told = starts(*[3600] * 10, handle=seen)
        calibration.note(told, calibration.corrected(told), np.array([3600]))
    told = starts(*[3600] * 10, now=10_000, handle=30)
    before = calibration.corrected(told)
    late = [starts(*[13_600] * 10, now=10_000, handle=seen) for seen in range(30, 40)]
    for one in late:
        calibration.still_wait(one, calibration.corrected(one), 10_001)
    assert calibration.corrected(told).quantile(0.9) == before.quantile(0.9)
    for _ in range(3):
        for one in late:
            calibration.still_wait(one, one, 50_000)
    assert len(calibration) == 40
    after = calibration.corrected(starts(*[53_600] * 10, now=50_000, handle=40))
    assert after.quantile(0.9)[0] > 50_000 + 30_000
    for one in late:
        calibration.note(one, one, np.array([90_000]))
    # They have been counted; what changes is how far off they were.
    assert len(calibration) == 40
    again = calibration.corrected(starts(*[53_600] * 10, now=50_000, handle=40))
    assert again.quantile(0.9)[0] > after.quantile(0.9)[0]


def test_a_shorter_or_smaller_job_starts_earlier():
    """
    One node of four cores, of which three are held for 100 s: job 2 cannot be backfilled.

    With an eighth of the time, or a quarter of the cores, it can.
    """
    fitted = fit(
        jobs((0, 3, 6000), (1, 4, 6000), (2, 2, 24000), user=["a", "b", "c"]), machine([4])
    )
    answer = when_in_log(fitted, time=2, job="2", by=7000, judged=0)
    assert [one.job for one in answer.jobs] == ["2"]
    assert answer.jobs[0].planned == 12000
    assert all(one.earlier > 0 for one in answer.advice)
    shown = text(answer, 100)
    assert "Job 2 of c asks for 2 units" in shown
    # Nothing has ended yet.
    assert answer.bounds
    assert "at the latest" in shown
    assert "Bounds under easy, not probabilities" in shown
    assert max(len(line) for line in shown.splitlines()) <= 100


def test_a_time_in_which_the_job_hardly_ends_is_no_advice():
    """The user's jobs ran 1000 s each: half of 6000 s is advised, an eighth is not."""
    past = [(100 * at, 1, 1000, 6000) for at in range(12)]
    waits = [(4000, 3, 6000), (4001, 4, 6000), (4002, 1, 6000)]
    fitted = fit(jobs(*past, *waits, user=["a"] * 12 + ["b", "b", "a"]), machine([4]))
    answer = when_in_log(fitted, time=4002, job="14", judged=0)
    assert "no earlier forecast has been scored" in text(answer, 200)
    told = answer.advice
    asked = {one.requested_time for one in told}
    assert 3000 in asked
    assert 780 not in asked
    assert all(one.fits is not None and one.fits > 0.05 for one in told)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"job": "9"}, "none of the 2 jobs read has the id 9"),
        ({"job": "0"}, "job 0 is not waiting then: it started at second 0"),
        ({"job": "1", "by": 2}, "must be after 2, the moment asked about"),
    ],
)
def test_what_cannot_be_answered_is_said(more, words):
    """No such job, one that runs, a deadline that has passed."""
    fitted = fit(jobs((0, 1, 10), (1, 1, 5)), machine([1]))
    with pytest.raises(ConfigError, match=words):
        when_in_log(fitted, time=2, judged=0, **more)


def test_nobody_waits():
    """An empty queue has no forecast."""
    fitted = fit(jobs((0, 1, 10)), machine([1]))
    with pytest.raises(ConfigError, match="no job is waiting"):
        when_in_log(fitted, time=2, judged=0)


def test_a_job_that_is_not_submitted_yet(tmp_path):
    """It is put behind what waits then; later jobs are forgotten, and one too large is refused."""
    fitted = fit(jobs((0, 4, 6000), (1, 4, 6000), (500, 1, 5), user=["a", "b", "c"]), machine([4]))
    path = tmp_path / "job.sh"
    path.write_text("#!/bin/sh\n#SBATCH -n 2 -t 60\n")
    job = batch_script.read(path, submit=0, user="a")
    more = append(fitted, job, 100)
    answer = when_in_log(more, time=100, job="new", judged=0)
    assert len(more.workload) == 3
    assert answer.jobs[0].planned == 12000
    assert (answer.jobs[0].units, answer.jobs[0].user) == (2, "a")
    path.write_text("#!/bin/sh\n#SBATCH -n 9\n#SBATCH -t 60\n")
    with pytest.raises(InfeasibleRequestError, match="job new can never run"):
        append(fitted, batch_script.read(path, submit=0), 100)


def test_nodes_of_a_group_each_are_no_pool(tmp_path):
    """Three nodes are asked for, the machine has two, each a group of its own: not one is enough.

    The job was put on one node before.
    """
    system = replace(machine([4], [4]), node_groups=("a", "b"))
    fitted = fit(jobs((0, 1, 60)), system)
    path = tmp_path / "job.sh"
    path.write_text("#!/bin/sh\n#SBATCH -N 3 -n 3 -t 60\n")
    with pytest.raises(InfeasibleRequestError, match="job new can never run"):
        append(fitted, batch_script.read(path, submit=0), 100)


def test_a_job_that_starts_at_once():
    """There is room: no futures are needed."""
    fitted = fit(jobs((0, 1, 10), (7, 1, 5)), machine([2]))
    answer = when_in_log(fitted, time=7, job="1", judged=0)
    assert answer.jobs[0].p10 == answer.jobs[0].p90 == 7
    assert "starts at once" in text(answer, 80)
