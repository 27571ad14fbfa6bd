"""Jobs that must lie together, and allocators that put jobs together, against every choice."""

from itertools import chain, combinations
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jobtables import job_table
from tiny import machine

from cpsched.dispatch.allocators import make_allocator
from cpsched.model.allocation import AllocationArena
from cpsched.model.jobtable import RunningTable
from cpsched.model.topology import Topology, TopologyKind
from cpsched.model.view import View
from cpsched.util.types import UNBOUNDED

pytestmark = pytest.mark.slow

ALLOCATORS = (
    "first-fit", "best-fit", "pack", "lowest-switch", "fewest-groups", "contiguous",
)  # fmt: skip
examples = settings(max_examples=150)


def placed(topology, free, allocator, **ask):
    """Return the units on each node of a job of one-core units, None where it does not fit."""
    num = len(free)
    capacity = np.array(free, dtype=np.int64)[:, None]
    system = machine(*[[max(free)]] * num)
    system = SimpleNamespace(capacity=system.capacity, topology=topology, num_nodes=num)
    ask = {"nodes_min": 1, "nodes_max": UNBOUNDED, "split": 0, "contiguous": 0, "segment": 0,
           "max_switches": 0} | ask  # fmt: skip
    columns = {name: np.array([value], dtype=np.int64) for name, value in ask.items()}
    table = job_table(
        resources=("core",), handle=np.zeros(1, dtype=np.int64), submit=np.zeros(1, dtype=np.int64),
        requested_time=np.ones(1, dtype=np.int64), request=np.ones((1, 1), dtype=np.int64),
        per_node=np.zeros((1, 1), dtype=np.int64), exclusive=np.zeros(1, dtype=np.int64),
        eligible_class=np.zeros(1, dtype=np.int64), **columns,
    )  # fmt: skip
    capacity.flags.writeable = False
    up = np.ones(num, dtype=np.bool_)
    eligible = np.ones((1, num), dtype=np.bool_)
    eligible.flags.writeable = False
    running = RunningTable(table.store, np.zeros(0, dtype=np.int64), AllocationArena(1))
    view = View(0, system, capacity, up, eligible, table, running)
    made = make_allocator(allocator)
    made.reset(system)
    allocation = made.place(view, 0, capacity)
    if allocation is None:
        return None
    takes = np.zeros(num, dtype=np.int64)
    takes[allocation.node] = allocation.units
    assert made.planned(view, 0, allocation.node, allocation.units) is not None
    return takes.tolist()


def choices(topology, free, ask):
    """Return every set of nodes that can hold a job, found by trying them all."""
    usable = [n for n, capacity in enumerate(free) if capacity > 0]
    sets = chain.from_iterable(combinations(usable, k) for k in range(1, len(usable) + 1))
    return [nodes for nodes in sets if holds(topology, free, ask, nodes)]


