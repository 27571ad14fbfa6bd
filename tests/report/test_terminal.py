"""The results table on a terminal: the baseline's values, ratios, intervals, notes once below."""

import numpy as np
import pytest
from result_tables import EASY, repeated, run, table

from cpsched.metrics.definitions import ALL
from cpsched.report.terminal import results_text, view_text
from cpsched.report.views import OF_LOG, OF_LOG_MEANING, View, ratio_text
from cpsched.study.paired import Sums

CASE = "log on machine"
FIFO = {name: 2 * value for name, value in EASY.items() if name != "steady_utilization_core"}


def test_the_baseline_has_values_and_others_have_ratios():
    text = results_text(table(run("fifo", **FIFO), run("easy")), CASE, 120)
    easy, fifo = (line for line in text.splitlines() if line.startswith(("easy", "fifo")))
    assert easy.startswith("easy (baseline)")
    assert "1 h" in easy
    assert "80.0 %" in easy
    assert fifo.split()[1:6] == ["2.00"] * 5
    assert "Ratios to easy. One run each cannot tell a difference from chance." in text


@pytest.mark.parametrize("width", [80, 100, 120, 140])
def test_it_fits_the_terminal(width):
    """Long names are broken over lines; the four first metrics are always there."""
    name = "easy:backfill=sjf,predictor=last,order=slowdown"
    runs = [*repeated("easy", spread=0.02, **EASY), *repeated(name, spread=0.05, **FIFO)]
    text = results_text(table(*runs), CASE, width)
    assert max(map(len, text.splitlines())) <= width
    assert "longest wait" in " ".join(text.split())
    assert text.count(" to ") >= 4
    assert (
        "Ratios to easy, with 95 % intervals over 3 repetitions of these jobs alone."
        in " ".join(text.split())
    )


def test_colours_mark_what_is_significant():
    runs = [*repeated("easy", spread=0.01, **EASY), *repeated("fifo", spread=0.02, **FIFO)]
    assert "\x1b[" not in results_text(table(*runs), CASE, 80)
    assert "\x1b[1;31m" in results_text(table(*runs), CASE, 80, colour=True)


def test_a_run_that_loses_jobs_is_named():
    text = results_text(table(run("easy"), run("cap", killed=50)), CASE, 120)
    assert "Loses jobs: cap, 50.0 % of the jobs are killed or cancelled instead of 0.0 %." in text


def test_names_from_outside_cannot_steer_the_terminal():
    text = results_text(table(run("easy"), run("a\x1b[31m[bold]b")), CASE, 120)
    assert "\x1b" not in text
    assert "[bold]b" in text


def test_a_wide_view_goes_on_below_with_its_names():
    view = View("", "many", ["name", *(f"metric {at}" for at in range(9))], [["a", *"123456789"]])
    text = view_text(view, 80)
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("name") == 3
    assert [cell for line in text.split("\n") for cell in line.split() if cell.isdigit()][9:] == [
        *"123456789"
    ] or all(digit in text for digit in "123456789")


@pytest.mark.parametrize(
    ("ratio", "text"), [(0.0, "0.00"), (0.0131, "0.013"), (0.28, "0.28"), (12.34, "12.3"),
                        (1234.0, "1,234")],
)  # fmt: skip
def test_a_ratio_has_the_digits_that_it_needs(ratio, text):
    assert ratio_text(ratio) == text


@pytest.mark.parametrize(("by_day", "marked"), [([11.0] * 9 + [0.0], True), ([5.0] * 10, False)])
def test_intervals_that_the_days_do_not_confirm_are_marked(by_day, marked):
    """All repetitions have half the slowdown, and with the mark one day of ten alone has less."""

    def runs(name, slowdown, values):
        days = {(ALL, "bounded_slowdown_mean"): Sums(np.array(values), np.ones(10))}
        return repeated(name, spread=0.01, days=days, bounded_slowdown_mean=slowdown)

    text = results_text(table(*runs("easy", 10.0, [10.0] * 10), *runs("a", 5.0, by_day)), CASE, 120)
    assert (f"{OF_LOG}\n" in text or f"{OF_LOG} " in text) == marked
    assert (OF_LOG_MEANING in text) == marked
