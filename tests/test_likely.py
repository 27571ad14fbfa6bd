"""Likely runtimes, and what follows from them: the kernels against plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpsched.kernels import likely, scenarios
from cpsched.likely import Likely, RuntimeHistory

ratios = st.sampled_from([0.001, 0.05, 0.3, 0.5, 1.0, 1.7, 40.0])
seconds = st.sampled_from([1, 7, 60, 61, 3600, 86400])
users = st.integers(-1, 2)


@st.composite
def histories(draw):
    """Draw what has ended: (user, plan, limit, runtime), oldest first."""
    ended = st.tuples(users, seconds, seconds, seconds)
    return draw(st.lists(ended, max_size=50))


def learnt(ended):
    """Return a history of them, with users 0 to 2."""
    seen = RuntimeHistory()
    seen._make_room(3)
    for one in ended:
        seen._note(*one)
    return seen


def expected_runtimes(job, ended):
    """Return the two lists of likely runtimes."""
    user, plan, limit = job

    def runtime(other):
        return round(min(max(other[3] / other[1] * plan, 1.0), float(limit)))

    own = [runtime(other) for other in ended if other[0] == user and user >= 0][-10:]
    far = [
        (
            abs(math.log(other[1]) - math.log(plan))
            + abs(math.log(other[2]) - math.log(limit))
            + (other[0] != user)
        )
        for other in ended
    ]
    like = sorted(range(len(ended)), key=lambda at: far[at])[: likely.NEAR]
    return own if len(own) > 1 else [], like, far, runtime


@given(histories(), st.lists(st.tuples(users, seconds, seconds), min_size=1, max_size=5))
@settings(max_examples=80, deadline=None)
def test_likely_runtimes_are_the_users_last_and_those_of_jobs_most_alike(ended, queue):
    """Of the jobs as far away as the last one taken, up to rounding, any may be it."""
    user, plan, limit = (np.array(column, dtype=np.int64) for column in zip(*queue, strict=True))
    found = learnt(ended).likely(user, plan, limit)
    for j, job in enumerate(queue):
        own, like, far, runtime = expected_runtimes(job, ended)
        assert sorted(found.runtime[j, 0, : found.num[j, 0]].tolist()) == sorted(own)
        taken = found.runtime[j, 1, : found.num[j, 1]].tolist()
        assert len(taken) == len(like)
        if like:
            last = far[like[-1]] - 1e-9
            sure = [runtime(ended[at]) for at in like if far[at] < last]
            left = list(taken)
            for value in sure:
                left.remove(value)
            others = {runtime(ended[at]) for at, one in enumerate(far) if abs(one - last) < 1e-8}
            assert set(left) <= others


def of(plan, own, like):
    """Return the likely runtimes of one job."""
    runtime = np.zeros((1, 2, likely.NEAR), dtype=np.int64)
    runtime[0, 0, : len(own)], runtime[0, 1, : len(like)] = own, like
    return Likely(np.array([plan]), runtime, np.array([[len(own), len(like)]]))


some = st.lists(st.integers(1, 1000), max_size=likely.NEAR)


@pytest.mark.parametrize(
    ("own", "like", "expected"),
    [
        ([], [], 100),
        ([3, 1, 2], [], 2),
        ([], [4, 9], 4),
        # Both sources count the same: two of 5 and 6 weigh as much as four.
        ([5, 6], [1, 1, 9, 9], 5),
        ([50, 60], [1, 1, 1, 1], 1),
        ([50, 60], [1, 1, 1, 70], 50),
    ],
)
def test_typical_is_the_median_of_both_sources(own, like, expected):
    """The lower one of an even number, and the prediction where nothing is known."""
    assert of(100, own, like).typical().tolist() == [expected]


@given(some, some)
@settings(max_examples=60, deadline=None)
def test_expectations_are_means_of_the_sources_means(own, like):
    """Of 1 / max(r, 10) and of r."""
    slope, mean = likely.expectations(*of(100, own, like))
    sources = [one for one in (own, like) if one] or [[100]]
    assert mean[0] == pytest.approx(np.mean([np.mean(one) for one in sources]))
    inverse = [np.mean([1 / max(r, 10) for r in one]) for one in sources]
    assert slope[0] == pytest.approx(np.mean(inverse))


def test_urgency_is_the_slope_of_the_cost_over_what_the_job_takes():
    """Where the runtime is certain it is Smith's rule."""
    waited, share = np.array([30000]), np.array([0.25])
    found = of(100, [400], [400, 400]).urgency(waited, share, 64800.0)
    slope = scenarios.cost_slope(waited, np.array([400]), 64800.0)
    assert found == pytest.approx(slope / (400 * 0.25))


@given(st.integers(0, 2**47), st.integers(0, 1200), some, some)
@settings(max_examples=60, deadline=None)
def test_drawn_runtimes_are_likely_and_longer_than_what_has_run(seed, elapsed, own, like):
    """What is expected is taken where none is."""
    found = of(100, own, like).draw(40, seed, np.array([elapsed]), np.array([300]))[:, 0].tolist()
    longer = {r for r in (*own, *like) if r > elapsed}
    assert set(found) <= (longer or {max(300, elapsed + 1)})


def test_either_source_is_drawn_as_often_as_the_other():
    """However much more there is of one."""
    drawn = of(100, [1, 1], [2] * 20).draw(4000, 5, np.array([0]), np.array([300]))
    assert (drawn == 1).mean() == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("num", [25, 499, 500, 520, 1003])
def test_of_jobs_as_much_alike_the_newest_count(num):
    """Whatever place they have in what is remembered."""
    seen = learnt((-1, 1000, 1000, 1 + end) for end in range(num))
    found = seen.likely(np.array([-1]), np.array([1000]), np.array([1000]))
    newest = range(num - likely.NEAR + 1, num + 1)
    assert sorted(found.runtime[0, 1].tolist()) == [min(runtime, 1000) for runtime in newest]


def test_ratios_of_enormous_predictions_do_not_overflow():
    """They are cut at the limit."""
    seen = learnt([(0, 1, 1, 2**26), (0, 1, 1, 2**26)])
    found = seen.likely(np.array([0]), np.array([2**40]), np.array([2**40]))
    assert found.typical().tolist() == [2**40]


def test_no_runtime_is_beyond_the_limit():
    """Whatever ratios there were, and where there were none."""
    seen = learnt([(0, 1, 1, 1), (0, 1, 10**6, 3600), (0, 1, 10**6, 86400)])
    nobody = np.full(2, -1, dtype=np.int64)
    found = seen.likely(nobody, np.array([100, 100]), np.array([600, 50]))
    assert found.runtime[0, 1, :3].max() == 600
    assert found.runtime[1, 1, :3].max() == 50
    unknown = RuntimeHistory().likely(nobody, np.array([100, 100]), np.array([600, 50]))
    assert unknown.typical().tolist() == [100, 50]
