"""Fixtures that every part of the suite shares."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings
from tiny import FOUR_CORES

from cpsched.cli.main import main

# The first example of a test may wait for imports, kernels or a busy machine: no test is timed.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

#: Real traces and golden schedules; beside a developer's checkout, absent elsewhere.
SHARED = Path(__file__).resolve().parents[2] / "shared"
#: Between them, these compile nearly every kernel, and hardly one twice.
COMPILING = ("easy", "conservative", "slurm-backfill")
COMPILE = """\
import sys
from cpsched.check_sample import sample
from cpsched.simulation.simulate import simulate
simulate(sample(60), dispatcher=sys.argv[1])
"""


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the kernels once, side by side, before several workers each compile all of them."""
    config = session.config
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        return
    compilers = [subprocess.Popen([sys.executable, "-c", COMPILE, name]) for name in COMPILING]
    for compiler in compilers:
        compiler.wait()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs the shared traces where they are absent."""
    if SHARED.is_dir():
        return
    skip = pytest.mark.skip(reason="the shared traces are not beside this checkout")
    for item in items:
        if "shared" in item.keywords:
            item.add_marker(skip)


@pytest.fixture
def shared() -> Path:
    """Folder of the shared traces; use it together with the marker ``shared``."""
    return SHARED


@pytest.fixture
def data() -> Path:
    """Folder of the suite's own small files."""
    return Path(__file__).resolve().parent / "data"


@pytest.fixture
def four_cores(tmp_path, monkeypatch):
    """A folder with the system ``four.toml``, a pool of four cores, in it, and we are there."""
    (tmp_path / "four.toml").write_text(FOUR_CORES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cpsched(capsys):
    """Run a command line; return exit code, stdout and stderr."""

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main(list(arguments))
        out, err = capsys.readouterr()
        return stop.value.code or 0, out, err

    return run
