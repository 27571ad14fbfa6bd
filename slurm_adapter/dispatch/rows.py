"""Arrays that grow at their end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from cpsched.api.model import AnyArray

_FEWEST = 256


class Rows:
    """An array that grows at its end."""

    def __init__(self, *width: int, kind: type = np.int64) -> None:
        self.array: AnyArray = np.zeros((_FEWEST, *width), dtype=kind)
        self.size = 0

    def append(self, row: Any) -> int:
        """Put a row at the end, and return its number."""
        if self.size == len(self.array):
            self.array = np.concatenate([self.array, np.zeros_like(self.array)])
        self.array[self.size] = row
        self.size += 1
        return self.size - 1
