"""The benchmark of the thesis's claims: what it compares, and that it judges as it says."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cpsched.cli.main import main

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))


@pytest.fixture
def thesis() -> Any:
    """The benchmark."""
    return import_module("thesis")


@pytest.fixture
def claims() -> Any:
    """What it judges."""
    return import_module("thesis_claims")


def test_claims_are_of_the_42_runs_and_of_figures_there_are(thesis: Any, claims: Any) -> None:
    """A name that is spelt wrong would never be judged."""
    figures = {*thesis.COLUMNS, *thesis.QUEUES}
    for claim in claims.CLAIMS:
        assert claim.comparisons
        for one in claim.comparisons:
            for run in (one.low, one.high):
                dispatcher, _, estimate = run.rpartition("-")
                assert dispatcher in thesis.DISPATCHERS
                assert estimate in "WDR"
            assert one.low != one.high
            assert one.figure in figures
            assert one.group in thesis.GROUPS
            assert one.figure not in thesis.QUEUES or one.group == "all"


@pytest.mark.parametrize(
    ("relation", "ratio", "holds"),
    [("<", 0.89, True), ("<", 0.91, False), ("~", 0.91, True), ("~", 1.09, True),
     ("~", 1.11, False), ("~", 0.89, False), ("<=", 1.09, True), ("<=", 0.1, True),
     ("<=", 1.11, False)],
)  # fmt: skip
def test_a_comparison_holds_beyond_what_is_similar(
    thesis: Any, claims: Any, relation: str, ratio: float, holds: bool
) -> None:
    one = claims.Comparison("A-W", "B-W", relation, "wait mean")
    runs = {"A-W": {("wait mean", "all"): ratio * 60}, "B-W": {("wait mean", "all"): 60.0}}
    said, found = thesis.judge(one, runs, 0.1)
    assert said == (thesis.HOLDS if holds else thesis.FAILS)
    assert found == pytest.approx(ratio)


def test_a_claim_of_missing_runs_is_not_judged(thesis: Any, claims: Any) -> None:
    """Whole, or the part of it."""
    runs = {name: {("wait mean", "all"): wait} for name, wait in (("A-W", 1.0), ("B-W", 2.0))}
    claim = claims.Claim("1", "A is best", claims.below("A-W", "B-W C-W", ("wait mean",)))
    row = thesis.verdict(claim, runs, 0.1)
    assert row[2:] == ["holds", "1 of 1 (1 not judged)", "0.50 to 0.50"]
    assert thesis.verdict(claim, {}, 0.1)[2:] == ["not judged", "-", "-"]


def test_figures_are_those_of_the_runs(
    thesis: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a real, small study: jobs with a slowdown of 1 left out of slowdowns only."""
    study = tmp_path / "study.toml"
    study.write_text(
        'title = "t"\nsystems = ["eurora"]\n'
        '[[workloads]]\nname = "e"\ngenerator = "eurora"\n'
        "options = { jobs = 1000, seed = 3, load = 1.3 }\n"
        '[predictors]\nW = "requested"\nR = "actual"\n'
        '[dispatchers]\nPRB = "prb"\nSDPRB = "prb:priority=slowdown"\n'
    )
    with pytest.raises(SystemExit) as ended:
        main(["compare", str(study), "--out", str(tmp_path / "out")])
    assert ended.value.code == 0
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", ["thesis.py", str(tmp_path / "out")])
    thesis.main()
    printed = capsys.readouterr().out
    assert "SDPRB is better than PRB" in printed
    assert "with W, CPH-0 to CPH-3 are alike" in printed
    runs = thesis.runs_of(tmp_path / "out")["e"]
    assert set(runs) == {"PRB-W", "PRB-R", "SDPRB-W", "SDPRB-R"}
    for figures in runs.values():
        assert 0 < figures["waited", "all"] < figures["jobs", "all"] == 1000
        assert figures["slowdown mean", "all"] > figures["all jobs' slowdown mean", "all"] > 1
        share = figures["waited", "all"] / 1000
        expected = 1 + share * (figures["slowdown mean", "all"] - 1)
        assert figures["all jobs' slowdown mean", "all"] == pytest.approx(expected)


def test_figures_are_kept_and_judged_without_the_runs(
    thesis: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once each, whole numbers whole; in the order of the thesis."""
    file = tmp_path / "kept.jsonl"
    figures = {("jobs", "all"): 1000, ("slowdown mean", "all"): 12.3456789}
    results = thesis.campaign.Results(file, thesis.Case)
    thesis.keep(results, {"e": {"CPH-0-D": figures, "PRB-W": figures}})
    thesis.keep(results, {"e": {"PRB-W": figures}})
    assert len(file.read_text().splitlines()) == 2
    again = thesis.kept(thesis.campaign.Results(file, thesis.Case))
    assert list(again["e"]) == ["PRB-W", "CPH-0-D"]
    assert again["e"]["PRB-W"] == {("jobs", "all"): 1000, ("slowdown mean", "all"): 12.3457}
    monkeypatch.setattr(sys, "argv", ["thesis.py", "--results", str(file)])
    thesis.main()
    assert "CPH-0-D" in capsys.readouterr().out


def test_workloads_are_judged_beside_each_other(
    thesis: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One row a claim, one column a workload, each with its own verdict."""
    file = tmp_path / "kept.jsonl"
    results = thesis.campaign.Results(file, thesis.Case)
    wait, queue = ("wait mean", "all"), ("queue mean", "all")
    for log, cph_2 in (("like", 1.0), ("other", 2.0)):
        runs = {"CPH-0-D": {wait: 1.0, queue: 1.0}, "CPH-2-D": {wait: 1.0, queue: cph_2}}
        thesis.keep(results, {log: runs})
    monkeypatch.setattr(sys, "argv", ["thesis.py", "--results", str(file)])
    thesis.main()
    printed = capsys.readouterr().out
    (row,) = [
        line
        for line in printed[printed.index("Claims on each workload") :].splitlines()
        if "CPH-2 gains nothing over CPH-0" in line
    ]
    verdicts = [cell.strip().partition(":")[0] for cell in row.strip("|").split("|")[2:]]
    assert verdicts == ["holds", "does not hold"], row


def test_something_to_judge_is_needed(thesis: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["thesis.py"])
    with pytest.raises(SystemExit):
        thesis.main()
