"""Views for auctions, and the best selection of bids found by trying all of them."""

from dataclasses import replace
from itertools import product

import numpy as np
from jobtables import job_table
from tiny import machine

from cpsched.model.allocation import AllocationArena
from cpsched.model.jobtable import RunningTable
from cpsched.model.topology import Topology
from cpsched.model.view import View
from cpsched.util.types import UNBOUNDED


def gpu_view(free, asks, levels=()):
    """
    Return a view of jobs on nodes with cores and GPUs; nothing runs.

    An ask has ``units`` (of one core), and may have ``gpus`` and ``most_gpus`` on each node,
    ``nodes``, ``nodes_min``, ``nodes_max``, ``even``, ``contiguous``, ``exclusive``, ``request``,
    ``time``.
    """
    system = machine(*free, resources=("core", "gpu"))
    system = replace(system, topology=Topology(len(free), tuple(levels)))
    jobs = jobs_of(asks)
    left = np.array(free, dtype=np.int64)
    eligible = np.ones((1, len(left)), dtype=np.bool_)
    up = np.ones(len(left), dtype=np.bool_)
    nobody = np.zeros(0, dtype=np.int64)
    for array in (left, eligible, up, nobody):
        array.flags.writeable = False
    running = RunningTable(jobs.store, nobody, AllocationArena(2))
    return View(1000, system, left, up, eligible, jobs, running)


def jobs_of(asks):
    """Return a queue of such asks, in order of submit."""

    def column(name, default=0):
        return np.array([request.get(name, default) for request in asks], dtype=np.int64)

    num = len(asks)
    zero = np.zeros(num, dtype=np.int64)
    return job_table(
        resources=("core", "gpu"),
        handle=np.arange(num),
        submit=np.arange(num),
        requested_time=column("time", 60),
        units=column("units"),
        request=np.array([request.get("request", (1, 0)) for request in asks]).reshape(num, 2),
        per_node=np.stack([zero, column("gpus")], axis=1),
        per_node_max=np.stack([zero, column("most_gpus")], axis=1),
        nodes_min=np.array([request.get("nodes_min", request.get("nodes", 1)) for request in asks]),
        nodes_max=np.array(
            [request.get("nodes_max", request.get("nodes", UNBOUNDED)) for request in asks]
        ),
        split=column("even"),
        contiguous=column("contiguous"),
        exclusive=column("exclusive"),
    )


def selections(auction):
    """Yield every selection of bids with at most one of each job."""
    of_job = {}
    for index, bid in enumerate(auction.bids):
        of_job.setdefault(bid.job, [None]).append(index)
    for choice in product(*of_job.values()):
        yield [bid for bid in choice if bid is not None]


def best_compact(auction):
    """Return the greatest worth of bids that fit together as they stand."""
    best = 0
    for chosen in selections(auction):
        value = auction.value(chosen)
        if value <= best:
            continue
        left = auction.free.copy()
        for bid in chosen:
            part = auction.of_bid(bid)
            left[auction.node[part]] -= auction.amount[part]
        if (left >= 0).all():
            best = value
    return best


def best_with_units(auction):
    """Return the greatest worth of bids whose units may lie on their nodes in any way."""
    best = 0
    for chosen in sorted(selections(auction), key=auction.value, reverse=True):
        value = auction.value(chosen)
        if value <= best:
            break
        if _can_lie(auction, chosen, auction.free):
            best = value
    return best


def _can_lie(auction, chosen, free):
    """Try every way of putting the units of the first bid, then of the rest."""
    if not chosen:
        return True
    bid = auction.bids[chosen[0]]
    request = bid.request
    for units in _layouts(len(bid.node), request.units, request.even):
        left = free.copy()
        if request.exclusive:
            left[bid.node] -= auction.capacity[bid.node]
        else:
            left[bid.node] -= np.array(units)[:, None] * request.unit_request + bid.level
        if (left >= 0).all() and _can_lie(auction, chosen[1:], left):
            return True
    return False


def _layouts(nodes, units, even):
    if even:
        yield (units // nodes,) * nodes
        return
    if nodes == 1:
        yield (units,)
        return
    for first in range(1, units - nodes + 2):
        for rest in _layouts(nodes - 1, units - first, even):
            yield (first, *rest)
