"""The benchmark of DN-DBES: its figures are of the runs."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cpsched.study import carry_out, load_study
from cpsched_papers.dn_dbes.negotiation import Negotiation
from cpsched_papers.dn_dbes.settings import NegotiationSettings

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
STUDY = """\
systems = ["esp-16"]
seeds = 2
dispatchers = ["easy"]
[[workloads]]
name = "ESP"
generator = "esp-nodes"
seeded = true
[malleable]
"malleable 0 %" = "none"
"malleable 50 %" = "share=0.5"
"""


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("dn_dbes")


def test_it_prints_a_row_for_each_share(
    benchmark: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Means over the seeds, in minutes."""
    (tmp_path / "study.toml").write_text(STUDY)
    carry_out(load_study(tmp_path / "study.toml"), tmp_path / "out")
    monkeypatch.setattr(sys, "argv", ["dn_dbes.py", str(tmp_path / "out")])
    benchmark.main()
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head == "| workload | easy: minutes | easy: wait, turnaround |"
    assert [row.split("|")[1].strip() for row in rows] == ["malleable 0 %", "malleable 50 %"]
    spans = [
        json.loads((run / "metrics.json").read_text())["makespan_s"] / 60
        for place, run in benchmark.campaign.finished(tmp_path / "out")
        if place["workload"] == "ESP, malleable 0 %"
    ]
    assert len(spans) == 2
    assert rows[0].split("|")[2].split()[0] == f"{sum(spans) / 2:.1f}"


def test_drawn_transactions_are_negotiated(benchmark: Any) -> None:
    """Half of them begun by the batch side, half by the runtime side."""
    for seed in range(2):
        machine, queue = benchmark.drawn(10, seed)
        assert machine.offers != queue.asks
        assert len(machine.running) == len(queue.jobs) == 10
        said = Negotiation(NegotiationSettings()).transact(machine, queue)
        assert type(said[-1]).__name__ == "StatusReport"
