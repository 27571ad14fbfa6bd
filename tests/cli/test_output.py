"""What is printed."""

from __future__ import annotations

import os
import sys

from cpsched.cli.output import echo
from cpsched.cli.report import say


def test_echo_keeps_line_ends(capsys):
    """A table has several lines."""
    echo("a\nb \x1b c")
    echo("")
    assert capsys.readouterr().out == "a\nb \\x1b c\n\n"


def test_sentences_are_wrapped_on_a_terminal_alone(capsys, monkeypatch):
    """Between words, with the indent of the first line; names that are too long stay whole."""
    text = "  to run them: " + "compare the nodes " * 8 + "with --add-nodes " + "x" * 90
    say(text)
    assert capsys.readouterr().out == f"{text}\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((80, 24)))
    say(text)
    *lines, last = capsys.readouterr().out.splitlines()
    assert len(lines) > 1
    assert all(len(line) <= 80 and line.startswith("  ") for line in lines)
    assert last.strip() == "x" * 90
    assert " ".join(line.strip() for line in [*lines, last]) == text.strip()
