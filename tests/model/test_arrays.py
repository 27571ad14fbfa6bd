"""Arrays of one value, and arrays in files: the same numbers, in less memory."""

import os
from mmap import PAGESIZE
from pathlib import Path

import numpy as np
import pytest
from recorded import result, simulator

from cpsched import logs, systems
from cpsched.model import arrays
from cpsched.model.arrays import (
    compact,
    constant,
    is_constant,
    let_go,
    move,
    put_away,
    rows_of,
    shared,
)
from cpsched.model.workload import COLUMNS
from cpsched.papers.generators.eurora import EURORA, EuroraOptions
from cpsched.simulation import arrivals, checkpoint
from cpsched.simulation.observers import Observer
from cpsched.systems.mapping import fit


@pytest.fixture
def in_files(monkeypatch):
    """Keep arrays of a page or more in files."""
    monkeypatch.setattr(arrays, "_IN_FILE", 4096)


@pytest.mark.parametrize(
    ("values", "becomes_constant"), [([], True), ([4], True), ([4, 4, 4], True), ([4, 5], False)]
)
def test_an_array_of_equal_values_becomes_constant(values, becomes_constant):
    array = np.array(values, dtype=np.int64)
    result = compact(array)
    assert (result.tolist(), result.dtype) == (values, array.dtype)
    # NumPy sees no difference in arrays of at most one element.
    assert len(values) < 2 or is_constant(result) == becomes_constant


@pytest.mark.parametrize("num", [0, 1, 5])
@pytest.mark.parametrize("rows", [[], [0], [0, 0, 0]])
def test_rows_of_one_value_are_one_value(num, rows):
    column = constant(7, (num, 2))
    assert is_constant(column) or num == 0
    if num or not rows:
        taken = rows_of(column, np.array(rows, dtype=np.int64))
        assert taken.tolist() == [[7, 7]] * len(rows)
        assert len(rows) < 2 or is_constant(taken)
    with pytest.raises(ValueError, match="read-only"):
        column[:1] = 3


def test_of_a_column_of_one_job_more_rows_can_be_taken():
    """NumPy forgets the strides of an array of one element where it is C-contiguous."""
    single = rows_of(constant(7, (3,)), np.array([1]))
    assert rows_of(single, np.zeros(1000, dtype=np.int64)).tolist() == [7] * 1000


def test_what_is_let_go_comes_back(in_files):
    writable, shown = shared(5000, 3)
    writable[:] = np.arange(15000).reshape(5000, 3)
    before = _resident()
    let_go(shown, 0, 5000)
    assert _resident() < before
    assert (shown == np.arange(15000).reshape(5000, 3)).all()
    with pytest.raises(ValueError, match="read-only"):
        shown[0, 0] = 1
    writable[3, 1] = -1
    let_go(writable, 0, 5000)
    assert shown[3, 1] == -1


def test_a_column_of_a_large_array_is_let_go_with_its_rows():
    """The array is large enough for a file, its column is not; letting it go takes all pages."""
    writable, shown = shared(1 << 20, 41)
    writable[:] = 1
    before = _resident()
    let_go(shown[:, 30], 0, 1 << 20)
    assert (before - _resident()) * PAGESIZE > writable.nbytes * 0.9
    assert shown[:: 1 << 10].all()


def _resident():
    return int(Path("/proc/self/statm").read_text().split()[1])


def test_a_copy_in_a_file_is_equal(in_files):
    for array in (np.arange(70_000), np.arange(9000) % 2 == 0, np.array(["a", "b c"] * 3000)):
        copy = put_away(array)
        assert copy.dtype == array.dtype
        assert (copy == array).all()
    target = shared(70_000)[0]
    move(np.arange(60_000), target)
    assert target[:60_001].tolist() == [*range(60_000), 0]


class Watching(Observer):
    """Keeps the loop in Python."""

    def on_instant(self, now):
        pass


@pytest.mark.parametrize("dispatcher", ["fifo", "easy", "sjf"])
@pytest.mark.parametrize("observers", [(), (Watching(),)])
def test_a_simulation_in_files_is_the_same(monkeypatch, dispatcher, observers):
    workload = EURORA.generate(EuroraOptions(jobs=1500, seed=3))
    usual = result(simulator(fit(workload, systems.load("eurora")), dispatcher, *observers))
    monkeypatch.setattr(arrays, "_IN_FILE", 4096)
    monkeypatch.setattr(arrivals, "_BLOCK", 7)
    again = result(simulator(fit(workload, systems.load("eurora")), dispatcher, *observers))
    assert again == usual


@pytest.mark.parametrize("observers", [(), (Watching(),)])
def test_a_state_in_files_is_the_same(monkeypatch, tmp_path, observers):
    """Saved half-way, read in another simulator: the same end, and no array of it is shared."""
    fitted = fit(EURORA.generate(EuroraOptions(jobs=1500, seed=3)), systems.load("eurora"))
    uninterrupted = simulator(fitted, "easy", *observers)
    uninterrupted.run()
    monkeypatch.setattr(arrays, "_IN_FILE", 4096)
    cut = simulator(fitted, "easy", *observers)
    cut.run(until=int(fitted.workload.submit[700]))
    state = cut.state()
    cut.run()
    checkpoint.write(tmp_path / "state.npz", "me", state)
    again = simulator(fitted, "easy", *observers)
    again.restore(checkpoint.read(tmp_path / "state.npz", "me"))
    again.run()
    assert result(again) == result(uninterrupted)


def test_a_table_in_files_reads_the_same(tmp_path, in_files):
    workload = EURORA.generate(EuroraOptions(jobs=1500, seed=3))
    logs.write(workload, tmp_path / "a.parquet")
    assert logs.read(tmp_path / "a.parquet").digest() == workload.digest()


def test_a_column_that_a_log_does_not_have_takes_no_memory(tmp_path):
    rows = "job_id,submit,runtime,requested_time,units", "1,0,5,9,1", "2,1,5,9,1"
    (tmp_path / "a.csv").write_text("\n".join((*rows, "")))
    read = logs.read(tmp_path / "a.csv")
    given = {"job_id", "submit", "runtime", "requested_time", "units", "units_min", "units_max"}
    for name in COLUMNS:
        value = getattr(read, name)
        column = getattr(value, "codes", value)
        assert is_constant(column) == (name not in given | {"request"}), name


def test_a_full_disk_is_an_error_and_not_the_end_of_the_process(monkeypatch, in_files):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space"):
        shared(5000)
