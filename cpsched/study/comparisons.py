"""Every figure against the baseline's: differences and ratios, with intervals."""

from __future__ import annotations

import math
from dataclasses import asdict
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

from cpsched.metrics.groups import SIZES
from cpsched.study import paired
from cpsched.study.paired import Estimate, difference, ratio
from cpsched.study.results import AREA, GROUPS, MEASURED, MEASURES, column

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cpsched.study.results import Figure, RunResult
    from cpsched.study.study import Baseline

#: Columns of means over jobs, which the bootstrap is for: measure and group by them.
_MEANS = {column(name, "mean", unit): key for key, (name, unit) in MEASURES.items()}
_MEANS[AREA] = AREA
EQUAL, LOWER, HIGHER = "equal", "lower", "higher"
#: Added if no interval over the weeks of the log was computed.
SEEDS_ONLY = " (seeds)"
#: Verdicts without a difference.
_NO_DIFFERENCE = {"difference": 0, "ratio": 1, "week_difference": 0, "week_ratio": 1}
UNCLEAR, UNKNOWN = "unclear", "no interval"
#: Of a row.
COLUMNS = (
    *("workload", "system", "dispatcher", "predictor", "allocator"),
    *("base_workload", "base_system", "base_dispatcher", "base_predictor", "base_allocator"),
    *("class", "figure", "value", "base_value", "pairs"),
    *("difference", "difference_low", "difference_high", "ratio", "ratio_low", "ratio_high"),
    *("weeks", "week_difference_low", "week_difference_high", "week_ratio_low", "week_ratio_high"),
    "verdict",
)


def comparisons(repeated: Sequence[list[RunResult]], baseline: Baseline) -> list[dict[str, Any]]:
    """
    Return a row for each figure of each group of repetitions and its baseline.

    Groups without a baseline (its runs failed, or the workload has no such predictor), and the
    baseline itself, have no rows. Pairs are the seeds that both have the figure in. Seeds that
    change nothing on either side count as one pair: a repeated run is not a second measurement.
    """
    by_labels = {tuple(of[0].labels.values()): of for of in repeated}
    rows: list[dict[str, Any]] = []
    for of in repeated:
        wanted = of[0].labels | {key: one for key, one in asdict(baseline).items() if one}
        base = by_labels.get(tuple(wanted.values()))
        if base is not None and base is not of:
            rows.extend(_against(of, base))
    return rows


def base_name(row: Mapping[str, Any]) -> str:
    """Return what a row is compared with, with its workload and system if they differ."""
    name = f"{row['base_dispatcher']} {row['base_predictor']}"
    for key in ("workload", "system"):
        if row[f"base_{key}"] != row[key]:
            name += f" on {row[f'base_{key}']}"
    return name


def is_lower(of: Sequence[RunResult], base: Sequence[RunResult], figure: str) -> bool:
    """
    Whether a figure of one group of repetitions is certainly lower than that of another.

    Every interval must say so; without intervals, as with one run each, the figures are compared.
    """
    row = _row(pairs(of, base), "all", figure)
    if row is None:
        return False
    said = row["verdict"]
    return bool(row["value"] < row["base_value"] if said == UNKNOWN else said.startswith(LOWER))


def _against(of: Sequence[RunResult], base: Sequence[RunResult]) -> Iterator[dict[str, Any]]:
    both = pairs(of, base)
    if not both:
        return
    first, other = both[0]
    names = {
        **first.labels,
        "allocator": first.allocator,
        "base_workload": other.workload,
        "base_system": other.system,
        "base_dispatcher": other.dispatcher,
        "base_predictor": other.predictor,
        "base_allocator": other.allocator,
    }
    for group in GROUPS:
        for name in _figures(first, group):
            row = None if name == "jobs" else _row(both, group, name)
            if row is not None:
                yield {**names, "class": group, "figure": name, **row}


