"""The comparison table: aligned text, wrapped names, Markdown."""

from __future__ import annotations

from typing import Any

import pytest
from tiny import jobs, machine, run

from cpsched.metrics.summary import summarize
from cpsched.report.run_tables import comparison, placement_table
from cpsched.tables import Column, Table


def summary(**changes: Any) -> dict[str, Any]:
    """Return the parts of a summary that the table shows."""
    return {
        "counts": {"simulated": 372320, "rejected": 0},
        "wait_s": {"all": {"mean": 4438.1368, "p99": 61000.5, "max": 1234567}},
        "slowdown": {"all": {"mean": 141.126}},
        "bounded_slowdown": {"all": {"mean": 41.126, "p99": 812.4}},
        "queue_jobs": {"mean": 26.25, "max": 1850},
        "utilization": {"core": 0.4565, "gpu": None},
        "makespan_s": 368248,
        **changes,
    }


OTHER = summary(
    wait_s={"all": {"mean": 27.5, "p99": 100.0, "max": 3}}, utilization={"core": 0.4, "gpu": 0.25}
)

TEXT = """\
372,320 jobs simulated, 0 rejected

                        mean     p99        max                mean       p99    mean     max  core   gpu
                        wait    wait       wait      mean   bounded   bounded   queue   queue   use   use  makespan
dispatcher  predictor    [s]     [s]        [s]  slowdown  slowdown  slowdown  [jobs]  [jobs]   [%]   [%]       [h]
----------  ---------  -----  ------  ---------  --------  --------  --------  ------  ------  ----  ----  --------
fifo        requested  4,438  61,000  1,234,567     141.1     41.13     812.4   26.25   1,850  45.6     -     102.3
easy        last-2        28     100          3     141.1     41.13     812.4   26.25   1,850  40.0  25.0     102.3"""


def test_text_is_aligned():
    table = comparison([("fifo", "requested", summary()), ("easy", "last-2", OTHER)])
    assert table.text() == TEXT
    assert max(map(len, table.text().splitlines())) <= 120


def test_columns_nobody_has_are_left_out():
    table = comparison([("fifo", "requested", summary())])
    assert "gpu use" not in [column.header for column in table.columns]


def test_runs_of_different_jobs_have_columns_for_them():
    other = summary(counts={"simulated": 9, "rejected": 3})
    table = comparison([("fifo", "requested", summary()), ("easy", "requested", other)])
    assert table.caption == "runtime estimate: requested time"
    assert table.columns[1] == Column("jobs", "", (372320, 9))
    assert table.columns[2] == Column("rejected", "", (0, 3))


def test_long_names_are_wrapped_between_their_options():
    name = "prb:allocator=best-fit,backfill=sjf,priority=slowdown"
    text = comparison([(name, "requested", summary()), ("easy", "last-2", summary())]).text()
    assert max(map(len, text.splitlines())) <= 120
    lines = text.splitlines()
    at = lines.index(next(line for line in lines if line.startswith("prb:")))
    assert [line.split()[0] for line in lines[at:]] == [
        "prb:",
        "allocator=best-fit,",
        "backfill=sjf,",
        "priority=slowdown",
        "easy",
    ]
    # Numbers stand in the first line of their row.
    assert lines[at].endswith("102.3")
    assert lines[at + 1].split() == ["allocator=best-fit,"]


def test_options_longer_than_a_line_are_broken_within():
    text = comparison([("prb:priority=expected-wait", "requested", summary())]).text(width=100)
    lines = text.splitlines()
    at = lines.index(next(line for line in lines if line.startswith("prb:")))
    assert [line.split()[0] for line in lines[at:]] == ["prb:", "priority=", "expected-", "wait"]


def test_names_without_a_comma_are_cut_anywhere():
    text = comparison([("x" * 100, "y" * 100, summary()), ("fifo", "last-2", summary())]).text(
        width=120
    )
    assert max(map(len, text.splitlines())) <= 120
    # Two more stand in "max wait" and "max queue".
    assert text.count("x") == 100 + 2
    assert text.count("y") == 100


def test_a_narrow_terminal_gets_all_numbers():
    """Names give way down to 12 characters, numbers never."""
    text = comparison([("a" * 30, "requested", summary())]).text(width=20)
    assert "1,234,567" in text
    assert "a" * 12 in text
    assert "a" * 13 not in text


def test_markdown_aligns_numbers_right_and_escapes_bars():
    table = Table(
        "2 jobs", (Column("name", "", ("a|b", "c\nd")), Column("wait", "s", (1234, None)))
    )
    assert table.markdown() == (
        "2 jobs\n\n| name | wait [s] |\n| :--- | ---: |\n| a\\|b | 1,234 |\n| c d | - |"
    )


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ((1, 20000), ["1", "20,000"]),
        ((1.0, 99.994), ["1.00", "99.99"]),
        ((1.26, 16900.0), ["1.26", "16,900.00"]),
        ((123.45, 16900.0), ["123.5", "16,900.0"]),
        ((1234.5, 16900.0), ["1,234", "16,900"]),
        ((0.0, 1234.5), ["0", "1,234"]),
        ((None, None), ["-", "-"]),
        ((float("nan"), 5), ["nan", "5"]),
    ],
)
def test_a_column_has_one_precision(values, shown):
    """Enough for its least value; 1.26 beside 16,900 is not 1."""
    other = summary(slowdown={"all": {"mean": values[1]}})
    table = comparison(
        [("a", "p", summary(slowdown={"all": {"mean": values[0]}})), ("b", "p", other)]
    )
    column = next(column for column in table.columns if column.header == "mean slowdown")
    assert column.cells() == shown


def test_no_runs_make_an_empty_table():
    table = comparison([])
    assert table.caption == ""
    assert table.text().splitlines()[-1].startswith("----")
    assert table.markdown().count("\n") == 1


def test_a_run_in_which_nothing_ran_is_shown():
    found = summarize(run(jobs((0, 9, 5)), machine((1,)), "fifo").schedule)
    text = comparison([("fifo", "requested", found)]).text()
    assert text.startswith("0 jobs simulated, 1 rejected; runtime estimate: requested time")
    assert set(text.splitlines()[-1].split()) == {"fifo", "-"}


def test_where_jobs_lie():
    """Only of machines with nodes; columns of switches only where there are some."""
    plain = {
        name: {"mean": value}
        for name, value in (
            ("nodes", 4.0), ("packing_factor", 1.0213), ("fragmentation", 2.4), ("spread", 17.36),
            ("span_nodes", 110.7),
        )
    } | {"lowest_common_switch": None, "by_switch_level": None}  # fmt: skip
    switches = {
        **plain,
        "lowest_common_switch": {"mean": 1.06},
        "by_switch_level": {"0": {"jobs": 0.25, "job_time": 0.5}},
    }
    assert placement_table([("fifo", "requested", summary())]) is None
    assert placement_table([("fifo", "requested", summary(placement=None))]) is None
    table = placement_table(
        [("fifo", "requested", summary(placement=plain)), ("easy", "last-2", summary())]
    )
    assert [column.header for column in table.columns] == [
        "dispatcher", "predictor", "mean nodes", "packing factor", "mean fragmentation",
        "mean spread", "mean span",
    ]  # fmt: skip
    text = placement_table([("fifo", "requested", summary(placement=switches))]).text()
    assert text.splitlines()[0] == "where jobs lie; runtime estimate: requested time"
    assert text.splitlines()[-1].split() == [
        "fifo", "4.00", "1.021", "2.40", "17.36", "110.7", "1.06", "25.0",
    ]  # fmt: skip
