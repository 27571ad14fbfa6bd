"""Workloads and machines small enough to work out by hand, and random ones like them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from cpsched.base.types import MISSING
from cpsched.mapping import Fitted, fit
from cpsched.model.system import Queue, System
from cpsched.model.topology import Topology
from cpsched.model.workload import Workload
from cpsched.simulation.simulate import Run, Settings, simulate

if TYPE_CHECKING:
    from collections.abc import Sequence

Row = tuple[int, ...]
#: A machine as a file.
FOUR_CORES = """\
name = "four"
title = "four cores"
source = "made up"
resources = ["core"]
default_expected_wait = 3600

[[nodes]]
group = "all"
count = 4
core = 1

[log]
processors = "pool"
"""


def machine(
    *nodes: Sequence[int],
    resources: Sequence[str] = ("core",),
    queues: Sequence[Queue] = (),
    expected_wait: int | None = 3600,
) -> System:
    """Return a system of nodes given by their capacities."""
    return System(
        name="tiny",
        title="a tiny machine",
        source="made up",
        resources=tuple(resources),
        capacity=np.array(nodes, dtype=np.int64),
        node_names=tuple(f"n{index}" for index in range(len(nodes))),
        node_groups=tuple("all" for _ in nodes),
        features=tuple(frozenset[str]() for _ in nodes),
        queues={queue.name: queue for queue in queues},
        topology=Topology(len(nodes)),
        default_expected_wait=expected_wait,
    )


def jobs(*rows: Row, resources: Sequence[str] = ("core",), **columns: Any) -> Workload:
    """
    Return a workload of rows ``(submit, units, runtime, requested)``.

    A unit is one core unless ``request`` is given; the requested time is the runtime unless given.
    """
    num = len(rows)
    one_core = np.zeros((num, len(resources)), dtype=np.int64)
    one_core[:, 0] = 1
    columns.setdefault("request", one_core)
    columns.setdefault("job_id", [str(index) for index in range(num)])
    columns.setdefault(
        "requested_time", [max(row[-1] if len(row) > 3 else row[2], 1) for row in rows]
    )
    return Workload.build(
        title="tiny",
        submit=[row[0] for row in rows],
        units=[row[1] for row in rows],
        runtime=[row[2] for row in rows],
        resources=resources,
        **columns,
    )


def run(
    workload: Workload | Fitted, system: System, dispatcher: Any, predictor: Any = "requested",
    observers: Sequence[Any] = (), **settings: Any,
) -> Run:  # fmt: skip
    """Simulate."""
    fitted = workload if isinstance(workload, Fitted) else fit(workload, system)
    return simulate(
        fitted,
        dispatcher=dispatcher,
        predictor=predictor,
        settings=Settings(**settings),
        observers=observers,
    )


def starts(
    workload: Workload, system: System, dispatcher: Any, *rest: Any, **more: Any
) -> list[int]:
    """Simulate and return the start of each job, in workload order."""
    return run(workload, system, dispatcher, *rest, **more).schedule.start.tolist()


#: One specification of every kind of built-in dispatcher.
DISPATCHERS = (
    "fifo",
    "sjf",
    "ljf",
    "prb",
    "prb:priority=slowdown",
    "prb:allocator=best-fit,priority=wfp3",
    "prb:priority=urgency",
    "easy",
    "easy:backfill=sjf",
    "easy:priority=slowdown,allocator=balanced",
    "easy:priority=urgency",
    "conservative",
    "conservative:depth=2,priority=slowdown",
    "conservative:allocator=consolidate,priority=sjf",
    "conservative:priority=urgency:patience=3600",
    "cph-1:window=6,limit=0.001",
    "cph:window=6,limit=0.001,search=urgency",
    "cp-2:allocator=best-fit,window=5,limit=0.001",
    "cp-3:window=5,limit=0.001",
    "plan",
    "rollout:scenarios=3,allocator=best-fit",
    "plan:allocator=balanced,arrivals=3",
    "slurm-backfill",
    "slurm-backfill:backfill_interval=0,reserve=amounts,priority=multifactor",
    "slurm-backfill:priority=urgency",
    "slurm",
    "slurm:PriorityType=priority/basic,default_queue_depth=3,bf_max_job_test=5",
    "slurm:PriorityWeightAge=1000,PriorityWeightFairshare=1000,bf_interval=7,PriorityCalcPeriod=1",
    "ipsched:window=8",
    "ipsched:window=8,priority=urgency",
    "aucsched1:window=8",
    "aucsched2:window=8",
    "aucsched3:window=8",
    "wla:interval=none,solver=greedy",
    "wla:age_limit=20,held=inside,interval=none",
    "compact:dispatcher=easy:priority=slowdown",
    "malleable:strategy=average",
    "cp-malleable:window=4",
    "malleable:strategy=keep-preferred,dispatcher=prb",
    "dn-dbes",
    "dn-dbes:attempts=2,depth=2,period=7,priority=slowdown,allocator=best-fit",
    "dn-dbes:period=9,urgent=kill",
    "try:dispatcher=rollout:scenarios=3,seconds=2,least=4",
    "preempt:dispatcher=easy:priority=slowdown",
)

#: One of every class, with the options that remember most: for what a class promises.
CLASSES = (
    "fifo",
    "sjf",
    "ljf",
    "prb:allocator=best-fit,priority=wfp3",
    "easy:priority=urgency",
    "conservative:priority=urgency:patience=3600",
    "cph:window=6,limit=0.001,search=urgency",
    "cp-2:allocator=best-fit,window=5,limit=0.001",
    "rollout:scenarios=3,allocator=best-fit",
    "plan:allocator=balanced,arrivals=3",
    "slurm-backfill:backfill_interval=0,reserve=amounts,priority=multifactor",
    "slurm:PriorityWeightAge=1000,PriorityWeightFairshare=1000,bf_interval=7,PriorityCalcPeriod=1",
    "ipsched:window=8,priority=urgency",
    "aucsched1:window=8",
    "aucsched2:window=8",
    "aucsched3:window=8",
    "wla:age_limit=20,held=inside,interval=none",
    "compact:dispatcher=easy:priority=slowdown",
    "malleable:strategy=average",
    "cp-malleable:window=4",
    "dn-dbes:attempts=2,depth=2,period=7,priority=slowdown,allocator=best-fit",
    "try:dispatcher=rollout:scenarios=3,seconds=2,least=4",
    "preempt:dispatcher=easy:priority=slowdown",
)


@st.composite
def machines(draw: st.DrawFn, max_nodes: int = 4) -> System:
    """Draw a machine with cores, memory, and GPUs on some nodes."""
    node = st.tuples(st.integers(1, 4), st.integers(0, 2), st.integers(2, 8))
    nodes = draw(st.lists(node, min_size=1, max_size=max_nodes))
    return machine(*nodes, resources=("core", "gpu", "mem"))


@st.composite
def workloads(draw: st.DrawFn, max_jobs: int = 12, plain: bool = False) -> Workload:
    """
    Draw a workload for :func:`machines`.

    With ``plain``, a unit is one core and nothing else is asked for.
    """
    num = draw(st.integers(1, max_jobs))

    def column(element: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(element, min_size=num, max_size=num))

    submit = column(st.integers(0, 30))
    units = column(st.integers(1, 4))
    runtime = column(st.integers(0, 20))
    requested = column(st.integers(1, 25))
    users = column(st.sampled_from(["ann", "bob", ""]))
    if plain:
        request = [(1, 0, 0)] * num
        more: dict[str, Any] = {}
    else:
        request = column(st.tuples(st.integers(1, 2), st.integers(0, 1), st.integers(0, 4)))
        nodes_min = column(st.integers(1, 2))
        more = {
            "nodes_min": nodes_min,
            "nodes_max": [
                low + extra for low, extra in zip(nodes_min, column(st.integers(0, 2)), strict=True)
            ],
            "split": column(st.sampled_from([0, 0, 1])),
            "contiguous": column(st.sampled_from([False, False, True])),
            "exclusive": column(st.sampled_from([False, False, False, True])),
            "per_node": column(st.tuples(st.just(0), st.integers(0, 1), st.just(0))),
        }
    return Workload.build(
        title="drawn",
        job_id=[str(index) for index in range(num)],
        submit=submit,
        units=units,
        runtime=runtime,
        requested_time=requested,
        request=request,
        resources=("core", "gpu", "mem"),
        user=users,
        **more,
    )


def started(schedule_start: Sequence[int]) -> list[int | None]:
    """Return start times with None for jobs that never start."""
    return [None if start == MISSING else int(start) for start in schedule_start]


def let_go(data: st.DataObject, workload: Workload) -> Workload:
    """Return a workload of which some jobs are let go later, into the middle of the queue."""
    seconds = st.sampled_from([MISSING, MISSING, 5, 20, 40])
    begin = data.draw(st.lists(seconds, min_size=len(workload), max_size=len(workload)))
    return workload.with_columns(begin=np.array(begin, dtype=np.int64))
