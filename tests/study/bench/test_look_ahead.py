"""Entries that look ahead start other jobs where the future of a window is changed."""

from pathlib import Path

import numpy as np
import pytest
from tiny import jobs

from cpsched.checks import look_ahead
from cpsched.cli.verify_bench import _differences
from cpsched.errors import RunError
from cpsched.logs import write as write_log
from cpsched.study.bench.entry import BenchEntry
from cpsched.study.bench.log_windows import BenchLog, LogWindow

pytestmark = pytest.mark.slow

CODE = Path(__file__).with_name("leaky")
TRAIN = ("python", "train.py", "{before}", "{model}")


@pytest.fixture
def window(tmp_path, monkeypatch):
    """A hundred jobs on a machine that they keep full, and a hundred before them."""
    monkeypatch.setattr(look_ahead, "POSITIONS", (0.4,))
    rng = np.random.default_rng(3)
    submit = np.sort(rng.integers(0, 6000, 200))
    runtime = rng.integers(1, 600, 200)
    columns = np.stack([submit, rng.integers(1, 60, 200), runtime, np.full(200, 600)], axis=1)
    workload = jobs(*columns.tolist())
    write_log(workload.take(np.arange(100)), tmp_path / "before.parquet")
    write_log(workload.take(np.arange(100, 200)), tmp_path / "window.parquet")
    return LogWindow(
        log=BenchLog(name="two hundred", system="kth-sp2"),
        path=tmp_path / "window.parquet",
        before=tmp_path / "before.parquet",
    )


def entry(name, **about):
    return BenchEntry(name=name, dispatcher=f"leaky:{about.pop('of')}", code=CODE, **about)


def test_an_honest_entry_starts_the_same_jobs(window):
    learns = entry("learns", of="Learnt:model={model}", train=(*TRAIN, "before.parquet"))
    for honest in (entry("honest", of="Honest"), learns):
        assert _differences(honest, window) == []


@pytest.mark.parametrize(
    "leaky",
    [
        entry("reads the log", of="ReadsTheLog"),
        entry("learns from the test", of="Learnt:model={model}", train=(*TRAIN, "log.parquet")),
        entry("looks into memory", of="LooksIntoMemory"),
    ],
    ids=lambda leaky: leaky.name,
)
def test_planted_leaks_are_caught(leaky, window):
    [difference] = _differences(leaky, window)
    assert difference.startswith("with another future after second")
    assert " instead of " in difference


def test_a_run_that_fails_names_entry_and_log(window):
    with pytest.raises(RunError, match=r"gone on two hundred: the simulation fails: .*'Gone'"):
        _differences(entry("gone", of="Gone"), window)
