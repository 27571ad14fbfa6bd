"""Features worked out by hand."""

from math import exp

import numpy as np
import pytest
from jobtables import job_table
from tiny import machine

from predictors.features import FEATURES, Features, matrix

RESOURCES = ("core", "gpu", "mem")
SYSTEM = machine((16, 2, 64_000), (16, 2, 64_000), resources=RESOURCES)


def amounts(features, jobs):
    """Return cores, nodes, memory and other resources of each job, out of their logarithms."""
    rows = matrix([features.row(job, 0) for job in features.read(jobs)])
    columns = [FEATURES.index(name) for name in ("cores", "nodes", "memory", "other")]
    return [[round(exp(value) - 1) for value in row] for row in rows[:, columns].tolist()]


def jobs(units, request, per_node, nodes_min):
    """Return one job of user ann that asks for an hour."""
    return job_table(
        resources=RESOURCES,
        handle=np.arange(1),
        submit=np.zeros(1, dtype=np.int64),
        requested_time=[3600],
        units=[units],
        request=[request],
        per_node=np.array([per_node]),
        nodes_min=[nodes_min],
        strings={"user": ["ann"]},
    )


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        # Six units of one core, a GPU and 1,000 KB.
        (((1, 1, 1000), (0, 0, 0)), [6, 2, 6000, 6]),
        # Six units of one core; 2 GPUs and 30,000 KB on each of two nodes, as sacct has it.
        (((1, 0, 0), (0, 2, 30_000)), [6, 2, 60_000, 4]),
        # Both: a core more on each node for the job's own daemon.
        (((1, 0, 1000), (1, 2, 500)), [8, 2, 7000, 4]),
    ],
)
def test_amounts_are_of_the_whole_job(job, expected):
    """What a unit needs times the units, and what a node needs times the fewest nodes."""
    features = Features()
    features.reset(SYSTEM)
    (request, per_node) = job
    assert amounts(features, jobs(6, request, per_node, 2)) == [expected]


def test_running_cores_count_what_is_needed_per_node():
    """A job of one core and three more on each of two nodes runs on seven cores."""
    features = Features()
    features.reset(SYSTEM)
    table = jobs(1, (1, 0, 0), (3, 0, 0), 2)
    (job,) = features.read(table)
    features.submitted(job, 0)
    features.started(job, 10)
    row = dict(zip(FEATURES, features.row(job, 20), strict=True))
    assert row["user_running_cores"] == 7
    assert row["user_queued_cores"] == 0
