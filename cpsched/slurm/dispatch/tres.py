"""Requests of jobs as Slurm counts them: CPUs, memory, nodes, GRES and billing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.dispatch.orders import least_taken, max_units_on_node

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cpsched.model.jobtable import JobTable
    from cpsched.model.system import System
    from cpsched.util.types import FloatArray, IntArray

#: Resources of a system with another name in Slurm.
_NAMES = {"core": "cpu", "mem": "mem"}
_KB_PER_MB = 1024
#: TRES that are limited whatever the nodes have.
_ANYWHERE = ("cpu", "node", "billing")


def resources_of(name: str, resources: Sequence[str]) -> list[int]:
    """
    Return the positions of the resources that a TRES counts.

    ``gres/gpu`` counts ``gpu``, which all types of it are part of; in a system that has only types
    (``gpu:a100``), all of them. ``gres/gpu:a100`` counts one type.
    """
    if not name.startswith("gres/"):
        return [at for at, resource in enumerate(resources) if _NAMES.get(resource) == name]
    gres = name.removeprefix("gres/")
    named = [at for at, resource in enumerate(resources) if resource.lower() == gres]
    return named or [
        at for at, resource in enumerate(resources) if resource.lower().startswith(f"{gres}:")
    ]


def uncounted(names: Iterable[str], resources: Sequence[str]) -> list[str]:
    """Return the TRES that count none of a system's resources, nor what every system has."""
    return [tres for tres in names if tres not in _ANYWHERE and not resources_of(tres, resources)]


class TresCounter:
    """Counts what jobs take in a system's terms of trackable resources."""

    def __init__(self, system: System, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._resources = [resources_of(name, system.resources) for name in names]
        self._nodes: IntArray = np.unique(system.capacity, axis=0).copy()

    def amounts(self, jobs: JobTable) -> IntArray:
        """
        Return what jobs take at least, shape ``(n, T)``; memory in KB, billing 0.

        A job takes as few nodes as it may and as hold it.
        """
        taken = least_taken(jobs, self._nodes)
        amounts = np.zeros((len(jobs), len(self.names)), dtype=np.int64)
        for at, (name, resources) in enumerate(zip(self.names, self._resources, strict=True)):
            if name == "node":
                per_node = max_units_on_node(jobs, self._nodes)
                amounts[:, at] = np.maximum(jobs.nodes_min, -(-jobs.units // per_node))
            else:
                amounts[:, at] = taken[:, resources].sum(axis=1)
        return amounts

    def of_nodes(self, capacity: IntArray) -> IntArray:
        """Return the resources of some nodes together, shape ``(T,)``."""
        total = capacity.sum(axis=0)
        return np.array(
            [
                len(capacity) if name == "node" else int(total[resources].sum())
                for name, resources in zip(self.names, self._resources, strict=True)
            ],
            dtype=np.int64,
        )

    def billing(
        self, amounts: IntArray, weights: Mapping[str, float], *, largest: bool = False
    ) -> FloatArray:
        """
        Return jobs' billing, shape ``(n,)``.

        Parameters
        ----------
        weights
            By TRES, of memory for a MB; empty: a job is billed its CPUs.
        largest
            Whether the largest product counts (``MAX_TRES``), not the sum.
        """
        if not weights:
            return amounts[:, self.names.index("cpu")].astype(np.float64)
        products = np.zeros_like(amounts, dtype=np.float64)
        for at, name in enumerate(self.names):
            unit = _KB_PER_MB if name == "mem" else 1
            products[:, at] = amounts[:, at] * (weights.get(name, 0.0) / unit)
        bill: FloatArray = products.max(axis=1) if largest else products.sum(axis=1)
        return bill
