"""Five numbers and a mean: what a box plot shows of a distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cpsched.metrics.steps import Distribution
    from cpsched.model.types import AnyArray

_QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """
    What a box plot shows of a distribution.

    Attributes
    ----------
    low, high
        The smallest and the largest value, where the whiskers end (Remediani 2017, section 5.1).
    quartile_1, median, quartile_3
        Interpolated linearly, as in every table.
    mean
        The green triangle.
    number
        Values shown; jobs or seconds.
    """

    low: float
    quartile_1: float
    median: float
    quartile_3: float
    high: float
    mean: float
    number: int

    @classmethod
    def of(cls, values: AnyArray) -> Box | None:
        """Return the box of some values, None if there is none."""
        if not len(values):
            return None
        first, middle, third = np.quantile(values, _QUARTILES).tolist()
        return cls(
            low=float(values.min()),
            quartile_1=first,
            median=middle,
            quartile_3=third,
            high=float(values.max()),
            mean=float(values.mean()),
            number=len(values),
        )

    @classmethod
    def over_time(cls, seconds: Distribution) -> Box:
        """Return the box of a quantity taken at every second."""
        first, middle, third = (seconds.quantile(q) for q in _QUARTILES)
        return cls(
            low=float(seconds.levels[0]),
            quartile_1=first,
            median=middle,
            quartile_3=third,
            high=float(seconds.maximum()),
            mean=seconds.mean(),
            number=int(seconds.seconds.sum()),
        )
