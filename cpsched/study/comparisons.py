"""Every metric of every run against the baseline's: one row for each, with its interval."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.metrics.definitions import ALL, metric
from cpsched.study.results import LABELS, mean
from cpsched.study.verdicts import LOWER, ONE_RUN, RESOLUTION, Compared, is_clear, is_of_log

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cpsched.metrics.definitions import Group, Metric, Value
    from cpsched.study.paired import Sums
    from cpsched.study.results import RunKey, RunResult
    from cpsched.study.study import Baseline
    from cpsched.study.verdicts import Ends

Pairs = list[tuple["RunResult", "RunResult"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """
    A row of the results table: a metric of a run, over all jobs or a group of them.

    Attributes
    ----------
    run
        Labels of workload, system, dispatcher and predictor.
    allocator
        The dispatcher's allocator; None if it places jobs itself.
    group
        Kind and name of the jobs: ``("length", "short")``.
    metric
        Name, see :mod:`cpsched.metrics.definitions`.
    value
        The mean over the repetitions; None where nothing was measured.
    repetitions
        Number of runs.
    baseline
        The run that it is compared with; None where there is none.
    compared
        The comparison with it.
    pairs
        Number of repetitions that both have, each different from the others.
    """

    run: RunKey
    allocator: str | None
    group: Group
    metric: str
    value: Value
    repetitions: int
    baseline: RunKey | None = None
    compared: Compared | None = None
    pairs: int = 0

    @property
    def definition(self) -> Metric:
        """The metric."""
        return metric(self.metric)

    @property
    def text(self) -> str:
        """The value for people."""
        return self.definition.text(self.value)

    @property
    def base_value(self) -> float | None:
        """The baseline's value."""
        return None if self.compared is None else self.compared.base

    @property
    def difference(self) -> float | None:
        """The value less the baseline's, over the pairs."""
        return None if self.compared is None else self.compared.value - self.compared.base

    @property
    def ratio(self) -> float | None:
        """The value over the baseline's; None where it is not defined; 1 where both are 0."""
        if self.compared is None:
            return None
        if self.compared.ratio is not None:
            return self.compared.ratio.mean
        return 1.0 if self.compared.value == self.compared.base == 0 else None

    @property
    def interval(self) -> Ends | None:
        """The 95 % interval of the ratio, see :func:`~cpsched.study.verdicts.shown`."""
        return None if self.compared is None else self.compared.ratio_interval

    @property
    def difference_interval(self) -> Ends | None:
        """The 95 % interval of the difference."""
        return None if self.compared is None else self.compared.span

    @property
    def verdict(self) -> str:
        """See :attr:`cpsched.study.verdicts.Compared.verdict`; empty without a baseline."""
        return "" if self.compared is None else self.compared.verdict

    @property
    def is_significant(self) -> bool:
        """Whether the verdict is lower or higher, for this log at least."""
        return is_clear(self.verdict)

    @property
    def effect(self) -> str:
        """``better`` or ``worse`` than the baseline by the verdict, else empty."""
        better = self.definition.better
        if not self.is_significant or better is None:
            return ""
        return "better" if self.verdict.startswith(better.value) else "worse"

    @property
    def days(self) -> int | None:
        """Number of days that the interval is over; None where it is of the repetitions alone."""
        daily = None if self.compared is None else self.compared.daily_difference
        return None if daily is None else daily.number

    @property
    def is_of_log(self) -> bool:
        """Whether only the repetitions confirm the verdict: the interval is theirs alone."""
        return is_of_log(self.verdict)

    def as_row(self) -> dict[str, Any]:
        """Return it as a row of a file: plain values by column."""
        low, high = self.interval or (None, None)
        difference_low, difference_high = self.difference_interval or (None, None)
        base = self.baseline or (None,) * len(LABELS)
        return {
            **dict(zip(LABELS, self.run, strict=True)),
            "allocator": self.allocator,
            "jobs": self.group[0] if self.group == ALL else " ".join(self.group),
            "metric": self.metric,
            "unit": self.definition.unit,
            "value": self.value,
            "repetitions": self.repetitions,
            **{f"base_{label}": text for label, text in zip(LABELS, base, strict=True)},
            "base_value": self.base_value,
            "difference": self.difference,
            "difference_low": difference_low,
            "difference_high": difference_high,
            "ratio": self.ratio,
            "ratio_low": low,
            "ratio_high": high,
            "pairs": self.pairs or None,
            "days": self.days,
            "verdict": self.verdict or None,
        }


