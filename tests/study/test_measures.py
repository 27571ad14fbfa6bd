"""What is measured of a run: columns for programs, and the tables of them for people."""

from types import SimpleNamespace

import pytest
from cpsched.report.readable import readable
from cpsched.study.measures import STATISTICS, figures_of
from cpsched.study.tables import Rows

PLACEMENT = {
    "fragmentation": {"mean": 2.4, "std": 2.3},
    "spread": {"mean": 17.4, "std": 36.0},
    "span_nodes": {"mean": 110.7, "std": 50.0},
    "lowest_common_switch": None,
}
LOST = {"requeued": 0.0125, "killed": 0.0, "restarting": 0.002, "resizing": 0.0}


def summary(**changes):
    """Return the parts of a summary that the tables show."""
    of_jobs = {"all": {**dict.fromkeys(STATISTICS, 9.0), "p99.9": 99000.5, "max": 1234567}}
    return {
        "wait_s": of_jobs,
        "slowdown": of_jobs,
        "bounded_slowdown": of_jobs,
        "utilization": {"core": 0.4565, "gpu": None},
        "steady_utilization": {"core": 0.5, "gpu": None},
        "makespan_s": 368248,
        "goodput": 0.4,
        "lost": dict.fromkeys(LOST, 0.0),
        "restarts": {"jobs": 0, "starts_cut_short": 0},
        **changes,
    }


def tables_of(*summaries, allocators=(), **counts):
    """Return the tables of all jobs for people, by title."""
    rows = [
        {"workload": "w", "system": "s", "dispatcher": f"d{at}", "predictor": "requested",
         "allocator": allocators[at] if allocators else "best-fit", "repetitions": 1,
         "simulated": 9, "rejected": 0, "killed": 0, **counts, **figures_of(content)}
        for at, content in enumerate(summaries)
    ]  # fmt: skip
    none = Rows.of([])
    tables = SimpleNamespace(
        results=SimpleNamespace(by_group=False), summary=Rows.of(rows), classes=none, sizes=none,
        differences=none, gains=none, timing=none,
    )  # fmt: skip
    return {content.title: content.table for content in readable(tables)["summary"]}


def heads(table):
    return [column.header for column in table.columns]


def test_measures_become_columns():
    """Means and deviations; a machine without switches has none of their columns."""
    figures = figures_of(summary(placement=PLACEMENT))
    assert figures["fragmentation_mean"] == 2.4
    assert figures["spread_std"] == 36.0
    assert figures["utilization_core"] == 0.4565
    assert not [name for name in figures if "switch" in name]
    switches = {"lowest_common_switch": {"mean": 1.0, "std": 0.5}}
    figures = figures_of(summary(placement={**PLACEMENT, **switches}))
    assert figures["lowest_common_switch_mean"] == 1.0
    with pytest.raises(ValueError, match="'x' is not a number"):
        figures_of(summary(makespan_s="x"))


def test_placement_is_a_table_where_a_machine_has_nodes():
    """None on pools."""
    tables = tables_of(summary(placement=PLACEMENT))
    table = tables["placement of jobs"]
    assert table.caption == "allocator: best-fit"
    assert {"fragmentation", "span nodes, deviation"} <= set(heads(table))
    assert "placement of jobs" not in tables_of(summary())


def test_columns_nobody_has_are_left_out():
    """GPUs where there are none, a steady window where there is none, users and lost work."""
    tables = tables_of(summary(steady_utilization={"core": None}))
    table = tables["the system"]
    assert not {"gpu utilization", "core utilization, steady", "node utilization"} & set(
        heads(table)
    )
    assert heads(table)[-2:] == ["p99.9 wait", "max wait"]
    assert not {"mean wait of users", "work lost"} & set(tables)


def test_lost_work_is_a_table_where_there_is_some():
    """In all rows then, and why; also where jobs were only killed."""
    lossy = summary(restarts={"jobs": 2, "starts_cut_short": 3}, lost=LOST)
    columns = {
        column.header: column.values for column in tables_of(lossy, summary())["work lost"].columns
    }
    assert columns["starts cut short"] == (3, 0)
    assert columns["lost, requeued"] == (1.25, 0.0)
    assert columns["lost, restarting"] == (0.2, 0.0)
    assert columns["goodput"] == (40.0, 40.0)
    columns = {
        column.header: column.values
        for column in tables_of(summary(), killed=7)["work lost"].columns
    }
    assert columns["killed"] == (7,)


def test_allocators_that_differ_are_a_column():
    tables = tables_of(summary(), summary(), allocators=["first-fit", None])
    assert tables["wait"].columns[2].cells() == ["first-fit", "-"]
