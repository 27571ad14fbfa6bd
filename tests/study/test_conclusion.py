"""The lines that say which runs are on the front, and what each costs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from cpsched.study import Baseline, carry_out, load_study, make_tables
from cpsched.study.conclusion import conclusions
from cpsched.study.task import tasks_of


def row(who, *figures, front=True, repetitions=3, knows=False):
    """Return a row of a dispatcher, a predictor, and response, tail, longest wait and slowdown."""
    names = ("response_by_area_s", "wait_p99.9_s", "wait_max_s", "bounded_slowdown_mean")
    return {
        "workload": "log", "system": "machine", "dispatcher": who, "predictor": "requested",
        "repetitions": repetitions, "on_front": front, "knows_runtimes": knows,
        **dict(zip(names, figures or [None] * 4, strict=True)),
    }  # fmt: skip


def said(*rows):
    """Return what is said of the rows of a summary; easy is the baseline."""
    return conclusions(
        SimpleNamespace(
            results=SimpleNamespace(baseline=Baseline(dispatcher="easy"), by_group=False),
            summary=SimpleNamespace(rows=lambda: list(rows)),
        )
    )


EASY = row("easy", 36_000.0, 7200.0, 14_400.0, 20.0)


def test_it_names_the_front_with_what_each_costs():
    """Half the slowdown, and the longest wait twice as long; sjf is behind."""
    assert said(
        EASY,
        row("sjf", 36_000.0, 9000.0, 14_400.0, 20.0, front=False),
        row("rollout", 35_900.0, 7920.0, 28_800.0, 10.0),
    ) == [
        "log on machine: easy with requested, the baseline, has area-weighted response 10 h, p99.9"
        " wait 2 h, longest wait 4 h, mean bounded slowdown 20.00.",
        "It is on the Pareto front of area-weighted response, p99.9 wait and mean bounded"
        " slowdown.",
        "  on the front: rollout with requested has area-weighted response 9.97 h (less than 1 %"
        " less), p99.9 wait 2.2 h (10 % more), longest wait 8 h (100 % more), mean bounded"
        " slowdown 10.00 (50 % less).",
    ]


def test_a_baseline_behind_the_front_is_said_to_be():
    lines = said({**EASY, "on_front": False}, row("prb", 1.0, 1.0, 1.0, 1.0))
    assert lines[1].startswith("It is not on the Pareto front of ")


def test_nothing_else_on_the_front_is_said():
    assert said(EASY, row("prb", 1e6, 1e6, 1e6, 1e6, front=False))[2:] == [
        "  Nothing else is on it."
    ]


def test_who_knows_the_runtimes_is_not_compared_with_who_does_not():
    lines = said(EASY, row("prb", 1.0, 1.0, 1.0, 1.0, knows=True))
    assert lines[2:] == [
        "  Nothing else is on it.",
        "  Runs that know the runtimes and runs that do not have fronts of their own.",
    ]


def test_many_on_the_front_are_counted():
    lines = said(EASY, *(row(f"d{n}", 1.0, 1.0, 1.0, 1.0) for n in range(9)))
    assert len(lines) == 2 + 6 + 1
    assert lines[-1] == "  and 3 more; see the tables."


def test_one_run_each_is_no_proof():
    lines = said({**EASY, "repetitions": 1}, row("prb", 1.0, 1.0, 1.0, 1.0, repetitions=1))
    assert lines[1].endswith("(one run each: differences may be noise).")


def test_no_wait_has_a_unit_too():
    """Nobody waited under either."""
    nobody = row("easy", 60.0, 0.0, 0.0, 1.0)
    lines = said(nobody, {**nobody, "dispatcher": "prb"})
    assert "p99.9 wait 0 s, longest wait 0 s," in lines[0]
    assert "p99.9 wait 0 s (the same)" in lines[2]


@pytest.mark.parametrize(
    "rows",
    [
        [EASY],
        [row("prb", 1.0, 1.0, 1.0, 1.0), row("sjf", 1.0, 1.0, 1.0, 1.0)],
        [row("easy", front=None), row("sjf", front=None)],
    ],
)
def test_nothing_to_compare_is_nothing_to_say(rows):
    """One run, no run of the baseline, or no jobs."""
    assert said(*rows) == []


def test_it_is_of_the_runs_that_were_carried_out(place):
    """FIFO is the baseline, and every line has a longest wait."""
    text = (place / "study.toml").read_text().replace("seeds = 3", "seeds = 1")
    (place / "study.toml").write_text(text + '[baseline]\ndispatcher = "FIFO"\n')
    carry_out(load_study(place / "study.toml"), place / "out")
    first, front, *others = conclusions(make_tables(place / "out"))
    assert first.startswith("few on four: FIFO with W, the baseline, has ")
    assert front.startswith("It is")
    assert all("longest wait" in line for line in (first, *others[:-1]))
    assert others[-1].startswith("  Runs that know the runtimes ")


def test_the_demo_has_all_that_it_should_show():
    """Backfilling, a priority, constraint programming and rollouts; two sources of runtimes."""
    cases = {(task.dispatcher, task.predictor) for task in tasks_of(load_study("demo"))}
    placed = "allocator=consolidate"
    dispatchers = (
        f"easy:{placed}", f"prb:{placed},priority=slowdown", f"cph-3:{placed}",
        f"rollout:{placed}",
    )  # fmt: skip
    predictors = ("requested", "user-history-plus")
    assert cases == {(one, other) for one in dispatchers for other in predictors}
