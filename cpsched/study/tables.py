"""A study's tables: figures per run, means over repetitions, and cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError
from cpsched.metrics.outcomes import EXCLUDED
from cpsched.metrics.results_table_columns import on_front
from cpsched.study.comparisons import COLUMNS, MetricDifference, comparisons, is_lower
from cpsched.study.gains import gains
from cpsched.study.measures import AREA
from cpsched.study.record import record
from cpsched.study.results import Results, case_of, collect, mean
from cpsched.study.study import Baseline, as_label
from cpsched.util.spec import display_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from cpsched.metrics.results_table_columns import Headline
    from cpsched.model.workload import Workload
    from cpsched.study.results import RunKey, RunResult

#: A cell; None where nothing was measured.
Cell = str | int | float | bool | None


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """
    A table for programs: columns by name, all of the same length.
    """

    columns: Mapping[str, tuple[Cell, ...]]

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Cell]], least: Iterable[str] = ()) -> Rows:
        """
        Build a table of rows; values missing in a row are None.

        ``least`` are columns that exist even without rows.
        """
        names = dict.fromkeys([*least, *(name for row in rows for name in row)])
        return cls({name: tuple(row.get(name) for row in rows) for name in names})

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def rows(self) -> list[dict[str, Any]]:
        """Return the table row by row."""
        return [
            dict(zip(self.columns, row, strict=True))
            for row in zip(*self.columns.values(), strict=True)
        ]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Tables:
    """
    The tables of a study.

    Attributes
    ----------
    runs
        One row a run.
    summary
        One row for each workload, system, dispatcher and predictor: means over the repetitions.
    classes
        The same for short, medium and long jobs.
    sizes
        Waits of jobs by the share of the machine they ask for.
    outcomes
        What became of the jobs and rows of the log: one row for each outcome of those runs, with
        the mean number of ``jobs`` and their shares.
    differences
        Every figure against the baseline's, with intervals.
    gains
        Who gains or loses against the baseline (:mod:`cpsched.study.gains`); no rows if the study
        does not ask.
    record
        Recorded waits beside those of a baseline (:mod:`cpsched.study.record`), if there are any.
    timing
        The cost of the runs; the only table that differs between equal studies.
    """

    results: Results
    runs: Rows
    summary: Rows
    classes: Rows
    sizes: Rows
    outcomes: Rows
    differences: Rows
    gains: Rows
    record: Rows
    timing: Rows

    def __repr__(self) -> str:
        return f"<Tables {', '.join(self.named())}: to_pandas(NAME) of the comparison>"

    def named(self) -> dict[str, Rows]:
        """Return the tables by name."""
        return {
            name: getattr(self, name)
            for name in (
                *("summary", "classes", "sizes", "outcomes", "differences"),
                *(name for name in ("gains", "record") if len(getattr(self, name))),
                *("runs", "timing"),
            )
        }

    @cached_property
    def compared(self) -> dict[RunKey, dict[str, MetricDifference]]:
        """The differences over all jobs of each run but the baselines, by run and figure."""
        found: dict[RunKey, dict[str, MetricDifference]] = {}
        for row in self.differences.rows():
            if row["class"] == "all":
                one = MetricDifference(row)
                found.setdefault(one.key, {})[one.figure] = one
        return found

    def gains_about(self, place: str, who: tuple[str, str]) -> list[dict[str, Any]]:
        """Return the rows of gains about a run, made from its jobs if the study asks for none."""
        runs, asked = self.results, self.gains.rows()
        rows = asked or gains(grouped(runs.runs), runs.baseline, runs.measure_from, (place, who))
        return [
            row
            for row in rows
            if (case_of(row), (row["dispatcher"], row["predictor"])) == (place, who)
        ]

    def is_lower(self, one: RunKey, other: RunKey, figure: str) -> bool:
        """Whether a figure of one run is certainly lower than that of another."""
        runs = {of[0].key: of for of in grouped(self.results.runs)}
        return is_lower(runs[one], runs[other], figure)


def make_tables(
    folder: str | Path,
    baseline: str | Baseline | None = None,
    workload: Workload | None = None,
) -> Tables:
    """
    Return the tables of a study's folder, made from its run folders only.

    Parameters
    ----------
    baseline
        What runs are compared with instead of the study's own: the label of a dispatcher, or
        labels of more.
    workload
        One at hand, which need not be read again if a run is of it.

    Raises
    ------
    ConfigError
        If no run has that dispatcher.
    RunError
        If there is no run, or one is damaged.
    """
    results = _compared_with(baseline, collect(folder))
    runs = results.runs
    repeated = grouped(runs)
    summary = [_summary_row(*each) for each in zip(repeated, fronts(repeated), strict=True)]
    by_group = gains(repeated, results.baseline, results.measure_from) if results.by_group else []
    return Tables(
        results=results,
        runs=Rows.of([_run_row(run) for run in runs]),
        summary=Rows.of(summary),
        classes=Rows.of(_group_rows(repeated, "class", "groups")),
        sizes=Rows.of(_group_rows(repeated, "size", "sizes")),
        outcomes=Rows.of([row for of in repeated for row in _outcome_rows(of)]),
        differences=Rows.of(comparisons(repeated, results.baseline), least=COLUMNS),
        gains=Rows.of(by_group),
        record=Rows.of(record(results, workload)),
        timing=Rows.of(
            [{**_names(run), "seed": run.seed, **run.timing, **_solving(run)} for run in runs]
        ),
    )


def _solving(run: RunResult) -> dict[str, Cell]:
    """Return how often the solver was called and what of that was gained; nothing without one."""
    calls = run.decisions.get("solver_calls", 0)
    if not calls or "improved" not in run.decisions:
        return {}
    return {
        "solver_calls": int(calls),
        "solver_improved": run.decisions["improved"] / calls,
        "solver_gain": run.decisions["gain"] / calls if "gain" in run.decisions else None,
    }


def _compared_with(baseline: str | Baseline | None, results: Results) -> Results:
    if isinstance(baseline, Baseline):
        return replace(results, baseline=baseline)
    dispatcher = baseline
    if dispatcher is None:
        return results
    there = list(dict.fromkeys(run.dispatcher for run in results.runs))
    if dispatcher not in there:
        # Tables use the name of a preset, whichever way it was written.
        dispatcher = as_label(display_name("dispatchers", dispatcher))
    if dispatcher not in there:
        raise ConfigError(
            f"no run is of '{dispatcher}'; there are: {', '.join(there)}", key="baseline"
        )
    return replace(results, baseline=replace(results.baseline, dispatcher=dispatcher))


def grouped(runs: Iterable[RunResult]) -> list[list[RunResult]]:
    """Return the repetitions of each workload, system, dispatcher and predictor, in order."""
    found: dict[RunKey, list[RunResult]] = {}
    for run in runs:
        found.setdefault(run.key, []).append(run)
    return list(found.values())


def _names(run: RunResult) -> dict[str, Cell]:
    return {**run.labels, "allocator": run.allocator}


def _run_row(run: RunResult) -> dict[str, Cell]:
    return {
        **_names(run),
        "seed": run.seed,
        "folder": run.folder,
        **run.counts,
        **run.figures,
    }


def _summary_row(of: Sequence[RunResult], on_front: bool | None) -> dict[str, Cell]:
    first = of[0]
    return {
        **_names(first),
        "repetitions": len(of),
        "knows_runtimes": first.knows_runtimes,
        "on_front": on_front,
        **{name: _mean_count([run.counts[name] for run in of]) for name in first.counts},
        **{name: mean(run.figures.get(name) for run in of) for name in first.figures},
    }


def _outcome_rows(of: Sequence[RunResult]) -> Iterator[dict[str, Cell]]:
    """Yield what became of jobs and rows, as means over repetitions; a run may have none of it."""
    for name in dict.fromkeys(name for run in of for name in run.outcomes):
        each = [run.outcomes.get(name, {}) for run in of]
        work = mean(one.get("of_core_hours", 0.0) for one in each)
        yield {
            **_names(of[0]),
            "outcome": name,
            "jobs": _mean_count([one.get("jobs", 0) for one in each]),
            "of_jobs": mean(one.get("of_jobs", 0.0) for one in each),
            "of_core_hours": None if name.startswith(EXCLUDED) else work,
        }


def _group_rows(
    repeated: Sequence[Sequence[RunResult]], kind: str, groups: str
) -> list[dict[str, Cell]]:
    """Return a row for each group of jobs: by length (``groups``) or by size (``sizes``)."""
    rows: list[dict[str, Cell]] = []
    for of in repeated:
        found = [getattr(run, groups) for run in of if getattr(run, groups)]
        for name in found[0] if found else ():
            if name == "all":
                continue
            figures = {key: mean(one[name][key] for one in found) for key in found[0][name]}
            jobs = _mean_count([one[name]["jobs"] for one in found])
            names = {**_names(of[0]), kind: name}
            rows.append({**names, "repetitions": len(found), **figures, "jobs": jobs})
    return rows


def _mean_count(counts: Sequence[Any]) -> int | float:
    """Return a count common to all repetitions, or the mean: other seeds may give other jobs."""
    return int(counts[0]) if len(set(counts)) == 1 else math.fsum(counts) / len(counts)


#: Columns of the headline: area-weighted response, tail of the wait, mean bounded slowdown.
HEADLINE = (AREA, "wait_p99.9_s", "bounded_slowdown_mean")


def fronts(repeated: Sequence[Sequence[RunResult]]) -> list[bool | None]:
    """
    Return which groups of repetitions are on the front of their workload and system.

    A group is off the front if another has means at least as low in all three figures, and
    one of them lower by its verdict (:func:`~cpsched.study.comparisons.is_lower`). So a
    difference within the noise removes nothing from the front. With one run each, figures without
    an interval are compared as they are. Runs that know the runtimes have a front of their own.
    """
    return on_front(
        [_headline(of) for of in repeated],
        [(of[0].workload, of[0].system, of[0].knows_runtimes) for of in repeated],
        lambda one, other, figure: is_lower(repeated[one], repeated[other], HEADLINE[figure]),
    )


def _headline(of: Sequence[RunResult]) -> Headline:
    response, tail, slowdown = (mean(run.figures.get(name) for run in of) for name in HEADLINE)
    if response is None or tail is None or slowdown is None:
        return None
    return response, tail, slowdown
