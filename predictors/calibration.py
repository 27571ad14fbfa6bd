"""Chances that hold: scores of a classifier set right by what came of the newest of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from cpsched.model.types import AnyArray, BoolArray, FloatArray

#: Scores of jobs that have ended a correction is fitted to; with fewer there is none.
NEWEST, FEWEST = 2000, 200
#: So many jobs must speak against the scores as they are before they count as much as that.
_PRIOR = 20.0
_STEPS = 8
#: The most a logarithm of odds says.
_MOST = 20.0


class Calibration:
    """
    Logarithms of odds corrected by a straight line, one for each of H horizons.

    Parameters
    ----------
    num
        How many horizons.

    Notes
    -----
    Platt (1999), Probabilistic outputs for support vector machines, eq. 1, fitted by Newton's
    method to scores that were said of jobs before they ran. A ridge pulls the line to the one that
    changes nothing, so that few jobs do not turn it.
    """

    def __init__(self, num: int) -> None:
        self.lines: FloatArray = np.tile([1.0, 0.0], (num, 1))

    def fit(self, scores: FloatArray, ended: BoolArray, counts: BoolArray) -> None:
        """
        Fit the lines anew.

        Parameters
        ----------
        scores
            What was said of the newest jobs, shape ``(n, H)``.
        ended
            Whether they ended in time, same shape.
        counts
            Which of them count.
        """
        for place in range(len(self.lines)):
            chosen = counts[:, place]
            if chosen.sum() >= FEWEST:
                said = np.clip(scores[chosen, place], -_MOST, _MOST)
                self.lines[place] = _line(said, ended[chosen, place])

    def chances(self, scores: FloatArray) -> FloatArray:
        """Return chances for scores of shape ``(n, H)``, non-decreasing along the horizons."""
        odds = scores * self.lines[:, 0] + self.lines[:, 1]
        odds = np.minimum(np.maximum(odds, -_MOST), _MOST)
        return np.maximum.accumulate(1.0 / (1.0 + np.exp(-odds)), axis=1)

    def reset(self) -> None:
        """Correct nothing."""
        self.lines[:] = 1.0, 0.0

    def restore(self, lines: Any) -> None:
        """Take up :attr:`lines` of another one."""
        taken = np.array(lines, dtype=np.float64)
        if taken.shape != self.lines.shape or not np.isfinite(taken).all():
            raise ValueError(f"its calibration has shape {taken.shape} or is not finite")
        self.lines = taken


def _line(scores: FloatArray, ended: AnyArray) -> FloatArray:
    """Return slope and offset of greatest likelihood, the slope at least 0."""
    inputs = np.stack([scores, np.ones(len(scores))], axis=1)
    start = np.array([1.0, 0.0])
    # A slope weighs as the spread of the scores lets it.
    ridge = _PRIOR * np.diag([max(float(scores.var()), 1.0), 1.0]) / 4
    line = start.copy()
    for _ in range(_STEPS):
        chance = 1.0 / (1.0 + np.exp(-np.clip(inputs @ line, -_MOST, _MOST)))
        gradient = inputs.T @ (chance - ended) + ridge @ (line - start)
        curvature = (inputs * (chance * (1 - chance))[:, None]).T @ inputs + ridge
        line = line - np.linalg.solve(curvature, gradient)
    return np.array([max(line[0], 0.0), line[1]])
