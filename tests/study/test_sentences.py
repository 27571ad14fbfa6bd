"""The finding of a study in words: what was gained, what it cost in the tail, and how sure."""

import re
from types import SimpleNamespace

import pytest

from cpsched.report.findings import Against, Change, Claim
from cpsched.report.overview import Overview
from cpsched.report.sentences import conclusions, findings
from cpsched.study import Baseline
from cpsched.study.comparisons import COLUMNS, MetricDifference, key_of
from cpsched.study.verdicts import EQUAL, HIGHER, LOWER, ONE_RUN, THIS_LOG, UNCLEAR, UNKNOWN

#: Of easy: mean bounded slowdown, longest wait and mean wait in seconds.
BASE = {"bounded_slowdown_mean": 20.0, "wait_max_s": 14_400.0, "wait_mean_s": 3600.0}


def against(who, slowdown, longest, wait=3600.0, *, case="log", sure=None, **more):
    """Return the rows of a run against easy; ``sure`` has the verdict of slowdown and tail."""
    rows = []
    for (figure, base), value in zip(BASE.items(), (slowdown, longest, wait), strict=True):
        row = dict.fromkeys(COLUMNS) | {
            "workload": case, "system": "machine", "dispatcher": who, "predictor": "requested",
            "base_workload": case, "base_system": "machine", "base_dispatcher": "easy",
            "base_predictor": "requested", "class": "all", "figure": figure, "value": value,
            "base_value": base, "ratio": value / base if value else None,
            "verdict": sure or ONE_RUN,
        }  # fmt: skip
        if sure is not None and row["ratio"]:
            row |= {"ratio_low": row["ratio"] - 0.05, "ratio_high": row["ratio"] + 0.05}
        rows.append(row | more)
    return rows


#: Jobs of a run, as the summary counts them.
COUNTS = {
    "repetitions": 5,
    "in_log": 100,
    "simulated": 100,
    "timeout": 10,
    "killed": 0,
    "cancelled": 0,
    "rejected": 0,
}


def tables(*runs, knowing=(), front=(), behind=(), counts=None, reproduced=None):
    """
    Return tables with these rows, as far as a finding needs them.

    ``behind`` are clearly so; ``reproduced`` says how well the record is, by log.
    """
    rows = [row for run in runs for row in run]
    about = {
        key: {"knows_runtimes": key[2] in knowing, "on_front": key[2] in front}
        | dict(zip(("workload", "system", "dispatcher", "predictor"), key, strict=True))
        | COUNTS
        | (counts or {}).get(key[2], {})
        for key in (MetricDifference(row).key for row in rows)
    }
    for row in rows:
        base = MetricDifference(row).base_key
        names = dict(zip(("workload", "system", "dispatcher", "predictor"), base, strict=True))
        about.setdefault(base, {"knows_runtimes": False, "on_front": None} | names | COUNTS)
    compared = {}
    for row in rows:
        one = MetricDifference(row)
        compared.setdefault(one.key, {})[one.figure] = one
    return SimpleNamespace(
        results=SimpleNamespace(
            baseline=Baseline(dispatcher="easy"),
            by_group=False,
            runs=[
                SimpleNamespace(case=f"{one[0]} on {one[1]}", record={}, seed=0) for one in about
            ],
        ),
        record=SimpleNamespace(
            rows=lambda: [
                {
                    "workload": log,
                    "system": "machine",
                    "dispatcher": "easy",
                    "kind": "all",
                    "held_mean_s": 0.0,
                    "reproduced": grade,
                    "simulated_wait_mean_s": 60.0,
                    "recorded_wait_mean_s": 9000.0,
                    "lag_s": 2,
                    "within_10_min": 0.1,
                }
                for log, grade in (reproduced or {}).items()
            ]
        ),
        summary=SimpleNamespace(rows=lambda: list(about.values())),
        compared=compared,
        is_lower=lambda one, other, figure: other[2] in behind,
    )


def said(*runs, **more):
    return conclusions(tables(*runs, **more))


def test_one_run_each_is_no_proof_and_the_price_is_in_the_same_sentence():
    """Half the slowdown, a longest wait a quarter longer."""
    lines = said(against("plan", 10.0, 18_000.0, 1800.0), against("sjf", 15.0, 20_000.0))
    assert lines == [
        "In one run each, plan has the lowest mean bounded slowdown, 10.00 instead of 20.00"
        " (50 % less than easy); the longest wait is 25 % longer (5 h instead of 4 h, not"
        " confirmed).",
        "Every run with a noticeably lower slowdown has a longer maximum wait.",
        "One run each confirms no difference, because moving submits by seconds can change as much:"
        " use several repetitions to confirm.",
    ]


