"""
An order of the cells of a grid in which consecutive cells are neighbours.

It is the Hilbert curve where all sides are equal powers of two. Elsewhere the grid is cut into
cubes, whose side is the largest power of two that divides every side; a Hilbert curve fills each
cube, and the cubes follow each other row by row, every other row backwards, each curve turned such
that it ends next to where the next begins. Where a side is odd the cubes are single cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.util.types import IntArray


def along_curve(sides: Sequence[int]) -> IntArray:
    """Return the coordinates of a grid's cells in order, shape ``(N, D)``."""
    bits = 0
    while all(side % (2 << bits) == 0 for side in sides):
        bits += 1
    coarse = _snake([side >> bits for side in sides])
    return coarse if bits == 0 else _filled(coarse, hilbert(bits, len(sides)), 1 << bits)


def hilbert(bits: int, dimensions: int) -> IntArray:
    """
    Return the cells of a cube of side ``2 ** bits`` along a Hilbert curve, shape ``(N, D)``.

    It begins at the origin and ends at a neighbouring corner. Skilling's transform [1]_, for all
    cells at once.

    References
    ----------
    .. [1] Skilling (2004). Programming the Hilbert curve. AIP Conference Proceedings 707, 381-387.
    """
    index = np.arange(1 << bits * dimensions, dtype=np.int64)
    axes = np.zeros((dimensions, len(index)), dtype=np.int64)
    # The "transpose": the bits of the index are dealt out to the axes, the highest to the first.
    for bit in range(bits * dimensions):
        taken = index >> (bits * dimensions - 1 - bit) & 1
        axes[bit % dimensions] |= taken << bits - 1 - bit // dimensions
    # Gray decode.
    last = axes[-1] >> 1
    for axis in range(dimensions - 1, 0, -1):
        axes[axis] ^= axes[axis - 1]
    axes[0] ^= last
    # Undo excess work.
    for level in range(1, bits):
        low = (1 << level) - 1
        for axis in range(dimensions - 1, -1, -1):
            inverted = (axes[axis] >> level & 1).astype(np.bool_)
            swapped = np.where(inverted, 0, (axes[0] ^ axes[axis]) & low)
            axes[0] ^= np.where(inverted, low, swapped)
            axes[axis] ^= swapped
    return np.ascontiguousarray(axes.T)


def _snake(sides: Sequence[int]) -> IntArray:
    """Return the cells row by row along the last side, each row where the one before it ended."""
    left = np.arange(int(np.prod(sides)), dtype=np.int64)
    columns = []
    for side in reversed(sides):
        coordinate, left = left % side, left // side
        columns.append(np.where(left % 2, side - 1 - coordinate, coordinate))
    return np.stack(columns[::-1], axis=1)


def _filled(coarse: IntArray, curve: IntArray, side: int) -> IntArray:
    """Return the cells of cubes that follow each other, each filled by a curve."""
    dimensions = coarse.shape[1]
    # The axis along which the curve's end lies from its beginning.
    own = int(curve[-1].argmax())
    corner = np.zeros(dimensions, dtype=np.int64)
    parts = []
    for at, cube in enumerate(coarse):
        step = coarse[at + 1] - cube if at + 1 < len(coarse) else np.zeros_like(cube)
        along = int(np.abs(step).argmax())
        through = corner[along] == (1 if step[along] < 0 else 0)
        # From the far side it passes through; at the near side it must end there, so it turns.
        axis = along if through else (along + 1) % dimensions
        turned = curve.copy()
        turned[:, [own, axis]] = curve[:, [axis, own]]
        parts.append(cube * side + np.where(corner, side - 1 - turned, turned))
        corner[axis] ^= 1
        # The next cube begins on the face that touches this one.
        corner[along] ^= int(step.any())
    return np.concatenate(parts)
