"""
The tables for people: which rows of the results table stand in which row and column.

The terminal, the page, Markdown and LaTeX render the same views.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from cpsched.metrics.definitions import LEADING, METRICS, metric, title_of
from cpsched.report.across_logs import COMPARED, across_logs
from cpsched.report.findings import wait_change
from cpsched.study.comparisons import Result

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from cpsched.report.results_table import ResultsTable
    from cpsched.study.paired import Estimate
    from cpsched.study.results import RunKey

#: A text, a row of the results table, or nothing.
Cell: TypeAlias = "str | Result | None"
#: Sections that have tables of groups of jobs.
_OF_GROUPS = ("wait", "slowdown", "bounded slowdown")
#: Groups of a kind at either end, where there are many.
_MOST = 4


class View(NamedTuple):
    """
    A table for people.

    Attributes
    ----------
    case
        ``workload on system``; empty for one over several logs.
    title
        What it shows.
    headers
        Above each column.
    rows
        Cells by row and column.
    names
        How many columns are names.
    ratios
        Whether metrics are shown as ratios to the baseline's, with their intervals.
    marks
        Whether intervals over the repetitions alone are marked: the log has days for others.
    """

    case: str
    title: str
    headers: list[str]
    rows: Sequence[Sequence[Cell]]
    names: int = 1
    ratios: bool = False
    marks: bool = False


def text(cell: Cell) -> str:
    """Return a cell as text: the value of a metric, ``-`` where nothing was measured."""
    return "-" if cell is None else cell if isinstance(cell, str) else cell.text


#: Mark of an interval over the repetitions alone: that over the days includes no change, or there
#: is none, as of a longest wait.
OF_LOG = "†"
#: Its meaning.
OF_LOG_MEANING = f"{OF_LOG}: interval over the repetitions, not confirmed by the days of the log."


def compared_text(cell: Cell, *, marks: bool = False) -> tuple[str, str]:
    """Return a cell as a ratio to the baseline's and its interval, the value without a ratio."""
    if not isinstance(cell, Result) or cell.ratio is None:
        return text(cell), ""
    interval = cell.interval
    ends = "" if interval is None else f"{ratio_text(interval[0])} to {ratio_text(interval[1])}"
    if marks and cell.is_of_log:
        ends += OF_LOG
    return ratio_text(cell.ratio), ends


def ratio_text(ratio: float) -> str:
    """Return a ratio: ``0.28``, ``0.013``, ``12.3``, ``1,234``."""
    if 0 < ratio < 0.1:
        return f"{ratio:.2g}"
    return f"{ratio:,.{2 if ratio < 10 else 1 if ratio < 100 else 0}f}"


def leading(table: ResultsTable, case: str) -> View:
    """Return the leading metrics of each run of a case, the baselines first."""
    runs = table.cases[case]
    bases = dict.fromkeys(base for run in runs if (base := table.baseline_of(run)) is not None)
    runs = [*bases, *(run for run in runs if run not in bases)]
    names = [
        name
        for name in LEADING
        if any((row := table.get(run, name)) and row.value is not None for run in runs)
    ]
    rows: list[list[Cell]] = [
        [_name(table, case, run, bases), *(table.get(run, name) for name in names)] for run in runs
    ]
    first = "scenario" if table.study.by_group else "dispatcher"
    titles = [metric(name).title for name in names]
    days = any((row := table.get(run, name)) and row.days for run in runs for name in names)
    return View(case, "leading metrics", [first, *titles], rows, ratios=True, marks=days)


def _name(table: ResultsTable, case: str, run: RunKey, bases: Collection[RunKey]) -> str:
    """Return the name of a run in a table of a case; a baseline may be of another case."""
    own = table.repetitions[run][0].case
    name = table.name(run) if own == case else f"{table.name(run)}, {own}"
    return f"{name} (baseline)" if run in bases and name != "baseline" else name


