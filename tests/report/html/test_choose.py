"""Which schedules a report shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

from cpsched.report.html.places import base_runs, places
from cpsched.study.results import RunResult
from cpsched.study.study import Baseline


@dataclass(frozen=True)
class Result:
    dispatcher: str
    slowdown: float | None
    seed: int = 1
    workload: str = "log"
    predictor: str = "W"
    system: str = "four"
    figures: dict = field(default_factory=dict, compare=False)

    def __post_init__(self):
        self.figures["bounded_slowdown_mean"] = self.slowdown

    labels, key, configuration, case = (
        RunResult.labels,
        RunResult.key,
        RunResult.configuration,
        RunResult.case,
    )


@dataclass
class Results:
    runs: tuple
    baseline: Baseline


def test_few_schedules_are_all_shown():
    """The baseline first, the others in their order; the first seed stands for all."""
    runs = tuple(Result(name, 1, seed) for name in "abc" for seed in (2, 1))
    (place,) = places(Results(runs, Baseline(dispatcher="b")), {})
    assert place.name == "log on four"
    assert [(run.dispatcher, run.seed) for run in place.runs] == [("a", 1), ("b", 1), ("c", 1)]
    assert [run.dispatcher for run in place.shown] == ["b", "a", "c"]


def test_of_many_the_baseline_and_the_best_are_shown():
    """Six; one without a figure comes last."""
    runs = tuple(Result(name, 9 - at if at else None) for at, name in enumerate("abcdefgh"))
    (place,) = places(Results(runs, Baseline(dispatcher="b")), {})
    assert [run.dispatcher for run in place.shown] == ["b", "h", "g", "f", "e", "d"]
    assert len(place.runs) == 8
    assert [run.dispatcher for run in place.charted] == ["b", "h"]


def test_the_run_that_is_spoken_of_is_shown_beside_its_baseline():
    runs = tuple(Result(name, at, predictor=p) for p in "XY" for at, name in enumerate("abc"))
    (place,) = places(Results(runs, Baseline(dispatcher="a")), {"log on four": ("c", "Y")})
    assert [(run.dispatcher, run.predictor) for run in place.charted] == [("a", "Y"), ("c", "Y")]


def test_the_baseline_may_name_one_part_only():
    """Then the run of each other part is compared with its own."""

    labels = {"workload": "a", "system": "b", "dispatcher": "EASY", "predictor": "W"}
    run = SimpleNamespace(configuration=("EASY", "W"), labels=labels)

    def of(**base):
        return run.configuration in base_runs(
            SimpleNamespace(baseline=Baseline(**base), runs=(run,))
        )

    assert of(dispatcher="EASY")
    assert of(predictor="W")
    assert not of(dispatcher="EASY", predictor="R")
