"""Trees as arrays: the same predictions as the library that grew them, and nothing run."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from predictors.boosting import grow, of_sklearn
from predictors.forest import Forest

pytestmark = pytest.mark.slow


def data(num=400):
    """Rows with steps, noise and a column that never changes."""
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(num, 5)).astype(np.float32)
    rows[:, 2] = -20
    target = np.where(rows[:, 0] > 0.3, 2.0, rows[:, 1]) + 0.1 * rng.normal(size=num)
    return rows, target


@pytest.mark.parametrize(
    "loss", [{"loss": "absolute_error"}, {"loss": "quantile", "quantile": 0.9}]
)
def test_a_forest_predicts_as_scikit_learn(loss):
    """To 1e-9, on rows it was grown from and on others."""
    rows, target = data()
    model = HistGradientBoostingRegressor(
        **loss, max_iter=8, max_leaf_nodes=7, early_stopping=False
    ).fit(rows, target)
    other = np.concatenate([rows, rows * 1.7])
    found = of_sklearn(model, np.arange(other.shape[1]))(other)
    assert np.abs(found - model.predict(other)).max() < 1e-9


def test_growing_is_repeatable():
    """Equal input, equal forest; a constant is learnt."""
    rows, target = data()
    tasks = [(target, 0.5), (0 * target + 3, 0.5)]
    first, second = grow(rows, tasks, trees=20), grow(rows, tasks, trees=20)
    for one, other in zip(first, second, strict=True):
        assert np.array_equal(one(rows), other(rows))
    assert np.abs(first[0](rows) - target).mean() < 0.5 * np.abs(target - np.median(target)).mean()
    assert np.allclose(first[1](rows), 3.0)


def small():
    """Return the forest, twice: left (1) if feature 0 is at most 0.5, else right (2); plus 10."""
    return Forest(
        base=10.0,
        root=np.array([0, 3]),
        feature=np.array([0, -1, -1, 0, -1, -1]),
        threshold=np.array([0.5, 0, 0, 0.5, 0, 0]),
        left=np.array([1, 0, 0, 4, 3, 3]),
        right=np.array([2, 0, 0, 5, 3, 3]),
        value=np.array([0.0, 1, 2, 0, 1, 2]),
    )


def test_forests_of_many_tasks_are_those_of_each_alone():
    random = np.random.default_rng(8)
    rows = random.normal(size=(900, 6)).astype(np.float32)
    tasks = [(rows[:, 0] * 2.0, 0.5), (rows[:, 1] - rows[:, 2], 0.9)]
    for forest, task in zip(grow(rows, tasks, trees=12, seed=3), tasks, strict=True):
        (alone,) = grow(rows, [task], trees=12, seed=3)
        assert (forest(rows) == alone(rows)).all()


def test_features_that_never_differ_are_left_out():
    random = np.random.default_rng(9)
    rows = np.full((500, 5), 7.0, dtype=np.float32)
    rows[:, [1, 3]] = random.normal(size=(500, 2))
    task = (rows[:, 3] + 2.0 * rows[:, 1], 0.5)
    (forest,) = grow(rows, [task], trees=20)
    (narrow,) = grow(rows[:, [1, 3]].copy(), [task], trees=20)
    assert set(forest.feature.tolist()) == {-1, 1, 3}
    assert (forest(rows) == narrow(rows[:, [1, 3]])).all()
    (none,) = grow(np.ones((50, 3), dtype=np.float32), [(np.arange(50.0), 0.5)], trees=3)
    assert np.ptp(none(rows[:, :3])) == 0


def test_bins_are_made_once_for_all_tasks(monkeypatch):
    from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper

    made, fit = [], _BinMapper.fit

    def counted(self, rows, *more, **named):
        made.append(rows.shape)
        return fit(self, rows, *more, **named)

    monkeypatch.setattr(_BinMapper, "fit", counted)
    rows = np.random.default_rng(8).normal(size=(400, 3)).astype(np.float32)
    grow(rows, [(rows[:, column].astype(float), 0.5) for column in (0, 1)], trees=2)
    assert made == [(400, 3)]


def test_a_tree_by_hand():
    """10 + twice 1 or 2; the threshold itself goes left."""
    rows = np.array([[0.0], [0.5], [0.6]], dtype=np.float32)
    assert small()(rows).tolist() == [12.0, 12.0, 14.0]
    assert Forest.restore(small()._asdict(), 1)(rows).tolist() == [12.0, 12.0, 14.0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("left", np.array([0, 0, 0, 4, 0, 0])),  # to itself: would never end
        ("right", np.array([9, 0, 0, 5, 0, 0])),  # beyond the nodes
        ("feature", np.array([1, -1, -1, 0, -1, -1])),  # no such feature
        ("feature", np.array([-2, -1, -1, 0, -1, -1])),
        ("value", np.array([0, np.nan, 2, 0, 1, 2])),
        ("value", np.array([0, 1, 2])),
        ("threshold", np.full(6, np.nan)),
        ("root", np.array([0, 6])),
        ("root", np.array([-1])),
        ("base", np.inf),
    ],
)
def test_what_is_no_forest_is_refused(name, value):
    """So that walking a loaded one ends, within its arrays."""
    with pytest.raises(ValueError, match="not a forest over 1 features"):
        Forest.restore({**small()._asdict(), name: value}, 1)
