"""One schedule, worked out by hand, that uses every rule there is."""

from dataclasses import replace

import numpy as np
import pytest
from tiny import machine

from cpsched.model.schedule import JobOutcome, Schedule, Segments
from cpsched.model.system import Queue
from cpsched.model.workload import Workload
from cpsched.systems.mapping import fit
from cpsched.util.types import MISSING, Split

#: Job, submit, units, runtime, requested time, and what is special about it.
JOBS = (
    ("plain", 0, 2, 10, 20, {}),
    ("even", 1, 4, 5, 5, {"split": Split.EVEN, "contiguous": True, "nodes": (2, 2)}),
    ("exclusive", 1, 1, 8, 9, {"exclusive": True}),
    ("gpu", 1, 2, 6, 9, {"queue": "gpus", "constraint": "fast", "gpu": 1, "nodes": (1, 1)}),
    ("killed", 1, 1, 50, 5, {}),
    ("empty", 2, 1, 0, 5, {}),
    ("too wide", 2, 100, 9, 9, {}),
    ("withdrawn", 2, 1, 9, 9, {}),
    ("after", 3, 4, 5, 9, {"dependency": 0, "nodes": (1, 1)}),
    ("later", 3, 1, 1, 9, {"begin": 12}),
)
#: Row, start, end and outcome of those that were not rejected.
TIMES = (
    (0, 0, 10, JobOutcome.COMPLETED),
    (1, 1, 6, JobOutcome.COMPLETED),
    (2, 1, 9, JobOutcome.COMPLETED),
    (3, 1, 7, JobOutcome.COMPLETED),
    (4, 3, 8, JobOutcome.TIMEOUT),
    (5, 4, 4, JobOutcome.COMPLETED),
    (7, MISSING, 9, JobOutcome.CANCELLED),
    (8, 10, 15, JobOutcome.COMPLETED),
    (9, 12, 13, JobOutcome.COMPLETED),
)
#: Row, first node, nodes, units on each, cores and GPUs taken of each.
PLACES = (
    (0, 0, 1, 2, (2, 0)),
    (1, 1, 2, 2, (2, 0)),
    (2, 3, 1, 1, (4, 0)),
    (3, 4, 1, 2, (2, 1)),
    (4, 5, 1, 1, (1, 0)),
    (5, 0, 1, 1, (1, 0)),
    # Takes all of node 0 at the second at which job 0 gives it back.
    (8, 0, 1, 4, (4, 0)),
    (9, 2, 1, 1, (1, 0)),
)


@pytest.fixture
def system():
    """Four nodes of 4 cores, then two of 4 cores and 2 GPUs."""
    plain = machine(
        *[(4, 0)] * 4,
        *[(4, 2)] * 2,
        resources=("core", "gpu"),
        queues=[Queue(name="any"), Queue(name="gpus", groups=("gpu",))],
    )
    return replace(
        plain,
        node_groups=("cpu",) * 4 + ("gpu",) * 2,
        features=(frozenset({"slow"}),) * 4 + (frozenset({"fast"}),) * 2,
    )


@pytest.fixture
def workload():
    """The jobs above; the log has 3 rows more that are no jobs, and knows two starts."""
    special = [job[-1] for job in JOBS]
    bounds = [more.get("nodes", (1, 100)) for more in special]
    recorded = [MISSING] * len(JOBS)
    recorded[0], recorded[1] = 4, 7
    return Workload.build(
        title="by hand",
        job_id=[job[0] for job in JOBS],
        submit=[job[1] for job in JOBS],
        units=[job[2] for job in JOBS],
        runtime=[job[3] for job in JOBS],
        requested_time=[job[4] for job in JOBS],
        request=[(1, 0)] * len(JOBS),
        resources=("core", "gpu"),
        per_node=[(0, more.get("gpu", 0)) for more in special],
        nodes_min=[low for low, _ in bounds],
        nodes_max=[high for _, high in bounds],
        split=[more.get("split", Split.ANY) for more in special],
        contiguous=[more.get("contiguous", False) for more in special],
        exclusive=[more.get("exclusive", False) for more in special],
        queue=[more.get("queue", "any") for more in special],
        constraint=[more.get("constraint") for more in special],
        dependency=[more.get("dependency", -1) for more in special],
        begin=[more.get("begin", MISSING) for more in special],
        recorded_start=recorded,
        set_aside=[("never ran", 2), ("bad line", 1)],
    )


@pytest.fixture
def schedule(workload, system):
    """
    A valid schedule of these jobs.

    ::

               0    5    10   15
        node 0 aaaaaaaaaaxxxxx      a = plain (2 cores), x = after (4 cores)
        node 1 .eeeee               e = even
        node 2 .eeeee......l        l = later
        node 3 .oooooooo            o = exclusive
        node 4 .gggggg              g = gpu
        node 5 ...kkkkk             k = killed
    """
    fitted = fit(workload, system)
    start, end, outcome = (np.full(len(JOBS), MISSING, dtype=np.int64) for _ in range(3))
    outcome[:] = JobOutcome.REJECTED
    for row, *rest in TIMES:
        start[row], end[row], outcome[row] = rest
    job = np.array([place[0] for place in PLACES])
    known = np.where(outcome == JobOutcome.REJECTED, MISSING, workload.requested_time)
    return Schedule(
        workload=fitted.workload,
        system=fitted.system,
        start=start,
        end=end,
        outcome=outcome,
        ranking_estimate=known,
        runtime_estimate=known.copy(),
        runtime_bound=known.copy(),
        segments=Segments(
            job=job,
            start=start[job],
            end=end[job],
            node=np.array([place[1] for place in PLACES]),
            count=np.array([place[2] for place in PLACES]),
            units=np.array([place[3] for place in PLACES]),
            amount=np.array([place[4] for place in PLACES]),
            leaving=np.zeros(len(PLACES), dtype=np.int64),
        ),
        rejected=dict(fitted.rejected),
        overrun="kill",
    )
