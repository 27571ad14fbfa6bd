"""
Allocators on machines drawn by hand.

In the drawings a column is a node, ``#`` is busy and ``.`` is free.
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


def test_best_fit_counts_room_and_consolidate_counts_load():
    """
    For one-core units n0 has less room (2 against 3), but n1, out of memory, is busier.

    ::

        core |##..  #...
        mem  |....  ####
             +----------
              n0    n1
    """
    capacity, free = ((4, 0, 4), (4, 0, 4)), ((2, 0, 4), (3, 0, 0))
    assert placed("best-fit", 1, free, capacity) == {0: 1}
    assert placed("consolidate", 1, free, capacity) == {1: 1}


@pytest.mark.parametrize("allocator", ref.POLICIES)
def test_equal_nodes_are_taken_along_the_line(allocator):
    """Three equal nodes of two cores: three units take n0 and one of n1."""
    assert placed(allocator, 3, ((2,),) * 3, ((2,),) * 3) == {0: 2, 1: 1}


def test_balanced_keeps_scarce_nodes_for_those_who_ask():
    """
    n0 is idlest but has the GPU; a core job goes to n1, unless the GPU is what it wants.

    ::

        gpu  |.
        core |....  ###.
             +----------
              n0    n1
    """
    capacity, free = ((4, 1, 0), (4, 0, 0)), ((4, 1, 0), (1, 0, 0))
    assert placed("balanced", 1, free, capacity) == {1: 1}
    assert placed("balanced", 1, free, capacity, request=(1, 1, 0)) == {0: 1}
    # Where n1 is not enough, the scarce node serves too.
    assert placed("balanced", 2, free, capacity) == {0: 1, 1: 1}


def test_balanced_knows_what_is_asked_for_on_each_node():
    """
    A GPU asked for per node is asked for: n0, which wastes only its MIC, comes after n1.

    It used to go to n0: per-node amounts did not count, so both nodes seemed to waste something.
    Kinds are core, GPU, MIC (``mem`` here); n2 has neither.
    """
    capacity = ((4, 1, 1), (4, 1, 0), (4, 0, 0))
    free = ((4, 1, 1), (3, 1, 0), (4, 0, 0))
    assert placed("balanced", 1, free, capacity, per_node=(0, 1, 0)) == {1: 1}


def test_frugal_takes_the_busiest_node_that_has_nothing_scarce():
    """
    A core goes to n2, the busier of the two without GPU; a GPU to n1, the busier with one.

    ::

        gpu  |.    #.
        core |.... ###. ##.. ....
             +-------------------
              n0   n1   n2   n3
    """
    capacity = ((4, 1, 0), (4, 2, 0), (4, 0, 0), (4, 0, 0))
    free = ((4, 1, 0), (1, 1, 0), (2, 0, 0), (4, 0, 0))
    assert placed("frugal", 1, free, capacity) == {2: 1}
    assert placed("consolidate", 1, free, capacity) == {2: 1}
    assert placed("frugal", 1, free, capacity, request=(1, 1, 0)) == {1: 1}
    # Six fill n2 and n3; with eight n1, busier than n0, serves too.
    assert placed("frugal", 6, free, capacity) == {2: 2, 3: 4}
    assert placed("frugal", 8, free, capacity) == {0: 1, 1: 1, 2: 2, 3: 4}


def test_frugal_spares_what_is_busy_too():
    """n0's one GPU is taken and n0 is busier than n1, but it will be asked for again."""
    capacity, free = ((4, 1, 0), (4, 0, 0)), ((1, 0, 0), (3, 0, 0))
    assert placed("frugal", 1, free, capacity) == {1: 1}
    assert placed("consolidate", 1, free, capacity) == {0: 1}


def test_frugal_prefers_what_is_used_up_where_all_have_something():
    """
    Kinds are core, GPU, MIC: no node is without. n1's GPU is taken; n2 is busiest but its MIC is not.

    ::

        gpu  |.     #
        mic  |             .
        core |....  ##..  ###.
             +----------------
              n0    n1    n2
    """
    capacity = ((4, 1, 0), (4, 1, 0), (4, 0, 1))
    free = ((4, 1, 0), (2, 0, 0), (1, 0, 1))
    assert placed("frugal", 1, free, capacity) == {1: 1}
    assert placed("frugal", 4, free, capacity) == {0: 1, 1: 2, 2: 1}