def test_a_gain_without_a_price_is_named_beside_a_larger_one_with():
    lines = said(against("sjf", 5.0, 28_800.0), against("plan", 12.0, 10_800.0))
    assert "sjf has the lowest" in lines[0]
    assert lines[1] == (
        "Among runs whose maximum wait is no longer, plan is lowest: 12.00 instead of 20.00 (40 % less); the"
        " longest wait is 25 % shorter (3 h instead of 4 h, not confirmed)."
    )


def test_a_gain_has_its_interval_beside_it():
    """With intervals over the days too; and of the repetitions alone."""
    sure = against("a", 10.0, 14_400.0 * 1.2, sure=LOWER)
    sure[1] |= {"verdict": HIGHER}
    assert said(sure) == [
        "a lowers the mean bounded slowdown of easy by 50 % (10.00 instead of 20.00, ×0.45 to"
        " 0.55); the longest wait is 20 % longer (4 h 48 min instead of 4 h).",
        "Intervals are over the days of the log; on a system whose queue never empties for weeks,"
        " they hold the truth less often than in 95 % of cases.",
    ]
    seeds = against("a", 10.0, 14_400.0 * 1.2, sure=LOWER + THIS_LOG)
    seeds[1] |= {"verdict": UNCLEAR}
    first, second = said(seeds)
    assert first.endswith("longer (4 h 48 min instead of 4 h, not significant).")
    assert second.startswith("The log is shorter than eight days")
    days = against("a", 10.0, 14_400.0, sure=LOWER + THIS_LOG, days=30)
    assert said(days)[1].startswith("The repetitions confirm this for the jobs of this log; the")


def test_one_run_over_many_days_is_no_gain_either():
    """Its interval over the days leaves out what a moved submit changes."""
    run = against("a", 19.0, 14_400.0, days=100, daily_ratio_low=0.94, daily_ratio_high=0.96)
    first, second = said(run)
    assert first.startswith("In one run each, a has a lower mean bounded slowdown, 19.00 instead")
    assert second.endswith("use several repetitions to confirm.")


def test_runs_that_were_not_repeated_have_no_front():
    """No verdict says that another run beats one of them."""
    run = against("a", 10.0, 14_400.0)
    assert any("Pareto front" in line for line in said(run, front={"a"}))
    once = said(run, front={"a"}, counts={key: {"repetitions": 1} for key in ("a", "easy")})
    assert not any("Pareto front" in line for line in once)


def test_a_difference_that_is_not_certain_is_no_gain():
    """And one that is certain is named before a larger one that is not."""
    noise = against("noise", 10.0, 14_400.0, sure=UNCLEAR)
    first, *_ = said(noise)
    assert first.startswith(
        "No run lowers the mean bounded slowdown of easy for certain: noise comes closest"
    )
    first, *_ = said(noise, against("sure", 15.0, 14_400.0, sure=LOWER))
    assert first.startswith("sure lowers the mean bounded slowdown of easy by 25 %")
    assert first.endswith("the longest wait stays at 4 h.")


def test_who_is_level_with_the_best_is_named():
    values = {"a": 5.0, "b": 6.0, "c": 9.0}
    runs = [against(who, value, 14_400.0, sure=LOWER) for who, value in values.items()]
    assert "Not clearly behind it: b (6.00)." in said(*runs, behind={"c"})
    assert "Not clearly behind it: b (6.00) and c (9.00)." in said(*runs)


def test_nothing_better_is_said():
    lines = said(against("fifo", 30.0, 28_800.0), against("b", 20.05, 14_400.0))
    assert lines[0] == (
        "No run lowers the mean bounded slowdown of easy: b comes closest with 20.05 instead of"
        " 20.00; the longest wait stays at 4 h."
    )
    lines = said(against("same", 20.0, 14_400.0, sure=EQUAL))
    assert "closest with 20.00 in both, ×0.95 to 1.05; the longest" in lines[0]


def test_who_knows_the_runtimes_is_left_out():
    lines = said(against("oracle", 1.0, 1.0), against("sjf", 15.0, 14_400.0), knowing={"oracle"})
    assert "sjf has a lower" in lines[0]
    assert lines[-1] == "Runs that know the actual runtimes are left out of this finding."
    assert "oracle has a lower" in said(against("oracle", 1.0, 1.0), knowing={"oracle"})[0]


def test_a_run_is_not_said_to_differ_from_itself():
    """Two predictors under one dispatcher: both names have their predictor."""
    rows = against("easy", 10.0, 14_400.0, base_predictor="actual")
    first, *_ = said(rows)
    assert "easy with requested time has" in first
    assert "less than easy with actual runtime)" in first


