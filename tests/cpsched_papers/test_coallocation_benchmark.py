"""The benchmark of co-allocation: whose runs it takes, and that it has the papers' figures right."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cpsched.study import carry_out, load_study
from cpsched.study.paired import Estimate
from cpsched.study.task import tasks_of
from cpsched.study.worker import arguments_of
from cpsched_papers.generators.heterogeneous_tables import PRESETS

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


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


def test_every_row_of_the_tables_is_a_run_of_the_studies(coallocation: Any) -> None:
    """The shipped studies, and the one beside the benchmark, have them all, one seed each."""
    found = set()
    for name in (str(BENCHMARKS / "esp.toml"), "aucsched", "aucsched-tree"):
        study = replace(load_study(name), seeds=(1,))
        for task in tasks_of(study):
            said = {"arguments": arguments_of(task), "dispatcher": task.dispatcher}
            found.add(coallocation.case_of(said))
    rows = {(row.workload, row.method) for rows in coallocation.STUDIES.values() for row in rows}
    assert {(case.workload, case.method) for case in found} == rows
    assert {(case.seed, case.faithful, case.nodesets) for case in found} == {(1, False, 0)}


@pytest.mark.parametrize(
    ("dispatcher", "expected"),
    [
        ("aucsched1:faithful=yes,priority=basic", ("AUCSCHED1", True, 0)),
        ("aucsched2:nodesets=2", ("AUCSCHED2", False, 2)),
        ("ipsched", ("IPSCHED P", False, 0)),
        ("easy", (None, False, 0)),
    ],
)
def test_methods_are_told_by_what_dispatchers_do(
    coallocation: Any, dispatcher: str, expected: tuple[Any, ...]
) -> None:
    """Options that are the default may be left out; those of an auction's variant are apart."""
    assert coallocation.method_of(dispatcher) == expected


def test_runs_are_shown_and_kept(
    coallocation: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Two methods on a small ESP: figures are of the runs, and once in the file."""
    (tmp_path / "study.toml").write_text(
        'title = "small"\nsystems = ["esp-1024"]\nseeds = [1]\n'
        '[[workloads]]\ngenerator = "esp"\nfirst = 60\nseeded = true\n'
        '[dispatchers]\n1 = "slurm-backfill:priority=basic"\n2 = "ipsched"\n'
    )
    carry_out(load_study(tmp_path / "study.toml"), tmp_path / "runs")
    file = tmp_path / "results.jsonl"
    arguments = [str(tmp_path / "runs"), "--results", str(file)]
    run(coallocation, monkeypatch, *arguments)
    out = capsys.readouterr().out
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(row["case"]["method"], row["case"]["seed"]) for row in rows] == [
        ("Backfill", 1), ("IPSCHED P", 1),
    ]  # fmt: skip
    assert all(0 < row["utilization"] <= 100 and row["packing_factor"][0] >= 1 for row in rows)
    assert "0.77 (1.257)" in out
    assert "### ESP: against backfilling" in out
    assert "| -52 |" in " ".join(out.split())
    assert "A.2" not in out
    run(coallocation, monkeypatch, *arguments)
    assert len(file.read_text().splitlines()) == 2
    run(coallocation, monkeypatch, "--results", str(file))
    assert "0.77 (1.257)" in capsys.readouterr().out


def test_the_kept_results_can_be_read(
    coallocation: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file beside the benchmarks has runs of every table."""
    run(coallocation, monkeypatch, "--results", str(BENCHMARKS / "results" / "coallocation.jsonl"))
    out = capsys.readouterr().out
    assert all(f"### {name}: the paper's and ours" in out for name in coallocation.STUDIES)


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
