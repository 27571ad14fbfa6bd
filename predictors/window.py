"""The newest completions, as columns: what models are fitted to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.api.model import AnyArray, FloatArray, IntArray

_FIRST = 256


class Window:
    """
    A ring of the newest jobs that have ended.

    Parameters
    ----------
    limit
        Jobs kept.
    num_features, num_scores
        Columns of what was known of a job at submit, and of what models said of it then.

    Attributes
    ----------
    added
        Jobs ever added.
    """

    def __init__(self, limit: int, num_features: int, num_scores: int) -> None:
        self._limit = limit
        self._widths = num_features, num_scores
        self.clear()

    def clear(self) -> None:
        """Forget all jobs."""
        self.added = 0
        self._allocate(min(_FIRST, self._limit))

    def _allocate(self, size: int) -> None:
        self._features = np.zeros((size, self._widths[0]), dtype=np.float32)
        self._scores = np.zeros((size, self._widths[1]))
        self._times = np.zeros((size, 2), dtype=np.int64)

    def __len__(self) -> int:
        return min(self.added, self._limit)

    def add(
        self, row: AnyArray, scores: Sequence[float], runtime: int, requested_time: int
    ) -> None:
        """Add a job that has just ended; times in seconds."""
        size = len(self._times)
        if self.added >= size and size < self._limit:
            self._grow(min(2 * size, self._limit))
        place = self.added % self._limit
        self._features[place] = row
        self._scores[place] = scores
        self._times[place] = runtime, requested_time
        self.added += 1

    def _grow(self, size: int) -> None:
        num, features, scores, times = len(self._times), self._features, self._scores, self._times
        self._allocate(size)
        self._features[:num], self._scores[:num], self._times[:num] = features, scores, times

    @property
    def features(self) -> AnyArray:
        """Float32, shape ``(n, F)``; a view, in an order that is the same in equal runs."""
        return self._features[: len(self)]

    @property
    def scores(self) -> FloatArray:
        """What models said at submit, shape ``(n, S)``; NaN where they said nothing."""
        return self._scores[: len(self)]

    @property
    def runtime(self) -> IntArray:
        """Seconds, shape ``(n,)``."""
        return self._times[: len(self), 0]

    @property
    def requested_time(self) -> IntArray:
        """Seconds, shape ``(n,)``."""
        return self._times[: len(self), 1]

    def newest(self, count: int) -> IntArray:
        """Return the positions of the newest jobs, sorted by position."""
        positions: IntArray = np.flatnonzero(self._age() < count)
        return positions

    def _age(self) -> IntArray:
        """Return how many jobs were added after each."""
        age: IntArray = (self.added - 1 - np.arange(len(self))) % self._limit
        return age

    def state(self) -> dict[str, Any]:
        """Return the columns as they lie."""
        return {
            "added": self.added,
            "features": self.features.copy(),
            "scores": self.scores.copy(),
            "times": self._times[: len(self)].copy(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """
        Restore what :meth:`state` returned; of a window of another size, the newest jobs.

        Raises
        ------
        ValueError
            If the columns have other shapes.
        """
        added, num = int(state["added"]), len(state["times"])
        for name, width in (("features", self._widths[0]), ("scores", self._widths[1])):
            if state[name].shape != (num, width):
                raise ValueError(f"its window holds {name} of shape {state[name].shape}")
        if state["times"].shape != (num, 2) or added < num:
            raise ValueError(f"its window holds {num} of {added} jobs")
        places = np.arange(num)
        if num != min(added, self._limit):
            oldest_first = np.roll(places, -(added % num)) if added > num else places
            places = oldest_first[-self._limit :]
            added = len(places)
        self._allocate(max(len(places), min(_FIRST, self._limit)))
        self._features[: len(places)] = state["features"][places]
        self._scores[: len(places)] = state["scores"][places]
        self._times[: len(places)] = state["times"][places]
        self.added = added
