"""
How many units a campaign's jobs have: the excerpt's shapes, tilted until the load is right.

The published classes and the load do not fit the excerpt's widths: with 93 % short jobs the few
others have to carry the load, at some 55 cores each where the excerpt's have 8. So the weight of
each of their shapes is multiplied by its width in nodes to a power. One power, for jobs with GPUs,
sets the GPUs' load; another, for those without, the cores'. Short jobs keep the excerpt's shapes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched.logs.generators import pick, stratified
from cpsched.papers.generators import eurora_tables as known

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cpsched.papers.generators.eurora_campaigns import Campaigns
    from cpsched.papers.generators.eurora_tables import RequestMix
    from cpsched.util.types import FloatArray, IntArray

# Columns of the shape arrays: units, cores, GPUs, MICs.
_CORES, _GPUS = 1, 2
_STEPS = 30
_POWERS = (-3.0, 4.0)
#: Jobs wider than this many nodes become no more common than those of this width: a dispatcher
#: without reservations would let them wait for weeks.
_WIDEST_TILTED = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Widths:
    """One row a campaign: number of units and what one needs, columns as known.RESOURCES."""

    units: IntArray
    request: IntArray

    def total(self, resource: str) -> IntArray:
        """Return what one job of each campaign holds of a resource kind, shape ``(C,)``."""
        return self.units * self.request[:, known.RESOURCES.index(resource)]


def draw_widths(
    rng: np.random.Generator,
    campaigns: Campaigns,
    seconds: FloatArray,
    *,
    core_seconds: float,
    gpu_seconds: float,
) -> Widths:
    """
    Return the shape of each campaign so that all jobs together use the seconds asked for.

    Where no power reaches them, the widest or narrowest shapes come as near as they can.

    Parameters
    ----------
    seconds
        Runtime of all jobs of each campaign, shape ``(C,)``.
    core_seconds, gpu_seconds
        What all jobs are to use of cores and of GPUs.
    """
    shape = np.zeros((len(campaigns), 4), dtype=np.int64)
    short = campaigns.job_class == known.SHORT
    for queue, shapes in enumerate(known.SHORT_SHAPES):
        rows = np.flatnonzero(short & (campaigns.queue == queue))
        chosen = pick(stratified(rng, campaigns.size[rows]), [s.weight for s in shapes])
        shape[rows] = _as_array(shapes)[chosen]
    with_gpu = np.zeros(len(short), dtype=np.bool_)
    with_gpu[~short] = stratified(rng, campaigns.size[~short]) < known.WIDE_GPU_SHARE
    # GPUs first: what their jobs use of the cores, the others have to leave.
    for rows, column, wanted in (
        (np.flatnonzero(~short & with_gpu), _GPUS, gpu_seconds),
        (np.flatnonzero(~short & ~with_gpu), _CORES, core_seconds),
    ):
        rest = wanted - _used(shape, seconds, column)
        uniforms = stratified(rng, campaigns.size[rows])
        part = [s for s in known.WIDE_SHAPES if bool(s.gpus) == (column == _GPUS)]
        shape[rows] = _fitted(part, uniforms, seconds[rows], column, rest)
    memory = _draw_memory(rng, shape)
    return Widths(units=shape[:, 0], request=np.column_stack([shape[:, 1:], memory]))


def _fitted(
    shapes: Sequence[RequestMix],
    uniforms: FloatArray,
    seconds: FloatArray,
    column: int,
    wanted: float,
) -> IntArray:
    """Return a shape for each uniform, tilted until the jobs use what is wanted of a resource."""
    ordered = sorted(shapes, key=lambda shape: (shape.nodes, shape.cores, shape.units))
    weights = np.array([shape.weight for shape in ordered])
    nodes = np.minimum(_WIDEST_TILTED, [shape.nodes for shape in ordered])
    rows = _as_array(ordered)

    used = rows[:, 0] * rows[:, column]

    def choose(power: float) -> IntArray:
        return pick(uniforms, weights * nodes**power)

    def excess(chosen: IntArray) -> float:
        return float(seconds @ used[chosen]) - wanted

    chosen = choose(_root(lambda power: excess(choose(power)), *_POWERS))
    return np.asarray(rows[_settled(chosen, used, seconds, excess(chosen))])


def _settled(chosen: IntArray, used: IntArray, seconds: FloatArray, excess: float) -> IntArray:
    """
    Move single campaigns to the next wider or narrower shape while that lessens the excess.

    Few campaigns make coarse steps: without this a week of jobs misses its load by 5 %.
    """
    if len(chosen) == 0:
        return chosen
    chosen = chosen.copy()
    for _ in range(_STEPS):
        moved = np.clip(np.stack([chosen - 1, chosen + 1]), 0, len(used) - 1)
        left = np.abs(excess + seconds * (used[moved] - used[chosen]))
        direction, campaign = np.unravel_index(int(left.argmin()), left.shape)
        if left[direction, campaign] >= abs(excess):
            break
        before = used[chosen[campaign]]
        chosen[campaign] = moved[direction, campaign]
        excess += float(seconds[campaign] * (used[chosen[campaign]] - before))
    return chosen


def _as_array(shapes: Sequence[RequestMix]) -> IntArray:
    return np.array([(s.units, s.cores, s.gpus, s.mics) for s in shapes], dtype=np.int64)


def _used(shape: IntArray, seconds: FloatArray, column: int) -> float:
    """Return the seconds that jobs of the given shapes use of a resource."""
    return float((shape[:, 0] * shape[:, column] * seconds).sum())


def _root(excess: Callable[[float], float], low: float, high: float) -> float:
    """Return where an increasing function crosses zero, or the end that is nearest to it."""
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if excess(middle) > 0:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


def _draw_memory(rng: np.random.Generator, shape: IntArray) -> IntArray:
    """Return the memory of one unit of each campaign in KB."""
    uniforms = rng.random(len(shape))
    memory = np.zeros(len(shape), dtype=np.int64)
    for (cores, with_gpu), table in known.MEMORY.items():
        rows = np.flatnonzero((shape[:, 1] == cores) & ((shape[:, 2] > 0) == with_gpu))
        chosen = pick(uniforms[rows], [share for _, share in table])
        memory[rows] = np.array([amount for amount, _ in table])[chosen]
    # The nodes with more memory are few, and have no MICs.
    common = (shape[:, 0] > 1) | (shape[:, 3] > 0)
    memory[common] = np.minimum(memory[common], known.COMMON_MEMORY)
    return memory * 1024
