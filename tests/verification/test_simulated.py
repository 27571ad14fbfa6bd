"""What the simulator makes is valid; and the capacity sweep agrees with looking at every second."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import jobs, machine, machines, run, workloads

from cpsched import logs, systems
from cpsched.model.schedule import Segments
from cpsched.simulation.record import AllocationRecorder
from cpsched.simulation.run import schedule_of
from cpsched.simulation.simulator import Simulator
from cpsched.systems.mapping import fit
from cpsched.util.spec import build
from cpsched.verification import Rule, verify
from cpsched.verification import capacity as capacity_rules

pytestmark = pytest.mark.slow


@given(workloads(), machines(), st.integers(0, 60))
def test_a_simulation_cut_anywhere_is_valid(workload, system, until):
    fitted = fit(workload, system)
    recorder = AllocationRecorder(len(system.resources))
    simulator = Simulator(
        fitted, build("dispatchers", "easy"), build("predictors", "requested"), observers=[recorder]
    )
    simulator.run(until=until)
    assert verify(schedule_of(fitted, simulator, recorder), complete=False) == []


_MESSAGE = re.compile(
    r"job (\d+) starts at (\d+) on node n(\d+), where jobs then use (\d+) (core|gpu) of (\d+)"
)


def every_second(segments, capacity):
    """Return the load of each node, kind and second, shape ``(N, R, seconds)``."""
    load = np.zeros((*capacity.shape, int(segments.end.max(initial=0)) + 1), dtype=np.int64)
    for at in range(len(segments.job)):
        nodes = slice(segments.node[at], segments.node[at] + segments.count[at])
        load[nodes, :, segments.start[at] : segments.end[at]] += segments.amount[at][:, None]
    return load


@settings(max_examples=100)
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
    node, count, start, length, *amounts = np.array(rows, dtype=np.int64).reshape(-1, 6).T
    node = np.minimum(node, len(nodes) - 1)
    segments = Segments(
        job=np.arange(len(rows)),
        start=start,
        end=start + length,
        node=node,
        count=np.clip(count, 1, len(nodes) - node),
        units=np.ones(len(rows), dtype=np.int64),
        amount=np.stack(amounts, axis=1),
        leaving=0 * node,
    )
    system = machine(*nodes, resources=("core", "gpu"))
    workload = jobs(*[(0, 1, 1)] * len(rows), resources=("core", "gpu"))
    schedule = replace(run(workload, system, "fifo").schedule, segments=segments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capacity_rules, "_CHUNK", chunk)
        violations = [
            match.groups()
            for item in verify(schedule, limit=10**6)
            if item.rule is Rule.CAPACITY and (match := _MESSAGE.fullmatch(item.message))
        ]
    load = every_second(segments, system.capacity)
    over = load > system.capacity[:, :, None]
    lasting = set()
    for job, second, at_node, taken, name, has in violations:
        kind = system.resources.index(name)
        where = (int(at_node), kind)
        assert int(has) == system.capacity[where]
        if length[int(job)]:
            # Somewhere within that second's starts; the last of them makes the second's load.
            assert system.capacity[where] < int(taken) <= load[(*where, int(second))]
            lasting.add((kind, int(second)))
        else:
            assert int(taken) == segments.amount[int(job), kind] > system.capacity[where]
    rises = over & ~np.concatenate([np.zeros_like(over[:, :, :1]), over[:, :, :-1]], axis=2)
    assert lasting >= {(kind, second) for _, kind, second in np.argwhere(rises).tolist()}
    too_big = {
        at
        for at in np.flatnonzero(length == 0).tolist()
        for own in range(node[at], node[at] + segments.count[at])
        if (segments.amount[at] > system.capacity[own]).any()
    }
    assert {int(job) for job, *_ in violations if not length[int(job)]} == too_big


@pytest.mark.shared
@pytest.mark.parametrize("name", ["eurora-2014.swf.gz", "eurora-2014.ext.csv.gz"])
def test_a_real_log_is_scheduled_validly(shared, name):
    """Four resource kinds, queues with limits, 5930 jobs."""
    workload = logs.read(shared / "traces" / name)
    schedule = run(workload, systems.load("eurora"), "easy:order=slowdown").schedule
    assert verify(schedule) == []
    # Any job moved by one node collides with something, or lies on a node it may not use.
    segments = schedule.segments
    moved = replace(segments, node=(segments.node + 1) % 64, count=np.minimum(segments.count, 1))
    assert verify(replace(schedule, segments=moved))
