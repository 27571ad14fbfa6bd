"""Campaigns and own code: what changed is made again, what is not known is made every time."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from cpsched.study import LabelledSpec, carry_out
from cpsched.study.run_spec import run_specs
from cpsched.study.worker import RunTarget, work_on

pytestmark = pytest.mark.slow

OWN = """\
from cpsched import Priority
import {helper}
class Own(Priority):
    name = "own"
    def keys(self, jobs, now):
        return ({helper}.SIGN * jobs.units,)
"""


@pytest.fixture
def own(place, study, monkeypatch):
    """A study of one run of EASY with an order of one's own, which imports a module."""
    monkeypatch.syspath_prepend(place)
    name = f"own_code_{place.name.replace('-', '_')}"
    (place / f"{name}.py").write_text(OWN.format(helper=f"{name}_helper"))
    (place / f"{name}_helper.py").write_text("SIGN = 1\n")
    spec = f"easy:order={name}:Own"
    yield replace(
        study,
        dispatchers=(LabelledSpec("FIFO", "fifo"), LabelledSpec("Own", spec)),
        workloads=tuple(
            replace(workload, predictors=workload.predictors[:1]) for workload in study.workloads
        ),
        seeds=(1,),
    )
    _forget(name)


def _forget(name):
    for module in [module_name for module_name in sys.modules if module_name.startswith(name)]:
        del sys.modules[module]


def _name(study):
    return study.dispatchers[1].spec.partition("=")[2].partition(":")[0]


def test_changed_own_code_is_run_again(place, own):
    """It used to be 'already done', with the old result."""
    out = place / "out"
    assert carry_out(own, out).existing == 0
    assert carry_out(own, out).existing == 2
    (place / f"{_name(own)}_helper.py").write_text("SIGN = -1\n")
    _forget(_name(own))
    outcome = carry_out(own, out)
    assert (outcome.existing, outcome.failed, outcome.unknown) == (1, (), ())
    starts = {(path / "jobs.parquet").read_bytes() for path in (out / "runs").glob("*own*")}
    assert len(starts) == 2


def test_unknown_code_is_run_every_time(place, own):
    out = place / "out"
    (place / f"{_name(own)}_helper.py").write_text("exec('SIGN = 1')\n")
    for _ in range(2):
        outcome = carry_out(own, out)
        assert (outcome.existing, outcome.failed) in (((0, ())), (1, ()))
        assert "_helper.py runs text as code (exec) in line 1" in outcome.unknown[0]
    assert outcome.existing == 1
    assert len(list((out / "runs").iterdir())) == 2


def test_a_worker_with_other_code_does_not_make_the_run(place, own):
    """A job array starts hours later: its run would be kept as one of the old code."""
    (_, task) = run_specs(own)
    (place / f"{_name(own)}_helper.py").write_text("SIGN = -1\n")
    _forget(_name(own))
    (place / "work").mkdir()
    (place / "runs").mkdir()
    result = work_on(task, RunTarget(runs=place / "runs", work=place / "work"), None)
    assert "not those with which the study began. Start it again" in result.error
    assert not list((place / "runs").iterdir())


COMMANDS = {
    "compare": "compare log.swf --system four.toml -d fifo -d SPEC --out out --no-report",
    "simulate": "simulate log.swf --system four.toml -d fifo -d SPEC --out out",
}


@pytest.mark.parametrize("command", ["compare", "simulate"])
def test_commands_say_why_they_make_runs_again(place, own, command):
    """One line; with two processes, too."""
    (place / f"{_name(own)}_helper.py").write_text("exec('SIGN = 1')\n")
    words = COMMANDS[command].replace("SPEC", own.dispatchers[1].spec).split()
    argv = [sys.executable, "-m", "cpsched", *words]
    path = os.pathsep.join([str(place), *sys.path])
    for _ in range(2):
        process = subprocess.run(
            argv,
            cwd=place,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        )
    (note,) = [line for line in process.stderr.splitlines() if line.startswith("note: ")]
    assert note.endswith("(exec) in line 1. Its runs are made every time")
    assert ("1 simulated, 1 reused" in process.stdout) or ("Reused: 1 of 2 runs" in process.stdout)
