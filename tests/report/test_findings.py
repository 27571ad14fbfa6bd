"""What is said of a study: never more than its repetitions, and never without what is lost."""

import re
from dataclasses import replace

import pytest
from result_tables import EASY, repeated, run, table

from cpsched.metrics.definitions import ALL
from cpsched.report.findings import (
    Change,
    Claim,
    Effect,
    change,
    conclusions,
    findings,
    group_lines,
)
from cpsched.study import Baseline
from cpsched.study.verdicts import EQUAL, HIGHER, LOWER, ONE_RUN, UNCLEAR, UNKNOWN

FOUR_H = 14_400.0


def once(name, slowdown, longest=FOUR_H, **how):
    """One run of a dispatcher."""
    return [run(name, bounded_slowdown_mean=slowdown, wait_max_s=longest, **how)]


def often(name, slowdown, longest=FOUR_H, spread=0.01, **how):
    """Three repetitions, a little apart."""
    values = {"bounded_slowdown_mean": slowdown, "wait_max_s": longest}
    return repeated(name, spread=spread, **values, **how)


def sentences(*runs, base=once, **how):
    results = table(*base("easy", 20.0), *(item for group in runs for item in group), **how)
    return conclusions(results, "--repeat 5")


def test_one_run_each_is_no_proof_and_the_loss_is_in_the_same_sentence():
    """Half the slowdown, a longest wait a quarter longer."""
    assert sentences(once("plan", 10.0, 18_000.0), once("sjf", 15.0, 20_000.0)) == [
        "plan against easy: mean bounded slowdown -50 % (one run), longest wait +25 % (one run).",
        "The longest wait rises in every run with a lower slowdown.",
        "One run each cannot tell a difference from chance. Use --repeat 5.",
    ]


def test_a_gain_that_keeps_the_longest_wait_is_named_beside_a_larger_one():
    lines = sentences(once("sjf", 5.0, 28_800.0), once("plan", 12.0, 10_800.0))
    assert lines[0].startswith("sjf against easy: mean bounded slowdown -75 %")
    assert lines[1] == (
        "Lowest slowdown with the longest wait kept: plan: mean bounded slowdown -40 % (one run), longest"
        " wait -25 % (one run)."
    )


def test_a_gain_has_its_interval_beside_it():
    """Of the repetitions alone, on a log that is too short for days."""
    first, *others = sentences(often("a", 10.0, spread=0.03), base=often)
    assert re.fullmatch(
        r"a against easy: mean bounded slowdown -50 % \(95 % CI -5\d to -4\d %\), longest wait 0 % \(.*",
        first,
    )
    assert "The log is shorter than eight days: another part may give other results." in others


def test_a_difference_that_is_not_certain_is_no_gain():
    """And one that is certain is named before a larger one that is not."""
    noise = often("noise", 10.0, spread=0.9)
    first, *_ = sentences(noise, often("b", 30.0), base=often)
    assert first.startswith("No significant gain over easy. Closest: noise: mean bounded slowdown")
    assert ", not significant)" in first
    first, *_ = sentences(noise, often("sure", 15.0), base=often)
    assert first.startswith("sure against easy: mean bounded slowdown -25 %")


def test_runs_that_are_not_significantly_behind_are_named():
    runs = [often("a", 10.0), often("b", 10.05), often("c", 15.0)]
    assert "No significant difference from a: b (-50 %)." in sentences(*runs, base=often)


def test_runs_that_are_significantly_worse_are_named():
    runs = [often("a", 10.0), often("b", 100.0), often("c", 30.0)]
    assert "Worse than easy: c (+50 %) and b (+400 %)." in sentences(*runs, base=often)
    assert not any("Worse" in line for line in sentences(once("a", 10.0), once("c", 30.0)))


def test_baselines_of_several_predictors_are_not_compared():
    """No run is said to be the best of all, where no ratio says so."""
    results = table(
        *(run for predictor in ("requested", "last") for run in often("easy", 20.0, predictor=predictor)),
        *(run for predictor in ("requested", "last") for run in often("b", 30.0, predictor=predictor)),
    )  # fmt: skip
    lines = conclusions(results)
    assert lines[0] == (
        "Each predictor has its own baseline. To compare predictors: cpsched what-if LOG --change"
        " 'predictor NAME'."
    )
    assert not any("No run is better" in line for line in lines)


