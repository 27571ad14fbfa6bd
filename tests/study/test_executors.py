"""Runs outside the process of the command: killed, interrupted and continued, on each executor."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from joblib import register_parallel_backend
from joblib.parallel import BACKENDS
from small_studies import FATAL, run_files, swf, until
from tiny import FOUR_CORES

from cpsched.study import carry_out
from cpsched.study.executor import executor_of

pytestmark = pytest.mark.slow

ELSEWHERE = [("--workers", "2"), ("--executor", "dask", "--workers", "2")]
EACH = pytest.mark.parametrize("elsewhere", ELSEWHERE, ids=["processes", "dask"])
#: A dispatcher that takes forever, unless there is a file.
ENDLESS = """
import time
from pathlib import Path
from cpsched.dispatch.rules import Fifo

class Endless(Fifo):
    name = "endless"

    def choose(self, view):
        while not Path(__file__).with_name("released").exists():
            Path(__file__).with_name("begun").touch()
            time.sleep(0.01)
        return super().choose(view)
"""
EASY = ("-d", "fifo", "-d", "easy")


@pytest.fixture
def start(tmp_path):
    """Start ``cpsched compare`` on a small log as a shell does, in a process group of its own."""
    (tmp_path / "log.swf").write_text(swf(300, gap=35))
    (tmp_path / "four.toml").write_text(FOUR_CORES)
    (tmp_path / "fatal.py").write_text(FATAL)
    (tmp_path / "endless.py").write_text(ENDLESS)
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "cpsched", "compare", "log.swf"]
    command += ["--system", "four.toml", "--repeat", "3", "--no-report"]

    started = []

    def starting(*words, command=command):
        process = subprocess.Popen(
            [*command, *words], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        started.append(process)
        return process

    yield starting
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture
def run(start):
    """Run the command to its end: its exit code, stdout and stderr."""

    def running(*words):
        process = start(*words)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    return running


def workers_of(folder):
    """Return the processes of this machine that work in a folder, but for those that have ended."""
    numbers = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").resolve() == folder and (process / "cmdline").read_bytes():
                numbers.append(int(process.name))
        except OSError:
            pass
    return numbers


@EACH
def test_results_are_those_of_one_process(run, tmp_path, elsewhere):
    assert run(*EASY, "--out", "here")[0] == 0
    code, out, err = run(*EASY, "--out", "there", *elsewhere)
    assert (code, err) == (0, "")
    assert out.startswith("6 runs: 6 simulated, 0 reused, 0 failed\n")
    assert run_files(tmp_path / "there") == run_files(tmp_path / "here")


@EACH
def test_a_killed_worker_loses_nothing(run, tmp_path, elsewhere):
    """Its run is made again, and all are as if nothing had been."""
    words = (*EASY, "-d", "fatal:Once")
    code, out, err = run(*words, "--out", "there", *elsewhere)
    assert (code, err) == (0, "")
    assert (tmp_path / "killed").exists()
    assert out.startswith("9 runs: 9 simulated, 0 reused, 0 failed\n")
    assert run(*words, "--out", "here")[0] == 0
    assert run_files(tmp_path / "there") == run_files(tmp_path / "here")


@EACH
def test_a_run_that_always_kills_its_process_fails_alone(run, elsewhere):
    code, out, err = run(*EASY, "-d", "fatal:Always", "--out", "there", *elsewhere)
    assert code == 1
    assert out.startswith("9 runs: 6 simulated, 0 reused, 3 failed\n")
    assert err.count("\n") == 1
    assert "3 runs failed: its process was killed, perhaps because it ran out of memory" in err


@EACH
def test_a_killed_command_continues(start, run, tmp_path, elsewhere):
    """SIGKILL in the middle: its workers end, and the next command makes what is missing."""
    out = tmp_path / "there"
    process = start(*EASY, "--out", "there", *elsewhere)
    until(lambda: any(out.glob(".work/*/*")))
    process.kill()
    process.communicate(timeout=60)
    until(lambda: not workers_of(tmp_path))
    assert len(list((out / "runs").iterdir())) < 6
    assert run(*EASY, "--out", "there", *elsewhere)[0] == 0
    assert run(*EASY, "--out", "here")[0] == 0
    assert run_files(out) == run_files(tmp_path / "here")
    assert not any((out / ".work").iterdir())


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("elsewhere", [(), *ELSEWHERE], ids=["here", "processes", "dask"])
def test_a_signal_is_one_line_and_the_next_command_continues(start, run, tmp_path, elsewhere, sign):
    """Sent to all processes of the command, as a terminal and batch systems do."""
    folder = tmp_path / "there"
    words = (*EASY, "-d", "endless:Endless", "--out", "there", *elsewhere)
    process = start(*words)
    until(lambda: (tmp_path / "begun").exists())
    os.killpg(process.pid, sign)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err == "error: interrupted. Completed runs are kept: repeat the command to continue.\n"
    until(lambda: not workers_of(tmp_path))
    assert not any((folder / ".work").iterdir())
    assert not (folder / "failed").exists()
    made = len(list((folder / "runs").iterdir()))
    assert made < 9
    (tmp_path / "released").touch()
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert out.startswith(f"9 runs: {9 - made} simulated, {made} reused, 0 failed\n")


@pytest.fixture
def registered():
    """Register a backend of joblib."""
    names = []

    def register(name, backend):
        register_parallel_backend(name, backend)
        names.append(name)

    yield register
    for name in names:
        del BACKENDS[name]


def test_a_backend_that_a_program_registers_is_an_executor(place, study, registered):
    calls = []

    class Mine(BACKENDS["loky"]):
        def submit(self, func, callback=None):
            calls.append(func)
            return super().submit(func, callback)

    registered("mine", Mine)
    single = replace(study, seeds=(1,))
    assert carry_out(single, place / "two", jobs=2, executor="mine").failed == ()
    assert len(calls) == 4
    carry_out(single, place / "one")
    assert run_files(place / "two") == run_files(place / "one")


@pytest.fixture
def cluster(start, monkeypatch):
    """Start a scheduler and two workers, as on a cluster; return the scheduler's process."""
    dask = [sys.executable, "-m", "dask"]
    # Two deaths of workers are too many for Dask's scheduler.
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "1")
    scheduler = start("scheduler", "--port", "0", "--no-dashboard", command=dask)
    lines = iter(scheduler.stderr.readline, "")
    address = next(line.split()[-1] for line in lines if "Scheduler at:" in line)
    start("worker", address, "--nworkers", "2", "--nthreads", "1", command=dask)
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", address)
    return scheduler


