"""Files are there whole, or as they were."""

from __future__ import annotations

import pytest

from cpsched.atomic_files import replacing


def test_a_file_appears_when_the_block_ends(tmp_path):
    """Not before; it takes the place of what was there."""
    path = tmp_path / "model.pb.txt"
    path.write_text("old")
    with replacing(path) as partial:
        assert partial.name.endswith(".pb.txt")
        partial.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("writes", [False, True])
def test_nothing_is_left_of_a_failure(tmp_path, writes):
    """Whether or not anything was written by then."""
    path = tmp_path / "plan.csv"
    path.write_text("old")

    def write(partial):
        if writes:
            partial.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), replacing(path) as partial:
        write(partial)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
