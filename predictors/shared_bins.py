"""scikit-learn's histogram booster, with the bins of the features made once for many fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

if TYPE_CHECKING:
    from cpsched.api.model import AnyArray, BoolArray, FloatArray, IntArray

#: Rows that bounds of bins are found from, or up to twice as many: sorting all takes longer.
_ENOUGH = 10_000


class SharedBins:
    """
    Features that differ from row to row, and their bins once a fit has made them.

    Parameters
    ----------
    rows
        Features, float32, shape ``(n, F)``, n at least 1, without missing values.

    Attributes
    ----------
    kept
        Which features differ, sorted; the first where none does. The others only cost time.
    rows
        These features, shape ``(n, K)``.
    """

    def __init__(self, rows: AnyArray) -> None:
        differ = np.flatnonzero((rows != rows[0]).any(axis=0))
        self.kept: IntArray = differ if len(differ) else np.zeros(1, dtype=np.int64)
        self.rows = rows[:, self.kept]
        self._made: tuple[Any, AnyArray] | None = None

    def made_by(self, mapper: Any) -> tuple[Any, AnyArray]:
        """Return who made the bins and the bin of every value, made by this mapper if by none."""
        if self._made is None:
            few = self.rows[:: max(1, len(self.rows) // _ENOUGH)]
            self._made = mapper, mapper.fit(few).transform(self.rows)
        return self._made


class _Binned:
    """
    Part of a booster that takes its bins from :class:`SharedBins`.

    Making bins takes a quarter of a fit of 100 trees, and half of one of 30. All fits that share
    bins must have the same ``max_bins``.
    """

    def fit_binned(self, bins: SharedBins, target: FloatArray, chosen: BoolArray | slice) -> None:
        """Fit to the chosen rows and the target of each of them, with bins of all rows."""
        self._bins, self._chosen = bins, chosen
        self.fit(bins.rows[chosen], target)  # type: ignore[attr-defined]

    # A private method of the library; where a version has none, every fit makes its own bins.
    def _bin_data(self, *_: Any, **__: Any) -> AnyArray:
        mapper: Any = self._bin_mapper  # type: ignore[has-type]
        self._bin_mapper, binned = self._bins.made_by(mapper)
        return np.asfortranarray(binned[self._chosen])


class BinnedBooster(_Binned, HistGradientBoostingRegressor):  # type: ignore[misc]
    """Learns a number."""


class BinnedClassifier(_Binned, HistGradientBoostingClassifier):  # type: ignore[misc]
    """Learns the logarithm of the odds of 1 against 0."""
