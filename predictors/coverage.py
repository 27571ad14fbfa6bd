"""Offsets that keep the share of jobs above a prediction where it should be."""

from __future__ import annotations

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
