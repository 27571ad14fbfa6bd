"""Text from outside, made safe to show."""

from __future__ import annotations

import pytest

from cpsched.words import brief, cell, counted, escaped, quoted, visible


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


def test_counted_takes_an_irregular_plural():
    assert counted(2, "entry", "entries") == "2 entries"
