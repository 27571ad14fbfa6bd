"""Tables of the machine, and tables at all: aligned text, wrapped names, Markdown."""

from __future__ import annotations

from typing import Any

import pytest

from cpsched.base.tables import Better, Column, Table, decimals_for
from cpsched.show.run_tables import machine_table


def summary(**changes: Any) -> dict[str, Any]:
    """Return the parts of a summary that the tables show."""
    return {
        "counts": {"simulated": 372320, "rejected": 0},
        "wait_s": {"all": {"mean": 4438.1368, "p99": 61000.5, "p99.9": 99000.5, "max": 1234567}},
        "slowdown": {"all": {"mean": 141.126}},
        "bounded_slowdown": {"all": {"mean": 41.126, "p99": 812.4}},
        "response_by_area_s": 88345.6,
        "queue_jobs": {"mean": 26.25, "max": 1850},
        "utilization": {"core": 0.4565, "gpu": None},
        "steady_utilization": {"core": 0.5, "gpu": None},
        "makespan_s": 368248,
        **changes,
    }


def test_columns_nobody_has_are_left_out():
    """GPUs where there are none, a steady window where there is none."""
    table = machine_table([("fifo", "requested", summary(steady_utilization={"core": None}))])
    heads = [column.header for column in table.columns]
    assert "gpu use" not in heads
    assert "core use, steady" not in heads
    assert heads[-2:] == ["p99.9 wait", "max wait"]
    assert table.caption == "the machine; runtime estimate: requested time"


def test_starts_cut_short_are_shown_where_there_are_some():
    """In all rows then, with what was lost to them and why."""
    reasons = ("requeued", "killed", "restarting", "resizing")
    some = summary(
        restarts={"jobs": 2, "starts_cut_short": 3, "lost_share": 0.0125},
        goodput=0.4,
        lost=dict(zip(reasons, (0.0125, 0.0, 0.002, 0.0), strict=True)),
    )
    none = summary(
        restarts={"jobs": 0, "starts_cut_short": 0, "lost_share": 0.0},
        goodput=0.45,
        lost=dict.fromkeys(reasons, 0.0),
    )
    headers = [column.header for column in machine_table([("fifo", "requested", none)]).columns]
    assert "starts cut short" not in headers
    columns = machine_table([("try", "requested", some), ("fifo", "requested", none)]).columns
    lost = {column.header: column.values for column in columns}
    assert lost["starts cut short"] == (3, 0)
    assert lost["lost, requeued"] == (1.25, 0.0)
    assert lost["lost, restarting"] == (0.2, 0.0)
    assert lost["goodput"] == (40.0, 45.0)
    assert not {"lost, killed", "lost, resizing"} & lost.keys()


def test_killed_jobs_are_counted_beside_the_figures_without_them():
    killed = summary(counts={"simulated": 372320, "rejected": 0, "killed": 7})
    columns = machine_table([("a", "requested", killed), ("b", "requested", summary())]).columns
    assert [one.values for one in columns if one.header == "killed"] == [(7, None)]
    columns = machine_table([("b", "requested", summary())]).columns
    assert "killed" not in [one.header for one in columns]


def test_allocators_that_differ_are_a_column():
    rows = [("fifo", "requested", summary()), ("rollout", "requested", summary())]
    table = machine_table([*rows, rows[0]], ["first-fit", "consolidate", None])
    assert table.columns[1] == Column("allocator", "", ("first-fit", "consolidate", "-"))


def named(name: str, numbers: int = 4) -> Table:
    """Return a table of one name and columns of six digits, 7 characters each."""
    columns = [Column(f"n{at}", "", (123456,)) for at in range(numbers)]
    return Table("", (Column("name", "", (name,)), *columns))


def test_long_names_are_wrapped_between_their_options():
    lines = named("prb:allocator=best-fit,backfill=sjf,priority=slowdown").text(56).splitlines()
    assert [line.split()[0] for line in lines[2:]] == [
        "prb:", "allocator=best-fit,", "backfill=sjf,", "priority=slowdown",
    ]  # fmt: skip
    # Numbers stand in the first line of their row.
    assert lines[2].endswith("123,456")
    assert lines[3].split() == ["allocator=best-fit,"]


def test_options_longer_than_a_line_are_broken_within():
    lines = named("prb:priority=expected-wait").text(48).splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["prb:", "priority=", "expected-", "wait"]


def test_names_without_a_comma_are_cut_anywhere():
    text = named("x" * 100).text(56)
    assert max(map(len, text.splitlines())) <= 56
    assert text.count("x") == 100


def test_a_table_that_is_too_wide_goes_on_below():
    """Two columns of 7 beside a name of 12 in 30 characters; numbers are never cut."""
    assert named("fifo", 3).text(30) == (
        "name       n0       n1\n----  -------  -------\nfifo  123,456  123,456\n\n"
        "name       n2\n----  -------\nfifo  123,456"
    )
    text = machine_table([("a" * 30, "requested", summary())]).text(width=20)
    assert "1,234,567" in text
    assert "a" * 12 in text
    assert "a" * 13 not in text


def test_what_belongs_together_is_not_torn_apart():
    """A verdict follows its ratio, also where only one of both would have fitted above."""
    columns = (
        Column("name", "", ("easy",)),
        Column("mean", "", (123456,)),
        Column("ratio", "", ("0.50 (0.40 to 0.60)",), sorted_by=(0.5,)),
        Column("verdict", "", ("lower",), joined=True),
    )
    first, second = Table("", columns).text(36).split("\n\n")
    assert first.splitlines()[0].split() == ["name", "mean"]
    assert second.splitlines()[0].split() == ["name", "ratio", "verdict"]


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
    column = Column("mean slowdown", "", values, decimals_for(values))
    assert column.cells() == shown


def test_no_runs_make_an_empty_table():
    table = Table("", (Column("name", "", ()), Column("wait", "s", ())))
    assert table.text().splitlines()[-1].startswith("----")
    assert table.markdown().count("\n") == 1


def test_seconds_are_time_spans_on_a_screen_and_numbers_in_files():
    """The best is still the best, and what is not known stays so."""
    waits = Column("wait", "s", (5000, None, 25.4), better=Better.LOWER)
    table = Table("", (Column("name", "", ("a", "b", "c")), waits))
    assert table.in_words().columns[1].cells() == ["1 h 23 min", "-", "25 s"]
    assert table.in_words().columns[1].sorted_by == waits.values
    assert table.in_words().text().splitlines()[0] == "name        wait"
    assert "[s]" in table.markdown()
    assert "5,000" in table.markdown()
    known = Column("wait", "s", (5000, 25.4), better=Better.LOWER)
    assert known.best == known.in_words().best == 25.4
    # Of other units nothing is known.
    others = Table("", (Column("use", "%", (57.8,), 1), Column("queue", "jobs", (3,))))
    assert others.in_words() == others
