"""Chances to end soon, and the distributions that agree with them."""

from __future__ import annotations

import numpy as np
import pytest

from cpsched.base.spec import build
from cpsched.errors import ConfigError
from cpsched.model.prediction import HORIZONS, LEVELS
from cpsched.model.workload import Workload
from predictors.calibration import Calibration
from predictors.check_tools import sample
from predictors.evaluation import evaluate
from predictors.features import FEATURES
from predictors.jobs_alike import distributions
from predictors.replay import Replay, starts_of, unmapped

pytestmark = pytest.mark.slow

CLASSES = "gbm-classes:trees=20,start=100"


def log(num=6000, seed=3):
    """Three users, of whose jobs 10 %, 50 % and 90 % end at once; the rest runs for hours."""
    rng = np.random.default_rng(seed)
    user = rng.integers(0, 3, num)
    fails = rng.random(num) < np.array([0.1, 0.5, 0.9])[user]
    long = np.exp(rng.normal(8.5, 0.7, num))
    return unmapped(
        Workload.build(
            title="three users",
            job_id=[str(number) for number in range(num)],
            submit=np.arange(num) * 300,
            recorded_start=np.arange(num) * 300,
            runtime=np.where(fails, rng.integers(1, 40, num), long).astype(np.int64),
            requested_time=np.full(num, 86_400),
            units=np.ones(num, dtype=np.int64),
            request=np.ones((num, 1), dtype=np.int64),
            resources=("core",),
            user=[f"u{number}" for number in user],
        )
    )


def test_chances_come_true():
    """Of jobs whose chance is known to be 10, 50 or 90 %; and intervals hold what they promise."""
    fitted = log()
    done = evaluate(fitted, starts_of(fitted), CLASSES, warmup=0.4)
    for score in done.within.values():
        assert score.calibration_error < 0.04
        assert score.auc > 0.72
    assert 0.77 < done.distribution.coverage < 0.83
    # Nobody could tell more than the three shares: see how far from them the chances are.
    users = np.array(fitted.workload.user.decode())[done.rows]
    for user, share in (("u0", 0.1), ("u1", 0.5), ("u2", 0.9)):
        of_user = (users == user) & (np.arange(len(users)) >= done.scored)
        assert done.ends_within[of_user, 0].mean() == pytest.approx(share, abs=0.05)


@pytest.mark.parametrize("spec", [CLASSES, "jobs-alike"])
def test_quantiles_agree_with_chances(spec):
    """A level up to the chance of a horizon is within it, one above is beyond; up to the request."""
    fitted = sample(600)
    done = evaluate(fitted, starts_of(fitted), spec)
    requested = fitted.workload.requested_time[done.rows]
    levels = np.array(LEVELS)
    assert (np.diff(done.quantiles, axis=1) >= 0).all()
    assert (done.quantiles <= requested[:, None]).all()
    for place, horizon in enumerate(HORIZONS):
        chance = done.ends_within[:, place][:, None]
        below = done.quantiles <= horizon
        assert below[levels < chance - 1e-6].all()
        assert not below[(levels > chance + 1e-6) & (requested > horizon)[:, None]].any()
        assert (done.ends_within[requested <= horizon, place] == 1).all()


def test_jobs_that_still_run_are_learnt_from():
    """All that ended were short; that others have run for hours already is known, too."""
    num = 240
    user = ["short" if number % 2 else "long" for number in range(num)]
    runtime = [30 if number % 2 else 10**6 for number in range(num)]
    fitted = unmapped(
        Workload.build(
            title="long ones", job_id=[str(number) for number in range(num)],
            submit=np.arange(num) * 100, recorded_start=np.arange(num) * 100, runtime=runtime,
            requested_time=[2 * 10**6] * num, units=[1] * num, request=[[1]] * num,
            resources=("core",), user=user,
        )
    )  # fmt: skip
    made = build("predictors", "gbm-classes:start=100,trees=20")
    replay = Replay(fitted, fitted.workload.recorded_start, made)
    replay.run(until=99 + 100 * (num - 1))
    assert made.stats()["refits"] == 1
    chances = replay.store.ends_within[num - 10 : num - 1, 0]
    # Without them every job that was ever seen to end was short, and so would all be; what jobs
    # alike ran still says so.
    assert (chances[::2] < 0.3).all()
    assert (chances[1::2] > 0.8).all()


