"""Online regression on the features, after Gaussier et al. (2015)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from predictors import kernels
from predictors.features import FEATURES, UNKNOWN
from predictors.gbm import LEAST_SHARE, REQUESTED
from predictors.history import LIMIT
from predictors.learned import Answers, Learned, OpenJob

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.api.model import AnyArray, FloatArray
    from cpsched.api.tools import File
    from predictors.window import Window

_HOUR = 3600.0
_CORES = FEATURES.index("cores")
#: Logarithms of seconds, taken in hours here.
_TIMES = (
    "requested", "last", "second_last", "third_last", "last_median", "mean", "plus", "since_end",
    "user_elapsed_mean", "user_elapsed_most",
)  # fmt: skip
_TIME_COLUMNS = [FEATURES.index(name) for name in _TIMES]
_COUNTS = ("cores", "user_running", "user_running_cores")
_COUNT_COLUMNS = [FEATURES.index(name) for name in _COUNTS]
_HOUR_COLUMN, _DAY_COLUMN = FEATURES.index("hour"), FEATURES.index("weekday")
_INPUTS = 1 + len(_TIMES) + len(_COUNTS) + 4
_PAIRS = np.triu_indices(_INPUTS)
_LONGEST = 60 * 86_400 / _HOUR
#: Logarithms, and shares of the requested time as logarithms, that a share is made of.
_LOGS = (
    "requested", "last", "second_last", "last_median", "mean", "fast_mean", "mean_share", "plus",
    "rule_1", "rule_6", "alike_median", "cores",
)  # fmt: skip
_LOG_COLUMNS = [FEATURES.index(name) for name in _LOGS]
_SHARES = ("plus_share", "rule_1_share", "rule_6_share", "rule_7_share", "last_share", "mean_share")
_SHARE_COLUMNS = [FEATURES.index(name) for name in _SHARES]
#: Of these it counts whether they are known.
_ASKED = ("last", "rule_1", "rule_6", "alike_median")
_ASKED_COLUMNS = [FEATURES.index(name) for name in _ASKED]
_SHARE_INPUTS = 1 + len(_LOGS) + len(_SHARES) + len(_ASKED) + 4
#: Of either loss: inputs, and the learning rate that was best of a few.
_LOSSES = {"share": (_SHARE_INPUTS, 0.1), "paper": (len(_PAIRS[0]), 0.5)}


class Linear(Learned):
    """
    Predicts with weighted sums of the features, which learn from every job as it ends.

    Parameters
    ----------
    loss
        ``share``: the sum is the share of the requested time, of logarithms and shares in the
        histories, and its absolute error is made small. ``paper``: after Gaussier et al. (2015).
    rate
        Learning rate; 0.1, and for ``paper`` 0.5, unless given.
    model, frozen, start, prefix, limit
        As for :class:`~predictors.learned.Learned`; with ``frozen`` it learns nothing more.

    Notes
    -----
    Gaussier, Glesser, Reis and Trystram (2015), Improving backfilling by using machine learning to
    predict running times, SC'15: normalized adaptive gradient steps (Ross, Mineiro and Langford
    2013, Normalized online learning, algorithm 2), on all products of two features; the loss is
    squared above the runtime, linear below, and weighted by the logarithm of the job's area, which
    is to make good schedules, not small errors. The features are those of this package that are
    nearest to the paper's.
    """

    name = "linear"

    def __init__(
        self,
        loss: str = "share",
        rate: float | None = None,
        model: File | None = None,
        frozen: bool = False,
        start: int = 500,
        prefix: str = "stem",
        limit: int = LIMIT,
    ) -> None:
        if loss not in _LOSSES:
            raise ValueError(f"loss is '{loss}', must be one of {', '.join(_LOSSES)}")
        if rate is not None and not rate > 0:
            raise ValueError(f"rate is {rate}, must be more than 0")
        self._of_share = loss == "share"
        self._size, usual = _LOSSES[loss]
        self._rate = usual if rate is None else rate
        self.forget()
        # Nothing is fitted to a window, so none is kept.
        super().__init__(model, frozen, 7.0, start, start, prefix, limit)
        self._made_for["loss"] = loss

    def counted(self) -> tuple[str, ...]:
        """Return the names of the counts in ``stats``."""
        return ("answered by history", "answered by the model")

    @property
    def ready(self) -> bool:
        """Whether enough jobs have ended."""
        return self._learnt >= self._start

    def forget(self) -> None:
        """Set all weights to 0."""
        self._weights, self._scales, self._squares = (np.zeros(self._size) for _ in range(3))
        self._learnt, self._norms = 0, 0.0

    def refit(self, now: int) -> None:
        """Do nothing: it learns job by job."""

    def fit(self, window: Window, now: int) -> None:
        """Do nothing: it learns job by job."""

    def score(self, rows: AnyArray) -> FloatArray:
        """Return the logarithm of the runtime, cut to at most the requested time."""
        if self._of_share:
            share = np.clip(_shares(rows) @ self._weights, LEAST_SHARE, 1.0)
            whole: FloatArray = np.log(share) + rows[:, REQUESTED]
            return whole[:, None]
        hours = _polynomial(rows) @ self._weights
        said: FloatArray = np.log(np.clip(hours * _HOUR, 1, _HOUR * _LONGEST))
        return np.minimum(said, rows[:, REQUESTED])[:, None]

    def answer(self, scores: Sequence[float]) -> Answers:
        """Return the same for order and plan, and its bound."""
        said = scores[0]
        return Answers(said, said, said + self._bound.offset)

    def learn(self, open_job: OpenJob, runtime: int) -> None:
        """Take one gradient step."""
        super().learn(open_job, runtime)
        if self._frozen:
            return
        if self._of_share:
            share = min(runtime / max(open_job.job.requested_time, 1), 1.0)
            self._step(_shares(open_job.row[None])[0], share)
        else:
            hours = min(runtime / _HOUR, _LONGEST)
            area = float(np.exp(open_job.row[_CORES])) * max(runtime, 1)
            self._step(_polynomial(open_job.row[None])[0], hours, float(np.log(1 + area)))

    def _step(self, inputs: FloatArray, wanted: float, weight: float = 1.0) -> None:
        self._learnt += 1
        self._norms = kernels.step(
            inputs, wanted, weight, self._of_share, self._rate, self._learnt, self._norms,
            self._weights, self._scales, self._squares,
        )  # fmt: skip

    def models(self) -> dict[str, Any]:
        """Return weights and scales."""
        return {}

    def restore_models(self, state: Mapping[str, Any]) -> None:
        """Do nothing: the weights are part of every state, ready or not."""

    def state(self) -> Mapping[str, Any]:
        """Return everything learnt."""
        arrays = np.stack([self._weights, self._scales, self._squares])
        return {
            **super().state(), "arrays": arrays, "learnt": self._learnt, "norms": self._norms,
        }  # fmt: skip

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        super().restore(state)
        arrays = np.array(state["arrays"], dtype=np.float64)
        if arrays.shape != (3, self._size) or not np.isfinite(arrays).all():
            raise ValueError(f"its weights have shape {arrays.shape} or are not finite")
        self._weights, self._scales, self._squares = (row.copy() for row in arrays)
        self._learnt, self._norms = int(state["learnt"]), float(state["norms"])


def _polynomial(rows: AnyArray) -> FloatArray:
    """Return all products of two inputs, one of which is 1; shape ``(n, P)``."""
    times = rows[:, _TIME_COLUMNS].astype(np.float64)
    hours = np.where(times < 0, 0.0, np.minimum(np.exp(times) / _HOUR, _LONGEST))
    counts = rows[:, _COUNT_COLUMNS].astype(np.float64)
    ones = np.ones((len(rows), 1))
    inputs = np.concatenate([ones, hours, counts, _clock(rows)], axis=1)
    product: FloatArray = inputs[:, _PAIRS[0]] * inputs[:, _PAIRS[1]]
    return product


def _shares(rows: AnyArray) -> FloatArray:
    """Return what a share is the sum of; what is not known counts nothing; shape ``(n, P)``."""
    logs = rows[:, _LOG_COLUMNS].astype(np.float64)
    shares = rows[:, _SHARE_COLUMNS].astype(np.float64)
    asked = (rows[:, _ASKED_COLUMNS] == UNKNOWN).astype(np.float64)
    logs = np.where(logs == UNKNOWN, 0.0, logs)
    shares = np.where(shares == UNKNOWN, 0.0, np.exp(np.minimum(shares, 0.0)))
    ones = np.ones((len(rows), 1))
    inputs: FloatArray = np.concatenate([ones, logs, asked, shares, _clock(rows)], axis=1)
    return inputs


def _clock(rows: AnyArray) -> FloatArray:
    """Return sine and cosine of the time of day and of the week; shape ``(n, 4)``."""
    day = rows[:, [_HOUR_COLUMN, _DAY_COLUMN]] * (2 * np.pi / np.array([24.0, 7.0]))
    both: FloatArray = np.concatenate([np.sin(day), np.cos(day)], axis=1)
    return both
