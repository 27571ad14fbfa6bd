"""The benchmark scripts run, and say what is wrong; how fast anything is, is not tested."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"

# Job, submit, wait, run, processors, CPU, used memory, requested processors, time, memory, ...
JOB = "{} {} 0 {} 2 -1 512 2 {} 1024 1 1 1 1 1 -1 -1 -1\n"


def script(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a script as a user does, with this very cpsched."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, BENCHMARKS / name, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log with three jobs; the second runs longer than it asked for."""
    path = tmp_path / "HPC2N-2002-2.2-cln.swf.gz"
    with gzip.open(path, "wt") as out:
        out.write("; UnixStartTime: 0\n\n")
        out.writelines(JOB.format(1 + i, 10 * i, run, 60) for i, run in enumerate((30, 90, 60)))
    return path


def test_throughput_gives_a_figure_for_each_size_and_process(log: Path, tmp_path: Path) -> None:
    """Every dispatcher is timed in the loop at every size, and as cold and warm processes."""
    options = ["--system", "hpc2n", "--dispatcher", "fifo", "--jobs", "2", "3"]
    out = tmp_path / "out.json"
    done = script(
        "throughput.py", "--log", log, *options, "--runs", "2", "--whole-runs", "1", "--json", out
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())[log.name]
    assert [(size["jobs"], len(size["runs"])) for size in found["loop"]["fifo"]] == [(2, 2), (3, 2)]
    assert {state: len(runs) for state, runs in found["whole"]["fifo"].items()} == {
        "cold": 1,
        "warm": 1,
    }


@pytest.mark.parametrize("name", ["throughput.py", "against_accasim.py"])
def test_a_missing_log_is_named(name: str, tmp_path: Path) -> None:
    """The message says which file is missing and where it comes from."""
    done = script(name, "--traces", tmp_path)
    assert done.returncode == 1
    assert "no HPC2N-2002-2.2-cln.swf.gz in" in done.stderr
    assert "Parallel Workloads Archive" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--log", "x.swf"], "--log and --system go together"),
        (["--dispatcher", "fifo"], "--dispatcher is for --log"),
        (["--runs", "0"], "must be at least 1"),
        (["--log", "nowhere.swf", "--system", "hpc2n"], "there is no log nowhere.swf"),
    ],
)
def test_throughput_refuses(arguments: list[str], message: str) -> None:
    """Bad options end with one line."""
    done = script("throughput.py", *arguments)
    assert done.returncode
    assert message in done.stderr


def test_the_output_of_a_process_that_fails_is_shown(log: Path) -> None:
    """What is measured may fail; then its own message is what helps."""
    done = script("throughput.py", "--log", log, "--system", "nowhere", "--runs", "1")
    assert done.returncode == 1
    assert "nowhere" in done.stderr


def test_accasim_is_kept_out_of_the_checkout(log: Path) -> None:
    """No virtual environment is made beside the sources."""
    inside = BENCHMARKS / "venv"
    done = script("against_accasim.py", "--traces", log.parent, "--venv", inside)
    assert done.returncode == 1
    assert "is in the checkout" in done.stderr
    assert not inside.exists()


def test_accasim_gets_capped_runtimes_and_no_memory(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AccaSim neither kills jobs nor reads memory in some lines only: the log is mended first."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    against = pytest.importorskip("against_accasim")
    target = tmp_path / "prepared.swf"
    assert against.prepare(log, 2, target) == 2
    rows = [line.split() for line in target.read_text().splitlines()]
    # Job 2 ran for 90 s and had asked for 60.
    assert [(row[0], row[3], row[6], row[9]) for row in rows] == [
        ("1", "30", "-1", "-1"),
        ("2", "60", "-1", "-1"),
    ]


def test_starts_are_read_from_accasims_schedule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line of its schedule file, as version 1.1.3 writes it, and jobs that differ."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    against = pytest.importorskip("against_accasim")
    (tmp_path / "sched-log.swf").write_text(
        "17;5;1970-01-05 00:37:24__49;1#49;1#__1970-01-05 00:37:25;1970-01-05 01:14:05;2;2;NA;60;\n"
    )
    # 4 days, 37 minutes and 25 seconds.
    assert against.starts_of_accasim(tmp_path) == {"17": 4 * 86400 + 37 * 60 + 25}
    assert against.differences({"1": 5, "2": 6}, {"1": 5, "2": 7, "10": 8}) == ["2", "10"]
