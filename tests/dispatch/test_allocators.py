"""
Allocators on machines drawn by hand: on which node of each machine how many units go.

In the drawings a column is a node, ``#`` is busy and ``.`` is free. Kinds are core, GPU and memory.
"""

from __future__ import annotations

import numpy as np
import pytest
import reference as ref

from cpsched.base import registry
from cpsched.dispatch.allocators import make_allocator

#    core 4 |#  .  #  #
#    core 3 |#  .  #  .
#    core 2 |.  .  #  .
#    core 1 |.  .  .  .
#           +-----------
#            n0 n1 n2 n3
FOUR = ((4,),) * 4
FREE = ((2,), (4,), (1,), (3,))


def placed(allocator, units, free=FREE, capacity=FOUR, request=None, **ask):
    """Return the units by node of one job, or None; a unit is one core unless said otherwise."""
    kinds = len(capacity[0])
    job = ref.Ask(
        units=units,
        request=request or (1, 0, 0)[:kinds],
        per_node=ask.pop("per_node", (0,) * kinds),
        eligible=ask.pop("eligible", (True,) * len(capacity)),
        **ask,
    )
    view = ref.view_of(ref.State(now=0, capacity=capacity, free=free, running=(), waiting=(job,)))
    chosen = make_allocator(allocator)
    chosen.reset(view.system)
    allocation = chosen.place(view, 0, view.free)
    if allocation is None:
        return None
    return dict(zip(allocation.node.tolist(), allocation.units.tolist(), strict=True))


@pytest.mark.parametrize("name", registry.names("allocators"))
def test_allocators_know_their_names(name):
    """What is registered under a name calls itself so."""
    assert make_allocator(name).name == name


@pytest.mark.parametrize(
    ("allocator", "one", "five"),
    [
        # Along the line.
        ("first-fit", {0: 1}, {0: 2, 1: 3}),
        # n2 has room for one unit, n0 for two, n3 for three.
        ("best-fit", {2: 1}, {0: 2, 2: 1, 3: 2}),
        # n2 is busiest, then n0, then n3.
        ("consolidate", {2: 1}, {0: 2, 2: 1, 3: 2}),
        # n1 is idlest, then n3.
        ("balanced", {1: 1}, {1: 4, 3: 1}),
        # All have the same, so n2 is busiest.
        ("frugal", {2: 1}, {0: 2, 2: 1, 3: 2}),
    ],
)
def test_order_of_nodes(allocator, one, five):
    """Nodes are filled one after the other in the allocator's order."""
    assert placed(allocator, 1) == one
    assert placed(allocator, 5) == five


CORE, GPU = (1, 0, 0), (1, 1, 0)
#: By name: what the nodes have, and what is free of it.
MACHINES = {
    # For one-core units n0 has less room (2 against 3), but n1, out of memory, is busier.
    #     core |##..  #...
    #     mem  |....  ####
    "no memory": (((4, 0, 4), (4, 0, 4)), ((2, 0, 4), (3, 0, 0))),
    # n0 is idlest but has the GPU.
    #     gpu  |.
    #     core |....  ###.
    "one gpu": (((4, 1, 0), (4, 0, 0)), ((4, 1, 0), (1, 0, 0))),
    # GPU and MIC (``mem``): n2 has neither, n1 no MIC.
    "gpu and mic": (((4, 1, 1), (4, 1, 0), (4, 0, 0)), ((4, 1, 1), (3, 1, 0), (4, 0, 0))),
    #     gpu  |.    #.
    #     core |.... ###. ##.. ....
    "two with gpus": (
        ((4, 1, 0), (4, 2, 0), (4, 0, 0), (4, 0, 0)),
        ((4, 1, 0), (1, 1, 0), (2, 0, 0), (4, 0, 0)),
    ),
    # n0's one GPU is taken and n0 is busier than n1.
    "gpu in use": (((4, 1, 0), (4, 0, 0)), ((1, 0, 0), (3, 0, 0))),
    # No node is without: n1's GPU is taken; n2 is busiest but its MIC is not.
    #     gpu  |.     #
    #     mic  |             .
    #     core |....  ##..  ###.
    "all have something": (((4, 1, 0), (4, 1, 0), (4, 0, 1)), ((4, 1, 0), (2, 0, 0), (1, 0, 1))),
    # n0 has 8 of memory, the others 4: with 5 of it free, and with 4.
    "large memory": (((4, 0, 8), (4, 0, 4), (4, 0, 4)), ((1, 0, 5), (4, 0, 4), (4, 0, 4))),
    "large memory in use": (((4, 0, 8), (4, 0, 4), (4, 0, 4)), ((1, 0, 4), (4, 0, 4), (4, 0, 4))),
    # n0 has GPU and large memory, n1 only the GPU.
    "two kinds scarce": (((4, 1, 8), (4, 1, 4), (4, 0, 4)), ((1, 1, 8), (4, 1, 4), (0, 0, 4))),
}


