"""The table of a campaign: ratios to the baseline's run of the same seed."""

from __future__ import annotations

import json
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cpsched import registry
from cpsched.spec import Spec

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def ratios(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("ratios")


def campaign(folder: Path, figures: dict[tuple[str, str, str, int], tuple[float, float]]) -> Path:
    """Write a campaign's folder: slowdown and tail by (log, dispatcher, predictor, seed)."""
    places = []
    for number, ((log, dispatcher, predictor, seed), (slowdown, tail)) in enumerate(
        figures.items()
    ):
        run = folder / "runs" / str(number)
        run.mkdir(parents=True)
        found = {
            "bounded_slowdown": {"all": {"mean": slowdown}},
            "wait_s": {"all": {"p99.9": tail}},
        }
        (run / "metrics.json").write_text(json.dumps(found))
        places.append({"folder": run.name, "workload": log, "dispatcher": dispatcher,
                       "predictor": predictor, "seed": seed})  # fmt: skip
    about = {"runs": places, "baseline": {"dispatcher": "EASY", "predictor": "W"}}
    (folder / "study.json").write_text(json.dumps(about))
    return folder


def test_ratios_are_of_equal_seeds_and_logs_count_the_same(
    ratios: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
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
    monkeypatch.setattr(sys, "argv", ["ratios.py", str(tmp_path / "0"), str(tmp_path / "1")])
    ratios.main()
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("|")
    ]
    assert ["new", "W", "0.250, 1.00", "1.000, 4.00", "0.500, 2.00"] in lines
    assert ["EASY", "W", "1.000, 1.00", "1.000, 1.00", "1.000, 1.00"] in lines
    # A seed of the baseline is missing: no ratio, and none of all logs.
    assert ["new", "R", "-", "-", "-"] in lines
    assert ["EASY", "W", "25.0 ±21.2", "3.0"] in lines


def test_the_plan_names_what_there_is() -> None:
    """Its dispatchers and predictors, and a baseline of them."""
    plan = tomllib.loads((BENCHMARKS / "predictions.toml").read_text())
    for group in ("dispatchers", "predictors"):
        for spec in plan[group].values():
            assert Spec.parse(spec).name in registry.names(group)
    assert plan["baseline"]["dispatcher"] in plan["dispatchers"]
    assert plan["baseline"]["predictor"] in plan["predictors"]
