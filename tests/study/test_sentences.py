"""The finding of a study in words: what was gained, what it cost in the tail, and how sure."""

from types import SimpleNamespace

import pytest

from cpsched.show.sentences import conclusions, findings
from cpsched.study import Baseline
from cpsched.study.comparisons import (
    COLUMNS,
    HIGHER,
    LOWER,
    SEEDS_ONLY,
    UNCLEAR,
    UNKNOWN,
    Difference,
)

#: Of easy: mean bounded slowdown, longest wait and mean wait in seconds.
BASE = {"bounded_slowdown_mean": 20.0, "wait_max_s": 14_400.0, "wait_mean_s": 3600.0}


def against(who, slowdown, longest, wait=3600.0, *, place="log", sure=None, **more):
    """Return the rows of a run against easy; ``sure`` has the verdict of slowdown and tail."""
    rows = []
    for (figure, base), value in zip(BASE.items(), (slowdown, longest, wait), strict=True):
        row = dict.fromkeys(COLUMNS) | {
            "workload": place, "system": "machine", "dispatcher": who, "predictor": "requested",
            "base_workload": place, "base_system": "machine", "base_dispatcher": "easy",
            "base_predictor": "requested", "class": "all", "figure": figure, "value": value,
            "base_value": base, "ratio": value / base if value else None,
            "verdict": sure or UNKNOWN,
        }  # fmt: skip
        if sure is not None and row["ratio"]:
            row |= {"ratio_low": row["ratio"] - 0.05, "ratio_high": row["ratio"] + 0.05}
        rows.append(row | more)
    return rows


def tables(*runs, knowing=(), front=()):
    """Return tables with these rows, as far as a finding needs them."""
    rows = [row for run in runs for row in run]
    summary = [
        {
            **{key: row[key] for key in ("workload", "system", "dispatcher", "predictor")},
            "knows_runtimes": row["dispatcher"] in knowing, "on_front": row["dispatcher"] in front,
        }
        for row in rows
        if row["figure"] == "wait_max_s"
    ]  # fmt: skip
    compared = {}
    for row in rows:
        one = Difference(row)
        compared.setdefault(one.key, {})[one.figure] = one
    return SimpleNamespace(
        results=SimpleNamespace(baseline=Baseline(dispatcher="easy"), by_group=False),
        summary=SimpleNamespace(rows=lambda: summary),
        compared=compared,
    )


def said(*runs, **more):
    return conclusions(tables(*runs, **more))


def test_the_first_sentence_has_the_gain_and_its_price():
    """Half the slowdown, a longest wait a quarter longer; one run each is no proof."""
    lines = said(against("rollout", 10.0, 18_000.0, 1800.0), against("sjf", 15.0, 20_000.0))
    assert lines == [
        "rollout cuts the mean bounded slowdown by 50 % against easy (10.00 instead of 20.00), but"
        " the longest wait is 25 % longer (5 h instead of 4 h).",
        "With it the mean wait is 50 % shorter (30 min).",
        "Each was run once, so there are no intervals and the differences may be noise: repeat with"
        " several seeds to see.",
        "No run lowers it without a longer longest wait.",
    ]


def test_a_gain_without_a_price_is_named_beside_a_larger_one_with():
    lines = said(against("sjf", 5.0, 28_800.0), against("rollout", 12.0, 10_800.0))
    assert lines[0].startswith("sjf cuts ")
    assert lines[3] == (
        "Without a longer longest wait, rollout gains most: mean bounded slowdown 12.00 (40 %"
        " less), and the longest wait is 25 % shorter (3 h instead of 4 h)."
    )


def test_what_intervals_bear_out_and_what_not():
    """With intervals over the weeks too; of the repetitions alone; and of none."""
    sure = against("a", 10.0, 14_400.0 * 1.2, sure=LOWER)
    sure[1] |= {"verdict": HIGHER}
    text = "\n".join(said(sure))
    assert (
        "Significant by every 95 % interval: the longest wait (×1.20, 1.15 to 1.25) and"
        " the mean bounded slowdown (×0.50, 0.45 to 0.55)." in text
    )
    assert "too short" not in text
    assert "may be noise" not in text
    seeds = against("a", 10.0, 14_300.0, sure=LOWER + SEEDS_ONLY)
    seeds[1] |= {"verdict": UNCLEAR}
    text = "\n".join(said(seeds))
    assert "(×0.50, 0.45 to 0.55); not: the longest wait. The log is too short" in text


def test_a_difference_that_is_not_certain_is_no_gain():
    """And one that is certain is named before a larger one that is not."""
    noise = against("noise", 10.0, 14_400.0, sure=UNCLEAR)
    first, *_ = said(noise)
    assert first.startswith("Nothing lowers the mean bounded slowdown of easy for certain: noise ")
    first, *_ = said(noise, against("sure", 15.0, 14_400.0, sure=LOWER))
    assert first.startswith("sure cuts the mean bounded slowdown by 25 %")
    assert first.endswith("and the longest wait stays at 4 h.")


