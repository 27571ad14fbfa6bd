"""
Forecasts corrected by how far earlier ones were off.

Scenarios cover the spread of runtimes but not everything else that can change, so their intervals
are too narrow. The remedy is conformal: the quantiles move by the correction that was right for the
jobs that have started since (Romano, Patterson and Candes 2019, *Conformalized quantile
regression*), and the share of these that must be inside adapts to how often the corrected intervals
were missed (Gibbs and Candes 2021, *Adaptive conformal inference under distribution shift*), each
tail by itself.
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

#: The corrected quantiles; the scenarios between them move with them.
LEVELS = (0.1, 0.5, 0.9)
#: The last forecasts that are compared with the outcome, at most; with fewer than the least number,
#: quantiles move by what was about right on eight logs.
_REMEMBERED, _LEAST = 200, 20
_AT_FIRST = (-0.3, 0.0, 0.3)
#: How fast the tails adapt at each job start; from the range that Gibbs and Candes try.
_RATE = 0.02
#: Waits are compared by logarithms, those shorter than this by seconds.
_SHORT = 60.0
#: If even the largest error is too small a correction, this is added to the logarithm.
_BEYOND = 0.5
_FARTHEST = 366 * 86400.0


class _Error(NamedTuple):
    """Of one forecast: how far below and above the outer quantiles the wait was, and the median."""

    below: float
    median: float
    above: float


class Calibration:
    """
    Errors of past forecasts, and the correction of the next ones.

    It may be asked at any time; it covers the jobs passed to :meth:`note`.
    """

    def __init__(self) -> None:
        self._errors: deque[_Error] = deque(maxlen=_REMEMBERED)
        #: The share of starts that may be before, and after, the corrected quantiles.
        self._early = LEVELS[0]
        self._late = 1 - LEVELS[-1]

    def __len__(self) -> int:
        """Return the number of forecasts it is based on."""
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
        """Return the shifts of the logarithms of the waits at :data:`LEVELS`."""
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
            Their forecasts from the scenarios, and after correction.
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
        """Return the state."""
        return {
            "errors": np.array(self._errors, dtype=np.float64).reshape(-1, len(LEVELS)),
            "early": self._early,
            "late": self._late,
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        errors = np.asarray(saved["errors"], dtype=np.float64).tolist()
        self._errors = deque((_Error(*row) for row in errors), maxlen=_REMEMBERED)
        self._early, self._late = float(saved["early"]), float(saved["late"])


def _logarithm(wait: IntArray) -> FloatArray:
    clipped: FloatArray = np.log(np.clip(wait, 0, _FARTHEST) + _SHORT)
    return clipped


def _quantile(errors: FloatArray, level: float) -> float:
    """
    Return the correction that was enough for this share; below 0 and above 1 mean more than all.
    """
    if level > 1:
        return float(errors.max()) + _BEYOND
    return float(np.quantile(errors, max(level, 0.0)))
