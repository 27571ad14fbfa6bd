"""How many units of a request nodes hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cpsched.base.types import IntArray


def unit_capacity(
    capacity: IntArray, request: IntArray, per_node: IntArray, limit: IntArray
) -> IntArray:
    """
    Return how many units of each shape an empty node of each kind holds.

    Parameters
    ----------
    capacity
        What a node of each kind holds, shape ``(M, R)``.
    request, per_node
        What one unit needs, and the job on each node in addition, shapes ``(S, R)``.
    limit
        The most units of interest, shape ``(S,)``: a unit may need nothing at all.

    Returns
    -------
    ndarray
        Units, at most ``limit``, shape ``(S, M)``.
    """
    left = capacity[None, :, :] - per_node[:, None, :]
    needed = request[:, None, :]
    units = np.where(needed > 0, left // np.maximum(needed, 1), limit[:, None, None])
    held = np.where((left < 0).any(axis=2), 0, units.min(axis=2))
    return np.asarray(np.clip(held, 0, limit[:, None]), dtype=np.int64)
