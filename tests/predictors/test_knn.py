"""Distributions of runtimes of jobs alike."""

import numpy as np
import pytest

from cpsched.checks.predictor_tools import sample
from cpsched.model.prediction import HORIZONS, LEVELS
from cpsched.study.prediction.evaluation import evaluate
from cpsched.study.prediction.replay import starts_of
from predictors.knn import distributions


def test_quantiles_agree_with_chances_and_plans_with_requests():
    """A level up to the chance of a horizon is within it, one above is beyond; up to the request."""
    fitted = sample(600)
    evaluation = evaluate(fitted, starts_of(fitted), "knn")
    requested = fitted.workload.requested_time[evaluation.rows]
    levels = np.array(LEVELS)
    assert (evaluation.runtime_estimate == requested).all()
    assert (evaluation.runtime_bound == requested).all()
    assert (evaluation.ranking_estimate != requested).any()
    assert (np.diff(evaluation.quantiles, axis=1) >= 0).all()
    assert (evaluation.quantiles <= requested[:, None]).all()
    for place, horizon in enumerate(HORIZONS):
        chance = evaluation.ends_within[:, place][:, None]
        below = evaluation.quantiles <= horizon
        assert below[levels < chance - 1e-6].all()
        assert not below[(levels > chance + 1e-6) & (requested > horizon)[:, None]].any()
        assert (evaluation.ends_within[requested <= horizon, place] == 1).all()


def test_a_distribution_by_hand():
    """
    Likely: 10 s, 100 s and 1,000 s, equally; a request of 1,000 s.

    A third ends within a minute, two thirds within ten, all in an hour.
    """
    likely = np.array([[10.0, 100, 1000]]), np.ones((1, 3))
    quantiles, chances, typical = distributions(*likely, np.array([1000]))
    assert chances[0] == pytest.approx([1 / 3, 2 / 3, 1])
    assert quantiles[0].tolist() == [10, 10, 10, 100, 100, 100, 1000, 1000, 1000]
    # Mean 370 s; mean of 1 / r: 0.037.
    assert typical[0] == pytest.approx(100)


def test_a_job_that_asks_for_less_than_a_minute_may_end_anywhere_in_it():
    """A weight of a tenth lies evenly in the logarithm up to the request: a sixth of it at 10 s."""
    quantiles, chances, _ = distributions(np.array([[40.0]]), np.array([[0.5]]), np.array([50]))
    assert quantiles[0].tolist() == [10, *[40] * 8]
    assert chances[0].tolist() == [1, 1, 1]
