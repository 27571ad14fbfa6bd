"""What the tests of the trace formats share."""

import gzip

import numpy as np
import pytest

from cpsched.model.workload import COLUMNS, Labels, Workload


@pytest.fixture
def small_logs(data):
    """Folder of the small logs."""
    return data / "traces"


@pytest.fixture
def log(tmp_path):
    """Write a file of the given text or bytes, packed where its name ends in .gz."""

    def write(name, content):
        raw = content.encode() if isinstance(content, str) else content
        path = tmp_path / name
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return path

    return write


@pytest.fixture(scope="session")
def two_jobs():
    """Return a function that makes two jobs of two units, with columns as given."""
    usual = {
        "title": "two",
        "job_id": ["1", "2"],
        "submit": [0, 5],
        "runtime": [10, 20],
        "units": [2, 2],
        "request": [[4], [4]],
        "resources": ("core",),
    }
    return lambda **columns: Workload.build(**usual | columns)


@pytest.fixture(scope="session")
def differences():
    """Name the fields in which two workloads differ."""

    def different(first, second):
        if isinstance(first, Labels) and isinstance(second, Labels):
            return first.values != second.values or different(first.codes, second.codes)
        if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
            return first.dtype.kind != second.dtype.kind or not np.array_equal(first, second)
        return first != second

    def names(first, second):
        fields = ("title", "epoch", "resources", "layout", "header", "set_aside", *COLUMNS)
        return [name for name in fields if different(getattr(first, name), getattr(second, name))]

    return names