def test_nothing_better_is_said():
    lines = said(against("fifo", 30.0, 28_800.0), against("b", 20.05, 14_400.0))
    assert lines[0] == (
        "Nothing lowers the mean bounded slowdown of easy (20.00); b comes closest with 20.05, and"
        " the longest wait stays at 4 h."
    )
    assert "fifo is worse than the baseline in both figures." in lines
    first, *_ = said(against("fifo", 30.0, 28_800.0))
    assert "fifo comes closest with 30.00 instead of 20.00 (50 % more), and the longest" in first


def test_who_knows_the_runtimes_is_left_out():
    lines = said(against("oracle", 1.0, 1.0), against("sjf", 15.0, 14_400.0), knowing={"oracle"})
    assert lines[0].startswith("sjf cuts ")
    assert lines[-1] == "Runs that know the actual runtimes are left out of this finding."
    assert said(against("oracle", 1.0, 1.0), knowing={"oracle"})[0].startswith("oracle cuts ")


def test_several_places_begin_with_all_of_them():
    some = tables(
        against("sjf", 10.0, 14_400.0),
        against("sjf", 15.0, 28_800.0, place="other"),
        against("fifo", 40.0, 14_400.0, place="third"),
    )
    lines = conclusions(some)
    assert lines[0] == (
        "The mean bounded slowdown falls most with sjf (×0.50 on log on machine, where the longest"
        " wait is ×1.00; ×0.75 on other on machine, where the longest wait is ×2.00); on the other"
        " 1 nothing lowers it."
    )
    assert lines[1].startswith("log on machine: sjf cuts ")
    assert [one.about for one in findings(some)] == [
        ("sjf", "requested"), ("sjf", "requested"), ("fifo", "requested"),
    ]  # fmt: skip


def of_scenarios(**values):
    """Return tables of scenarios by their mean wait; that of the baseline is 1000 s."""
    gains = [
        {
            "workload": "log", "system": "machine", "dispatcher": name, "predictor": "requested",
            "kind": "all", "group": "all", "wait_mean_s": value, "base_wait_mean_s": 1000.0,
            "difference": value - 1000.0, "difference_low": None, "difference_high": None,
            "shorter": 0.1, "longer": 0.1, "hours": 0, "jobs": 10,
            "base_held_by_time_s": 0.0, "base_held_by_jobs_s": 0.0,
        }
        for name, value in values.items()
    ]  # fmt: skip
    return SimpleNamespace(
        results=SimpleNamespace(by_group=True, measure_from=None),
        gains=SimpleNamespace(rows=lambda: gains),
        compared={},
        summary=SimpleNamespace(rows=list),
    )


@pytest.mark.parametrize(("wait", "begins"), [
    (999.0, "None of the 2 scenarios shortens the mean wait (16 min 40 s) by 1 % or more."),
    (500.0, "Of 2 scenarios, small shortens the mean wait most: 8 min 20 s instead of 16 min 40 s"),
    (1100.0, "None of the 2 scenarios shortens the mean wait (16 min 40 s)."),
])  # fmt: skip
def test_a_scenario_that_helps_by_a_trifle_is_not_praised(wait, begins):
    assert conclusions(of_scenarios(small=wait, worse=2000.0))[0].startswith(begins)


@pytest.mark.parametrize(("by_time", "by_jobs", "line"), [
    (0.0, 0.0, None),
    (4.0, 0.0, None),
    (200.0, 0.0, "20 % of the baseline's waiting time is not the scheduler's: before begin times and"
                 " under holds, which no scenario changes."),
    (200.0, 300.0, "50 % of the baseline's waiting time is not the scheduler's: 20 % before begin"
                   " times and under holds, which no scenario changes; 30 % for other jobs"
                   " (dependencies, array limits), which changes only with these."),
])  # fmt: skip
def test_waits_that_are_not_the_schedulers_are_told_where_there_are_any(by_time, by_jobs, line):
    """Of the scenario that has most of the baseline's jobs; a trifle is no word worth."""
    some = of_scenarios(few=900.0, most=800.0)
    few, most = some.gains.rows()
    few |= {"jobs": 9, "base_held_by_time_s": 999.0}
    most |= {"base_held_by_time_s": by_time, "base_held_by_jobs_s": by_jobs}
    assert [one for one in conclusions(some) if "scheduler's" in one] == ([line] if line else [])


def test_nothing_to_compare_is_nothing_to_say():
    """No run but the baseline, or one of which no job ended."""
    assert said() == said(against("sjf", 1.0, 1.0)[2:]) == []
