"""A workload as one table for each group of its jobs."""

import numpy as np
import pytest
from tiny import jobs

from cpsched.base import arrow
from cpsched.errors import TraceError
from cpsched.traces import read, table_groups
from cpsched.traces.table_groups import write_groups

LOG = jobs(
    *((second, 1 + second % 3, 5) for second in range(10)),
    user=[f"u{second % 4}" for second in range(10)],
    dependency=[-1, -1, -1, 1, -1, -1, -1, -1, -1, 7],
    set_aside=[("bad line", 3)],
)
CODES = np.array([0, 1, 0, 1, 0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize(("rows", "at_once"), [(1 << 20, 256), (3, 256), (4, 1)])
def test_each_table_has_the_jobs_of_its_group(rows, at_once, tmp_path, monkeypatch):
    """However many rows and files at a time; a group without jobs has no file."""
    monkeypatch.setattr(arrow, "ROWS", rows)
    monkeypatch.setattr(table_groups, "_OPEN", at_once)
    paths = [tmp_path / f"{name}.parquet" for name in ("a", "b", "none")]
    write_groups(LOG, CODES, paths)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet", "b.parquet"]
    for code, path in enumerate(paths[:2]):
        found, wanted = read(path), LOG.take(np.flatnonzero(code == CODES))
        assert (found.title, found.set_aside) == (path.stem, ())
        assert found.with_columns(set_aside=LOG.set_aside).digest() == wanted.digest()


def test_equal_workloads_give_equal_bytes(tmp_path):
    """Runs are found again by the digests of their logs."""
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        write_groups(LOG, CODES, [tmp_path / name / "a.parquet", tmp_path / name / "b.parquet"])
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "other" / path.name).read_bytes()


def test_a_dependency_across_groups_is_refused(tmp_path):
    """The other job is not in the table."""
    with pytest.raises(TraceError, match="job 3 depends on job 1, which is of another group"):
        write_groups(LOG, np.arange(10), [tmp_path / f"{at}.parquet" for at in range(10)])


def test_a_folder_that_cannot_be_written_to_is_an_error(tmp_path):
    """It is named, on one line."""
    with pytest.raises(TraceError, match="cannot be written: No such file or directory"):
        write_groups(LOG, CODES, [tmp_path / "no" / "a.parquet", tmp_path / "no" / "b.parquet"])
