"""Online regression on polynomials of the features, after Gaussier et al. (2015)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from predictors.features import FEATURES
from predictors.history import LIMIT
from predictors.learned import Answers, Flight, Learned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.types import AnyArray, FloatArray
    from predictors.window import Window

_HOUR = 3600.0
_REQUESTED, _CORES = FEATURES.index("requested"), FEATURES.index("cores")
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


class Linear(Learned):
    """
    Predicts with a quadratic polynomial of the features, which learns from every job as it ends.

    Parameters
    ----------
    rate
        Learning rate.
    model, frozen, start, prefix, limit
        As for :class:`~predictors.learned.Learned`; with ``frozen`` it learns nothing more.

    Notes
    -----
    Gaussier, Glesser, Reis and Trystram (2015), Improving backfilling by using machine learning to
    predict running times, SC'15: normalized adaptive gradient steps (Ross, Mineiro and Langford
    2013, Normalized online learning, algorithm 2); the loss is squared above the runtime, linear
    below, and weighted by the logarithm of the job's area. The features are those of this package
    that are nearest to the paper's.
    """

    name = "linear"

    def __init__(
        self,
        rate: float = 0.5,
        model: str | None = None,
        frozen: bool = False,
        start: int = 500,
        prefix: str = "stem",
        limit: int = LIMIT,
    ) -> None:
        if not rate > 0:
            raise ValueError(f"rate is {rate}, must be more than 0")
        self._rate = rate
        self.forget()
        # Nothing is fitted to a window, so none is kept.
        super().__init__(model, frozen, 7.0, start, start, prefix, limit)

    def counted(self) -> tuple[str, ...]:
        """Return the names of the counts in ``stats``."""
        return ("answered by history", "answered by the model")

    @property
    def ready(self) -> bool:
        """Whether enough jobs have ended."""
        return self._learnt >= self._start

    def forget(self) -> None:
        """Set all weights to 0."""
        size = len(_PAIRS[0])
        self._weights, self._scales, self._squares = (np.zeros(size) for _ in range(3))
        self._learnt, self._norms = 0, 0.0

    def refit(self, now: int) -> None:
        """Do nothing: it learns job by job."""

    def fit(self, window: Window) -> None:
        """Do nothing: it learns job by job."""

    def score(self, rows: AnyArray) -> FloatArray:
        """Return the logarithm of the polynomial's value, cut to at most the requested time."""
        hours = _polynomial(rows) @ self._weights
        said: FloatArray = np.log(np.clip(hours * _HOUR, 1, _HOUR * _LONGEST))
        return np.minimum(said, rows[:, _REQUESTED])[:, None]

    def answer(self, rows: AnyArray, scores: FloatArray) -> Answers:  # noqa: ARG002
        """Return the same for order and plan, and its bound."""
        said = scores[:, 0]
        return Answers(said, said, said + self._bound.offset)

    def learn(self, flight: Flight, runtime: int) -> None:
        """Take one gradient step."""
        super().learn(flight, runtime)
        if self._frozen:
            return
        inputs = _polynomial(flight.row[None])[0]
        hours = min(runtime / _HOUR, _LONGEST)
        area = float(np.exp(flight.row[_CORES])) * max(runtime, 1)
        self._step(inputs, hours, np.log(1 + area))

    def _step(self, inputs: FloatArray, hours: float, weight: float) -> None:
        """Algorithm 2 of Ross et al.; names as there: N norms, G squares, s scales."""
        size = np.abs(inputs)
        grown = size > self._scales
        self._weights[grown] *= self._scales[grown] / size[grown]
        self._scales[grown] = size[grown]
        seen = self._scales > 0
        self._learnt += 1
        self._norms += float(((inputs[seen] / self._scales[seen]) ** 2).sum())
        over = float(inputs @ self._weights) - hours
        gradient = weight * (2 * over if over > 0 else -1.0) * inputs
        self._squares += gradient**2
        moved = self._squares > 0
        step = self._rate * np.sqrt(self._learnt / self._norms)
        size = self._scales[moved] * np.sqrt(self._squares[moved])
        self._weights[moved] -= step * gradient[moved] / size

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
        """Take up what :meth:`state` gave."""
        super().restore(state)
        arrays = np.array(state["arrays"], dtype=np.float64)
        if arrays.shape != (3, len(_PAIRS[0])) or not np.isfinite(arrays).all():
            raise ValueError(f"its weights have shape {arrays.shape} or are not finite")
        self._weights, self._scales, self._squares = arrays
        self._learnt, self._norms = int(state["learnt"]), float(state["norms"])


def _polynomial(rows: AnyArray) -> FloatArray:
    """Return all products of two inputs, one of which is 1; shape ``(n, P)``."""
    times = rows[:, _TIME_COLUMNS].astype(np.float64)
    hours = np.where(times < 0, 0.0, np.minimum(np.exp(times) / _HOUR, _LONGEST))
    counts = rows[:, _COUNT_COLUMNS].astype(np.float64)
    day = rows[:, [_HOUR_COLUMN, _DAY_COLUMN]] * (2 * np.pi / np.array([24.0, 7.0]))
    ones = np.ones((len(rows), 1))
    inputs = np.concatenate([ones, hours, counts, np.sin(day), np.cos(day)], axis=1)
    product: FloatArray = inputs[:, _PAIRS[0]] * inputs[:, _PAIRS[1]]
    return product
