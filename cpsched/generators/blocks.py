"""
Jobs for a machine of blocks: racks of nodes with a fast network inside, and GPUs in every node.

Not a model of any site: a mix of jobs that share a node, jobs of whole nodes, and jobs whose
nodes come in segments, each of which has to be inside one block (Slurm's ``--segment``). Every
share is an option, and all draws are independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched.base.types import Status
from cpsched.errors import ConfigError
from cpsched.generators.contract import LARGEST_SEED, check_number, check_whole, header, option
from cpsched.generators.sampling import log_normal, pick, stratified
from cpsched.model.workload import Workload

if TYPE_CHECKING:
    from cpsched.base.types import FloatArray, IntArray

#: Counts up when equal options begin to give another workload.
VERSION = 1
#: What people ask for, seconds: a quarter of an hour to two days.
REQUESTS = (900, 1800, 3600, 7200, 14400, 28800, 43200, 86400, 172800)
#: Nodes in a segment, all equally often: parts of a block, a whole one, and one with two nodes to
#: spare. Blocks of other sizes have them in proportion.
SEGMENTS = (2, 3, 4, 6, 8, 9, 12, 16, 18)
#: Of the block that these are meant for.
_BLOCK = 18
#: How many segments a job has, and how often.
_TIMES = (1, 2, 3, 4, 6, 8)
_TIMES_SHARES = (0.3, 0.25, 0.1, 0.2, 0.05, 0.1)
#: Whole nodes of a job without segments, and how often.
_NODES = (1, 2, 4, 8, 16, 32)
_NODES_SHARES = (0.4, 0.2, 0.17, 0.13, 0.07, 0.03)
#: Of runtimes: median in seconds, deviation of the logarithm.
_RUNTIME, _SPREAD = 3000.0, 1.3
_SHORTEST = 60
#: Requested over run time: at least this, plus an exponential with this mean; rounded up.
_FACTOR, _MORE = 1.05, 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BlocksOptions:
    """Options of the generator ``blocks``."""

    jobs: int = option(5000, "number of jobs")
    seed: int = option(1, "seed of all random choices; equal seeds give equal workloads")
    blocks: int = option(64, "blocks of the machine")
    block_size: int = option(18, "nodes of a block")
    cores: int = option(144, "cores of a node")
    gpus: int = option(4, "GPUs of a node")
    segments: float = option(1 / 3, "share of the jobs whose nodes come in segments")
    shared: float = option(0.3, "share of the jobs that use part of one node, by GPUs")
    load: float = option(0.85, "share of the machine's node time that all jobs together take")
    users: int = option(80, "number of users")

    def __post_init__(self) -> None:
        check_whole(
            self,
            jobs=(1, 10_000_000),
            seed=(0, LARGEST_SEED),
            blocks=(1, 100_000),
            block_size=(2, 10_000),
            cores=(1, 10_000),
            gpus=(1, 1000),
            users=(1, 100_000),
        )
        check_number(self, segments=(0.0, 1.0), shared=(0.0, 1.0), load=(0.01, 10.0))
        if self.segments + self.shared > 1:
            raise ConfigError(
                f"{self.segments:g} in segments and {self.shared:g} on part of a node add up to"
                " more than all jobs",
                key="shared",
            )
        if self.cores < self.gpus:
            raise ConfigError(f"{self.cores} is fewer than one core for each GPU", key="cores")

    @property
    def nodes(self) -> int:
        """Nodes of the machine."""
        return self.blocks * self.block_size


class Blocks:
    """Generator of workloads for machines of blocks; see the module."""

    name = "blocks"
    summary = "jobs with GPUs for a machine of blocks, a third of them in segments"
    options = BlocksOptions

    def generate(self, options: BlocksOptions) -> Workload:
        """
        Return the workload of the given options, for a machine like ``blocks-1152``.

        Jobs come evenly over as long as the load takes. Their order and everything about them is
        random, the parts of each kind are exact.
        """
        # One stream for each step: a change in one leaves the draws of the others alone.
        streams = [
            np.random.Generator(np.random.PCG64(seed))
            for seed in np.random.SeedSequence(options.seed).spawn(5)
        ]
        segment, nodes, gpus = _sizes(streams[0], options)
        runtime, requested = _times(streams[1], options.jobs)
        whole = gpus == 0
        held = np.where(whole, nodes, gpus / options.gpus)
        days = float((held * runtime).sum()) / (options.load * options.nodes)
        submit = np.sort(np.floor(streams[2].random(options.jobs) * days).astype(np.int64))
        submit -= submit[0]
        users = pick(
            stratified(streams[3], np.ones(options.jobs)), 1 / np.arange(1, options.users + 1)
        )
        each = np.where(whole, options.gpus, gpus)
        kind = np.where(segment > 0, "segments", np.where(whole, "nodes", "shared"))
        return Workload.build(
            title=f"blocks-seed{options.seed}",
            resources=("core", "gpu"),
            header=header(self.name, VERSION, options),
            job_id=[str(number) for number in range(1, options.jobs + 1)],
            submit=submit,
            runtime=runtime,
            requested_time=requested,
            units=nodes,
            request=np.column_stack(
                [np.where(whole, options.cores, each * (options.cores // options.gpus)), each]
            ),
            nodes_min=nodes,
            nodes_max=nodes,
            segment=segment,
            user=[f"user{number + 1}" for number in users.tolist()],
            name=kind.tolist(),
            status=np.full(options.jobs, Status.COMPLETED),
        )


BLOCKS = Blocks()


def _sizes(rng: np.random.Generator, options: BlocksOptions) -> tuple[IntArray, IntArray, IntArray]:
    """Return nodes of a segment, nodes, and GPUs of jobs on a part of a node; 0: none."""
    jobs = options.jobs
    kind = np.full(jobs, 2)
    in_segments = round(options.segments * jobs)
    kind[:in_segments] = 0
    kind[in_segments : in_segments + round(options.shared * jobs)] = 1
    kind = rng.permutation(kind)
    sizes = np.unique([max(1, size * options.block_size // _BLOCK) for size in SEGMENTS])
    segment = sizes[rng.integers(0, len(sizes), jobs)]
    times = np.array(_TIMES)[pick(rng.random(jobs), _TIMES_SHARES)]
    # As many segments as there are fit into the blocks, and into a quarter of them.
    most = max(1, options.blocks // 4) * (options.block_size // segment)
    nodes = np.array(_NODES)[pick(rng.random(jobs), _NODES_SHARES)]
    nodes = np.minimum(nodes, max(1, options.nodes // 4))
    gpus = rng.integers(1, max(options.gpus // 2, 1) + 1, jobs)
    return (
        np.where(kind == 0, segment, 0),
        np.where(kind == 0, segment * np.minimum(times, most), np.where(kind == 1, 1, nodes)),
        np.where(kind == 1, gpus, 0),
    )


def _times(rng: np.random.Generator, jobs: int) -> tuple[IntArray, IntArray]:
    """Return runtimes and requested times, seconds."""
    drawn = np.clip(log_normal(rng, _RUNTIME, _SPREAD, jobs), _SHORTEST, REQUESTS[-1] / _FACTOR)
    factor: FloatArray = _FACTOR + rng.exponential(_MORE, jobs)
    wanted = np.minimum(np.ceil(drawn * factor), REQUESTS[-1])
    requested = np.array(REQUESTS)[np.searchsorted(REQUESTS, wanted)]
    return drawn.astype(np.int64), requested.astype(np.int64)