def _row(
    runs: Sequence[tuple[RunResult, RunResult]], group: str, name: str
) -> dict[str, Any] | None:
    """Return the comparison of a figure of a group of jobs; None without a pair."""
    both = [pair for pair in runs if all(_value(run, group, name) is not None for run in pair)]
    if not both:
        return None
    ours, theirs = zip(*both, strict=True)
    values, bases = ([_value(run, group, name) for run in runs] for runs in (ours, theirs))
    row = {
        **_compared(values, bases),  # type: ignore[arg-type]
        **_by_week(ours, theirs, group, name),
    }
    return {**row, "verdict": verdict(row)}


def pairs(of: Sequence[RunResult], base: Sequence[RunResult]) -> list[tuple[RunResult, RunResult]]:
    """Return the runs of the common seeds; equal pairs once."""
    theirs = {run.seed: run for run in base}
    found: list[tuple[RunResult, RunResult]] = []
    for run in sorted(of, key=lambda run: run.seed):
        other = theirs.get(run.seed)
        if other is not None and not any(
            _is_same(run, one) and _is_same(other, two) for one, two in found
        ):
            found.append((run, other))
    return found


def _is_same(run: RunResult, other: RunResult) -> bool:
    return run.figures == other.figures and run.by_class == other.by_class


def _value(run: RunResult, group: str, name: str) -> Figure:
    return _figures(run, group).get(name)


def _figures(run: RunResult, group: str) -> Mapping[str, Figure]:
    """Return the figures of a group of jobs: all, those of a length, or those of a size."""
    if group == "all":
        return run.figures
    return (run.by_class if group in MEASURED else run.by_size).get(group, {})


def _compared(values: Sequence[float], bases: Sequence[float]) -> dict[str, Any]:
    pairs = len(values)
    return {
        "value": math.fsum(values) / pairs,
        "base_value": math.fsum(bases) / pairs,
        "pairs": pairs,
        **_shown("difference", difference(values, bases)),
        **_shown("ratio", ratio(values, bases)),
    }


def _by_week(
    ours: Sequence[RunResult], theirs: Sequence[RunResult], group: str, name: str
) -> dict[str, Any]:
    """Return the bootstrap intervals of a mean over jobs, over all repetitions together."""
    key = _MEANS.get(name)
    found: tuple[Estimate | None, Estimate | None] = (None, None)
    if key is not None and group not in SIZES:
        found = paired.intervals(
            *(reduce(add, (run.weeks[key, group] for run in runs)) for runs in (ours, theirs))
        )
    number = next((one.number for one in found if one is not None), None)
    return {
        "weeks": number,
        **_shown("week_difference", found[0], mean=False),
        **_shown("week_ratio", found[1], mean=False),
    }


def _shown(name: str, estimate: Estimate | None, *, mean: bool = True) -> dict[str, Any]:
    middle = {name: estimate.mean if estimate else None} if mean else {}
    return {
        **middle,
        f"{name}_low": estimate.low if estimate else None,
        f"{name}_high": estimate.high if estimate else None,
    }


def verdict(row: dict[str, Any]) -> str:
    """
    Return the verdict of a comparison: ``lower``, ``higher``, ``equal``, ``unclear``, ``no
    interval``.

    Lower or higher only if every interval excludes no difference; ``(seeds)``: none over weeks.
    """
    bounds = [
        (row[f"{name}_low"] - none, row[f"{name}_high"] - none)
        for name, none in _NO_DIFFERENCE.items()
        if row[f"{name}_low"] is not None
    ]
    if row["value"] == row["base_value"] and all(low == high == 0 for low, high in bounds):
        return EQUAL
    if not bounds:
        return UNKNOWN
    asked = "" if row["week_difference_low"] is not None else SEEDS_ONLY
    if all(high < 0 for _, high in bounds):
        return LOWER + asked
    return HIGHER + asked if all(low > 0 for low, _ in bounds) else UNCLEAR