def test_a_correction_makes_chances_hold():
    """Scores twice as sure as they should be, and too high; another source knows nothing."""
    rng = np.random.default_rng(0)
    odds = rng.normal(0, 1.5, (2000, 3))
    ended = rng.random((2000, 3)) < 1 / (1 + np.exp(-odds))
    calibration = Calibration(3)
    said = np.stack([2 * odds + 1, rng.normal(0, 1.5, (2000, 3))], axis=2)
    calibration.fit(said, ended, np.ones((2000, 3), dtype=bool))
    assert calibration.lines == pytest.approx(np.tile([0.5, 0, -0.5], (3, 1)), abs=0.1)
    assert (np.diff(calibration.chances(said), axis=1) >= 0).all()


def test_few_jobs_correct_nothing():
    """A line through a handful of them would be chance: the first one stays."""
    calibration = Calibration(3)
    nobody = np.zeros((50, 3), dtype=bool)
    calibration.fit(np.ones((50, 3, 2)), nobody, ~nobody)
    assert calibration.lines.tolist() == [[0.7, 0.3, 0]] * 3


def test_a_distribution_by_hand():
    """
    Likely: 10 s, 100 s and 1,000 s, equally; a request of 1,000 s.

    With the shares as they are a third ends within a minute, two thirds within ten, all in an hour.
    With chances of 0.7 and 0.8 the first of them gets 0.7.
    """
    value, weight = np.array([[10, 100, 1000]]), np.ones((1, 3))
    quantiles, chances, typical = distributions(value, weight, np.array([1000]))
    assert chances[0] == pytest.approx([1 / 3, 2 / 3, 1])
    assert quantiles[0].tolist() == [10, 10, 10, 100, 100, 100, 1000, 1000, 1000]
    # Mean 370 s; mean of 1 / r: 0.037.
    assert typical[0] == pytest.approx(100)
    told = np.array([[0.7, 0.8, 0.9]])
    quantiles, chances, _ = distributions(value, weight, np.array([1000]), told)
    assert chances[0].tolist() == [0.7, 0.8, 1.0]
    assert (quantiles[0, :7] <= 60).all()
    assert quantiles[0, 4] == 10
    assert 60 < quantiles[0, 7] <= 600
    assert quantiles[0, 8] > 600
    # Nothing known at all: the request.
    quantiles, _, typical = distributions(value, np.zeros((1, 3)), np.array([5000]))
    assert quantiles.tolist() == [[5000] * 9]
    assert typical[0] == pytest.approx(5000)


def test_plans_keep_to_requests():
    """Only order and distribution are learnt."""
    fitted = sample(400)
    done = evaluate(fitted, starts_of(fitted), CLASSES)
    requested = np.maximum(fitted.workload.requested_time[done.rows], 1)
    assert (done.runtime_estimate == requested).all()
    assert (done.runtime_bound == requested).all()
    assert (done.ranking_estimate != requested).any()


@pytest.mark.parametrize(("repredict", "hour"), [("no", 0), ("yes", 2)])
def test_what_is_asked_while_jobs_wait_is_learnt_from_what_was_known_then(repredict, hour):
    """A job submitted at midnight that starts at two: its features are those of either hour."""
    fitted = unmapped(
        Workload.build(
            title="one", job_id=["a"], submit=[0], recorded_start=[7200], runtime=[5],
            requested_time=[600], units=[1], request=[[1]], resources=("core",), user=["u"],
        )
    )  # fmt: skip
    made = build("predictors", f"gbm-classes:repredict={repredict}")
    Replay(fitted, fitted.workload.recorded_start, made).run()
    assert made.state()["window"]["features"][0, FEATURES.index("hour")] == hour


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gbm-classes:trees=0", "trees is 0, must be from 1"),
        ("gbm-classes:start=0", "start is 0, must be from 1"),
        ("jobs-alike:limit=x", "limit"),
    ],
)
def test_bad_options_are_one_line(spec, message):
    """As of every predictor."""
    with pytest.raises(ConfigError, match=message):
        build("predictors", spec)
