"""Orders on disk: whatever was written is known to the next engine."""

import errno
import json
import os

import pytest

from cpsched.errors import RunError
from slurm_adapter.live.journal import Journal
from slurm_adapter.live.order import Order


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def opened(path):
    journal = Journal()
    journal.open(path)
    return journal


def orders(*keys, **more):
    return [Order(key, ("a", "b"), ("c",), 2, 4, 5.0, **more) for key in keys]


def words(path):
    return [json.loads(line)["what"] for line in path.read_text().splitlines()]


def test_a_journal_survives_a_cut_off_line(path):
    """But not one that is damaged elsewhere."""
    journal = opened(path)
    journal.write("begin", orders(*"1234"))
    journal.write("ran", orders("2", "3", ran=True))
    journal.write("gone", orders("4"))
    journal.close()
    with path.open("a") as file:
        file.write('{"what": "begin", "jo')
    journal = opened(path)
    (first,), (second, third) = orders("1"), orders("2", "3", ran=True)
    assert journal.orders == {"1": first, "2": second, "3": third}
    journal.write("back", [first])
    journal.close()
    assert words(path)[-2:] == ["gone", "back"]
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "nonsense", *lines[1:]]) + "\n")
    with pytest.raises(RunError, match="line 2: is not an order"):
        opened(path)


def test_a_large_journal_is_put_aside(path, monkeypatch):
    """What is open is in the new one."""
    journal = opened(path)
    journal.write("begin", orders(*map(str, range(50))))
    journal.write("ran", orders("49", ran=True))
    journal.write("gone", orders(*map(str, range(48))))
    journal.close()
    monkeypatch.setattr("slurm_adapter.live.journal._LARGE", 1000)
    for _ in range(2):
        journal = opened(path)
        kept = [*orders("48"), *orders("49", ran=True)]
        assert list(journal.orders.values()) == kept
        journal.close()
    assert len(words(path)) == 2
    assert len(list(path.parent.glob("journal-*.jsonl"))) == 1


def test_a_full_disk_is_said_with_the_name_of_the_journal(path, monkeypatch):
    """Also if it is full before anything is written down."""

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    journal = Journal()
    with pytest.raises(RunError, match=f"{path.name}: cannot be written: No space left on device"):
        journal.open(path)
    journal.close()
