"""Nodes that go down: what runs there is queued again, and nothing starts there meanwhile."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import Given
from tiny import jobs, machine, machines, run, workloads

from cpsched.errors import ConfigError, CpschedError
from cpsched.model.estimates import Requested
from cpsched.model.schedule import JobOutcome
from cpsched.simulation.outages import OutageTable, RandomOutages
from cpsched.simulation.simulator import Simulator
from cpsched.study.reader import load_run
from cpsched.study.writer import save_run
from cpsched.systems.mapping import fit
from cpsched.util.spec import build
from cpsched.verification import verify


def table(folder, *rows):
    """Return the specification of a table of outages."""
    path = folder / "down.csv"
    known = ",known" if any(row.count(",") > 2 for row in rows) else ""
    path.write_text(f"node,from,to{known}\n" + "".join(f"{row}\n" for row in rows))
    return f"table:file={path}"


def test_what_runs_on_a_node_that_fails_is_queued_again(tmp_path):
    """
    A runs on n0 and B on n1; n0 fails at 4 and is up at 20.

    A begins anew behind B, on n1. C, which needs both nodes, waits until both are there.
    """
    rows = (0, 1, 10), (0, 1, 6), (1, 2, 5)
    down = table(tmp_path, "n0,4,20")
    schedule = run(jobs(*rows), machine((1,), (1,)), "fifo", outages=down).schedule
    assert schedule.start.tolist() == [6, 0, 20]
    assert schedule.end.tolist() == [16, 6, 25]
    assert schedule.outcome.tolist() == [JobOutcome.COMPLETED] * 3
    held = schedule.segments
    assert sorted(zip(held.job, held.start, held.end, strict=True))[:2] == [(0, 0, 4), (0, 6, 16)]
    assert verify(schedule) == []


def test_a_job_that_ends_as_its_node_fails_has_ended(tmp_path):
    down = table(tmp_path, "n0,10,20")
    schedule = run(jobs((0, 1, 10)), machine((1,)), "fifo", outages=down).schedule
    assert schedule.end.tolist() == [10]


def test_jobs_wait_for_a_node_that_is_down_from_the_first_second(tmp_path):
    down = table(tmp_path, "n0,-5,7")
    schedule = run(jobs((0, 1, 2), (0, 1, 2)), machine((1,)), "easy", outages=down).schedule
    assert schedule.start.tolist() == [7, 9]
    assert verify(schedule) == []


def test_a_run_on_disk_knows_its_outages(tmp_path):
    down = table(tmp_path, "n0,4,20", "n1,30,40")
    result = run(jobs((0, 1, 10), (0, 1, 6)), machine((1,), (1,)), "fifo", outages=down)
    save_run(result, tmp_path / "run")
    read = load_run(tmp_path / "run").schedule
    assert read.outages.node.tolist() == [0, 1]
    assert read.outages.start.tolist() == [4, 30]
    assert read.outages.end.tolist() == [20, 40]
    assert verify(read) == []


def test_drawn_outages_are_those_of_the_seed():
    """Of 50 nodes with a day between failures, over 100 days, each fails about 85 times."""
    model = RandomOutages(mtbf=86400, repair=14400)
    names = [f"n{at}" for at in range(50)]
    outages = model.outages(names, 0, 100 * 86400, 7)
    assert outages.overlap() is None
    assert 50 * 75 < len(outages) < 50 * 95
    assert 0.9 * 14400 < (outages.end - outages.start).mean() < 1.1 * 14400
    again = model.outages(names, 0, 100 * 86400, 7)
    assert np.array_equal(outages.start, again.start)
    assert not np.array_equal(outages.start, model.outages(names, 0, 100 * 86400, 8).start)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("n9,0,5", r"down.csv:2.*node.*unknown node 'n9'. Nodes: n0"),
        ("n0,x,5", r"down.csv:2.*from.*'x' is not a whole number of seconds"),
        ("n0,5", r"down.csv:2.*to.*'' is not a whole number of seconds"),
        ("n0,5,5", r"down.csv:2.*to.*5 is not after 5"),
        ("n0,0,9\nn0,5,12", r"down.csv: node n0 is down twice at 5"),
        ("n0,50,60,soon", r"down.csv:2.*known.*'soon' is not a whole number of seconds"),
        ("n0,50,60,51", r"down.csv:2.*known.*51 is after 50, when the node goes down"),
    ],
)
def test_bad_tables(tmp_path, row, message):
    with pytest.raises(CpschedError, match=message):
        run(jobs((0, 1, 1)), machine((1,)), "fifo", outages=table(tmp_path, row))


def test_tables_that_are_none(tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("node,start,end\n")
    with pytest.raises(
        ConfigError, match=r"has the columns node, start, end, must have node, from"
    ):
        OutageTable(str(path)).outages(["n0"], 0, 1, 0)
    with pytest.raises(ConfigError, match="cannot be read"):
        OutageTable(str(tmp_path / "none.csv")).outages(["n0"], 0, 1, 0)


outage = st.tuples(st.integers(0, 3), st.integers(-5, 60), st.integers(1, 30))


@settings(max_examples=60)
@given(
    system=machines(),
    data=st.data(),
    spec=st.sampled_from(
        ["fifo", "easy", "easy:order=wsept", "conservative", "lookahead",
         "slurm-backfill", "speculative:dispatcher=easy,seconds=3,least=5", "cph-1:limit=0.001"]
    ),
)  # fmt: skip
def test_whatever_fails_no_job_is_lost(system, data, spec):
    """The schedule is valid, every job ends, and it is the same after a checkpoint."""
    workload = data.draw(workloads())
    rows = {}
    down = []
    for node, start, length in sorted(data.draw(st.lists(outage, max_size=6)), key=lambda o: o[1]):
        if node < system.num_nodes and rows.get(node, -99) < start:
            down.append((node, start, start + length))
            rows[node] = start + length
    fitted = fit(workload, system)
    first, second = (
        Simulator(fitted, build("dispatchers", spec), Requested(), outages=Given(*down))
        for _ in range(2)
    )
    first.run(until=data.draw(st.integers(0, 60)))
    second.restore(first.state())
    first.run()
    second.run()
    assert second.start_time.tolist() == first.start_time.tolist()
    assert not (first.outcome == JobOutcome.NOT_ENDED).any()


def test_a_state_saved_before_anything_has_happened_knows_no_outage():
    """The node is down in the first second, which is also the time of a new simulator."""
    fitted = fit(jobs((0, 1, 5)), machine((1,)))
    first, second = (
        Simulator(fitted, build("dispatchers", "fifo"), Requested(), outages=Given((0, 0, 3)))
        for _ in range(2)
    )
    second.restore(first.state())
    second.run()
    assert second.start_time.tolist() == [3]
