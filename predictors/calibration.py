"""
Chances that hold: scores of a classifier set right by what came of the newest of them; and offsets
that keep the share of jobs above a prediction where it should be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from cpsched.api.model import AnyArray, BoolArray, FloatArray

#: Scores of jobs that have ended a correction is fitted to; with fewer there is none.
NEWEST, FEWEST = 2000, 200
#: So many jobs must speak against the scores as they are before they count as much as that.
_PRIOR = 20.0
_STEPS = 8
#: The most a logarithm of odds says.
_MOST = 20.0
#: How much the model and jobs alike count at first, and the offset.
_FIRST = np.array([0.7, 0.3, 0.0])


class Calibration:
    """
    Logarithms of odds of two sources, weighed and corrected, for each of H horizons.

    Parameters
    ----------
    num
        How many horizons.

    Attributes
    ----------
    lines
        Weights of the two sources, and an offset, shape ``(H, 3)``.

    Notes
    -----
    Platt (1999), Probabilistic outputs for support vector machines, eq. 1, with two scores instead
    of one, fitted by Newton's method to what was said of jobs before they ran. A ridge pulls the
    line to the first one, so that few jobs do not turn it.
    """

    def __init__(self, num: int) -> None:
        self.lines: FloatArray = np.tile(_FIRST, (num, 1))

    def fit(self, scores: FloatArray, ended: BoolArray, counts: BoolArray) -> None:
        """
        Fit the lines anew.

        Parameters
        ----------
        scores
            What either source said of the newest jobs, shape ``(n, H, 2)``.
        ended
            Whether they ended in time, shape ``(n, H)``.
        counts
            Which of them count, shape ``(n, H)``.
        """
        for place in range(len(self.lines)):
            chosen = counts[:, place]
            if chosen.sum() >= FEWEST:
                said = np.clip(scores[chosen, place], -_MOST, _MOST)
                self.lines[place] = _line(said, ended[chosen, place])

    def chances(self, scores: FloatArray) -> FloatArray:
        """Return chances for scores of shape ``(n, H, 2)``, non-decreasing along the horizons."""
        odds = (scores * self.lines[:, :2]).sum(axis=2) + self.lines[:, 2]
        odds = np.minimum(np.maximum(odds, -_MOST), _MOST)
        return np.maximum.accumulate(1.0 / (1.0 + np.exp(-odds)), axis=1)

    def restore(self, lines: Any) -> None:
        """Take up :attr:`lines` of another one."""
        taken = np.array(lines, dtype=np.float64)
        if taken.shape != self.lines.shape or not np.isfinite(taken).all():
            raise ValueError(f"its calibration has shape {taken.shape} or is not finite")
        self.lines = taken


def _line(scores: FloatArray, ended: AnyArray) -> FloatArray:
    """Return weights and offset of greatest likelihood, weights at least 0."""
    inputs = np.concatenate([scores, np.ones((len(scores), 1))], axis=1)
    # A weight weighs as the spread of the scores lets it.
    spread = np.maximum(scores.var(axis=0), 1.0)
    ridge = _PRIOR / 4 * np.diag(np.append(spread, 1.0))
    line = _FIRST.copy()
    for _ in range(_STEPS):
        chance = 1.0 / (1.0 + np.exp(-np.clip(inputs @ line, -_MOST, _MOST)))
        gradient = inputs.T @ (chance - ended) + ridge @ (line - _FIRST)
        curvature = (inputs * (chance * (1 - chance))[:, None]).T @ inputs + ridge
        line = line - np.linalg.solve(curvature, gradient)
    return np.append(np.maximum(line[:2], 0.0), line[2])


#: How far one job moves the offset, in units of the logarithm of the runtime.
STEP = 0.02


class Coverage:
    """
    Follows the quantile of log errors as jobs end.

    A prediction ``p`` becomes ``p * exp(offset)``. A job above it raises the offset by ``share``
    steps, any other lowers it by ``1 - share``, so that in the long run ``share`` of the jobs is
    below, whatever the model does (Gibbs and Candes 2021, Adaptive conformal inference under
    distribution shift, eq. 2, on the logarithm of the runtime instead of on the level).

    Parameters
    ----------
    share
        Of jobs to be at or below.
    offset
        At first.
    """

    def __init__(self, share: float, offset: float = 0.0) -> None:
        self._share = share
        self._first = offset
        self.offset = offset

    def reset(self) -> None:
        """Go back to the first offset."""
        self.offset = self._first

    def learn(self, error: float) -> None:
        """Take note of a job; ``error`` is log runtime less log prediction before the offset."""
        above = error > self.offset
        self.offset += STEP * (self._share if above else self._share - 1)
