"""The newest completions, as columns: what models are fitted to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.util.types import AnyArray, IntArray

_FIRST = 256


class CompletionWindow:
    """
    A ring of the newest jobs that have ended.

    Parameters
    ----------
    limit
        Jobs kept.
    num_features
        Columns of what was known of a job at submit.

    Attributes
    ----------
    added
        Jobs ever added.
    """

    def __init__(self, limit: int, num_features: int) -> None:
        self._limit = limit
        self._width = num_features
        self.clear()

    def clear(self) -> None:
        """Forget all jobs."""
        self._hold(0, np.zeros((0, self._width)), np.zeros((0, 2)), _FIRST)

    def _hold(self, added: int, features: AnyArray, times: AnyArray, room: int) -> None:
        """Hold these jobs, with room for so many."""
        num, room = len(times), max(len(times), min(room, self._limit))
        self.added = added
        self._features = np.zeros((room, self._width), dtype=np.float32)
        self._times = np.zeros((room, 2), dtype=np.int64)
        self._features[:num], self._times[:num] = features, times

    def __len__(self) -> int:
        return min(self.added, self._limit)

    def add(self, row: AnyArray, runtime: int, requested_time: int) -> None:
        """Add a job that has just ended; times in seconds."""
        size = len(self._times)
        if self.added >= size and size < self._limit:
            self._hold(self.added, self._features, self._times, 2 * size)
        place = self.added % self._limit
        self._features[place] = row
        self._times[place] = runtime, requested_time
        self.added += 1

    @property
    def features(self) -> AnyArray:
        """Float32, shape ``(n, F)``; a view, in an order that is the same in equal runs."""
        return self._features[: len(self)]

    @property
    def runtime(self) -> IntArray:
        """Seconds, shape ``(n,)``."""
        return self._times[: len(self), 0]

    @property
    def requested_time(self) -> IntArray:
        """Seconds, shape ``(n,)``."""
        return self._times[: len(self), 1]

    def state(self) -> dict[str, Any]:
        """Return the columns as they lie."""
        times = self._times[: len(self)].copy()
        return {"added": self.added, "features": self.features.copy(), "times": times}

    def restore(self, state: Mapping[str, Any]) -> None:
        """
        Restore what :meth:`state` returned; of a window of another size, the newest jobs.

        Raises
        ------
        ValueError
            If the columns have other shapes.
        """
        added, features, times = int(state["added"]), state["features"], state["times"]
        num = len(times)
        if features.shape != (num, self._width):
            raise ValueError(f"its window holds features of shape {features.shape}")
        if times.shape != (num, 2) or added < num:
            raise ValueError(f"its window holds {num} of {added} jobs")
        if num != min(added, self._limit):
            oldest_first = np.roll(np.arange(num), -(added % num) if added > num else 0)
            places = oldest_first[-self._limit :]
            added, features, times = len(places), features[places], times[places]
        self._hold(added, features, times, _FIRST)
