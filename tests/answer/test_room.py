"""What keeps a job off free nodes: each rule about nodes in turn."""

from dataclasses import replace

import numpy as np
import pytest
from tiny import jobs, machine

from cpsched.answer.explanation import Demand, Room
from cpsched.answer.room import Fitting
from cpsched.answer.why_text import _resources
from cpsched.engine.cluster import Cluster
from cpsched.mapping import fit
from cpsched.model.estimates import Requested
from cpsched.model.topology import Topology, TopologyKind
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


@pytest.mark.parametrize(
    ("free", "columns", "obstacle"),
    [
        ([[2], [1]], {}, "it needs 4 core, 3 are free"),
        (
            [[3], [3]],
            {"request": [[2]], "units": 2},
            "",
        ),
        (
            [[3], [1]],
            {"request": [[2]], "units": 2},
            "4 core are free, but node by node only for 1 of its 2 units",
        ),
        (
            [[3], [3]],
            {"exclusive": [True]},
            "it needs whole nodes, and the 0 idle nodes it may use hold 0 of its 4 units",
        ),
        (
            [[4], [0]],
            {"nodes_min": [2]},
            "it needs at least 2 nodes, but only 1 have room for a unit",
        ),
        (
            [[3], [1]],
            {"split": [1]},
            "there is room for its units, but not with as many units on each",
        ),
        (
            [[3], [1]],
            {"nodes_max": [1]},
            "there is room for its units, but not on at most 1 nodes",
        ),
    ],
)
def test_the_obstacle_is_named(free, columns, obstacle):
    units = columns.pop("units", 4)
    room = room_of(machine((4,), (4,)), free, 0, units, 5, **columns)
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


@pytest.mark.parametrize(
    ("topology", "columns", "obstacle"),
    [
        (Topology(4, (2,)), {"segment": [2]}, "in segments of 2 nodes in one leaf switch each"),
        (
            Topology(4, (2,), kind=TopologyKind.BLOCK),
            {"max_switches": [1]},
            "in at most 1 block",
        ),
    ],
)
def test_places_that_are_asked_for_are_named(topology, columns, obstacle):
    """The kernel's answer aside: what is said where a job does not fit."""
    workload = jobs((0, 2, 5), nodes_min=[2], nodes_max=[2], **columns)
    view = view_of(fit(workload, replace(machine(*[(1,)] * 4), topology=topology)))
    fitting = Fitting(view, 0)
    assert obstacle in fitting._shape_obstacle(np.array([1, 0, 0, 1]))


def test_memory_is_shown_in_gb():
    """Of a job's resources; other kinds are plain numbers."""
    gb = 2**20
    kinds = (
        Demand(resource="core", demand=4, free=2048, eligible=0, capacity=4096, units=0),
        Demand(
            resource="mem", demand=gb // 2, free=3 * gb, eligible=gb, capacity=512 * gb, units=2
        ),
    )
    room = Room(fits=False, units=0, short=1, resources=kinds, places=(), obstacle="")
    core, memory = _resources(room).text().splitlines()[-2:]
    assert core.split() == ["core", "4", "2,048", "0", "4,096", "0"]
    assert memory.split() == ["mem", "512", "MB", "3", "GB", "1", "GB", "512", "GB", "2"]
