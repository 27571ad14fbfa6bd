"""Empirical runtime distributions and what follows from them, against plain Python."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpsched import _core
from cpsched.dispatch.runtime_distribution import (
    ENDED_OF_ALL,
    ENDED_OF_USER,
    RuntimeDistribution,
    RuntimeHistory,
    facts_of,
)
from cpsched.model.prediction import HORIZONS

#: Runtimes of ended jobs in a distribution at most, and all runtimes.
NUM_NEIGHBOURS, MAX_SAMPLES = 32, 45

seconds = st.sampled_from([1, 7, 60, 61, 3600, 86400])
jobs = st.tuples(st.integers(-1, 2), seconds, seconds, st.sampled_from([1, 2, 64]))


@st.composite
def histories(draw):
    """Draw what has ended: (user, requested time, estimate, cores) and runtime, oldest first."""
    return draw(st.lists(st.tuples(jobs, seconds), max_size=60))


def facts(*rows):
    """Return the facts of jobs."""
    return facts_of(*(np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)))


def learnt(ended):
    """Return a history of them."""
    seen = RuntimeHistory()
    for job, runtime in ended:
        seen.learn(facts(job)[0].tolist(), runtime)
    return seen


def distances(job, ended):
    """Return how far each job that has ended is from one, None for those not looked at."""
    user, *traits = job
    own = [at for at, (other, _) in enumerate(ended) if other[0] == user and user >= 0][::-1]
    distance_of = {}
    for at, ((other_user, *those), _) in enumerate(ended):
        apart = [abs(math.log(a) - math.log(b)) for a, b in zip(traits, those, strict=True)]
        far = min(apart[0], 3) + min(apart[1], 3) + 2 * min(apart[2], 1)
        if at in own:
            rank = own.index(at)
            if rank < ENDED_OF_USER:
                distance_of[at] = far + 0.5 * math.log(1 + rank)
        elif len(ended) - at <= ENDED_OF_ALL and (user < 0 or other_user != user):
            distance_of[at] = far + 2.5 + 0.1 * math.log(len(ended) - at)
    return distance_of


@given(histories(), st.lists(jobs, min_size=1, max_size=5))
@settings(max_examples=80)
def test_runtimes_are_those_of_the_most_similar_jobs(ended, queue):
    """Weights fall exponentially with the distance; nothing is beyond the request."""
    seen = learnt(ended)
    distribution = seen.distribution(facts(*queue))
    for j, job in enumerate(queue):
        far = distances(job, ended)
        nearest = sorted(far.values())[:NUM_NEIGHBOURS]
        size = distribution.size[j]
        assert size == max(len(nearest), 1)
        assert distribution.weight[j, :size].sum() == pytest.approx(1.0)
        if not nearest:
            assert distribution.runtime[j, 0] == min(job[1], job[2])
            continue
        expected = np.exp(-np.array(nearest))
        assert distribution.weight[j, :size] == pytest.approx(expected / expected.sum())
        last = nearest[-1] - 1e-9
        sure = sorted(
            round(min(max(ended[at][1] * (job[2] / ended[at][0][2]) ** seen.scale, 1), job[1]))
            for at, runtime in far.items()
            if runtime < last
        )
        count = len(sure)
        assert sorted(distribution.runtime[j, :count].tolist()) == sure


@pytest.mark.parametrize(
    ("estimates", "scale"),
    [
        # Right but for a factor, the same for all, twice as far apart as the runtimes.
        ((20, 200, 40, 2000), 1.0), ((50, 50, 50, 50), 0.5), ((100, 10_000, 400, 1_000_000), 0.5),
        # Short where it is long.
        ((1000, 100, 500, 10), 0.26),
    ],
)  # fmt: skip
def test_runtimes_go_along_with_estimates_that_are_good(estimates, scale):
    """Jobs of 10, 100, 20 and 1000 s; who the user is does not matter, only that it is one."""
    runtimes = (10, 100, 20, 1000)
    for user in (-1, 0):
        jobs = [(user, 10**6, estimate, 1) for estimate in estimates]
        seen = learnt(list(zip(jobs, runtimes, strict=True)))
        assert seen.scale == pytest.approx(scale, abs=0.03)
    assert RuntimeHistory().scale == 0.5


def test_of_a_user_and_of_all_only_the_last_are_remembered():
    """Of 300 jobs of one user 40 count for him, 250 for somebody else."""
    seen = learnt([((0, 1000, 1000, 1), 1 + end) for end in range(300)])
    own, other = seen.distribution(facts((0, 1000, 1000, 1), (1, 1000, 1000, 1))).runtime
    assert sorted(own[:NUM_NEIGHBOURS]) == list(range(300 - NUM_NEIGHBOURS + 1, 301))
    assert sorted(other[:NUM_NEIGHBOURS]) == list(range(300 - NUM_NEIGHBOURS + 1, 301))
    seen.forget_user(0)
    again = seen.distribution(facts((0, 1000, 1000, 1)))
    assert sorted(again.runtime[0, :NUM_NEIGHBOURS]) == list(range(300 - NUM_NEIGHBOURS + 1, 301))


def weight_of(quantiles, ends_within, limit=10**5):
    """Return the predicted runtimes and weights of one job."""
    known = (
        None if quantiles is None else np.array([quantiles]),
        None if ends_within is None else np.array([ends_within]),
    )
    limit, user = np.array([limit]), np.array([0])
    row = facts_of(user, limit, limit, np.ones(1, dtype=np.int64), *known)
    distribution = RuntimeHistory().distribution(row)
    size = distribution.size[0]
    return dict(
        zip(
            distribution.runtime[0, :size].tolist(),
            distribution.weight[0, :size].tolist(),
            strict=True,
        )
    )


QUANTILES = [10, 20, 100, 200, 300, 700, 800, 5000, 6000]


def test_what_is_predicted_is_a_source_of_its_own():
    """Quantiles alone weigh the same; chances are shared by the quantiles between horizons."""
    alone = weight_of(QUANTILES, None)
    assert alone == pytest.approx(dict.fromkeys(QUANTILES, 1 / 9))
    both = weight_of(QUANTILES, [0.5, 0.8, 0.9])
    shares = [0.25, 0.25, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05]
    assert both == pytest.approx(dict(zip(QUANTILES, shares, strict=True)))


def test_chances_alone_stand_for_runtimes_between_the_horizons():
    """As do those of ranges without a quantile; a range of chance 0 has none."""
    weights = weight_of(None, [0.5, 0.5, 0.9], limit=40_000)
    assert list(weights.values()) == pytest.approx([0.5, 0.4, 0.1])
    first, middle, last = weights
    assert first < HORIZONS[0] < HORIZONS[1] < middle < HORIZONS[2] < last < 40_000
    assert sum(weight for runtime, weight in weight_of(QUANTILES[2:] + [7000] * 2, [0.3, 0.5, 0.6]).items()
               if runtime <= HORIZONS[0]) == pytest.approx(0.3)  # fmt: skip


def test_other_jobs_and_what_is_predicted_weigh_the_same():
    """However many there are of either."""
    seen = learnt([((0, 1000, 1000, 1), 5)])
    ones = np.ones(1, dtype=np.int64)
    row = facts_of(0 * ones, 1000 * ones, 1000 * ones, ones, np.array([[900] * 9]))
    distribution = seen.distribution(row)
    assert distribution.weight[0, distribution.runtime[0] == 5].sum() == pytest.approx(0.5)


def test_a_job_of_which_a_predictor_says_nothing_has_no_such_source():
    """Its row is -1 and NaN."""
    assert weight_of([-1] * 9, [math.nan] * 3) == {10**5: 1.0}


def distribution_of(*runtimes):
    """Return the runtime distribution of one job, of equal weights."""
    size = len(runtimes)
    runtime, weight = np.ones((1, MAX_SAMPLES)), np.zeros((1, MAX_SAMPLES))
    runtime[0, :size], weight[0, :size] = runtimes, 1 / size
    return RuntimeDistribution(runtime, weight, np.array([size]))


runtimes_lists = st.lists(st.integers(1, 1000), min_size=1, max_size=NUM_NEIGHBOURS)


@given(runtimes_lists)
@settings(max_examples=60)
def test_expectations_are_weighted_means(runtimes):
    """Of 1 / max(r, 10) and of r."""
    slope, mean = distribution_of(*runtimes).expectations()
    assert mean[0] == pytest.approx(np.mean(runtimes))
    assert slope[0] == pytest.approx(np.mean([1 / max(r, 10) for r in runtimes]))


@given(st.integers(0, 2**47), st.integers(0, 1200), runtimes_lists)
@settings(max_examples=60)
def test_sampled_runtimes_are_longer_than_what_has_run(seed, elapsed, runtimes):
    """What is expected is taken where none is."""
    sampled = (
        distribution_of(*runtimes)
        .sample(40, seed, np.array([elapsed]), np.array([300]))[:, 0]
        .tolist()
    )
    longer = {r for r in runtimes if r > elapsed}
    assert set(sampled) <= (longer or {max(300, elapsed + 1)})


@given(st.integers(0, 2**47))
@settings(max_examples=30)
def test_every_part_of_the_distribution_is_sampled_once(seed):
    """Of ten runtimes of the same weight, ten scenarios have one each, in any order."""
    sampled = distribution_of(*range(1, 11)).sample(10, seed, np.array([0]), np.array([300]))[:, 0]
    assert sorted(sampled.tolist()) == list(range(1, 11))


def test_the_order_of_the_samples_differs_from_job_to_job():
    """Or short runtimes of all jobs would meet in one scenario."""
    sequence = distribution_of(*range(1, 11))
    twice = sequence.take(np.zeros(2, dtype=np.int64))
    sampled = twice.sample(10, 1, np.zeros(2, dtype=np.int64), np.full(2, 300))
    assert sampled[:, 0].tolist() != sampled[:, 1].tolist()


def test_urgency_is_the_slope_of_the_cost_over_what_the_job_takes():
    """
    Where the runtime is certain it is Smith's rule.

    The only job that has ended took 400 s of 4 cores; one of 16 takes four times as much, and its
    penalty 10 sqrt(4) (wait / p)^4 has the slope 80 / p at p.
    """
    seen = learnt([((0, 400, 400, 4), 400)])
    waited, share = np.array([30_000]), np.array([0.25])
    costs = seen.delay_costs(facts((0, 400, 400, 16)), share, waited, 30_000.0, 1.0)
    assert costs.value == pytest.approx([(1 / 400 + 80 / 30_000) / (400 * 0.25)])


def test_runtimes_up_to_what_a_job_has_run_are_left_out():
    """Half of a user's jobs run 7 s and half 3600: one that has run 60 takes 3600, or its limit."""
    seen = learnt([((0, 86400, 86400, 1), 7 if at % 2 else 3600) for at in range(40)])
    ones = np.ones(1, dtype=np.int64)

    def at(ran):
        row = facts_of(0 * ones, 86400 * ones, 86400 * ones, ones, ran=ran)
        return seen.distribution(row)

    slope, mean = at(60).expectations()
    assert mean.tolist() == pytest.approx([3600])
    assert slope.tolist() == pytest.approx([1 / 3600])
    assert at(3600).expectations()[1].tolist() == pytest.approx([86400])
    assert 7 < at(0).expectations()[1][0] < 3600


