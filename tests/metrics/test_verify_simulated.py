"""What the simulator makes is valid; and the capacity sweep agrees with looking at every second."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpsched import systems, traces
from cpsched.mapping import fit
from cpsched.metrics import verify_capacity
from cpsched.metrics.verify import Rule, verify
from cpsched.model.allocation import Allocation
from cpsched.model.schedule import JobOutcome, Segments
from cpsched.simulation.record import AllocationRecorder, schedule_of
from cpsched.simulation.simulator import Simulator
from cpsched.spec import build
from tiny import DISPATCHERS, jobs, machine, machines, run, workloads


@pytest.mark.parametrize("dispatcher", DISPATCHERS)
@settings(deadline=None, max_examples=15)
@given(workload=workloads(), system=machines(), overrun=st.sampled_from(["kill", "extend"]))
def test_every_dispatcher_makes_valid_schedules(dispatcher, workload, system, overrun):
    assert verify(run(workload, system, dispatcher, overrun=overrun).schedule) == []


@settings(deadline=None)
@given(workloads(), machines(), st.integers(0, 60))
def test_a_simulation_cut_anywhere_is_valid(workload, system, until):
    fitted = fit(workload, system)
    recorder = AllocationRecorder(len(system.resources))
    simulator = Simulator(
        fitted, build("dispatchers", "easy"), build("predictors", "requested"), observers=[recorder]
    )
    simulator.run(until=until)
    assert verify(schedule_of(fitted, simulator, recorder), complete=False) == []


class Halved:
    """Every job runs for half of what the log says."""

    name = "halved"

    def __init__(self, runtime) -> None:
        self._runtime = runtime

    def start(self, job: int, allocation: Allocation, now: int) -> int:
        return int(self._runtime[job]) // 2

    def end(self, job: int, allocation: Allocation, remaining: int, now: int) -> int:
        return now + remaining


def test_a_run_under_another_runtime_model_needs_that_said():
    fitted = fit(jobs((0, 1, 10), (0, 1, 4)), machine((1,)))
    recorder = AllocationRecorder(1)
    simulator = Simulator(
        fitted,
        build("dispatchers", "fifo"),
        build("predictors", "requested"),
        runtime_model=Halved(fitted.workload.runtime),
        observers=[recorder],
    )
    simulator.run()
    schedule = schedule_of(fitted, simulator, recorder)
    assert schedule.end.tolist() == [5, 7]
    assert {violation.rule for violation in verify(schedule)} == {Rule.RUNTIME}
    assert verify(schedule, recorded=False) == []


def overloads(segments: Segments, capacity: np.ndarray) -> set[tuple[int, int, int]]:
    """Return (node, kind, second) at which a node's load rises above its capacity."""
    num_nodes, num_kinds = capacity.shape
    last = int(segments.end.max(initial=0)) + 1
    load = np.zeros((num_nodes, num_kinds, last + 1), dtype=np.int64)
    for at in range(len(segments.job)):
        nodes = slice(segments.node[at], segments.node[at] + segments.count[at])
        load[nodes, :, segments.start[at] : segments.end[at]] += segments.amount[at][None, :, None]
    over = load > capacity[:, :, None]
    rises = over.copy()
    rises[:, :, 1:] &= ~over[:, :, :-1]
    return set(map(tuple, np.argwhere(rises).tolist()))


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=6),
    st.lists(
        st.tuples(*[st.integers(0, 5)] * 2, *[st.integers(0, 6)] * 2, *[st.integers(0, 3)] * 2),
        max_size=12,
    ),
    st.sampled_from([1, 3, 1 << 21]),
)
def test_capacity_is_that_of_every_second(nodes, rows, chunk):
    """Random segments on random nodes, in blocks of any size, against the load at every second."""
    num_nodes = len(nodes)
    first, count, start, length, *amounts = np.array(rows, dtype=np.int64).reshape(-1, 6).T
    first = np.minimum(first, num_nodes - 1)
    segments = Segments(
        job=np.arange(len(rows)),
        start=start,
        end=start + length,
        node=first,
        count=np.clip(count, 1, num_nodes - first),
        units=np.ones(len(rows), dtype=np.int64),
        amount=np.stack(amounts, axis=1),
    )
    system = machine(*nodes, resources=("core", "gpu"))
    workload = jobs(*[(0, 1, 1)] * len(rows), resources=("core", "gpu"))
    base = run(workload, system, "fifo").schedule
    outcome = np.full(len(rows), JobOutcome.COMPLETED, dtype=np.int64)
    schedule = replace(
        base, segments=segments, start=start, end=start + length, outcome=outcome, rejected={}
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verify_capacity, "_CHUNK", chunk)
        found = [item for item in verify(schedule, limit=10**6) if item.rule is Rule.CAPACITY]
    expected = overloads(segments, system.capacity)
    lasting = [item for item in found if length[int(item.job_id or 0)]]
    # Where neighbours always share their fate, one stands for all of them.
    assert bool(lasting) == bool(expected)
    assert len(lasting) <= len(expected)
    seconds = {second for _, _, second in expected}
    assert {int(item.message.split(" at ")[1].split(",")[0]) for item in lasting} == seconds
    empty = {
        at
        for at in np.flatnonzero(length == 0).tolist()
        for node in range(segments.node[at], segments.node[at] + segments.count[at])
        if (segments.amount[at] > system.capacity[node]).any()
    }
    assert {int(item.job_id or 0) for item in found} - {
        int(item.job_id or 0) for item in lasting
    } == empty


@pytest.mark.shared
@pytest.mark.parametrize("name", ["eurora-2014.swf.gz", "eurora-2014.ext.csv.gz"])
def test_a_real_log_is_scheduled_validly(shared, name):
    """Four resource kinds, queues with limits, 5930 jobs."""
    workload = traces.read(shared / "traces" / name)
    schedule = run(workload, systems.load("eurora"), "easy:priority=slowdown").schedule
    assert verify(schedule) == []
    # Any job moved by one node collides with something, or lies on a node it may not use.
    segments = schedule.segments
    moved = replace(segments, node=(segments.node + 1) % 64, count=np.minimum(segments.count, 1))
    assert verify(replace(schedule, segments=moved))
