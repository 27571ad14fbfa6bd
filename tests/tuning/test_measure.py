"""The constraints of a search: what makes a setting infeasible."""

from types import SimpleNamespace

import pytest

from cpsched.metrics.definitions import ALL
from cpsched.tuning.measure import LONGEST, TAIL, UTILIZATION, WAIT, Limits, measured

RUN, BASE = (("log", "system", name, "requested") for name in ("changed", "baseline"))
PHYSICS = ("account", "physics")


def row(metric, ratio, base=10_000.0, interval=None, group=ALL):
    return SimpleNamespace(
        metric=metric, group=group, value=base * ratio, base_value=base, ratio=ratio,
        difference=base * (ratio - 1), interval=interval,
        difference_interval=interval and tuple(base * (end - 1) for end in interval),
    )  # fmt: skip


def table(*changed, jobs=100, lost=0, base_lost=0):
    """Return a table whose waits are those of the site, but for some rows."""
    rows = [row(WAIT, 0.8), row(LONGEST, 1.0), row(TAIL, 1.0), row(UTILIZATION, 1.0)]
    values = {(RUN, of.metric, of.group): of for of in (*rows, *changed)}
    for of in changed:
        values[RUN, "common_jobs", of.group] = SimpleNamespace(value=jobs)
    for run, number in ((RUN, lost), (BASE, base_lost)):
        values[run, "timeout", ALL] = SimpleNamespace(value=number)
        values[run, "simulated", ALL] = SimpleNamespace(value=10_000)
    return SimpleNamespace(
        get=lambda run, name, group=ALL: values.get((run, name, group)),
        group_rows=lambda run: [of for of in changed if of.group != ALL],
        baseline_of=lambda run: BASE,
    )


def broken(*changed, **more):
    result = measured(table(*changed, **more), RUN, {"x": "1"}, Limits())
    return [item.what for item in result.broken], [item.what for item in result.unclear]


def test_a_setting_that_makes_nothing_worse_keeps_all_constraints():
    assert broken() == ([], [])
    assert measured(table(), RUN, {}, Limits()).excess == 0


@pytest.mark.parametrize(
    ("interval", "is_broken", "is_unclear"),
    [((1.11, 1.6), True, False), ((1.09, 1.6), False, True), (None, False, True)],
)
def test_a_group_breaks_its_constraint_if_its_interval_lies_above(interval, is_broken, is_unclear):
    name = ["mean wait of account physics"]
    group = row(WAIT, 1.3, interval=interval, group=PHYSICS)
    assert broken(group) == (name * is_broken, name * is_unclear)


@pytest.mark.parametrize(
    ("changed", "jobs"),
    [
        (row(WAIT, 1.09, interval=(1.08, 1.2), group=PHYSICS), 100),
        (row(WAIT, 1.3, interval=(1.2, 1.4), group=PHYSICS), 99),
        (row(WAIT, 1.3, interval=(1.2, 1.4), group=("user", "ada")), 100),
        # Four minutes are less than a twentieth of the mean wait of all jobs, 10,000 s.
        (row(WAIT, 5.0, base=60.0, interval=(4.0, 6.0), group=PHYSICS), 100),
    ],
)
def test_small_groups_and_small_rises_break_no_constraint(changed, jobs):
    assert broken(changed, jobs=jobs) == ([], [])


@pytest.mark.parametrize(("jobs", "unchecked"), [(99, (("account physics", 99),)), (100, ())])
def test_groups_with_too_few_jobs_are_named(jobs, unchecked):
    group = row(WAIT, 0.9, group=PHYSICS)
    assert measured(table(group, jobs=jobs), RUN, {}, Limits()).unchecked == unchecked


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        (row(LONGEST, 1.21), "longest wait"),
        (row(TAIL, 1.11), "p99.9 wait"),
        (row(UTILIZATION, 0.94), "utilization"),
    ],
)
def test_tail_and_utilization_of_one_run_count_by_their_values(changed, name):
    assert broken(changed) == ([name], [])


def test_the_longest_wait_of_repetitions_needs_confidence():
    assert broken(row(LONGEST, 1.4, interval=(0.9, 2.1))) == ([], ["longest wait"])
    assert broken(row(LONGEST, 1.4, interval=(1.3, 1.5))) == (["longest wait"], [])


def test_the_tail_counts_by_its_value_for_the_choice_and_may_rise_by_half():
    longest = row(LONGEST, 1.15, interval=(0.9, 2.1))
    tail = row(TAIL, 1.04, interval=(0.9, 2.1))
    result = measured(table(longest, tail), RUN, {}, Limits(strict_tails=True))
    assert [(item.what, item.limit) for item in result.broken] == [("longest wait", 1.1)]
    assert measured(table(longest, tail), RUN, {}, Limits()).broken == ()


@pytest.mark.parametrize(("interval", "is_broken"), [((1200, 9000), True), ((300, 9000), False)])
def test_a_group_that_did_not_wait_breaks_its_constraint_by_its_difference(interval, is_broken):
    group = row(WAIT, 1.0, base=0.0, group=PHYSICS)
    group.ratio, group.value, group.difference = None, 7200, 7200
    group.difference_interval = interval
    assert bool(broken(group)[0]) == is_broken


def test_jobs_that_do_not_run_to_their_end_must_not_become_more():
    assert broken(lost=10, base_lost=6) == ([], [])
    words = "0.1 % of the jobs are killed at their limit instead of 0.1 %"
    assert broken(lost=11, base_lost=6) == ([words], [])
    assert measured(table(lost=5), RUN, {}, Limits()).excess == float("inf")


def test_the_largest_excess_is_first():
    longest, tail = row(LONGEST, 1.3), row(TAIL, 1.5)
    assert broken(longest, tail)[0] == ["p99.9 wait", "longest wait"]
    assert measured(table(longest, tail), RUN, {}, Limits()).excess == pytest.approx(1.5 / 1.1 - 1)
