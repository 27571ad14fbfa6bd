"""The benchmark of co-allocation runs, goes on where it was, and has the papers' figures right."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cpsched.generators.heterogeneous_tables import PRESETS
from cpsched.study.paired import Estimate

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))


@pytest.fixture
def printed() -> Any:
    """The papers' tables."""
    return import_module("coallocation_printed")


@pytest.fixture
def coallocation() -> Any:
    """The benchmark."""
    return import_module("coallocation")


@pytest.fixture
def tiny(coallocation: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """All workloads are ESP on 8 nodes, 60 jobs of it; returns the sources asked for."""
    from tiny import machine

    from cpsched.generators.esp import ESP, EspOptions
    from cpsched.mapping import fit

    asked: list[Any] = []

    def fitted(source: Any, system: str) -> Any:
        asked.append((source, system))
        workload = ESP.generate(EspOptions(nodes=8, cores=4, seed=dict(source[1])["seed"]))
        return fit(workload.select(first=60), machine(*[(4, 2)] * 8, resources=("core", "gpu")))

    monkeypatch.setattr(coallocation, "fitted", fitted)
    return asked


def run(coallocation: Any, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["coallocation.py", *arguments])
    coallocation.main()


def test_the_tables_are_complete(printed: Any) -> None:
    """10 rows of ESP; 5 x 8, 12 x 3, 8 x 2 and 9 x 2 of A.2 to A.5."""
    tables = (printed.ESP, printed.A2, printed.A3, printed.A4, printed.A5)
    assert [len(table) for table in tables] == [10, 40, 36, 16, 18]
    for table in tables:
        assert len({row[:2] for row in table}) == len(table)


def test_run_time_times_utilization_is_the_length_of_the_workload(printed: Any) -> None:
    """In A.2 and A.3: the lengths are those of A.2 and Table 8.4, which the generator has too."""
    for row in (*printed.A2, *printed.A3):
        length = row.figures["utilization"] / 100 * row.figures["runtime_h"]
        assert length == pytest.approx(PRESETS[row.workload].hours, rel=0.025), row


def test_some_figures_are_those_printed(printed: Any) -> None:
    """One of each table, read off the papers again."""
    rows = {
        row[:2]: row.figures for table in (printed.ESP, printed.A4, printed.A5) for row in table
    }
    assert rows["ESP", "IPSCHED P"]["wait_h"] == (0.77, 1.257)
    assert rows["ESP", "AUCSCHED1 multifactor"]["slowdown"] == (29.14, 26.93)
    assert rows["ESP+-4", "IPSCHED P*r multifactor"]["packing_factor"] == (1.016, 0.026)
    assert rows["8.5-6r", "AUCSCHED3"] == {"switch": (1.0, 0.59), "span": 61.4, "utilization": 91}
    assert rows["8.6-2", "Backfill tree"]["span"] == 271.5
    a3 = {row[:2]: row.figures for row in printed.A3}
    assert a3["8.4-1", "AUCSCHED2"]["fragmentation"] == (17.8, 13.86)


def test_every_method_is_a_dispatcher_and_every_workload_is_there(coallocation: Any) -> None:
    from cpsched.spec import build

    for spec in coallocation.METHODS.values():
        build("dispatchers", spec)
    cases = list(coallocation.cases(coallocation.STUDIES, 1))
    assert len(cases) == 10 + 40 + 36 + 16 + 18
    for case in cases:
        generator, options = case.source()
        assert generator == "esp" or dict(options)["workload"] in PRESETS
        build("dispatchers", case.dispatcher)


def test_ranges_are_for_those_who_know_them(coallocation: Any) -> None:
    """AUCSCHED2 has them in A.3; backfilling of 5' is that of 5 (T 8.4.1)."""
    case = coallocation.Case
    assert dict(case("8.4-7", "AUCSCHED2", 1).source()[1])["ranges"]
    assert not dict(case("8.4-7", "AUCSCHED1", 1).source()[1])["ranges"]
    assert dict(case("8.5-5r", "AUCSCHED3", 1).source()[1]) == {
        "ranges": True, "seed": 1, "workload": "8.5-5",
    }  # fmt: skip
    assert case("8.5-5r", "Backfill tree", 1).source() == case("8.5-5", "Backfill tree", 1).source()
    assert case("8.5-5r", "AUCSCHED3", 1).system == "tree-1024"


def test_runs_are_kept_and_not_done_again(
    coallocation: Any,
    tiny: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Two methods, two seeds: four lines; the same command again runs nothing."""
    file = tmp_path / "results.jsonl"
    arguments = ["--results", str(file), "--study", "ESP", "--seeds", "2", "--workload", "ESP"]
    arguments += ["--method", "Backfill", "--method", "IPSCHED P"]
    run(coallocation, monkeypatch, *arguments)
    out = capsys.readouterr().out
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(row["case"]["method"], row["case"]["seed"]) for row in rows] == [
        ("Backfill", 1), ("IPSCHED P", 1), ("Backfill", 2), ("IPSCHED P", 2),
    ]  # fmt: skip
    assert all(0 < row["utilization"] <= 100 and row["packing_factor"][0] >= 1 for row in rows)
    assert "0.77 (1.257)" in out
    assert "### ESP: against backfilling" in out
    assert "| -52 |" in " ".join(out.split())
    asked = len(tiny)
    run(coallocation, monkeypatch, *arguments)
    assert len(tiny) == asked
    assert len(file.read_text().splitlines()) == 4


def test_time_that_is_up_leaves_runs(
    coallocation: Any,
    tiny: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["--results", str(tmp_path / "r.jsonl"), "--study", "A.4", "--seeds", "1"]
    run(coallocation, monkeypatch, *arguments, "--minutes", "0")
    assert "16 runs are left; the same command goes on." in capsys.readouterr().out
    assert not tiny


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--workload", "VI"], "no workload VI; there are: 8.4-1"),
        (["--seeds", "0"], "--seeds is 0, must be at least 1"),
    ],
)
def test_bad_options_are_one_line(
    coallocation: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: list[str],
    message: str,
) -> None:
    with pytest.raises(SystemExit, match=message):
        run(coallocation, monkeypatch, "--results", str(tmp_path / "r.jsonl"), *arguments)


@pytest.mark.parametrize(
    ("said", "interval", "verdict"),
    [
        (0.1, (1.02, 1.01, 1.03), "same"),
        (0.1, (0.98, 0.97, 0.99), "other"),
        (-0.1, (0.98, 0.97, 0.99), "same"),
        (-0.1, (0.98, 0.95, 1.01), "unclear"),
        (0.0, (1.0, 1.0, 1.0), "same"),
        (0.0, (1.2, 1.1, 1.3), "unclear"),
        (0.1, (1.2, None, None), "same"),
    ],
)
def test_directions_agree_if_the_interval_says_so(
    coallocation: Any, said: float, interval: tuple[Any, ...], verdict: str
) -> None:
    found = Estimate(*interval, number=3)
    assert coallocation._agreement(said, found) == verdict
