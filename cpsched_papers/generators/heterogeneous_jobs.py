"""Draws the jobs of the generator ``heterogeneous``: type, size, nodes, run time."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from cpsched_papers.generators import heterogeneous_tables as known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.api.model import IntArray
    from cpsched_papers.generators.heterogeneous_tables import Machine, Preset

#: Jobs drawn at a time: a longer workload begins with the jobs of a shorter one.
_BLOCK = 1024


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Jobs:
    """
    Jobs in the order they were drawn, each column of shape ``(J,)``.

    Attributes
    ----------
    type
        Index into :data:`~cpsched_papers.generators.heterogeneous_tables.TYPES`.
    cores
        All of them.
    nodes
        Exact number; 0 if the job does not say.
    gpus
        On every node, the fewest.
    runtime
        Seconds.
    """

    type: IntArray
    cores: IntArray
    nodes: IntArray
    gpus: IntArray
    runtime: IntArray

    def __len__(self) -> int:
        return len(self.type)

    def take(self, count: int) -> Jobs:
        """Return the first jobs."""
        return Jobs(**{item.name: getattr(self, item.name)[:count] for item in fields(self)})

    def theoretical_seconds(self, machine: Machine) -> float:
        """Return the run time if every core were always busy (T 7.4, equation 7.2)."""
        return float((self.cores * self.runtime).sum() / (machine.nodes * machine.cores))


def draw_jobs(
    rng: np.random.Generator,
    preset: Preset,
    cores_per_node: Sequence[int],
    *,
    times: tuple[int, int],
) -> Jobs:
    """
    Return the preset's number of jobs, or as many as fill its hours.

    Parameters
    ----------
    cores_per_node
        Cores per node that a type B job may ask for.
    times
        Shortest and longest run time, seconds.
    """
    blocks: list[Jobs] = []
    while True:
        blocks.append(_draw_block(rng, preset, cores_per_node, times))
        jobs = _joined(blocks)
        if preset.jobs is not None:
            if len(jobs) >= preset.jobs:
                return jobs.take(preset.jobs)
            continue
        assert preset.hours is not None
        wanted = preset.hours * 3600 * preset.machine.nodes * preset.machine.cores
        done = np.cumsum(jobs.cores * jobs.runtime)
        if done[-1] >= wanted:
            return jobs.take(int(np.searchsorted(done, wanted)) + 1)


def _draw_block(
    rng: np.random.Generator,
    preset: Preset,
    cores_per_node: Sequence[int],
    times: tuple[int, int],
) -> Jobs:
    """
    Return a block of jobs, everything drawn independently and uniformly (T 7.3.2).

    A job's cores are a multiple of a node's. With ``x`` cores on a node, or ``x`` for each of its
    GPUs, it needs ``cores / x`` or ``cores / (x GPUs)`` nodes: the thesis' formula, rounded up
    where 8 does not divide a multiple of 12.
    """
    shares = np.array(preset.shares)
    kind = rng.choice(len(shares), size=_BLOCK, p=shares / shares.sum())
    whole = rng.integers(1, preset.max_cores // preset.machine.cores + 1, size=_BLOCK)
    per_node = rng.choice(np.array(cores_per_node), size=_BLOCK)
    per_gpu = rng.choice(np.array(preset.cores_per_gpu), size=_BLOCK)
    runtime = rng.integers(times[0], times[1] + 1, size=_BLOCK)
    cores = whole * preset.machine.cores
    gpus = np.maximum(kind - known.TYPES.index("B"), 0)
    on_node = np.where(gpus > 0, per_gpu * gpus, per_node)
    nodes = np.where(kind == known.TYPES.index("A"), 0, -(-cores // on_node))
    if preset.even:
        # As many cores on every node: the last one is filled up.
        cores = np.where(kind == known.TYPES.index("B"), nodes * on_node, cores)
    return Jobs(type=kind, cores=cores, nodes=nodes, gpus=gpus, runtime=runtime)


def _joined(blocks: Sequence[Jobs]) -> Jobs:
    return Jobs(
        **{
            item.name: np.concatenate([getattr(block, item.name) for block in blocks])
            for item in fields(Jobs)
        }
    )