@pytest.mark.parametrize(
    ("drawn", "allocator", "units", "request_", "per_node", "expected"),
    [
        ("no memory", "best-fit", 1, CORE, None, {0: 1}),
        ("no memory", "consolidate", 1, CORE, None, {1: 1}),
        # Scarce nodes are kept for those who ask, and serve the others where those are not enough.
        ("one gpu", "balanced", 1, CORE, None, {1: 1}),
        ("one gpu", "balanced", 1, GPU, None, {0: 1}),
        ("one gpu", "balanced", 2, CORE, None, {0: 1, 1: 1}),
        # A GPU asked for per node is asked for: n0, which wastes only its MIC, comes after n1.
        ("gpu and mic", "balanced", 1, CORE, (0, 1, 0), {1: 1}),
        # The busiest node that has nothing scarce; with eight units n1, busier than n0, serves too.
        ("two with gpus", "frugal", 1, CORE, None, {2: 1}),
        ("two with gpus", "consolidate", 1, CORE, None, {2: 1}),
        ("two with gpus", "frugal", 1, GPU, None, {1: 1}),
        ("two with gpus", "frugal", 6, CORE, None, {2: 2, 3: 4}),
        ("two with gpus", "frugal", 8, CORE, None, {0: 1, 1: 1, 2: 2, 3: 4}),
        # What is busy will be asked for again, ...
        ("gpu in use", "frugal", 1, CORE, None, {1: 1}),
        ("gpu in use", "consolidate", 1, CORE, None, {0: 1}),
        # ... but where all nodes have something, what is used up goes first.
        ("all have something", "frugal", 1, CORE, None, {1: 1}),
        ("all have something", "frugal", 4, CORE, None, {0: 1, 1: 2, 2: 1}),
        # While n0 has more than 4 of memory it is for who needs that, per node, too.
        ("large memory", "frugal", 1, (1, 0, 3), None, {1: 1}),
        ("large memory", "consolidate", 1, (1, 0, 3), None, {0: 1}),
        ("large memory", "frugal", 1, (1, 0, 5), None, {0: 1}),
        ("large memory", "frugal", 1, (1, 0, 1), (0, 0, 4), {0: 1}),
        # With 4 left it is a node like others, and busier; balanced does not care.
        ("large memory in use", "frugal", 1, (1, 0, 3), None, {0: 1}),
        ("large memory in use", "balanced", 1, (1, 0, 3), None, {1: 1}),
        # A core job needs neither kind: n1 wastes less.
        ("two kinds scarce", "frugal", 1, CORE, None, {1: 1}),
        ("two kinds scarce", "frugal", 1, (1, 0, 6), None, {0: 1}),
    ],
)
def test_scarce_resources(drawn, allocator, units, request_, per_node, expected):
    """Which node is worth keeping, by allocator."""
    capacity, free = MACHINES[drawn]
    more = {"per_node": per_node} if per_node else {}
    assert placed(allocator, units, free, capacity, request=request_, **more) == expected


def test_frugal_is_consolidate_where_all_nodes_have_the_same():
    """Whatever is free, asked for and bounded."""
    capacity = ((4, 2, 8),) * 4
    for seed in range(40):
        rng = np.random.default_rng(seed)
        free = tuple(tuple(int(rng.integers(0, most + 1)) for most in (4, 2, 8)) for _ in range(4))
        units, request = int(rng.integers(1, 6)), (1, int(rng.integers(0, 2)), 1)
        most = int(rng.integers(1, 5))
        found = [
            placed(name, units, free, capacity, request=request, nodes_max=most)
            for name in ("frugal", "consolidate")
        ]
        assert found[0] == found[1]


