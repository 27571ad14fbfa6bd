"""
ESP as Wong et al. published it, in whole nodes of a machine of any size.

The Effective System Performance benchmark (Wong, Oliker, Kramer, Kaltz and Bailey, SC 2000): 230
jobs of 14 types, each a fixed part of the machine for a fixed time. The two jobs of the whole
machine are left out unless asked for: in studies of jobs that change size they are urgent and come
from outside the queue (Nagendra 2016, chapter 7, has the other 228 on 16 nodes).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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
from cpsched_papers.generators.esp import FULL, FULL_SUBMITS, GAP
from cpsched_papers.generators.esp import JOBS as ESP_2

if TYPE_CHECKING:
    from cpsched.api.model import IntArray

#: Counts up when equal options begin to give another workload.
VERSION = 1
#: Target runtimes of the types, seconds. Sizes and numbers are those of ESP-2.
_RUNTIMES = dict(
    zip(
        "ABCDEFGHIJKLMZ",
        (267, 322, 534, 616, 315, 1846, 1334, 1067, 1432, 725, 487, 366, 187, 100),
        strict=True,
    )
)
JOBS = tuple(job._replace(runtime=_RUNTIMES[job.name]) for job in ESP_2)
#: Decimals of sizes.
_UNIT = 10**5


@dataclass(frozen=True, slots=True, kw_only=True)
class EspNodesOptions:
    """Options of the generator ``esp-nodes``."""

    seed: int = option(1, "seed of all random choices; equal seeds give equal workloads")
    nodes: int = option(16, "nodes of the machine")
    full: bool = option(False, "add the two urgent jobs that use the whole machine")
    initial: int = option(228, "jobs submitted at the start; 50 in ESP-2")
    gap: float = option(GAP, "mean seconds between later submits")
    gap_deviation: float = option(
        10.0, "standard deviation of the seconds between submits (not published)"
    )
    request_factor: float = option(
        1.0, "requested time as a multiple of the runtime (not published)"
    )

    def __post_init__(self) -> None:
        check_whole(self, seed=(0, LARGEST_SEED), nodes=(1, 1_000_000), initial=(0, 1_000_000))
        check_number(
            self, gap=(0.0, 86400.0), gap_deviation=(0.0, 86400.0), request_factor=(1.0, 1000.0)
        )


class EspNodes:
    """Generator of ESP workloads in whole nodes; see the module."""

    name = "esp-nodes"
    summary = "ESP as first published: 228 jobs of whole nodes, 16 of them or any number"
    options = EspNodesOptions

    def generate(self, options: EspNodesOptions) -> Workload:
        """
        Return the workload of the given options, for a machine like ``esp-16``.

        A job's units are nodes: its part of the machine, rounded up. The jobs are in random order;
        those of the whole machine come at times of their own.
        """
        # One stream for each step: a change in one leaves the draws of the others alone.
        order, arrivals = (
            np.random.Generator(np.random.PCG64(seed))
            for seed in np.random.SeedSequence(options.seed).spawn(2)
        )
        usual = [job for job in JOBS if job.name != FULL]
        jobs = [job for job in usual for _ in range(job.number)]
        jobs = [jobs[at] for at in order.permutation(len(jobs)).tolist()]
        submit = gaussian_arrivals(
            arrivals,
            len(jobs),
            initial=options.initial,
            gap=options.gap,
            deviation=options.gap_deviation,
        )
        if options.full:
            jobs += [job for job in JOBS if job.name == FULL] * len(FULL_SUBMITS)
            submit = np.concatenate([submit, np.array(FULL_SUBMITS, dtype=np.int64)])
        runtime = np.array([job.runtime for job in jobs])
        return Workload.build(
            title=f"esp-{options.nodes}-seed{options.seed}",
            resources=("core",),
            header=header(self.name, VERSION, options),
            job_id=_numbers(submit),
            submit=submit,
            runtime=runtime,
            requested_time=np.ceil(options.request_factor * runtime).astype(np.int64),
            units=np.array([-(-round(job.size * _UNIT) * options.nodes // _UNIT) for job in jobs]),
            request=np.ones((len(jobs), 1), dtype=np.int64),
            urgent=[job.name == FULL for job in jobs],
            name=[job.name for job in jobs],
            status=np.full(len(jobs), Status.COMPLETED),
        )


ESP_NODES = EspNodes()


def _numbers(submit: IntArray) -> list[str]:
    """Return the number of each job by its submit."""
    place = np.empty(len(submit), dtype=np.int64)
    place[np.argsort(submit, kind="stable")] = np.arange(1, len(submit) + 1)
    return [str(number) for number in place.tolist()]
