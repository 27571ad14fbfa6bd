"""
Who is how good over the logs of a track: ratios, ranks, and how sure they are.

The *triple* of a run is area-weighted response, p99.9 of the waits and mean bounded slowdown, each
as its ratio to the baseline's of the same seed (of waits, both plus a minute), and their geometric
mean. On each log the dispatchers are ranked by the geometric mean over the seeds; the order is
that of the mean rank over the logs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats  # type: ignore[import-untyped]

from cpsched.study.paired import LEVEL, over_logs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.study.paired import Estimate
    from cpsched.study.results import RunResult
    from cpsched.util.types import FloatArray

#: Columns of a run, and what is added to both sides of a ratio.
TRIPLE = {"response_by_area_s": 0.0, "wait_p99.9_s": 60.0, "bounded_slowdown_mean": 0.0}
LONGEST = "wait_max_s"
SCORE = "triple"
_ADDED = {**TRIPLE, LONGEST: 60.0}
#: Entries of Friedman's test, and logs with fewer of which nobody is ranked first.
_FEWEST_TESTED, FEWEST_RANKED = 3, 6
#: Outcomes of jobs that are lost. A few are where users cancel jobs at their time in the log.
_LOST = (
    (("killed", "cancelled"), "are killed or cancelled"),
    (("rejected", "never_started", "not_ended"), "never run"),
)
_TOLERATED = 0.005
_RESAMPLES, _SEED = 2000, 0

Configuration = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryScores:
    """
    A dispatcher with a predictor, over the logs of a track.

    Attributes
    ----------
    who
        Labels of dispatcher and predictor.
    ratios
        By figure: its geometric mean over the logs of the ratios to the baseline.
    rank
        Mean rank over the logs by the triple, 1 for the best; with an interval over logs and seeds.
    ranks
        On each log.
    behind
        Its triple over that of the best, over the logs.
    is_level
        Whether it is not clearly behind the best.
    cpu_ms
        CPU milliseconds for a decision, the median over the logs of the means over the seeds.
    lost
        Logs on which clearly more of its jobs than of the baseline's are killed, cancelled or never
        run, with what is said of them: such an entry is not ranked.
    oracle
        Whether it knows the runtimes.
    """

    who: Configuration
    ratios: Mapping[str, Estimate]
    rank: float | None
    interval: tuple[float, float] | None
    ranks: tuple[float, ...]
    behind: Estimate | None
    is_level: bool
    cpu_ms: float
    lost: Mapping[str, str]
    oracle: bool


class Scores:
    """
    The runs of a track, compared.

    Parameters
    ----------
    runs
        Every entry has one for each log and seed of the baseline.
    baseline
        Labels of its dispatcher and predictor.

    Attributes
    ----------
    logs, seeds, entries
        Names, seeds, and labels of dispatcher and predictor, the baseline first.
    incomplete
        Entries that lack runs, and are left out.
    """

    def __init__(self, runs: Sequence[RunResult], baseline: Configuration) -> None:
        self.logs = list(dict.fromkeys(run.workload for run in runs))
        self.seeds = sorted({run.seed for run in runs})
        self._runs = {(run.configuration, run.workload, run.seed): run for run in runs}
        every = [
            baseline,
            *dict.fromkeys(run.configuration for run in runs if run.configuration != baseline),
        ]
        self.entries = [
            configuration for configuration in every if self._is_complete(configuration)
        ]
        self.incomplete = [
            configuration for configuration in every if configuration not in self.entries
        ]

    def _is_complete(self, configuration: Configuration) -> bool:
        return all(
            (configuration, log, seed) in self._runs for log in self.logs for seed in self.seeds
        )

    def _of(self, column: str) -> FloatArray:
        """Return a figure, shape ``(entries, logs, seeds)``."""
        return np.array(
            [
                [
                    [
                        float(self._runs[configuration, log, seed].values[column] or 0)
                        for seed in self.seeds
                    ]
                    for log in self.logs
                ]
                for configuration in self.entries
            ]
        )

    @cached_property
    def logarithms(self) -> Mapping[str, FloatArray]:
        """Of the ratios to the baseline, by figure; shape ``(entries, logs, seeds)``."""
        logarithms = {}
        for column, added in _ADDED.items():
            values = self._of(column) + added
            logarithms[column] = np.log(values / values[:1])
        logarithms[SCORE] = np.mean([logarithms[column] for column in TRIPLE], axis=0)
        return logarithms

    def on_each(self, figure: str = SCORE) -> FloatArray:
        """Return ratios to the baseline, geometric means over seeds; shape ``(entries, logs)``."""
        return np.asarray(np.exp(self.logarithms[figure].mean(axis=2)))

    @cached_property
    def ranked(self) -> list[bool]:
        """Whether each entry is ranked: it loses no jobs, and is no oracle beside others."""
        baseline_is_oracle = self._oracle(self.entries[0])
        return [
            not self._lost_jobs(configuration) and self._oracle(configuration) == baseline_is_oracle
            for configuration in self.entries
        ]

    def _lost_jobs(self, configuration: Configuration) -> dict[str, str]:
        """Return by log what is said of jobs that it loses and the baseline does not."""
        by_log = {}
        for log in self.logs:
            ours, theirs = (
                self._counts(labels, log) for labels in (configuration, self.entries[0])
            )
            jobs = max(theirs["simulated"] + theirs["rejected"], 1)
            shares = [
                f"{100 * now:.1f} % of the jobs {what} instead of {100 * then:.1f} %"
                for outcomes, what in _LOST
                for now, then in [
                    [
                        sum(counts.get(outcome, 0) for outcome in outcomes) / jobs
                        for counts in (ours, theirs)
                    ]
                ]
                if now - then >= _TOLERATED
            ]
            if shares:
                by_log[log] = "; ".join(shares)
        return by_log

    def _oracle(self, configuration: Configuration) -> bool:
        """Whether it knows the runtimes."""
        return any(
            self._runs[configuration, log, self.seeds[0]].knows_runtimes for log in self.logs
        )

    def _counts(self, configuration: Configuration, log: str) -> dict[str, float]:
        """Return the mean over the seeds of how many jobs have each outcome."""
        runs = [self._runs[configuration, log, seed].values for seed in self.seeds]
        names = ["simulated", *(name for outcomes, _ in _LOST for name in outcomes)]
        return {name: sum(run[name] or 0 for run in runs) / len(runs) for name in names}

    def table(self) -> list[EntryScores]:
        """Return the entries, the best first; those not ranked last."""
        ranked = np.flatnonzero(self.ranked)
        scores = self.logarithms[SCORE][ranked]
        ranks = _ranks(scores.mean(axis=2))
        low, high = _intervals(scores)
        mean = ranks.mean(axis=1)
        best = int(mean.argmin())
        by_entry = {int(entry): at for at, entry in enumerate(ranked)}
        entries = []
        for entry, configuration in enumerate(self.entries):
            at = by_entry.get(entry)
            behind = None
            if at is not None and at != best:
                ours, theirs = (self.on_each()[int(ranked[at_entry])] for at_entry in (at, best))
                behind = _over_logs(ours / theirs)
            entries.append(
                EntryScores(
                    who=configuration,
                    ratios={
                        name: _over_logs(self.on_each(name)[entry]) for name in self.logarithms
                    },
                    rank=None if at is None else float(mean[at]),
                    interval=None
                    if at is None or len(self.logs) < FEWEST_RANKED
                    else (float(low[at]), float(high[at])),
                    ranks=() if at is None else tuple(ranks[at].tolist()),
                    behind=behind,
                    is_level=at is not None
                    and len(self.logs) >= FEWEST_RANKED
                    and (behind is None or behind.low is None or behind.low <= 1),
                    cpu_ms=self._cpu(configuration),
                    lost=self._lost_jobs(configuration),
                    oracle=self._oracle(configuration),
                )
            )
        return sorted(
            entries, key=lambda entry_scores: (entry_scores.rank is None, entry_scores.rank or 0)
        )

    def _cpu(self, configuration: Configuration) -> float:
        """Return CPU milliseconds for a decision."""
        each = []
        for log in self.logs:
            runs = [self._runs[configuration, log, seed] for seed in self.seeds]
            each.append(np.mean([_per_decision(run) for run in runs]))
        return float(np.median(each))

    @cached_property
    def friedman(self) -> float | None:
        """The p-value of Friedman's test that all are alike; None if they are, or are too few."""
        ranked = np.flatnonzero(self.ranked)
        if len(ranked) < _FEWEST_TESTED or len(self.logs) < FEWEST_RANKED:
            return None
        each = self.logarithms[SCORE][ranked].mean(axis=2).round(9)
        if not np.ptp(each, axis=0).any():
            return None
        return float(stats.friedmanchisquare(*each).pvalue)


def _per_decision(run: RunResult) -> float:
    return 1000 * run.timing["loop_cpu_s"] / max(run.decisions["decisions"], 1)


def _over_logs(ratios: FloatArray) -> Estimate:
    """Return the geometric mean, with Student's interval of the logarithms: a log counts once."""
    mean = over_logs(ratios.tolist())
    assert mean is not None
    return mean


def _ranks(scores: FloatArray) -> FloatArray:
    """Return the rank of each entry on each log, equals sharing the mean of theirs."""
    return np.asarray(stats.rankdata(np.round(scores, 9), axis=0))


def _intervals(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """
    Return 95 % intervals of the mean ranks by a paired bootstrap: logs, and in each its seeds.

    All entries of a resample have the same logs and seeds.
    """
    rng = np.random.default_rng(_SEED)
    _, logs, seeds = scores.shape
    means = np.empty((_RESAMPLES, len(scores)))
    for at in range(_RESAMPLES):
        chosen = rng.integers(0, logs, logs)
        drawn = rng.integers(0, seeds, (logs, seeds))
        means[at] = _ranks(
            np.take_along_axis(scores[:, chosen], drawn[None], axis=2).mean(axis=2)
        ).mean(axis=1)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    return low, high
