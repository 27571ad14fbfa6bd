"""Placement in the native core: worked examples with numbers."""

from itertools import product

import numpy as np
import pytest

from cpsched import _core

#: The fewest and most nodes of a job.
BOUNDS = ((1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3))


def request(task=1, per_node=0, **more):
    """Return the table of one request class on one resource."""
    names = ("eligible_class", "even", "contiguous", "exclusive", "segment", "max_switches")
    return np.array([[*(more.get(name, 0) for name in names), task, per_node, 0]])


def placed(free, *, tasks, nodes_min=1, nodes_max=2**62, groups=None, preferred=None, **more):
    """Return the tasks on each node of a job on nodes of four cores, in order of nodes."""
    requests = request(**more)
    capacity = np.full((len(free), 1), 4)
    levels = np.zeros((0, len(free)), dtype=np.int64) if groups is None else np.array([groups])
    memory = _core.PassMemory(0, capacity, levels)
    eligible, free = np.ones((1, len(free)), dtype=np.bool_), np.array(free)[:, None]
    columns = np.zeros((1, 41), dtype=np.int64)
    columns[0, [3, 5, 6, 29]] = tasks, nodes_min, nodes_max, 60
    memory.look_at(object(), columns, requests, eligible, free, 0)
    inside = None if preferred is None else np.array(preferred)[:, None]
    takes = memory.place(columns[0], free, inside)
    return None if takes is None else takes.tolist()


def test_nodes_are_filled_in_order():
    """A task is left for each node that is owed."""
    assert placed([2, 4, 1, 3], tasks=5) == [2, 3, 0, 0]
    assert placed([2, 4, 1, 3], tasks=5, nodes_min=4) == [2, 1, 1, 1]
    assert placed([2, 4, 1, 3], tasks=11) is None
    assert placed([2, 4, 1, 3], tasks=2, nodes_min=3) is None


def test_a_node_is_passed_over_where_the_bounds_demand_it():
    """Seven tasks on two nodes: the first node and any other hold six at most."""
    assert placed([2, 4, 1, 3], tasks=7, nodes_max=2) == [0, 4, 0, 3]
    assert placed([2, 4, 1, 3], tasks=8, nodes_max=2) is None


def test_requests_say_how_tasks_spread():
    """Even splits, consecutive nodes, whole nodes, and amounts for each node."""
    assert placed([2, 4, 1, 3], tasks=6, even=1) == [0, 3, 0, 3]
    assert placed([2, 4, 1, 3], tasks=6, contiguous=1) == [2, 4, 0, 0]
    assert placed([2, 4, 4, 3], tasks=6, exclusive=1) == [0, 4, 2, 0]
    assert placed([2, 4, 1, 3], tasks=4, per_node=1) == [1, 3, 0, 0]


def test_segments_and_switches():
    """Nodes 0 and 1 are under one switch, 2 to 4 under another."""
    switches = {"groups": [0, 0, 1, 1, 1]}
    assert placed([4, 0, 4, 4, 0], tasks=8, **switches) == [4, 0, 4, 0, 0]
    assert placed([4, 0, 4, 4, 0], tasks=8, max_switches=1, **switches) == [0, 0, 4, 4, 0]
    assert placed([4, 0, 4, 4, 0], tasks=8, segment=2, nodes_min=2, **switches) == [0, 0, 4, 4, 0]
    assert placed([4, 0, 4, 4, 0], tasks=9, max_switches=1, **switches) is None


def test_the_preferred_part_is_used_first():
    """Three cores of node 1 are preferred; the rest goes to the first node."""
    assert placed([2, 4, 1], tasks=3, preferred=[0, 3, 0]) == [0, 3, 0]
    assert placed([2, 4, 1], tasks=4, preferred=[0, 3, 0]) == [1, 3, 0]
    # Whole nodes: those where the preferred part holds a task come first.
    assert placed([4, 4, 4], tasks=4, preferred=[0, 0, 4], exclusive=1) == [0, 0, 4]


def test_an_order_of_nodes_is_given():
    """Ten tasks, the third node first, then the first."""
    fitting, order = np.array([4, 0, 5, 3]), np.array([2, 0, 3])
    bounds = {"nodes_min": 1, "nodes_max": 4, "contiguous": False}
    takes = _core.place_in_order(fitting, order, tasks=10, even=False, **bounds)
    assert takes.tolist() == [4, 0, 5, 1]
    takes = _core.place_in_order(fitting, order, tasks=6, even=True, **bounds)
    assert takes.tolist() == [3, 0, 3, 0]
    assert _core.place_in_order(fitting, order, tasks=13, even=False, **bounds) is None


@pytest.mark.parametrize("even", [False, True])
def test_every_job_is_placed_that_any_choice_of_nodes_holds(even):
    """All jobs of up to seven tasks on all sets of three nodes that hold up to three."""
    for fitting in product(range(4), repeat=3):
        for tasks, (least, most) in product(range(1, 8), BOUNDS):
            ways = [
                takes
                for takes in product(*(range(most + 1) for most in fitting))
                if sum(takes) == tasks
                and least <= sum(take > 0 for take in takes) <= most
                and (not even or len({take for take in takes if take}) == 1)
            ]
            takes = _core.place_in_order(
                np.array(fitting),
                np.flatnonzero(fitting),
                tasks=tasks,
                nodes_min=least,
                nodes_max=most,
                even=even,
                contiguous=False,
            )
            assert (takes is not None) == bool(ways)
            assert takes is None or tuple(takes.tolist()) in ways


def test_the_number_of_fitting_tasks():
    """Two cores a task and one for each node: the first node has five, the second two."""
    free, capacity = np.array([[5], [2], [5]]), np.array([[5], [5], [5]])
    eligible = np.array([[True, True, False]])
    count = _core.num_fitting_tasks
    assert count(free, capacity, eligible, request(2, 1), 0).tolist() == [2, 0, 0]
    assert count(free, capacity, eligible, request(2, 1, exclusive=1), 0).tolist() == [2, 0, 0]
    # As good as any number fits where a task asks for nothing.
    assert count(free, capacity, eligible, request(0), 0).tolist() == [2**46, 2**46, 0]


def test_arrays_must_be_of_the_nodes():
    """A wrong shape is refused with the name of the argument."""
    memory = _core.PassMemory(0, np.ones((3, 1), dtype=np.int64), np.zeros((0, 3), dtype=np.int64))
    job, free = np.zeros(41, dtype=np.int64), np.ones((3, 1), dtype=np.int64)
    with pytest.raises(ValueError, match="free: must have a row for each node"):
        memory.place(job, free[:2])
    with pytest.raises(ValueError, match="job: must be a row of the job table"):
        memory.place(job[:40], free)
