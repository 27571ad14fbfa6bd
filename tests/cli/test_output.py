"""What is printed."""

from __future__ import annotations

from cpsched.cli.output import echo


def test_echo_keeps_line_ends(capsys):
    """A table has several lines."""
    echo("a\nb \x1b c")
    echo("")
    assert capsys.readouterr().out == "a\nb \\x1b c\n\n"
