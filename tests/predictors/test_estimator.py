"""Estimators of one's own: real ones of scikit-learn, and wrong ones."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cpsched.api import ConfigError, simulate
from predictors.check_tools import sample
from predictors.estimator import from_estimator
from predictors.evaluation import evaluate
from predictors.replay import starts_of

pytestmark = pytest.mark.slow

REGRESSOR = RandomForestRegressor(n_estimators=10, min_samples_leaf=5, random_state=0)


@pytest.mark.parametrize("shipped", [False, True])
def test_what_learns_is_better_than_the_request(shipped):
    """On a log of habits, a random forest as well as ours."""
    fitted = sample(1000)
    starts = starts_of(fitted)
    ours = "gbm-log:trees=40,start=200,window=1000"
    mine = ours if shipped else from_estimator(REGRESSOR, start=200, name="mine")
    learned = evaluate(fitted, starts, mine)
    request = evaluate(fitted, starts, "requested")
    assert learned.predictor in ("mine", "gbm-log:start=200,trees=40,window=1000")
    assert learned.stats["refits"] > 0
    assert learned.overall.mean_error_s < 0.8 * request.overall.mean_error_s
    assert learned.distribution is None
    assert from_estimator(REGRESSOR).name == "RandomForestRegressor"


def test_it_plans_a_simulation():
    """A pipeline, too; equal runs are equal, and the estimator given is never fitted."""
    fitted = sample(400)
    mine = make_pipeline(StandardScaler(), LinearRegression())
    first, second = (
        simulate(
            fitted, dispatcher="easy:backfill=sjf", predictor=from_estimator(mine, start=100)
        ).schedule
        for _ in range(2)
    )
    assert first.start.tolist() == second.start.tolist()
    assert (first.runtime_estimate != fitted.workload.requested_time).any()
    assert not hasattr(mine[-1], "coef_")


class Wrong:
    """A regressor that does something wrong."""

    def __init__(self, predicted):
        self.predicted = predicted

    def fit(self, rows, target):
        pass

    def predict(self, rows):
        return self.predicted(rows)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (object(), "estimator: object has no method 'fit', must be a regressor"),
        (StandardScaler(), "estimator: StandardScaler has no method 'predict'"),
        (
            LinearRegression,
            r"estimator: is the class LinearRegression, must be an instance: Linear.*\(\)",
        ),
        (Wrong(lambda rows: rows), r"Wrong: predict gives an array of shape \(1, 55\), must be"),
        (Wrong(lambda rows: rows[:, 0] * np.nan), "Wrong: predict gives nan, must be finite"),
        (Wrong(lambda rows: ["x"]), "Wrong: predict fails: could not convert string"),
        (GaussianNB(), "estimator: GaussianNB is a classifier, must be a regressor"),
    ],
)
def test_wrong_ones_are_one_line(estimator, message):
    """When it is handed over, or when it is first fitted and asked."""
    fitted = sample(200)
    with pytest.raises(ConfigError, match=message) as raised:
        evaluate(fitted, starts_of(fitted), from_estimator(estimator, start=50))
    assert "\n" not in str(raised.value)


def test_bad_options_are_one_line():
    """As of every predictor."""
    with pytest.raises(ConfigError, match="from_estimator: start is 0, must be from 1"):
        from_estimator(REGRESSOR, start=0)
