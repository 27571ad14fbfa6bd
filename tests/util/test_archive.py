"""Nested state as flat names, and back."""

import zipfile

import numpy as np
import pytest

from cpsched.util.archive import flattened, read_arrays, unflattened


def test_arrays_and_the_rest_go_apart_and_come_together_again():
    """Under the keys that lead to them, joined by slashes."""
    state = {"seed": 3, "models": {"0": {"left": np.arange(3)}, "name": "a"}}
    arrays, plain = flattened(state)
    assert {name: value.tolist() for name, value in arrays.items()} == {"models/0/left": [0, 1, 2]}
    assert plain == {"seed": 3, "models/name": "a"}
    again = unflattened({**arrays, **plain})
    assert again["models"]["0"]["left"].tolist() == [0, 1, 2]
    assert (again["seed"], again["models"]["name"]) == (3, "a")


def test_what_is_always_there_is_there_though_it_was_empty():
    """An empty mapping leaves no name to find it by."""
    arrays, plain = flattened({"seed": 3, "models": {}})
    assert unflattened({**arrays, **plain}, "models") == {"seed": 3, "models": {}}


def test_arrays_are_read_by_name(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, **{"one": np.arange(3), "/two": np.array("text")})
    assert read_arrays(path)["one"].tolist() == [0, 1, 2]
    assert list(read_arrays(path, only=["/two"])) == ["/two"]


def test_an_archive_that_unpacks_to_more_than_it_may_is_refused(tmp_path):
    """Zeros pack a thousand times smaller; a checkpoint is not packed at all."""
    path = tmp_path / "a.npz"
    np.savez_compressed(path, zeros=np.zeros(10**6))
    with pytest.raises(ValueError, match=r"the archive holds 8,000,\d+ bytes, and at most"):
        read_arrays(path)
    with pytest.raises(ValueError, match=r"at most 1,000 are expected"):
        read_arrays(path, 1000)
    assert len(read_arrays(path, 10**7)["zeros"]) == 10**6


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<i8', 'fortran_order': False, 'shape': (" + b"(" * 900 + b"}",
        b"{'descr': '<i8', 'fortran_order': False, 'shape': (-1,), }",
        b"{'descr': 'O', 'fortran_order': False, 'shape': (1,), }",
        b"{'descr': [('a', 'q')] * 3, 'fortran_order': False, 'shape': (1,)}",
        b"{'descr': '<i8', 'fortran_order': False, 'shape': (4611686018427387904,)}",
        b"\xff\xfe",
        b"'",
    ],
)
def test_malformed_headers_of_arrays_are_one_line(tmp_path, header):
    """NumPy raises SyntaxError, MemoryError, tokenize errors and more for them."""
    path = tmp_path / "a.npz"
    member = b"\x93NUMPY\x01\x00" + (len(header) + 1).to_bytes(2, "little") + header + b"\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", member)
    with pytest.raises(ValueError, match=".") as caught:
        read_arrays(path)
    assert "\n" not in str(caught.value)
