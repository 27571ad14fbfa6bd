"""Workloads and machines small enough to work out by hand, and random ones like them."""

import numpy as np
from hypothesis import strategies as st

from cpsched.model.system import System
from cpsched.model.topology import Topology
from cpsched.model.workload import Workload
from cpsched.simulation.observers import Observer
from cpsched.simulation.simulate import Settings, simulate
from cpsched.systems.mapping import Fitted, fit
from cpsched.util.types import MISSING

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


def machine(*nodes, resources=("core",), queues=(), expected_wait=3600):
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


def jobs(*rows, resources=("core",), **columns):
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


def run(workload, system, dispatcher, predictor="requested", observers=(), **settings):
    """Simulate."""
    fitted = workload if isinstance(workload, Fitted) else fit(workload, system)
    return simulate(
        fitted,
        dispatcher=dispatcher,
        predictor=predictor,
        settings=Settings(**settings),
        observers=observers,
    )


def starts(workload, system, dispatcher, *rest, **more):
    """Simulate and return the start of each job, in workload order."""
    return run(workload, system, dispatcher, *rest, **more).schedule.start.tolist()


class Nodes(Observer):
    """Notes on which nodes jobs start, counted from ``first``, and when, in the order of starts."""

    def __init__(self, first=0):
        self.first, self.of, self.at = first, {}, {}

    def on_start(self, job, allocation, now):
        self.of[job] = (allocation.node + self.first).tolist()
        self.at[job] = now


#: One of every class, with the options that remember most: for what a class promises.
CLASSES = (
    "fifo",
    "sjf",
    "ljf",
    "greedy:allocator=best-fit,order=wfp3",
    "easy:order=wsept",
    "conservative:order=wsept,order.aging=3600",
    "cp-pool:window=6,limit=0.001,search=wsept",
    "easy-plan:window=6",
    "cp-2:allocator=best-fit,window=5,limit=0.001",
    "lookahead:allocator=balanced,arrivals=3",
    "slurm-backfill:backfill_interval=0,reserve=amounts,order=multifactor",
    "slurm:PriorityWeightAge=1000,PriorityWeightFairshare=1000,bf_interval=7,PriorityCalcPeriod=1",
    "ipsched:window=8,order=wsept",
    "aucsched1:window=8",
    "aucsched2:window=8",
    "aucsched3:window=8",
    "wla:tight=yes,interval=none",
    "malleable:strategy=average",
    "cp-malleable:window=4",
    "dn-dbes:attempts=2,depth=2,period=7,order=slowdown,allocator=best-fit",
    "speculative:dispatcher=easy-wsept,seconds=2,least=4",
    "preempt:dispatcher=easy,dispatcher.order=slowdown",
)

#: Others of the same classes, with other options.
DISPATCHERS = (
    *CLASSES,
    "greedy",
    "greedy:order=slowdown",
    "greedy:order=wsept",
    "easy",
    "easy:backfill=sjf",
    "easy:order=slowdown,allocator=balanced",
    "conservative",
    "conservative:depth=2,order=slowdown",
    "conservative:allocator=pack,order=sjf",
    "cph-1:window=6,limit=0.001",
    "cp-3:window=5,limit=0.001",
    "lookahead",
    "slurm-backfill",
    "slurm-backfill:order=wsept",
    "slurm",
    "slurm:PriorityType=priority/basic,default_queue_depth=3,bf_max_job_test=5",
    "ipsched:window=8",
    "wla:interval=none,solver=greedy,backfill=none",
    "malleable:strategy=keep-preferred,dispatcher=greedy",
    "dn-dbes",
    "dn-dbes:period=9",
)


@st.composite
def machines(draw, max_nodes=4):
    """Draw a machine with cores, memory, and GPUs on some nodes."""
    node = st.tuples(st.integers(1, 4), st.integers(0, 2), st.integers(2, 8))
    nodes = draw(st.lists(node, min_size=1, max_size=max_nodes))
    return machine(*nodes, resources=("core", "gpu", "mem"))


@st.composite
def workloads(draw, max_jobs=12, plain=False):
    """
    Draw a workload for :func:`machines`.

    With ``plain``, a unit is one core and nothing else is asked for.
    """
    num = draw(st.integers(1, max_jobs))

    def column(element):
        return draw(st.lists(element, min_size=num, max_size=num))

    submit = column(st.integers(0, 30))
    units = column(st.integers(1, 4))
    runtime = column(st.integers(0, 20))
    requested = column(st.integers(1, 25))
    users = column(st.sampled_from(["ann", "bob", ""]))
    if plain:
        request = [(1, 0, 0)] * num
        more = {}
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
        title="random",
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


def started(schedule_start):
    """Return start times with None for jobs that never start."""
    return [None if start == MISSING else int(start) for start in schedule_start]


def let_go(data, workload):
    """Return a workload of which some jobs are let go later, into the middle of the queue."""
    seconds = st.sampled_from([MISSING, MISSING, 5, 20, 40])
    begin = data.draw(st.lists(seconds, min_size=len(workload), max_size=len(workload)))
    return workload.with_columns(begin=np.array(begin, dtype=np.int64))
