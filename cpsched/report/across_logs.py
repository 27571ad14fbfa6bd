"""Dispatchers over several logs: the ratio to the baseline on each, and what holds over all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cpsched.metrics.definitions import metric
from cpsched.report.findings import (
    LONGEST,
    QUALITY,
    Change,
    Claim,
    Effect,
    base_name,
    change,
    headline,
    losses,
)
from cpsched.study.paired import over_logs
from cpsched.study.verdicts import LEAST, of_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.report.results_table import ResultsTable
    from cpsched.study.comparisons import Result
    from cpsched.study.paired import Estimate
    from cpsched.study.results import RunKey

WAIT = "wait_mean_s"
#: The metrics that are compared over logs, in the order of tables.
COMPARED = (QUALITY, WAIT, LONGEST)


@dataclass(frozen=True, kw_only=True, eq=False)
class AcrossLogs:
    """
    A dispatcher and predictor over several logs.

    Attributes
    ----------
    name
        The dispatcher, with its runtime estimate if there are several.
    runs
        By log: its run there; None if it has none. A log is named with its system if one is run on
        several systems.
    """

    table: ResultsTable
    name: str
    runs: dict[str, RunKey | None]

    def row(self, log: str, name: str) -> Result | None:
        """Return a metric on a log; None where it has no ratio to the baseline's."""
        run = self.runs[log]
        row = None if run is None else self.table.get(run, name)
        return None if row is None or row.ratio is None else row

    def ratios(self, name: str) -> list[float | None]:
        """Return the ratios to the baseline's on each log; None where there is none."""
        return [None if (row := self.row(log, name)) is None else row.ratio for log in self.runs]

    def mean(self, name: str, over: AcrossLogs | None = None) -> Estimate | None:
        """
        Return the geometric mean over the logs of the ratios to the baseline, with its interval.

        None if there is no ratio on some log. The interval is Student's t of the logarithms: each
        log counts once, however many jobs it has.

        Parameters
        ----------
        over
            Another dispatcher, whose ratios these are divided by; None: the baseline.
        """
        ours = self.ratios(name)
        theirs = [1.0] * len(ours) if over is None else over.ratios(name)
        return over_logs(
            [None if None in pair else pair[0] / pair[1] for pair in zip(ours, theirs, strict=True)]  # type: ignore[operator]
        )

    def worst(self, name: str) -> tuple[float | None, str]:
        """Return the highest ratio and its log; None where there is none."""
        known = [(ratio, log) for ratio, log in zip(self.ratios(name), self.runs, strict=True)
                 if ratio is not None]  # fmt: skip
        return max(known, default=(None, ""))

    @cached_property
    def knows_runtimes(self) -> bool:
        """Whether it knows the actual runtimes."""
        return any(run is not None and self.table.knows_runtimes(run) for run in self.runs.values())

    @property
    def change(self) -> Change | None:
        """Its change over all logs. None if a log has no ratio of it."""
        quality, longest = _effect(self, QUALITY), _effect(self, LONGEST)
        if quality is None:
            return None
        runs = {log: run for log, run in self.runs.items() if run is not None}
        bases = {log: self.table.baseline_of(run) for log, run in runs.items()}
        rows = {log: self.row(log, QUALITY) for log in runs}
        return Change(
            name=self.name,
            base=next(base_name(self.table, run) for run in runs.values()),
            main=quality,
            longest=longest,
            losses=tuple(
                f"On {log} {loss}"
                for log, base in bases.items()
                if base is not None
                for loss in losses(self.table, runs[log], base)
            ),
            worse=tuple(
                f"{log} ({change(row.ratio)})"
                for log, row in rows.items()
                if row and row.effect == "worse" and row.ratio and row.ratio >= 1 + LEAST
            ),
        )

    def as_data(self) -> dict[str, Any]:
        """Return it for programs: plain JSON types."""
        return {"name": self.name, **{name: self._metric_as_data(name) for name in COMPARED}}

    def _metric_as_data(self, name: str) -> dict[str, Any]:
        mean = self.mean(name)
        rows = {log: self.row(log, name) for log in self.runs}
        return {
            "ratio": {
                log: row and (row.ratio, row.interval, row.effect) for log, row in rows.items()
            },
            "geometric_mean": mean and [mean.mean, mean.low, mean.high],
            "mean_rank": self.mean_rank(name),
            "worst_log": self.worst(name)[1] or None,
        }

    def mean_rank(self, name: str) -> float | None:
        """Return its mean place among all on each log, 1 for the lowest; equals share places."""
        ranks = []
        for run in filter(None, self.runs.values()):
            case = self.table.repetitions[run][0].case
            rows = [self.table.get(key, name) for key in self.table.cases[case]]
            values = [row.value for row in rows if row is not None and row.value is not None]
            own = self.table.get(run, name)
            if own is not None and own.value is not None:
                lower = sum(value < own.value for value in values)
                ranks.append(lower + (values.count(own.value) + 1) / 2)
        return sum(ranks) / len(ranks) if ranks else None


def _effect(entry: AcrossLogs, name: str) -> Effect | None:
    """Return the mean effect over the logs; None where a log has no ratio."""
    mean = entry.mean(name)
    if mean is None:
        return None
    ends = None if mean.low is None or mean.high is None else (mean.low, mean.high)
    return Effect(metric(name).title, mean.mean, ends, of_mean(mean))


def across_logs(table: ResultsTable) -> list[AcrossLogs]:
    """Return the dispatchers of a study on several logs, without the baseline; else nothing."""
    if len(table.cases) < 2 or table.study.by_group:
        return []
    logs = {case: runs[0][0] for case, runs in table.cases.items()}
    if len(set(logs.values())) < len(logs):
        logs = {case: case for case in logs}
    keys = dict.fromkeys(run[2:] for runs in table.cases.values() for run in runs)
    entries = []
    for key in keys:
        by_log = {
            logs[case]: next((run for run in runs if run[2:] == key), None)
            for case, runs in table.cases.items()
        }
        known = [run for run in by_log.values() if run is not None and run not in table.baselines]
        if known:
            entries.append(AcrossLogs(table=table, name=table.name(known[0]), runs=by_log))
    return entries


def sentences(entries: list[AcrossLogs]) -> Iterator[str]:
    """Yield what may be said over all logs, the losses in the same sentence."""
    if not entries:
        return
    number = len(entries[0].runs)
    ranked = [entry for entry in entries if not entry.knows_runtimes] or entries
    changes = [(entry, known) for entry in ranked if (known := entry.change) is not None]
    if not changes:
        yield f"No run has a ratio to the baseline on each of the {number} logs."
        return
    best_entry, best = min(changes, key=lambda pair: pair[1].rank)
    yield f"Geometric mean over {number} logs: {headline(best, alone=len(changes) == 1)}"
    level = [
        f"{known.name} ({change(known.main.ratio)})"
        for entry, known in changes
        if entry is not best_entry and best.claim is known.claim is Claim.GAIN
        and not _is_lower(best_entry, entry)
    ]  # fmt: skip
    if level:
        yield f"No significant difference from {best.name}: {', '.join(level)}."


def _is_lower(entry: AcrossLogs, other: AcrossLogs) -> bool:
    """Whether one is certainly below another over the logs."""
    mean = entry.mean(QUALITY, over=other)
    return mean is not None and mean.high is not None and mean.high < 1
