"""The guide's dispatcher with an objective and a constraint of its own."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from tiny import jobs, machine, run

from cpsched.verification import verify

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "cp_dispatcher.py"


@pytest.fixture(scope="module")
def example():
    """Return the example as a module."""
    spec = importlib.util.spec_from_file_location("cp_dispatcher", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_guide_shows_the_example():
    """The guide has the classes and imports of the example, which has at most fifty lines."""
    guide = (ROOT / "docs" / "guides" / "write-a-dispatcher.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    (block,) = (text for text in blocks if "class CappedUsers" in text)
    imports, classes = block.split("\n\n\n", maxsplit=1)
    example = EXAMPLE.read_text()
    assert classes.strip() in example
    assert set(imports.splitlines()) <= set(example.splitlines())
    assert len(EXAMPLE.read_text().splitlines()) <= 50


def most_cores_of_one_user(schedule):
    """Return the most cores that a user has at any second."""
    users = np.array(schedule.workload.user.decode())
    units, most = schedule.workload.units, 0
    for second in schedule.start.tolist():
        runs = (schedule.start <= second) & (second < schedule.end)
        most = max(most, *(units[runs & (users == user)].sum() for user in set(users)))
    return most


@pytest.mark.parametrize("nodes", [[(12,)], [(5,), (4,), (3,)]])
@pytest.mark.parametrize("seed", [1, 2])
def test_no_user_has_more_cores_than_the_cap(example, nodes, seed):
    """On a pool and on nodes, with requests that are too long; without the cap they do."""
    rng = np.random.default_rng(seed)
    rows = [
        (int(submit), int(units), int(runtime), int(runtime + slack))
        for submit, units, runtime, slack in zip(
            np.sort(rng.integers(0, 300, 60)), rng.integers(1, 5, 60),
            rng.integers(1, 60, 60), rng.integers(0, 60, 60), strict=True,
        )
    ]  # fmt: skip
    workload = jobs(*rows, user=[f"u{number}" for number in rng.integers(0, 3, 60)])
    capped = run(workload, machine(*nodes), example.CappedUsers(cap=5))
    assert not verify(capped.schedule)
    assert most_cores_of_one_user(capped.schedule) <= 5
    assert capped.decisions["solver_calls"] > 0
    free = run(workload, machine(*nodes), example.CappedUsers(cap=1000))
    assert most_cores_of_one_user(free.schedule) > 5


def test_its_objective_decides_who_goes_first(example):
    """The job of 4 cores for 9 s and the one of 1 core for 5 s do not fit beside each other."""
    busy, wide, small = (0, 1, 3, 3), (1, 4, 9, 9), (1, 1, 5, 5)
    workload = jobs(busy, wide, small, user=["ann", "bob", "eve"])
    start_times = run(workload, machine((4,)), example.CappedUsers(cap=4)).schedule.start
    assert start_times.tolist() == [0, 6, 1]
