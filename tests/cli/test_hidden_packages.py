"""Modules of others that have the name of a package of cpsched's distribution, or had one."""

import os
import subprocess
import sys

import pytest


def listed(folder):
    return subprocess.run(
        [sys.executable, "-m", "cpsched", "list", "predictors"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(folder)},
        cwd=folder,
        check=False,
    )


@pytest.mark.parametrize("name", ["arena", "report", "slurm_adapter"])
def test_a_module_of_another_name_hides_nothing(tmp_path, name):
    (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')\n")
    process = listed(tmp_path)
    assert (process.returncode, process.stderr) == (0, "")
    assert "gbm-log" in process.stdout


@pytest.mark.parametrize("name", ["predictors", "accasim_adapter"])
@pytest.mark.parametrize("file", ["{name}.py", "{name}/__init__.py", "{name}/notes.txt"])
def test_a_hidden_package_is_named_in_one_line(tmp_path, name, file):
    """A module, a package, or a folder without one, which Python takes last."""
    path = tmp_path / file.format(name=name)
    path.parent.mkdir(exist_ok=True)
    path.write_text("")
    process = listed(tmp_path)
    if file.endswith(".txt"):
        assert (process.returncode, process.stderr) == (0, "")
        return
    assert process.returncode == 2
    assert process.stderr.count("\n") == 1
    assert f"the package {name} of cpsched cannot be imported: {path} hides it" in process.stderr
