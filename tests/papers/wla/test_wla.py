"""The dispatcher: the paper's example, who is held, backfilling, machines that are not plain."""

from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import Plans
from tiny import FOUR_CORES, Nodes, jobs, machine, machines, run, workloads

from cpsched.engine.cluster import Cluster
from cpsched.engine.encoder import Request
from cpsched.errors import ConfigError
from cpsched.model.estimates import Requested
from cpsched.model.schedule import JobOutcome
from cpsched.papers.wla.machine_slots import runs
from cpsched.systems import parse
from cpsched.systems.mapping.requests import pooled
from cpsched.util.spec import build
from cpsched.verification import verify

pytestmark = pytest.mark.slow

#: Nodes 4, 5 and 12, 13, 14 of the paper's twenty, which count from 1, are busy.
BUSY = ((4, 5), (12, 13, 14))


def figure_4(dispatcher):
    """Sections III.C: five jobs on twenty nodes, of which three runs are free."""
    # Fillers run on every node, those on the nodes that are free in the example for 10 s.
    free = [(1, 2, 3), (6, 7, 8, 9, 10, 11), (15, 16, 17, 18, 19, 20)]
    order = [free[0], BUSY[0], free[1], BUSY[1], free[2]]
    fillers = [(0, len(nodes), 1000 if nodes in BUSY else 60, 1000) for nodes in order]
    window = [(30, size, 100, 100) for size in (6, 4, 3, 1, 2)]
    nodes = Nodes(first=1)
    run(jobs(*fillers, *window), machine(*[(1,)] * 20), dispatcher, observers=[nodes],
        dispatch_interval=30)  # fmt: skip
    for filler, expected in enumerate(order):
        assert nodes.of.pop(filler) == list(expected)
    return nodes


def test_the_default_fragments_the_example():
    """Subfigure A of figure 4: A and B in two pieces, node 20 idle, E waits."""
    nodes = figure_4("easy")
    assert list(nodes.of.values())[:4] == [
        [1, 2, 3, 6, 7, 8],
        [9, 10, 11, 15],
        [16, 17, 18],
        [19],
    ]
    assert [nodes.at[job] for job in range(5, 10)] == [60, 60, 60, 60, 180]


@pytest.mark.parametrize("solver", ["branch-and-bound", "greedy", "cp-sat"])
def test_the_example_is_packed(solver):
    """Subfigure B: C, A, B, E on neighbouring nodes, node 20 used; D waits."""
    nodes = figure_4(f"wla:solver={solver}")
    assert list(nodes.of.items())[:4] == [
        (7, [1, 2, 3]),
        (5, [6, 7, 8, 9, 10, 11]),
        (6, [15, 16, 17, 18]),
        (9, [19, 20]),
    ]
    assert [nodes.at[job] for job in range(5, 10)] == [60, 60, 60, 180, 60]


#: What the paper's text says and no more.
ALONE = "wla:interval=none,backfill=none"


def line(*rows, nodes=6, dispatcher=ALONE, **more):
    """Jobs of whole nodes on a line; returns which nodes each starts on, and when."""
    observer = Nodes(first=1)
    system = more.pop("system", machine(*[(1,)] * nodes))
    run(jobs(*rows, **more), system, dispatcher, observers=[observer])
    return observer.of, observer.at


#: Three jobs leave nodes 1, 2 and 5, 6 free; the fourth wants three nodes, the fifth two.
SPLIT = ((0, 2, 10), (0, 2, 50), (0, 2, 10), (20, 3, 10), (21, 2, 10))


def test_a_job_bigger_than_every_slot_is_held():
    """Four nodes are free at 20, three side by side only when the second job ends at 50."""
    nodes_of, at = line(*SPLIT)
    assert nodes_of[3] == [1, 2, 3]
    assert at[3] == 50
    assert at[4] == 21


def test_a_held_job_does_not_fill_the_window():
    """A window of one is the first job that fits a slot."""
    assert line(*SPLIT, dispatcher=f"{ALONE},window=1")[1][4] == 21


def test_decisions_are_made_on_a_grid():
    """Every 30 s unless said otherwise; a job that ends at 10 leaves its nodes until 30."""
    rows = ((0, 6, 10), (1, 6, 10))
    assert line(*rows, dispatcher="wla")[1] == {0: 0, 1: 30}
    assert line(*rows, dispatcher="wla:backfill=none,interval=7")[1] == {0: 0, 1: 14}
    assert line(*rows)[1] == {0: 0, 1: 10}


def test_the_window_moves_on_where_nothing_happens():
    """Six jobs of a node and a window of five: the sixth starts at the next decision."""
    assert line(*[(0, 1, 100)] * 6, dispatcher="wla:backfill=none")[1][5] == 30


def test_with_fewer_jobs_than_slots_the_smallest_are_left_out():
    """
    Runs of two and of three nodes are free: the paper's problem of one job has the larger alone.

    ``tight`` puts the job into the smallest slot that holds it.
    """
    rows = ((0, 2, 10), (0, 1, 50), (0, 3, 10), (20, 2, 10))
    assert line(*rows)[0][3] == [4, 5]
    assert line(*rows, dispatcher=f"{ALONE},tight=yes")[0][3] == [1, 2]


@settings(max_examples=60)
@given(
    machines(),
    workloads(),
    st.sampled_from(["", ",tight=yes", ",backfill=none", ",window=1,backfill=none"]),
)
def test_any_machine_and_any_jobs_make_valid_schedules(system, workload, more):
    """Down to the last job: none is held for good."""
    schedule = run(workload, system, f"wla:interval=none{more}").schedule
    assert verify(schedule) == []
    assert JobOutcome.NOT_ENDED not in schedule.outcome.tolist()


