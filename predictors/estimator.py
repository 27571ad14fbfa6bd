"""A regressor or classifier of one's own, made a predictor: ``from_estimator(...)``."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.api.errors import ConfigError
from cpsched.api.predictors import HORIZONS
from predictors.bursts import BurstFeatures
from predictors.classes import Classes
from predictors.history import LIMIT
from predictors.learned import Answers, Learned

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.api.model import AnyArray, FloatArray
    from predictors.window import Window

#: A runtime's class is how many of the horizons it is beyond.
NUM_CLASSES = len(HORIZONS) + 1
#: Chances are kept so far from certainty.
_LEAST = 1e-6


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
    Make a predictor of a regressor or classifier with the methods of scikit-learn's.

    An estimator with ``predict_proba`` learns the class of each job, 0 to 3: ended within 60 s, 10
    min, 1 h, or later. Its chances are calibrated and made a distribution, as those of
    ``gbm-classes``; plans keep to requested times. Any other learns the natural logarithm of the
    runtime in seconds; ``exp`` of what it predicts is the answer, and the bound is as of
    ``gbm-log``. Either sees rows of the features :attr:`~predictors.learned.Learned.feature_names`,
    float64, none of them missing.

    Parameters
    ----------
    estimator
        Has ``fit(X, y)``, and ``predict(X)`` or ``predict_proba(X)``. Copied for every fit, never
        fitted itself. Equal runs are equal if it is deterministic: give it a ``random_state``.
    name
        What tables call it; its class where None.
    refit, start, window, prefix, limit
        As for ``gbm-log``.

    Raises
    ------
    ConfigError
        If it lacks a method, or an option is impossible; later, if what it predicts is not one
        finite number, or one chance for each class, for each job.
    """
    kind = type(estimator).__name__
    if isinstance(estimator, type):
        raise ConfigError(f"is the class {estimator.__name__}, must be an instance: "
                          f"{estimator.__name__}()", key="estimator")  # fmt: skip
    classifies = callable(getattr(estimator, "predict_proba", None))
    for method in ("fit", "predict_proba" if classifies else "predict"):
        if not callable(getattr(estimator, method, None)):
            raise ConfigError(
                f"{kind} has no method '{method}', must be a regressor or classifier like those of"
                " scikit-learn",
                key="estimator",
            )
    make = EstimatedClasses if classifies else EstimatedRuntime
    try:
        made = make(estimator, refit, start, window, prefix, limit)
    except ValueError as error:
        raise ConfigError(str(error), key="from_estimator") from None
    made.name = name or kind
    return made


class Estimated(Learned):
    """
    Base of predictors around an estimator.

    Its state holds what the estimator was last fitted to, from which it is fitted again: nothing
    is known of how it could be saved, and nothing is pickled.
    """

    make_features = BurstFeatures

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
        self.forget()
        super().__init__(None, False, refit, start, window, prefix, limit)

    @property
    def ready(self) -> bool:
        """Whether there is a fitted estimator."""
        return self._fitted is not None

    def forget(self) -> None:
        """Forget what was fitted."""
        self._fitted: Any = None
        self._taught: tuple[AnyArray, AnyArray] | None = None

    def teach(self, rows: AnyArray, target: AnyArray) -> None:
        """Fit a copy of the estimator."""
        fitted = copy.deepcopy(self._estimator)
        fitted.fit(rows.astype(np.float64), target)
        self._fitted, self._taught = fitted, (rows, target)

    def models(self) -> dict[str, Any]:
        """Return what it was fitted to."""
        assert self._taught is not None, "asked for when there is a model"
        return dict(zip(("rows", "target"), self._taught, strict=True))

    def restore_models(self, state: Mapping[str, Any]) -> None:
        """Fit it again."""
        rows, target = np.array(state["rows"]), np.array(state["target"])
        if rows.ndim != 2 or rows.shape[1] != len(self.feature_names) or len(rows) != len(target):
            raise ValueError(f"it was fitted to rows of shape {rows.shape}")
        self.teach(rows, target)

    def predicted(self, method: str, rows: AnyArray, shape: tuple[int, ...]) -> FloatArray:
        """Return what a method of the estimator says, finite numbers of this shape."""
        try:
            said = getattr(self._fitted, method)(rows.astype(np.float64))
            found = np.asarray(said, dtype=np.float64)
        except (TypeError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise ConfigError(f"{method} fails: {reason}", where=self.name) from error
        if found.shape != shape:
            raise ConfigError(
                f"{method} gives an array of shape {found.shape}, must be {shape}", where=self.name
            )
        if not np.isfinite(found).all():
            wrong = found[~np.isfinite(found)][0]
            raise ConfigError(f"{method} gives {wrong}, must be finite numbers", where=self.name)
        return found


class EstimatedRuntime(Estimated):
    """The logarithm of the runtime by a regressor."""

    def fit(self, window: Window, now: int) -> None:  # noqa: ARG002
        """Fit it to the newest completions."""
        cut = np.minimum(window.runtime, window.requested_time)
        self.teach(window.features.copy(), np.log(np.maximum(cut, 1)))

    def score(self, rows: AnyArray) -> FloatArray:
        """Return what the regressor says."""
        return self.predicted("predict", rows, (len(rows),))[:, None]

    def answer(self, scores: Sequence[float]) -> Answers:
        """Return its answer, and its bound."""
        said = scores[0]
        return Answers(said, said, said + self._bound.offset)


class EstimatedClasses(Estimated, Classes):
    """The chances to end within each horizon by a classifier."""

    def fit(self, window: Window, now: int) -> None:
        """Fit it to the newest completions, and to running jobs whose class is known already."""
        cut = np.minimum(window.runtime, window.requested_time)
        classes = np.searchsorted(HORIZONS, cut)
        running, elapsed = self.running(now)
        beyond = running[elapsed > HORIZONS[-1]]
        rows = np.concatenate([window.features, beyond])
        self.teach(rows, np.concatenate([classes, np.full(len(beyond), NUM_CLASSES - 1)]))

    def teach(self, rows: AnyArray, target: AnyArray) -> None:
        """Fit it, and see which class each of its columns is."""
        super().teach(rows, target)
        columns = np.asarray(getattr(self._fitted, "classes_", np.unique(target)))
        if not np.isin(columns, np.arange(NUM_CLASSES)).all() or columns.ndim != 1:
            raise ConfigError(
                f"after fit its classes_ are {columns.tolist()}, must be among 0 to"
                f" {NUM_CLASSES - 1}",
                where=self.name,
            )
        self._columns = columns.astype(np.int64)

    def score(self, rows: AnyArray) -> FloatArray:
        """Return the logarithm of the odds of the classifier's chances, summed up."""
        shape = (len(rows), len(self._columns))
        found = self.predicted("predict_proba", rows, shape)
        if found.min(initial=0) < 0 or (np.abs(found.sum(axis=1) - 1) > 1e-3).any():
            raise ConfigError(
                f"predict_proba gives {found[0].tolist()}, must be chances that add up to 1",
                where=self.name,
            )
        chances = np.zeros((len(rows), NUM_CLASSES))
        chances[:, self._columns] = found
        within = np.clip(np.cumsum(chances, axis=1)[:, :-1], _LEAST, 1 - _LEAST)
        odds: FloatArray = np.log(within / (1 - within))
        return odds
