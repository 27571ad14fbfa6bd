"""The machine as Slurm's passes see it, and how they are run on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.errors import ConfigError
from cpsched.kernels.parts import CONTIGUOUS, LOWEST_SWITCH
from cpsched.kernels.rooms import packed_places
from cpsched.slurm.kernels import passes as slurm
from cpsched.slurm.kernels.records import Held, Limits, Nodes, Rules

if TYPE_CHECKING:
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.util.types import AnyArray, IntArray


def make_nodes(system: System, *, tree: bool, weights: IntArray) -> Nodes:
    """
    Return the nodes of a machine, for jobs that ask for nothing yet.

    Raises
    ------
    ConfigError
        If there are to be switches and there are none.
    """
    if tree and system.topology.num_levels < 2:
        raise ConfigError(
            "topology=tree needs switches or blocks: describe them in [topology], or set"
            " topology=line",
            where=f"system {system.name}",
        )
    return Nodes(
        LOWEST_SWITCH if tree else CONTIGUOUS,
        *(np.zeros((0, 0), dtype=np.int64), np.zeros((0, system.num_nodes), dtype=np.bool_)),
        *(system.capacity, np.zeros(system.capacity.shape[1], dtype=np.int64)),
        *(packed_places(system.topology), weights),
    )


def always_apart(nodes: Nodes) -> tuple[IntArray, ...]:
    """Return of each node what those of a group have the same of, whatever jobs there are."""
    levels = nodes.places[1:].reshape(nodes.places[0], len(nodes.capacity))[:1]
    return nodes.capacity, *levels


def held_in(view: View) -> Held:
    """Return what is free, and what running jobs hold."""
    rows, arena = view.running.rows, view.running.arena
    return Held(view.free, view.free.ravel(), rows, arena.node, arena.amount)


def run_passes(
    view: View, queue: tuple[IntArray, IntArray], rules: Rules, limits: Limits, nodes: Nodes
) -> tuple[AnyArray, IntArray, IntArray]:
    """Run the passes that are due; as :func:`cpsched.slurm.kernels.passes.slurm_pass`."""
    result: tuple[AnyArray, IntArray, IntArray] = slurm.slurm_pass(
        *queue, rules, limits, view.waiting.store.columns, nodes, held_in(view)
    )
    return result
