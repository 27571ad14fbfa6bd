"""
The schedulers of pybatsim 3.2.1, where it is installed: ``pybatsim`` is on the path.

Those that are defined as one of ours start every job when it does. No two events are in the same
second here: pybatsim decides after each event, and we after all of a second.
"""

import shutil

import numpy as np
import pytest
from batsim_jobs import jobs, machine, starts

PROGRAM = shutil.which("pybatsim")
pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason="there is no pybatsim on the path"),
    pytest.mark.slow,
]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Some of them write a file where they are started."""
    monkeypatch.chdir(tmp_path)


def apart(count=100, **columns):
    """Return a log in whose schedules hardly any two events are in the same second."""
    rng = np.random.default_rng(3)
    submit = np.cumsum(rng.integers(1, 40_000, count))
    requested = rng.integers(10_000, 400_000, count)
    runtime = (requested * rng.uniform(0.01, 1.1, count)).astype(int)
    units = np.minimum(2 ** rng.integers(0, 4, count) + rng.integers(0, 3, count), 16)
    values = zip(*(column.tolist() for column in (submit, runtime, requested, units)), strict=True)
    return jobs(list(values), **columns)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("schedFcfs", "fifo"),
        ("schedFiller", "greedy:order=fifo"),
        ("schedEasySjfBackfill", "easy:backfill=sjf"),
    ],
)
def test_jobs_on_neighbouring_hosts_start_as_under_ours(theirs, ours):
    """They give consecutive hosts, as to jobs that ask for consecutive nodes."""
    log, system = apart(contiguous=[1] * 100), machine()
    assert starts(log, system, f"batsim:command={PROGRAM} {theirs}") == starts(log, system, ours)


@pytest.mark.parametrize("theirs", ["fillerSched", "fillerSchedWithEvents", "easyBackfill"])
def test_the_others_start_every_job(theirs):
    """In an order of their own."""
    start_times = starts(apart(), machine(), f"batsim:command={PROGRAM} {theirs}")
    assert min(start_times) >= 0
