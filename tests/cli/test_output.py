"""What is printed."""

import io
import os
import sys
import time

import pytest
from rich.console import Console
from rich.progress import Progress, ProgressSample

from cpsched.cli import progress
from cpsched.cli.heading import say
from cpsched.cli.output import echo
from cpsched.cli.progress import counted_of, times, working


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
    bars = Progress()
    for total in (None, 0):
        bars.add_task("", total=total, unit="runs")
        task = bars.tasks[-1]
        assert counted_of(task) == ""
        assert "left" not in times(task)
    bars.add_task("", total=2000, unit="jobs")
    task = bars.tasks[-1]
    assert counted_of(task) == "0 of 2,000 jobs"
    assert times(task) == "0 s elapsed"
    task.start_time, task.completed = 0.0, 500
    task._progress.extend([ProgressSample(0.0, 0.0), ProgressSample(10.0, 500.0)])
    assert counted_of(task) == "500 of 2,000 jobs"
    assert times(task).endswith(" elapsed, 30 s left")


@pytest.fixture
def patient(monkeypatch):
    """A terminal of 80 columns."""
    shown = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress, "_console", lambda: shown)
    return shown.file


def _wait_for(shown, words):
    """Wait until a terminal shows something; another thread draws it."""
    for _ in range(1000):
        if words in shown.getvalue():
            return
        time.sleep(0.02)
    raise AssertionError(shown.getvalue())


def test_what_takes_long_is_named(patient):
    """Without a bar where nobody knows how much there is."""
    with working("planning with cp-pool"):
        _wait_for(patient, "planning with cp-pool")
    assert "elapsed" in patient.getvalue()
    assert "%" not in patient.getvalue()


def test_nothing_is_shown_in_a_pipe(patient, monkeypatch):
    """Only on a terminal."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    with working("planning"):
        pass
    assert patient.getvalue() == ""


def test_a_share_is_shown_where_it_is_known(patient):
    with working("reading log.gz") as tell:
        tell(1, 2)
        _wait_for(patient, "50 %")
