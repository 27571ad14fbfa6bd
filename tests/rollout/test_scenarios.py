"""Scenarios: the kernels against slow twins, on small cases of any kind."""

import numpy as np
import pytest
import rollouts as slow
from hypothesis import given, settings
from hypothesis import strategies as st

from cpsched.kernels import scenarios

often = settings(max_examples=120)


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
    """Return what the kernel says each proposal costs in some scenarios."""
    tasks, num = scene.tasks, len(scene.waiting)
    key = np.array([task.key for task in tasks])
    promised = whole_numbers([promised for promised, _ in scene.running])
    jobs = scenarios.Jobs(
        turn=np.argsort(key[:num], kind="stable"),
        key=key,
        reserved=column(tasks, "plan"),
        area=np.array([task.area for task in tasks]),
        submit=column(tasks, "submit"),
        demand=demands(tasks),
        ready=column(tasks, "ready"),
    )
    amounts = whole_numbers([amount for _, amount in scene.running], 2)
    return scenarios.judge(
        scene.now,
        np.array([[job in starts for job in range(num)] for starts in proposals]),
        whole_numbers(runtimes),
        whole_numbers(remaining).reshape(len(runtimes), -1),
        jobs,
        scenarios.Running(promised, np.argsort(promised, kind="stable"), amounts),
        whole_numbers(scene.free),
        patience,
    )


@given(scene=slow.scenes(), patience=st.sampled_from([20.0, 300.0, 1e6]), data=st.data())
@often
def test_costs_are_those_of_the_twin(scene, patience, data):
    """
    Any starts that fit, in scenarios in which runtimes have little to do with predictions.

    Playing ends when the first proposal is ahead, but not before the fourth scenario.
    """
    proposals = [data.draw(slow.starts_of(scene)) for _ in range(2)]
    length = st.integers(1, 30)

    def drawn(num):
        return [data.draw(st.lists(length, min_size=num, max_size=num)) for _ in range(6)]

    runtimes, remaining = drawn(len(scene.tasks)), drawn(len(scene.running))
    found = judged(scene, proposals, runtimes, remaining, patience)
    played = found.shape[1]
    for starts, costs in zip(proposals, found.tolist(), strict=True):
        expected = [
            slow.roll_out(scene, starts, *lengths, patience)
            for lengths in zip(runtimes[:played], remaining, strict=False)
        ]
        assert costs == pytest.approx(expected, rel=1e-12)
    first, second = np.cumsum(found, axis=1)
    ahead = first[3:] <= second[3:]
    assert not ahead[:-1].any()
    assert played == 6 or ahead[-1]


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
    slope = scenarios.overdue_slope(wait, np.ones(3), patience) + 1 / np.maximum(runtime, 10)
    near = [
        (
            scenarios.job_cost(w + 0.5, float(r), patience)
            - scenarios.job_cost(w - 0.5, float(r), patience)
        )
        for w, r in zip(wait.tolist(), runtime.tolist(), strict=True)
    ]
    assert slope.tolist() == pytest.approx(near, rel=1e-6)
