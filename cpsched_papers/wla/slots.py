"""Slots: the maximal runs of free nodes in node order (Yang et al., section II)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cpsched.base.types import BoolArray, IntArray


def runs(marked: BoolArray, at: IntArray) -> tuple[IntArray, IntArray]:
    """
    Return the maximal runs of marked nodes: the first of each and the one behind its last.

    Parameters
    ----------
    at
        Nodes that may not be in one run with the node before them, in any order.
    """
    begins = np.zeros(len(marked) + 1, dtype=np.bool_)
    begins[at] = True
    edges = np.diff(marked.astype(np.int8), prepend=0, append=0)
    inside = np.append(marked, False) & begins
    inside[1:] &= marked
    inside[0] = False
    return np.flatnonzero((edges > 0) | inside), np.flatnonzero((edges < 0) | inside)
