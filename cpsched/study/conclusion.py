"""What a study came to, in one sentence for each workload and system: gain and cost."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING

from cpsched.words import duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.study.tables import Cell, Tables


def conclusions(tables: Tables) -> list[str]:
    """
    Return a sentence for each workload and system with a baseline and something to compare.

    It names the run with the shortest mean wait, and what became of the longest wait, because a
    dispatcher can buy a good mean by letting a few jobs wait very long. Means over repetitions.
    """
    baseline = tables.results.baseline
    found = []
    for (workload, system), group in groupby(
        tables.summary.rows(), key=lambda row: (row["workload"], row["system"])
    ):
        rows = [row for row in group if row["wait_mean_s"] is not None]
        of_baseline = [
            row
            for row in rows
            if all(name in (None, row[key]) for key, name in asdict(baseline).items())
        ]
        if of_baseline and len(rows) > 1:
            best = min(rows, key=lambda row: _seconds(row, "mean"))
            found.append(f"{workload} on {system}: {_sentence(of_baseline[0], best)}")
    return found


def _sentence(base: Mapping[str, Cell], best: Mapping[str, Cell]) -> str:
    mean, longest = _seconds(base, "mean"), _seconds(base, "max")
    start = f"with {_name(base)}, jobs waited {_time(mean)} on average and at most {_time(longest)}"
    if _seconds(best, "mean") >= mean:
        return f"{start}; no other dispatcher or predictor had a shorter mean wait."
    gained, cost = _seconds(best, "mean"), _seconds(best, "max")
    return (
        f"{start}; with {_name(best)}, {_time(gained)} on average ({_change(mean, gained)}) and"
        f" at most {_time(cost)} ({_change(longest, cost)})."
    )


def _name(row: Mapping[str, Cell]) -> str:
    return f"{row['dispatcher']} and {row['predictor']}"


def _seconds(row: Mapping[str, Cell], statistic: str) -> float:
    value = row[f"wait_{statistic}_s"]
    assert isinstance(value, int | float), "there are jobs, so there are waits"
    return float(value)


def _time(seconds: float) -> str:
    """Return a time span with a unit, also where it is none at all."""
    return duration(seconds) if seconds else "0 s"


def _change(before: float, after: float) -> str:
    """Return by how much something became shorter or longer."""
    if before == after:
        return "the same"
    if not before:
        return "it was 0"
    share = 100 * abs(after / before - 1)
    much = f"{share:.0f} %" if share >= 1 else "less than 1 %"
    return f"{much} {'shorter' if after < before else 'longer'}"
