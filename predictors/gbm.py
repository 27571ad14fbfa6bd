"""Boosted trees on the features: the median of the logarithm of the runtime, and quantiles."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.model.prediction import BOUND
from predictors.features import FEATURES
from predictors.learned import Learned
from predictors.remembered import LIMIT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.util.spec import File
    from cpsched.util.types import AnyArray, FloatArray
    from predictors.trees import Trees
    from predictors.window import CompletionWindow

_REQUESTED = FEATURES.index("requested")
#: Below every share there is, so that its logarithm is finite.
_LEAST_SHARE = 1e-7
#: More would be fitted for hours.
_MAX_TREES = 10_000


class GbmModel:
    """
    Trees whose first prediction is the logarithm of a runtime, and others shares of the request.
    """

    def __init__(self, trees: Trees) -> None:
        self._trees = trees

    def __call__(self, rows: AnyArray) -> FloatArray:
        """Return logarithms of runtimes."""
        logarithms = self._trees(rows)
        if len(self._trees) > 1:
            shares = np.log(np.maximum(logarithms[:, 1:], _LEAST_SHARE))
            logarithms[:, 1:] = shares + rows[:, [_REQUESTED]]
        return logarithms

    def state(self) -> dict[str, Any]:
        """Return the trees as arrays."""
        return self._trees.state()


class Gbm(Learned):
    """
    Base class of predictors by gradient-boosted trees.

    Parameters
    ----------
    model, frozen, refit, start, window, prefix, limit
        As for :class:`~predictors.learned.Learned`.
    trees
        Number of trees of each model.
    """

    def __init__(
        self,
        model: File | None = None,
        frozen: bool = False,
        refit: float = 7.0,
        start: int = 500,
        window: int = 50_000,
        trees: int = 100,
        prefix: str = "stem",
        limit: int = LIMIT,
    ) -> None:
        if not 1 <= trees <= _MAX_TREES:
            raise ValueError(f"trees is {trees}, must be from 1 to {_MAX_TREES}")
        self._trees = trees
        super().__init__(model, frozen, refit, start, window, prefix, limit)

    @abstractmethod
    def tasks(self, window: CompletionWindow) -> list[tuple[FloatArray, float]]:
        """Return the training targets, each with the quantile to predict."""

    def fitted(self, window: CompletionWindow) -> GbmModel:
        """Return a model fitted to the ended jobs of a window."""
        # Importing scikit-learn takes a second, and the first model comes late.
        from predictors.trees import fit

        tasks = self.tasks(window)
        return GbmModel(fit(window.features, tasks, trees=self._trees, seed=self._seed))

    def restored(self, state: Mapping[str, Any]) -> GbmModel:
        """Return the model that a state contains."""
        from predictors.trees import Trees

        trees = Trees.restore(state, len(FEATURES))
        if len(trees) != self.num_scores:
            raise ValueError(f"it has {len(trees)} regressors, must have {self.num_scores}")
        return GbmModel(trees)


class GbmLog(Gbm):
    """
    Median of the logarithm of the runtime, by gradient-boosted trees.

    This predictor ranks jobs by length best, for queue orders and backfilling. Parameters as
    for :class:`Gbm`. The upper bound is the prediction times a factor, which is adjusted so that 90
    % of the jobs end by the bound.
    """

    name = "gbm-log"

    def tasks(self, window: CompletionWindow) -> list[tuple[FloatArray, float]]:
        """
        Return the logarithm of the runtime as training target, and its median as the quantile.
        """
        return [(log_runtime(window), 0.5)]


class GbmQuantile(Gbm):
    """
    Quantiles of the runtime by gradient-boosted trees: 0.6 for reservations, 0.9 as upper bound.

    Parameters as for :class:`Gbm`. The prediction for reservations is a quantile of the logarithm
    of the runtime. The upper bound is a quantile of the runtime as a share of the requested time.
    Its pinball loss is a quarter below that of a bound from the logarithm, because errors matter in
    long jobs, which mostly use most of their requested time. Each quantile has an offset that is
    adjusted to the ended jobs. It keeps the share of jobs above the quantile constant when habits
    change.
    """

    name = "gbm-quantile"
    num_scores = 2
    first_offset = 0.0
    plan_share = 0.6

    def tasks(self, window: CompletionWindow) -> list[tuple[FloatArray, float]]:
        """
        Return the training targets: logarithm of the runtime, and share of the requested time used.

        Shares above 1 count as 1. Each target comes with the quantile to predict.
        """
        share = np.minimum(window.runtime / np.maximum(window.requested_time, 1), 1.0)
        return [(log_runtime(window), self.plan_share), (share, BOUND)]


def log_runtime(window: CompletionWindow) -> FloatArray:
    """Return the logarithm of the runtimes; 0 seconds count as 1."""
    logarithm: FloatArray = np.log(np.maximum(window.runtime, 1))
    return logarithm
