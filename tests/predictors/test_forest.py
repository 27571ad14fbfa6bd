"""Trees as arrays: the same predictions as the library that grew them, and nothing run."""

from __future__ import annotations

import numpy as np
import pytest

from predictors.boosting import Growth, Task, _of_sklearn, grow
from predictors.forest import Forest, ForestSet

pytestmark = pytest.mark.slow


def data(num=400):
    """Rows with steps, noise and a column that never changes."""
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(num, 5)).astype(np.float32)
    rows[:, 2] = -20
    target = np.where(rows[:, 0] > 0.3, 2.0, rows[:, 1]) + 0.1 * rng.normal(size=num)
    return rows, target


LOSSES = {None: "squared_error", 0.5: "absolute_error", 0.9: "quantile"}


@pytest.mark.parametrize("quantile", [None, 0.5, 0.9])
def test_a_forest_predicts_as_scikit_learn(quantile):
    """To 1e-9, on rows it was grown from and on others."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    rows, target = data()
    loss = LOSSES[quantile]
    model = HistGradientBoostingRegressor(
        loss=loss, quantile=quantile if loss == "quantile" else None, max_iter=8,
        max_leaf_nodes=7, early_stopping=False,
    ).fit(rows, target)  # fmt: skip
    other = np.concatenate([rows, rows * 1.7])
    assert (
        np.abs(_of_sklearn(model, np.arange(other.shape[1]))(other) - model.predict(other)).max()
        < 1e-9
    )


def test_growing_is_repeatable_and_rows_can_be_left_out():
    """Equal input, equal forest; rows left out teach nothing; a constant is learnt."""
    rows, target = data()
    odd = np.arange(len(rows)) % 2
    tasks = [Task(target), Task(np.where(odd, 5.0, 1.0), None, odd == 0), Task(0 * target + 3)]
    growth = Growth(trees=20)
    first, second = grow(rows, tasks, growth), grow(rows, tasks, growth)
    for one, other in zip(first, second, strict=True):
        assert np.array_equal(one(rows), other(rows))
    assert np.abs(first[0](rows) - target).mean() < 0.5 * np.abs(target - np.median(target)).mean()
    assert np.allclose(first[1](rows), 1.0)
    assert np.allclose(first[2](rows), 3.0)


def small():
    """Return the forest: left (1) if feature 0 is at most 0.5, else right (2); plus 10."""
    tree = {
        "feature": np.array([0, -1, -1]), "threshold": np.array([0.5, 0, 0]),
        "left": np.array([1, 0, 0]), "right": np.array([2, 0, 0]),
        "value": np.array([0.0, 1.0, 2.0]),
    }  # fmt: skip
    return Forest.join(10.0, [tree, tree])


def test_forests_of_many_tasks_are_those_of_each_alone():
    random = np.random.default_rng(8)
    rows = random.normal(size=(900, 6)).astype(np.float32)
    tasks = [Task(rows[:, 0] * 2.0), Task(rows[:, 1] - rows[:, 2], 0.9), Task(rows[:, 3], None)]
    growth = Growth(trees=12, seed=3)
    for forest, task in zip(grow(rows, tasks, growth), tasks, strict=True):
        (alone,) = grow(rows, [task], growth)
        assert (forest(rows) == alone(rows)).all()


def test_features_that_never_differ_are_left_out():
    random = np.random.default_rng(9)
    rows = np.full((500, 5), 7.0, dtype=np.float32)
    rows[:, [1, 3]] = random.normal(size=(500, 2))
    task = Task(rows[:, 3] + 2.0 * rows[:, 1])
    (forest,) = grow(rows, [task], Growth(trees=20))
    (narrow,) = grow(rows[:, [1, 3]].copy(), [task], Growth(trees=20))
    assert set(forest.feature.tolist()) == {-1, 1, 3}
    assert (forest(rows) == narrow(rows[:, [1, 3]])).all()
    (none,) = grow(np.ones((50, 3), dtype=np.float32), [Task(np.arange(50.0))], Growth())
    assert np.ptp(none(rows[:, :3])) == 0


def test_bins_are_made_once_for_all_tasks(monkeypatch):
    from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper

    made, fit = [], _BinMapper.fit

    def counted(self, rows, *more, **named):
        made.append(rows.shape)
        return fit(self, rows, *more, **named)

    monkeypatch.setattr(_BinMapper, "fit", counted)
    rows = np.random.default_rng(8).normal(size=(400, 3)).astype(np.float32)
    few = Task(rows[:, 1].astype(float), taught_by=rows[:, 2] > 0)
    grow(rows, [few, Task(rows[:, 0].astype(float))], Growth(trees=2))
    assert made == [(400, 3)]


def test_a_tree_by_hand():
    """10 + twice 1 or 2; the threshold itself goes left."""
    rows = np.array([[0.0], [0.5], [0.6]], dtype=np.float32)
    assert small()(rows).tolist() == [12.0, 12.0, 14.0]
    assert Forest.restore(small().state(), 1)(rows).tolist() == [12.0, 12.0, 14.0]


def test_a_set_asks_every_forest():
    """One column for each, the same as each by itself."""
    rows, target = data()
    forests = [small(), *grow(rows, [Task(target), Task(-target)], Growth(trees=5))]
    said = ForestSet.join(forests)(rows)
    assert said.shape == (len(rows), 3)
    for column, forest in zip(said.T, forests, strict=True):
        assert np.array_equal(column, forest(rows))


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
        Forest.restore({**small().state(), name: value}, 1)
