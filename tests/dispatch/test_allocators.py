"""
Allocators on machines drawn by hand: on which node of each machine how many units go.

In the drawings a column is a node, ``#`` is busy and ``.`` is free. Kinds are core, GPU and memory.
"""

import pytest
import reference as ref

from cpsched.dispatch.allocators import make_allocator
from cpsched.util import registry

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
    view = ref.view_of(ref.State(capacity=capacity, free=free, waiting=(job,)))
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
    ("allocator", "single", "five"),
    [
        # Along the line.
        ("first-fit", {0: 1}, {0: 2, 1: 3}),
        # n2 has room for one unit, n0 for two, n3 for three.
        ("best-fit", {2: 1}, {0: 2, 2: 1, 3: 2}),
        # n2 is busiest, then n0, then n3.
        ("pack", {2: 1}, {0: 2, 2: 1, 3: 2}),
        # n1 is idlest, then n3.
        ("balanced", {1: 1}, {1: 4, 3: 1}),
        # All have the same, so n2 is busiest.
        ("spare-scarce", {2: 1}, {0: 2, 2: 1, 3: 2}),
    ],
)
def test_order_of_nodes(allocator, single, five):
    """Nodes are filled one after the other in the allocator's order."""
    assert placed(allocator, 1) == single
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
        ("no memory", "pack", 1, CORE, None, {1: 1}),
        # Scarce nodes are kept for those who ask, and serve the others where those are not enough.
        ("one gpu", "balanced", 1, CORE, None, {1: 1}),
        ("one gpu", "balanced", 1, GPU, None, {0: 1}),
        ("one gpu", "balanced", 2, CORE, None, {0: 1, 1: 1}),
        # A GPU asked for per node is asked for: n0, which wastes only its MIC, comes after n1.
        ("gpu and mic", "balanced", 1, CORE, (0, 1, 0), {1: 1}),
        # The busiest node that has nothing scarce; with eight units n1, busier than n0, serves too.
        ("two with gpus", "spare-scarce", 1, CORE, None, {2: 1}),
        ("two with gpus", "pack", 1, CORE, None, {2: 1}),
        ("two with gpus", "spare-scarce", 1, GPU, None, {1: 1}),
        ("two with gpus", "spare-scarce", 6, CORE, None, {2: 2, 3: 4}),
        ("two with gpus", "spare-scarce", 8, CORE, None, {0: 1, 1: 1, 2: 2, 3: 4}),
        # What is busy will be asked for again, ...
        ("gpu in use", "spare-scarce", 1, CORE, None, {1: 1}),
        ("gpu in use", "pack", 1, CORE, None, {0: 1}),
        # ... but where all nodes have something, what is used up goes first.
        ("all have something", "spare-scarce", 1, CORE, None, {1: 1}),
        ("all have something", "spare-scarce", 4, CORE, None, {0: 1, 1: 2, 2: 1}),
        # While n0 has more than 4 of memory it is for who needs that, per node, too.
        ("large memory", "spare-scarce", 1, (1, 0, 3), None, {1: 1}),
        ("large memory", "pack", 1, (1, 0, 3), None, {0: 1}),
        ("large memory", "spare-scarce", 1, (1, 0, 5), None, {0: 1}),
        ("large memory", "spare-scarce", 1, (1, 0, 1), (0, 0, 4), {0: 1}),
        # With 4 left it is a node like others, and busier; balanced does not care.
        ("large memory in use", "spare-scarce", 1, (1, 0, 3), None, {0: 1}),
        ("large memory in use", "balanced", 1, (1, 0, 3), None, {1: 1}),
        # A core job needs neither kind: n1 wastes less.
        ("two kinds scarce", "spare-scarce", 1, CORE, None, {1: 1}),
        ("two kinds scarce", "spare-scarce", 1, (1, 0, 6), None, {0: 1}),
    ],
)
def test_scarce_resources(drawn, allocator, units, request_, per_node, expected):
    """Which node is worth keeping, by allocator."""
    capacity, free = MACHINES[drawn]
    more = {"per_node": per_node} if per_node else {}
    assert placed(allocator, units, free, capacity, request=request_, **more) == expected


@pytest.mark.parametrize(
    ("free", "others", "node"),
    [
        # n0's last core is left to who needs the GPU there, but of four it may have one.
        (((1, 1), (4, 0)), [(1, 1)], 1),
        (((4, 1), (2, 0)), [(1, 1)], 0),
        # Who asks for four cores needs n0 whole; who asks for two can do with the rest of either.
        (((4, 0), (3, 0)), [(4, 0)], 1),
        (((4, 0), (3, 0)), [(2, 0)], 1),
        (((4, 0), (2, 0)), [(2, 0)], 0),
        # What more ask for weighs more: two cores here, a GPU there.
        (((2, 0), (1, 1)), [(2, 0), (1, 1)], 1),
        (((2, 0), (1, 1)), [(2, 0), (1, 1), (1, 1), (1, 1)], 0),
        # Others ask for nothing: the idlest node.
        (((2, 0), (3, 0)), [], 1),
    ],
)
def test_least_loss(free, others, node):
    """A job of one core goes where those that wait lose least."""
    up = (True, True)
    asked = [
        ref.Ask(units=1, request=request, per_node=(0, 0), eligible=up)
        for request in [(1, 0), *others]
    ]
    view = ref.view_of(ref.State(capacity=((4, 3), (4, 3)), free=free, waiting=tuple(asked)))
    allocator = make_allocator("fgd")
    allocator.reset(view.system)
    assert allocator.place(view, 0, view.free).node.tolist() == [node]


def test_least_loss_knows_what_has_to_be_on_one_node():
    """Four units on any nodes lose one wherever a core is taken; on one node, they would lose n0."""
    on_one_node = {"request": (1,), "per_node": (0,), "eligible": (True, True)}
    for bound, node in ((4, 0), (1, 1)):
        asked = (ref.Ask(units=1, **on_one_node), ref.Ask(units=4, nodes_max=bound, **on_one_node))
        view = ref.view_of(ref.State(capacity=((4,), (8,)), free=((4,), (7,)), waiting=asked))
        allocator = make_allocator("fgd")
        allocator.reset(view.system)
        assert allocator.place(view, 0, view.free).node.tolist() == [node]


def test_least_loss_of_more_units_on_a_node_than_are_told_apart():
    many = ref.Ask(units=2**21, request=(1,), per_node=(0,), eligible=(True, True), nodes_max=1)
    view = ref.view_of(
        ref.State(capacity=((2**22,),) * 2, free=((2**21,), (2**22,)), waiting=(many,))
    )
    allocator = make_allocator("fgd")
    allocator.reset(view.system)
    assert allocator.place(view, 0, view.free).node.tolist() == [1]


@pytest.mark.parametrize("allocator", ref.POLICIES)
def test_a_job_that_asks_for_nothing_and_equal_nodes(allocator):
    """Along the line, also where nothing is free; but not on nodes it may not use."""
    nothing, more = ((0,),) * 2, {"request": (0,)}
    assert placed(allocator, 7, nothing, ((1,),) * 2, **more) == {0: 7}
    assert placed(allocator, 7, nothing, ((1,),) * 2, **more, eligible=(False, True)) == {1: 7}
    assert placed(allocator, 3, ((2,),) * 3, ((2,),) * 3) == {0: 2, 1: 1}
