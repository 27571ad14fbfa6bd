"""The benchmark of allocators: ratios to the same dispatcher's run of the same seed."""

from __future__ import annotations

import json
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cpsched.base import registry

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def allocators(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("allocators")


def study(folder: Path, slowdowns: dict[tuple[str, str, int], float]) -> Path:
    """
    Write a study's folder: mean bounded slowdowns by (log, dispatcher's label, seed).

    Waits and response are tens of them; a twentieth of the memory and half of the GPUs are in use.
    """
    places = []
    for number, ((log, dispatcher, seed), slowdown) in enumerate(slowdowns.items()):
        run = folder / "runs" / str(number)
        run.mkdir(parents=True)
        found = {
            "bounded_slowdown": {"all": {"mean": slowdown}},
            "wait_s": {"all": {"p99.9": 10 * slowdown, "max": 30 * slowdown}},
            "response_by_area_s": 20 * slowdown,
            "steady_utilization": {"mem": 0.05, "gpu": 0.5 / slowdown, "core": 0.1},
        }
        (run / "metrics.json").write_text(json.dumps(found))
        (run / "run.json").write_text("{}")
        place = {"workload": log, "dispatcher": dispatcher, "seed": seed, "folder": str(number)}
        places.append(place)
    (folder / "study.json").write_text(json.dumps({"runs": places}))
    return folder


def rows(printed: str, title: str) -> dict[tuple[str, str], list[str]]:
    """Return the cells of a printed table by dispatcher and allocator."""
    table = printed.split(f"### {title}")[1].split("###")[0]
    cells = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("|")][2:]
    return {(line[0].strip(), line[1].strip()): [one.strip() for one in line[2:]] for line in cells}


def test_a_dispatcher_is_compared_with_itself_under_first_fit(
    allocators: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Paired by seed, bold where the interval leaves out 1; then the means over the logs."""
    figures = {
        ("A", "easy first-fit", 1): 2.0, ("A", "easy first-fit", 2): 4.0,
        # Half in both runs; half and twice: 1 in the geometric mean.
        ("A", "easy frugal", 1): 1.0, ("A", "easy frugal", 2): 2.0,
        ("A", "easy balanced", 1): 1.0, ("A", "easy balanced", 2): 8.0,
        # Its own first-fit is not there: nothing to compare with.
        ("A", "rollout frugal", 1): 1.0,
        ("B", "easy first-fit", 1): 2.0, ("B", "easy frugal", 1): 4.0,
    }  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["allocators.py", str(study(tmp_path, figures))])
    allocators.main()
    printed = capsys.readouterr().out
    first = rows(printed, "A: over first-fit, runs: 2")
    half, twice = "**0.50**", "**2.00**"
    # Of the resources the GPUs are used most; their use is the reciprocal.
    assert first["easy", "frugal"] == [half, half, half, half, twice]
    assert first["easy", "balanced"] == 5 * ["1.00"]
    assert set(first) == {("easy", "frugal"), ("easy", "balanced")}
    # A single run has no interval.
    assert rows(printed, "B: over first-fit, runs: 1")["easy", "frugal"][0] == "2.00"
    # Half and twice; what one of the logs does not have is left out.
    assert rows(printed, "All logs") == {("easy", "frugal"): 5 * ["1.00"]}


def test_the_study_has_every_dispatcher_under_every_allocator() -> None:
    """But those that go by the topology. Labels end in the allocator."""
    about = tomllib.loads((BENCHMARKS / "allocators.toml").read_text())
    crossed = set()
    for label, spec in about["dispatchers"].items():
        dispatcher, _, allocator = label.rpartition(" ")
        assert spec.endswith(f"allocator={allocator}")
        crossed.add((dispatcher, allocator))
    together = {"lowest-switch", "fewest-groups", "contiguous"}
    assert {allocator for _, allocator in crossed} == set(
        registry.BUILT_IN["allocators"]
    ) - together
    assert len(crossed) == 3 * 5
