"""Dispatchers over several logs: the ratio to the baseline on each, and what holds over all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cpsched.metrics.results_table_columns import BY_NAME as LEADING_FIGURES
from cpsched.report.findings import NOTICEABLE, Against, Change
from cpsched.report.leading_rows import leading
from cpsched.study.paired import over_logs
from cpsched.study.verdicts import is_clear, of_mean
from cpsched.util.tables import Column, Table
from cpsched.util.words import escaped, estimate
from cpsched.util.words import ratio as times

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cpsched.report.leading_rows import Leading, LeadingRows, Measured
    from cpsched.study.paired import Estimate
    from cpsched.study.tables import Tables

QUALITY, WAIT, LONGEST = "mean_bounded_slowdown", "mean_wait", "longest_wait"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """
    A dispatcher over several logs.

    Attributes
    ----------
    name
        With its runtime estimate, if there are several.
    logs
        What it is compared on: the workloads, with their systems if one is run on several.
    runs
        Its run on each; None: it has none there.
    ranks
        By a figure's name: its place among all on each log where it ran, 1 for the lowest; equals
        share the mean of their places.
    knows_runtimes
        Whether it knows the actual runtimes.
    """

    name: str
    logs: tuple[str, ...]
    runs: tuple[Leading | None, ...]
    ranks: dict[str, list[float]]
    knows_runtimes: bool

    def on_each(self, figure: str) -> list[Measured | None]:
        """Return a figure on each log; None where it has no ratio to the baseline's."""
        found = [None if run is None else _figure(run, figure) for run in self.runs]
        return [None if one is None or one.ratio is None else one for one in found]

    def ratios(self, figure: str) -> list[float | None]:
        """Return the ratios to the baseline's on each log; None where there is none."""
        return [None if one is None else one.ratio for one in self.on_each(figure)]

    def mean(self, figure: str, over: Row | None = None) -> Estimate | None:
        """
        Return the geometric mean over the logs of the ratios to the baseline, with its interval.

        None if there is no ratio on some log. The interval is Student's t of the logarithms: each
        log counts once, however many jobs it has.

        Parameters
        ----------
        over
            Another dispatcher, whose ratios these are divided by; None: the baseline.
        """
        ours = self.ratios(figure)
        theirs = [1.0] * len(ours) if over is None else over.ratios(figure)
        pairs = zip(ours, theirs, strict=True)
        found = [None if None in pair else pair[0] / pair[1] for pair in pairs]  # type: ignore[operator]
        return over_logs(found)

    def worst(self, figure: str) -> tuple[float, str]:
        """Return the highest ratio and its log; infinite where there is none."""
        known = zip(self.on_each(figure), self.logs, strict=True)
        return max(
            ((one.ratio or 0, log) for one, log in known if one is not None),
            default=(float("inf"), ""),
        )

    def change(self, base: str) -> Change | None:
        """Return what it changes over all logs; None where a log has no ratio of it."""
        quality, longest = self.mean(QUALITY), self.mean(LONGEST)
        if quality is None:
            return None
        on_each = list(zip(self.logs, self.runs, self.on_each(QUALITY), strict=True))
        return Change(
            name=self.name,
            base=base,
            figure=_against(quality),
            longest=None if longest is None else _against(longest),
            fates=tuple(f"on {log} {fate}" for log, run, _ in on_each if run for fate in run.fates),
            worse=tuple(
                f"{log} ({one.times})"
                for log, _, one in on_each
                if one and one.sure == "worse" and (one.ratio or 0) >= 1 + NOTICEABLE
            ),
        )


def _figure(run: Leading, name: str) -> Measured:
    return next(one for one in run.figures if one.name == name)


def _against(mean: Estimate) -> Against:
    """Return a mean of ratios as findings take it."""
    said = interval(mean)
    return Against(times(mean.mean), "", mean.mean, of_mean(mean), said and f"×{said}")


def interval(mean: Estimate) -> str:
    """Return the interval of a ratio in words; empty if there is none."""
    ends = [times(end).removeprefix("×") for end in (mean.low, mean.high) if end is not None]
    return " to ".join(ends)


