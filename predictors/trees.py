"""
Gradient boosted trees of scikit-learn, and their form in model files and checkpoints.

Only the public interface of scikit-learn is used. The saved form is the one of skops: data, which
name their types. Loading them calls nothing but the types listed here.
"""

from __future__ import annotations

import io
import warnings
import zipfile
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import InconsistentVersionWarning
from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from cpsched.util.types import AnyArray, FloatArray, IntArray

#: Settings of the trees. A random half of the features for each split is as accurate as all of
#: them in half of the time. So is a quarter of the default number of bins.
_SETTINGS = {
    "learning_rate": 0.08,
    "max_leaf_nodes": 15,
    "min_samples_leaf": 20,
    "max_features": 0.5,
    "max_bins": 63,
    "early_stopping": False,
}
#: Types that are loaded in addition to those that skops trusts: numbers, arrays, containers, and
#: the estimators, losses and bins of scikit-learn.
TRUSTED = ("sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",)
#: Maximum bytes of saved trees, unpacked.
_MAX_BYTES = 2**30


class Trees:
    """
    Fitted regressors of the same features.

    Parameters
    ----------
    columns
        Features that the regressors use, int64.
    regressors
        Fitted to these columns, one for each task.
    """

    def __init__(
        self, columns: IntArray, regressors: Sequence[HistGradientBoostingRegressor]
    ) -> None:
        self._columns = columns
        self._regressors = list(regressors)
        self._saved: AnyArray | None = None

    def __len__(self) -> int:
        """Return the number of regressors."""
        return len(self._regressors)

    def __call__(self, rows: AnyArray) -> FloatArray:
        """
        Return the prediction of each regressor for each row, float64, shape ``(n, len(self))``.

        Parameters
        ----------
        rows
            Features, float32, shape ``(n, F)``, without missing values.
        """
        used = rows[:, self._columns]
        with _one_thread():
            return np.column_stack([regressor.predict(used) for regressor in self._regressors])

    def state(self) -> dict[str, Any]:
        """Return the columns, and the regressors as the bytes that skops writes."""
        if self._saved is None:
            from skops import io as skops_io

            self._saved = np.frombuffer(skops_io.dumps(self._regressors), dtype=np.uint8)
        return {"columns": self._columns, "skops": self._saved}

    @classmethod
    def restore(cls, state: Mapping[str, Any], num_features: int) -> Trees:
        """
        Return the trees that :meth:`state` described.

        Raises
        ------
        ValueError
            If the state is damaged, holds a type that trees do not have, or was written with
            another version of scikit-learn; on one line.
        """
        columns, saved = state["columns"], state["skops"]
        if columns.ndim != 1 or columns.dtype != np.int64 or saved.dtype != np.uint8:
            raise ValueError("its decision trees are damaged. Train the model again")
        if not ((columns >= 0) & (columns < num_features)).all():
            raise ValueError(f"its trees use features beyond {num_features}")
        trees = cls(columns, _loaded(saved.tobytes(), len(columns)))
        trees._saved = saved
        return trees


def fit(
    rows: AnyArray, tasks: Sequence[tuple[FloatArray, float]], *, trees: int = 100, seed: int = 0
) -> Trees:
    """
    Fit a regressor for each task on one core; equal input gives equal predictions.

    Parameters
    ----------
    rows
        Features, float32, shape ``(n, F)``, without missing values.
    tasks
        The target of each regressor, float64, shape ``(n,)``, and the quantile of it to predict.
        0.5 is the median: least absolute error.
    trees
        Trees of each regressor.
    seed
        Of the random choice of features.
    """
    # Constant features only cost time.
    varying = np.flatnonzero((rows != rows[0]).any(axis=0))
    columns = varying if len(varying) else np.zeros(1, dtype=np.int64)
    used = rows[:, columns]
    regressors = []
    for target, quantile in tasks:
        loss = {"loss": "absolute_error"} if quantile == 0.5 else {"quantile": quantile}
        settings = {"loss": "quantile", **_SETTINGS, **loss}
        regressor = HistGradientBoostingRegressor(
            max_iter=trees, random_state=seed % 2**32, **settings
        )
        with _one_thread():
            regressors.append(regressor.fit(used, target))
    return Trees(columns, regressors)


@cache
def _threads() -> ThreadpoolController:
    """Return the thread pools of this process; finding them takes longer than a prediction."""
    return ThreadpoolController()


def _one_thread() -> AbstractContextManager[Any]:
    """Limit scikit-learn to one core: more of them slow down small predictions."""
    limit: AbstractContextManager[Any] = _threads().limit(limits=1)
    return limit


def _loaded(saved: bytes, num_columns: int) -> list[HistGradientBoostingRegressor]:
    """Return the regressors of these bytes; raise ValueError if they are something else."""
    from skops import io as skops_io

    try:
        with zipfile.ZipFile(io.BytesIO(saved)) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > _MAX_BYTES:
            raise ValueError(
                f"its trees take {size:,} bytes, more than the {_MAX_BYTES:,} expected"
            )
        unknown = set(skops_io.get_untrusted_types(data=saved)) - set(TRUSTED)
        if unknown:
            raise ValueError(f"it holds the type '{min(unknown)}', which no model has")
        with warnings.catch_warnings():
            warnings.simplefilter("error", InconsistentVersionWarning)
            regressors = skops_io.loads(saved, trusted=TRUSTED)
        _check(regressors, num_columns)
    except InconsistentVersionWarning as error:
        raise ValueError(
            f"its trees are of scikit-learn {error.original_sklearn_version}, this is"
            f" {error.current_sklearn_version}. Train it again."
        ) from error
    except Exception as error:
        # Damaged members raise almost anything: zipfile.BadZipFile, zlib.error, KeyError, ...
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ValueError(reason) from error
    return list(regressors)


def _check(regressors: object, num_columns: int) -> None:
    """Raise ValueError where these are not regressors that predict from so many columns."""
    if not isinstance(regressors, list) or not all(
        type(regressor) is HistGradientBoostingRegressor for regressor in regressors
    ):
        raise ValueError("it contains other content than trees")
    row = np.zeros((1, num_columns), dtype=np.float32)
    for regressor in regressors:
        with _one_thread():
            regressor.predict(row)
