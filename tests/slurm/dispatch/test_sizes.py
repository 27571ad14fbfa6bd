"""Job size and TRES in priorities, of many sizes, by an imported policy: those of ``sprio``."""

import importlib
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]


@pytest.fixture
def sprio(monkeypatch):
    """The benchmark that compares them."""
    monkeypatch.syspath_prepend(str(TESTS.parent / "benchmarks" / "slurm"))
    yield importlib.import_module("sprio")
    sys.modules.pop("sprio")


def test_priorities_of_many_sizes_are_those_of_sprio(sprio):
    """Weighted factors to the whole number; of TRES, sprio shows two digits, so half of one."""
    differences = sprio.differences(sprio.read(TESTS / "data" / "slurm" / "22.05.8" / "sizes"))
    assert differences.pop("jobs") == 60
    assert differences.pop("sizes") > 50
    tres = [
        differences.pop(name) for name in list(differences) if name.endswith("before weighting")
    ]
    assert len(tres) == 3
    assert max(tres) <= 0.005 + 1e-9
    assert set(differences.values()) == {0}


def test_another_memory_of_a_job_is_another_priority(sprio):
    output = sprio.read(TESTS / "data" / "slurm" / "22.05.8" / "sizes")
    output["jobs"] = output["jobs"].replace("mem=60000M", "mem=90000M")
    assert sprio.differences(output)["priority"] > 0
