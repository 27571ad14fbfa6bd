"""Placement metrics on machines drawn by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import jobs, machine, run

from cpsched.metrics.placement import (
    placement,
    start_placements,
)
from cpsched.metrics.summary import summarize
from cpsched.model.node_sets import NodeSets
from cpsched.model.schedule import JobOutcome, Schedule, Segments
from cpsched.model.system import LogMapping, ProcessorMapping
from cpsched.model.topology import Topology, TopologyKind
from cpsched.systems.mapping import fit
from cpsched.util.types import MISSING


def lying(system, *where, seconds=None, units=1, **columns):
    """
    Return a schedule in which each job starts at 0 on some nodes, with as many units on each.

    Parameters
    ----------
    where
        Node indices by job.
    seconds
        How long each runs; 10 where None.
    """
    seconds = seconds or [10] * len(where)
    workload = jobs(
        *[(0, units * len(nodes), length) for nodes, length in zip(where, seconds, strict=True)],
        resources=system.resources, **columns,
    )  # fmt: skip
    job = np.repeat(np.arange(len(where)), [len(nodes) for nodes in where])
    end = np.array(seconds, dtype=np.int64)
    held = np.full(len(job), units)
    request = workload.request[job]
    return Schedule(
        workload=fit(workload, system).workload,
        system=system,
        start=np.zeros(len(where), dtype=np.int64),
        end=end,
        outcome=np.full(len(where), JobOutcome.COMPLETED, dtype=np.int64),
        ranking_estimate=end,
        runtime_estimate=end,
        runtime_bound=end,
        segments=Segments(
            job=job,
            start=np.zeros(len(job), dtype=np.int64),
            end=end[job],
            node=np.array([node for nodes in where for node in nodes], dtype=np.int64),
            count=np.ones(len(job), dtype=np.int64),
            units=held,
            amount=held[:, None] * request + workload.per_node[job],
            leaving=0 * job,
        ),
        rejected={},
        overrun="kill",
    )


def tree(num_nodes, *level_sizes, cores=1):
    """Return a machine of equal nodes under switches."""
    return replace(machine(*[(cores,)] * num_nodes), topology=Topology(num_nodes, level_sizes))


# Figure 7.1, with its nodes from 1 to 24 as 0 to 23:
#
#   . J1 . J1 . J1 . J1 . . . J2 J2 . . . . . . J2 J2 . . .
#   1  2 3  4 5  6 7  8      12 13               20 21
J1, J2 = [1, 3, 5, 7], [11, 12, 19, 20]


def test_figure_7_1():
    """
    J1 in four blocks over the 7 nodes 2 to 8, J2 in two over the 10 nodes 12 to 21.

    The thesis defines spread as that number over the nodes allocated: 7 / 4 and 10 / 4. Its
    caption has 6 and 12, its section 8.3 has 6 and 10. J2's 10 is the span, J1's 6 is 8 - 2 (a
    span without the plus one), and 12 is nothing that follows from the nodes.
    """
    placements = start_placements(lying(machine(*[(1,)] * 24), J1, J2))
    assert placements.blocks.tolist() == [4, 2]
    assert placements.nodes.tolist() == [4, 4]
    assert placements.span.tolist() == [7, 10]
    assert placements.spread.tolist() == [7 / 4, 10 / 4]


def test_neighbouring_runs_of_other_units_are_one_block():
    """A job with 2 units on n0 and n1 and 1 on n2 is recorded as two runs, and is contiguous."""
    result = run(jobs((0, 5, 10)), machine((2,), (2,), (2,)), "fifo").schedule
    assert result.segments.count.tolist() == [2, 1]
    placements = start_placements(result)
    assert (placements.nodes.tolist(), placements.blocks.tolist()) == ([3], [1])


def test_shares_and_switches():
    """Three jobs in a leaf run 10 s each, one under the root 70 s: a share of 50 / 190."""
    schedule = lying(tree(8, 2, 4), [0], [2, 3], [4, 5], [1, 6], seconds=[10, 10, 10, 70])
    measures = placement(schedule)
    assert measures["contiguous"] == {"jobs": 0.75, "node_time": 50 / 190}
    assert measures["lowest_common_switch"] == {
        "jobs": 4, "mean": 0.5, "std": pytest.approx(3**0.5 / 2), "median": 0.0,
        "p95": pytest.approx(1.7), "max": 2,
    }  # fmt: skip


def test_without_time_or_switches_there_are_no_shares():
    """Nothing to divide by, and a plain line has no switches to be common."""
    schedule = lying(tree(4, 2), [0], [1, 2], seconds=[0, 0])
    assert placement(schedule)["contiguous"] == {"jobs": 1, "node_time": None}
    schedule = lying(machine((1,), (1,)), [0, 1])
    assert placement(schedule)["lowest_common_switch"] is None


@given(
    where=st.lists(st.sets(st.integers(0, 11), min_size=1), min_size=1, max_size=6),
    sizes=st.sampled_from([(), (2,), (3,), (2, 6), (2, 4)]),
)
def test_against_their_definitions(where, sizes):
    """Blocks, spans and switches of random sets of nodes, found by looking at every node."""
    system = tree(12, *sizes)
    placements = start_placements(lying(system, *map(sorted, where)))
    assert placements.blocks.tolist() == [
        sum(node - 1 not in nodes for node in nodes) for nodes in where
    ]
    assert placements.span.tolist() == [max(nodes) - min(nodes) + 1 for nodes in where]
    assert system.topology.common_level(placements.first, placements.last).tolist() == [
        next(
            level
            for level in range(len(sizes) + 1)
            if level == len(sizes) or len({node // sizes[level] for node in nodes}) == 1
        )
        for nodes in where
    ]


def test_only_jobs_that_ended_count():
    """One was cut while it ran: it has nodes, and is in no measure."""
    schedule = lying(machine((1,), (1,), (1,)), [0, 2], [1])
    cut = replace(
        schedule,
        outcome=np.array([JobOutcome.NOT_ENDED, JobOutcome.COMPLETED]),
        end=np.array([MISSING, 10]),
    )
    measures = placement(cut)
    assert measures["nodes"]["jobs"] == 1
    assert measures["fragmentation"]["max"] == 1
    none = replace(cut, outcome=np.full(2, JobOutcome.NOT_ENDED, dtype=np.int64))
    assert placement(none) is None


def test_counted_pools_have_no_places():
    """Their nodes are amounts."""
    system = replace(machine((2,), (2,)), log=LogMapping(processors=ProcessorMapping.POOL))
    workload = replace(jobs((0, 3, 10)), layout="processors")
    summary = summarize(run(fit(workload, system), system, "fifo").schedule)
    assert summary["placement"] is None
    # A log that knows nodes keeps them on the same machine.
    assert not system.is_counted_pool
    summary = summarize(run(jobs((0, 3, 10)), system, "fifo").schedule)
    assert summary["placement"]["nodes"]["mean"] == 2.0


TORUS = Topology(64, sides=(4, 4, 4))


@given(
    where=st.lists(st.sets(st.integers(0, 63), min_size=1), min_size=1, max_size=6),
    topology=st.sampled_from(
        [Topology(64), Topology(64, (4, 16)), TORUS,
         Topology(64, group_sizes=((3, 5, 8, 16, 32), (16, 48))),
         Topology(64, (4, 16), kind=TopologyKind.DRAGONFLY)]
    ),
)  # fmt: skip
def test_measures_of_many_sets_are_those_of_each(where, topology):
    """Distance pair by pair, groups and compactness one set at a time."""
    system = replace(machine(*[(1,)] * 64), topology=topology)
    sets = [np.array(sorted(nodes)) for nodes in where]
    measures = placement(lying(system, *where))
    apart = []
    for nodes in sets:
        first, second = np.triu_indices(len(nodes), 1)
        pairs = topology.distance(nodes[first], nodes[second])
        apart.append(pairs.mean() if len(pairs) else 0)
    assert measures["distance_hops"]["mean"] == pytest.approx(np.mean(apart))
    assert measures["distance_hops"]["max"] == pytest.approx(max(apart))
    assert measures["contiguous"]["jobs"] == np.mean([len(n) == np.ptp(n) + 1 for n in sets])
    assert measures["compact"]["jobs"] == np.mean(
        [topology.compact(NodeSets.of(n))[0] for n in sets]
    )
    if topology.num_levels == 1:
        assert measures["groups_touched"] is None
    else:
        groups = [len(np.unique(topology.level_group(0)[n])) for n in sets]
        assert measures["groups_touched"]["mean"] == pytest.approx(np.mean(groups))


def test_shares_are_of_jobs_and_of_node_time():
    """A job of two nodes for 10 s on one leaf, one of two nodes for 30 s on two leaves."""
    workload = jobs((0, 2, 10), (0, 2, 30), nodes_min=[2, 2])
    schedule = run(workload, tree(4, 2), "fifo").schedule
    node = schedule.segments.node.copy()
    assert node.tolist() == [0, 2]
    measures = placement(schedule)
    assert measures["compact"] == {"jobs": 1, "node_time": 1}
    ones = np.ones(4, dtype=np.int64)
    schedule = replace(
        schedule,
        segments=Segments(job=np.array([0, 0, 1, 1]), start=0 * ones, end=np.array([10, 10, 30, 30]),
                          node=np.array([0, 1, 3, 2]) , count=ones, units=ones, amount=ones[:, None], leaving=0 * ones),
    )  # fmt: skip
    assert placement(schedule)["compact"]["jobs"] == 1
    schedule.segments.node[:] = [0, 3, 1, 2]
    schedule = replace(schedule, workload=schedule.workload)
    measures = placement(schedule)
    assert measures["contiguous"] == {"jobs": 0.5, "node_time": 0.75}
    assert measures["compact"] == {"jobs": 0, "node_time": 0}
    assert measures["groups_touched"]["mean"] == 2
    # Two leaf switches, up to the root and down again.
    assert measures["distance_hops"]["mean"] == 4


@pytest.mark.parametrize(
    ("segment", "nodes", "compact"),
    [
        # Blocks of 5: six nodes fit two of them, but not as three segments of 2 in fewer than two.
        (0, [0, 1, 2, 3, 4, 5], True),
        (2, [0, 1, 2, 3, 5, 6], True),
        (2, [0, 1, 5, 6, 10, 11], False),
        # Two segments of 3 need a block each, as do six nodes; three need three, nine nodes two.
        (3, [0, 1, 2, 5, 6, 7], True),
        (3, [0, 1, 2, 5, 6, 7, 10, 11, 12], True),
        (0, [0, 1, 2, 5, 6, 7, 10, 11, 12], False),
    ],
)
def test_jobs_in_segments_are_compact_where_their_segments_are(segment, nodes, compact):
    system = tree(20, 5)
    schedule = lying(system, nodes, segment=[segment])
    measures = placement(schedule)
    assert measures["compact"]["jobs"] == compact
    sets = NodeSets.of(np.array(nodes))
    assert system.topology.compact(sets, segment).tolist() == [compact]


def test_utilization_in_node_hours():
    """Eq. 11: (2 nodes x 10 s + 1 node x 30 s) / (4 nodes x 30 s)."""
    workload = jobs((0, 2, 10), (0, 1, 30), nodes_min=[2, 1])
    schedule = run(workload, machine((2,), (2,), (2,), (2,)), "fifo").schedule
    assert summarize(schedule)["node_utilization"] == (2 * 10 + 30) / (4 * 30)
