"""What is printed."""

from __future__ import annotations

import pytest

from cpsched.cli.output import counted, echo, escaped


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


def test_echo_keeps_line_ends(capsys):
    """A table has several lines."""
    echo("a\nb \x1b c")
    echo("")
    assert capsys.readouterr().out == "a\nb \\x1b c\n\n"


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 jobs"), (1, "1 job"), (2, "2 jobs"), (1234, "1,234 jobs")]
)
def test_counted(number, text):
    assert counted(number, "job") == text


def test_counted_takes_an_irregular_plural():
    assert counted(2, "entry", "entries") == "2 entries"
