"""Files are there whole, or as they were."""

import pytest

from cpsched.base.atomic_files import check_new_file, replacing
from cpsched.errors import ConfigError


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


def test_a_new_file_is_checked_before_the_work_begins(tmp_path):
    """Suffix, folder, what is not a file, and what exists already."""
    taken = tmp_path / "plan.csv"
    check_new_file(taken, overwrite=False, suffixes=(".csv", ".json"))
    taken.write_text("")
    check_new_file(taken, overwrite=True)
    for path, overwrite, message in (
        (taken, False, "plan.csv: --out: the file exists"),
        (tmp_path / "plan.xls", False, r"plan.xls: --out: must end in \.csv, \.json"),
        (tmp_path / "no" / "plan.csv", False, "its folder does not exist"),
        (tmp_path, True, "is not a regular file"),
    ):
        suffixes = (".csv", ".json") if path.suffix else ()
        with pytest.raises(ConfigError, match=message):
            check_new_file(path, overwrite=overwrite, suffixes=suffixes, key="--out")