def test_nothing_counts_behind_the_samples_of_a_job():
    """Of 40 ended jobs half are shorter than the job has run: their weights are 0."""
    history = learnt([((0, 86400, 86400, 1), 7 if at % 2 else 3600) for at in range(40)])
    ones = np.ones(1, dtype=np.int64)
    distribution = history.distribution(
        facts_of(0 * ones, 86400 * ones, 86400 * ones, ones, ran=60)
    )
    assert distribution.weight[0, : distribution.size[0]].sum() == pytest.approx(1.0)
    assert not distribution.weight[0, distribution.size[0] :].any()


@pytest.mark.parametrize("wrong", ["facts", "ended_of_all", "num_of_user", "size"])
def test_arrays_of_other_shapes_are_refused(wrong):
    """What is passed to the native functions by rows must have these rows."""
    arrays = {
        "facts": np.zeros((1, 32)),
        "ended_of_all": np.zeros((ENDED_OF_ALL, 5)),
        "num_of_all": 0,
        "ended_of_users": np.zeros((ENDED_OF_USER, 5)),
        "num_of_user": np.zeros(1, dtype=np.int64),
        "scale": 0.5,
    }
    if wrong == "size":
        with pytest.raises(ValueError, match="of the same jobs"):
            _core.expected_runtimes(np.ones((1, 2)), np.ones((1, 2)), np.ones(2, dtype=np.int64))
        return
    _core.runtime_distribution(**arrays)
    arrays[wrong] = np.concatenate([arrays[wrong], arrays[wrong]], axis=-1)
    with pytest.raises((ValueError, TypeError)):
        _core.runtime_distribution(**arrays)
