"""Which runs of a workload and system the page shows, and which it compares with."""

from types import SimpleNamespace

import pytest

pytest.importorskip("matplotlib")

from cpsched.report.findings import Finding
from cpsched.report.html.case import Case


def key(dispatcher, predictor="W", workload="log"):
    return (workload, "four", dispatcher, predictor)


def table(slowdowns, base_of, by_group=False):
    """Return what a case looks up of results: slowdowns by run, and the baseline of each."""
    rows = {run: SimpleNamespace(value=value) for run, value in slowdowns.items()}
    return SimpleNamespace(
        cases={"log on four": list(slowdowns)},
        study=SimpleNamespace(by_group=by_group),
        baselines=frozenset(filter(None, base_of.values())),
        baseline_of=base_of.get,
        get=lambda run, _: rows[run],
    )


def finding(run):
    return Finding("log on four", ("words",), run)


def test_the_baseline_and_the_run_of_the_finding_come_first():
    """Then by slowdown; a run without one comes last."""
    runs = {key("a"): 5.0, key("b"): None, key("c"): 9.0, key("d"): 2.0}
    results = table(runs, {run: key("a") for run in runs if run != key("a")})
    case = Case.of(results, "log on four", finding(key("c")))
    assert (case.base, case.about) == (key("a"), (key("c"),))
    assert case.ranked(results) == [key("a"), key("c"), key("d"), key("b")]


def test_a_run_stands_beside_its_own_baseline():
    """Each predictor has one: that of the finding's run leads."""
    runs = {key(name, log): 1.0 for log in "XY" for name in "ab"}
    bases = {key("b", log): key("a", log) for log in "XY"}
    results = table(runs, bases)
    assert Case.of(results, "log on four", finding(key("b", "Y"))).ranked(results)[:2] == [
        key("a", "Y"), key("b", "Y"),
    ]  # fmt: skip


def test_a_baseline_of_another_log_is_not_drawn():
    runs = {key("a"): 3.0, key("b"): 1.0}
    results = table(runs, {run: key("a", workload="other") for run in runs})
    assert Case.of(results, "log on four", finding(key("b"))).base == key("a")


def test_a_what_if_is_about_at_most_six_scenarios():
    runs = {key(f"s{at}"): float(at) for at in range(9)}
    results = table(runs, {run: key("s0") for run in runs if run != key("s0")}, by_group=True)
    case = Case.of(results, "log on four", finding(key("s8")))
    assert case.about == tuple(key(f"s{at}") for at in range(1, 7))


def test_a_run_alone_is_compared_with_nothing():
    results = table({key("a"): 1.0}, {})
    case = Case.of(results, "log on four", None)
    assert (case.base, case.about) == (key("a"), ())
