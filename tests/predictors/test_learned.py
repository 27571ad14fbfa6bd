"""Learned predictors: the shipped checks, refits, and what they answer before and after."""

from __future__ import annotations

import numpy as np
import pytest

from cpsched.base import registry
from cpsched.base.spec import build
from cpsched.errors import ConfigError
from cpsched.simulation.simulate import Checkpoint, simulate
from predictors.calibration import Coverage
from predictors.check_tools import sample
from predictors.checks import CHECKS
from predictors.evaluation import evaluate
from predictors.features import FEATURES
from predictors.learned import Learned
from predictors.replay import starts_of

pytestmark = pytest.mark.slow

POINTS = ("gbm-log", "gbm-quantile")
BOOSTED = (*POINTS, "gbm-classes")
#: So small that a model is fitted within the 400 jobs of the checks, and memory is soon full.
SMALL = "trees=3,start=100,window=300,limit=150"


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", BOOSTED)
def test_boosted_predictors_keep_the_contract(name, check):
    """Everything that is promised of predictors, while models come and go."""
    check(lambda: build("predictors", f"{name}:{SMALL}"))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("loss", ["share", "paper"])
def test_linear_keeps_the_contract(loss, check):
    """The same for the one that learns job by job."""
    check(lambda: build("predictors", f"linear:start=100,limit=150,loss={loss}"))


def test_no_learned_predictor_is_forgotten():
    """Whatever is registered and learns is checked above."""
    learners = {
        name
        for name in registry.names("predictors")
        if isinstance(registry.load("predictors", name), type)
        and issubclass(registry.load("predictors", name), Learned)
    }
    assert learners == {*BOOSTED, "linear"}


@pytest.mark.parametrize("name", [*POINTS, "linear"])
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


@pytest.mark.parametrize("name", BOOSTED)
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
    done = evaluate(
        fitted, starts_of(fitted), "gbm-quantile:trees=30,start=100,window=1500", warmup=0.33
    )
    assert 0.06 < done.overall.bound_exceeded < 0.14
    # 0.6 lie below the plan; those cut at the requested time cannot lie above it.
    assert 0.25 < done.overall.under < 0.45
    assert (done.runtime_bound >= done.runtime_estimate).all()


def test_learned_is_better_than_the_request():
    """On a log of habits, the model is nearer than the request."""
    fitted = sample(1500)
    starts = starts_of(fitted)
    request = evaluate(fitted, starts, "requested").overall
    options = "trees=40,start=200,window=1500"
    for spec in (f"gbm-log:{options}", "linear"):
        learned = evaluate(fitted, starts, spec).overall
        assert learned.mean_error_s < 0.8 * request.mean_error_s


@pytest.mark.parametrize("name", [*BOOSTED, "linear"])
def test_a_killed_simulation_goes_on_to_the_same(name, tmp_path):
    """A checkpoint written at every step, given up in the middle, taken up by a new predictor."""
    fitted = sample(150)
    options = "start=30" if name == "linear" else "trees=3,start=30,window=120,refit=0.02"
    whole = simulate(fitted, dispatcher="easy:backfill=sjf", predictor=f"{name}:{options}")

    class EnoughError(Exception):
        pass

    class Stop:
        def __init__(self):
            self.left = 90

        def on_start(self, *_):
            self.left -= 1
            if not self.left:
                raise EnoughError

    path = tmp_path / "state.npz"
    arguments = {"dispatcher": "easy:backfill=sjf", "predictor": f"{name}:{options}"}
    keep = Checkpoint(path, 0.0)
    with pytest.raises(EnoughError):
        simulate(fitted, **arguments, checkpoint=keep, observers=[_observer(Stop())])
    assert path.exists()
    again = simulate(fitted, **arguments, checkpoint=keep)
    assert np.array_equal(whole.schedule.start, again.schedule.start)
    assert whole.predictions == again.predictions
    assert whole.predictions["answered by the model"] > 20


def _observer(inner):
    from cpsched.simulation.observers import Observer

    class Watching(Observer):
        def on_start(self, *rest):
            inner.on_start(*rest)

    return Watching()


def test_features_are_named_and_never_missing():
    """One finite number for each name, for jobs of users known and unknown."""
    seen = []

    class Looks(Learned):
        name = "looks"
        ready = True

        def score(self, rows):
            seen.append(rows)
            return np.zeros((len(rows), 1))

        def answer(self, scores):
            from predictors.learned import Answers

            return Answers(scores[0], scores[0], scores[0])

        def fit(self, window):
            pass

        def forget(self):
            pass

        def models(self):
            return {}

        def restore_models(self, state):
            pass

    fitted = sample()
    evaluate(fitted, starts_of(fitted), Looks())
    rows = np.concatenate(seen)
    assert rows.shape == (len(fitted.workload), len(FEATURES))
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
        ("gbm-log:start=0", "start is 0, must be from 1 to window"),
        ("gbm-log:start=10,window=5", "must be from 1 to window, which is 5"),
        ("gbm-log:trees=0", "trees is 0, must be from 1 to 10000"),
        ("gbm-log:refit=0", "refit is 0.0 days, must be more than 0"),
        ("gbm-log:frozen=yes", "frozen needs a trained model"),
        ("linear:rate=0", "rate is 0.0, must be more than 0"),
        ("linear:loss=squared", "loss is 'squared', must be one of share, paper"),
    ],
)
def test_impossible_options_are_named(spec, message):
    """One line that says what is wrong and what would be right."""
    with pytest.raises(ConfigError, match=message):
        build("predictors", spec)
