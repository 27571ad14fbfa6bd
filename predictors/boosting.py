"""
Growing boosted trees: one call, two libraries.

scikit-learn's histogram booster comes with the package; LightGBM is used when it is installed,
because it grows trees faster. Both give a :class:`~predictors.forest.Forest`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from predictors.forest import Forest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.base.types import AnyArray, BoolArray, FloatArray, IntArray
    from predictors.shared_bins import SharedBins

BACKENDS = ("auto", "sklearn", "lightgbm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """
    How trees are grown.

    Attributes
    ----------
    trees, leaves, rate, min_leaf
        Their number, the leaves and the jobs of a leaf at least, and the learning rate.
    share
        Of the features that are looked at: drawn for each tree (LightGBM) or each split
        (scikit-learn). A half is as accurate as all of them, and takes half of the time.
    bins
        Values a feature is rounded to while trees grow; a quarter of the libraries' default is as
        accurate.
    seed
        Of the library's random numbers, which draw features.
    """

    trees: int = 100
    leaves: int = 15
    rate: float = 0.08
    min_leaf: int = 20
    share: float = 0.5
    bins: int = 63
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """
    What a forest is to learn.

    Attributes
    ----------
    target
        float64, shape ``(n,)``.
    quantile
        Of the target; 0.5 is the median, that is least absolute error. None: its mean.
    taught_by
        Which rows to learn from, booleans of shape ``(n,)``, not all False; None: all.
    chance
        Whether the target is 0 or 1, and the logarithm of the odds of 1 is learnt (log loss).
    """

    target: FloatArray
    quantile: float | None = 0.5
    taught_by: BoolArray | None = None
    chance: bool = False


def choose(backend: str) -> str:
    """
    Return the library to use: ``sklearn`` or ``lightgbm``.

    Raises
    ------
    ValueError
        If the name is none, or LightGBM is asked for and cannot be imported.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend is '{backend}', must be one of {', '.join(BACKENDS)}")
    if backend == "sklearn":
        return backend
    if _can_be_imported("lightgbm"):
        return "lightgbm"
    if backend == "auto":
        return "sklearn"
    raise ValueError(
        "backend is 'lightgbm', which is not installed, or cannot be imported (a library it needs"
        " may be missing); it is an extra of cpsched"
    )


@lru_cache(maxsize=1)
def _can_be_imported(name: str) -> bool:
    try:
        import_module(name)
    except (ImportError, OSError):
        return False
    return True


def grow(backend: str, rows: AnyArray, tasks: Sequence[Task], growth: Growth) -> list[Forest]:
    """
    Grow a forest for each task, on one core; equal input gives equal forests.

    Parameters
    ----------
    backend
        As :func:`choose` returns it.
    rows
        Features, float32, shape ``(n, F)``, without missing values.
    """
    forests = [_certain(task) for task in tasks]
    open_tasks = [task for task, certain in zip(tasks, forests, strict=True) if certain is None]
    if not open_tasks:
        grown: list[Forest] = []
    elif backend == "lightgbm":
        grown = _grow_lightgbm(rows, open_tasks, growth)
    else:
        from predictors.shared_bins import SharedBins

        bins = SharedBins(rows)
        grown = [_grow_sklearn(bins, task, growth) for task in open_tasks]
    left = iter(grown)
    return [next(left) if forest is None else forest for forest in forests]


def _certain(task: Task) -> Forest | None:
    """Return a forest that says what all rows say, where a chance is to be learnt from such."""
    if not task.chance:
        return None
    target = task.target if task.taught_by is None else task.target[task.taught_by]
    if target.min() != target.max():
        return None
    # As if one more row said the other.
    odds = float(np.log((target.sum() + 0.5) / (len(target) - target.sum() + 0.5)))
    leaf = {"feature": -1, "threshold": 0.0, "left": 0, "right": 0, "value": 0.0}
    return Forest.join(odds, [{name: np.array([value]) for name, value in leaf.items()}])


