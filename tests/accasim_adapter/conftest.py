"""A small log with all that AccaSim can say, and its machine."""

import pytest

from cpsched import systems, traces
from cpsched.base.types import MISSING
from cpsched.simulation.simulate import Settings, simulate

SYSTEM = """
resources = ["core", "gpu", "mem"]
default_expected_wait = 3600

[[nodes]]
group = "thin"
count = 6
core = 4
mem = 4000

[[nodes]]
group = "gpu"
count = 2
core = 8
gpu = 2
mem = 8000

[[queues]]
name = "short"
expected_wait = 600

[[queues]]
name = "long"
expected_wait = 7200
"""


@pytest.fixture
def machine_file(tmp_path):
    """File of a machine of eight nodes."""
    path = tmp_path / "machine.toml"
    path.write_text(SYSTEM)
    return path


@pytest.fixture
def small(tmp_path):
    """Return a function that writes a log and gives its path."""

    def _write(workload, name="small.parquet"):
        path = tmp_path / name
        traces.write(workload, path, format="table")
        return path

    return _write


def our_starts(log, system, dispatcher, predictor="requested", first=None):
    """
    Return the starts in our simulator by job; like AccaSim, it kills nobody.

    Jobs that never fit the machine are left out: AccaSim drops them too.
    """
    workload = traces.read(log).select(first=first)
    machine = systems.load(system)
    settings = Settings(overrun="extend", enforce_limits=False)
    run = simulate(workload, machine, dispatcher=dispatcher, predictor=predictor, settings=settings)
    pairs = zip(workload.job_id.tolist(), run.schedule.start.tolist(), strict=True)
    return {job: start for job, start in pairs if start != MISSING}


@pytest.fixture
def ours():
    """Our simulator, as a function of log, system, dispatcher and predictor."""
    return our_starts
