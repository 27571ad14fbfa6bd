"""A small made-up log with everything in it that a predictor meets, to check predictors on."""

from __future__ import annotations

from typing import Any

import numpy as np

from cpsched.api.logs import Fitted, Workload, fit
from cpsched.api.model import Status, System, Topology

RESOURCES = ("core", "gpu", "mem")
_WALLTIMES = np.array([300, 900, 3600, 3600, 7200, 43_200, 86_400])
_STEMS = ("relax", "md-run", "train_", "a.out", "x")
#: Mean seconds between two submits, and between the two jobs of a pair submitted at once.
_GAP = 120.0


def sample(
    num_jobs: int = 400,
    seed: int = 0,
    *,
    strangers: bool = False,
    begin: int = 0,
) -> Fitted:
    """
    Make a log on a machine it fits.

    Users repeat themselves for a while and then change. Some jobs have no user, name or queue;
    some fail at once, some are killed at their requested time, some run beyond it, some run 0
    seconds; several are submitted in one second. Names hold what names in logs hold.

    Parameters
    ----------
    num_jobs
        Jobs J, at least 1.
    seed
        Of everything drawn; the first jobs are the same however many follow.
    strangers
        Every job has a user and a name of its own, as hard as can be on memory.
    begin
        Second of the first submit.
    """
    rng = np.random.default_rng([seed, 2017])
    rows = [_row(rng, index, strangers) for index in range(num_jobs)]
    columns: dict[str, Any] = dict(zip(_COLUMNS, zip(*rows, strict=True), strict=True))
    submit = begin + np.cumsum(columns.pop("gap")).astype(np.int64)
    wait = np.array(columns.pop("wait"))
    workload = Workload.build(
        title="sample",
        job_id=[str(index) for index in range(num_jobs)],
        submit=submit,
        recorded_start=submit + wait,
        resources=RESOURCES,
        **columns,
    )
    return fit(workload, _machine())


_COLUMNS = (
    "gap", "wait", "units", "request", "requested_time", "runtime", "status", "user", "name",
    "queue", "group",
)  # fmt: skip


def _row(rng: np.random.Generator, index: int, strangers: bool) -> tuple[object, ...]:
    """Draw one job, with the same number of draws for every job."""
    draw = rng.random(12)
    user = int(12 * draw[0] ** 2)
    # What a user does now: it changes every few dozen jobs, so that the past misleads at times.
    habit = (user * 7 + index // 60) % 11
    walltime = int(_WALLTIMES[(habit + int(2 * draw[1])) % len(_WALLTIMES)])
    share = 0.05 + 0.9 * ((habit * 37 % 11) / 11) ** 2
    runtime = int(walltime * share * (0.7 + 0.6 * draw[2]))
    status = Status.COMPLETED
    if draw[3] < 0.08:
        runtime, status = int(30 * draw[4]), Status.FAILED
    elif draw[3] < 0.12:
        runtime, status = walltime, Status.TIMEOUT
    elif draw[3] < 0.16:
        runtime = walltime + int(600 * draw[4])
    elif draw[3] < 0.18:
        runtime = 0
    name = f"{_STEMS[habit % len(_STEMS)]}{int(4 * draw[5])}"
    return (
        0 if draw[6] < 0.2 else int(-_GAP * np.log1p(-draw[7])),
        0 if draw[8] < 0.5 else int(4000 * draw[8]),
        1 + habit % 4,
        (1 + user % 3, int(habit == 5), 1024 * (1 + habit)),
        walltime,
        runtime,
        int(status),
        f"stranger{index}" if strangers else None if draw[9] < 0.03 else f"user{user}",
        f"job-{index}-of-many" if strangers else None if draw[10] < 0.05 else name,
        None if draw[11] < 0.05 else ("debug", "batch")[walltime > 3600],
        f"group{user % 3}",
    )


def _machine() -> System:
    nodes = 8
    return System(
        name="sample",
        title="the sample's machine",
        source="made up",
        resources=RESOURCES,
        capacity=np.tile(np.array([[16, 4, 2**20]]), (nodes, 1)),
        node_names=tuple(f"n{index}" for index in range(nodes)),
        node_groups=("all",) * nodes,
        features=(frozenset(),) * nodes,
        queues={},
        topology=Topology(nodes),
        default_expected_wait=3600,
    )
