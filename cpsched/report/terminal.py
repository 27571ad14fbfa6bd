"""The results table on a terminal: the baseline in absolute values, the others as ratios."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from cpsched.metrics.waits import MEANING
from cpsched.report import views
from cpsched.report.findings import base_name, losses
from cpsched.study.comparisons import Result
from cpsched.study.verdicts import ONE_RUN
from cpsched.util.terminal import LONGEST_LINE, STYLES, table_text
from cpsched.util.words import counted, escaped, estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cpsched.report.results_table import ResultsTable
    from cpsched.report.views import View
    from cpsched.study.results import RunKey

#: Characters of a column of names and of one of numbers, with the gap.
_NAME, _NUMBER = 24, 14
#: Metrics of the leading table on any terminal, and more characters than any table has.
_FEWEST, _ANY = 4, 10_000


def results_text(table: ResultsTable, case: str, width: int, *, colour: bool = False) -> str:
    """Return the leading metrics of the runs of a case as a table, with notes below it."""
    view = views.leading(table, case)
    lines = [
        line
        for note in notes(table, case)
        for line in wrap(note, min(width, LONGEST_LINE), break_on_hyphens=False,
                         break_long_words=False)
    ]  # fmt: skip
    return "\n".join([_fitting(view, width, colour=colour), "", *lines])


def _fitting(view: View, width: int, *, colour: bool) -> str:
    """Return as many of the first columns as fit, at least the names and four metrics."""
    for shown in range(len(view.headers), 1 + _FEWEST, -1):
        text = _part(view, range(shown), None, colour=False)
        if max(map(len, text.split("\n"))) <= width:
            return text if not colour else _part(view, range(shown), width, colour=True)
    return _part(view, range(min(1 + _FEWEST, len(view.headers))), width, colour=colour)


def _wrapped(header: str) -> str:
    """Return a header on lines that are no wider than numbers."""
    return "\n".join(wrap(header, _NUMBER - 1, break_on_hyphens=False))


def _cell(view: View, cell: views.Cell) -> tuple[str, str]:
    """Return the text of a cell and its style."""
    if not view.ratios:
        return views.text(cell), ""
    ratio, interval = views.compared_text(cell, marks=view.marks)
    style = ""
    if isinstance(cell, Result) and cell.compared is not None:
        style = STYLES[cell.effect] or "dim"
    return "\n".join(filter(None, (ratio, interval))), style


def notes(table: ResultsTable, case: str) -> Iterator[str]:
    """Yield what the reader must know about the table of a case, once for all rows."""
    runs = table.cases[case]
    compared = [run for run in runs if table.baseline_of(run) is not None]
    most = max(len(table.repetitions[run]) for run in runs)
    jobs = sorted({int(_jobs(table, run)) for run in runs})
    ends = [f"{number:,}" for number in dict.fromkeys((jobs[0], jobs[-1]))]
    yield f"{' to '.join(ends)} {'job' if jobs == [1] else 'jobs'} simulated."
    if (start := table.study.measure_from) is not None:
        yield f"Waits, slowdowns and response times are of the jobs submitted from {start} on."
    if compared:
        yield _compared(table, compared, most)
        view = views.leading(table, case)
        if view.marks and any(cell.is_of_log for row in view.rows for cell in _results(row)):
            yield views.OF_LOG_MEANING
    elif most > 1:
        yield f"Means of {counted(most, 'repetition')}."
    about = [f"Waits are {MEANING}."]
    if len({run[3] for run in runs}) == 1:
        about.append(f"Runtime estimate: {escaped(estimate(runs[0][3]))}.")
    allocators = {table.repetitions[run][0].allocator for run in runs}
    if len(allocators) == 1 and (allocator := allocators.pop()):
        about.append(f"Allocator: {allocator}.")
    yield " ".join(about)
    for run in compared:
        base = table.baseline_of(run)
        if base is not None and (lost := list(losses(table, run, base))):
            yield f"Loses jobs: {escaped(table.name(run))}, {', '.join(lost)}."


def _results(row: Sequence[views.Cell]) -> Iterator[Result]:
    return (cell for cell in row if isinstance(cell, Result))


def _jobs(table: ResultsTable, run: RunKey) -> float:
    """Return the number of distinct jobs that were simulated."""
    counts = [table.get(run, name) for name in ("simulated", "attempts")]
    simulated, attempts = (0.0 if row is None else float(row.value or 0) for row in counts)
    return simulated - attempts


def _compared(table: ResultsTable, runs: list[RunKey], repetitions: int) -> str:
    """Return the reference of ratios, and the source of their intervals."""
    names = list(dict.fromkeys(base_name(table, run) for run in runs))
    base = names[0] if len(names) == 1 else "the baseline with the same runtime estimate"
    rows = [row for row in table.rows if row.run in runs and row.interval is not None]
    text = f"Ratios to {escaped(base)}"
    if rows:
        source = [counted(repetitions, "repetition")] if repetitions > 1 else []
        source += ["the days of the log"] if any(row.days for row in rows) else []
        alone = "" if len(source) > 1 or repetitions == 1 else " of these jobs alone"
        return f"{text}, with 95 % intervals over {' and '.join(source)}{alone}."
    if any(row.verdict == ONE_RUN for row in table.rows if row.run in runs):
        return f"{text}. One run each cannot tell a difference from chance."
    return f"{text}."


def view_text(view: View, width: int, *, colour: bool = False) -> str:
    """Return a view as aligned text, in parts where it is too wide."""
    fitting = max(1, (width - _NAME * view.names) // _NUMBER)
    names = range(view.names)
    parts = []
    for first in range(view.names, len(view.headers), fitting):
        columns = [*names, *range(first, min(first + fitting, len(view.headers)))]
        parts.append(_part(view, columns, width, colour=colour))
    return "\n\n".join(parts)


def _part(view: View, columns: Sequence[int], width: int | None, *, colour: bool) -> str:
    """Return some columns of a view as aligned text, without a bound on its width if None."""
    rows = [[_cell(view, row[at]) for at in columns] for row in view.rows]
    headers = [_wrapped(view.headers[at]) for at in columns]
    return table_text(headers, rows, width=width or _ANY, names=view.names, colour=colour)
