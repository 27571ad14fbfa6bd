"""What never changes of a job, as it is shown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cpsched.util.types import FloatArray, IntArray

_LONGEST = math.log1p(30 * 86400)


def facts_of(estimate: IntArray, demand: IntArray, total: IntArray) -> FloatArray:
    """
    Return what never changes of jobs as it is shown: estimate, share of the machine, area.

    Parameters
    ----------
    estimate, demand, total
        Seconds and amounts, shapes ``(n,)``, ``(n, R)`` and ``(R,)``.

    Returns
    -------
    ndarray
        From 0 to 1, shape ``(n, 3)``.
    """
    share = (demand / np.maximum(total, 1)).max(axis=1, initial=0.0)
    runs = np.maximum(estimate, 0).astype(np.float64)
    facts = np.stack([np.log1p(runs) / _LONGEST, share, np.log1p(runs * share) / _LONGEST], axis=1)
    clipped: FloatArray = np.minimum(facts, 1.0)
    return clipped
