"""
The one rule for what may be said of a difference between runs.

One run each has no verdict. A submit that moves by a second changes a schedule, so two equal
dispatchers differ by up to tens of percent in one run [1]_; repetitions show by how much. Two or
more repetitions have a verdict if the 95 % interval of their paired ratios lies beyond every ratio
from 0.99 to 1.01: a test against a least effect [2]_. A test against no effect at all would always
be significant in the end, because a submit that is half a second later waits half a second less in
every repetition.

How often this is right and wrong is measured in ``benchmarks/results/intervals.md``.

References
----------
.. [1] Tsafrir, Ouaknine and Feitelson (2007). Reducing performance evaluation sensitivity and
   variability by input shaking. MASCOTS.
.. [2] Hodges and Lehmann (1954). Testing the approximate validity of statistical hypotheses.
   Journal of the Royal Statistical Society B 16 (2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from cpsched.study import paired

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.study.paired import Estimate, Sums

EQUAL, LOWER, HIGHER = "equal", "lower", "higher"
UNCLEAR, ONE_RUN, UNKNOWN = "unclear", "one run", "no interval"
#: Added if the repetitions say so, and no interval over the days of the log does.
THIS_LOG = " (this log)"
#: Changes by a smaller share are no difference.
LEAST = 0.01
#: Changes of a time by less than the resolution of logs are none either, seconds.
RESOLUTION = 1
#: The ends of an interval.
Ends = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """
    A figure of a run and of its baseline, with all estimates of their difference.

    Attributes
    ----------
    value, base
        Means over the repetitions.
    difference, ratio
        Over the repetitions; None where a figure is not above 0 or there is no repetition.
    daily_difference, daily_ratio
        Over the days of the log, of all repetitions together; None where there are too few days,
        and for figures that are no means over jobs.
    resolution
        Smaller differences are none, in the figure's unit.
    """

    value: float
    base: float
    difference: Estimate | None
    ratio: Estimate | None
    daily_difference: Estimate | None = None
    daily_ratio: Estimate | None = None
    resolution: float = 0.0

    @classmethod
    def of(
        cls,
        values: Sequence[float],
        bases: Sequence[float],
        daily: tuple[Sums, Sums] | None = None,
        *,
        resolution: float = 0.0,
    ) -> Self:
        """
        Compare a figure of paired runs, at least one pair.

        Parameters
        ----------
        daily
            The figure's sums by day, of all repetitions of the run and of the baseline.
        """
        over = (None, None) if daily is None else paired.over_days(*daily)
        return cls(
            value=math.fsum(values) / len(values),
            base=math.fsum(bases) / len(bases),
            difference=paired.difference(values, bases),
            ratio=paired.ratio(values, bases),
            daily_difference=over[0],
            daily_ratio=over[1],
            resolution=resolution,
        )

    @property
    def verdict(self) -> str:
        """
        ``lower``, ``higher``, ``equal``, ``unclear`` or ``one run``.

        ``lower (this log)``: by the repetitions, but not by an interval over the days of the log,
        so that other jobs of the same users may say otherwise.
        """
        own = _ends(self.ratio) or _ends(self.difference)
        if self.value == self.base and (own is None or own[0] == own[1]):
            return EQUAL
        if own is None:
            return ONE_RUN
        side = self._side(own, 0.0 if self.ratio is None else 1.0)
        if not side:
            return UNCLEAR
        daily = _ends(self.daily_difference)
        same = daily is not None and (daily[1] < 0 if side == LOWER else daily[0] > 0)
        return side if same else side + THIS_LOG

    def _side(self, ends: Ends, none: float) -> str:
        """Return which side of all negligible changes an interval lies on; empty: on neither."""
        if none:
            least = max(LEAST, self.resolution / self.base)
        else:
            least = max(LEAST * max(abs(self.value), abs(self.base)), self.resolution)
        low, high = ends
        return LOWER if high < none - least else HIGHER if low > none + least else ""

    @property
    def span(self) -> Ends | None:
        """The interval of the difference that is shown, in the figure's unit; None without one."""
        own, daily = (
            (self.base * (ratio[0] - 1), self.base * (ratio[1] - 1)) if ratio else _ends(difference)
            for ratio, difference in (
                (_ends(self.ratio), self.difference),
                (_ends(self.daily_ratio), self.daily_difference),
            )
        )
        return shown(own, daily, self.verdict)

    @property
    def ratio_interval(self) -> Ends | None:
        """The interval of the ratio that is shown; None without one."""
        return shown(_ends(self.ratio), _ends(self.daily_ratio), self.verdict)


def _ends(estimate: Estimate | None) -> Ends | None:
    """Return the ends of an interval; None without one."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return None
    return estimate.low, estimate.high


def shown(own: Ends | None, daily: Ends | None, verdict: str) -> Ends | None:
    """
    Return the interval that stands for both: it never contradicts the verdict.

    The wider reach of both; where only the repetitions exclude no difference, theirs.

    Parameters
    ----------
    own, daily
        Over the repetitions, and over the days of the log.
    """
    if own is None or daily is None or is_of_log(verdict):
        return own or daily
    return min(own[0], daily[0]), max(own[1], daily[1])


def is_clear(verdict: str) -> bool:
    """Whether a verdict is lower or higher, for this log at least."""
    return verdict.startswith((LOWER, HIGHER))


def is_of_log(verdict: str) -> bool:
    """Whether a verdict holds for this log alone."""
    return verdict.endswith(THIS_LOG)


def of_mean(ratio: Estimate) -> str:
    """Return the verdict of a mean ratio over logs; ``no interval`` where there are too few."""
    ends = _ends(ratio)
    if ends is None:
        return UNKNOWN
    return LOWER if ends[1] < 1 - LEAST else HIGHER if ends[0] > 1 + LEAST else UNCLEAR
