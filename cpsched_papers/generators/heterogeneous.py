"""
The workload generator of Soner's thesis (7.3.2, 7.3.3) for machines with GPUs in every node.

Jobs ask for cores, or for nodes too, or for GPUs on every node; sizes, run times and types are
drawn independently. Every workload of the thesis is there by name, and every part of it can be
changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched.api.errors import ConfigError, UnknownNameError
from cpsched.api.generators import (
    LARGEST_SEED,
    check_number,
    check_whole,
    header,
    option,
    streams,
)
from cpsched.api.logs import Workload
from cpsched.api.model import UNBOUNDED, Split, Status
from cpsched_papers.generators import heterogeneous_tables as known
from cpsched_papers.generators.gaussian import gaussian_arrivals
from cpsched_papers.generators.heterogeneous_tables import Machine, Preset

if TYPE_CHECKING:
    from cpsched.api.model import IntArray

#: Counts up when equal options begin to give another workload.
VERSION = 1
#: Of the gaps between submits: as that of ``esp``, a third of the mean.
_GAP_DEVIATION = 1 / 3
#: Jobs drawn at a time: a longer workload begins with the jobs of a shorter one.
_BLOCK = 1024
_A, _B = 0, 1


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
        for key in ("shares", "cores_per_node", "cores_per_gpu"):
            _listed(self, key)

    def resolved(self) -> Preset:
        """Return the named workload with what was changed."""
        preset = known.PRESETS[self.workload]
        own = (self.nodes, self.cores, self.gpus)
        pairs = zip(own, preset.machine, strict=True)
        machine = Machine(*(there if given is None else given for given, there in pairs))
        if self.jobs is not None or self.hours is not None:
            preset = replace(preset, jobs=self.jobs, hours=self.hours)
        given: dict[str, Any] = {key: _listed(self, key) for key in ("shares", "cores_per_gpu")}
        for key in ("max_cores", "contiguous", "ranges", "arrival_part"):
            given[key] = getattr(self, key)
        changes = {key: value for key, value in given.items() if value is not None}
        return replace(preset, machine=machine, **changes)


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
        preset, on_node = options.resolved(), _listed(options, "cores_per_node") or ()
        _check_fits(preset, on_node)
        rngs = streams(options.seed, 3)
        jobs = _drawn(rngs[0], options, preset, on_node)
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


class _Jobs(NamedTuple):
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


def _drawn(
    rng: np.random.Generator,
    options: HeterogeneousOptions,
    preset: Preset,
    on_node: tuple[int, ...],
) -> _Jobs:
    """Return the preset's number of jobs, or as many as fill its hours."""
    drawn = np.empty((5, 0), dtype=np.int64)
    while True:
        drawn = np.hstack([drawn, _block(rng, options, preset, on_node)])
        jobs = _Jobs(*drawn)
        count = preset.jobs
        if preset.hours is not None:
            total = preset.machine.nodes * preset.machine.cores
            done = np.cumsum(jobs.cores * jobs.runtime)
            count = int(np.searchsorted(done, preset.hours * 3600 * total)) + 1
        assert count is not None
        if count <= drawn.shape[1]:
            return _Jobs(*drawn[:, :count])


def _block(
    rng: np.random.Generator,
    options: HeterogeneousOptions,
    preset: Preset,
    on_node: tuple[int, ...],
) -> IntArray:
    """
    Return a block of jobs, everything drawn independently and uniformly (T 7.3.2).

    A job's cores are a multiple of a node's. With ``x`` cores on a node, or ``x`` for each of its
    GPUs, it needs ``cores / x`` or ``cores / (x GPUs)`` nodes: the thesis' formula, rounded up
    where 8 does not divide a multiple of 12.
    """
    shares = np.array(preset.shares)
    kind = rng.choice(len(shares), size=_BLOCK, p=shares / shares.sum())
    whole = rng.integers(1, preset.max_cores // preset.machine.cores + 1, size=_BLOCK)
    per_node = rng.choice(np.array(on_node), size=_BLOCK)
    per_gpu = rng.choice(np.array(preset.cores_per_gpu), size=_BLOCK)
    runtime = rng.integers(options.min_time, options.max_time + 1, size=_BLOCK)
    cores = whole * preset.machine.cores
    gpus = np.maximum(kind - _B, 0)
    each = np.where(gpus > 0, per_gpu * gpus, per_node)
    nodes = np.where(kind == _A, 0, -(-cores // each))
    if preset.even:
        # As many cores on every node: the last one is filled up.
        cores = np.where(kind == _B, nodes * each, cores)
    return np.stack([kind, cores, nodes, gpus, runtime])


def _listed(options: HeterogeneousOptions, key: str) -> tuple[Any, ...] | None:
    """Read numbers with commas between them: five percentages, or whole numbers of at least 1."""
    text = getattr(options, key)
    if text is None:
        return None
    try:
        found = [float(part) if key == "shares" else int(part) for part in text.split(",")]
    except (AttributeError, ValueError):
        found = []
    if key == "shares":
        # Percentages need not sum to 100; larger ones would not add up.
        good = len(found) == 5 and all(0 <= one <= 1e9 for one in found) and sum(found) > 0
        right = "five percentages, such as 20,20,20,20,20, not all of them 0"
    else:
        good = bool(found) and all(1 <= one <= 1_000_000 for one in found)
        right = "a list of whole numbers such as 4,8"
    if not good:
        raise ConfigError(f"{text!r} is not {right}", key=key)
    return tuple(found)


def _check_fits(preset: Preset, on_node: tuple[int, ...]) -> None:
    """Refuse options that could ask for a job that never runs on the machine."""
    nodes, cores, gpus = preset.machine
    most = preset.max_cores
    if not cores <= most <= nodes * cores:
        raise ConfigError(
            f"{most} is not between {cores} and {nodes * cores}, the cores of a node"
            " and of the machine",
            key="max_cores",
        )
    for wanted, (name, share) in enumerate(zip(known.TYPES, preset.shares, strict=True), start=-1):
        if name == "A" or not share:
            continue
        if wanted > gpus:
            raise ConfigError(
                f"jobs of type {name} ask for {wanted} GPUs per node, but the machine has {gpus}",
                key="shares",
            )
        key = "cores_per_gpu" if wanted else "cores_per_node"
        each = [wanted * one for one in preset.cores_per_gpu] if wanted else on_node
        if max(each) > cores:
            raise ConfigError(
                f"a job of type {name} would need {max(each)} cores of a node, but it has {cores}",
                key=key,
            )
        if -(-most // min(each)) > nodes:
            raise ConfigError(
                f"a job of type {name} with {most} cores, {min(each)} on a node,"
                f" would need {-(-most // min(each))} nodes, but there are {nodes}",
                key="max_cores",
            )
