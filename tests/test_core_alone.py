"""The core with none of the packages beside it: as if they were not installed."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
OUTER = (
    *("accasim_adapter", "across_logs", "arena", "batsim_adapter", "cpsched_papers"),
    *("first_look", "gym_environment", "html_report", "job_arrays"),
    *("log_changes", "pbs_logs"),
    *("predictors", "run_plots", "slurm_adapter", "start_forecasts"),
)
#: Python runs it at its start.
BLOCK = f"""\
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {OUTER}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""
LOG = str(ROOT / "data" / "logs" / "eurora-sample.csv.gz")
MACHINE = ("--system", "eurora")
#: Enough jobs that some wait at the second at which we ask.
PART = ("--first", "300")
AT = ("--at", "67200")


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A folder that is first on the path, in which cpsched has no entry points, and run there."""
    folder = tmp_path_factory.mktemp("alone")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    info = folder / f"cpsched-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: cpsched\nVersion: {version}\n")
    (folder / "sitecustomize.py").write_text(BLOCK)

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "cpsched", *arguments],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(folder)},
            cwd=folder,
            check=False,
        )

    return run


def done(finished):
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_nothing_of_the_other_packages_is_there(alone):
    """Neither a name nor a module; commands that only they have are unknown."""
    kinds = json.loads(done(alone("list", "--json")))["kinds"]
    assert kinds["predictors"] == ["actual", "requested"]
    assert "easy" in kinds["dispatchers"]
    assert "ipsched" not in kinds["dispatchers"]
    assert "No such command 'train'" in alone("train").stderr


def test_a_log_is_simulated_and_compared(alone):
    """With estimates of the core, and without a page or a word about what is missing."""
    asked = ("-d", "easy", "-d", "cph", "-p", "actual", "--out", "study")
    finished = alone("compare", LOG, *MACHINE, *PART, *asked)
    said = done(finished)
    assert "Tables: study/tables\n" in said
    assert "Report" not in said
    assert finished.stderr == ""


def test_jobs_are_explained(alone):
    """A job that waits at some second."""
    job = done(alone("explain", LOG, *MACHINE, *PART, *AT, "--job", "247"))
    assert "job 247 does not start" in job