def test_a_loss_of_jobs_is_no_gain_and_another_allocator_is_named():
    runs = against("sure", 10.0, 14_400.0, sure=LOWER)
    first, *_ = said(runs, counts={"sure": {"timeout": 60}})
    assert first == (
        "No run gains on easy without losing jobs: sure has a mean bounded slowdown of 10.00 instead"
        " of 20.00, ×0.45 to 0.55; the longest wait stays at 4 h; 60.0 % of the jobs are stopped at"
        " their time limit instead of 10.0 %."
    )
    placed = against(
        "sure", 10.0, 14_400.0, sure=LOWER, allocator="pack", base_allocator="first-fit"
    )
    assert said(placed)[0].endswith(
        "; jobs are placed by pack instead of first-fit, which may be part of it."
    )


SHOWN = Against("10.00", "20.00", 0.5, LOWER, "×0.4 to 0.6")
CALM = Against("4 h", "4 h", 1.0, UNKNOWN)


@pytest.mark.parametrize(("claim", "figure", "more"), [
    (Claim.GAIN, SHOWN, {}),
    (Claim.ONE_RUN, SHOWN._replace(verdict=UNKNOWN), {}),
    (Claim.ONE_RUN, SHOWN._replace(verdict=ONE_RUN), {}),
    (Claim.UNCLEAR, SHOWN._replace(verdict=UNCLEAR), {}),
    (Claim.UNCLEAR, SHOWN._replace(ratio=0.999), {}),
    (Claim.DEARER, SHOWN, {"fates": ("some are killed",)}),
    (Claim.DEARER, SHOWN, {"longest": None}),
    (Claim.NONE, SHOWN._replace(ratio=1.0, verdict=EQUAL), {}),
    (Claim.NONE, SHOWN._replace(ratio=float("inf"), verdict=HIGHER), {"fates": ("killed",)}),
])  # fmt: skip
def test_what_may_be_claimed(claim, figure, more):
    one = Change(**{"name": "a", "base": "b", "figure": figure, "longest": CALM} | more)
    assert one.claim is claim


#: Slowdown, longest wait: ties, nothing that ran for long, no wait at all, all rejected but one.
HOSTILE = [(20.0, 14_400.0), (1.0, 0.0), (20.001, 14_401.0), (0.0, 0.0), (1e9, 1e12)]


@pytest.mark.parametrize("sure", [None, LOWER, LOWER + THIS_LOG, HIGHER, UNCLEAR, EQUAL])
@pytest.mark.parametrize("counts", [{}, {"simulated": 0, "rejected": 100}, {"in_log": 0}])
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize(("slowdown", "longest"), HOSTILE)
def test_no_table_makes_a_sentence_that_is_not_true(slowdown, longest, number, counts, sure):
    """Whatever the rows: no winner without an interval, nothing of itself, no blank figure."""
    runs = [against(who, slowdown, longest, sure=sure) for who in "ab"[:number]]
    rejects = counts.get("rejected", 0) > 0
    lines = said(*runs, counts=dict.fromkeys("ab", counts))
    text = "\n".join(lines)
    assert not re.search(r"nan|inf\b|None|by 0 %|\b0 % (less|more)", text)
    for one, other in re.findall(r"([\w.,]+(?: \w+)?) instead of ([\w.,]+(?: \w+)?)", text):
        assert one != other
    won = " lowers the mean bounded slowdown of easy by " in text
    assert won == (slowdown < 20 and str(sure).startswith(LOWER) and not rejects)


def test_several_places_begin_with_all_of_them(monkeypatch):
    """With what a package says of all; without one, with the first."""
    said = Overview(sentences=("On the whole: no.",))
    monkeypatch.setattr("cpsched.report.sentences.overview", lambda _: said)
    some = tables(
        against("sjf", 10.0, 14_400.0, sure=LOWER),
        against("sjf", 15.0, 28_800.0, sure=LOWER, case="other"),
        against("fifo", 40.0, 14_400.0, case="third"),
        against("sjf", 5.0, 14_400.0, case="fourth"),
    )
    lines = conclusions(some)
    assert lines[0] == "On the whole: no."
    assert lines[1].startswith("log on machine: sjf lowers ")
    # A line for each.
    assert [line.partition(" on machine: ")[0] for line in lines[1:]] == [
        "log", "other", "third", "fourth",
    ]  # fmt: skip
    assert [one.about for one in findings(some)] == [
        ("sjf", "requested"), ("sjf", "requested"), ("fifo", "requested"), ("sjf", "requested"),
    ]  # fmt: skip


