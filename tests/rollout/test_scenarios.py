"""Scenarios: the kernels against slow twins, on small cases of any kind."""

from __future__ import annotations

import numpy as np
import pytest
import rollouts as slow
from hypothesis import given, settings
from hypothesis import strategies as st

from cpsched.kernels import scenarios

often = settings(max_examples=120, deadline=None)


def whole_numbers(values, width=None):
    """Return int64, with rows of ``width`` also where there is none."""
    found = np.array(values, dtype=np.int64)
    return found if width is None else found.reshape(-1, width)


def column(tasks, name):
    """Return one attribute of all tasks."""
    return whole_numbers([getattr(task, name) for task in tasks])


def demands(tasks):
    """Return what tasks take, shape ``(n, 2)``."""
    return whole_numbers([task.demand for task in tasks], 2)


def judged(scene, proposals, runtimes, remaining, patience):
    """Return what the kernel says each proposal costs over some scenarios."""
    tasks, num = scene.tasks, len(scene.waiting)
    return scenarios.judge(
        scene.now,
        num,
        np.array([[job in one.starts for job in range(num)] for one in proposals]),
        whole_numbers([one.held for one in proposals]),
        whole_numbers([one.shadow for one in proposals]),
        whole_numbers([one.extra for one in proposals], 2),
        whole_numbers(runtimes),
        column(tasks, "plan"),
        column(tasks, "typical"),
        column(tasks, "submit"),
        demands(tasks),
        column(tasks, "ready"),
        whole_numbers(remaining).reshape(len(runtimes), -1),
        whole_numbers([amount for _, amount in scene.running], 2),
        whole_numbers(scene.free),
        patience,
    )


def permuted(data, scene):
    """Draw an order of the waiting jobs."""
    return data.draw(st.permutations(range(len(scene.waiting))))


@given(scene=slow.scenes(), patience=st.sampled_from([20.0, 300.0, 1e6]), data=st.data())
@often
def test_costs_are_those_of_the_twin(scene, patience, data):
    """Proposals of three rules, scenarios in which runtimes have little to do with predictions."""
    proposals = [
        slow.propose(permuted(data, scene), permuted(data, scene), depth, scene)
        for depth in (0, 1, 2)
    ]
    length = st.integers(1, 30)

    def drawn(num):
        return [data.draw(st.lists(length, min_size=num, max_size=num)) for _ in range(3)]

    runtimes, remaining = drawn(len(scene.tasks)), drawn(len(scene.running))
    expected = [
        sum(
            slow.roll_out(scene, one, *lengths, patience)
            for lengths in zip(runtimes, remaining, strict=True)
        )
        / len(runtimes)
        for one in proposals
    ]
    found = judged(scene, proposals, runtimes, remaining, patience)
    # Who is dearer than one before is not played to the end.
    cheapest = np.minimum.accumulate(expected)
    for cost, true, least in zip(found.tolist(), expected, cheapest.tolist(), strict=True):
        assert cost == pytest.approx(true, rel=1e-12) or (cost == np.inf and true > least)
    assert np.isfinite(found[np.argmin(expected)])


@pytest.mark.parametrize(
    ("wait", "runtime", "expected"),
    [
        # Done at once, of no length, and one second less and more than tau.
        (0, 100, 1), (0, 0, 1), (10, 0, 1), (11, 0, 1.1), (11, 9, 2), (11, 11, 2),
        # At patience 10 more, at twice patience 160 more.
        (1000, 1000, 12), (2000, 1000, 163),
    ],
)  # fmt: skip
def test_what_a_wait_costs(wait, runtime, expected):
    """Bounded slowdown, and the fourth power of what the wait is of 1,000 s of patience."""
    assert scenarios.job_cost(wait, runtime, 1000.0) == pytest.approx(expected)
    assert slow.cost(wait, runtime, 1000.0) == pytest.approx(expected)


def test_the_slope_of_the_cost_is_what_a_second_more_costs():
    """Where the bounded slowdown grows at all."""
    wait, runtime, patience = np.array([50, 900, 70000]), np.array([3, 400, 86400]), 64800.0
    slope = scenarios.cost_slope(wait, runtime, patience)
    near = [
        (
            scenarios.job_cost(w + 0.5, float(r), patience)
            - scenarios.job_cost(w - 0.5, float(r), patience)
        )
        for w, r in zip(wait.tolist(), runtime.tolist(), strict=True)
    ]
    assert slope.tolist() == pytest.approx(near, rel=1e-6)
