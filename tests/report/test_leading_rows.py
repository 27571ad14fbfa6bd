"""The table that every comparison shows first: what it says, and that it fits."""

from dataclasses import replace

import pytest
from cpsched.metrics.results_table_columns import LEADING
from cpsched.report.leading_rows import Leading, LeadingRows, Measured, _marked, leading_text

EASY = (50_000.0, 3600.0, 86_400.0, 172_800.0, 20.0, 0.8)
PRB = (51_000.0, 1800.0, 90_000.0, 345_600.0, 5.0, 0.79)
FIFO = (90_000.0, 9000.0, 99_000.0, 180_000.0, 80.0, 0.5)


def row(name, values, base=None, interval=None, clear=None, **changes):
    """Return a run with these figures, against those of a baseline."""
    figures = tuple(
        Measured(
            name=one.name,
            value=value,
            ratio=None if base is None else value / base[at],
            interval=interval,
            clear=clear,
        )
        for at, (one, value) in enumerate(zip(LEADING, values, strict=True))
    )
    made = Leading(
        dispatcher=name,
        predictor="requested",
        allocator="first-fit",
        repetitions=1,
        jobs=1000,
        rejected=0,
        knows_runtimes=False,
        is_baseline=base is None,
        figures=figures,
    )
    return replace(made, **changes)


def shown(*rows, width=140, **how):
    found = LeadingRows(place="log on machine", against="easy", rows=_marked(rows))
    return leading_text(found, width, **{"scenarios": False, **how})


def test_ratios_stand_beside_the_figures_where_there_is_room():
    prb, fifo = (row(*one, EASY, clear=True) for one in (("greedy", PRB), ("fifo", FIFO)))
    text = shown(row("easy", EASY), prb, fifo)
    easy, prb, fifo = text.splitlines()[-3:]
    assert "×" not in easy
    assert "30 min* ×0.50" in prb
    assert "4 d! ×2.00" in prb  # the longest wait, beside whatever it is best in
    assert "25 h" not in fifo
    assert "1 d 1 h  ×1.04" in prb
    assert "80.00! ×4.00" in fifo


@pytest.mark.parametrize("width", [80, 100, 120, 140])
@pytest.mark.parametrize("interval", [None, (0.851, 1.152)])
def test_it_fits_the_terminal_with_every_figure(width, interval):
    """Names are broken over lines, and the table goes on below; no figure is left out."""
    name = "easy:backfill=sjf,predictor=last,order=slowdown"
    rows = [row("easy", EASY), row(name, PRB, EASY, interval, clear=False)]
    text = shown(*rows, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert text.count("×") == 7
    for value in ("30 min", "4 d", "5.00", "79.0 %"):
        assert value in text
    assert ("0.85-1.15" in text) is (interval is not None)


def test_what_is_not_clear_is_marked_and_the_interval_shown():
    sure = row("greedy", PRB, EASY, (0.4, 0.6), True, repetitions=5)
    unsure = row("fifo", FIFO, EASY, (0.9, 1.2), False, repetitions=5)
    text = shown(row("easy", EASY, repetitions=5), sure, unsure, width=200)
    assert "means of 5 repetitions" in text
    assert "with its 95 % interval; ~: not significant" in text
    *_, prb, _, fifo, ends = text.splitlines()
    assert "~" not in prb
    assert fifo.count("~") == ends.count("0.90-1.20") == 6


def test_nothing_is_best_or_worst_without_a_verdict():
    """Not by a ratio without an interval, nor by one whose interval holds no difference."""
    some = (("greedy", PRB), ("fifo", FIFO))
    for interval in (None, (0.9, 1.2)):
        rows = [row(*one, EASY, interval, clear=False) for one in some]
        lines = shown(row("easy", EASY), *rows).splitlines()
        assert "one run each (repeat to confirm a difference)" in lines[0]
        assert "~: not significant" in " ".join(lines[:3])
        table = "\n".join(lines[3:])
        assert not set("*!") & set(table)
        assert table.count("~") == 12
        assert {one.sure for line in rows for one in line.figures} == {""}


def test_the_baseline_is_best_only_if_all_others_are_worse():
    one, other = row("a", FIFO, EASY, clear=True), row("b", FIFO, EASY, clear=True)
    assert "20.00*" in shown(row("easy", EASY), one, other).splitlines()[-3]
    unsure = row("b", FIFO, EASY, clear=False)
    assert "20.00*" not in shown(row("easy", EASY), one, unsure)


def test_what_looks_the_same_is_marked_the_same():
    text = shown(row("easy", EASY), row("same", (50_001.0, *EASY[1:]), EASY))
    assert "*" not in text


def test_who_knows_the_runtimes_is_not_crowned():
    knowing = row("easy", PRB, EASY, predictor="actual", knows_runtimes=True)
    text = shown(row("easy", EASY), row("fifo", FIFO, EASY), knowing)
    assert text.splitlines()[-1].count("*") == 0
    assert "runtime estimate" in text.splitlines()[-5]


def test_who_loses_jobs_is_not_the_best():
    killing = row("cap", PRB, EASY, fates=("50.0 % of the jobs are killed instead of 0.0 %",))
    text = shown(row("easy", EASY), killing, row("fifo", FIFO, EASY, clear=True))
    assert "not ranked: cap, 50.0 % of the jobs are killed instead of 0.0 %" in text
    *_, easy, cap, _ = text.splitlines()
    assert "1 h* " in easy
    assert "*" not in cap
