"""The machine as Slurm's passes see it, and how they are run on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.api.errors import ConfigError
from cpsched.api.kernels import CONTIGUOUS, LOWEST_SWITCH, packed_places
from slurm_adapter.kernels import passes as slurm
from slurm_adapter.kernels.records import Held, Limits, Nodes, Rules

if TYPE_CHECKING:
    from cpsched.api.model import AnyArray, BoolArray, IntArray, System, View


class Machine:
    """
    A machine on which jobs get nodes as Slurm gives them.

    Parameters
    ----------
    system
        The machine.
    tree
        Whether nodes are chosen under the lowest switch, or along a line.
    weights
        Of each node: jobs get nodes of a lower weight first. Empty where all are equal.

    Raises
    ------
    ConfigError
        If there are to be switches and there are none.
    """

    def __init__(self, system: System, *, tree: bool, weights: IntArray) -> None:
        if tree and system.topology.num_levels < 2:
            raise ConfigError(
                "topology=tree needs switches or blocks: describe them in [topology], or set"
                " topology=line",
                where=f"system {system.name}",
            )
        self._policy = LOWEST_SWITCH if tree else CONTIGUOUS
        self._capacity: IntArray = system.capacity
        self._scarce: IntArray = np.zeros(system.capacity.shape[1], dtype=np.int64)
        self._places = packed_places(system.topology)
        self.weights = weights

    def run(
        self,
        view: View,
        queue: tuple[IntArray, IntArray],
        rules: Rules,
        limits: Limits,
        shapes: tuple[IntArray, BoolArray],
    ) -> tuple[AnyArray, IntArray, IntArray]:
        """
        Run the passes that are due; as :func:`slurm_adapter.kernels.passes.slurm_pass`.

        Parameters
        ----------
        queue
            The order of the queue, and the records.
        shapes
            What jobs ask for, and which nodes each class of them may use.
        """
        running = view.running
        nodes = Nodes(
            self._policy, *shapes, self._capacity, self._scarce, self._places, self.weights
        )
        held = Held(view.free, running.rows, running.arena.node, running.arena.amount)
        found: tuple[AnyArray, IntArray, IntArray] = slurm.slurm_pass(
            *queue, rules, limits, view.waiting.store.columns, nodes, held
        )
        return found
