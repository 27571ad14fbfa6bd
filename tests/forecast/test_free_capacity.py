"""What keeps a job off free nodes: each rule about nodes in turn."""

import numpy as np
import pytest
from tiny import jobs, machine

from cpsched.engine.cluster import Cluster
from cpsched.forecast.free_capacity import Fitting
from cpsched.model.estimates import Requested
from cpsched.simulation.arrivals import JobStream
from cpsched.systems.mapping import fit


def view_of(fitted):
    """Return what a dispatcher sees of a workload on the empty machine, all submitted at 0."""
    arrivals, cluster = JobStream(fitted), Cluster(fitted.system, "fifo", Requested())
    store = cluster.machine.store
    arrivals.enter(store, 0, len(arrivals))
    cluster.admit(0, len(arrivals), 0, classes=arrivals.eligible(store))
    return cluster.view(0)


def free_capacity_of(system, free, *row, **columns):
    """Return the room for one job where nodes have so much free."""
    view = view_of(fit(jobs(row, resources=system.resources, **columns), system))
    return Fitting(view, 0).free_capacity(np.array(free, dtype=np.int64))


#: Of a job of four units, or of two of two cores each, where two nodes of four have so much free.
OBSTACLES = {
    "it needs 4 cores, and 3 cores are free": (2, 1, {}),
    "": (3, 3, {"request": [[2]]}),
    "4 cores are free, but spread over nodes so that only 1 of its 2 tasks fit": (
        3,
        1,
        {"request": [[2]]},
    ),
    "it needs whole nodes, and 0 of its 4 tasks fit on the 0 idle nodes it may use": (
        *(3, 3, {"exclusive": [True]}),
    ),
    "it needs at least 2 nodes, and its tasks fit on only 1": (4, 0, {"nodes_min": [2]}),
    "there is free capacity for its tasks, but not with as many tasks on each": (
        3,
        1,
        {"split": [1]},
    ),
    "there is free capacity for its tasks, but not on at most 1 nodes": (3, 1, {"nodes_max": [1]}),
}


@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_the_obstacle_is_named(obstacle):
    node, other_node, columns = OBSTACLES[obstacle]
    units = 2 if "request" in columns else 4
    capacity = free_capacity_of(machine((4,), (4,)), [[node], [other_node]], 0, units, 5, **columns)
    assert capacity.obstacle.startswith(obstacle)
    assert capacity.fits == (not obstacle)


def test_enough_of_all_but_not_together():
    """A core is free on n0 only, a GPU on n1 only."""
    system = machine((4, 1), (4, 1), resources=("core", "gpu"))
    capacity = free_capacity_of(system, [[4, 0], [0, 1]], 0, 1, 5, request=[[1, 1]])
    assert capacity.obstacle == (
        "enough of every resource is free, but on different nodes: 0 of its 1 task fit"
    )
    assert (capacity.units, capacity.short) == (0, 1)


def test_consecutive_nodes():
    capacity = free_capacity_of(
        machine((1,), (1,), (1,)), [[1], [0], [1]], 0, 2, 5, contiguous=[True]
    )
    assert capacity.obstacle == "there is free capacity for its tasks, but not on consecutive nodes"
    assert [(place.nodes, place.units) for place in capacity.places] == [("n[0,2]", 1)]