def test_what_is_said_of_all_places_is_said_once(monkeypatch):
    """Once more behind the lines of the places, and in none of them."""
    monkeypatch.setattr("cpsched.report.sentences.overview", lambda _: Overview())
    some = [
        against("sjf", slowdown, 14_400.0, sure=LOWER, case=place)
        for place, slowdown in (("log", 10.0), ("other", 12.0))
    ]
    one, other, *shared = conclusions(tables(*some))
    assert (one[:3], other[:5]) == ("log", "other")
    assert any(line.startswith("Intervals are over the days of the log") for line in shared)
    assert not any(line in one + other for line in shared)


def test_a_finding_says_nothing_of_the_record(monkeypatch):
    """That stands once, below it."""
    monkeypatch.setattr("cpsched.report.sentences.overview", lambda _: Overview())
    some = [
        against("sjf", slowdown, 14_400.0, sure=LOWER, case=place)
        for place, slowdown in (("log", 10.0), ("other", 12.0))
    ]
    lines = conclusions(tables(*some, reproduced={"log": "closely", "other": "not"}))
    assert lines[1].startswith("other on machine: sjf lowers ")
    assert not any("recorded" in line for line in lines)


def of_scenarios(sure=ONE_RUN, counts=None, **values):
    """Return tables of scenarios by their mean wait; that of the baseline is 1000 s."""
    names = {"workload": "log", "system": "machine", "predictor": "requested"}
    gains = [
        names | {
            "dispatcher": name,
            "kind": "all", "group": "all", "wait_mean_s": value, "base_wait_mean_s": 1000.0,
            "wait_max_s": 4000, "base_wait_max_s": 3600, "difference": value - 1000.0,
            "difference_low": None if sure == ONE_RUN else value - 1100.0,
            "difference_high": None if sure == ONE_RUN else value - 900.0, "verdict": sure,
            "wait_max_verdict": sure,
            "shorter": 0.1, "longer": 0.1, "hours": 0, "jobs": 10,
        }
        for name, value in values.items()
    ]  # fmt: skip
    base = {f"base_{name}": value for name, value in names.items()} | {"base_dispatcher": "now"}
    runs = [
        SimpleNamespace(
            key=("log", "machine", name, "requested"), case="log on machine", record={}, changes=()
        )
        for name in ("now", *values)
    ]
    return SimpleNamespace(
        results=SimpleNamespace(by_group=True, measure_from=None, runs=runs),
        record=SimpleNamespace(rows=list),
        gains=SimpleNamespace(rows=lambda: gains),
        compared={
            key_of(row): {
                "wait_mean_s": MetricDifference(
                    row | base | {"figure": "wait_mean_s", "days": None}
                )
            }
            for row in gains
        },
        summary=SimpleNamespace(
            rows=lambda: [
                names | COUNTS | (counts or {}).get(name, {}) | {"dispatcher": name}
                for name in ("now", *values)
            ]
        ),
    )


TAIL = "; the longest wait is 11 % longer (1 h 7 min instead of 1 h)"


@pytest.mark.parametrize(("sure", "wait", "counts", "begins"), [
    (LOWER, 500.0, {}, "Of 2 scenarios, small shortens the mean wait most: 8 min 20 s instead of"
     f" 16 min 40 s (50 % less, -10 min to -6 min 40 s){TAIL}."),
    (ONE_RUN, 500.0, {}, "Of 2 scenarios, small has the shortest mean wait, perhaps by chance: 8"),
    (UNCLEAR, 999.0, {}, "None of the 2 scenarios that lose no jobs shortens the mean wait for certain; small comes"
     " closest: 16 min 39 s instead of 16 min 40 s (less than 1 % less"),
    (LOWER, 500.0, {"timeout": 60}, "None of the 2 scenarios shortens the mean wait without losing"
     " jobs: small has a mean wait of 8 min 20 s instead of 16 min 40 s (50 % less, -10 min to -6"
     f" min 40 s){TAIL}; 60.0 % of the jobs are stopped at their time limit instead of 10.0 %."),
    (LOWER, 500.0, {"in_log": 150, "simulated": 150}, "Of 2 scenarios, small shortens the mean wait"
     " of the 10 jobs that ran in both most: 8 min 20 s"),
    (ONE_RUN, 1100.0, {}, "None of the 2 scenarios shortens the mean wait (16 min 40 s)."),
])  # fmt: skip
def test_no_scenario_is_praised_for_a_trifle_for_chance_or_for_jobs_that_never_ran(
    sure, wait, counts, begins
):
    told = conclusions(of_scenarios(sure, {"small": counts}, small=wait, worse=2000.0))
    assert told[0].startswith(begins)


def test_nothing_to_compare_is_nothing_to_say():
    """No run but the baseline, or one of which no job ended."""
    assert said() == said(against("sjf", 1.0, 1.0)[2:]) == []
