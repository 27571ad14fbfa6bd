"""The services of systemd in the guide: systemd takes them, and cpsched the commands in them."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cpsched.cli.main import build

UNITS = sorted((Path(__file__).resolve().parents[3] / "docs/guides/systemd").glob("*.service"))
PROGRAM = "/usr/local/bin/cpsched"


def test_there_are_an_engine_and_a_watchdog():
    """Under the names that the guide has."""
    names = ["cpsched-slurm-watchdog.service", "cpsched-slurm.service"]
    assert [unit.name for unit in UNITS] == names


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_cpsched_understands_the_command_of_a_unit(unit):
    """All options are there, and have these values."""
    program, *words = shlex.split(re.search(r"(?m)^ExecStart=(.*)", unit.read_text())[1])
    assert program == PROGRAM
    group = build([])
    while words[0] in getattr(group, "commands", ()):
        group = group.commands[words.pop(0)]
    # Some versions of typer parse what is repeated as a tuple.
    assert list(group.make_context("unit", words).params["partition"]) == ["trial"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_takes_a_unit(unit, tmp_path):
    """Without a remark; only the program is elsewhere."""
    copy = tmp_path / unit.name
    copy.write_text(unit.read_text().replace(PROGRAM, sys.executable))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