@pytest.mark.parametrize(
    ("allocator", "units", "ask", "expected"),
    [
        # Two units on one node: best-fit's n2 is too small, n0 does exactly; five on two: n2 and
        # n1 hold them, so n0 is not needed.
        ("best-fit", 2, {"nodes_max": 1}, {0: 2}),
        ("first-fit", 2, {"nodes_max": 1}, {0: 2}),
        ("first-fit", 3, {"nodes_max": 1}, {1: 3}),
        ("best-fit", 5, {"nodes_max": 2}, {1: 4, 2: 1}),
        ("best-fit", 6, {"nodes_max": 2}, {0: 2, 1: 4}),
        ("first-fit", 7, {"nodes_min": 2, "nodes_max": 3}, {0: 2, 1: 4, 2: 1}),
        # One unit is kept back for each node still owed; fewer units than nodes is impossible.
        ("first-fit", 2, {"nodes_min": 2}, {0: 1, 1: 1}),
        ("first-fit", 4, {"nodes_min": 2}, {0: 2, 1: 2}),
        ("first-fit", 4, {"nodes_min": 3}, {0: 2, 1: 1, 2: 1}),
        ("first-fit", 10, {"nodes_min": 4}, {0: 2, 1: 4, 2: 1, 3: 3}),
        ("first-fit", 3, {"nodes_min": 4}, None),
        # Evenly: all four on one node, where only n1 has room.
        ("first-fit", 4, {"even": True}, {1: 4}),
        ("balanced", 4, {"even": True}, {1: 4}),
        # Two each on two: the first in order with room for two.
        ("first-fit", 4, {"even": True, "nodes_min": 2}, {0: 2, 1: 2}),
        ("best-fit", 4, {"even": True, "nodes_min": 2}, {0: 2, 3: 2}),
        ("balanced", 4, {"even": True, "nodes_min": 2}, {1: 2, 3: 2}),
        # Three do not divide four; one each on four.
        ("first-fit", 4, {"even": True, "nodes_min": 3}, {0: 1, 1: 1, 2: 1, 3: 1}),
        ("first-fit", 4, {"even": True, "nodes_min": 5}, None),
        # Three units on two nodes cannot be even; on three they can, on one too.
        ("first-fit", 3, {"even": True, "nodes_min": 2, "nodes_max": 2}, None),
        ("first-fit", 3, {"even": True, "nodes_min": 2}, {0: 1, 1: 1, 2: 1}),
        ("first-fit", 3, {"even": True}, {1: 3}),
        # Only n1 is free altogether, and all of it is taken for one unit.
        ("best-fit", 1, {"exclusive": True}, {1: 1}),
        ("best-fit", 5, {"exclusive": True}, None),
        # Seven units on at most two nodes fit on n1 and n3 only, in whatever order nodes come.
        *((name, 7, {"nodes_max": 2}, {1: 4, 3: 3}) for name in ref.POLICIES),
        *((name, 8, {"nodes_max": 2}, None) for name in ref.POLICIES),
    ],
)
def test_bounds_on_the_nodes(allocator, units, ask, expected):
    """On rooms 2, 4, 1, 3: a node is passed over only where the rest would not do."""
    assert placed(allocator, units, **ask) == expected


@pytest.mark.parametrize("allocator", ref.POLICIES)
def test_contiguous_takes_the_shortest_run_whatever_the_order(allocator):
    """
    Rooms 1, 1, 0, 2, 1: three units need two nodes, and only n3 and n4 hold them; two fit on n3.

    ::

        units 3           2           1
        . . # 1 1         . . # 1 .   1 . # . .
        n0      n4
    """
    capacity, free = ((2,),) * 5, ((1,), (1,), (0,), (2,), (1,))
    for units, ask, expected in (
        (3, {}, {3: 2, 4: 1}),
        (2, {}, {3: 2}),
        (1, {}, {0: 1}),
        (4, {}, None),
        (2, {"nodes_min": 2}, {0: 1, 1: 1}),
        (2, {"nodes_min": 2, "even": True}, {0: 1, 1: 1}),
    ):
        assert placed(allocator, units, free, capacity, contiguous=True, **ask) == expected


def test_contiguous_run_does_not_cross_a_node_it_may_not_use():
    """n1 is free but of another partition: no run of two."""
    free = ((1,),) * 3
    assert placed("first-fit", 2, free, free, contiguous=True, eligible=(True, False, True)) is None
    assert placed("first-fit", 2, free, free, eligible=(True, False, True)) == {0: 1, 2: 1}


def test_per_node_amounts_are_taken_once_on_each_node():
    """
    Four cores with a GPU on each node touched: n0 has cores but no GPU left.

    ::

        gpu  |#     .     ..
        core |....  ..##  ....
             +----------------
              n0    n1    n2
    """
    capacity, free = ((4, 1, 0), (4, 1, 0), (4, 2, 0)), ((4, 0, 0), (2, 1, 0), (4, 2, 0))
    assert placed("first-fit", 4, free, capacity, per_node=(0, 1, 0)) == {1: 2, 2: 2}


@pytest.mark.parametrize("allocator", ref.POLICIES)
def test_a_job_that_asks_for_nothing_and_equal_nodes(allocator):
    """Along the line, also where nothing is free; but not on nodes it may not use."""
    nothing, more = ((0,),) * 2, {"request": (0,)}
    assert placed(allocator, 7, nothing, ((1,),) * 2, **more) == {0: 7}
    assert placed(allocator, 7, nothing, ((1,),) * 2, **more, eligible=(False, True)) == {1: 7}
    assert placed(allocator, 3, ((2,),) * 3, ((2,),) * 3) == {0: 2, 1: 1}


def test_what_is_taken_of_an_exclusive_node_and_of_the_callers_array():
    """All that the node has, whatever is asked; the array stays as it is."""
    ask = ref.Ask(units=1, request=CORE, per_node=(0, 0, 0), eligible=(True,), exclusive=True)
    capacity = ((4, 2, 8),)
    view = ref.view_of(
        ref.State(now=0, capacity=capacity, free=capacity, running=(), waiting=(ask,))
    )
    chosen = make_allocator("balanced")
    chosen.reset(view.system)
    before = view.free.copy()
    assert chosen.place(view, 0, view.free).amount.tolist() == [[4, 2, 8]]
    assert np.array_equal(view.free, before)
