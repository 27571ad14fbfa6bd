"""How many units of a request fit on groups of nodes, and whether some of the nodes are enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cpsched.kernels.arrays import FAR
from cpsched.kernels.compiling import kernel
from cpsched.kernels.fit import MANY
from cpsched.kernels.profile import GROUPS
from cpsched.model.columns import (
    NODES_MAX,
    NODES_MIN,
    PLAN,
    SHAPE,
    SHAPE_CLASS,
    SHAPE_EXCLUSIVE,
    SHAPE_REQUEST,
    UNITS,
)

if TYPE_CHECKING:
    from cpsched.model.types import BoolArray, IntArray

#: What :func:`shortage` returns of a job that fits.
FITS = -1


class Machine(NamedTuple):
    """What does not change while a queue is planned; ``scarce``: what every node has."""

    policy: int
    shapes: IntArray
    eligible: BoolArray
    capacity: IntArray
    scarce: IntArray


class Request(NamedTuple):
    """What one job asks for."""

    shape: int
    units: int
    duration: int
    nodes_min: int
    nodes_max: int


@kernel
def request_of(cols, row):
    """Return what a job of the store asks for; predictions count as a second at least."""
    return Request(
        cols[row, SHAPE], cols[row, UNITS], max(cols[row, PLAN], 1),
        cols[row, NODES_MIN], cols[row, NODES_MAX],
    )  # fmt: skip


@kernel
def group_room(level, g, node, capacity, eligible, shapes, shape, most):
    """
    Return how many units of a request fit on a node of a group, ``most`` if more do.

    It takes arrays, not the tuples that hold them: out of a tuple each is counted as in use anew,
    which would cost more than the rest.
    """
    if not eligible[shapes[shape, SHAPE_CLASS], node]:
        return 0
    num_kinds = capacity.shape[1]
    exclusive = shapes[shape, SHAPE_EXCLUSIVE] != 0
    room = most
    for r in range(num_kinds):
        have = level[g * num_kinds + r]
        if exclusive and have != capacity[node, r]:
            return 0
        left = have - shapes[shape, SHAPE_REQUEST + num_kinds + r]
        if left < 0:
            return 0
        need = shapes[shape, SHAPE_REQUEST + r]
        if need == 1:
            room = min(room, left)
        # Dividing is slow, and most kinds are plenty.
        elif need > 1 and (most == MANY or need * room > left):
            room = min(room, left // need)
        if room == 0:
            return 0
    return room


@kernel
def group_total(machine, level, profile, shape):
    """Return how many units of a request fit on all nodes together."""
    capacity, eligible, shapes = machine.capacity, machine.eligible, machine.shapes
    first, size = profile.first, profile.size
    total = 0
    for g in range(profile.num[GROUPS]):
        total += size[g] * group_room(level, g, first[g], capacity, eligible, shapes, shape, MANY)
    return total


@kernel
def shortage(machine, level, profile, request, rooms):
    """
    Say whether some choice of ``nodes_min`` to ``nodes_max`` nodes holds a job's units.

    Fills ``rooms`` with the units that fit on a node of each group, no more than all; 0 for those
    along the line behind the first ones that are enough.

    Returns
    -------
    int
        ``FITS``, or how many units would fit (FAR where units are not what is short).
    """
    capacity, eligible, shapes = machine.capacity, machine.eligible, machine.shapes
    first, size, line = profile.first, profile.size, profile.line
    units, shape = request.units, request.shape
    num_groups = profile.num[GROUPS]
    total = 0
    count = 0
    for i in range(num_groups):
        g = line[i]
        room = group_room(level, g, first[g], capacity, eligible, shapes, shape, units)
        rooms[g] = room
        if room > 0:
            total += size[g] * room
            count += size[g]
            if total >= units and count >= request.nodes_min and request.nodes_max >= units:
                for k in range(i + 1, num_groups):
                    rooms[line[k]] = 0
                return FITS if units >= request.nodes_min else FAR
    if total < units:
        return total
    return FITS if within_bounds(profile, rooms, request) else FAR


@kernel
def _roomiest(profile, rooms, most, request):
    """Say whether the roomiest ``nodes_max`` nodes hold a job; ``most`` is the largest room."""
    left = request.nodes_max
    if most * left < request.units:
        return False
    held = 0
    # From one room to the next smaller: nodes are many, how much room they have takes few values.
    room = most
    while room > 0 and left > 0 and held < request.units:
        count = 0
        smaller = 0
        for g in range(profile.num[GROUPS]):
            if rooms[g] == room:
                count += profile.size[g]
            elif rooms[g] < room:
                smaller = max(smaller, rooms[g])
        taken = min(count, left)
        held += taken * room
        left -= taken
        room = smaller
    return held >= request.units


@kernel
def within_bounds(profile, rooms, request):
    """Say whether nodes with room for all units together are enough, and not too many."""
    count = 0
    most = 0
    for g in range(profile.num[GROUPS]):
        if rooms[g] > 0:
            count += profile.size[g]
            most = max(most, rooms[g])
    if count < request.nodes_min or request.units < request.nodes_min:
        return False
    few = request.nodes_max < min(request.units, count)
    return not few or _roomiest(profile, rooms, most, request)