def test_frugal_spares_large_memory():
    """
    n0 has 8 of memory, n1 and n2 have 4: while it has more than 4 it is for who needs that.

    ``balanced`` does not care, all nodes have memory. What is asked for on each node counts too.
    """
    capacity, free = ((4, 0, 8), (4, 0, 4), (4, 0, 4)), ((1, 0, 5), (4, 0, 4), (4, 0, 4))
    assert placed("frugal", 1, free, capacity, request=(1, 0, 3)) == {1: 1}
    assert placed("consolidate", 1, free, capacity, request=(1, 0, 3)) == {0: 1}
    assert placed("frugal", 1, free, capacity, request=(1, 0, 5)) == {0: 1}
    assert placed("frugal", 1, free, capacity, request=(1, 0, 1), per_node=(0, 0, 4)) == {0: 1}
    # With 4 left it is a node like others, and busier.
    free = ((1, 0, 4), (4, 0, 4), (4, 0, 4))
    assert placed("frugal", 1, free, capacity, request=(1, 0, 3)) == {0: 1}
    assert placed("balanced", 1, free, capacity, request=(1, 0, 3)) == {1: 1}


def test_frugal_counts_what_is_wasted():
    """n0 has GPU and large memory, n1 only the GPU, and a core job needs neither: n1 is less."""
    capacity = ((4, 1, 8), (4, 1, 4), (4, 0, 4))
    free = ((1, 1, 8), (4, 1, 4), (0, 0, 4))
    assert placed("frugal", 1, free, capacity) == {1: 1}
    assert placed("frugal", 1, free, capacity, request=(1, 0, 6)) == {0: 1}


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


@pytest.mark.parametrize("allocator", ref.POLICIES)
def test_roomiest_nodes_where_the_order_breaks_the_bound(allocator):
    """
    Seven units on at most two nodes fit on n1 and n3 only, in whatever order nodes come.

    ::

        #  1  #  #
        #  1  #  1
        .  1  #  1
        .  1  .  1
        n0 n1 n2 n3
    """
    assert placed(allocator, 7, nodes_max=2) == {1: 4, 3: 3}
    assert placed(allocator, 8, nodes_max=2) is None


def test_a_node_is_passed_over_only_where_the_rest_would_not_do():
    """
    Two units on one node: best-fit's n2 is too small, n0 does exactly.

    It used to be n1: where the order broke the bound, the roomiest nodes were taken, which kept
    no whole node free for anybody. Five on two: n2 and n1 hold them, so n0 is not needed.
    """
    assert placed("best-fit", 2, nodes_max=1) == {0: 2}
    assert placed("first-fit", 2, nodes_max=1) == {0: 2}
    assert placed("first-fit", 3, nodes_max=1) == {1: 3}
    assert placed("best-fit", 5, nodes_max=2) == {1: 4, 2: 1}
    assert placed("best-fit", 6, nodes_max=2) == {0: 2, 1: 4}
    assert placed("first-fit", 7, nodes_min=2, nodes_max=3) == {0: 2, 1: 4, 2: 1}


@pytest.mark.parametrize(
    ("units", "nodes_min", "expected"),
    [
        # One unit is kept back for each node still owed.
        (2, 2, {0: 1, 1: 1}),
        (4, 2, {0: 2, 1: 2}),
        (4, 3, {0: 2, 1: 1, 2: 1}),
        (10, 4, {0: 2, 1: 4, 2: 1, 3: 3}),
        (3, 4, None),
    ],
)
def test_nodes_min_spreads_no_more_than_it_must(units, nodes_min, expected):
    """First-fit on rooms 2, 4, 1, 3; fewer units than nodes is impossible."""
    assert placed("first-fit", units, nodes_min=nodes_min) == expected


