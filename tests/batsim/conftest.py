"""The dispatcher with a scheduler of the tests, and nothing left behind."""

import gc
import shlex
import sys
from pathlib import Path

import pytest

pytest.importorskip("zmq", reason="pyzmq is not installed")

SCRIPT = Path(__file__).with_name("scheduler.py")


@pytest.fixture(autouse=True)
def folder(tmp_path_factory, monkeypatch):
    """Return the folder for temporary files, in which nothing may be left."""
    # Of a short name: a socket's path has at most a hundred characters.
    made = tmp_path_factory.mktemp("s")
    monkeypatch.setattr("tempfile.tempdir", str(made))
    yield made
    if list(made.iterdir()):
        # An error of a context manager has frames that refer to one another under Python 3.13. They
        # keep a simulator until they are collected.
        gc.collect()
    assert not list(made.iterdir())


@pytest.fixture
def asked():
    """Return a function: a policy of the small scheduler, as a specification."""

    def _spec(policy, options="", **given):
        words = [sys.executable, str(SCRIPT), policy]
        words += [f"--{key}={value}" for key, value in given.items()]
        return f'batsim:command="{shlex.join(words)}",timeout=30' + (options and f",{options}")

    return _spec
