"""The cost of a wait, and its slope."""

import numpy as np
import pytest

from cpsched import _core


@pytest.mark.parametrize(
    ("wait", "runtime", "expected"),
    [
        # Done at once, of no length, and one second less and more than tau.
        (0, 100, 1), (0, 0, 1), (10, 0, 1), (11, 0, 1.1), (11, 9, 2), (11, 11, 2),
        # At aging 10 more, at twice aging 160 more.
        (1000, 1000, 12), (2000, 1000, 163),
    ],
)  # fmt: skip
def test_what_a_wait_costs(wait, runtime, expected):
    """Bounded slowdown, and the fourth power of what the wait is of 1,000 s of aging."""
    assert _core.job_cost(wait, runtime, 1000.0) == pytest.approx(expected)


def test_the_slope_of_the_cost_is_what_a_second_more_costs():
    """Where the bounded slowdown grows at all."""
    wait, runtime, aging = np.array([50, 900, 70000]), np.array([3, 400, 86400]), 64800.0
    slope = _core.overdue_slope(wait, np.ones(3), aging) + 1 / np.maximum(runtime, 10)
    near = [
        (_core.job_cost(w + 0.5, float(r), aging) - _core.job_cost(w - 0.5, float(r), aging))
        for w, r in zip(wait.tolist(), runtime.tolist(), strict=True)
    ]
    assert slope.tolist() == pytest.approx(near, rel=1e-6)
