"""What the machine's state refuses, in words."""

import numpy as np
import pytest
from tiny import jobs, machine

from cpsched.engine.machine import ClusterState
from cpsched.errors import DispatchError
from cpsched.model import columns as c
from cpsched.model.allocation import Allocation
from cpsched.simulation.arrivals import JobStream
from cpsched.systems.mapping import fit
from cpsched.util.types import JobType


def integers(values, dtype=np.int64):
    """Return an array."""
    return np.array(values, dtype=dtype)


GOOD = Allocation(integers([0, 1]), integers([2, 1]), integers([[2, 0], [1, 0]]))


def waiting():
    """Return the state of two nodes of two cores for which a job of three waits."""
    system = machine((2, 8), (2, 8), resources=("core", "mem"))
    arrivals = JobStream(fit(jobs((0, 3, 5), resources=("core", "mem")), system))
    state = ClusterState(system)
    arrivals.enter(state.store, 0, 1)
    state.set_classes(arrivals.eligible(state.store))
    state.core.enqueue(0)
    return state


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"amount": integers([2, 1])}, r"amount int64\(2,\)"),
        ({"amount": integers([[2], [1]])}, r"amount int64\(2, 1\).*\(K,\), \(K,\) and \(K, 2\)"),
        ({"amount": integers([[2, 0, 0], [1, 0, 0]])}, r"amount int64\(2, 3\)"),
        ({"amount": integers([[2, 0], [1, 0]], float)}, r"amount float64\(2, 2\)"),
        ({"units": integers([2, 1], np.int32)}, r"units int32\(2,\)"),
        ({"node": [0, 1]}, "node list"),
        ({"node": integers([[0, 1]])}, r"node int64\(1, 2\)"),
        ({"units": integers([2, 1, 1])}, r"units int64\(3,\)"),
        (
            {"amount": integers([[2, -1], [1, 0]])},
            "given -1 mem on node n0, which differs from its request",
        ),
    ],
)
def test_an_allocation_that_is_none(wrong, message):
    """It is said what was given and what is wanted, and nothing has changed."""
    state = waiting()
    with pytest.raises(DispatchError, match=rf"^job 0 is .*{message}"):
        state.start(0, GOOD._replace(**wrong), 0)
    assert state.free.tolist() == [[2, 8], [2, 8]]
    assert state.num_running == 0
    state.start(0, GOOD, 0)
    assert state.free.tolist() == [[0, 8], [1, 8]]


def test_a_resized_job_is_expected_later_by_its_pause():
    """Of 100 s on three units 60 are left, 180 units' seconds: 90 s on two, after 10 s of pause."""
    state = waiting()
    state.store.writable[0, [c.RESIZE_COST, c.JOB_TYPE, c.UNITS_MIN]] = 10, JobType.MALLEABLE, 1
    state.start(0, GOOD, 0)
    state.core.expect_end(0, 100)
    state.resize(0, Allocation(integers([0]), integers([2]), integers([[2, 0]])), 40)
    assert state.store.columns[0, c.EXPECTED_END] == 140
    assert state.free.tolist() == [[0, 8], [2, 8]]