def _grow_sklearn(bins: SharedBins, task: Task, growth: Growth) -> Forest:
    from threadpoolctl import threadpool_limits

    from predictors.shared_bins import BinnedBooster, BinnedClassifier

    if task.chance:
        make: Any = BinnedClassifier
    else:
        losses = {None: "squared_error", 0.5: "absolute_error"}
        loss = losses.get(task.quantile, "quantile")
        quantile = task.quantile if loss == "quantile" else None
        make = partial(BinnedBooster, loss=loss, quantile=quantile)
    model = make(
        learning_rate=growth.rate,
        max_iter=growth.trees,
        max_leaf_nodes=growth.leaves,
        min_samples_leaf=growth.min_leaf,
        max_features=growth.share,
        max_bins=growth.bins,
        early_stopping=False,
        random_state=growth.seed % 2**32,
    )
    # Not by weights: with them it takes eighteen times as long.
    chosen = slice(None) if task.taught_by is None else task.taught_by
    with threadpool_limits(limits=1):
        model.fit_binned(bins, task.target[chosen], chosen)
    return _of_sklearn(model, bins.kept)


def _of_sklearn(model: Any, kept: IntArray) -> Forest:
    """Read the trees out of a model of these features."""
    trees = []
    for (grown,) in model._predictors:
        nodes = grown.nodes
        leaf = nodes["is_leaf"].astype(np.bool_)
        tree = {
            "feature": np.where(leaf, -1, kept[nodes["feature_idx"].astype(np.int64)]),
            "threshold": np.where(leaf, 0.0, nodes["num_threshold"]),
            "left": np.where(leaf, 0, nodes["left"]),
            "right": np.where(leaf, 0, nodes["right"]),
            "value": np.where(leaf, nodes["value"], 0.0),
        }
        trees.append(tree)
    return Forest.join(float(model._baseline_prediction.item()), trees)


def _grow_lightgbm(rows: AnyArray, tasks: Sequence[Task], growth: Growth) -> list[Forest]:
    import lightgbm

    common = {
        "learning_rate": growth.rate,
        "num_leaves": growth.leaves,
        "min_data_in_leaf": growth.min_leaf,
        "feature_fraction": growth.share,
        "max_bin": growth.bins,
        "feature_pre_filter": False,
        "seed": growth.seed % 2**31,
        "deterministic": True,
        "force_col_wise": True,
        "num_threads": 1,
        "verbosity": -1,
    }
    # Binning the features takes longer than a few trees: once for all tasks.
    data = lightgbm.Dataset(rows, label=tasks[0].target, params=common, free_raw_data=False)
    forests = []
    for task in tasks:
        data.set_label(task.target)
        chosen = np.True_ if task.taught_by is None else task.taught_by
        data.set_weight(np.ones(len(rows)) * chosen)
        objective: dict[str, Any] = {"objective": "regression"}
        if task.chance:
            objective = {"objective": "binary"}
        elif task.quantile == 0.5:
            objective = {"objective": "regression_l1"}
        elif task.quantile is not None:
            objective = {"objective": "quantile", "alpha": task.quantile}
        model = lightgbm.train({**common, **objective}, data, num_boost_round=growth.trees)
        forests.append(_of_lightgbm(model.model_to_string()))
    return forests


def _of_lightgbm(text: str) -> Forest:
    """Read the trees out of LightGBM's own text format."""
    trees = []
    for part in text.split("\nTree=")[1:]:
        lines = (line.partition("=") for line in part.splitlines() if "=" in line)
        trees.append(_tree_of_lightgbm({key: value for key, _, value in lines}))
    return Forest.join(0.0, trees)


def _tree_of_lightgbm(fields: Mapping[str, str]) -> dict[str, AnyArray]:
    """Put a tree's inner nodes first, then its leaves, which its text numbers -1, -2, ..."""
    value = np.array(fields["leaf_value"].split(), dtype=np.float64)
    inner = int(fields["num_leaves"]) - 1

    def column(name: str, kind: type) -> AnyArray:
        return np.array(fields.get(name, "").split() if inner else [], dtype=kind)

    def children(name: str) -> AnyArray:
        child = column(name, np.int64)
        return np.concatenate([np.where(child < 0, inner - 1 - child, child), leaves])

    leaves = np.zeros(len(value), dtype=np.int64)
    return {
        "feature": np.concatenate([column("split_feature", np.int64), leaves - 1]),
        "threshold": np.concatenate([column("threshold", np.float64), leaves]),
        "left": children("left_child"),
        "right": children("right_child"),
        "value": np.concatenate([np.zeros(inner), value]),
    }
