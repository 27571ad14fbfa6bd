"""A distribution of somebody else, installed for another Python: its names work everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from zipfile import ZipFile

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture
def installed(data, tmp_path):
    """Install ``tests/data/plugin`` with pip, from a wheel as build tools make them; its folder."""
    pytest.importorskip("pip")
    wheel, site = _wheel(data / "plugin", tmp_path), tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    done = subprocess.run(
        [*pip, "--disable-pip-version-check", "--target", str(site), str(wheel)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return site


def _wheel(source, folder):
    """Pack a distribution of one module; build tools would be downloaded for that."""
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    module, name = f"{project['name'].replace('-', '_')}.py", project["name"].replace("-", "_")
    info = f"{name}-{project['version']}.dist-info"
    entry_points = []
    for group, names in project["entry-points"].items():
        entry_points += [f"[{group}]", *(f"{key} = {target}" for key, target in names.items())]
    files = {
        module: (source / module).read_text(),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {project['name']}\n"
        f"Version: {project['version']}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "\n".join(entry_points) + "\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    wheel = folder / f"{name}-{project['version']}-py3-none-any.whl"
    with ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return wheel


def _run(site, *command):
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(site)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_its_names_work_on_the_command_line(installed, tmp_path):
    """Listed, with their options; simulated; verified."""
    command = ("-m", "cpsched")
    assert "widest-first" in _run(installed, *command, "list", "dispatchers")
    log = tmp_path / "log.swf"
    log.write_text(
        "1 0 -1 5 2 -1 -1 2 9 -1 1 1 -1 -1 -1 -1 -1 -1\n"
        "2 1 -1 5 1 -1 -1 1 9 -1 1 1 -1 -1 -1 -1 -1 -1\n"
        "3 1 -1 5 2 -1 -1 2 9 -1 1 1 -1 -1 -1 -1 -1 -1\n"
    )
    system = tmp_path / "system.json"
    system.write_text('{"groups": {"g": {"core": 2}}, "resources": {"g": 1}}')
    out = tmp_path / "run"
    spec = "widest-first:allocator=best-fit"
    _run(
        *(installed, *command, "simulate", log, "--system", system),
        *("-d", spec, "-p", "half", "--out", out),
    )
    assert ", OK" in _run(installed, *command, "verify", out)
    (run,) = (out / "runs").iterdir()
    code = (
        "import sys; from cpsched.api import load_run\n"
        "run = load_run(sys.argv[1])\n"
        "print(run.about['dispatcher'], run.about['predictor'], run.schedule.start.tolist(),"
        " run.schedule.runtime_estimate.tolist())"
    )
    assert _run(installed, "-c", code, run) == f"{spec} half [0, 10, 5] [4, 4, 4]\n"


def test_it_keeps_the_contracts(installed):
    """Both check suites, as its own tests would run them."""
    _run(
        installed,
        "-c",
        "from widest_first import Half, WidestFirst\n"
        "from cpsched.checks import check_dispatcher\n"
        "from predictors.checks import check_predictor\n"
        "check_dispatcher(WidestFirst)\n"
        "check_predictor(Half)\n",
    )
