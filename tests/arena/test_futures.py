"""Entries that look ahead are found by worlds with another future."""

from pathlib import Path

import numpy as np
import pytest
from tiny import jobs

from arena import futures
from arena.logs import Log, Window
from arena.opened import opened
from arena.submission import Submission
from cpsched.api import write_log
from cpsched.api.errors import ConfigError

pytestmark = pytest.mark.slow

CODE = Path(__file__).with_name("leaky")
TRAIN = ("python", "train.py", "{before}", "{model}")


@pytest.fixture
def window(tmp_path, monkeypatch):
    """A hundred jobs on a machine that they keep full, and a hundred before them."""
    monkeypatch.setattr(futures, "POSITIONS", (0.4,))
    rng = np.random.default_rng(3)
    submit = np.sort(rng.integers(0, 6000, 200))
    runtime = rng.integers(1, 600, 200)
    columns = np.stack([submit, rng.integers(1, 60, 200), runtime, np.full(200, 600)], axis=1)
    workload = jobs(*columns.tolist())
    write_log(workload.take(np.arange(100)), tmp_path / "before.parquet")
    write_log(workload.take(np.arange(100, 200)), tmp_path / "window.parquet")
    return Window(
        log=Log(name="two hundred", system="kth-sp2"),
        path=tmp_path / "window.parquet",
        before=tmp_path / "before.parquet",
    )


def entry(name, **about):
    return Submission(name=name, dispatcher=f"leaky:{about.pop('of')}", code=CODE, **about)


def test_an_honest_entry_has_no_leak(window, tmp_path):
    learns = entry("learns", of="Learnt:model={model}", train=(*TRAIN, "before.parquet"))
    for one in (entry("honest", of="Honest"), learns):
        assert futures.leaks(one, window, tmp_path / one.name, [window.path]) == []


@pytest.mark.parametrize(
    "one",
    [
        entry("reads the log", of="ReadsTheLog"),
        entry("learns from the test", of="Learnt:model={model}", train=(*TRAIN, "log.parquet")),
        entry("looks into memory", of="LooksIntoMemory"),
    ],
    ids=lambda one: one.name,
)
def test_planted_leaks_are_caught(one, window, tmp_path):
    [leak] = futures.leaks(one, window, tmp_path / "worlds")
    assert leak.log == "two hundred"
    assert "with another future after second" in leak.said
    assert " instead of " in leak.said


@pytest.mark.parametrize("how", ["library", "another process"])
def test_a_log_of_the_set_may_not_be_opened_from_elsewhere(how, window, tmp_path):
    code = tmp_path / "code"
    code.mkdir()
    text = (CODE / "leaky.py").read_text().replace('"log.parquet"', repr(str(window.path)))
    if how == "another process":
        text = text.replace(
            "return read_log(",
            f"import subprocess; subprocess.run(['cat', {str(window.path)!r}], capture_output=True);"
            " return read_log(",
        )
    (code / "leaky.py").write_text(text)
    one = Submission(name="from elsewhere", dispatcher="leaky:ReadsTheLog", code=code)
    [leak] = futures.leaks(one, window, tmp_path / "worlds", [window.path])
    assert leak.said == f"it opens {window.path}, which holds jobs of the set"


def test_what_is_opened_is_seen_and_nothing_else(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text(name)
    with opened([tmp_path / "a", tmp_path / "b"]) as found:
        (tmp_path / "b").read_text()
    assert found == {tmp_path / "b"}


def test_what_pip_writes_is_a_lock_file(tmp_path):
    (tmp_path / "entry.toml").write_text('name = "x"\ndispatcher = "easy"\nlock = "lock.txt"\n')
    lock = tmp_path / "lock.txt"
    lock.write_text("-e git+file:///here#egg=mine\nother @ file:///there\nNum_Py==1.0  # old\n")
    assert Submission.load(tmp_path).lock == ("num-py==1.0",)
    lock.write_text("numpy\n")
    with pytest.raises(ConfigError, match="lock.txt:1: 'numpy' must be name==version"):
        Submission.load(tmp_path)
