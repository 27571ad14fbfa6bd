"""Every figure against the baseline's: differences and ratios, with intervals."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.metrics.groups import SIZES
from cpsched.study.measures import MEASURED
from cpsched.study.results import LABELS
from cpsched.study.verdicts import LOWER, ONE_RUN, RESOLUTION, Compared, is_clear, is_of_log, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cpsched.study.measures import Figure
    from cpsched.study.paired import Sums
    from cpsched.study.results import RunKey, RunResult
    from cpsched.study.study import Baseline
    from cpsched.study.verdicts import Ends

Pairs = list[tuple["RunResult", "RunResult"]]
#: Columns of text of a row, which say what is compared with what.
NAMES = (
    *(*LABELS, "allocator", *(f"base_{name}" for name in LABELS), "base_allocator"),
    *("class", "figure"),
)
#: Of a row.
COLUMNS = (
    *(*NAMES, "value", "base_value", "pairs"),
    *("difference", "difference_low", "difference_high", "ratio", "ratio_low", "ratio_high"),
    *("days", "daily_difference_low", "daily_difference_high"),
    *("daily_ratio_low", "daily_ratio_high"),
    "verdict",
)


def with_baselines(
    repeated: Sequence[list[RunResult]], baseline: Baseline
) -> Iterator[tuple[list[RunResult], Pairs]]:
    """
    Yield each group of repetitions with its pairs of a run and the baseline's, of the same seed.

    Groups without a baseline (its runs failed, or the workload has no such predictor), and the
    baseline itself, are left out. Seeds that change nothing on either side are one pair: a repeated
    run is not a second measurement.
    """
    by_labels = {tuple(of[0].labels.values()): of for of in repeated}
    named = {key: label for key, label in asdict(baseline).items() if label}
    for of in repeated:
        base = by_labels.get(tuple((of[0].labels | named).values()))
        if base is not None and base is not of:
            yield of, _pairs(of, base)


def comparisons(repeated: Sequence[list[RunResult]], baseline: Baseline) -> list[dict[str, Any]]:
    """
    Return a row for each figure of each group of repetitions and its baseline.

    Pairs are the seeds that both have the figure in.
    """
    return [
        {**_names(*pairs[0]), "class": group, "figure": name, **row}
        for _, pairs in with_baselines(repeated, baseline)
        if pairs
        for group in ("all", *MEASURED, *SIZES)
        for name in _figures(pairs[0][0], group)
        if name != "jobs" and (row := _row(pairs, group, name)) is not None
    ]


def is_lower(of: Sequence[RunResult], base: Sequence[RunResult], figure: str) -> bool:
    """
    Whether a figure of one group of repetitions is lower than that of another, by its verdict.

    Days that do not confirm what the repetitions say make it none. One run each has no verdict:
    their figures are compared, which says something of these runs alone.
    """
    row = _row(_pairs(of, base), "all", figure)
    if row is None:
        return False
    verdict = row["verdict"]
    if verdict == ONE_RUN:
        return bool(row["value"] < row["base_value"])
    confirmed = row["days"] is None or not is_of_log(verdict)
    return bool(verdict.startswith(LOWER) and confirmed)


def _names(run: RunResult, base: RunResult) -> dict[str, str | None]:
    return {
        **run.labels,
        "allocator": run.allocator,
        **{f"base_{key}": label for key, label in base.labels.items()},
        "base_allocator": base.allocator,
    }


def _pairs(of: Sequence[RunResult], base: Sequence[RunResult]) -> Pairs:
    """Return the runs of the common seeds; equal pairs once."""
    theirs = {run.seed: run for run in base}
    pairs: Pairs = []
    for run in sorted(of, key=lambda run: run.seed):
        other = theirs.get(run.seed)
        if other is not None and not any(
            run.groups == run_twin.groups and other.groups == base_twin.groups
            for run_twin, base_twin in pairs
        ):
            pairs.append((run, other))
    return pairs


def _figures(run: RunResult, group: str) -> Mapping[str, Figure]:
    """Return the figures of a group of jobs: all, those of a length, or those of a size."""
    return run.groups.get(group) or run.sizes.get(group, {})


def _row(pairs: Pairs, group: str, name: str) -> dict[str, Any] | None:
    """Return the comparison of a figure of a group of jobs; None without a pair."""
    both = [
        (pair, figures)
        for pair in pairs
        if None not in (figures := [_figures(run, group).get(name) for run in pair])
    ]
    if not both:
        return None
    values, bases = np.array([figures for _, figures in both], dtype=np.float64).T.tolist()
    resolution = RESOLUTION if name.endswith("_s") else 0
    daily = _days([pair for pair, _ in both], group, name)
    compared = Compared.of(values, bases, daily, resolution=resolution)
    estimates = {
        "difference": compared.difference,
        "ratio": compared.ratio,
        "daily_difference": compared.daily_difference,
        "daily_ratio": compared.daily_ratio,
    }
    days = compared.daily_difference
    row: dict[str, Any] = {
        "value": compared.value,
        "base_value": compared.base,
        "pairs": len(both),
        "days": None if days is None else days.number,
    }
    for key, estimate in estimates.items():
        if not key.startswith("daily"):
            row[key] = None if estimate is None else estimate.mean
        row |= {f"{key}_{end}": getattr(estimate, end, None) for end in ("low", "high")}
    return {**row, "verdict": compared.verdict}


def _days(pairs: Pairs, group: str, name: str) -> tuple[Sums, Sums] | None:
    """Return the sums by day of a mean over jobs, of all repetitions of both; None of others."""
    if (name, group) not in pairs[0][0].days:
        return None
    ours, theirs = (
        reduce(add, (run.days[name, group] for run in runs)) for runs in zip(*pairs, strict=True)
    )
    return ours, theirs


@dataclass(frozen=True, slots=True)
class MetricDifference:
    """
    A row of the table of differences, as tables and sentences for people read it.

    Attributes
    ----------
    row
        By column.
    """

    row: Mapping[str, Any]

    @property
    def key(self) -> RunKey:
        """Which run it is of."""
        return key_of(self.row)

    @property
    def base_key(self) -> RunKey:
        """Which run that is compared with."""
        return key_of(self.row, "base_")

    @property
    def figure(self) -> str:
        """The column of the figure."""
        return str(self.row["figure"])

    @property
    def value(self) -> float:
        """The figure, the mean over pairs."""
        return float(self.row["value"])

    @property
    def base_value(self) -> float:
        """The baseline's."""
        return float(self.row["base_value"])

    @property
    def ratio(self) -> float | None:
        """Of both; None where it is not defined."""
        ratio: float | None = self.row["ratio"]
        return ratio

    @property
    def interval(self) -> Ends | None:
        """The 95 % interval of the ratio, see :func:`~cpsched.study.verdicts.shown`."""
        return shown(self._ends("ratio"), self._ends("daily_ratio"), self.verdict)

    @property
    def is_of_repetitions(self) -> bool:
        """Whether that interval is over repetitions alone."""
        own, daily = self._ends("ratio"), self._ends("daily_ratio")
        return own is not None and (daily is None or is_of_log(self.verdict))

    def _ends(self, name: str) -> Ends | None:
        low, high = self.row[f"{name}_low"], self.row[f"{name}_high"]
        return None if low is None or high is None else (low, high)

    @property
    def verdict(self) -> str:
        """See :attr:`cpsched.study.verdicts.Compared.verdict`."""
        return str(self.row["verdict"])

    @property
    def is_clear(self) -> bool:
        """Whether it is lower or higher, for this log at least."""
        return is_clear(self.verdict)

    @property
    def base_name(self) -> str:
        """What it is compared with, with its workload and system if they differ."""
        dispatcher, predictor = self.base_key[2:]
        return f"{dispatcher} {predictor}{self.elsewhere}"

    @property
    def elsewhere(self) -> str:
        """The workload and the system of what it is compared with, where they differ."""
        names = ("workload", "system")
        return "".join(
            f" on {self.row[f'base_{name}']}"
            for name in names
            if self.row[f"base_{name}"] != self.row[name]
        )


def key_of(row: Mapping[str, Any], of: str = "") -> RunKey:
    """Return which run a row is of; with ``base_``, which one that is compared with."""
    workload, system, dispatcher, predictor = (str(row[f"{of}{name}"]) for name in LABELS)
    return workload, system, dispatcher, predictor
