"""
The workload generator of Soner's thesis (7.3.2, 7.3.3) for machines with GPUs in every node.

Jobs ask for cores, or for nodes too, or for GPUs on every node; sizes, run times and types are
drawn independently. Every workload of the thesis is there by name, and every part of it can be
changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from cpsched.api.errors import ConfigError, UnknownNameError
from cpsched.api.generators import (
    LARGEST_SEED,
    check_number,
    check_whole,
    gaussian_arrivals,
    header,
    option,
)
from cpsched.api.logs import Workload
from cpsched.api.model import UNBOUNDED, Split, Status
from cpsched_papers.generators import heterogeneous_tables as known
from cpsched_papers.generators.heterogeneous_jobs import draw_jobs
from cpsched_papers.generators.heterogeneous_tables import Machine, Preset

if TYPE_CHECKING:
    from collections.abc import Callable

    from cpsched.api.model import IntArray
    from cpsched_papers.generators.heterogeneous_jobs import Jobs

Number = TypeVar("Number", int, float)
#: Counts up when equal options begin to give another workload.
VERSION = 1
#: Of the gaps between submits: as that of ``esp``, a third of the mean.
_GAP_DEVIATION = 1 / 3
#: Larger shares would not add up.
_MOST_SHARE = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class HeterogeneousOptions:
    """Options of the generator ``heterogeneous``; None: as the named workload has it."""

    workload: str = option("V", f"a workload of the thesis: {', '.join(known.PRESETS)}")
    seed: int = option(1, "seed of all random choices; equal seeds give equal workloads")
    jobs: int | None = option(None, "number of jobs")
    hours: float | None = option(None, "theoretical run time, instead of a number of jobs")
    nodes: int | None = option(None, "nodes of the machine")
    cores: int | None = option(None, "cores of a node")
    gpus: int | None = option(None, "GPUs of a node")
    shares: str | None = option(
        None,
        "percentages of jobs that ask for cores, for nodes, and for 1, 2 and 3 GPUs a node (types"
        " A to E), such as 20,20,20,20,20",
    )
    max_cores: int | None = option(None, "largest number of cores of a job")
    cores_per_node: str = option(
        ",".join(map(str, known.CORES_PER_NODE)), "cores on a node of a type B job, one of these"
    )
    cores_per_gpu: str | None = option(None, "cores for each GPU of types C to E, one of these")
    contiguous: float | None = option(None, "share of the jobs that ask for consecutive nodes")
    ranges: bool | None = option(
        None, "types C and D take from 1 and 2 up to all GPUs of a node (use gpu-scaling then)"
    )
    min_time: int = option(known.TIMES[0], "shortest run time, seconds")
    max_time: int = option(known.TIMES[1], "longest run time, seconds")
    initial: int = option(50, "jobs submitted at the start (not published; as ESP)")
    arrival_part: float | None = option(
        None,
        "the others are submitted within this share of the theoretical run time (not published)",
    )
    request_factor: float = option(
        1.0, "requested time as a multiple of the run time (not published)"
    )

    def __post_init__(self) -> None:
        if self.workload not in known.PRESETS:
            raise UnknownNameError("workload", str(self.workload), known.PRESETS)
        if self.jobs is not None and self.hours is not None:
            raise ConfigError("give jobs or hours, not both", key="jobs")
        check_whole(
            self,
            seed=(0, LARGEST_SEED),
            jobs=(1, 10_000_000),
            nodes=(1, 1_000_000),
            cores=(1, 10_000),
            gpus=(0, 1000),
            max_cores=(1, 10**9),
            min_time=(1, 10**7),
            max_time=(1, 10**7),
            initial=(0, 10_000_000),
        )
        check_number(
            self,
            hours=(0.01, 100_000.0),
            contiguous=(0.0, 1.0),
            arrival_part=(0.0, 100.0),
            request_factor=(1.0, 1000.0),
        )
        if self.min_time > self.max_time:
            raise ConfigError(
                f"{self.min_time} is more than max_time, {self.max_time}", key="min_time"
            )
        if self.shares is not None:
            _shares(self.shares)
        for key in ("cores_per_node", "cores_per_gpu"):
            if getattr(self, key) is not None:
                _counts(key, getattr(self, key))

    def resolved(self) -> Preset:
        """Return the named workload with what was changed."""
        preset = known.PRESETS[self.workload]
        own = (self.nodes, self.cores, self.gpus)
        pairs = zip(own, preset.machine, strict=True)
        machine = Machine(*(there if given is None else given for given, there in pairs))
        per_gpu = self.cores_per_gpu
        given = {
            "max_cores": self.max_cores,
            "contiguous": self.contiguous,
            "ranges": self.ranges,
            "arrival_part": self.arrival_part,
            "shares": None if self.shares is None else _shares(self.shares),
            "cores_per_gpu": None if per_gpu is None else _counts("cores_per_gpu", per_gpu),
        }
        if self.jobs is not None or self.hours is not None:
            preset = replace(preset, jobs=self.jobs, hours=self.hours)
        changes = {key: value for key, value in given.items() if value is not None}
        return replace(preset, machine=machine, **changes)  # type: ignore[arg-type]


class Heterogeneous:
    """Generator of workloads for CPU-GPU machines; see the module."""

    name = "heterogeneous"
    summary = "the CPU-GPU workloads of AUCSCHED1 to 3: cores, nodes, GPUs a node, GPU ranges"
    options = HeterogeneousOptions

    def generate(self, options: HeterogeneousOptions) -> Workload:
        """
        Return the workload of the given options.

        Raises
        ------
        ConfigError
            If a job of these options could not run on this machine.
        """
        preset = options.resolved()
        cores_per_node = _counts("cores_per_node", options.cores_per_node)
        _check_fits(preset, cores_per_node)
        seeds = np.random.SeedSequence(options.seed).spawn(3)
        streams = [np.random.Generator(np.random.PCG64(seed)) for seed in seeds]
        jobs = draw_jobs(
            streams[0], preset, cores_per_node, times=(options.min_time, options.max_time)
        )
        seconds = jobs.theoretical_seconds(preset.machine)
        gap = preset.arrival_part * seconds / max(1, len(jobs) - options.initial)
        submit = gaussian_arrivals(
            streams[1],
            len(jobs),
            initial=options.initial,
            gap=gap,
            deviation=_GAP_DEVIATION * gap,
        )
        contiguous = np.zeros(len(jobs), dtype=np.bool_)
        contiguous[: round(preset.contiguous * len(jobs))] = True
        return _assemble(options, preset, jobs, submit, streams[2].permutation(contiguous))


HETEROGENEOUS = Heterogeneous()


def _assemble(
    options: HeterogeneousOptions,
    preset: Preset,
    jobs: Jobs,
    submit: IntArray,
    contiguous: IntArray,
) -> Workload:
    free = jobs.nodes == 0
    seconds = jobs.theoretical_seconds(preset.machine)
    none = np.zeros(len(jobs), dtype=np.int64)
    ranged = (jobs.gpus > 0) & (jobs.gpus < preset.machine.gpus) & preset.ranges
    even = (jobs.type == known.TYPES.index("B")) & preset.even
    names = np.array([*known.TYPES, *(f"{name}'" for name in known.TYPES)])
    return Workload.build(
        title=f"heterogeneous-{options.workload}-seed{options.seed}",
        resources=("core", "gpu"),
        header=[
            *header(Heterogeneous.name, VERSION, options),
            ("Theoretical run time", f"{seconds / 3600:.4f} h"),
        ],
        job_id=[str(number) for number in range(1, len(jobs) + 1)],
        submit=submit,
        runtime=jobs.runtime,
        requested_time=np.ceil(options.request_factor * jobs.runtime).astype(np.int64),
        units=jobs.cores,
        request=np.column_stack([none + 1, none]),
        per_node=np.column_stack([none, jobs.gpus]),
        per_node_max=np.column_stack([none, np.where(ranged, preset.machine.gpus, 0)]),
        nodes_min=np.where(free, 1, jobs.nodes),
        nodes_max=np.where(free, UNBOUNDED, jobs.nodes),
        split=np.where(even, Split.EVEN, Split.ANY),
        contiguous=contiguous,
        name=names[jobs.type + len(known.TYPES) * ranged].tolist(),
        status=np.full(len(jobs), Status.COMPLETED),
    )


def _shares(text: str) -> tuple[float, float, float, float, float]:
    """Read five percentages; they need not sum to 100."""
    right = "five percentages, such as 20,20,20,20,20, not all of them 0"
    try:
        a, b, c, d, e = _numbers(text, float)
    except ValueError:
        raise ConfigError(f"{text!r} is not {right}", key="shares") from None
    shares = (a, b, c, d, e)
    if not all(0 <= share <= _MOST_SHARE for share in shares) or not sum(shares):
        raise ConfigError(f"{text!r} is not {right}", key="shares")
    return shares


def _counts(key: str, text: str) -> tuple[int, ...]:
    """Read whole numbers of at least 1."""
    try:
        counts = _numbers(text, int)
    except ValueError:
        counts = []
    if not counts or not all(1 <= count <= 1_000_000 for count in counts):
        raise ConfigError(f"{text!r} is not a list of whole numbers such as 4,8", key=key)
    return tuple(counts)


def _numbers(text: str, kind: Callable[[str], Number]) -> list[Number]:
    if not isinstance(text, str):
        raise ValueError(text)
    return [kind(part) for part in text.split(",")]


def _check_fits(preset: Preset, cores_per_node: tuple[int, ...]) -> None:
    """Refuse options that could ask for a job that never runs on the machine."""
    nodes, cores, gpus = preset.machine
    if not cores <= preset.max_cores <= nodes * cores:
        raise ConfigError(
            f"{preset.max_cores} is not between {cores} and {nodes * cores}, the cores of a node"
            " and of the machine",
            key="max_cores",
        )
    on_a_node = {"B": cores_per_node}
    for wanted, name in enumerate(known.TYPES[2:], start=1):
        on_a_node[name] = tuple(wanted * each for each in preset.cores_per_gpu)
        if preset.shares[known.TYPES.index(name)] and wanted > gpus:
            raise ConfigError(
                f"jobs of type {name} ask for {wanted} GPUs per node, but the machine has {gpus}",
                key="shares",
            )
    for name, choices in on_a_node.items():
        if not preset.shares[known.TYPES.index(name)]:
            continue
        key = "cores_per_node" if name == "B" else "cores_per_gpu"
        if max(choices) > cores:
            raise ConfigError(
                f"a job of type {name} would need {max(choices)} cores of a node, but it has"
                f" {cores}",
                key=key,
            )
        if -(-preset.max_cores // min(choices)) > nodes:
            raise ConfigError(
                f"a job of type {name} with {preset.max_cores} cores, {min(choices)} on a node,"
                f" would need {-(-preset.max_cores // min(choices))} nodes, but there are {nodes}",
                key="max_cores",
            )