def with_baselines(
    repeated: Sequence[list[RunResult]], baseline: Baseline
) -> Iterator[tuple[list[RunResult], Pairs]]:
    """
    Yield each group of repetitions with its pairs of a run and the baseline's, of the same seed.

    Groups without a baseline (its runs failed, or the workload has no such predictor), and the
    baseline itself, have no pairs. Seeds that change nothing on either side are one pair: a
    repeated run is not a second measurement.
    """
    by_labels = {tuple(of[0].labels.values()): of for of in repeated}
    named = {key: label for key, label in asdict(baseline).items() if label}
    for of in repeated:
        base = by_labels.get(tuple((of[0].labels | named).values()))
        yield of, [] if base is None or base is of else _pairs(of, base)


def results_of(repeated: Sequence[list[RunResult]], baseline: Baseline) -> Iterator[Result]:
    """Yield a row for each group of repetitions, group of jobs and metric."""
    for of, pairs in with_baselines(repeated, baseline):
        for group in dict.fromkeys(group for run in of for group in run.metrics):
            names = (name for run in of for name in run.metrics.get(group, ()))
            for name in dict.fromkeys(names):
                yield _result(of, pairs, group, name)


def is_lower(of: Sequence[RunResult], base: Sequence[RunResult], name: str) -> bool:
    """
    Whether a metric of one group of repetitions is lower than that of another, by its verdict.

    Days that do not confirm what the repetitions say make it none. One run each has no verdict:
    their values are compared, which says something of these runs alone.
    """
    _, compared = _compared(_pairs(of, base), ALL, name)
    if compared is None:
        return False
    verdict = compared.verdict
    if verdict == ONE_RUN:
        return compared.value < compared.base
    confirmed = compared.daily_difference is None or not is_of_log(verdict)
    return verdict.startswith(LOWER) and confirmed


def mean_of(values: Sequence[Value]) -> Value:
    """Return the common value of all repetitions, or their mean. None if nothing was measured."""
    known = {value for value in values if value is not None}
    return known.pop() if len(known) == 1 else mean(values)


def _result(of: Sequence[RunResult], pairs: Pairs, group: Group, name: str) -> Result:
    values = [run.metrics[group].get(name) for run in of if group in run.metrics]
    number, compared = _compared(pairs, group, name)
    return Result(
        run=of[0].key,
        allocator=of[0].allocator,
        group=group,
        metric=name,
        value=mean_of(values),
        repetitions=len(of),
        baseline=pairs[0][1].key if pairs else None,
        compared=compared,
        pairs=number,
    )


def _pairs(of: Sequence[RunResult], base: Sequence[RunResult]) -> Pairs:
    """Return the runs of the common seeds; equal pairs once."""
    base_runs = {run.seed: run for run in base}
    pairs: Pairs = []
    for run in sorted(of, key=lambda run: run.seed):
        other = base_runs.get(run.seed)
        if other is not None and not any(
            run.metrics == run_twin.metrics and other.metrics == base_twin.metrics
            for run_twin, base_twin in pairs
        ):
            pairs.append((run, other))
    return pairs


def _compared(pairs: Pairs, group: Group, name: str) -> tuple[int, Compared | None]:
    """Return the comparison of a metric of a group of jobs, and of how many pairs it is."""
    both = [
        (pair, values)
        for pair in pairs
        if None not in (values := [run.metrics.get(group, {}).get(name) for run in pair])
    ]
    if not both:
        return 0, None
    ours, theirs = np.array([values for _, values in both], dtype=np.float64).T.tolist()
    resolution = RESOLUTION if metric(name).unit == "s" else 0
    daily = _days([pair for pair, _ in both], group, name)
    return len(both), Compared.of(ours, theirs, daily, resolution=resolution)


def _days(pairs: Pairs, group: Group, name: str) -> tuple[Sums, Sums] | None:
    """Return the sums by day of a mean over jobs, of all repetitions of both; None of others."""
    if (group, name) not in pairs[0][0].days:
        return None
    ours, theirs = (
        reduce(add, (run.days[group, name] for run in runs)) for runs in zip(*pairs, strict=True)
    )
    return ours, theirs
