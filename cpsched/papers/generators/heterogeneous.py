"""
The workload generator of Soner's thesis (7.3.2, 7.3.3) for machines with GPUs in every node.

Jobs ask for cores, or for nodes too, or for GPUs on every node; sizes, run times and types are
drawn independently. Every workload of the thesis is there by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.errors import ConfigError, UnknownNameError
from cpsched.logs.generators import (
    LARGEST_SEED,
    check_integers,
    check_number,
    header,
    option,
    streams,
)
from cpsched.model.workload import Workload
from cpsched.papers.generators import heterogeneous_tables as known
from cpsched.papers.generators.gaussian import gaussian_arrivals
from cpsched.util.types import UNBOUNDED, Split, Status

if TYPE_CHECKING:
    from cpsched.papers.generators.heterogeneous_tables import Preset
    from cpsched.util.types import IntArray

#: Counts up when equal options begin to give another workload.
VERSION = 1
#: Of the gaps between submits: as that of ``esp``, a third of the mean.
_GAP_DEVIATION = 1 / 3
#: Jobs drawn at a time: a longer workload begins with the jobs of a shorter one.
_BLOCK = 1024
_A, _B = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class HeterogeneousOptions:
    """Options of the generator ``heterogeneous``."""

    workload: str = option("V", f"a workload of the thesis: {', '.join(known.PRESETS)}")
    seed: int = option(1, "seed of all random choices. The same seed gives the same jobs")
    jobs: int | None = option(None, "number of jobs (default: as in the workload)")
    cores_per_node: str = option(
        ",".join(map(str, known.CORES_PER_NODE)), "cores on a node of a type B job, one of these"
    )
    min_time: int = option(known.TIMES[0], "shortest run time, seconds")
    max_time: int = option(known.TIMES[1], "longest run time, seconds")
    initial: int = option(50, "jobs submitted at the start (not published, as in ESP)")
    request_factor: float = option(
        1.0, "requested time as a multiple of the run time (not published)"
    )

    def __post_init__(self) -> None:
        if self.workload not in known.PRESETS:
            raise UnknownNameError("workload", str(self.workload), known.PRESETS)
        check_integers(
            self,
            seed=(0, LARGEST_SEED),
            jobs=(1, 10_000_000),
            min_time=(1, 10**7),
            max_time=(1, 10**7),
            initial=(0, 10_000_000),
        )
        check_number(self, request_factor=(1.0, 1000.0))
        if self.min_time > self.max_time:
            raise ConfigError(
                f"{self.min_time} is more than max_time, {self.max_time}", key="min_time"
            )
        self.on_node()

    def on_node(self) -> tuple[int, ...]:
        """Return the choices of ``cores_per_node``: every job fits the machine with any of them."""
        preset = known.PRESETS[self.workload]
        nodes, cores, _ = preset.machine
        least = -(-preset.max_cores // nodes)
        try:
            core_counts = tuple(map(int, self.cores_per_node.split(",")))
        except (AttributeError, ValueError):
            core_counts = (0,)
        if not all(least <= num_cores <= cores for num_cores in core_counts):
            raise ConfigError(
                f"{self.cores_per_node!r} is not a list such as 4,8 of whole numbers from {least}"
                f" to {cores}",
                key="cores_per_node",
            )
        return core_counts


class Heterogeneous:
    """
    Generator of workloads for clusters with GPUs in every node (Soner's thesis, 7.3.2 and 7.3.3).
    """

    name = "heterogeneous"
    summary = "CPU-GPU workloads of AUCSCHED1 to 3: cores, nodes, GPUs per node, GPU ranges"
    options = HeterogeneousOptions

    def generate(self, options: HeterogeneousOptions) -> Workload:
        """Return the workload of the given options."""
        preset = known.PRESETS[options.workload]
        rngs = streams(options.seed, 3)
        jobs = _drawn(rngs[0], options, preset)
        total = preset.machine.nodes * preset.machine.cores
        # The run time if every core were always busy (T 7.4, equation 7.2).
        seconds = float((jobs.cores * jobs.runtime).sum() / total)
        count = len(jobs.cores)
        gap = preset.arrival_part * seconds / max(1, count - options.initial)
        submit = gaussian_arrivals(
            rngs[1], count, initial=options.initial, gap=gap, deviation=_GAP_DEVIATION * gap
        )
        contiguous = np.zeros(count, dtype=np.bool_)
        contiguous[: round(preset.contiguous * count)] = True
        free, none = jobs.nodes == 0, np.zeros(count, dtype=np.int64)
        ranged = (jobs.gpus > 0) & (jobs.gpus < preset.machine.gpus) & preset.ranges
        names = np.array([*known.TYPES, *(f"{name}'" for name in known.TYPES)])
        return Workload.build(
            title=f"heterogeneous-{options.workload}-seed{options.seed}",
            resources=("core", "gpu"),
            header=[
                *header(self.name, VERSION, options),
                ("Theoretical run time", f"{seconds / 3600:.4f} h"),
            ],
            job_id=[str(number) for number in range(1, count + 1)],
            submit=submit,
            runtime=jobs.runtime,
            requested_time=np.ceil(options.request_factor * jobs.runtime).astype(np.int64),
            units=jobs.cores,
            request=np.column_stack([none + 1, none]),
            per_node=np.column_stack([none, jobs.gpus]),
            per_node_max=np.column_stack([none, np.where(ranged, preset.machine.gpus, 0)]),
            nodes_min=np.where(free, 1, jobs.nodes),
            nodes_max=np.where(free, UNBOUNDED, jobs.nodes),
            split=np.where((jobs.type == _B) & preset.even, Split.EVEN, Split.ANY),
            contiguous=rngs[2].permutation(contiguous),
            name=names[jobs.type + len(known.TYPES) * ranged].tolist(),
            status=np.full(count, Status.COMPLETED),
        )


HETEROGENEOUS = Heterogeneous()


class _DrawnJobs(NamedTuple):
    """
    Jobs in the order they were drawn, each column of shape ``(J,)``.

    ``nodes`` is 0 if the job does not say, ``gpus`` the fewest on every node.
    """

    type: IntArray
    cores: IntArray
    nodes: IntArray
    gpus: IntArray
    runtime: IntArray


def _drawn(rng: np.random.Generator, options: HeterogeneousOptions, preset: Preset) -> _DrawnJobs:
    """Return the preset's number of jobs, or as many as fill its hours."""
    drawn = np.empty((5, 0), dtype=np.int64)
    while True:
        drawn = np.hstack([drawn, _block(rng, options, preset)])
        jobs = _DrawnJobs(*drawn)
        count = options.jobs or preset.jobs
        if count is None:
            assert preset.hours is not None
            total = preset.machine.nodes * preset.machine.cores
            done = np.cumsum(jobs.cores * jobs.runtime)
            count = int(np.searchsorted(done, preset.hours * 3600 * total)) + 1
        if count <= drawn.shape[1]:
            return _DrawnJobs(*drawn[:, :count])


def _block(rng: np.random.Generator, options: HeterogeneousOptions, preset: Preset) -> IntArray:
    """
    Return a block of jobs, everything drawn independently and uniformly (T 7.3.2).

    A job's cores are a multiple of a node's. With ``x`` cores on a node, or ``x`` for each of its
    GPUs, it needs ``cores / x`` or ``cores / (x GPUs)`` nodes: the thesis' formula, rounded up
    where 8 does not divide a multiple of 12.
    """
    shares = np.array(preset.shares)
    kind = rng.choice(len(shares), size=_BLOCK, p=shares / shares.sum())
    nodes_of_job = rng.integers(1, preset.max_cores // preset.machine.cores + 1, size=_BLOCK)
    per_node = rng.choice(np.array(options.on_node()), size=_BLOCK)
    per_gpu = rng.choice(np.array(preset.cores_per_gpu), size=_BLOCK)
    runtime = rng.integers(options.min_time, options.max_time + 1, size=_BLOCK)
    cores = nodes_of_job * preset.machine.cores
    gpus = np.maximum(kind - _B, 0)
    each = np.where(gpus > 0, per_gpu * gpus, per_node)
    nodes = np.where(kind == _A, 0, -(-cores // each))
    if preset.even:
        # As many cores on every node: the last one is filled up.
        cores = np.where(kind == _B, nodes * each, cores)
    return np.stack([kind, cores, nodes, gpus, runtime])
