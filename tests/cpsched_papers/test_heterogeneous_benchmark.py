"""The benchmark of machines with GPUs: its figures are of the runs, and are kept once."""

from __future__ import annotations

import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cpsched import traces
from cpsched.study import carry_out, load_study
from cpsched_papers.generators.eurora import EURORA, EuroraOptions

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("heterogeneous")


def run(benchmark: Any, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["heterogeneous.py", *map(str, arguments)])
    benchmark.main()


def test_it_prints_a_table_a_log_and_keeps_every_run_once(
    benchmark: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Mean waits add up from those of GPU jobs and of the others."""
    busy = EURORA.generate(EuroraOptions(jobs=1000, seed=3, load=1.5)).select(first=100)
    traces.write(busy, tmp_path / "all.parquet")
    run(benchmark, monkeypatch, "--select", tmp_path / "all.parquet", tmp_path / "gpu.parquet")
    share = benchmark.takes_gpus(busy).mean()
    assert len(traces.read(tmp_path / "gpu.parquet")) == round(100 * share)
    (tmp_path / "study.toml").write_text(
        'systems = ["eurora"]\nseeds = 2\njitter = 5\ndispatchers = ["easy", "prb"]\n'
        '[[workloads]]\nfile = "all.parquet"\n[[workloads]]\nfile = "gpu.parquet"\n'
    )
    carry_out(load_study(tmp_path / "study.toml"), tmp_path / "out")
    file = tmp_path / "results.jsonl"
    run(benchmark, monkeypatch, tmp_path / "out", "--results", file)
    first = capsys.readouterr().out
    assert "### all, 100 jobs (0 rejected), requested, seeds 1, 2" in first
    assert f"### gpu, {round(100 * share)} jobs (0 rejected), requested, seeds 1, 2" in first
    kept = file.read_text()
    run(benchmark, monkeypatch, tmp_path / "out", "--results", file)
    assert capsys.readouterr().out == first
    assert file.read_text() == kept
    rows = benchmark.campaign.Results(file, benchmark.Case).rows
    assert len(rows) == 8
    for case, row in rows.items():
        assert 0 < row["GPU %"] <= 100
        if case.log == "all":
            whole = share * row["GPU wait h"] + (1 - share) * row["other wait h"]
            assert row["wait h"] == pytest.approx(whole)


def test_the_kept_results_are_those_of_the_study(
    benchmark: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file beside the benchmarks has every log and dispatcher of the study."""
    run(benchmark, monkeypatch, "--results", BENCHMARKS / "results" / "heterogeneous.jsonl")
    printed = capsys.readouterr().out
    study = tomllib.loads((BENCHMARKS / "heterogeneous.toml").read_text())
    assert all(f"### {one['name']}, " in printed for one in study["workloads"])
    assert all(f"`{name}`" in printed for name in study["dispatchers"])