def grouped(name, **waits):
    """Three repetitions with a mean wait of 1 h or another in each group."""
    wait_of = {("length", "medium"): 3600.0, ("size", "huge"): 3600.0}
    wait_of |= {key: waits[key[1]] for key in wait_of if key[1] in waits}
    groups = {key: {"common_wait_mean_s": wait} for key, wait in wait_of.items()}
    groups["all", "all"] = {
        "common_wait_mean_s": waits.get("all", 3600.0),
        "common_wait_max_s": 9.0,
    }
    return [
        run(name, seed, groups={
            key: {metric: value * (1 + seed / 1e6) for metric, value in values.items()}
            for key, values in groups.items()
        })
        for seed in (1, 2, 3)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("less", "longer", "same"), [(0.0, 0.0, True), (0.01, 0.0, False), (0.0, 0.01, False)]
)
@pytest.mark.parametrize("by_group", [True, False])
def test_a_scenario_in_which_no_job_waits_less_or_more_is_named(less, longer, same, by_group):
    shares = {"share_that_waits_less": less, "share_that_waits_longer": longer}
    scenario = [
        replace(of, metrics=of.metrics | {ALL: EASY | of.metrics[ALL] | shares})
        for of in grouped("a")
    ]
    base = [
        replace(of, metrics=of.metrics | {ALL: EASY | of.metrics[ALL]}) for of in grouped("easy")
    ]
    text = " ".join(conclusions(table(*base, *scenario, by_group=by_group)))
    expected = "mean wait unchanged, longest wait unchanged. No job waits a minute less or more."
    assert (expected in text) == (same and by_group)


def test_each_scenario_with_significant_groups_is_listed_and_classes_are_defined_once():
    results = table(
        *grouped("easy"),
        *grouped("a", all=1800.0, medium=1800.0),
        *grouped("b", all=3000.0, medium=7200.0, huge=3570.0),
        *grouped("c", all=3600.0),
        by_group=True,
    )
    (finding,) = findings(results)
    lines = list(group_lines(results, finding))
    assert [line.partition(":")[0] for line in lines] == [
        "Wait less under a",
        "Wait longer under b",
        "Runtimes",
    ]
    assert lines[-1] == "Runtimes: medium (1 h to 12 h)."


def test_a_change_below_one_percent_may_have_an_interval_without_zero():
    """A minute and a half of five hours."""
    results = table(
        *grouped("easy", huge=18_000.0), *grouped("a", all=1800.0, huge=18_090.0), by_group=True
    )
    (finding,) = findings(results)
    unclear, meaning = group_lines(results, finding)
    assert unclear.startswith("Below 1 % or not significant under a: huge jobs +1 min 30 s (")
    assert meaning == "Requests as shares of the system: huge (more than 50 %)."


def test_the_front_needs_repetitions():
    front = "Pareto front of area-weighted response, p99.9 wait and mean bounded slowdown: a."
    assert front in sentences(often("a", 10.0), base=often)
    assert not any("Pareto" in line for line in sentences(once("a", 10.0)))


def test_nothing_better_is_said():
    first, *_ = sentences(once("fifo", 30.0, 28_800.0), once("b", 20.4))
    assert first == (
        "No run is better than easy. Closest: b: mean bounded slowdown +2 % (one run), longest wait"
        " unchanged."
    )


def test_a_run_that_knows_the_runtimes_is_not_ranked():
    lines = sentences(once("oracle", 1.0, 1.0, knows=True), once("sjf", 15.0))
    assert lines[0].startswith("sjf against easy: mean bounded slowdown -25 %")
    assert "Runs that know the actual runtimes are not ranked." in lines
    assert sentences(once("oracle", 1.0, 1.0, knows=True))[0].startswith(
        "oracle against easy: mean bounded slow"
    )


def test_two_predictors_of_one_dispatcher_are_named():
    results = table(
        *once("easy", 10.0), *once("easy", 20.0, predictor="actual"),
        baseline=Baseline(predictor="actual"),
    )  # fmt: skip
    (finding,) = findings(results)
    assert finding.sentences[0].startswith(
        "easy with requested time against easy with actual runtime: mean bounded slowdown -50 %"
    )


def test_lost_jobs_are_no_gain_and_another_allocator_is_named():
    first, *_ = sentences(once("cap", 10.0, timeout=60), once("b", 30.0))
    assert first == (
        "No run gains over easy without losing jobs. cap: mean bounded slowdown -50 % (one run),"
        " longest wait unchanged. 60.0 % of the jobs are killed at their limit instead of 10.0 %."
    )
    assert sentences(once("a", 10.0, allocator="pack"))[0].endswith(
        ". Allocator pack instead of first-fit."
    )


