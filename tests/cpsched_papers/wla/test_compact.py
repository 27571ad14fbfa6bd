"""Another dispatcher says when jobs start, slots say where."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import Nodes, jobs, machine, run

from cpsched.base.spec import build
from cpsched.checks import check_keeps_promises
from cpsched.verification import verify


def simulate(workload, system, dispatcher, **more):
    nodes = Nodes()
    done = run(workload, system, dispatcher, observers=[nodes], **more)
    return done.schedule, nodes


def test_easys_promise_to_its_head_is_kept():
    check_keeps_promises(lambda: build("dispatchers", "compact:dispatcher=easy"))


#: Leaves nodes 0, 3, 4, 5 of six free at 10.
HOLES = ((0, 1, 10), (0, 2, 100), (0, 3, 10))


def test_jobs_move_to_runs():
    """EASY gives the job of two nodes 0 and 3; it lies on 3 and 4, and the job of one on 0."""
    rows = (*HOLES, (5, 2, 10), (6, 1, 10))
    assert simulate(jobs(*rows), machine(*[(1,)] * 6), "easy")[1].of[3] == [0, 3]
    found, nodes = simulate(jobs(*rows), machine(*[(1,)] * 6), "compact:dispatcher=easy")
    assert (nodes.of[3], nodes.of[4]) == ([3, 4], [0])
    assert found.start.tolist() == [0, 0, 0, 10, 10]


def test_who_fits_no_slot_stays_where_it_was():
    """Four nodes are in no run of four: 0, 3, 4, 5 as EASY has it."""
    nodes = simulate(jobs(*HOLES, (5, 4, 10)), machine(*[(1,)] * 6), "compact:dispatcher=easy")[1]
    assert nodes.of[3] == [0, 3, 4, 5]


def test_who_stays_is_in_nobodys_way():
    """The job of three stays on 0, 3, 4, since the job of two is packed first and needs 3 and 4."""
    rows = ((0, 1, 10), (0, 2, 100), (0, 2, 10), (0, 1, 100), (5, 3, 10))
    found, nodes = simulate(jobs(*rows), machine(*[(1,)] * 6), "compact:dispatcher=easy")
    assert nodes.of[4] == [0, 3, 4]
    assert verify(found) == []


def test_nodes_that_are_reserved_stay_free():
    """
    Of six nodes 2 and 3 are busy until 100, when the head gets these and 0, 1 and 4.

    The job behind it runs beyond that: node 5 is for it, though the slots at 0 and 4 come first.
    """
    rows = ((0, 2, 5), (0, 2, 100), (0, 2, 5), (1, 5, 50), (2, 1, 500))
    found, nodes = simulate(jobs(*rows), machine(*[(1,)] * 6), "compact:dispatcher=easy")
    plain = simulate(jobs(*rows), machine(*[(1,)] * 6), "easy")[0]
    assert found.start.tolist() == plain.start.tolist()
    assert found.start[3] == 100
    assert nodes.of[4] == [5]


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 8), st.integers(1, 30)), min_size=1, max_size=25),
    # Not conservative: which nodes its reservations are on depends on which were free before.
    st.sampled_from(["easy", "easy:priority=slowdown", "prb", "fifo"]),
)  # fmt: skip
def test_on_whole_nodes_alike_starts_are_those_of_the_other(rows, when):
    """Moving jobs among nodes that are alike changes nobody's start."""
    workload = jobs(*sorted(rows, key=lambda row: row[0]))
    system = machine(*[(1,)] * 8)
    plain, _ = simulate(workload, system, when)
    found, _ = simulate(workload, system, f'compact:dispatcher="{when}"')
    assert found.start.tolist() == plain.start.tolist()
    assert verify(found) == []