def holds(topology, free, ask, nodes):
    units, count = ask["units"], len(nodes)
    capacities = [free[n] for n in nodes]
    if not ask["nodes_min"] <= count <= min(ask["nodes_max"], units) or sum(capacities) < units:
        return False
    if ask["split"] and (units % count or min(capacities) < units // count):
        return False
    if ask["contiguous"] and nodes[-1] - nodes[0] + 1 != count:
        return False
    return not topology.misfit(
        np.array(nodes), segment=ask["segment"], max_switches=ask["max_switches"]
    )


@st.composite
def trees(draw):
    """Two levels of switches of unequal sizes."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    cut = draw(st.integers(1, len(sizes)))
    above = tuple(sum(part) for part in (sizes[:cut], sizes[cut:]) if part)
    return Topology(sum(sizes), group_sizes=(tuple(sizes), above))


@st.composite
def asks(draw, num):
    """Draw a request of units and bounds; nothing of where it lies."""
    units = draw(st.integers(1, 2 * num))
    fewest = draw(st.integers(1, min(3, units)))
    most = draw(st.one_of(st.just(UNBOUNDED), st.integers(fewest, fewest + 4)))
    return {
        "units": units, "nodes_min": fewest, "nodes_max": most,
        "split": draw(st.integers(0, 1)), "contiguous": draw(st.integers(0, 1)),
        "segment": 0, "max_switches": 0,
    }  # fmt: skip


def capacities(num, most):
    return st.lists(st.integers(0, most), min_size=num, max_size=num).filter(any)


@given(data=st.data(), topology=trees(), allocator=st.sampled_from(ALLOCATORS))
@examples
def test_segments_and_switches_are_kept_wherever_any_choice_does(data, topology, allocator):
    """A job is placed if and only if some set of nodes would do, and on such a set."""
    free = data.draw(capacities(topology.num_nodes, data.draw(st.sampled_from([1, 1, 3]))))
    ask = data.draw(asks(topology.num_nodes))
    ask |= {"segment": data.draw(st.integers(0, 3)), "max_switches": data.draw(st.integers(0, 2))}
    compare(topology, free, ask, allocator)


def compare(topology, free, ask, allocator):
    possible = choices(topology, free, ask)
    takes = placed(topology, free, allocator, **ask)
    assert (takes is not None) == bool(possible)
    if takes is not None:
        nodes = tuple(n for n, units in enumerate(takes) if units)
        assert nodes in possible
        assert sum(takes) == ask["units"]
        assert all(units <= capacity for units, capacity in zip(takes, free, strict=True))
        assert not ask["split"] or len({takes[n] for n in nodes}) == 1


@given(data=st.data(), topology=trees())
@pytest.mark.parametrize("allocator", ALLOCATORS)
@examples
def test_no_allocator_refuses_what_fits(allocator, topology, data):
    free = data.draw(capacities(topology.num_nodes, 3))
    compare(topology, free, data.draw(asks(topology.num_nodes)), allocator)


# --- by hand -------------------------------------------------------------------------------------


def groups_used(topology, takes, level=0):
    assert takes is not None
    group = topology.level_group(level)[np.flatnonzero(takes)]
    return dict(
        zip(*(column.tolist() for column in np.unique(group, return_counts=True)), strict=True)
    )


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_slurm_s_known_answer_for_segments(allocator):
    """36 nodes in segments of 12 on three blocks of 17: 12 + 12 + 12, never 17 + 17 + 2."""
    topology = Topology(51, (17,), kind=TopologyKind.BLOCK)
    takes = placed(topology, [1] * 51, allocator, units=36, nodes_min=36, segment=12)
    assert groups_used(topology, takes) == {0: 12, 1: 12, 2: 12}
    assert placed(topology, [1] * 51, allocator, units=48, nodes_min=48, segment=12) is None


def groups_of_free_nodes(topology, busy, allocator, nodes):
    free = [int(n not in busy) for n in range(topology.num_nodes)]
    return placed(topology, free, allocator, units=nodes, nodes_min=nodes)


def test_lowest_switch_takes_the_lowest_then_the_fullest():
    """
    Leaves of 4, 3, 5 and 4 nodes in two pairs; ``x`` is busy.

    ::

        ....  x..  |  xx...  ....
    """
    topology = Topology(16, group_sizes=((4, 3, 5, 4), (7, 9)))
    busy = {4, 7, 8}
    # Of the leaves that hold 3, the third has no more.
    assert groups_used(topology, groups_of_free_nodes(topology, busy, "lowest-switch", 3)) == {2: 3}
    assert groups_used(topology, groups_of_free_nodes(topology, busy, "lowest-switch", 2)) == {1: 2}
    # Both pairs hold 5: the first has 6 nodes free, the second 7. In it the leaf of 4 first.
    assert groups_used(topology, groups_of_free_nodes(topology, busy, "lowest-switch", 5)) == {
        0: 4,
        1: 1,
    }
    # Under the root: the largest leaves, then the one with just enough.
    assert groups_used(topology, groups_of_free_nodes(topology, busy, "lowest-switch", 10)) == {
        0: 4,
        1: 2,
        3: 4,
    }


def test_fewest_groups_and_contiguous_take_what_just_suffices():
    topology = Topology(16, group_sizes=((4, 3, 5, 4), (7, 9)))
    busy = {4, 7, 8}
    assert groups_used(topology, groups_of_free_nodes(topology, busy, "fewest-groups", 7)) == {
        0: 4,
        2: 3,
    }
    # Free runs of 4, 2 and 7 nodes.
    assert np.flatnonzero(groups_of_free_nodes(topology, busy, "contiguous", 2)).tolist() == [5, 6]
    assert np.flatnonzero(groups_of_free_nodes(topology, busy, "contiguous", 4)).tolist() == [
        0,
        1,
        2,
        3,
    ]
    assert np.flatnonzero(groups_of_free_nodes(topology, busy, "contiguous", 9)).tolist() == [
        5,
        6,
        *range(9, 16),
    ]
