"""How many units of a request fit on nodes, and whether some of the nodes are enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched.kernels.arrays import FAR, ZERO
from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import inner, leaf
from cpsched.model.columns import (
    NODES_MAX,
    NODES_MIN,
    RUNTIME_ESTIMATE,
    SHAPE,
    SHAPE_CLASS,
    SHAPE_EXCLUSIVE,
    SHAPE_REQUEST,
    UNITS,
)

if TYPE_CHECKING:
    from cpsched.model.topology import Topology
    from cpsched.util.types import BoolArray, IntArray

#: What :func:`shortage` returns of a job that fits.
FITS = -1

#: A job that asks for nothing fits this often on a node; sums over 2^16 nodes stay in 64 bits.
MANY = np.int64(2**46)
#: So many times an amount is less than 2^63.
_FEW = 2**10


class Machine(NamedTuple):
    """
    What does not change during a pass.

    Attributes
    ----------
    policy
        The allocator's order of nodes; of eight bits where neither it nor a job minds which nodes
        go together or how units spread over them, see :func:`may_confine`.
    worth
        What every node has of each kind, shape ``(R,)``: more than that is scarce. Behind it what
        is asked for, see :func:`cpsched.kernels.placing.order_by_loss`.
    levels
        The group of each node at each level of the topology, lowest first, shape ``(L, N)``.
    weights
        Of each node, for a choice that goes by them; of length 0 for any other.
    """

    policy: int
    shapes: IntArray
    eligible: BoolArray
    capacity: IntArray
    worth: IntArray
    levels: IntArray
    weights: IntArray


def may_confine(machine: Any) -> bool:
    """Say of the type of a machine whether jobs on it may mind which nodes go together."""
    return bool(machine.types[machine.fields.index("policy")].bitwidth > 8)


def packed_places(topology: Topology) -> IntArray:
    """Return a topology for kernels: the number of its levels, then the levels."""
    return np.concatenate([[len(topology.levels)], topology.levels.ravel()])


@inner
def machine_at(policy, shapes, eligible, capacity, worth, places):
    """Return the machine, with a topology as :func:`packed_places` has it."""
    num_nodes = len(capacity)
    levels = places[1 : 1 + places[0] * num_nodes].reshape((places[0], num_nodes))
    return Machine(policy, shapes, eligible, capacity, worth, levels, np.empty(0, dtype=np.int64))


@inner
def weighted(machine, weights):
    """Return a machine whose nodes have weights."""
    return Machine(
        machine.policy, machine.shapes, machine.eligible, machine.capacity, machine.worth,
        machine.levels, weights,
    )  # fmt: skip


class Request(NamedTuple):
    """What one job asks for."""

    shape: int
    units: int
    duration: int
    nodes_min: int
    nodes_max: int


class Groups(NamedTuple):
    """
    Runs of neighbouring nodes that are alike; a single node is a group of one.

    Attributes
    ----------
    first, size
        The first node of each group, and how many there are.
    line
        The groups to look at, in order of nodes; those left out have no room.
    """

    first: IntArray
    size: IntArray
    line: IntArray


@leaf
def request_of(cols, row):
    """Return what a job of the store asks for; predictions count as a second at least."""
    return Request(
        cols[row, SHAPE], cols[row, UNITS], max(cols[row, RUNTIME_ESTIMATE], 1),
        cols[row, NODES_MIN], cols[row, NODES_MAX],
    )  # fmt: skip


@inner
def single_nodes(num_nodes):
    """Return every node as a group of its own."""
    first = np.empty(num_nodes, dtype=np.int64)
    size = np.empty(num_nodes, dtype=np.int64)
    for n in range(num_nodes):
        first[n] = n
        size[n] = 1
    return Groups(first, size, first)


@leaf
def room_on(level, g, node, capacity, eligible, shapes, shape, most):
    """
    Return how many units of a request fit on one node of a group, ``most`` if more do.

    ``level[g]`` is what is free on each node of the group, ``node`` one of them. An exclusive job
    fits where nothing is taken: a job that asks for nothing takes nothing, so the two can share a
    node. Takes arrays, not the tuples that hold them: reading an array out of a tuple counts a
    reference, which would cost more than the rest.
    """
    if not eligible[shapes[shape, SHAPE_CLASS], node]:
        return 0
    num_kinds = capacity.shape[1]
    exclusive = shapes[shape, SHAPE_EXCLUSIVE] != 0
    room = most
    for r in range(num_kinds):
        have = level[g, r]
        if exclusive and have != capacity[node, r]:
            return 0
        left = have - shapes[shape, SHAPE_REQUEST + num_kinds + r]
        if left < 0:
            return 0
        need = shapes[shape, SHAPE_REQUEST + r]
        if need == 1:
            room = min(room, left)
        # Dividing is slow, and most kinds are plenty; the product must not overflow.
        elif need > 1 and (room >= _FEW or need * room > left):
            room = min(room, left // need)
        if room == 0:
            return 0
    return room


@leaf
def amount_on(shapes, shape, capacity, node, units, r):
    """Return how much of kind r a job with some units on a node takes of it."""
    if shapes[shape, SHAPE_EXCLUSIVE] != 0:
        return capacity[node, r]
    num_kinds = capacity.shape[1]
    return units * shapes[shape, SHAPE_REQUEST + r] + shapes[shape, SHAPE_REQUEST + num_kinds + r]


@kernel
def unit_capacity(free, capacity, eligible, shapes, shape, caps):
    """Fill ``caps`` with the units of a request that fit on each node; return their sum."""
    total = 0
    for n in range(free.shape[0]):
        caps[n] = room_on(free, n, n, capacity, eligible, shapes, shape, MANY)
        total += caps[n]
    return total


@leaf
def shortage(machine, level, groups, request, rooms):
    """
    Say whether some choice of ``nodes_min`` to ``nodes_max`` nodes holds a job's units.

    Fills ``rooms`` with the units that fit on a node of each group, no more than all; but for those
    along the line behind the first ones that are enough.

    Returns
    -------
    int
        ``FITS``, or how many units would fit (FAR where units are not what is short); of a job of
        one node, how many would on the roomiest.
    """
    capacity, eligible, shapes = machine.capacity, machine.eligible, machine.shapes
    first, size, line = groups.first, groups.size, groups.line
    units, shape, nodes_max = request.units, request.shape, request.nodes_max
    need = shapes[shape, SHAPE_REQUEST]
    # So many nodes with an even share each are enough for a job that may not have more.
    share = -(-units // nodes_max) if 0 < nodes_max < units else FAR
    total = 0
    count = 0
    largest = ZERO
    full = 0
    for i in range(len(line)):
        g = line[i]
        if level[g, 0] < need:
            rooms[g] = 0
            continue
        room = room_on(level, g, first[g], capacity, eligible, shapes, shape, units)
        rooms[g] = room
        if room > 0:
            total += size[g] * room
            count += size[g]
            largest = max(largest, room)
            if room >= share:
                full += size[g]
                if full >= nodes_max and nodes_max >= request.nodes_min:
                    return FITS
            if total >= units and count >= request.nodes_min and nodes_max >= units:
                return FITS if units >= request.nodes_min else FAR
    if nodes_max == 1 and largest < units:
        return largest
    if total < units:
        return total
    return FITS if within_bounds(groups, rooms, request) else FAR


@leaf
def _roomiest(groups, rooms, most, request):
    """Say whether the roomiest ``nodes_max`` nodes hold a job; ``most`` is the largest room."""
    left = request.nodes_max
    if most >= request.units or most * left < request.units:
        return most >= request.units and left > 0
    held = 0
    # From one room to the next smaller: nodes are many, how much room they have takes few values.
    room = most
    while room > 0 and left > 0 and held < request.units:
        count = 0
        smaller = 0
        for g in groups.line:
            if rooms[g] == room:
                count += groups.size[g]
            elif rooms[g] < room:
                smaller = max(smaller, rooms[g])
        taken = min(count, left)
        held += taken * room
        left -= taken
        room = smaller
    return held >= request.units


@leaf
def within_bounds(groups, rooms, request):
    """Say whether nodes with room for all units together are enough, and not too many."""
    count = 0
    most = ZERO
    for g in groups.line:
        if rooms[g] > 0:
            count += groups.size[g]
            most = max(most, rooms[g])
    if count < request.nodes_min or request.units < request.nodes_min:
        return False
    few = request.nodes_max < min(request.units, count)
    return not few or _roomiest(groups, rooms, most, request)
