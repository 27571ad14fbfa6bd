"""The benchmark of decisions with whole windows times these, and no others."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tiny import jobs, machine

from cpsched.mapping import fit

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("windows")


def test_only_whole_windows_are_counted(windows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten jobs that fill the machine start one after the other: 10, 9, ... 1 of them wait."""
    ten = fit(
        jobs(*[(0, 8, 90)] * 10, resources=("core", "gpu")),
        machine((8, 2), resources=("core", "gpu")),
    )
    monkeypatch.setattr(windows, "jobs_of", lambda *_: ten)
    monkeypatch.setattr(windows, "WINDOW", 7)
    row = windows.row_of("ipsched:priority=basic I", 10, 1)
    assert row[:4] == ["ipsched:priority=basic", "I", 4, 0]


def test_its_workloads_wait_from_the_start(windows: Any) -> None:
    """Otherwise windows were not whole."""
    found = windows.jobs_of("I", "esp-1024", 300, 1)
    assert len(found.workload) == 300
    assert not found.workload.submit.any()


def test_fewer_jobs_than_a_window_are_refused(
    windows: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They would measure nothing."""
    monkeypatch.setattr(sys, "argv", ["windows.py", "--jobs", "200"])
    with pytest.raises(SystemExit, match="--jobs is 200, must be more than 200"):
        windows.main()
