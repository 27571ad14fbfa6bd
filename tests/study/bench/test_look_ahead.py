"""Dispatchers that look ahead start other jobs where the future of a log is changed."""

from pathlib import Path

import numpy as np
import pytest
from tiny import jobs

from cpsched.checks import look_ahead
from cpsched.errors import RunError
from cpsched.logs import write as write_log

pytestmark = pytest.mark.slow

CODE = Path(__file__).with_name("leaky")


@pytest.fixture
def differences(tmp_path, monkeypatch):
    """Return a function that tests a class on a hundred jobs, on a machine that they keep full."""
    monkeypatch.setattr(look_ahead, "POSITIONS", (0.4,))
    monkeypatch.syspath_prepend(CODE)
    rng = np.random.default_rng(3)
    submit = np.sort(rng.integers(0, 6000, 200))
    runtime = rng.integers(1, 600, 200)
    columns = np.stack([submit, rng.integers(1, 60, 200), runtime, np.full(200, 600)], axis=1)
    log = tmp_path / "window.parquet"
    write_log(jobs(*columns.tolist()).take(np.arange(100, 200)), log)
    return lambda name: look_ahead.look_ahead(
        log, "kth-sp2", f"leaky:{name}", "requested", tmp_path / "runs"
    )


def test_an_honest_dispatcher_starts_the_same_jobs(differences):
    assert differences("Honest") == []


@pytest.mark.parametrize("name", ["ReadsTheLog", "LooksIntoMemory"])
def test_planted_leaks_are_caught(name, differences):
    [difference] = differences(name)
    assert difference.startswith("with other jobs after second")
    assert " instead of " in difference


def test_a_run_that_fails_is_an_error(differences):
    with pytest.raises(RunError, match="the simulation fails: .*'Gone'"):
        differences("Gone")
