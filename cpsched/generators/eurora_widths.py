"""
How many units a campaign's jobs have: the excerpt's shapes, tilted until the load is right.

The published classes and the load do not fit the excerpt's widths: with 93 % short jobs the few
others have to carry the load, at some 60 cores each where the excerpt's have 8. A log-linear tilt
(weight times nodes to the power theta) is the least change of the excerpt's shapes that has the
mean asked for; a second parameter, the share of GPU jobs among them, sets the load of the GPUs.
Short jobs keep the excerpt's shapes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched.errors import ConfigError
from cpsched.generators import eurora_tables as known
from cpsched.generators.sampling import pick, stratified

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cpsched.generators.eurora_campaigns import Campaigns
    from cpsched.generators.eurora_tables import Shape
    from cpsched.model.types import FloatArray, IntArray

_STEPS = 24
_TILTS = (-2.0, 3.0)
_GPU_SHARES = (0.02, 0.85)


@dataclass(frozen=True, slots=True, kw_only=True)
class Widths:
    """One row a campaign: number of units and what one needs, columns as known.RESOURCES."""

    units: IntArray
    request: IntArray

    def total(self, resource: str) -> IntArray:
        """Return what one job of each campaign holds of a resource kind, shape ``(C,)``."""
        return self.units * self.request[:, known.RESOURCES.index(resource)]


class _WideShapes:
    """Choices among the shapes of jobs beyond one hour, as a function of tilt and GPU share."""

    def __init__(self, rng: np.random.Generator, size: IntArray) -> None:
        shapes = sorted(known.WIDE_SHAPES, key=lambda shape: (shape.nodes, shape.cores))
        self.parts = [
            [shape for shape in shapes if bool(shape.gpus) == with_gpu]
            for with_gpu in (False, True)
        ]
        self.by_kind = stratified(rng, size)
        self.by_width = stratified(rng, size)

    def choose(self, tilt: float, gpu_share: float) -> IntArray:
        """Return units, cores, GPUs, MICs of each campaign, shape ``(C, 4)``."""
        plain, gpu = (
            _as_array(part)[pick(self.by_width, _tilted(part, tilt))] for part in self.parts
        )
        return np.where((self.by_kind < gpu_share)[:, None], gpu, plain)


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

    Parameters
    ----------
    seconds
        Runtime of all jobs of each campaign, shape ``(C,)``.
    core_seconds, gpu_seconds
        What all jobs are to use of cores and of GPUs.

    Raises
    ------
    ConfigError
        If no tilt of the shapes gets within 3 % of the core seconds.
    """
    shape = np.zeros((len(campaigns), 4), dtype=np.int64)
    short = campaigns.job_class == known.SHORT
    for queue, shapes in enumerate(known.SHORT_SHAPES):
        rows = np.flatnonzero(short & (campaigns.queue == queue))
        chosen = pick(stratified(rng, campaigns.size[rows]), [s.weight for s in shapes])
        shape[rows] = _as_array(shapes)[chosen]
    wide = np.flatnonzero(~short)
    choice = _WideShapes(rng, campaigns.size[wide])
    used = _used(shape, seconds)

    def wanted(tilt: float, gpu_share: float) -> FloatArray:
        """Return core and GPU seconds used above what is asked for."""
        chosen = choice.choose(tilt, gpu_share)
        return used + _used(chosen, seconds[wide]) - np.array([core_seconds, gpu_seconds])

    def best_share(tilt: float) -> float:
        return _root(lambda share: float(wanted(tilt, share)[1]), *_GPU_SHARES)

    tilt = _root(lambda value: float(wanted(value, best_share(value))[0]), *_TILTS)
    _check_reached(wanted, best_share, core_seconds, tilt)
    shape[wide] = choice.choose(tilt, best_share(tilt))
    memory = _draw_memory(rng, shape)
    return Widths(units=shape[:, 0], request=np.column_stack([shape[:, 1:], memory]))


def _check_reached(
    wanted: Callable[[float, float], FloatArray],
    best_share: Callable[[float], float],
    core_seconds: float,
    tilt: float,
) -> None:
    """Refuse options that no tilt can meet, and say what could be met."""
    if abs(float(wanted(tilt, best_share(tilt))[0])) <= 0.03 * core_seconds:
        return
    low, high = (1 + float(wanted(end, best_share(end))[0]) / core_seconds for end in _TILTS)
    raise ConfigError(
        "so many jobs in so many days cannot have that load; with Eurora's runtimes it can be"
        f" {low:.2g} to {high:.2g} times the one asked for",
        key="load",
    )


def _as_array(shapes: Sequence[Shape]) -> IntArray:
    return np.array([(s.units, s.cores, s.gpus, s.mics) for s in shapes], dtype=np.int64)


def _tilted(shapes: Sequence[Shape], tilt: float) -> FloatArray:
    return np.array([shape.weight * shape.nodes**tilt for shape in shapes])


def _used(shape: IntArray, seconds: FloatArray) -> FloatArray:
    """Return core and GPU seconds of campaigns, shape ``(2,)``."""
    return np.asarray((shape[:, :1] * shape[:, 1:3] * seconds[:, None]).sum(axis=0), np.float64)


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
    several = shape[:, 0] > 1
    memory[several] = np.minimum(memory[several], known.COMMON_MEMORY)
    return memory * 1024