def test_the_window_alone_schedules_as_before_it_could_backfill():
    """300 jobs on a line of 64 nodes; the digest is of the schedule of that time."""
    rng = np.random.default_rng(7)
    rows = zip(
        np.sort(rng.integers(0, 4000, 300)).tolist(),
        (2.0 ** rng.uniform(0, 6, 300)).astype(int).tolist(),
        rng.integers(1, 300, 300).tolist(),
        strict=True,
    )
    nodes_of, at = line(*rows, nodes=64, dispatcher="wla:backfill=none")
    text = repr([(job, at[job], nodes_of[job]) for job in range(300)])
    assert sha256(text.encode()).hexdigest()[:16] == "6ac801512133d2cb"


BACKFILLING = "wla:interval=none"


def test_a_job_without_a_slot_may_start_in_pieces():
    """What EASY lets start, starts: three of the four nodes that are free at 20."""
    nodes_of, at = line(*SPLIT, dispatcher=BACKFILLING)
    assert nodes_of[3] == [1, 2, 5]
    assert at[3] == 20
    assert at[4] == 30


def test_the_window_leaves_what_is_reserved_alone():
    """
    Nodes 3 and 4 are free, and job 1 needs all four from 100 on.

    Job 2 would be there until 202; job 3 has ended by then.
    """
    rows = ((0, 2, 100), (1, 4, 10), (2, 2, 200), (3, 2, 90))
    assert line(*rows, nodes=4)[1] == {0: 0, 2: 2, 3: 100, 1: 202}
    assert line(*rows, nodes=4, dispatcher=BACKFILLING)[1] == {0: 0, 3: 3, 1: 100, 2: 110}


def test_the_first_job_starts_if_it_fits():
    """Three nodes are free at 10: the best packing is job 3 alone, but job 2 is the first."""
    rows = ((0, 3, 50), (0, 3, 10), (5, 2, 10), (6, 3, 10))
    assert line(*rows)[1] == {0: 0, 1: 0, 3: 10, 2: 20}
    assert line(*rows, dispatcher=BACKFILLING)[1] == {0: 0, 1: 0, 2: 10, 3: 20}


@settings(max_examples=60)
@given(machines(), workloads(max_jobs=20), st.sampled_from(["", ",tight=yes", ",solver=greedy"]))
def test_no_job_starts_later_than_it_was_once_planned_to(system, workload, more):
    """Nothing runs for longer than expected, so what was reserved can only come early."""
    plans, nodes = Plans(), Nodes()
    run(workload, system, f"{BACKFILLING}{more}", observers=[plans, nodes])
    assert all(at <= planned for job, at in nodes.at.items() for _, planned in plans.of(job))


def test_a_stream_of_narrow_jobs_does_not_starve_a_wide_one():
    """Every second a job of two nodes for 3 s; the one of six is the tenth."""
    rows = [(second, 6 if second == 10 else 2, 3) for second in range(60)]
    assert line(*rows)[1][10] == 62
    assert line(*rows, dispatcher=BACKFILLING)[1][10] == 12


def test_a_job_that_shares_nodes_gets_wholly_free_ones():
    """
    Two cores a node: jobs of 1, 3 and 4 cores need one, two and two nodes, and four are free.

    Jobs 1 and 2 fill them. The core that job 1 leaves on its second node is not for job 0.
    """
    nodes_of, at = line((0, 1, 10), (0, 3, 10), (0, 4, 10), system=machine(*[(2,)] * 4))
    assert nodes_of == {0: [1], 1: [1, 2], 2: [3, 4]}
    assert at == {0: 10, 1: 0, 2: 0}


def test_a_job_that_no_run_can_hold_goes_where_it_fits():
    """Nodes 1 and 3 have what it needs, and are not neighbours."""
    system = machine((1, 1), (1, 0), (1, 1), resources=("core", "gpu"))
    nodes_of, at = line(
        (0, 2, 10), (0, 1, 10), resources=("core", "gpu"), request=[[1, 1], [1, 0]], system=system
    )
    assert nodes_of == {0: [1, 3], 1: [2]}
    assert at == {0: 0, 1: 0}


def test_slots_end_at_a_node_that_is_down():
    """Two runs of two: jobs of two lie in them, one of three goes where there is room."""
    cluster = Cluster(machine(*[(1,)] * 5), build("dispatchers", "wla:interval=none"), Requested())
    cluster.set_down([2])

    def nodes(units):
        handle = cluster.submit(Request(requested_time=60, units=units), now=0)
        nodes_of_jobs = [start.allocation.node.tolist() for start in cluster.decide(0).actions]
        cluster.cancel(handle, 0)
        return nodes_of_jobs

    assert nodes(2) == [[0, 1]]
    assert nodes(3) == [[0, 1, 3]]
    cluster.set_down([])
    assert nodes(3) == [[0, 1, 2]]


def test_a_pool_is_refused():
    with pytest.raises(ConfigError, match="system four: jobs are placed on neighbouring") as error:
        line((0, 1, 1), system=pooled(parse(FOUR_CORES, where="four")))
    assert "\n" not in str(error.value)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=12))
def test_runs_are_as_long_as_can_be_and_of_one_sort(nodes):
    """A node goes on with the run before it if both are free and of one sort."""
    expected = []
    before = None
    for node, (is_free, sort) in enumerate(nodes):
        if is_free and before == (True, sort):
            expected[-1][1] = node + 1
        elif is_free:
            expected.append([node, node + 1])
        before = is_free, sort
    free = np.array([is_free for is_free, _ in nodes], dtype=np.bool_)
    begins = np.flatnonzero(np.diff([sort for _, sort in nodes], prepend=-1))
    assert np.transpose(runs(free, begins)).tolist() == expected
