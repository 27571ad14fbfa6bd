"""Learned predictors: the shipped checks, refits, and what they answer before and after."""

import numpy as np
import pytest

from cpsched.checks.predictor_tools import sample
from cpsched.errors import ConfigError
from cpsched.study.prediction.evaluation import evaluate
from cpsched.study.prediction.replay import starts_of
from cpsched.util.spec import build
from predictors.coverage import Coverage
from predictors.features import FEATURES
from predictors.learned import Learned

pytestmark = pytest.mark.slow

POINTS = ("gbm-log", "gbm-quantile")


@pytest.mark.parametrize("name", POINTS)
def test_the_history_answers_until_there_is_a_model(name):
    """With a start that is never reached, answers are those of ``user-history-plus``."""
    fitted = sample(300)
    starts = starts_of(fitted)
    plain = evaluate(fitted, starts, "user-history-plus")
    cold = evaluate(fitted, starts, name)
    # Logarithms come back as seconds; a median of two may round the other way.
    assert np.abs(plain.runtime_estimate - cold.runtime_estimate).max() <= 1
    assert cold.stats["answered by the model"] == 0
    assert cold.stats["answered by history"] == 300


@pytest.mark.parametrize("name", POINTS)
def test_models_are_fitted_weekly_and_when_completions_double(name):
    """400 jobs in half a day: fits at 100 and 200 completions; then with a refit of an hour."""
    fitted = sample()
    starts = starts_of(fitted)
    weekly = evaluate(fitted, starts, f"{name}:trees=2,start=100,window=400")
    hourly = evaluate(fitted, starts, f"{name}:trees=2,start=100,window=400,refit=0.0417")
    assert weekly.stats["refits"] in (2, 3)
    assert hourly.stats["refits"] > 5


def test_quantiles_cover_what_they_promise():
    """Of the sample's jobs after the first third, about 10 % are above the bound."""
    fitted = sample(1500)
    evaluation = evaluate(
        fitted, starts_of(fitted), "gbm-quantile:trees=30,start=100,window=1500", warmup=0.33
    )
    assert 0.06 < evaluation.overall.bound_exceeded < 0.14
    # 0.6 lie below the plan; those cut at the requested time cannot lie above it.
    assert 0.25 < evaluation.overall.under < 0.45
    assert (evaluation.runtime_bound >= evaluation.runtime_estimate).all()


def test_features_are_named_and_never_missing():
    """One finite number for each name, for jobs of users known and unknown."""
    seen = []

    class Looks(Learned):
        name = "looks"

        def fitted(self, window):
            return self

        def __call__(self, rows):
            seen.append(rows)
            return np.zeros((len(rows), 1))

        restored = None

    fitted = sample()
    evaluate(fitted, starts_of(fitted), Looks(start=1))
    rows = np.concatenate(seen)
    assert rows.shape == (len(fitted.workload) - 1, len(FEATURES))
    assert len(set(FEATURES)) == len(FEATURES)
    assert np.isfinite(rows).all()
    # On half a day of jobs of any number of nodes, all others move.
    constant = [name for name, column in zip(FEATURES, rows.T, strict=True) if not np.ptp(column)]
    assert constant == ["nodes", "weekday"]


def test_coverage_follows_a_quantile():
    """Of uniform errors, the offset for 0.9 comes to lie near 0.9, wherever it began."""
    errors = np.random.default_rng(3).random(5000)
    for first in (-2.0, 3.0):
        coverage = Coverage(0.9, first)
        for error in errors:
            coverage.learn(float(error))
        assert 0.8 < coverage.offset < 1.0
        coverage.reset()
        assert coverage.offset == first


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gbm-log:start=0", "start is 0, must be from 1 to 50000"),
        ("gbm-log:start=10,window=5", "must be from 1 to 5 "),
        ("gbm-log:trees=0", "trees is 0, must be from 1 to 10000"),
        ("gbm-log:refit=0", "refit is 0.0 days, must be more than 0"),
        ("gbm-log:frozen=yes", "frozen=yes needs a trained model"),
    ],
)
def test_impossible_options_are_named(spec, message):
    """One line that says what is wrong and what would be right."""
    with pytest.raises(ConfigError, match=message):
        build("predictors", spec)
