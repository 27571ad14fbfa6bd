"""What is said of several logs: never more than the interval over them allows."""

from types import SimpleNamespace

import pytest
from cpsched.metrics.results_table_columns import LEADING
from cpsched.report.grid import LONGEST, QUALITY, rows, tables_of
from cpsched.report.leading_rows import Leading, LeadingRows, Measured
from cpsched.report.overview import Overview, overview

LOGS = ("A", "B", "C", "D")


def run(name, ratio=None, *, value=None, clear=True, longest=1.0, fates=()):
    """A run with all its figures at one ratio to the baseline's, which are all 10."""
    figures = tuple(
        Measured(
            name=one.name,
            value=10.0 * (ratio or 1) if value is None else value,
            ratio=longest if ratio and one.name == LONGEST else ratio,
            interval=None if ratio is None else (0.9 * ratio, 1.1 * ratio),
            clear=None if ratio is None else clear,
        )
        for one in LEADING
    )
    return Leading(
        dispatcher=name, predictor="requested", allocator=None, repetitions=3, jobs=9, rejected=0,
        knows_runtimes=False, is_baseline=ratio is None and name == "easy", figures=figures,
        fates=tuple(fates),
    )  # fmt: skip


@pytest.fixture
def study(monkeypatch):
    """Return a function that makes the tables of a study: its runs on each log."""

    def made(*on_each, base=None):
        places = [
            LeadingRows(place=f"{log} on s", against="easy", rows=(run("easy", value=base), *some))
            for log, some in zip(LOGS, on_each, strict=False)
        ]
        for module in ("grid", "overview"):
            monkeypatch.setattr(f"cpsched.report.{module}.leading", lambda _: places)
        runs = [SimpleNamespace(case=f"{log} on s", workload=log) for log in LOGS]
        return SimpleNamespace(results=SimpleNamespace(by_group=False, runs=runs))

    return made


def test_one_log_has_no_overview(study):
    assert overview(study([run("a", 0.5)])) == Overview()


def test_a_gain_is_named_with_its_interval_and_the_longest_wait(study):
    """Logarithms of 1/4, 1/2, 1/2 and 1: mean -ln 2, s = ln 2 sqrt(2/3), t(0.975, 3) = 3.182."""
    some = [[run("a", one, longest=1.2)] for one in (0.25, 0.5, 0.5, 1.0)]
    (said,) = overview(study(*some)).sentences
    assert said.startswith("Over 4 logs, no run gains on easy for certain: a has ×0.50 of easy's")
    assert "(geometric mean, ×0.20 to 1.23)" in said
    sure = [[run("a", one, longest=1.2)] for one in (0.4, 0.5, 0.5, 0.625)]
    (said,) = overview(study(*sure)).sentences
    assert said == (
        "Over 4 logs, a has ×0.50 of easy's mean bounded slowdown (geometric mean, ×0.37 to 0.67);"
        " the longest wait is ×1.20 (×1.20 to 1.20)."
    )


def test_a_log_on_which_it_is_worse_is_in_the_same_sentence(study):
    """Worse by its verdict; a higher ratio within the noise is no loss."""
    ratios = ((0.1, True), (0.1, True), (0.12, True), (1.3, True))
    (said,) = overview(study(*([run("a", one, clear=c)] for one, c in ratios))).sentences
    assert said.startswith("Over 4 logs, no run gains on easy for certain: a has ×0.")
    assert said.endswith("; it is worse on D (×1.30).")
    ratios = ((0.4, True), (0.5, True), (0.5, True), (1.05, True))
    found = rows(study(*([run("a", one, clear=c)] for one, c in ratios)))[0].change("easy")
    assert found.worse == ("D (×1.05)",)
    ratios = ((0.4, True), (0.5, True), (0.5, True), (1.05, False))
    found = rows(study(*([run("a", one, clear=c)] for one, c in ratios)))[0].change("easy")
    assert found.worse == ()


def test_a_run_that_loses_jobs_does_not_gain(study):
    some = [[run("a", 0.5, fates=("9 % of the jobs are killed",))] for _ in LOGS]
    (said,) = overview(study(*some)).sentences
    assert said.startswith("Over 4 logs, no run gains on easy without losing jobs: a has ×0.50")
    assert said.endswith("; on D 9 % of the jobs are killed.")


def test_others_that_are_not_clearly_behind_are_named(study):
    """By the ratios of one to the other on each log."""
    firsts, level, behind = (0.4, 0.5, 0.5, 0.4), (0.5, 0.45, 0.6, 0.4), (0.8, 0.9, 0.95, 0.8)
    some = zip(firsts, level, behind, strict=True)
    one, other = overview(
        study(*([run("a", a), run("b", b), run("c", c)] for a, b, c in some))
    ).sentences
    assert one.startswith("Over 4 logs, a has ")
    assert other.startswith("Not clearly behind it: b (×0.48; the longest wait is ")
    assert "c (" not in other


def test_the_grid_has_each_log_and_what_holds_over_all(study):
    """A dispatcher that is missing on a log has no mean over all; equal runs share their ranks."""
    tables = study([run("a", 0.5), run("b", 0.5)], [run("a", 2.0)])
    found = rows(tables)
    assert found[0].ranks[QUALITY] == [1.5, 2.0]
    assert found[0].worst(QUALITY) == (2.0, "B")
    assert found[0].mean(QUALITY).mean == pytest.approx(1)
    assert found[1].mean(QUALITY) is None
    slowdown, wait = tables_of(found, "easy")
    assert slowdown.columns[0].cells()[-1] == "longest wait, geometric mean"
    assert slowdown.columns[1].cells()[:2] == ["×0.50\n0.45-0.55", "×2.00\n1.80-2.20"]
    assert slowdown.columns[1].cells()[3:5] == ["1.8", "×2.00\nB"]
    assert slowdown.columns[2].cells()[1:3] == ["-", "-"]
    assert len(wait.columns[0].cells()) == 5


def test_no_wait_over_no_wait_is_the_same(study):
    """On a log without a queue nobody has a ratio; it counts as 1."""
    found = rows(study([run("a", value=0.0)], [run("a", value=1.0)], base=0.0))[0]
    assert found.ratios(QUALITY) == [1.0, None]
    assert overview(study([run("a", 0.5)], [run("a", value=1.0)])).sentences == (
        "Over 2 logs, no run has a ratio to easy on each.",
    )
