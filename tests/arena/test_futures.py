"""Entries that look ahead are found by worlds with another future."""

from pathlib import Path

import numpy as np
import pytest
from tiny import jobs

from arena import futures
from arena.logs import Log, Window
from arena.submission import Submission
from cpsched.api import write_log

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


def test_a_log_of_the_set_may_not_be_opened_from_elsewhere(window, tmp_path, monkeypatch):
    code = tmp_path / "code"
    code.mkdir()
    text = (CODE / "leaky.py").read_text().replace('"log.parquet"', repr(str(window.path)))
    text = text.replace("return read_log(", f"open({str(window.path)!r}, 'rb'); return read_log(")
    (code / "leaky.py").write_text(text)
    one = Submission(name="from elsewhere", dispatcher="leaky:ReadsTheLog", code=code)
    [leak] = futures.leaks(one, window, tmp_path / "worlds", [window.path])
    assert leak.said == f"it opens {window.path}, which holds jobs of the set"
