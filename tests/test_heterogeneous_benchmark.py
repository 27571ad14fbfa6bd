"""The benchmark of machines with GPUs: its figures, and that it goes on where it was."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cpsched.generators.eurora import EURORA, EuroraOptions
from cpsched.mapping import fit
from cpsched.systems import load

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark; both its logs are a hundred busy jobs of a generated Eurora."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    module = import_module("heterogeneous")
    busy = EURORA.generate(EuroraOptions(jobs=1000, seed=3, load=1.5)).select(first=100)
    monkeypatch.setattr(module, "fitted", lambda *_: fit(busy, load("eurora")))
    return module


def test_it_prints_a_table_a_log_and_runs_nothing_twice(
    benchmark: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Mean waits add up from those of GPU jobs and of the others."""
    chosen = ["--dispatcher", "easy", "--dispatcher", "prb", "--seeds", "2"]
    kept = ["--results", str(tmp_path / "results.jsonl"), "--traces", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["heterogeneous.py", *chosen, *kept])
    benchmark.main()
    first = capsys.readouterr().out
    assert first.count("CPU s\n") == 8
    for log in benchmark.LOGS:
        assert f"### {log}, 100 jobs (0 rejected), requested, seeds 1, 2" in first
    benchmark.main()
    again = capsys.readouterr().out
    assert "seed 1: " not in again
    assert again.strip() == first[first.index("\n\n###") :].strip()
    results = benchmark.campaign.Results(tmp_path / "results.jsonl")
    share = benchmark.takes_gpus(benchmark.fitted().workload).mean()
    for row in results.rows.values():
        assert 0 < row["GPU %"] <= 100
        whole = share * row["GPU wait h"] + (1 - share) * row["other wait h"]
        assert row["wait h"] == pytest.approx(whole)