SHOWN = Effect("mean wait", 0.5, (0.4, 0.6), LOWER)
CALM = Effect("longest wait", 1.0, None, UNKNOWN)


@pytest.mark.parametrize(("claim", "main", "more"), [
    (Claim.GAIN, SHOWN, {}),
    (Claim.ONE_RUN, SHOWN._replace(verdict=UNKNOWN), {}),
    (Claim.ONE_RUN, SHOWN._replace(verdict=ONE_RUN), {}),
    (Claim.UNCLEAR, SHOWN._replace(verdict=UNCLEAR), {}),
    (Claim.UNCLEAR, SHOWN._replace(ratio=0.999), {}),
    (Claim.LOSES_JOBS, SHOWN, {"losses": ("some are killed",)}),
    (Claim.LOSES_JOBS, SHOWN, {"longest": None}),
    (Claim.NONE, SHOWN._replace(ratio=1.0, verdict=EQUAL), {}),
    (Claim.NONE, SHOWN._replace(ratio=float("inf"), verdict=HIGHER), {"losses": ("killed",)}),
])  # fmt: skip
def test_what_may_be_claimed(claim, main, more):
    change = Change(**{"name": "a", "base": "b", "main": main, "longest": CALM} | more)
    assert change.claim is claim


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.28, "-72 %"),
        (1.15, "+15 %"),
        (0.996, "-0.4 %"),
        (1.0, "0 %"),
        (0.9999, "0 %"),
        (16.9, "17 times as high"),
    ],
)
def test_a_ratio_is_a_change_in_percent(ratio, text):
    assert change(ratio) == text


def test_one_run_has_an_interval_over_days_and_no_verdict():
    effect = Effect("mean wait", 0.77, (0.65, 0.91), ONE_RUN)
    assert str(effect) == "mean wait -23 % (one run, 95 % CI over the days -35 to -9 %)"


def test_a_large_interval_is_in_factors():
    effect = Effect("mean wait", 12.0, (5.27, 28.04), HIGHER)
    assert str(effect) == "mean wait 12 times as high (95 % CI 5.3 to 28.0 times)"


#: Slowdown, longest wait: ties, nothing that ran for long, no wait at all, all rejected but one.
HOSTILE = [(20.0, 14_400.0), (1.0, 0.0), (20.001, 14_401.0), (0.0, 0.0), (1e9, 1e12)]


@pytest.mark.parametrize("runs", [once, often])
@pytest.mark.parametrize("counts", [{}, {"simulated": 0, "rejected": 100}, {"in_log": 0}])
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize(("slowdown", "longest"), HOSTILE)
def test_no_table_makes_a_sentence_that_is_not_true(slowdown, longest, number, counts, runs):
    """Whatever the rows: no winner without an interval, no blank metric."""
    lines = sentences(
        *(runs(name, slowdown, longest, **counts) for name in "ab"[:number]), base=runs
    )
    text = "\n".join(lines)
    assert not re.search(r"nan|inf\b|None|[-+]0 %", text)
    assert lines[0].endswith(".")
    if counts.get("rejected") and slowdown < 20:
        assert "can never run instead of 0.0 %" in lines[0]


def test_several_logs_have_a_line_each_and_what_they_share_once():
    results = table(
        *(run for log in ("log", "other") for run in often("easy", 20.0, log=log)),
        *often("sjf", 10.0),
        *often("sjf", 12.0, log="other"),
    )
    first, second, *shared = conclusions(results)
    assert first.startswith("log on machine: sjf against easy: mean bounded slowdown -50 %")
    assert second.startswith("other on machine: sjf against easy: mean bounded slowdown -40 %")
    assert any(line.startswith("The log is shorter than eight days") for line in shared)
    assert not any(line in first + second for line in shared)


def test_nothing_to_compare_is_nothing_to_say():
    """No run but the baseline."""
    assert sentences() == []


def test_scenarios_with_other_jobs_are_compared_over_common_jobs_and_that_is_stated():
    scenario = grouped("a", all=1800.0)
    same = table(*grouped("easy"), *scenario, by_group=True)
    more = [
        replace(of, metrics=of.metrics | {ALL: of.metrics[ALL] | {"simulated": 110}})
        for of in scenario
    ]
    other = table(*grouped("easy"), *more, by_group=True)
    sentence = (
        "These changes are over the jobs of both runs. The ratios in the table are over all jobs of"
        " each run."
    )
    assert sentence in conclusions(other)
    assert sentence not in conclusions(same)
