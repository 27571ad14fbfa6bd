"""Tables: aligned text, wrapped names, Markdown."""

import pytest
from cpsched.util.tables import Better, Column, Table, decimals_for


def named(name, numbers=4):
    """Return a table of one name and columns of six digits, 7 characters each."""
    columns = [Column(f"n{at}", "", (123456,)) for at in range(numbers)]
    return Table("", (Column("name", "", (name,)), *columns))


def test_long_names_are_wrapped_between_their_options():
    lines = named("greedy:allocator=best-fit,backfill=sjf,order=slowdown").text(56).splitlines()
    assert [line.split()[0] for line in lines[2:]] == [
        "greedy:", "allocator=best-fit,", "backfill=sjf,", "order=slowdown",
    ]  # fmt: skip
    # Numbers stand in the first line of their row.
    assert lines[2].endswith("123,456")
    assert lines[3].split() == ["allocator=best-fit,"]


def test_options_longer_than_a_line_are_broken_within():
    lines = named("greedy:order=expected-wait").text(48).splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["greedy:", "order=", "expected-", "wait"]


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
    text = named("a" * 30).text(width=20)
    assert "123,456" in text
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
    """What is not known stays so."""
    waits = Column("wait", "s", (5000, None, 25.4), better=Better.LOWER)
    table = Table("", (Column("name", "", ("a", "b", "c")), waits))
    assert table.in_words().columns[1].cells() == ["1 h 23 min", "-", "25 s"]
    assert table.in_words().columns[1].sorted_by == waits.values
    assert table.in_words().text().splitlines()[0] == "name        wait"
    assert "[s]" in table.markdown()
    assert "5,000" in table.markdown()
    # Of other units nothing is known.
    others = Table("", (Column("use", "%", (57.8,), 1), Column("queue", "jobs", (3,))))
    assert others.in_words() == others
