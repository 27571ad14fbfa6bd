"""A scheduler for each machine of a system: as if every machine were alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import result, simulator
from tiny import jobs, run, starts

from cpsched.api.checks import CheckError
from cpsched.checks import check_dispatcher
from cpsched.errors import ConfigError
from cpsched.mapping import fit
from cpsched.model.workload import Labels
from cpsched.simulation import checkpoint
from cpsched.systems import parse
from many_machines.dispatcher import PerMachine
from many_machines.separate import machines_of
from many_machines.whole import Machines

TWO = """
resources = ["core"]
[[nodes]]
group = "a"
count = 2
core = 2
names = "a{}"
[[nodes]]
group = "b"
count = 3
core = 1
names = "b{}"
[[queues]]
name = "a"
groups = ["a"]
[[queues]]
name = "b"
groups = ["b"]
"""


def two(more=""):
    """A machine of two nodes with two cores each, and one of three nodes with a core each."""
    return parse(TWO + more, where="two.toml", name="two")


def test_a_head_that_waits_holds_up_its_own_machine_alone():
    """FIFO on the whole stops at job 1, which waits for a; on each machine, job 2 starts at once."""
    # a (4 cores)  |0000 1111
    # b (3 cores)  |2
    log = jobs((0, 4, 4), (1, 4, 4), (2, 3, 1), queue=["a", "a", "b"])
    assert starts(log, two(), "fifo") == [0, 4, 4]
    assert starts(log, two(), "per-machine:dispatcher=fifo") == [0, 4, 2]


def test_queues_that_share_nodes_are_of_one_machine():
    """As are those joined by a third; a system without queues is one."""
    more = '[[queues]]\nname = "c"\ngroups = ["b"]\n'
    found = machines_of(two(more))
    assert [one.queues for one in found] == [("a",), ("b", "c")]
    assert found[0].nodes.tolist() == [True, True, False, False, False]
    assert [one.queues for one in machines_of(two(more + '[[queues]]\nname = "d"\n'))] == [
        ("a", "b", "c", "d")
    ]


@st.composite
def logs(draw):
    """Some jobs of both machines, of which some end at once, and some can never run."""
    row = st.tuples(st.integers(0, 30), st.integers(1, 5), st.integers(0, 9), st.integers(1, 15))
    rows = sorted(draw(st.lists(row, min_size=1, max_size=25)))
    queues = draw(st.lists(st.sampled_from("ab"), min_size=len(rows), max_size=len(rows)))
    return jobs(*rows, queue=queues)


@pytest.mark.slow
@given(log=logs())
@settings(max_examples=30)
@pytest.mark.parametrize(
    "dispatcher",
    [
        "easy",
        "easy:allocator=best-fit,backfill=sjf",
        "conservative:depth=2",
        "fifo",
        "prb:priority=sjf",
    ],
)
def test_each_machine_is_as_it_is_alone(dispatcher, log):
    """Starts and nodes, job by job."""
    machines = Machines.of(two())
    whole = run(log, machines.whole, f'per-machine:dispatcher="{dispatcher}"').schedule
    for at, name in enumerate(machines.names):
        rows = np.flatnonzero(np.array(log.queue.decode()) == name)
        if not len(rows):
            continue
        alone = run(log.take(rows), machines.alone(at), dispatcher).schedule
        assert alone.start.tolist() == whole.start[rows].tolist()
        own = whole.segments.take(np.flatnonzero(np.isin(whole.segments.job, rows)))
        assert (alone.segments.node + machines.spans[at][0]).tolist() == own.node.tolist()


@pytest.mark.slow
@given(log=logs(), until=st.integers(0, 40))
@settings(max_examples=20)
def test_going_on_from_a_file_gives_the_same(log, until, tmp_path_factory):
    """Stop anywhere, write, read, go on."""
    fitted, spec = fit(log, two()), "per-machine"
    whole, cut, again = (simulator(fitted, spec) for _ in range(3))
    whole.run()
    cut.run(until=until)
    path = tmp_path_factory.mktemp("checkpoint") / "state.npz"
    checkpoint.write(path, "me", cut.state())
    again.restore(checkpoint.read(path, "me"))
    again.run()
    assert result(again) == result(whole)


@pytest.mark.slow
def test_it_keeps_what_dispatchers_must():
    """On a system that is one machine."""
    try:
        check_dispatcher(PerMachine)
    except CheckError as error:
        pytest.fail(str(error))


def test_a_job_of_several_machines_is_refused():
    """Nobody could say whose scheduler starts it."""
    log = jobs((0, 1, 1)).with_columns(queue=Labels.encode(["a,b"]))
    with pytest.raises(ConfigError, match="in a,b, which are of several machines"):
        run(log, two(), "per-machine")


def test_it_does_not_wrap_itself():
    """One scheduler on each machine is enough."""
    with pytest.raises(ConfigError, match="must be a dispatcher of another kind"):
        PerMachine("per-machine")
