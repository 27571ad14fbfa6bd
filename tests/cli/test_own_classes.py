"""Commands with classes of a user's own that fail: one line, an exit code, and the other runs."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from small_studies import swf, until

pytestmark = pytest.mark.slow

MODULE = """\
import time
from cpsched import Decision, Dispatcher
from cpsched.dispatch.rules import Fifo
from cpsched.model.decision import Start
class Plain: pass
class Reset(Fifo):
    def reset(self, system, seed):
        raise KeyError("no queue")
class Exit(Fifo):
    def choose(self, view):
        raise SystemExit(0)
class Other(BaseException): pass
class Odd(Fifo):
    def choose(self, view):
        raise Other("odd")
class Nothing(Dispatcher):
    def decide(self, view):
        return None
class Listed(Dispatcher):
    def decide(self, view):
        return [3]
class Wrong(Fifo):
    def choose(self, view):
        return Decision([Start(999, None)])
class Unknown(Fifo):
    def choose(self, view):
        made = super().choose(view)
        return made._replace(actions=[Start(999, one.allocation) for one in made.actions])
class Stats(Fifo):
    def choose(self, view):
        return super().choose(view)._replace(stats={"gain": float("nan")})
class Slow(Fifo):
    def choose(self, view):
        time.sleep(0.05)
        return super().choose(view)
"""


@pytest.fixture
def modules(four_cores, monkeypatch):
    """A folder with a log, a system, and a module of classes that fail."""
    (four_cores / "log.swf").write_text(swf(30))
    (four_cores / "failing_own.py").write_text(MODULE)
    monkeypatch.syspath_prepend(four_cores)
    yield four_cores
    sys.modules.pop("failing_own", None)


#: What is said, and in explain.
FAULTS = {
    "Plain": (2, "the class is not a dispatcher. Derive it from cpsched.Dispatcher"),
    "Gone": (2, "module 'failing_own' has no 'Gone'"),
    "Reset": (1, "Reset.reset raises KeyError: 'no queue' (HERE/failing_own.py, line 8)"),
    "Exit": (1, "Exit.choose raises SystemExit: 0 (HERE/failing_own.py, line 11)"),
    "Odd": (1, "Odd.choose raises Other: odd (HERE/failing_own.py, line 15)"),
    "Nothing": (1, "failing_own:Nothing.decide: it decides None, must be a Decision"),
    "Listed": (1, "failing_own:Listed.decide: it decides [3], must be a Decision"),
    "Wrong": (1, "failing_own:Wrong.decide returns Start with the allocation None, must be an"),
    "Unknown": (1, "failing_own:Unknown: fifo: cannot start job 999: it is not waiting"),
    "Stats": (1, "failing_own:Stats.decide returns stats['gain'] = nan, must be a finite number"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_explain_says_it_on_one_line(modules, cpsched, name):
    """It used to end in a traceback, or in silence."""
    code, message = FAULTS[name]
    explain = ["explain", "log.swf", "--system", "four.toml", "--job", "9", "--at", "400"]
    made, out, err = cpsched(*explain, "-d", f"failing_own:{name}")
    assert (made, out) == (code, "")
    (line,) = err.splitlines()
    assert message in line.replace(str(modules), "HERE")


@pytest.mark.parametrize("name", FAULTS)
def test_compare_says_it_and_makes_the_other_runs(modules, cpsched, name):
    code, message = FAULTS[name]
    words = ["compare", "log.swf", "--system", "four.toml", "--out", "out", "--no-report"]
    made, out, err = cpsched(*words, "-d", "fifo", "-d", f"failing_own:{name}")
    assert made == code
    (line,) = err.splitlines()
    assert message in line.replace(str(modules), "HERE")
    if code == 1:
        assert "2 runs: 1 simulated, 0 reused, 1 failed" in out
        assert len(list((modules / "out" / "runs").iterdir())) == 1


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_is_one_line_and_finished_runs_are_kept(modules, jobs):
    """With two processes each of them used to print a traceback."""
    (modules / "log.swf").write_text(swf(400, gap=35))
    words = ["compare", "log.swf", "--system", "four.toml", "--out", "out", "--no-report"]
    words += ["-d", "fifo", "-d", "failing_own:Slow", "--repeat", "2", "--workers", jobs]
    command = subprocess.Popen(
        [sys.executable, "-m", "cpsched", *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(modules), *sys.path])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    runs = Path("out/runs")
    for _ in range(10):
        try:
            until(lambda: runs.exists() and any(runs.iterdir()))
        except AssertionError:
            continue
        break
    # As a terminal does: to all processes at once.
    os.killpg(command.pid, signal.SIGINT)
    out, err = command.communicate(timeout=120)
    assert command.returncode == 130
    lines = [line for line in err.splitlines() if "elapsed" not in line]
    assert lines == ["error: interrupted. Completed runs are kept: repeat the command to continue."]
    assert out == ""
    assert len(list(runs.iterdir())) >= 1
    assert not list(Path("out/.work").iterdir())
