"""Boosted trees on the features: the median of the logarithm of the runtime, and quantiles."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from predictors.accuracy import BOUND
from predictors.features import FEATURES
from predictors.forest import Forest
from predictors.learned import Learned
from predictors.remembered import LIMIT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.api.model import AnyArray, FloatArray
    from cpsched.api.tools import File
    from predictors.window import Window

_REQUESTED = FEATURES.index("requested")
#: Below every share there is, so that its logarithm is finite.
_LEAST_SHARE = 1e-7
#: More would grow for hours.
_MOST_TREES = 10_000


class Forests:
    """
    A model of forests: the first says the logarithm of a runtime, others shares of the request.
    """

    def __init__(self, forests: Sequence[Forest]) -> None:
        self._forests = forests

    def __call__(self, rows: AnyArray) -> FloatArray:
        """Return logarithms of runtimes."""
        said = np.empty((len(rows), len(self._forests)))
        for place, forest in enumerate(self._forests):
            said[:, place] = forest(rows)
        if len(self._forests) > 1:
            shares = np.log(np.maximum(said[:, 1:], _LEAST_SHARE))
            said[:, 1:] = shares + rows[:, [_REQUESTED]]
        return said

    def state(self) -> dict[str, Any]:
        """Return the forests as nested mappings of arrays."""
        return {f"{place:02d}": forest._asdict() for place, forest in enumerate(self._forests)}


class Gbm(Learned):
    """
    Base of predictors that are forests.

    Parameters
    ----------
    model, frozen, refit, start, window, prefix, limit
        As for :class:`~predictors.learned.Learned`.
    trees
        Of each forest.
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
        if not 1 <= trees <= _MOST_TREES:
            raise ValueError(f"trees is {trees}, must be from 1 to {_MOST_TREES}")
        self._trees = trees
        super().__init__(model, frozen, refit, start, window, prefix, limit)

    @abstractmethod
    def tasks(self, window: Window) -> list[tuple[FloatArray, float]]:
        """Return what each forest is to learn: a target, and which quantile of it."""

    def fitted(self, window: Window) -> Forests:
        """Grow all forests anew."""
        # It loads scikit-learn, without which a trained model answers.
        from predictors.boosting import grow

        tasks = self.tasks(window)
        return Forests(grow(window.features, tasks, trees=self._trees, seed=self._seed))

    def restored(self, state: Mapping[str, Any]) -> Forests:
        """Take up the forests."""
        forests = [Forest.restore(state[name], len(FEATURES)) for name in sorted(state)]
        if len(forests) != self.num_scores:
            raise ValueError(f"it holds {len(forests)} forests, not {self.num_scores}")
        return Forests(forests)


class GbmLog(Gbm):
    """
    Predicts the median of the logarithm of the runtime, by boosted trees.

    The best order of jobs by length: for priorities and backfilling. Parameters as for
    :class:`Gbm`. The bound is the prediction times a factor that 90 % of the jobs keep.
    """

    name = "gbm-log"

    def tasks(self, window: Window) -> list[tuple[FloatArray, float]]:
        """Least absolute error of the logarithm."""
        return [(log_runtime(window), 0.5)]


class GbmQuantile(Gbm):
    """
    Predicts quantiles: 0.6 to plan with, 0.9 as the bound; by boosted trees.

    Parameters as for :class:`Gbm`. The plan is a quantile of the logarithm; the bound one of
    the share of the requested time, because what it is off by matters in long jobs, which mostly
    come near their requests: its pinball loss is a quarter below that of the logarithm's quantile.
    Each has an offset that follows the jobs as they end, so that the share of jobs above it stays
    where it should be though habits change.
    """

    name = "gbm-quantile"
    num_scores = 2
    first_offset = 0.0
    plan_share = 0.6

    def tasks(self, window: Window) -> list[tuple[FloatArray, float]]:
        """One quantile of the logarithm, and one of the share; more than all of it is all."""
        share = np.minimum(window.runtime / np.maximum(window.requested_time, 1), 1.0)
        return [(log_runtime(window), self.plan_share), (share, BOUND)]


def log_runtime(window: Window) -> FloatArray:
    """Return the logarithm of the runtimes; 0 seconds count as 1."""
    logarithm: FloatArray = np.log(np.maximum(window.runtime, 1))
    return logarithm
