"""What is said of several logs: never more than the interval over them allows."""

import pytest
from result_tables import EASY, repeated, table

from cpsched.report.across_logs import across_logs, sentences
from cpsched.report.findings import QUALITY
from cpsched.report.views import over_logs, text

LOGS = ("A", "B", "C", "D")


def runs(log, name, ratio, *, longest=1.0, spread=0.01, **how):
    """Repetitions with all metrics at one ratio to the baseline's."""
    values = {metric: ratio * value for metric, value in EASY.items()}
    values["wait_max_s"] = longest * EASY["wait_max_s"]
    return repeated(name, spread=spread, log=log, **values, **how)


def study(*on_each, base=None):
    """Return the results of dispatchers on logs: their ratios by name."""
    made = []
    for log, ratios in zip(LOGS, on_each, strict=False):
        made += repeated("easy", spread=0.01, log=log, **(EASY | (base or {})))
        for name, how in ratios.items():
            ratio, more = how if isinstance(how, tuple) else (how, {})
            made += runs(log, name, ratio, **more)
    return table(*made)


def sentences_of(results):
    return list(sentences(across_logs(results)))


def test_one_log_has_nothing_over_all():
    results = study({"a": 0.5})
    assert sentences_of(results) == []
    assert list(over_logs(results)) == []


def test_a_gain_is_named_with_its_interval_and_the_longest_wait():
    """Logarithms of 1/4, 1/2, 1/2 and 1: mean -ln 2, s = ln 2 sqrt(2/3), t(0.975, 3) = 3.182."""
    wide = ({"a": (ratio, {"longest": 1.2})} for ratio in (0.25, 0.5, 0.5, 1.0))
    (line,) = sentences_of(study(*wide))
    assert line == (
        "Geometric mean over 4 logs: a against easy: mean bounded slowdown -50 % (95 % CI -80 to +23 %, not"
        " significant), longest wait +20 % (95 % CI +20 to +20 %)."
    )
    narrow = ({"a": (ratio, {"longest": 1.2})} for ratio in (0.4, 0.5, 0.5, 0.625))
    (line,) = sentences_of(study(*narrow))
    assert "mean bounded slowdown -50 % (95 % CI -63 to -33 %), longest wait +20 %" in line


def test_a_log_on_which_it_is_worse_is_in_the_same_sentence():
    """Worse by its verdict; a higher ratio within the noise is no loss."""
    (line,) = sentences_of(study(*({"a": ratio} for ratio in (0.1, 0.1, 0.12, 1.3))))
    assert line.endswith(". Worse on D (+30 %).")
    noisy = [{"a": 0.4}, {"a": 0.5}, {"a": 0.5}, {"a": (1.05, {"spread": 0.5})}]
    (line,) = sentences_of(study(*noisy))
    assert "Worse on" not in line


def test_a_run_that_loses_jobs_does_not_gain():
    on_each = [{"a": (0.5, {"killed": 9}), "b": 2.0} for _ in LOGS]
    (line,) = sentences_of(study(*on_each))
    assert line.startswith(
        "Geometric mean over 4 logs: No run gains over easy without losing jobs."
    )
    assert "On D 9.0 % of the jobs are killed or cancelled instead of 0.0 %" in line


def test_others_that_are_not_significantly_behind_are_named():
    """By the ratios of one to the other on each log."""
    firsts, level, behind = (0.4, 0.5, 0.5, 0.4), (0.5, 0.45, 0.6, 0.4), (0.8, 0.9, 0.95, 0.8)
    on_each = ({"a": a, "b": b, "c": c} for a, b, c in zip(firsts, level, behind, strict=True))
    first, second = sentences_of(study(*on_each))
    assert first.startswith("Geometric mean over 4 logs: a against easy: ")
    assert second == "No significant difference from a: b (-52 %)."


def test_the_table_has_each_log_and_what_holds_over_all():
    """A dispatcher that is missing on a log has no mean over all; equal runs share their ranks."""
    results = study({"a": 0.5, "b": 0.5}, {"a": 2.0})
    a, b = across_logs(results)
    assert a.mean_rank(QUALITY) == pytest.approx((1.5 + 2.0) / 2)
    assert a.worst(QUALITY) == (pytest.approx(2.0), "B")
    assert a.mean(QUALITY).mean == pytest.approx(1)
    assert b.mean(QUALITY) is None
    slowdown, *_ = over_logs(results)
    assert slowdown.headers == ["log", "a", "b"]
    assert [row[0] for row in slowdown.rows] == [
        "A", "B", "geometric mean", "mean rank", "worst log",
    ]  # fmt: skip
    assert text(slowdown.rows[1][2]) == "-"


def test_no_wait_over_no_wait_is_the_same():
    """On a log without a queue nobody has a ratio; it counts as 1."""
    results = study({"a": 0.0}, {"a": 1.0}, base=dict.fromkeys(EASY, 0.0))
    (a,) = across_logs(results)
    assert a.ratios(QUALITY) == [1.0, None]
