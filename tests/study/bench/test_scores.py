"""Ranks, ties and intervals over logs, on runs made up for it."""

from types import SimpleNamespace

import pytest

from cpsched.study.bench.scores import LONGEST, SCORE, TRIPLE, Scores

OUTCOMES = ("simulated", "rejected", "killed", "cancelled", "never_started", "not_ended")


def result(dispatcher, log, seed, factor, *, predictor="requested", lost=0, knows=False):
    """Return a run all of whose figures are a multiple of a log's own."""
    own = 100.0 * (1 + len(log))
    counts = dict.fromkeys(OUTCOMES, 0) | {"simulated": 100, "killed": lost}
    return SimpleNamespace(
        configuration=(dispatcher, predictor),
        dispatcher=dispatcher,
        workload=log,
        seed=seed,
        knows_runtimes=knows,
        timing={"loop_cpu_s": 0.2},
        decisions={"decisions": 100},
        values={
            **counts,
            **dict.fromkeys(TRIPLE, own * factor),
            "wait_p99.9_s": (own + 60) * factor - 60,
            LONGEST: (own + 60) * factor - 60,
        },
    )  # fmt: skip


def scores(factors, logs=("a", "bb", "ccc", "dddd", "eeeee", "ffffff"), **about):
    """Return the scores of entries by their factors, one for each log and seed."""
    runs = [
        result(name, log, seed, factors[name](i, seed), **about.get(name, {}))
        for name in factors
        for i, log in enumerate(logs)
        for seed in (1, 2)
    ]
    return Scores(runs, ("base", "requested"))


def test_ratios_ranks_and_who_is_level():
    result = scores({
        "base": lambda log, seed: 1.0,
        "half": lambda log, seed: 0.5 + 0.01 * seed,
        "nearly half": lambda log, seed: (0.45, 0.6, 0.47, 0.62, 0.5, 0.52)[log],
        "worse": lambda log, seed: 2.0,
    })  # fmt: skip
    table = {entry.who[0]: entry for entry in result.table()}
    assert [entry.who[0] for entry in result.table()][-2:] == ["base", "worse"]
    half = table["half"].ratios
    assert half[SCORE].mean == pytest.approx((0.51 * 0.52) ** 0.5)
    assert half[LONGEST].mean == pytest.approx(half[SCORE].mean)
    assert table["worse"].ratios[SCORE].mean == pytest.approx(2)
    assert (table["worse"].rank, table["base"].rank) == (4, 3)
    assert {name for name, entry in table.items() if entry.is_level} == {"half", "nearly half"}
    first = result.table()[0]
    assert first.behind is None
    assert first.interval[0] <= first.rank <= first.interval[1]
    assert table["base"].cpu_ms == pytest.approx(2)
    assert result.friedman < 0.01


def test_who_loses_jobs_is_not_ranked_and_said_why():
    result = scores(
        {"base": lambda log, seed: 1.0, "kills": lambda log, seed: 0.1, "other": lambda *_: 0.9},
        kills={"lost": 2},
    )
    last = result.table()[-1]
    assert (last.who[0], last.rank, last.is_level) == ("kills", None, False)
    assert last.lost["a"] == "2.0 % of the jobs are killed or cancelled instead of 0.0 %"
    assert [entry.rank for entry in result.table()][:2] == [1, 2]


def test_an_oracle_is_shown_beside_others_and_not_ranked():
    factors = {"base": lambda *_: 1.0, "oracle": lambda *_: 0.2}
    [base, oracle] = scores(factors, oracle={"knows": True}).table()
    assert (base.rank, oracle.rank, oracle.oracle) == (1, None, True)
    both = scores(factors, oracle={"knows": True}, base={"knows": True}).table()
    assert [entry.rank for entry in both] == [1, 2]


def test_two_logs_have_no_intervals_and_equals_share_their_rank():
    result = scores({"base": lambda *_: 1.0, "same": lambda *_: 1.0}, logs=("a", "bb"))
    for entry in result.table():
        assert (entry.rank, entry.interval, entry.ratios[SCORE].low) == (1.5, None, None)
    assert result.friedman is None


def test_an_entry_without_all_its_runs_is_left_out():
    runs = [result("base", log, 1, 1.0) for log in "ab"] + [result("half", "a", 1, 0.5)]
    compared = Scores(runs, ("base", "requested"))
    assert compared.incomplete == [("half", "requested")]
    assert compared.entries == [("base", "requested")]


def test_the_interval_of_a_rank_has_the_chance_of_its_logs():
    """An entry that is first on half of the logs and last on the others."""
    logs = tuple("x" * n for n in range(1, 13))
    result = scores(
        {"base": lambda *_: 1.0, "fickle": lambda log, seed: 0.5 if log % 2 else 2.0}, logs=logs
    )
    entry = next(entry for entry in result.table() if entry.who[0] == "fickle")
    assert entry.rank == 1.5
    assert entry.interval[0] == pytest.approx(1.25, abs=0.06)
    assert entry.interval[1] == pytest.approx(1.75, abs=0.06)
