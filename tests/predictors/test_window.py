"""The ring of the newest completions."""

from __future__ import annotations

import pytest

from predictors.window import Window


def filled(limit, added):
    """Return a window to which jobs of runtime 0, 1, 2, ... have been added."""
    window = Window(limit, 1, 1)
    for runtime in range(added):
        window.add([runtime], [0.0], runtime, 100)
    return window


@pytest.mark.parametrize(
    ("limit", "added", "expected"),
    [
        (8, 0, []),
        (8, 3, [0, 1, 2]),
        # Of 0 to 7 the newest three are whole; of the older, 3 has four behind it, 1 six.
        (8, 8, [1, 3, 5, 6, 7]),
        # 9 lies where 1 was: the ring holds 2 to 9.
        (8, 10, [3, 5, 7, 8, 9]),
    ],
)
def test_older_jobs_are_thinned_by_age(limit, added, expected):
    """All of the newest three, and every other one before them, wherever they lie in the ring."""
    window = filled(limit, added)
    rows = window.thinned(3, 2)
    assert sorted(window.runtime[rows].tolist()) == expected
    assert rows.tolist() == sorted(rows.tolist())


@pytest.mark.parametrize(("count", "expected"), [(0, []), (1, [9]), (4, [6, 7, 8, 9]), (99, 8)])
def test_the_newest_are_found_in_the_ring(count, expected):
    """By age, not by where they lie."""
    window = filled(8, 10)
    found = sorted(window.runtime[window.newest(count)].tolist())
    assert found == (list(range(2, 10)) if expected == 8 else expected)
