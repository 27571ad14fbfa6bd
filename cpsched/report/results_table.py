"""The results of a study as one table: a row for each run and metric, with its comparison."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError
from cpsched.metrics.definitions import ALL, COMMON, METRICS, RANKED, metric
from cpsched.metrics.outcomes import EXCLUDED
from cpsched.study.comparisons import is_lower, mean_of, results_of
from cpsched.study.group_results import group_results
from cpsched.study.record import record
from cpsched.study.results import case_of, collect, mean
from cpsched.study.study import Baseline, as_label
from cpsched.util.arrow import data_frame, release_unused
from cpsched.util.spec import display_name
from cpsched.util.words import estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from cpsched.metrics.definitions import Group, Metric, Value
    from cpsched.model.schedule import Schedule
    from cpsched.model.workload import Workload
    from cpsched.study.comparisons import Result
    from cpsched.study.results import Results, RunKey, RunResult


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ResultsTable:
    """
    Metrics of the runs of a study, compared with the baseline.

    A run here is one combination of workload, system, dispatcher and predictor (``RunKey``), with
    all its repetitions. A case is a workload on a system.

    Attributes
    ----------
    study
        The finished runs of the study, and its baseline.
    rows
        A row for each run, group of jobs and metric.
    record
        Recorded waits of a baseline, and its simulated waits over all repetitions, by group of
        jobs (:mod:`cpsched.study.record`).
    """

    study: Results
    rows: tuple[Result, ...]
    record: tuple[dict[str, Any], ...]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.repetitions):,} runs: to_pandas()>"

    @cached_property
    def repetitions(self) -> dict[RunKey, list[RunResult]]:
        """
        The repetitions of each run: combination of workload, system, dispatcher and predictor.
        """
        return {of[0].key: of for of in _repeated(self.study.runs)}

    @cached_property
    def cases(self) -> dict[str, list[RunKey]]:
        """The runs of each case, by its name ``WORKLOAD on SYSTEM``."""
        cases: dict[str, list[RunKey]] = {}
        for key, of in self.repetitions.items():
            cases.setdefault(of[0].case, []).append(key)
        return cases

    @cached_property
    def _by_run(self) -> dict[RunKey, list[Result]]:
        by_run: dict[RunKey, list[Result]] = {run: [] for run in self.repetitions}
        for row in self.rows:
            by_run[row.run].append(row)
        return by_run

    @cached_property
    def _by_key(self) -> dict[tuple[RunKey, Group, str], Result]:
        return {(row.run, row.group, row.metric): row for row in self.rows}

    def get(self, run: RunKey, name: str, group: Group = ALL) -> Result | None:
        """
        Return the row of a metric for a run and a group of jobs. None if the run has no such
        metric.
        """
        return self._by_key.get((run, group, name))

    def values(self, run: RunKey) -> dict[str, Value]:
        """Return the metrics of a run over all jobs, by name."""
        return {row.metric: row.value for row in self._by_run[run] if row.group == ALL}

    def baseline_of(self, run: RunKey) -> RunKey | None:
        """Return the baseline run that a run is compared with. None for the baseline itself."""
        return next((row.baseline for row in self._by_run[run] if row.baseline), None)

    @cached_property
    def baselines(self) -> frozenset[RunKey]:
        """The runs that others are compared with."""
        return frozenset(row.baseline for row in self.rows if row.baseline is not None)

    def knows_runtimes(self, run: RunKey) -> bool:
        """
        Return whether the predictor of a run knows the actual runtimes, or was trained on them.
        """
        return self.repetitions[run][0].knows_runtimes

    def name(self, run: RunKey) -> str:
        """
        Return the name of a run in tables: its dispatcher, with more if necessary to distinguish
        it.
        """
        runs = self.cases[case_of(self.repetitions[run][0].labels)]
        if self.study.by_group or len({predictor for *_, predictor in runs}) == 1:
            return run[2]
        return f"{run[2]} with {estimate(run[3])}"

    def metrics(self, case: str, section: str, group: Group = ALL) -> list[Metric]:
        """Return the metrics of a section of tables for which a run of a case has a value."""
        order = [known.name for known in METRICS if known.section == section]
        names = {
            row.metric
            for run in self.cases[case]
            for row in self._by_run[run]
            if row.group == group and row.value is not None
        }
        listed = [known for name in names if (known := metric(name)).section == section]
        return sorted(listed, key=lambda known: (_position(known, order), known.name))

    def groups(self, case: str, kind: str) -> list[Group]:
        """
        Return the groups of jobs of a case, such as ``short``, ``medium`` and ``long`` by
        ``length``.
        """
        groups = (row.group for run in self.cases[case] for row in self._by_run[run])
        return [group for group in dict.fromkeys(groups) if group[0] == kind]

    def group_rows(self, run: RunKey) -> list[Result]:
        """Return the changes of waits in a run against the baseline, by group of jobs."""
        if run not in self._groups_read:
            rows = [row for row in self._by_run[run] if row.metric in COMMON]
            self._groups_read[run] = rows or list(self._groups_of([run]))
        return self._groups_read[run]

    @cached_property
    def _groups_read(self) -> dict[RunKey, list[Result]]:
        return {}

    def _groups_of(self, runs: Sequence[RunKey] | None) -> Iterator[Result]:
        study = self.study
        repeated = list(self.repetitions.values())
        yield from group_results(repeated, study.baseline, study.measure_from, runs)

    def is_lower(self, run: RunKey, other: RunKey, name: str) -> bool:
        """Return whether a metric is significantly lower in one run than in another."""
        return is_lower(self.repetitions[run], self.repetitions[other], name)

    def front(self, case: str) -> list[RunKey]:
        """
        Return the runs of a case on the Pareto front of the three ranking metrics.

        A run is off the front if another has means at least as low in all three, and a
        significantly lower one in one of them (:func:`~cpsched.study.comparisons.is_lower`).
        Differences that are not significant remove no run. Runs that know the actual runtimes have
        a front of their own, because no forecast can match them.
        """
        values = {run: [self._value(run, name) for name in RANKED] for run in self.cases[case]}
        complete = [run for run, of in values.items() if None not in of]

        def beats(run: RunKey, other: RunKey) -> bool:
            if run == other or self.knows_runtimes(run) != self.knows_runtimes(other):
                return False
            pairs = list(zip(values[run], values[other], strict=True))
            return all(ours <= theirs for ours, theirs in pairs) and any(  # type: ignore[operator]
                ours < theirs and self.is_lower(run, other, name)  # type: ignore[operator]
                for name, (ours, theirs) in zip(RANKED, pairs, strict=True)
            )

        return [run for run in complete if not any(beats(other, run) for other in complete)]

    def _value(self, run: RunKey, name: str) -> float | None:
        row = self.get(run, name)
        return None if row is None else row.value

    def outcomes(self) -> Iterator[dict[str, Any]]:
        """
        Yield the number of jobs with each outcome (such as completed or rejected) in each run.

        Numbers are means over the repetitions. Excluded rows of the log are outcomes too.
        """
        for of in self.repetitions.values():
            for name in dict.fromkeys(name for run in of for name in run.outcomes):
                each = [run.outcomes.get(name, {}) for run in of]
                work = mean(outcome.get("of_core_hours", 0.0) for outcome in each)
                yield {
                    **of[0].labels,
                    "outcome": name,
                    "jobs": mean_of([outcome.get("jobs", 0) for outcome in each]),
                    "of_jobs": mean(outcome.get("of_jobs", 0.0) for outcome in each),
                    "of_core_hours": None if name.startswith(EXCLUDED) else work,
                }

    def as_rows(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries by column, as in ``results.csv``."""
        return [row.as_row() for row in self.rows]

    def to_pandas(self) -> pd.DataFrame:
        """
        Return the table as a data frame: a row for each run, group of jobs and metric.

        ``frame.pivot_table("value", ["dispatcher"], "metric")`` has a column for each metric. Times
        are in seconds, shares within [0, 1].

        Raises
        ------
        ConfigError
            If pandas is not installed.
        """
        rows = self.as_rows()
        return data_frame({name: [row[name] for row in rows] for name in rows[0]})