def test_a_cluster_with_a_scheduler_of_its_own(run, tmp_path, cluster):
    words = (*EASY, "-d", "fatal:Once")
    assert run(*words, "--out", "there", "--executor", "dask")[0] == 0
    assert run(*words, "--out", "here")[0] == 0
    assert run_files(tmp_path / "there") == run_files(tmp_path / "here")
    words = ("-d", "fatal:Always", "--repeat", "1", "--out", "fatal", "--executor", "dask")
    code, out, err = run(*words)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "its process was killed" in err


def test_a_scheduler_that_is_lost_is_one_line(start, tmp_path, cluster):
    process = start(*EASY, "--out", "there", "--executor", "dask")
    until(lambda: any((tmp_path / "there").glob(".work/*/*")))
    os.killpg(cluster.pid, signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: Dask's scheduler is lost, or has cancelled runs. ")


def test_a_scheduler_that_is_not_there_is_one_line(run, monkeypatch):
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", "tcp://127.0.0.1:1")
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "1s")
    code, out, err = run(*EASY, "--out", "there", "--executor", "dask")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: --executor: Dask's scheduler is not reached: Timed out trying")


def test_a_worker_without_cpsched_fails_the_run():
    """Each run by itself, with the worker's reason."""

    class Failed:
        def result(self):
            raise ModuleNotFoundError("No module named 'cpsched'")

    client = SimpleNamespace(map=lambda carry, tasks, pure: [Failed()], cancel=list)
    cluster = executor_of("dask")
    cluster._dask = SimpleNamespace(
        Client=SimpleNamespace(current=lambda: client), as_completed=iter, KilledWorker=OSError
    )
    [outcome] = cluster.run([SimpleNamespace(name="a run")], print, Path())
    assert outcome.name == "a run"
    assert outcome.error == "Dask's worker: ModuleNotFoundError: No module named 'cpsched'"


def test_dask_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ValueError, match=r"--executor: needs Dask: pip install 'cpsched\[dask\]'"):
        executor_of("dask")


@pytest.mark.parametrize(
    ("executor", "message"),
    [
        ("daks", "unknown executor 'daks'. Did you mean 'dask'?"),
        ("threading", "unknown executor 'threading'. Known: dask, loky, slurm-arrays."),
        ("dask:workers=2", "dask:workers=2: --executor: it takes no options"),
        ("slurm-arrays:mem=0", "mem is 0, must be 1 or more"),
        ("slurm-arrays:time=soon", "time"),
        ("slurm-arrays:nodes=2", "slurm-arrays has no option 'nodes'"),
    ],
)
def test_bad_input_is_one_line(place, cpsched, executor, message):
    code, out, err = cpsched(
        "compare", str(place / "study.toml"), "--out", str(place / "out"), "--executor", executor
    )
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert not (place / "out").exists()
