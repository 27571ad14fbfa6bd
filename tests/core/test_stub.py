"""The stub of the native core is what nanobind makes of it now."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the stub is made with Python 3.11")
def test_the_stub_is_that_of_the_core(tmp_path):
    """After a change of the bindings: ``make stubs``."""
    pytest.importorskip("nanobind", reason="nanobind, which makes stubs, is not installed")
    stub = tmp_path / "_core.pyi"
    options = ["--quiet", "--exclude-values", "--module", "cpsched._core", "--output-file"]
    command = [sys.executable, "-m", "nanobind.stubgen", *options, str(stub)]
    subprocess.run(command, check=True)
    assert stub.read_text() == (ROOT / "cpsched" / "_core.pyi").read_text()
