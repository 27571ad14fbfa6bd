"""A regressor of one's own, made a predictor: ``from_estimator(...)``."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.api.errors import ConfigError
from predictors.features import FEATURES
from predictors.learned import Learned
from predictors.remembered import LIMIT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.api.model import AnyArray, FloatArray
    from predictors.window import Window


def from_estimator(
    estimator: Any,
    *,
    name: str | None = None,
    refit: float = 7.0,
    start: int = 500,
    window: int = 20_000,
    prefix: str = "stem",
    limit: int = LIMIT,
) -> Learned:
    """
    Make a predictor of a regressor with the methods of scikit-learn's.

    It learns the natural logarithm of the runtime in seconds; ``exp`` of what it predicts is the
    answer, and the bound is as of ``gbm-log``. It sees rows of the features
    :data:`predictors.features.FEATURES`, float64, none of them missing.

    Parameters
    ----------
    estimator
        Has ``fit(X, y)`` and ``predict(X)``. Copied for every fit, never fitted itself. Equal runs
        are equal if it is deterministic: give it a ``random_state``.
    name
        What tables call it; its class where None.
    refit, start, window, prefix, limit
        As for ``gbm-log``.

    Raises
    ------
    ConfigError
        If it lacks a method, or an option is impossible; later, if what it predicts is not one
        finite number for each job.
    """
    kind = type(estimator).__name__
    if isinstance(estimator, type):
        raise ConfigError(f"is the class {estimator.__name__}, must be an instance: "
                          f"{estimator.__name__}()", key="estimator")  # fmt: skip
    for method in ("fit", "predict"):
        if not callable(getattr(estimator, method, None)):
            raise ConfigError(
                f"{kind} has no method '{method}', must be a regressor like those of scikit-learn",
                key="estimator",
            )
    if hasattr(estimator, "predict_proba"):
        raise ConfigError(
            f"{kind} is a classifier, must be a regressor: it learns logarithms of runtimes",
            key="estimator",
        )
    try:
        made = Estimated(estimator, refit, start, window, prefix, limit)
    except ValueError as error:
        raise ConfigError(str(error), key="from_estimator") from None
    made.name = name or kind
    return made


class Estimated(Learned):
    """Predicts by an estimator; parameters as of :func:`from_estimator`."""

    def __init__(
        self,
        estimator: Any,
        refit: float = 7.0,
        start: int = 500,
        window: int = 20_000,
        prefix: str = "stem",
        limit: int = LIMIT,
    ) -> None:
        self._estimator = estimator
        super().__init__(None, False, refit, start, window, prefix, limit)

    def fitted(self, window: Window) -> Taught:
        """Fit a copy of it to the newest completions."""
        cut = np.minimum(window.runtime, window.requested_time)
        return self._taught(window.features.copy(), np.log(np.maximum(cut, 1)))

    def restored(self, state: Mapping[str, Any]) -> Taught:
        """Fit it again."""
        rows, target = np.array(state["rows"]), np.array(state["target"])
        if rows.ndim != 2 or rows.shape[1] != len(FEATURES) or len(rows) != len(target):
            raise ValueError(f"it was fitted to rows of shape {rows.shape}")
        return self._taught(rows, target)

    def _taught(self, rows: AnyArray, target: FloatArray) -> Taught:
        return Taught(copy.deepcopy(self._estimator), rows, target, self.name)


class Taught:
    """
    A fitted estimator.

    Its state is what it was fitted to, from which it is fitted again: nothing is known of how it
    could be saved, and nothing is pickled.

    Parameters
    ----------
    estimator
        Fitted here.
    rows, target
        To this.
    name
        For messages.
    """

    def __init__(self, estimator: Any, rows: AnyArray, target: FloatArray, name: str) -> None:
        estimator.fit(rows.astype(np.float64), target)
        self._estimator, self._rows, self._target, self._name = estimator, rows, target, name

    def __call__(self, rows: AnyArray) -> FloatArray:
        """Return what the estimator says, finite numbers."""
        try:
            said = self._estimator.predict(rows.astype(np.float64))
            found = np.asarray(said, dtype=np.float64)
        except (TypeError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise ConfigError(f"predict fails: {reason}", where=self._name) from error
        if found.shape != (len(rows),):
            raise ConfigError(
                f"predict gives an array of shape {found.shape}, must be ({len(rows)},)",
                where=self._name,
            )
        if not np.isfinite(found).all():
            wrong = found[~np.isfinite(found)][0]
            raise ConfigError(f"predict gives {wrong}, must be finite numbers", where=self._name)
        return found[:, None]

    def state(self) -> dict[str, Any]:
        """Return what it was fitted to."""
        return {"rows": self._rows, "target": self._target}
