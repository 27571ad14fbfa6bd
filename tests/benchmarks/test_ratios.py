"""The tables of campaigns: ratios to the baseline's run of the same seed."""

import json
import shutil
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from cpsched.study import load_study
from cpsched.study.run_spec import run_specs

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def ratios(monkeypatch):
    """The benchmark."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("ratios")


@pytest.fixture
def printed(ratios, monkeypatch, capsys):
    """Run the script; return what it prints, a list of cells where a line is a table's row."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["ratios.py", *map(str, arguments)])
        ratios.main()
        return [
            [cell.strip() for cell in line.strip("|").split("|")] if line[:1] == "|" else line
            for line in capsys.readouterr().out.splitlines()
        ]

    return run


def campaign(folder, figures, predictor_of_base="W"):
    """
    Write a campaign's folder: slowdown and tail by (log, dispatcher, predictor, seed).

    The longest wait is twice the tail, and area-weighted response ten times the slowdown.
    """
    places = []
    for number, ((log, dispatcher, predictor, seed), (slowdown, tail)) in enumerate(
        figures.items()
    ):
        run = folder / "runs" / str(number)
        run.mkdir(parents=True)
        metrics = {
            "bounded_slowdown": {"all": {"mean": slowdown, "p99": 2 * slowdown}},
            "wait_s": {"all": {"mean": tail / 10, "p99.9": tail, "max": 2 * tail, "jobs": 7}},
            "response_by_area_s": 10 * slowdown,
            "turnaround_s": {"all": {"mean": tail / 10 + 100}},
            "utilization": {"core": 0.5 + tail / 1000, "gpu": 0.1},
        }
        (run / "metrics.json").write_text(json.dumps(metrics))
        (run / "timing.json").write_text(json.dumps({"loop_cpu_s": 0.5}))
        (run / "run.json").touch()
        places.append({"folder": run.name, "workload": log, "dispatcher": dispatcher,
                       "predictor": predictor, "seed": seed})  # fmt: skip
    description = {
        "runs": places,
        "baseline": {"dispatcher": "EASY", "predictor": predictor_of_base},
    }
    (folder / "study.json").write_text(json.dumps(description))
    return folder


def test_ratios_are_of_equal_seeds_and_logs_count_the_same(printed, tmp_path):
    """(1/2 x 1/8)^(1/2) = 1/4 on one log, 1 on the other: 1/2."""
    figures = {
        ("A", "EASY", "W", 1): (10.0, 100.0), ("A", "EASY", "W", 2): (40.0, 100.0),
        ("A", "new", "W", 1): (5.0, 50.0), ("A", "new", "W", 2): (5.0, 200.0),
        ("B", "EASY", "W", 1): (3.0, 7.0), ("B", "new", "W", 1): (3.0, 28.0),
        ("A", "new", "R", 1): (5.0, 50.0),
    }  # fmt: skip
    # Logs, and rows of a log, may come from several folders.
    parts = [dict(list(figures.items())[:4]), dict(list(figures.items())[4:])]
    for number, part in enumerate(parts):
        (tmp_path / str(number)).mkdir()
        campaign(tmp_path / str(number), part)
    lines = printed(tmp_path / "0", tmp_path / "1")
    log_a, log_b, both = (
        "0.250, 1.00, 1.00, 0.25", "1.000, 4.00, 4.00, 1.00", "0.500, 2.00, 2.00, 0.50"
    )  # fmt: skip
    assert ["new", "W", log_a, log_b, both] in lines
    assert ["EASY", "W", *3 * ["1.000, 1.00, 1.00, 1.00"]] in lines
    # A seed of the baseline is missing: no ratio, and none of all logs.
    assert ["new", "R", "-", "-", "-"] in lines
    assert ["EASY", "W", "25.0 ±21.2", "3.0"] in lines


