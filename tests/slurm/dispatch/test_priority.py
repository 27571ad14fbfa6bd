"""Factors of the multifactor priority that the recordings have no jobs for, worked by hand."""

import numpy as np
import pytest

from cpsched.slurm.dispatch import priority as r
from cpsched.slurm.dispatch.priority import Multifactor, normalized

DAY = 86400


def factors(rules, now=0, **changes):
    columns = {"CPUS": 16, "NODES": 2, "MINUTES": 60, "QOS": 1, "ASSOCIATION": 1, **changes}
    job = np.zeros((1, r.NUM_COLUMNS), dtype=np.int64)
    for name, value in columns.items():
        job[0, getattr(r, name)] = value
    return rules.factors(job, np.zeros((1, 0)), now, FAIR)


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
    assert factors(rules, 5 * DAY).age[0] == 1000
    assert factors(rules, 2 * DAY, SINCE=DAY).age[0] == 500
    assert factors(rules, SINCE=DAY).age[0] == 0


def test_small_jobs_may_be_favoured():
    small = factors(multifactor(favor_small=True))
    assert small.job_size[0] == 100 * (14 / 16 + 48 / 64) / 2
    timed = multifactor(small_relative_to_time=True)
    assert factors(timed).job_size[0] == 100 * max(2 / 16, 16 / 64) / 60
    small = multifactor(small_relative_to_time=True, favor_small=True)
    assert factors(small).job_size[0] == pytest.approx(100 * (1 - 0.25 / 60))


def test_priorities_are_within_what_slurm_can_hold():
    rules = multifactor()
    assert factors(rules, NICE=10**6).priority()[0] == 1
    assert factors(rules, NICE=-(2**33)).priority()[0] == 2**32 - 1


def test_a_job_of_no_account_has_no_fair_share():
    assert factors(multifactor(), ASSOCIATION=-1).fair_share[0] == 0


def test_normalized():
    assert normalized(np.array([0, 5, 10])).tolist() == [0, 0.5, 1]
    assert normalized(np.array([0, 5, 10]), keep=True).tolist() == [0, 5, 10]
    assert normalized(np.array([0, 0])).tolist() == [0, 0]
