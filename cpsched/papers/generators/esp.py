"""
ESP, the Effective System Performance workload: as first published, and for CPU-GPU machines.

``esp``: ESP-2, with the jobs and the doubling of IPSCHED (Soner and Ozturan, section V; Soner's
thesis, 7.3.1), marked P and T below. The original rule that nothing else runs beside a Z job is
left out, as there.

``esp-nodes``: as Wong, Oliker, Kramer, Kaltz and Bailey (SC 2000) published it, in whole nodes of a
machine of any size. The two jobs of the whole machine are left out unless asked for: in studies of
jobs that change size they are urgent and come from outside the queue (Nagendra 2016, chapter 7, has
the other 228 on 16 nodes).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched.logs.generators import (
    LARGEST_SEED,
    check_integers,
    check_number,
    header,
    option,
    streams,
)
from cpsched.model.workload import Workload
from cpsched.papers.generators.gaussian import gaussian_arrivals
from cpsched.util.types import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.util.types import FloatArray, IntArray

#: Counts up when equal options begin to give another workload.
VERSION = 1


class EspJob(NamedTuple):
    """One job type: its part of the machine's cores, number of jobs, seconds, GPUs on a node."""

    name: str
    size: float
    number: int
    runtime: int
    gpus: int = 0


#: P Figure 3 (a), T Table 7.1.
ESP_2 = (
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
#: Target runtimes of the types as first published, seconds. Sizes and numbers are those of ESP-2.
_FIRST = (267, 322, 534, 616, 315, 1846, 1334, 1067, 1432, 725, 487, 366, 187, 100)
ESP_1 = tuple(job._replace(runtime=time) for job, time in zip(ESP_2, _FIRST, strict=True))
#: Decimals of sizes.
_UNIT = 10**5
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

    seed: int = option(1, "seed of all random choices. The same seed gives the same jobs")
    gpus: int = option(
        GPUS_PER_NODE,
        "GPUs on every node of a second copy of each job but Z (0: no copies, as in ESP-2)",
    )
    nodes: int = option(NODES, "nodes of the system")
    cores: int = option(CORES_PER_NODE, "cores of a node")
    size_jitter: int = option(
        0,
        "largest random change of a job's cores (the IPSCHED paper has 4 in experiments 7, 8)",
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
        _check(self)
        check_integers(self, gpus=(0, 1000), cores=(1, 10_000), size_jitter=(0, 1_000_000))


@dataclass(frozen=True, slots=True, kw_only=True)
class EspNodesOptions:
    """Options of the generator ``esp-nodes``."""

    seed: int = option(1, "seed of all random choices. The same seed gives the same jobs")
    nodes: int = option(16, "nodes of the system")
    full: bool = option(False, "add the two urgent jobs that use the whole system")
    initial: int = option(228, "jobs submitted at the start (50 in ESP-2)")
    gap: float = option(GAP, "mean seconds between later submits")
    gap_deviation: float = option(
        10.0, "standard deviation of the seconds between submits (not published)"
    )
    request_factor: float = option(
        1.0, "requested time as a multiple of the runtime (not published)"
    )

    def __post_init__(self) -> None:
        _check(self)


def _check(options: EspOptions | EspNodesOptions) -> None:
    check_integers(options, seed=(0, LARGEST_SEED), nodes=(1, 1_000_000), initial=(0, 1_000_000))
    check_number(
        options, gap=(0.0, 86400.0), gap_deviation=(0.0, 86400.0), request_factor=(1.0, 1000.0)
    )


class Esp:
    """
    Generator of ESP-2 workloads (Effective System Performance), in cores, with CPU and GPU jobs.

    Jobs and doubling are those of IPSCHED (Soner and Ozturan, section V).
    """

    name = "esp"
    summary = "ESP-2 benchmark: 230 jobs, or 458 for CPU-GPU systems, that fill a system for hours"
    options = EspOptions

    def generate(self, options: EspOptions) -> Workload:
        """
        Return the workload of the given options, for a machine like ``esp-1024``.

        Each job except Z exists once with cores only and, with ``gpus``, once more with GPUs on
        every node that it uses. They are submitted in random order, the Z jobs at their own times.
        Sizes are whole nodes, but jobs ask for cores and not for a number of nodes, as in P.
        """
        order, arrivals, sizes = streams(options.seed, 3)
        kinds, late = list(ESP_2), FULL_SUBMITS
        if options.gpus:
            kinds += [job._replace(gpus=options.gpus) for job in ESP_2 if job.name != FULL]
            late = (2 * late[0], 2 * late[1])
        jobs = _shuffled(order, kinds)
        submit = _submits(arrivals, options, len(jobs), late)
        units = _cores(sizes, options, np.array([job.size for job in jobs]))
        gpus = np.array([job.gpus for job in jobs])
        # Amounts of the resource kinds there are.
        num_kinds = 2 if options.gpus else 1
        return _workload(
            self.name,
            options,
            [job._replace(name=f"{job.name}-gpu") if job.gpus else job for job in jobs],
            title=f"esp-{'cpu-gpu' if options.gpus else 'cpu'}-seed{options.seed}",
            resources=("core", "gpu")[:num_kinds],
            submit=submit,
            units=units,
            request=np.column_stack([np.ones_like(gpus), 0 * gpus])[:, :num_kinds],
            per_node=np.column_stack([0 * gpus, gpus])[:, :num_kinds],
        )


class EspNodes:
    """
    Generator of ESP workloads (Effective System Performance) in whole nodes, as in Wong et al.
    2000.
    """

    name = "esp-nodes"
    summary = "ESP benchmark as first published: 228 jobs of whole nodes, on 16 nodes or more"
    options = EspNodesOptions

    def generate(self, options: EspNodesOptions) -> Workload:
        """
        Return the workload of the given options, for a machine like ``esp-16``.

        A job's units are nodes: its part of the machine, rounded up. The jobs are in random order;
        those of the whole machine come at times of their own.
        """
        order, arrivals = streams(options.seed, 2)
        jobs = _shuffled(order, [job for job in ESP_1 if options.full or job.name != FULL])
        late = FULL_SUBMITS if options.full else ()
        return _workload(
            self.name,
            options,
            jobs,
            title=f"esp-{options.nodes}-seed{options.seed}",
            resources=("core",),
            submit=_submits(arrivals, options, len(jobs), late),
            units=np.array([-(-round(job.size * _UNIT) * options.nodes // _UNIT) for job in jobs]),
            request=np.ones((len(jobs), 1), dtype=np.int64),
            urgent=np.array([job.name == FULL for job in jobs]),
        )


ESP, ESP_NODES = Esp(), EspNodes()


def _shuffled(rng: np.random.Generator, kinds: Sequence[EspJob]) -> list[EspJob]:
    """Return all jobs in random order, the Z jobs last."""
    jobs = [job for job in kinds for _ in range(job.number) if job.name != FULL]
    full = [job for job in kinds for _ in range(job.number) if job.name == FULL]
    return [jobs[at] for at in rng.permutation(len(jobs)).tolist()] + full


def _submits(
    rng: np.random.Generator,
    options: EspOptions | EspNodesOptions,
    count: int,
    late: tuple[int, ...],
) -> IntArray:
    """Return when jobs are submitted: Gaussian gaps, then the times of the Z jobs."""
    early = gaussian_arrivals(
        rng,
        count - len(late),
        initial=options.initial,
        gap=options.gap,
        deviation=options.gap_deviation,
    )
    return np.concatenate([early, np.array(late, dtype=np.int64)])


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


def _workload(
    name: str,
    options: EspOptions | EspNodesOptions,
    jobs: Sequence[EspJob],
    *,
    title: str,
    resources: tuple[str, ...],
    **columns: Any,
) -> Workload:
    """Put jobs in the order of their submission and number them."""
    order = np.argsort(columns["submit"], kind="stable")
    jobs = [jobs[at] for at in order.tolist()]
    runtime = np.array([job.runtime for job in jobs])
    return Workload.build(
        title=title,
        resources=resources,
        header=header(name, VERSION, options),
        job_id=[str(number) for number in range(1, len(jobs) + 1)],
        runtime=runtime,
        requested_time=np.ceil(options.request_factor * runtime).astype(np.int64),
        name=[job.name for job in jobs],
        status=np.full(len(jobs), Status.COMPLETED),
        **{key: values[order] for key, values in columns.items()},
    )
