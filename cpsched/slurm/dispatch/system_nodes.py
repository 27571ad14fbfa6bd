"""The nodes of a system as Slurm's passes choose them, and what a view has of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.util.types import IntArray

#: The numbers of these orders of nodes, see :mod:`cpsched.dispatch.allocators`.
_LOWEST_SWITCH, _CONTIGUOUS = 5, 7


def nodes_of(system: System, *, tree: bool) -> tuple[int, IntArray, IntArray]:
    """
    Return how nodes are chosen, their capacity, and the topology's levels.

    Raises
    ------
    ConfigError
        If there are to be switches and there are none.
    """
    if tree and system.topology.num_levels < 2:
        raise ConfigError(
            "topology=tree needs switches or blocks. Describe them in [topology], or set"
            " topology=line.",
            where=f"system {system.name}",
        )
    levels = np.ascontiguousarray(system.topology.levels).reshape(-1, system.num_nodes)
    return _LOWEST_SWITCH if tree else _CONTIGUOUS, system.capacity, levels


def running_in(view: View) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray]:
    """Return what is free, the rows of running jobs, and their ranges of nodes."""
    running, arena = view.running, view.running.arena
    return view.free, running.rows, arena.node, arena.count, arena.amount
