"""
ESP-2, the Effective System Performance workload, and its variants for CPU-GPU machines.

The jobs and how they are doubled are those of IPSCHED (Soner and Ozturan, section V; Soner's
thesis, 7.3.1), marked P and T below. The original rule that nothing else runs beside a Z job is
left out, as there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.api.generators import (
    LARGEST_SEED,
    check_number,
    check_whole,
    gaussian_arrivals,
    header,
    option,
)
from cpsched.api.logs import Workload
from cpsched.api.model import Status

if TYPE_CHECKING:
    from cpsched.api.model import FloatArray, IntArray

#: Counts up when equal options begin to give another workload.
VERSION = 1


class EspJob(NamedTuple):
    """
    One job type.

    Attributes
    ----------
    size
        Part of the machine's cores.
    number
        Jobs of this type.
    runtime
        Seconds.
    """

    name: str
    size: float
    number: int
    runtime: int


#: P Figure 3 (a), T Table 7.1.
JOBS = (
    EspJob("A", 0.03125, 75, 257),
    EspJob("B", 0.06250, 9, 341),
    EspJob("C", 0.50000, 3, 536),
    EspJob("D", 0.25000, 3, 601),
    EspJob("E", 0.50000, 3, 312),
    EspJob("F", 0.06250, 9, 1846),
    EspJob("G", 0.12500, 6, 1321),
    EspJob("H", 0.15820, 6, 1078),
    EspJob("I", 0.03125, 24, 1438),
    EspJob("J", 0.06250, 24, 715),
    EspJob("K", 0.09570, 15, 495),
    EspJob("L", 0.12500, 36, 369),
    EspJob("M", 0.25000, 15, 192),
    EspJob("Z", 1.00000, 2, 100),
)
#: The job that takes the whole machine; it is not doubled, and comes at a time of its own.
FULL = "Z"
#: When Z jobs come, seconds: T 7.3.1; twice that where the other jobs are doubled (P, T).
FULL_SUBMITS = (40 * 60, 120 * 60)
#: P section V: jobs at the start, mean of the gaps between those that follow, seconds.
INITIAL, GAP = 50, 30.0
#: P section V: the machine that is emulated, and what the doubles ask for on every node.
NODES, CORES_PER_NODE, GPUS_PER_NODE = 1024, 8, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class EspOptions:
    """Options of the generator ``esp``."""

    seed: int = option(1, "seed of all random choices; equal seeds give equal workloads")
    gpus: int = option(
        GPUS_PER_NODE,
        "GPUs on every node of a second copy of each job but Z; 0: no copies, ESP-2 as it is",
    )
    nodes: int = option(NODES, "nodes of the machine")
    cores: int = option(CORES_PER_NODE, "cores of a node")
    size_jitter: int = option(
        0, "largest random change of a job's cores; 4 in experiments 7 and 8 of IPSCHED"
    )
    initial: int = option(INITIAL, "jobs submitted at the start")
    gap: float = option(GAP, "mean seconds between later submits")
    gap_deviation: float = option(
        10.0, "standard deviation of the seconds between submits (not published)"
    )
    request_factor: float = option(
        1.0, "requested time as a multiple of the runtime (not published)"
    )

    def __post_init__(self) -> None:
        check_whole(
            self,
            seed=(0, LARGEST_SEED),
            gpus=(0, 1000),
            nodes=(1, 1_000_000),
            cores=(1, 10_000),
            size_jitter=(0, 1_000_000),
            initial=(0, 1_000_000),
        )
        check_number(
            self, gap=(0.0, 86400.0), gap_deviation=(0.0, 86400.0), request_factor=(1.0, 1000.0)
        )


class Esp:
    """Generator of ESP-2 workloads; see the module."""

    name = "esp"
    summary = "ESP-2: 230 jobs, or 458 for CPU-GPU machines, that keep a machine full for hours"
    options = EspOptions

    def generate(self, options: EspOptions) -> Workload:
        """
        Return the workload of the given options, for a machine like ``esp-1024``.

        Each job except Z exists once with cores only and, with ``gpus``, once more with GPUs on
        every node that it uses. They are submitted in random order, the Z jobs at their own times.
        Sizes are whole nodes, but jobs ask for cores and not for a number of nodes, as in P.
        """
        # One stream for each step: a change in one leaves the draws of the others alone.
        streams = [
            np.random.Generator(np.random.PCG64(seed))
            for seed in np.random.SeedSequence(options.seed).spawn(3)
        ]
        kinds, of_job = _shuffled(streams[0], options)
        submit = _submits(streams[1], options, len(of_job))
        cores = _cores(streams[2], options, np.array([kind.size for kind, _ in kinds])[of_job])
        order = np.argsort(submit, kind="stable")
        of_job, cores = of_job[order], cores[order]
        runtime = np.array([kind.runtime for kind, _ in kinds])[of_job]
        gpus = np.array([gpus for _, gpus in kinds])[of_job]
        names = [f"{kind.name}-gpu" if gpus else kind.name for kind, gpus in kinds]
        return Workload.build(
            title=f"esp-{'cpu-gpu' if options.gpus else 'cpu'}-seed{options.seed}",
            resources=("core", "gpu") if options.gpus else ("core",),
            header=header(self.name, VERSION, options),
            job_id=[str(number) for number in range(1, len(of_job) + 1)],
            submit=submit[order],
            runtime=runtime,
            requested_time=np.ceil(options.request_factor * runtime).astype(np.int64),
            units=cores,
            request=_per_resource(np.ones_like(gpus), 0 * gpus, options),
            per_node=_per_resource(0 * gpus, gpus, options),
            name=[names[kind] for kind in of_job.tolist()],
            status=np.full(len(of_job), Status.COMPLETED),
        )


ESP = Esp()


def _shuffled(
    rng: np.random.Generator, options: EspOptions
) -> tuple[list[tuple[EspJob, int]], IntArray]:
    """
    Return job types with their GPUs a node, and which of them each job is.

    Jobs are in random order, the Z jobs last.
    """
    kinds = [(kind, 0) for kind in JOBS]
    if options.gpus:
        kinds += [(kind, options.gpus) for kind in JOBS if kind.name != FULL]
    of_job = np.repeat(np.arange(len(kinds)), [kind.number for kind, _ in kinds])
    full = np.array([kind.name == FULL for kind, _ in kinds])[of_job]
    return kinds, np.concatenate([rng.permutation(of_job[~full]), of_job[full]])


def _submits(rng: np.random.Generator, options: EspOptions, count: int) -> IntArray:
    """Return when jobs are submitted: Gaussian gaps, then the times of the Z jobs."""
    full = np.array(FULL_SUBMITS, dtype=np.int64)
    early = gaussian_arrivals(
        rng,
        count - len(full),
        initial=options.initial,
        gap=options.gap,
        deviation=options.gap_deviation,
    )
    return np.concatenate([early, full * (2 if options.gpus else 1)])


def _cores(rng: np.random.Generator, options: EspOptions, size: FloatArray) -> IntArray:
    """
    Return the cores of each job: whole nodes, then up to ``size_jitter`` more or less.

    P section VI has ``SYSTEM_SIZE * JOB_FRACTION + RAND(-4, 4)``; a Z job cannot be larger than
    the machine, so half of them keep their size.
    """
    nodes = np.maximum(np.rint(size * options.nodes), 1).astype(np.int64)
    drawn = rng.integers(-options.size_jitter, options.size_jitter + 1, size=len(size))
    cores: IntArray = np.clip(nodes * options.cores + drawn, 1, options.nodes * options.cores)
    return cores


def _per_resource(cores: IntArray, gpus: IntArray, options: EspOptions) -> IntArray:
    """Return amounts of the resource kinds there are, shape ``(J, R)``."""
    return np.column_stack([cores, gpus] if options.gpus else [cores])
