"""Real signals to real commands: one line, exit code 130, and nothing half-written."""

import os
import random
import signal
import subprocess
import sys
from contextlib import suppress

import pytest
from small_studies import swf, until

from cpsched.cli import program
from cpsched.util import interruption

pytestmark = pytest.mark.slow

LINE = "error: interrupted. Completed runs are kept: repeat the command to continue.\n"
#: Where no runs are made.
NO_RUNS = "error: interrupted. Partial files are removed.\n"
SIMULATE = ("simulate", "log.swf", "--system", "four.toml", "--out", "out", "-d")
SIGNALS = pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])

#: Say that the event loop is at work, which does not call the first, and that a decision follows.
OBSERVERS = """\
from pathlib import Path
from cpsched import RunObserver

class Progress(RunObserver):
    name = "progress"

    def on_progress(self, ended, waiting, now):
        Path("begun").touch()

class Submit(RunObserver):
    name = "submit"

    def on_submit(self, first, end, now):
        Path("begun").touch()
"""

#: A dispatcher that is interrupted in a library, which goes on otherwise.
INTERRUPTED = """\
import time
from pathlib import Path
from cpsched.dispatch.rules import Fifo

class Library(Fifo):
    def choose(self, view):
        Path("begun").touch()
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            pass
"""
#: With an error of its own; or as if nothing had happened, as NumPy does while it makes a string of
#: an array.
ERROR = INTERRUPTED + '        raise RuntimeError("stopped")\n'
LOST = INTERRUPTED + "        time.sleep(60)\n"

#: A package that takes its time, in a string of code as dataclasses have them.
SLOW_IMPORT = """\
from pathlib import Path
Path("begun").touch()
exec("import time; time.sleep(60)")
"""


@pytest.fixture
def interrupted(four_cores):
    """Start a command, send it a signal once it has begun, and return what it is like then."""
    started = []

    def run(sign, *words):
        path = os.pathsep.join(filter(None, [str(four_cores), os.environ.get("PYTHONPATH")]))
        process = subprocess.Popen(
            [sys.executable, "-m", "cpsched", *words], env={**os.environ, "PYTHONPATH": path},
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        started.append(process)
        until(lambda: (four_cores / "begun").exists() or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        # A terminal sends SIGINT to all processes, and kill sends SIGTERM to one.
        (os.killpg if sign == signal.SIGINT else os.kill)(process.pid, sign)
        out, err = process.communicate(timeout=30)
        return process.returncode, out, err

    yield run
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@SIGNALS
def test_the_program_is_imported(four_cores, interrupted, sign):
    """It used to show a traceback, or to die silently of SIGTERM, until its modules were there."""
    (four_cores / "typer.py").write_text(SLOW_IMPORT)
    assert interrupted(sign, "list", "dispatchers") == (130, "", NO_RUNS)


@SIGNALS
@pytest.mark.parametrize("dispatcher", ["easy", "conservative", "cph-0"])
def test_the_event_loop_is_at_work(four_cores, interrupted, sign, dispatcher):
    """With easy nothing of Python is called for seconds."""
    # The queue grows: each decision takes longer than the one before.
    (four_cores / "log.swf").write_text(swf(40_000, gap=20))
    (four_cores / "own.py").write_text(OBSERVERS)
    words = (*SIMULATE, dispatcher, "--observe", "own:Progress")
    assert interrupted(sign, *words) == (130, "", LINE)
    assert not any((four_cores / "out" / "runs").iterdir())
    assert not any((four_cores / "out" / ".work").iterdir())
    assert not (four_cores / "out" / "failed").exists()


def test_one_decision_takes_long(four_cores, interrupted):
    """It used to be finished first, which takes a minute where so many jobs wait."""
    # 63 of 64 cores are taken, then the second job needs all: the last job, of one core, would fit
    # now if it were shorter. So every job before it is planned.
    sample = random.Random(1)
    jobs = [(63, 3600), (64, 3600)]
    jobs += [(sample.randint(2, 32), sample.randint(10, 7200)) for _ in range(150_000)]
    jobs.append((1, 30 * 86400))
    (four_cores / "log.swf").write_text(
        "".join(
            f"{job} 0 -1 {runtime} {processors} -1 -1 {processors} {runtime} -1 1 1 1 -1 1 -1 -1 -1\n"
            for job, (processors, runtime) in enumerate(jobs, start=1)
        )
    )
    system = (four_cores / "four.toml").read_text()
    (four_cores / "four.toml").write_text(system.replace("count = 4", "count = 64"))
    (four_cores / "own.py").write_text(OBSERVERS)
    words = (*SIMULATE, "conservative", "--observe", "own:Submit")
    assert interrupted(signal.SIGINT, *words) == (130, "", LINE)


@SIGNALS
def test_a_library_reports_an_error_of_its_own(four_cores, interrupted, sign):
    """The run used to be one that failed, and the next was begun."""
    (four_cores / "log.swf").write_text(swf(20))
    (four_cores / "own.py").write_text(ERROR)
    words = ("compare", *SIMULATE[1:], "own:Library", "-d", "fifo", "--no-report")
    assert interrupted(sign, *words) == (130, "", LINE)
    assert not any((four_cores / "out" / "runs").iterdir())
    assert not (four_cores / "out" / "failed").exists()


@SIGNALS
def test_a_library_loses_the_error(four_cores, interrupted, sign):
    """The command used to go on to its end."""
    (four_cores / "log.swf").write_text(swf(20))
    (four_cores / "own.py").write_text(LOST)
    assert interrupted(sign, *SIMULATE, "own:Library") == (130, "", LINE)


def test_signals_that_follow_one_another_are_one_request(monkeypatch):
    """``timeout`` sends two: the second used to stop the removal of what is half-written."""
    now = 0.0
    timers = []
    monkeypatch.setattr(interruption, "monotonic", lambda: now)
    monkeypatch.setattr(signal, "setitimer", lambda *timer: timers.append(timer))
    interrupt = interruption.Interruption()
    try:
        interrupt(signal.SIGTERM)
    except KeyboardInterrupt:
        now = 0.9
        interrupt(signal.SIGTERM)
        interrupt(signal.SIGALRM)
        now = 2.0
        interrupt(signal.SIGALRM)
        with pytest.raises(KeyboardInterrupt):
            interrupt(signal.SIGTERM)
    assert timers == [(signal.ITIMER_REAL, 0.2, 0.2)] * 3
    with pytest.raises(KeyboardInterrupt):
        interrupt(signal.SIGALRM)


def test_a_program_in_the_background_ignores_what_its_parent_ignores(monkeypatch):
    """As ``cpsched ... &`` in a script: Ctrl-C is for what runs in front."""
    handlers = dict.fromkeys((signal.SIGTERM, signal.SIGALRM), signal.SIG_DFL)
    handlers[signal.SIGINT] = signal.SIG_IGN
    monkeypatch.setattr(signal, "getsignal", handlers.get)
    monkeypatch.setattr(signal, "signal", handlers.__setitem__)
    program._handle_signals(print)
    assert handlers.pop(signal.SIGINT) == signal.SIG_IGN
    assert set(handlers.values()) == {print}
