"""Who is first among paired runs, and ratios as text; the ratios are the product's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.study.paired import ratio

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.study.paired import Estimate


def shown(found: Estimate | None) -> str:
    """Return a ratio with its interval."""
    if found is None:
        return "-"
    if found.low is None:
        return f"{found.mean:.3f}"
    return f"{found.mean:.3f} ({found.low:.3f}-{found.high:.3f})"


def places(values: Mapping[str, Sequence[float]]) -> dict[str, str]:
    """
    Return ``first`` for the name with the lowest geometric mean, ``tied`` for those not behind.

    Not behind: the interval of the paired ratio to the first reaches down to 1. A single pair has
    no interval; then only who equals the first is not behind.
    """
    first = min(values, key=lambda name: float(np.log(values[name]).mean()))
    found = {first: "first"}
    for name, one in values.items():
        against = ratio(one, values[first])
        if name == first or against is None:
            continue
        if against.mean == 1 or (against.low is not None and against.low <= 1):
            found[name] = "tied"
    return found
