"""Text from outside, made safe to show."""

import pytest

from cpsched.util.words import (
    amount,
    brief,
    cell,
    counted,
    duration,
    escaped,
    quoted,
    ratio,
    visible,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("Zürich, 日本", "Zürich, 日本"),
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x00\x7f\x9b", "\\x00\\x7f\\x9b"),
        ("\u202eabc", "\\u202eabc"),  # turns the direction of what follows
        ("\udcff.swf", "\\udcff.swf"),  # a file name that is not UTF-8
        ("back\\slash", "back\\slash"),
    ],
)
def test_escaped(text, shown):
    """Letters of any script stay, what a terminal would obey does not."""
    assert escaped(text) == shown
    assert escaped(text).isprintable()


def test_names_from_logs_are_short_and_on_one_line():
    """Whoever wrote the log may have put anything into them."""
    assert brief("j\n1") == r"j\n1"
    assert brief("") == quoted("") == "''"
    assert brief("x" * 80) == "x" * 80
    assert brief("x" * 81) == "x" * 77 + "..."
    assert quoted("a\x1bb") == r"'a\x1bb'"
    assert quoted("x" * 99) == f"'{'x' * 55}...'"


def test_visible_text_keeps_its_lines():
    """What a page or a CSV file may hold, and nothing that a file of text may not."""
    text = "a\tb\n\x1b[31m\x85\ud800\u202e"
    assert visible(text) == "a\tb\n" + r"\x1b[31m\x85\ud800" + "\u202e"
    assert visible("plain é") == "plain é"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-2+3", "'-2+3"),
        ("+x", "'+x"),
        ("-4", "-4"),
        ("+4.5", "+4.5"),
        ("a=b", "a=b"),
        ("", ""),
        ("\x07", "\\x07"),
        (-4, -4),
        (None, None),
    ],
)
def test_cells_of_spreadsheets_are_no_formulas(value, shown):
    assert cell(value) == shown


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 jobs"), (1, "1 job"), (2, "2 jobs"), (1234, "1,234 jobs")]
)
def test_counted(number, text):
    assert counted(number, "job") == text
    irregular = text.replace("jobs", "entries").replace("job", "entry")
    assert counted(number, "entry", "entries") == irregular


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.25, "0.25 s"),
        (9.99, "10 s"),
        (45, "45 s"),
        (59.7, "1 min"),
        (200, "3 min 20 s"),
        (3599.6, "1 h"),
        (3600, "1 h"),
        (5040, "1 h 24 min"),
        (86399.9, "1 d"),
        (183600, "2 d 3 h"),
        (102 * 86400 + 30, "102 d"),
        (-75, "-1 min 15 s"),
    ],
)
def test_time_spans_have_two_units_at_most(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((0, "×0.00"), (0.0021, "×0.0021"), (1, "×1.00"), (1.116, "×1.12"), (12.34, "×12.3")),
        *((123.4, "×123"), (255978768600.84, "over ×1,000")),
    ],
)
def test_ratios(value, text):
    assert ratio(value) == text


@pytest.mark.parametrize(
    ("kind", "number", "text"),
    [
        ("core", 1234, "1,234 cores"),
        ("gpu", 1, "1 GPU"),
        ("mem", 512, "512 KB memory"),
        ("mem", 2048, "2 MB memory"),
        ("mem", 9663676, "9.216 GB memory"),
        ("mem", 3 << 29, "1.5 TB memory"),
    ],
)
def test_amounts_of_memory_have_a_unit_that_fits(kind, number, text):
    assert amount(kind, number) == text
