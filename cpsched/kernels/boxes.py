"""
Free boxes of a torus.

A box is a range of consecutive coordinates in each dimension, which may pass over the end of a
side. Windows of cells are summed one dimension after the other, so that a box of any size is found
in a few steps for each node.
"""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import NONE
from cpsched.kernels.inner import inner, leaf

#: Shapes of boxes that are tried for a job that may have any, the nearest to a cube first.
_SHAPES = 16
_BITS, _MASK = 12, 4095


@inner
def unpacked_box(packed, num_sides):
    """Return the sides of a box, filled up with 1; of length 0 where it has more than the torus."""
    sides = np.ones(num_sides, dtype=np.int64)
    at = 0
    while packed > 0:
        side = packed & _MASK
        packed >>= _BITS
        if at < num_sides:
            sides[at] = side
        elif side > 1:
            return sides[:0]
        at += 1
    return sides


@inner
def _windows(values, torus, box):
    """Return of each cell the sum of values in the box that begins there."""
    sums = values.copy()
    along = np.empty(len(values), dtype=np.int64)
    stride = 1
    for d in range(len(torus) - 1, -1, -1):
        side, length = torus[d], box[d]
        if length > 1:
            for base in range(len(values)):
                if base // stride % side != 0:
                    continue
                total = 0
                for x in range(length):
                    total += sums[base + x * stride]
                for x in range(side):
                    along[base + x * stride] = total
                    total -= sums[base + x * stride]
                    total += sums[base + (x + length) % side * stride]
            sums, along = along, sums
        stride *= side
    return sums


@inner
def _first_free(torus, box, usable, room, units):
    """Return the first cell at which a box begins that is usable and holds the units, or -1."""
    volume = 1
    for d in range(len(torus)):
        if box[d] > torus[d]:
            return NONE
        volume *= box[d]
    free = _windows(usable, torus, box)
    held = _windows(room, torus, box)
    for cell in range(len(usable)):
        if free[cell] == volume and held[cell] >= units:
            return np.int64(cell)
    return NONE


@leaf
def _rotate(code, sides, box, used):
    """Turn a box as a number says, a digit for each dimension; say whether it is a new way."""
    num = len(sides)
    for d in range(num):
        used[d] = 0
    for d in range(num):
        at = code % num
        code //= num
        if used[at] != 0:
            return False
        used[at] = 1
        box[d] = sides[at]
        # Of equal sides the first comes first.
        for other in range(at):
            if sides[other] == sides[at] and used[other] == 0:
                return False
    return True


@inner
def find_rotated(torus, sides, usable, room, units):
    """
    Find a free box with given sides in any order.

    Parameters
    ----------
    usable, room
        Of each cell whether it can be used (0 or 1), and the units it holds.

    Returns
    -------
    cell, box
        Where it begins, -1 if there is none; and its sides by dimension.
    """
    num = len(torus)
    box = np.empty(num, dtype=np.int64)
    used = np.empty(num, dtype=np.int64)
    for code in range(num**num):
        if _rotate(code, sides, box, used):
            cell = _first_free(torus, box, usable, room, units)
            if cell >= 0:
                return cell, box
    return NONE, box


@inner
def find_near_cube(torus, num_nodes, usable, room, units):
    """
    Find a free box of so many nodes that is near a cube; as :func:`find_rotated` does.

    The shapes with the smallest sum of sides are tried.
    """
    num = len(torus)
    shapes = np.empty((_SHAPES, num), dtype=np.int64)
    sums = np.empty(_SHAPES, dtype=np.int64)
    count = 0
    box = np.ones(num, dtype=np.int64)
    # All ways to write the number as a product, counted up like the hands of a clock.
    while True:
        rest = num_nodes
        total = 0
        for d in range(num - 1):
            rest = rest // box[d] if rest % box[d] == 0 else 0
            total += box[d]
            if rest == 0:
                break
        if 1 <= rest <= torus[num - 1]:
            box[num - 1] = rest
            total += rest
            if count < _SHAPES or total < sums[count - 1]:
                at = min(count, _SHAPES - 1)
                while at > 0 and sums[at - 1] > total:
                    sums[at] = sums[at - 1]
                    shapes[at] = shapes[at - 1]
                    at -= 1
                sums[at] = total
                shapes[at] = box
                count = min(count + 1, _SHAPES)
        d = num - 2
        while d >= 0:
            box[d] += 1
            while box[d] <= torus[d] and num_nodes % box[d] != 0:
                box[d] += 1
            if box[d] <= torus[d]:
                break
            box[d] = 1
            d -= 1
        if d < 0:
            break
    for i in range(count):
        cell = _first_free(torus, shapes[i], usable, room, units)
        if cell >= 0:
            return cell, shapes[i].copy()
    return NONE, box


@inner
def cells_in(torus, cell, box):
    """Return the cells of the box that begins at a cell."""
    num = len(torus)
    volume = 1
    for d in range(num):
        volume *= box[d]
    cells = np.empty(volume, dtype=np.int64)
    for i in range(volume):
        rest, corner = i, cell
        stride = 1
        found = 0
        for d in range(num - 1, -1, -1):
            found += (corner % torus[d] + rest % box[d]) % torus[d] * stride
            rest //= box[d]
            corner //= torus[d]
            stride *= torus[d]
        cells[i] = found
    return cells
