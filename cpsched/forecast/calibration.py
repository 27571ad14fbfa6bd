"""
Forecasts corrected by how far earlier ones were off.

Scenarios know how runtimes differ, and not all else that goes otherwise: their intervals are too
narrow. The remedy is conformal: the quantiles move by as much as held for the jobs that have
started since (Romano, Patterson and Candes 2019, *Conformalized quantile regression*), and how many
of these must be inside is adapted to how often the corrected intervals were missed (Gibbs and
Candes 2021, *Adaptive conformal inference under distribution shift*), each tail by itself.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched.forecast.starts import NEVER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.forecast.starts import Starts
    from cpsched.model.types import FloatArray, IntArray

#: The quantiles that are corrected; the scenarios between them move with them.
LEVELS = (0.1, 0.5, 0.9)
#: So many forecasts are compared with what became of them, the last ones; fewer than that say
#: nothing, and quantiles move by what was about right on eight logs.
_REMEMBERED, _LEAST = 200, 20
_AT_FIRST = (-0.3, 0.0, 0.3)
#: How fast the tails adapt, at each job that starts; from the range that Gibbs and Candes try.
_RATE = 0.02
#: Waits are compared by logarithms, shorter ones than this by seconds.
_SHORT = 60.0
#: Where even the largest error is too small a correction, this much is added to the logarithm.
_BEYOND = 0.5
_FARTHEST = 366 * 86400.0


class _Error(NamedTuple):
    """Of one forecast: how far below and above the outer quantiles the wait was, and the median."""

    below: float
    median: float
    above: float


class Calibration:
    """
    How far forecasts were off, and what that says of the next ones.

    It may be asked at any time; it knows of the jobs of which :meth:`note` told it.
    """

    def __init__(self) -> None:
        self._errors: deque[_Error] = deque(maxlen=_REMEMBERED)
        #: Which share of the starts may be before, and after, the corrected quantiles.
        self._early = LEVELS[0]
        self._late = 1 - LEVELS[-1]

    def __len__(self) -> int:
        """Return how many forecasts it goes by."""
        return len(self._errors)

    def corrected(self, starts: Starts) -> Starts:
        """Return a forecast with its scenarios moved."""
        second = starts.second
        level = (np.arange(len(second)) + 0.5) / len(second)
        moves = np.interp(level, LEVELS, self._moves())
        wait = np.exp(_logarithm(second - starts.now) + moves[:, None]) - _SHORT
        moved = starts.now + np.round(np.maximum(wait, 0)).astype(np.int64)
        return replace(
            starts, scenario=np.maximum.accumulate(np.where(second == NEVER, NEVER, moved), axis=0)
        )

    def _moves(self) -> FloatArray:
        """Return by how much the logarithms of the waits at :data:`LEVELS` move."""
        if len(self._errors) < _LEAST:
            return np.array(_AT_FIRST)
        below, median, above = np.array(self._errors).T
        return np.array(
            [
                -_quantile(below, 1 - self._early),
                float(np.median(median)),
                _quantile(above, 1 - self._late),
            ]
        )

    def note(self, raw: Starts, told: Starts, start: IntArray) -> None:
        """
        Learn from jobs that have started.

        Parameters
        ----------
        raw, told
            What the scenarios said of them, and what was said after correction.
        start
            The seconds at which they started, shape ``(n,)``.
        """
        waits = _logarithm(start - raw.now)
        quantiles = [_logarithm(raw.quantile(level) - raw.now) for level in LEVELS]
        first, last = told.quantile(LEVELS[0]), told.quantile(LEVELS[-1])
        for at, wait in enumerate(waits.tolist()):
            low, middle, high = (float(quantile[at]) for quantile in quantiles)
            if len(self._errors) >= _LEAST:
                self._early += _RATE * (LEVELS[0] - (start[at] < first[at]))
                self._late += _RATE * (1 - LEVELS[-1] - (start[at] > last[at]))
            self._errors.append(_Error(low - wait, wait - middle, wait - high))

    def state(self) -> dict[str, Any]:
        """Return everything it goes by."""
        return {
            "errors": np.array(self._errors, dtype=np.float64).reshape(-1, len(LEVELS)),
            "early": self._early,
            "late": self._late,
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take up what :meth:`state` gave."""
        errors = np.asarray(saved["errors"], dtype=np.float64).tolist()
        self._errors = deque((_Error(*row) for row in errors), maxlen=_REMEMBERED)
        self._early, self._late = float(saved["early"]), float(saved["late"])


def _logarithm(wait: IntArray) -> FloatArray:
    clipped: FloatArray = np.log(np.clip(wait, 0, _FARTHEST) + _SHORT)
    return clipped


def _quantile(errors: FloatArray, level: float) -> float:
    """Return the correction that held for so many; below 0 and above 1 are more than all."""
    if level > 1:
        return float(errors.max()) + _BEYOND
    return float(np.quantile(errors, max(level, 0.0)))
