"""Gbm trees on the features: the median of the logarithm, of the share, and quantiles."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

from predictors.accuracy import BOUND
from predictors.boosting import Growth, Task, grow
from predictors.calibration import Coverage
from predictors.features import FEATURES
from predictors.forest import Forest, ForestSet
from predictors.history import LIMIT
from predictors.learned import Answers, Learned, OpenJob

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.api.model import AnyArray, FloatArray, System
    from cpsched.api.tools import File
    from predictors.window import Window

REQUESTED = FEATURES.index("requested")
#: Below every share there is, so that its logarithm is finite.
LEAST_SHARE = 1e-7
#: More would grow for hours.
MOST_TREES = 10_000


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

    #: How many forests there are; 0 for one for each score.
    num_forests = 0

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
        if not 1 <= trees <= MOST_TREES:
            raise ValueError(f"trees is {trees}, must be from 1 to {MOST_TREES}")
        self.forget()
        self._trees = trees
        super().__init__(model, frozen, refit, start, window, prefix, limit)

    @property
    def ready(self) -> bool:
        """Whether there are forests."""
        return bool(self._forests)

    def forget(self) -> None:
        """Drop the forests."""
        self._forests: list[Forest] = []
        self._set: ForestSet | None = None

    def tasks(self, window: Window) -> list[Task]:
        """Return what each forest is to learn."""
        raise NotImplementedError

    def fit(self, window: Window, now: int) -> None:  # noqa: ARG002
        """Grow all forests anew."""
        self.take(grow(window.features, self.tasks(window), self.growth))

    @property
    def growth(self) -> Growth:
        """How forests are grown."""
        return Growth(trees=self._trees, seed=self._seed)

    def take(self, forests: list[Forest]) -> None:
        """Answer with these forests from now on."""
        self._forests, self._set = forests, ForestSet.join(forests) if forests else None

    def score(self, rows: AnyArray) -> FloatArray:
        """Return what each forest says."""
        assert self._set is not None, "scores are asked for when there are forests"
        return self._set(rows)

    def models(self) -> dict[str, Any]:
        """Return the forests."""
        return dump(self._forests)

    def restore_models(self, state: Mapping[str, Any]) -> None:
        """Take up the forests."""
        forests = load(state, len(self.feature_names))
        wanted = self.num_forests or self.num_scores
        if len(forests) != wanted:
            raise ValueError(f"it holds {len(forests)} forests, not {wanted}")
        self.take(forests)


class GbmLog(Gbm):
    """
    Predicts the median of the logarithm of the runtime, by boosted trees.

    The best order of jobs by length: for priorities and backfilling. Parameters as for
    :class:`Gbm`. The bound is the prediction times a factor that 90 % of the jobs keep.
    """

    name = "gbm-log"

    def tasks(self, window: Window) -> list[Task]:
        """Least absolute error of the logarithm."""
        return [Task(log_runtime(window))]

    def answer(self, scores: Sequence[float]) -> Answers:
        """Return the forest's answer, and its bound."""
        said = scores[0]
        return Answers(said, said, said + self._bound.offset)


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
    bound_score = 1
    first_offset = 0.0
    shares = (0.6, BOUND)

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
        self._plan = Coverage(self.shares[0])
        super().__init__(model, frozen, refit, start, window, trees, prefix, limit)

    def reset(self, system: System, seed: int) -> None:
        """Forget everything, or go back to the model file."""
        self._plan.reset()
        super().reset(system, seed)

    def tasks(self, window: Window) -> list[Task]:
        """One quantile of the logarithm, and one of the share."""
        plan, bound = self.shares
        return [Task(log_runtime(window), plan), Task(share_task(window).target, bound)]

    def score(self, rows: AnyArray) -> FloatArray:
        """Return the logarithms of both quantiles."""
        said = super().score(rows)
        said[:, 1:] = log_of_share(said[:, 1:], rows)
        return said

    def learn(self, open_job: OpenJob, runtime: int) -> None:
        """Move the plan's offset, too."""
        super().learn(open_job, runtime)
        said = open_job.scores[0]
        if said == said:  # not NaN
            cut = max(min(runtime, open_job.job.requested_time), 1)
            self._plan.learn(log(cut) - said)

    def answer(self, scores: Sequence[float]) -> Answers:
        """Return both quantiles with their offsets."""
        plan = scores[0] + self._plan.offset
        return Answers(plan, plan, scores[1] + self._bound.offset)

    def state(self) -> Mapping[str, Any]:
        """Return everything learnt."""
        return {**super().state(), "plan": self._plan.offset}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        super().restore(state)
        self._plan.offset = float(state["plan"])


def log_runtime(window: Window) -> FloatArray:
    """Return the logarithm of the runtimes; 0 seconds count as 1."""
    logarithm: FloatArray = np.log(np.maximum(window.runtime, 1))
    return logarithm


def share_task(window: Window) -> Task:
    """Return the task to learn shares of the requested time; more than all of it counts as all."""
    requested = np.maximum(window.requested_time, 1)
    return Task(np.minimum(window.runtime / requested, 1.0))


def log_of_share(share: FloatArray, rows: AnyArray) -> FloatArray:
    """Return the logarithm of the runtimes that shares of shape ``(n, 1)`` stand for."""
    logarithm: FloatArray = np.log(np.maximum(share, LEAST_SHARE)) + rows[:, [REQUESTED]]
    return logarithm


def dump(forests: list[Forest]) -> dict[str, Any]:
    """Return forests as nested mappings of arrays."""
    return {f"{index:02d}": forest.state() for index, forest in enumerate(forests)}


def load(state: Mapping[str, Any], num_features: int) -> list[Forest]:
    """Take up what :func:`dump` gave."""
    return [Forest.restore(state[name], num_features) for name in sorted(state)]
