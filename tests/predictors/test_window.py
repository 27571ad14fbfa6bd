"""The ring of the newest completions."""

from __future__ import annotations

import pytest

from predictors.window import Window


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, []), (1, [9]), (4, [6, 7, 8, 9]), (99, [2, 3, 4, 5, 6, 7, 8, 9])],
)
def test_the_newest_are_found_in_the_ring(count, expected):
    """By age, not by where they lie: of ten jobs of runtime 0, 1, 2, ... a ring holds eight."""
    window = Window(8, 1, 1)
    for runtime in range(10):
        window.add([runtime], [0.0], runtime, 100)
    assert sorted(window.runtime[window.newest(count)].tolist()) == expected