@pytest.mark.parametrize(
    ("allocator", "nodes_min", "expected"),
    [
        # All four on one node: only n1 has room.
        ("first-fit", 1, {1: 4}),
        ("balanced", 1, {1: 4}),
        # Two each on two: the first in order with room for two (rooms 2, 4, 1, 3).
        ("first-fit", 2, {0: 2, 1: 2}),
        ("best-fit", 2, {0: 2, 3: 2}),
        ("balanced", 2, {1: 2, 3: 2}),
        # Three do not divide four; one each on four.
        ("first-fit", 3, {0: 1, 1: 1, 2: 1, 3: 1}),
        ("first-fit", 5, None),
    ],
)
def test_even_split_uses_as_few_nodes_as_the_bounds_allow(allocator, nodes_min, expected):
    """The same number of units on each node."""
    assert placed(allocator, 4, nodes_min=nodes_min, even=True) == expected


def test_even_split_of_a_prime_number_of_units():
    """Three units on two nodes cannot be even; on three they can, on one too."""
    assert placed("first-fit", 3, nodes_min=2, nodes_max=2, even=True) is None
    assert placed("first-fit", 3, nodes_min=2, even=True) == {0: 1, 1: 1, 2: 1}
    assert placed("first-fit", 3, even=True) == {1: 3}


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
    assert placed(allocator, 3, free, capacity, contiguous=True) == {3: 2, 4: 1}
    assert placed(allocator, 2, free, capacity, contiguous=True) == {3: 2}
    assert placed(allocator, 1, free, capacity, contiguous=True) == {0: 1}
    assert placed(allocator, 4, free, capacity, contiguous=True) is None
    assert placed(allocator, 2, free, capacity, contiguous=True, nodes_min=2) == {0: 1, 1: 1}
    assert placed(allocator, 2, free, capacity, contiguous=True, even=True, nodes_min=2) == {
        0: 1,
        1: 1,
    }


def test_contiguous_run_does_not_cross_a_node_it_may_not_use():
    """n1 is free but of another partition: no run of two."""
    free = ((1,),) * 3
    assert placed("first-fit", 2, free, free, contiguous=True, eligible=(True, False, True)) is None
    assert placed("first-fit", 2, free, free, eligible=(True, False, True)) == {0: 1, 2: 1}


def test_exclusive_takes_whole_free_nodes():
    """Only n1 is free altogether, and all of it is taken for one unit."""
    assert placed("best-fit", 1, exclusive=True) == {1: 1}
    assert placed("best-fit", 5, exclusive=True) is None


def test_exclusive_amounts_are_the_nodes():
    """What is taken is what the node has, whatever is asked."""
    ask = ref.Ask(units=1, request=(1, 0, 0), per_node=(0, 0, 0), eligible=(True,), exclusive=True)
    capacity = ((4, 2, 8),)
    view = ref.view_of(
        ref.State(now=0, capacity=capacity, free=capacity, running=(), waiting=(ask,))
    )
    chosen = make_allocator("first-fit")
    chosen.reset(view.system)
    assert chosen.place(view, 0, view.free).amount.tolist() == [[4, 2, 8]]


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
def test_a_job_that_asks_for_nothing_fits_on_the_first_node(allocator):
    """Also where nothing is free; but not on nodes it may not use."""
    nothing = ((0,),) * 2
    assert placed(allocator, 7, nothing, ((1,),) * 2, request=(0,)) == {0: 7}
    assert placed(allocator, 7, nothing, ((1,),) * 2, request=(0,), eligible=(False, True)) == {
        1: 7
    }


def test_free_is_not_changed_by_placing():
    """The caller's array stays as it is, writable or not."""
    ask = ref.Ask(units=2, request=(1,), per_node=(0,), eligible=(True,) * 4)
    view = ref.view_of(ref.State(now=0, capacity=FOUR, free=FREE, running=(), waiting=(ask,)))
    chosen = make_allocator("balanced")
    chosen.reset(view.system)
    before = view.free.copy()
    chosen.place(view, 0, view.free)
    assert np.array_equal(view.free, before)
