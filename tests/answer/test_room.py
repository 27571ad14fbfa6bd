"""What keeps a job off free nodes: each rule about nodes in turn."""

import numpy as np
import pytest
from tiny import jobs, machine

from cpsched.answer.causes import nearest_node
from cpsched.answer.context import Holding
from cpsched.answer.room import Fitting
from cpsched.engine.cluster import Cluster
from cpsched.mapping import fit
from cpsched.model.estimates import Requested
from cpsched.simulation.arrivals import Arrivals


def view_of(fitted):
    """Return what a dispatcher sees of a workload on the empty machine, all submitted at 0."""
    arrivals, cluster = Arrivals(fitted), Cluster(fitted.system, "fifo", Requested())
    store = cluster.machine.store
    arrivals.enter(store, 0, len(arrivals))
    cluster.admit(0, len(arrivals), 0, classes=arrivals.eligible(store))
    return cluster.view(0)


def room_of(system, free, *row, **columns):
    """Return the room for one job where nodes have so much free."""
    view = view_of(fit(jobs(row, resources=system.resources, **columns), system))
    return Fitting(view, 0).room(np.array(free, dtype=np.int64))


#: Of a job of four units, or of two of two cores each, where two nodes of four have so much free.
OBSTACLES = {
    "it needs 4 core, 3 are free": (2, 1, {}),
    "": (3, 3, {"request": [[2]]}),
    "4 core are free, but node by node only for 1 of its 2 units": (3, 1, {"request": [[2]]}),
    "it needs whole nodes, and the 0 idle nodes it may use hold 0 of its 4 units": (
        *(3, 3, {"exclusive": [True]}),
    ),
    "it needs at least 2 nodes, but only 1 have room for a unit": (4, 0, {"nodes_min": [2]}),
    "there is room for its units, but not with as many units on each": (3, 1, {"split": [1]}),
    "there is room for its units, but not on at most 1 nodes": (3, 1, {"nodes_max": [1]}),
}


@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_the_obstacle_is_named(obstacle):
    one, other, columns = OBSTACLES[obstacle]
    units = 2 if "request" in columns else 4
    room = room_of(machine((4,), (4,)), [[one], [other]], 0, units, 5, **columns)
    assert room.obstacle.startswith(obstacle)
    assert room.fits == (not obstacle)


def test_enough_of_all_but_not_together():
    """A core is free on n0 only, a GPU on n1 only."""
    system = machine((4, 1), (4, 1), resources=("core", "gpu"))
    room = room_of(system, [[4, 0], [0, 1]], 0, 1, 5, request=[[1, 1]])
    assert room.obstacle == (
        "enough of every resource is free, but not on the same nodes: they hold 0 of its 1 unit"
    )
    assert (room.units, room.short) == (0, 1)


def test_consecutive_nodes():
    room = room_of(machine((1,), (1,), (1,)), [[1], [0], [1]], 0, 2, 5, contiguous=[True])
    assert room.obstacle == "there is room for its units, but not on consecutive nodes"
    assert [(place.nodes, place.units) for place in room.places] == [("n[0,2]", 1)]


def test_the_nearest_node_is_the_next_with_room_for_a_jobs_share_of_it():
    """
    Eight units on two nodes are four on each.

    n0 has room; n1 lacks one until 50, n2 all until 20 and 40; n3 can never hold four.

        0    20   40   50
    n1  [x]------------|        one of four taken
    n2  [xx][xx]---|            two end at 20, two at 40
    """
    system = machine([4], [4], [4], [3])
    workload = jobs((0, 8, 10), resources=system.resources, nodes_min=[2])
    fitting = Fitting(view_of(fit(workload, system)), 0)

    def holding(end, node, amount):
        return Holding(end, 0, 0, np.array([node]), np.array([[amount]]))

    free = np.array([[4], [3], [0], [3]])
    held = [holding(50, 1, 1), holding(20, 2, 2), holding(40, 2, 2)]
    near = nearest_node(fitting, free, held)
    assert (near.node, near.at, near.units, near.room) == ("n2", 40, 4, 0)
    # Of two that are free at one second, the one with more room now.
    near = nearest_node(fitting, free, [holding(50, 1, 1), holding(50, 2, 4)])
    assert (near.node, near.at, near.free, near.needed, near.capacity) == ("n1", 50, 3, 4, 4)
    assert nearest_node(fitting, free, [holding(50, 2, 1)]) is None