def test_settings_are_compared_with_the_baseline_of_the_same_setting(printed, tmp_path):
    """With what is lost to restarts, mean over the logs: here 10 and 30 %."""
    campaign(tmp_path, {
        ("A, half, 30 s", "EASY", "W", 1): (10.0, 100.0), ("A, half, 30 s", "new", "W", 1): (5.0, 50.0),
        ("A, all", "EASY", "W", 1): (20.0, 100.0), ("A, all", "new", "W", 1): (5.0, 200.0),
        ("B, all", "EASY", "W", 1): (20.0, 100.0), ("B, all", "new", "W", 1): (20.0, 100.0),
    })  # fmt: skip
    for run, share in ((3, 0.1), (5, 0.3)):
        file = tmp_path / "runs" / str(run) / "metrics.json"
        metrics = json.loads(file.read_text()) | {"restarts": {"lost_share": share}}
        file.write_text(json.dumps(metrics))
    lines = printed(tmp_path, "--settings")
    same = "1.000, 1.00, 1.00, 1.00"
    assert ["new", "W", "half, 30 s", "0.500, 0.50, 0.50, 0.50", "-", "-", "0.0 %"] in lines
    assert [
        "new", "W", "all", "0.250, 2.00, 2.00, 0.25", same, "0.500, 1.41, 1.41, 0.50", "20.0 %",
    ] in lines  # fmt: skip
    assert ["setting", "B"] in [line[2:] for line in printed(tmp_path, "--settings", "--log", "B")]
    with pytest.raises(SystemExit, match=r"there is no log B; there are: A, half, 30 s, A, all, B"):
        printed(tmp_path, "--log", "B")
    # 5 over the 20 of the other setting.
    other = printed(tmp_path, "--settings", "all")
    assert ["half, 30 s", "0.250, 0.50, 0.50, 0.25"] in [line[2:4] for line in other]


def test_logs_apart_have_intervals_and_places(printed, tmp_path):
    """A table a log and predictor, each against EASY with the same predictor."""
    figures = {
        ("A", name, predictor, seed): (slowdown * seed, tail)
        for predictor in ("W", "R")
        for name, slowdown, tail in (("EASY", 2.0, 10.0), ("new", 1.0, 20.0))
        for seed in (1, 2)
    }
    campaign(tmp_path, figures, predictor_of_base=None)
    lines = printed(tmp_path, "--by-log")
    assert "### A, W, 7 jobs, seeds 1, 2" in lines
    assert "### A, R, 7 jobs, seeds 1, 2" in lines
    assert next(row for row in lines if row[:1] == ["`new`"]) == [
        "`new`", "1.50", "3.0", "2", "20", "40", "0.500 (0.500-0.500)", "first",
        "2.000 (2.000-2.000)", "above", "0.500 (0.500-0.500)", "0.5",
    ]  # fmt: skip


def test_places_tell_who_is_not_behind(ratios):
    """One is better in every run, one now and then."""
    values = {"a": [10, 11, 12], "b": [10.1, 10.9, 12.1], "c": [20, 22, 25]}
    assert ratios.places(values) == {"a": "first", "b": "tied"}
    assert ratios.places({"a": [2], "b": [3], "c": [2]}) == {"a": "first", "c": "tied"}


@pytest.mark.parametrize("file", sorted(BENCHMARKS.glob("*.toml")), ids=lambda file: file.stem)
def test_the_studies_are_studies(file, tmp_path):
    """With small files in place of the logs they name, which are not shipped."""
    study = tmp_path / "benchmarks" / file.name
    study.parent.mkdir()
    study.write_text(file.read_text())
    for folder in ("grid", "schedules"):
        shutil.copytree(BENCHMARKS / folder, study.parent / folder)
    for workload in tomllib.loads(file.read_text())["workloads"]:
        if "file" in workload:
            log = (study.parent / workload["file"]).resolve()
            log.parent.mkdir(parents=True, exist_ok=True)
            log.touch()
    assert run_specs(load_study(study))
