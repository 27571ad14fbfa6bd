"""A small log with all that AccaSim can say, and its machine."""

import pytest

from cpsched import logs

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
        logs.write(workload, path, format="table")
        return path

    return _write
