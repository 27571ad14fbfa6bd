"""Factors of the multifactor priority that the recordings have no jobs for, worked by hand."""

import numpy as np
import pytest

from slurm_adapter.dispatch.priority import Asked, Multifactor, normalized

DAY = 86400


def asked(**changes):
    columns = {
        "since": [0],
        "cpus": [16],
        "nodes": [2],
        "minutes": [60],
        "partition": [0],
        "qos": [1],
        "association": [1],
        "nice": [0],
    }
    columns |= {name: [value] for name, value in changes.items() if name != "tres"}
    arrays = {name: np.array(values, dtype=np.int64) for name, values in columns.items()}
    return Asked(**arrays, tres=np.array(changes.get("tres", np.zeros((1, 0)))))


FAIR = np.array([0.0, 0.25])


def multifactor(**changes):
    common = {
        "age": 1000.0,
        "association_weight": 10.0,
        "fair_share": 2000.0,
        "job_size": 100.0,
        "partition_weight": 500.0,
        "qos_weight": 300.0,
        "cpus": 64,
        "nodes": 16,
        "partition": np.array([0.5]),
        "qos": np.array([0.0, 1.0]),
        "association": np.array([0.0, 0.2]),
    }
    return Multifactor(**{**common, **changes})


def test_age_stops_at_its_most_and_counts_from_eligibility():
    rules = multifactor(max_age=2 * DAY)
    assert rules.factors(asked(), 5 * DAY, FAIR).age[0] == 1000
    assert rules.factors(asked(since=DAY), 2 * DAY, FAIR).age[0] == 500
    assert rules.factors(asked(since=DAY), 0, FAIR).age[0] == 0


def test_small_jobs_may_be_favoured():
    small = multifactor(favor_small=True).factors(asked(), 0, FAIR)
    assert small.job_size[0] == 100 * (14 / 16 + 48 / 64) / 2
    timed = multifactor(small_relative_to_time=True)
    assert timed.factors(asked(), 0, FAIR).job_size[0] == 100 * max(2 / 16, 16 / 64) / 60
    small = multifactor(small_relative_to_time=True, favor_small=True)
    assert small.factors(asked(), 0, FAIR).job_size[0] == pytest.approx(100 * (1 - 0.25 / 60))


def test_priorities_are_within_what_slurm_can_hold():
    rules = multifactor()
    assert rules.factors(asked(nice=10**6), 0, FAIR).priority()[0] == 1
    assert rules.factors(asked(nice=-(2**33)), 0, FAIR).priority()[0] == 2**32 - 1


def test_a_job_of_no_account_has_no_fair_share():
    assert multifactor().factors(asked(association=-1), 0, FAIR).fair_share[0] == 0


def test_normalized():
    assert normalized(np.array([0, 5, 10])).tolist() == [0, 0.5, 1]
    assert normalized(np.array([0, 5, 10]), keep=True).tolist() == [0, 5, 10]
    assert normalized(np.array([0, 0])).tolist() == [0, 0]