def rows(tables: Tables) -> list[Row]:
    """Return the dispatchers of a study on several logs, without the baseline; else nothing."""
    places = [_idle(one) for one in leading(tables)]
    if len(places) < 2 or tables.results.by_group:
        return []
    keys = dict.fromkeys((row.dispatcher, row.predictor) for one in places for row in one.rows)
    several = len({predictor for _, predictor in keys}) > 1
    first = {run.case: run.workload for run in tables.results.runs}
    logs = tuple(first[one.place] for one in places)
    if len(set(logs)) < len(logs):
        logs = tuple(one.place for one in places)
    found = []
    for who in keys:
        runs = tuple(_run(one, who) for one in places)
        some = [run for run in runs if run is not None and not run.is_baseline]
        if some:
            found.append(
                Row(
                    name=f"{who[0]} with {estimate(who[1])}" if several else who[0],
                    logs=logs,
                    runs=runs,
                    ranks={name: list(_ranks(places, runs, name)) for name in (QUALITY, WAIT)},
                    knows_runtimes=some[0].knows_runtimes,
                )
            )
    return found


def _idle(place: LeadingRows) -> LeadingRows:
    """Return a place where 0 over a baseline's 0, as of waits without a queue, is a ratio of 1."""
    bases = [row for row in place.rows if row.is_baseline]
    nothing = {at for at in place.known() if any(row.figures[at].value == 0 for row in bases)}
    rows = (
        replace(
            row,
            figures=tuple(
                replace(one, ratio=1.0) if at in nothing and one.value == 0 else one
                for at, one in enumerate(row.figures)
            ),
        )
        for row in place.rows
    )
    return replace(place, rows=tuple(rows))


def _run(place: LeadingRows, who: tuple[str, str]) -> Leading | None:
    return next((row for row in place.rows if (row.dispatcher, row.predictor) == who), None)


def _ranks(
    places: Sequence[LeadingRows], runs: Sequence[Leading | None], name: str
) -> Iterator[float]:
    for place, run in zip(places, runs, strict=True):
        own = None if run is None else _figure(run, name).value
        if own is not None:
            them = [_figure(row, name).value for row in place.rows]
            lower = sum(one < own for one in them if one is not None)
            yield lower + (them.count(own) + 1) / 2


def tables_of(found: Sequence[Row], base: str) -> Iterator[Table]:
    """
    Yield a table of bounded slowdowns, with longest waits, and one of mean waits: a row a log.

    Parameters
    ----------
    base
        What ratios refer to, in words.
    """
    for figure, beside in ((QUALITY, (LONGEST,)), (WAIT, ())):
        title = LEADING_FIGURES[figure].title
        more = [f"{LEADING_FIGURES[one].title}, geometric mean" for one in beside]
        names = [*found[0].logs, "geometric mean", "mean rank", "worst log", *more]
        columns = [Column("log", "", tuple(map(escaped, names)))]
        columns += [_column(row, figure, beside) for row in found]
        legend = "".join(_legend([one for row in found for one in row.on_each(figure) if one]))
        yield Table(
            f"{title[0].upper()}{title[1:]}: ratio to {escaped(base)} on each log{legend}",
            tuple(columns),
        )


def _legend(figures: Sequence[Measured]) -> Iterator[str]:
    """Yield what stands beside a ratio."""
    if any(one.interval for one in figures):
        yield ", with its 95 % interval"
    if any(one.clear is False for one in figures):
        yield "; ~: not significant"
    if any(one.of_repetitions for one in figures):
        yield "; r: by the repetitions, not by the days of the log"


def _column(row: Row, figure: str, beside: Sequence[str]) -> Column:
    """Return the cells of a dispatcher: on each log, and over all; other figures over all."""
    (worst, log), ranks = row.worst(figure), row.ranks[figure]
    rank = sum(ranks) / max(len(ranks), 1)
    means = [row.mean(one) for one in (figure, *beside)]
    first, *more = means
    cells = [*map(_cell, row.on_each(figure)), _mean(first), f"{rank:.1f}"]
    cells += [f"{times(worst)}\n{escaped(log)}" if log else "-", *map(_mean, more)]
    first_value, *values = [None if one is None else one.mean for one in means]
    numbers = (*row.ratios(figure), first_value, rank, worst, *values)
    return Column(escaped(row.name), "", tuple(cells), sorted_by=numbers)


def _cell(one: Measured | None) -> str:
    if one is None:
        return "-"
    between = "-".join(times(end).removeprefix("×") for end in one.interval or ())
    between += "r" * one.of_repetitions
    return "\n".join(filter(None, (f"{one.times}{'~' if one.clear is False else ''}", between)))


def _mean(mean: Estimate | None) -> str:
    if mean is None:
        return "-"
    mark = "" if mean.mean == 1 or is_clear(of_mean(mean)) else "~"
    between = interval(mean).replace(" to ", "-")
    return "\n".join(filter(None, (times(mean.mean) + mark, between)))
