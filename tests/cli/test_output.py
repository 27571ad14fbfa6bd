"""What is printed."""

import io
import os
import sys
import time

import pytest
from rich.console import Console
from small_studies import swf

from cpsched.cli import progress
from cpsched.cli.heading import say
from cpsched.cli.output import echo
from cpsched.cli.progress import study_bars, working
from cpsched.study.log_study import study_of_log
from cpsched.study.run_spec import run_specs, run_titles


def test_echo_keeps_line_ends(capsys):
    """A table has several lines."""
    echo("a\nb \x1b c")
    echo("")
    assert capsys.readouterr().out == "a\nb \\x1b c\n\n"


def test_sentences_are_wrapped(capsys, monkeypatch):
    """Between words, below 100 columns in a pipe; names that are too long stay whole."""
    text = "  to run them: " + "compare the nodes " * 8 + "with --add-nodes " + "x" * 90
    say(text)
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) < 100 and line.startswith("  ") for line in lines)
    assert len(lines) > 1
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_, **__: os.terminal_size((80, 24)))
    say(text)
    *lines, last = capsys.readouterr().out.splitlines()
    assert len(lines) > 1
    assert all(len(line) <= 80 and line.startswith("  ") for line in lines)
    assert last.strip() == "x" * 90
    assert " ".join(line.strip() for line in [*lines, last]) == text.strip()


@pytest.fixture
def patient(monkeypatch):
    """A terminal of 120 columns."""
    shown = Console(file=io.StringIO(), force_terminal=True, width=120, color_system=None)
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
    assert "0:00:0" in patient.getvalue()
    assert "%" not in patient.getvalue()


def test_nothing_is_shown_in_a_pipe(patient, monkeypatch):
    """Only on a terminal."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    with working("planning"):
        pass
    assert patient.getvalue() == ""


def test_how_much_is_done_is_shown_where_it_is_known(patient):
    with working("reading log.gz") as tell:
        tell(1, 2)
        _wait_for(patient, "50%")


def test_a_study_shows_its_runs_and_the_time_left(patient):
    """A part of the run under way counts for the study; rich estimates the rest."""
    with study_bars() as bars:
        bars.begin(runs=8, existing=2)
        (shown,) = bars.watch("easy-wsept, repetition 3", 60, None)
        shown.on_progress(30, 3, 86400)
        _wait_for(patient, "easy-wsept, repetition 3")
        _wait_for(patient, "30 jobs, queue 3, day 1")
        runs, run = bars._progress.tasks
        assert (runs.total, runs.completed, run.completed) == (6, 0.5, 30)
        bars.advance(failed=False)
        bars.advance(failed=True)
        _wait_for(patient, "2 ended, 1 failed")
        (runs,) = bars._progress.tasks
        assert runs.time_remaining is not None


def test_a_single_run_needs_one_bar(patient):
    with study_bars() as bars:
        bars.begin(runs=1, existing=0)
        assert [task.visible for task in bars._progress.tasks] == [False]


def test_without_a_terminal_a_line_is_printed_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_LINE", 0)
    with study_bars() as bars:
        bars.begin(runs=8, existing=2)
        bars.advance(failed=False)
    assert capsys.readouterr().err == "runs: 1 of 6, 0 s elapsed\n"


def test_a_run_is_called_by_what_differs(tmp_path):
    (tmp_path / "log.swf").write_text(swf(5))
    given = {"systems": ["kth-sp2"], "dispatchers": ["easy-wsept", "fifo"]}

    def titles(**more):
        return [
            *run_titles(run_specs(study_of_log(tmp_path / "log.swf", given | more, str))).values()
        ]

    assert titles() == ["easy-wsept", "fifo"]
    assert titles(repeat=2, dispatchers=["easy-wsept"], predictors=["actual", "requested"]) == [
        f"easy-wsept, {predictor}, repetition {seed}"
        for seed in (1, 2) for predictor in ("actual", "requested")
    ]  # fmt: skip
