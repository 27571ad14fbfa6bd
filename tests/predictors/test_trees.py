"""Trees of scikit-learn: fitted to several targets, saved as data, and nothing run to load them."""

import io
import json
import zipfile

import numpy as np
import pytest
import sklearn
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from skops import io as skops_io

from predictors import trees
from predictors.trees import Trees, fit

pytestmark = pytest.mark.slow


def data(num=400):
    """Rows with steps, noise and a column that never changes."""
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(num, 5)).astype(np.float32)
    rows[:, 2] = -20
    target = np.where(rows[:, 0] > 0.3, 2.0, rows[:, 1]) + 0.1 * rng.normal(size=num)
    return rows, target


def test_predictions_are_those_of_scikit_learn():
    """The median and a quantile, each as of a regressor of the same settings."""
    rows, target = data()
    predictions = fit(rows, [(target, 0.5), (target, 0.9)], trees=8, seed=3)(rows * 1.7)
    settings = {"max_leaf_nodes": 15, "max_features": 0.5, "max_bins": 63, "random_state": 3}
    losses = ({"loss": "absolute_error"}, {"loss": "quantile", "quantile": 0.9})
    for column, loss in zip(predictions.T, losses, strict=True):
        regressor = HistGradientBoostingRegressor(
            max_iter=8, learning_rate=0.08, early_stopping=False, **settings, **loss
        )
        regressor.fit(rows[:, [0, 1, 3, 4]], target)
        assert np.array_equal(column, regressor.predict(rows[:, [0, 1, 3, 4]] * np.float32(1.7)))


def test_equal_input_gives_equal_predictions():
    """Also if one target of two is fitted alone; a constant is learnt."""
    rows, target = data()
    tasks = [(target, 0.5), (0 * target + 3, 0.9)]
    predictions = fit(rows, tasks, trees=20)(rows)
    assert np.array_equal(predictions, fit(rows, tasks, trees=20)(rows))
    assert np.array_equal(predictions[:, :1], fit(rows, tasks[:1], trees=20)(rows))
    error = np.abs(predictions[:, 0] - target).mean()
    assert error < 0.5 * np.abs(target - np.median(target)).mean()
    assert np.allclose(predictions[:, 1], 3.0)


def test_constant_features_change_nothing():
    """Neither among others, nor if all are constant."""
    rows, target = data()
    others = rows.copy()
    others[:, 2] = 1e6
    forecast = fit(rows, [(target, 0.5)], trees=20)
    assert np.array_equal(forecast(rows), forecast(others))
    constant = fit(np.ones((50, 3), dtype=np.float32), [(np.arange(50.0), 0.5)], trees=3)
    assert np.ptp(constant(rows[:, :3])) == 0


def saved():
    """Return small trees and their state."""
    rows, target = data()
    forecast = fit(rows, [(target, 0.5), (target, 0.9)], trees=2)
    return forecast, forecast.state()


def test_saved_trees_predict_the_same():
    """And are saved as the same bytes again."""
    forecast, state = saved()
    rows, _ = data()
    restored = Trees.restore(state, 5)
    assert np.array_equal(restored(rows), forecast(rows))
    assert restored.state()["skops"].tobytes() == state["skops"].tobytes()


class Bomb:
    def __init__(self):
        self.fuse = 1

    def __setstate__(self, state):
        pytest.fail("loading ran code")


def bytes_of(model):
    return np.frombuffer(skops_io.dumps(model), dtype=np.uint8)


def changed(state, old, new):
    """Return saved trees with another word in the description of their types."""
    schema, source = "schema.json", io.BytesIO(state["skops"].tobytes())
    target = io.BytesIO()
    with zipfile.ZipFile(source) as before, zipfile.ZipFile(target, "w") as after:
        for name in before.namelist():
            text = before.read(name)
            if name == schema:
                assert old.encode() in text
                text = text.replace(old.encode(), new.encode())
            after.writestr(name, text)
    return np.frombuffer(target.getvalue(), dtype=np.uint8)


def flipped(state):
    """Return saved trees with a byte of an array changed."""
    broken = state["skops"].copy()
    with zipfile.ZipFile(io.BytesIO(broken.tobytes())) as archive:
        largest = max(archive.infolist(), key=lambda member: member.file_size)
    broken[largest.header_offset + 300] ^= 0xFF
    return broken


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda _: bytes_of([Bomb()]), r"holds the type '.*test_trees\.Bomb', which no model has"),
        (lambda state: changed(state, '"TreePredictor"', '"Popen"'), r"holds the type '.*\.Popen'"),
        (
            lambda state: changed(
                state, json.dumps(json.dumps(sklearn.__version__)), json.dumps('"1.2.3"')
            ),
            rf"of scikit-learn 1\.2\.3, this is {sklearn.__version__}. Train it again.",
        ),
        (lambda _: bytes_of([1]), "other content than trees"),
        (lambda _: bytes_of({"a": 1}), "other content than trees"),
        (lambda _: bytes_of([LinearRegression()]), "other content than trees"),
        (lambda _: bytes_of([HistGradientBoostingRegressor()]), "not fitted yet"),
        (lambda state: state["skops"][:-40], "zip"),
        (flipped, "CRC"),
        (lambda state: state["skops"].astype(float), "trees are damaged"),
    ],
)
def test_what_is_no_trees_is_refused(make, message):
    """With one line, before anything of it is run."""
    _, state = saved()
    with pytest.raises(ValueError, match=message) as caught:
        Trees.restore({**state, "skops": make(state)}, 5)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (np.array([0, 1, 3, 5]), "features beyond 5"),
        (np.array([-1, 1, 3, 4]), "features beyond 5"),
        (np.array([0, 1]), "X has 2 features"),
        (np.zeros((2, 2), dtype=np.int64), "trees are damaged"),
        (np.array([0.0, 1.0, 3.0, 4.0]), "trees are damaged"),
    ],
)
def test_columns_that_do_not_fit_the_trees_are_refused(columns, message):
    """Trees of four features need the columns of four."""
    _, state = saved()
    with pytest.raises(ValueError, match=message):
        Trees.restore({**state, "columns": columns}, 5)


def test_trees_of_too_many_bytes_are_refused(monkeypatch):
    """Before they are unpacked."""
    _, state = saved()
    monkeypatch.setattr(trees, "_MAX_BYTES", 1000)
    with pytest.raises(ValueError, match="more than the 1,000 expected"):
        Trees.restore(state, 5)
