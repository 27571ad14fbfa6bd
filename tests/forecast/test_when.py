"""Forecasts of starts, and their correction by what came of earlier ones, by hand."""

from dataclasses import replace

import numpy as np
import pytest
from tiny import jobs, machine

from cpsched.errors import InfeasibleRequestError
from cpsched.forecast.calibration import Calibration
from cpsched.forecast.forecaster import PastDays, _together
from cpsched.forecast.start_forecast import NEVER, StartForecast
from cpsched.logs.sacct import batch_script
from cpsched.systems.mapping import append, fit

pytestmark = pytest.mark.slow

_DAY = 86400


def starts(*scenarios, now=0, handle=0, planned=NEVER):
    """Return a forecast of one job."""
    return StartForecast(now, np.array([handle]), np.array(scenarios)[:, None], np.array([planned]))


def test_quantiles_are_of_scenarios_of_equal_probability():
    """Ten scenarios stand for tenths: the median is between the fifth and the sixth."""
    forecast = starts(*range(100, 0, -10))
    assert forecast.quantile(0.5).tolist() == [55]
    assert forecast.quantile(0.05).tolist() == [10]
    assert forecast.quantile(0.999).tolist() == [100]
    assert forecast.chance_by(30).tolist() == [0.3]
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


def test_a_calibration_moves_quantiles_by_the_errors_seen():
    """All waits are four times as long as said: so is the next one, when enough is known."""
    calibration, start = Calibration(), np.array([4 * 6000])
    for seen in range(30):
        forecast = starts(*[6000] * 10, handle=seen)
        corrected = calibration.corrected(forecast)
        if seen < 20:
            assert corrected.quantile(0.5)[0] == pytest.approx(6000, rel=0.01)
            assert corrected.quantile(0.9) > forecast.quantile(0.9)
        calibration.note(forecast, corrected, start)
    moved = calibration.corrected(forecast).quantile(0.5)[0]
    assert moved == pytest.approx(24000, rel=0.01)


def test_starts_that_are_never_missed_may_go_on_for_ever():
    """Each job starts exactly when it was said to: no share of misses leaves its bounds."""
    calibration = Calibration()
    for handle in range(400):
        forecast = starts(*[6000] * 10, handle=handle)
        calibration.note(forecast, forecast, np.array([6000]))
    assert set(calibration.corrected(forecast).scenario[:, 0].tolist()) == {6000}


def test_where_jobs_start_half_way_from_scenarios_to_plan_the_next_does_too():
    """
    Scenarios always say 30 min, and plans something else: between them by logarithms of wait + 30 min.

    The plan alone, and the scenarios moved by the usual error, would both be far off.
    """
    calibration = Calibration()
    plans = [int(3600 * np.exp(at % 7 / 2)) - 1800 for at in range(60)]
    for handle, plan in enumerate(plans):
        forecast = starts(*[1800] * 10, handle=handle, planned=plan)
        wait = int(np.sqrt(3600 * (plan + 1800))) - 1800
        calibration.note(forecast, calibration.corrected(forecast), np.array([wait]))
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
        forecast = starts(*[3600] * 10, handle=seen)
        calibration.note(forecast, calibration.corrected(forecast), np.array([3600]))
    forecast = starts(*[3600] * 10, now=10_000, handle=30)
    before = calibration.corrected(forecast)
    late = [starts(*[13_600] * 10, now=10_000, handle=seen) for seen in range(30, 40)]
    for late_forecast in late:
        calibration.still_wait(late_forecast, calibration.corrected(late_forecast), 10_001)
    assert calibration.corrected(forecast).quantile(0.9) == before.quantile(0.9)
    for _ in range(3):
        for late_forecast in late:
            calibration.still_wait(late_forecast, late_forecast, 50_000)
    assert len(calibration) == 40
    after = calibration.corrected(starts(*[53_600] * 10, now=50_000, handle=40))
    assert after.quantile(0.9)[0] > 50_000 + 30_000
    for late_forecast in late:
        calibration.note(late_forecast, late_forecast, np.array([90_000]))
    # They have been counted; what changes is how far off they were.
    assert len(calibration) == 40
    again = calibration.corrected(starts(*[53_600] * 10, now=50_000, handle=40))
    assert again.quantile(0.9)[0] > after.quantile(0.9)[0]


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
