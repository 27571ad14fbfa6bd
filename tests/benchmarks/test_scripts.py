"""The benchmark scripts run, and say what is wrong; how fast anything is, is not tested."""

import csv
import gzip
import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from cpsched.logs import read as read_log
from cpsched.systems import load as load_system
from cpsched.systems.mapping import fit

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

# Job, submit, wait, run, processors, CPU, used memory, requested processors, time, memory, ...
JOB = "{} {} 0 {} 2 -1 512 2 {} 1024 1 1 1 1 1 -1 -1 -1\n"


def script(name, *arguments):
    """Run a script as a user does, with this very cpsched."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, BENCHMARKS / name, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


@pytest.fixture
def against(monkeypatch):
    """The comparison with AccaSim, importable beside what the scripts share."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("against_accasim")


@pytest.fixture
def log(tmp_path):
    """A log with three jobs; the second runs longer than it asked for."""
    path = tmp_path / "HPC2N-2002-2.2-cln.swf.gz"
    with gzip.open(path, "wt") as out:
        out.write("; UnixStartTime: 0\n\n")
        out.writelines(JOB.format(1 + i, 10 * i, run, 60) for i, run in enumerate((30, 90, 60)))
    return path


def test_the_loop_is_timed_at_each_size(log):
    """Sizes beyond the log's become the log's, and every run of each size counts."""
    process = script("loop.py", log, "hpc2n", "fifo", "2", "2", "0", "99")
    assert process.returncode == 0, process.stderr
    rows = json.loads(process.stdout)
    assert [(row["jobs"], len(row["runs"])) for row in rows] == [(2, 2), (3, 2)]
    # Three jobs of two cores on 240 never wait.
    assert [row["queue"] for row in rows] == [0, 0]
    assert all(run["starts"] == row["jobs"] for row in rows for run in row["runs"])


@pytest.mark.parametrize("file", sorted(BENCHMARKS.glob("*.py")), ids=lambda file: file.stem)
def test_every_script_finds_what_it_imports(file, monkeypatch, capsys):
    """A name of cpsched that has moved is noticed here, not in a campaign of hours; and a typo."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    if file.stem == "in_accasim":
        pytest.importorskip("accasim")
    module = import_module(file.stem)
    assert module.__doc__
    if hasattr(module, "main"):
        monkeypatch.setattr(sys, "argv", [file.name, "--jbos", "2"])
        with pytest.raises(SystemExit, match="2"):
            module.main()
        assert f"{file.name}: error: " in capsys.readouterr().err


def test_accasim_gets_capped_runtimes_and_no_memory(log, tmp_path, against):
    """AccaSim neither kills jobs nor reads memory in some lines only: the log is mended first."""
    target = tmp_path / "prepared.swf"
    assert against.prepare(log, 2, target) == 2
    rows = [line.split() for line in target.read_text().splitlines()]
    # Job 2 ran for 90 s and had asked for 60.
    assert [(row[0], row[3], row[6], row[9]) for row in rows] == [
        ("1", "30", "-1", "-1"),
        ("2", "60", "-1", "-1"),
    ]


def test_starts_are_read_from_accasims_schedule(tmp_path, against):
    """One line of its schedule file, as version 1.1.3 writes it, and jobs that differ."""
    (tmp_path / "sched-log.swf").write_text(
        "17;5;1970-01-05 00:37:24__49;1#49;1#__1970-01-05 00:37:25;1970-01-05 01:14:05;2;2;NA;60;\n"
    )
    # 4 days, 37 minutes and 25 seconds.
    assert against.starts_of_accasim(tmp_path) == {"17": 4 * 86400 + 37 * 60 + 25}
    assert against.differences({"1": 5, "2": 6}, {"1": 5, "2": 7, "10": 8}) == ["2", "10"]


@pytest.mark.slow
def test_a_farm_is_generated_for_its_system(tmp_path):
    """All its jobs fit, and make the load that is asked for; equal options give equal files."""
    logs = [tmp_path / name for name in ("one.parquet", "other.parquet")]
    for log in logs:
        process = script("farm_log.py", "--jobs", "20000", "--load", "0.5", "--out", log)
        assert process.returncode == 0, process.stderr
    assert logs[0].read_bytes() == logs[1].read_bytes()
    jobs, system = read_log(logs[0]), load_system(BENCHMARKS / "systems" / "farm-312.toml")
    assert len(jobs) == 20_000
    assert fit(jobs, system).rejected == ()
    span = jobs.submit[-1] - jobs.submit[0]
    load = (jobs.runtime * jobs.units).sum() / (system.total[0] * span)
    assert load == pytest.approx(0.5, rel=0.1)


@pytest.mark.shared
@pytest.mark.slow
def test_forecasts_of_a_log():
    """A row for each forecaster."""
    logs = BENCHMARKS.parent.parent / "shared" / "traces"
    asked = ("--only", "kth-sp2", "--jobs", "600", "--forecasts", "60", "--scenarios", "2")
    process = script("forecasts.py", logs, *asked)
    assert process.returncode == 0, process.stderr
    head, *rows = csv.reader(process.stdout.splitlines())
    assert {len(head)} == {len(row) for row in rows}
    assert [row[3] for row in rows][:2] == ["cpsched forecast", "recent waits"]


@pytest.mark.slow
def test_environments_for_learning_are_measured(tmp_path):
    table = tmp_path / "speed.csv"
    few = ("--seconds", "0.01", "--runs", "1", "--envs", "2", "--length", "20", "--csv", str(table))
    process = script("gym_speed.py", *few)
    assert process.returncode == 0, process.stderr
    head, *rows = csv.reader(table.read_text().splitlines())
    assert head == ["decides", "single", "2 at once"]
    assert all(int(value) > 0 for row in rows for value in row[1:])