def load_results(
    folder: str | Path,
    baseline: str | Baseline | None = None,
    workload: Workload | None = None,
    schedules: Mapping[str, Schedule] = MappingProxyType({}),
) -> ResultsTable:
    """
    Return the results of a study's folder, of a folder of runs, or of one run.

    Parameters
    ----------
    baseline
        Another baseline than the study's own: the label of a dispatcher, or several labels.
    workload
        A loaded workload, which is not read again for runs of it.
    schedules
        Loaded schedules by the names of their run folders, which are not read again.

    Raises
    ------
    ConfigError
        If no run has that dispatcher.
    RunError
        If there is no run, or one is damaged.
    """
    study = _compared_with(baseline, collect(folder))
    rows = tuple(results_of(_repeated(study.runs), study.baseline))
    release_unused()
    table = ResultsTable(study=study, rows=rows, record=tuple(record(study, workload, schedules)))
    if not study.by_group:
        return table
    return replace(table, rows=(*rows, *table._groups_of(None)))


def _repeated(runs: Iterable[RunResult]) -> list[list[RunResult]]:
    """Return the repetitions of each workload, system, dispatcher and predictor, in order."""
    by_key: dict[RunKey, list[RunResult]] = {}
    for run in runs:
        by_key.setdefault(run.key, []).append(run)
    return list(by_key.values())


def _position(known: Metric, order: Sequence[str]) -> int:
    """Return the place of a metric in a section; metrics of a resource type share one."""
    if known.name in order:
        return order.index(known.name)
    patterns = [name for name in order if name.endswith("*") and known.name.startswith(name[:-1])]
    return order.index(max(patterns, key=len))


def _compared_with(baseline: str | Baseline | None, study: Results) -> Results:
    if isinstance(baseline, Baseline):
        return replace(study, baseline=baseline)
    dispatcher = baseline
    if dispatcher is None:
        return study
    names = list(dict.fromkeys(run.dispatcher for run in study.runs))
    if dispatcher not in names:
        # Tables use the name of a preset, whichever way it was written.
        dispatcher = as_label(display_name("dispatchers", dispatcher))
    if dispatcher not in names:
        raise ConfigError(
            f"unknown dispatcher '{dispatcher}'. Dispatchers of the runs: {', '.join(names)}",
            key="baseline",
        )
    return replace(study, baseline=replace(study.baseline, dispatcher=dispatcher))