def all_metrics(table: ResultsTable, case: str) -> Iterator[View]:
    """Yield a table for each section of metrics: of all jobs, by length, by size."""
    runs = table.cases[case]
    for section in dict.fromkeys(known.section for known in METRICS):
        if known := table.metrics(case, section):
            yield View(
                case,
                section,
                ["dispatcher", *(of.title for of in known)],
                [[table.name(run), *(table.get(run, of.name) for of in known)] for run in runs],
            )
    for kind, sections in (("length", _OF_GROUPS), ("size", _OF_GROUPS[:1])):
        groups = [
            *table.groups(case, kind),
            *table.groups(case, "window" if kind == "length" else ""),
        ]
        for section in sections:
            known = list(
                {
                    of.name: of for group in groups for of in table.metrics(case, section, group)
                }.values()
            )
            if known:
                yield View(
                    case,
                    f"{section} by {kind}",
                    ["dispatcher", "jobs", "number", *(of.title for of in known)],
                    [
                        [
                            table.name(run),
                            title_of(group),
                            table.get(run, "jobs", group),
                            *(table.get(run, of.name, group) for of in known),
                        ]
                        for run in runs
                        for group in groups
                    ],
                    names=2,
                )


def group_changes(table: ResultsTable, run: RunKey) -> View:
    """Return the changes of waits by group of jobs of a run against its baseline."""
    by_group: dict[tuple[str, str], dict[str, Result]] = {}
    for row in table.group_rows(run):
        by_group.setdefault(row.group, {})[row.metric] = row
    chosen = most_changed(by_group)
    rows: list[list[Cell]] = []
    for group in chosen:
        of = by_group[group]
        wait = of["common_wait_mean_s"]
        rows.append(
            [
                title_of(group),
                of["common_jobs"],
                wait,
                wait_change(wait),
                of["common_wait_max_s"],
                of["share_that_waits_less"],
                of["share_that_waits_longer"],
            ]
        )
    headers = ["jobs", "number", "mean wait", "change", "longest wait", "wait less", "wait longer"]
    case = table.repetitions[run][0].case
    return View(case, f"groups of jobs under {table.name(run)}", headers, rows)


def most_changed(by_group: dict[tuple[str, str], dict[str, Result]]) -> list[tuple[str, str]]:
    """Return the groups of each kind; of many those whose total waits change most, either way."""
    chosen: list[tuple[str, str]] = []
    for kind in dict.fromkeys(kind for kind, _ in by_group):
        groups = [group for group in by_group if group[0] == kind]
        if len(groups) > 2 * _MOST + 2:
            ranked = sorted(groups, key=lambda group: _extra(by_group[group]))
            groups = [*ranked[:_MOST], *ranked[-_MOST:]]
        chosen += groups
    return chosen


def _extra(rows: dict[str, Result]) -> float:
    """Return by how much all waits of a group change in total, seconds."""
    jobs = rows["common_jobs"].value or 0
    return jobs * (rows["common_wait_mean_s"].difference or 0)


def over_logs(table: ResultsTable) -> Iterator[View]:
    """Yield a table of ratios for each metric that is compared over logs: a row a log."""
    entries = across_logs(table)
    if not entries:
        return
    for name in COMPARED:
        means = [entry.mean(name) for entry in entries]
        worst = [entry.worst(name) for entry in entries]
        ranks = [entry.mean_rank(name) for entry in entries]
        rows: list[list[Cell]] = [
            [log, *(entry.row(log, name) for entry in entries)] for log in entries[0].runs
        ]
        rows += [
            ["geometric mean", *(mean_text(mean) for mean in means)],
            ["mean rank", *("-" if rank is None else f"{rank:.1f}" for rank in ranks)],
            [
                "worst log",
                *("-" if ratio is None else f"{ratio_text(ratio)}\n{log}" for ratio, log in worst),
            ],
        ]
        title = f"{metric(name).title}: ratio to the baseline on each log"
        yield View("", title, ["log", *(entry.name for entry in entries)], rows, ratios=True)


def mean_text(mean: Estimate | None) -> str:
    """Return a mean ratio, and its interval on a second line."""
    if mean is None:
        return "-"
    if mean.low is None or mean.high is None:
        return ratio_text(mean.mean)
    return f"{ratio_text(mean.mean)}\n{ratio_text(mean.low)} to {ratio_text(mean.high)}"


def documents(table: ResultsTable) -> Iterator[tuple[str, Sequence[View]]]:
    """Yield the views of each case for files, those over several logs first."""
    if across := list(over_logs(table)):
        yield "all logs", across
    for case, runs in table.cases.items():
        views = [leading(table, case), *all_metrics(table, case)]
        if table.study.by_group:
            views += [group_changes(table, run) for run in runs if run not in table.baselines]
        yield case, views
