"""Files are there whole, or as they were."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cpsched.errors import ConfigError
from cpsched.util.atomic_files import check_new_file, open_lock, replacing, subfolder


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


def test_a_file_may_have_another_ending_until_it_is_complete(tmp_path):
    """Where another program reads every file of its own ending."""
    path = tmp_path / "queue.prom"
    with replacing(path, ending=".new") as partial:
        assert partial.suffix == ".new"
        partial.write_text("new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_left_is_removed(tmp_path):
    """By the next that writes a file of the name; but not what a living process writes."""
    path = tmp_path / "state[1]"
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        "from cpsched.util.atomic_files import replacing\n"
        "with replacing(Path(sys.argv[1])) as partial:\n"
        "    partial.write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    process = subprocess.run([sys.executable, "-c", script, path], check=False)
    assert process.returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 1
    with replacing(path) as first:
        first.write_text("first")
        with replacing(path) as second:
            second.write_text("second")
    assert path.read_text() == "first"
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
        (tmp_path / "no" / "plan.csv", False, "the folder does not exist"),
        (tmp_path, True, "is not a regular file"),
    ):
        suffixes = (".csv", ".json") if path.suffix else ()
        with pytest.raises(ConfigError, match=message):
            check_new_file(path, overwrite=overwrite, suffixes=suffixes, key="--out")


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    """And its name is before anything is built on it."""
    calls, replace = [], Path.replace

    def replaced(path, target):
        calls.append("replace")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", lambda handle: calls.append(os.fstat(handle).st_size))
    monkeypatch.setattr(Path, "replace", replaced)
    with replacing(tmp_path / "plan.csv") as partial:
        partial.write_text("12345")
    assert calls[:2] == [5, "replace"]
    assert len(calls) == 3


def test_links_are_replaced_or_refused_never_followed(tmp_path):
    """What they point to is somebody else's."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "file").write_text("old")
    for name, target in (("file", "theirs/file"), ("lock", "theirs/file"), ("folder", "theirs")):
        (tmp_path / name).symlink_to(tmp_path / target)
    with replacing(tmp_path / "file") as partial:
        partial.write_text("new")
    with pytest.raises(OSError, match="symbolic link"):
        open_lock(tmp_path / "lock")
    with pytest.raises(OSError, match="is a link, which is not followed"):
        subfolder(tmp_path, "folder", "deep")
    assert (tmp_path / "file").read_text() == "new"
    assert [path.read_text() for path in (tmp_path / "theirs").iterdir()] == ["old"]
    assert subfolder(tmp_path / "made", "a", "b").is_dir()
