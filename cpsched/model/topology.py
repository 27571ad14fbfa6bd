"""Where nodes lie relative to each other: a line, and the switches above it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cpsched.model.types import IntArray


@dataclass(frozen=True)
class Topology:
    """
    A line of nodes with levels of switches above it.

    Attributes
    ----------
    num_nodes
        Number of nodes N.
    level_sizes
        Nodes under one switch of each level, smallest first: ``(16, 128)`` puts 16 nodes under
        a leaf switch and 128 under the next. Empty for a plain line. The root is implied.
    """

    num_nodes: int
    level_sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        previous = 1
        for size in self.level_sizes:
            if size <= previous or size % previous:
                raise ValueError(
                    f"switch level of {size} nodes must be a multiple of, and larger than,"
                    f" the level below it ({previous})"
                )
            previous = size

    @cached_property
    def order(self) -> IntArray:
        """Node indices along the line, shape ``(N,)``."""
        return np.arange(self.num_nodes, dtype=np.int64)

    @property
    def num_levels(self) -> int:
        """Number of switch levels, the root included."""
        return len(self.level_sizes) + 1

    def level_group(self, level: int) -> IntArray:
        """Return the switch above each node at a level (0 = leaf switches), shape ``(N,)``."""
        if level < len(self.level_sizes):
            return self.order // self.level_sizes[level]
        if level == len(self.level_sizes):
            return np.zeros(self.num_nodes, dtype=np.int64)
        raise ValueError(f"level {level} of {self.num_levels}")

    def common_level(self, a: IntArray, b: IntArray) -> IntArray:
        """
        Return the level of the lowest switch above both nodes of each pair (0 = leaf switches).

        With the first and last of a set of nodes it is the lowest switch above all of them, for
        switches have consecutive nodes. The root where there are no other switches.
        """
        level = np.zeros(len(a), dtype=np.int64)
        for size in self.level_sizes:
            level += a // size != b // size
        return level
