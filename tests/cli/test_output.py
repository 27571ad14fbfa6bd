"""What is printed."""

from __future__ import annotations

import os
import sys

from rich.progress import Progress, ProgressSample

from cpsched.cli.output import echo
from cpsched.cli.progress import counted_of, times
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


def test_progress_says_nothing_before_it_is_known():
    """No "0 of 0" or "0 of ?", and no time left before one can be estimated."""
    progress = Progress()
    for total in (None, 0):
        progress.add_task("", total=total, unit="runs")
        task = progress.tasks[-1]
        assert counted_of(task) == ""
        assert "left" not in times(task)
    progress.add_task("", total=2000, unit="jobs")
    task = progress.tasks[-1]
    assert counted_of(task) == "0 of 2,000 jobs"
    assert times(task) == "0 s elapsed"
    task.start_time, task.completed = 0.0, 500
    task._progress.extend([ProgressSample(0.0, 0.0), ProgressSample(10.0, 500.0)])
    assert counted_of(task) == "500 of 2,000 jobs"
    assert times(task).endswith(" elapsed, 30 s left")
