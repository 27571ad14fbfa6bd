"""Which schedules a report shows, and what files are called."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

from cpsched.report.choose import places
from cpsched.report.facts import findings, front
from cpsched.study.names import slug
from cpsched.study.results import LABELS, RunResult
from cpsched.study.study import Baseline
from cpsched.study.tables import Rows


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

    labels = RunResult.labels


@dataclass
class Results:
    runs: tuple
    baseline: Baseline


def test_few_schedules_are_all_shown():
    """The baseline first, the others in their order; the first seed stands for all."""
    runs = tuple(Result(name, 1, seed) for name in "abc" for seed in (2, 1))
    (place,) = places(Results(runs, Baseline(dispatcher="b")))
    assert place.name == "log on four"
    assert [(run.dispatcher, run.seed) for run in place.runs] == [("a", 1), ("b", 1), ("c", 1)]
    assert [run.dispatcher for run in place.shown] == ["b", "a", "c"]


def test_of_many_the_baseline_and_the_best_are_shown():
    """Six; one without a figure comes last."""
    runs = tuple(Result(name, 9 - at if at else None) for at, name in enumerate("abcdefgh"))
    (place,) = places(Results(runs, Baseline(dispatcher="b")))
    assert [run.dispatcher for run in place.shown] == ["b", "h", "g", "f", "e", "d"]
    assert len(place.runs) == 8
    assert [run.dispatcher for run in place.charted] == ["b", "h"]


def test_every_workload_has_a_schedule():
    """However many there are."""
    runs = tuple(Result(name, 1, workload=str(log)) for log in range(20) for name in "ab")
    found = places(Results(runs, Baseline(dispatcher="a")))
    assert [len(place.shown) for place in found] == [1] * 20


KINDS = dict.fromkeys(LABELS, str) | dict.fromkeys(("knows_runtimes", "on_front"), bool)


def row(dispatcher, slowdown, **more):
    names = {"workload": "log", "system": "four", "dispatcher": dispatcher, "predictor": "W"}
    figures = {"bounded_slowdown_mean": float(slowdown), "wait_max_s": 7200.0}
    return {**names, **figures, "knows_runtimes": False, "on_front": None, **more}


def noted(baseline, summary, differences=()):
    """Return who has the least slowdown, and what is said of that."""
    tables = SimpleNamespace(
        summary=Rows.of(summary, KINDS),
        differences=Rows.of(differences, {}),
        results=SimpleNamespace(baseline=Baseline(dispatcher=baseline)),
    )
    (found,) = findings(tables, "log on four")
    assert found["longest"].startswith("longest wait 2 h")
    return found["who"], found["note"]


def test_a_finding_says_what_it_was_compared_with():
    """The baseline, nothing where its run is not there; and that there are others as good."""
    assert noted("a", [row("a", 1), row("b", 2)]) == ("a W", "the baseline itself")
    assert noted("c", [row("a", 1), row("b", 2)]) == ("a W", "the baseline's run is not there")
    assert noted("a", [row("a", 1), row("b", 1)])[0] == "a W and others"


def test_a_finding_is_not_of_a_run_that_knows_the_runtimes():
    """Unless all do."""
    told = {"knows_runtimes": True}
    assert noted("a", [row("a", 3), row("b", 2), row("c", 1, **told)])[0] == "b W"
    assert noted("a", [row("a", 3, **told), row("c", 1, **told)])[0] == "c W"


def test_the_front_is_said_for_each_kind():
    rows = [row("a", 1, on_front=True), row("b", 1, on_front=False), row("c", 1, on_front=True)]
    tables = SimpleNamespace(summary=Rows.of(rows, KINDS))
    assert front(tables, "log on four") == "On the Pareto front of these three: a W, c W."
    rows.append(row("d", 1, on_front=True, knows_runtimes=True))
    tables = SimpleNamespace(summary=Rows.of(rows, KINDS))
    assert front(tables, "log on four").endswith("of the runs that know the runtimes: d W.")
    tables = SimpleNamespace(summary=Rows.of(rows[:1], KINDS))
    assert front(tables, "log on four") == ""


def test_different_texts_have_different_names():
    """Readable where nothing is lost, else with a hash."""
    assert slug("log on four slowdown") == "log-on-four-slowdown"
    assert slug("easy:backfill=sjf").startswith("easy-backfill-sjf-")
    assert len({slug(text) for text in ("a.b", "a-b", "a_b", "a" * 200, "a" * 201)}) == 5
    assert "/" not in slug("../../x")
    assert "." not in slug("../../x")
