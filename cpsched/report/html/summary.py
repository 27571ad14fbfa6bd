"""The sentences of the one-page summary: gain, loss, confidence, and unmodelled settings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from cpsched.errors import CpschedError
from cpsched.metrics.definitions import title_of
from cpsched.report.findings import COMMON_WAIT, change_of, wait_change
from cpsched.study.policies import assumed_of
from cpsched.study.study import near
from cpsched.study.verdicts import ONE_RUN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.report.html.case import Case
    from cpsched.report.results_table import ResultsTable
    from cpsched.study.reader import SavedRun
    from cpsched.study.results import RunKey

#: Kinds of groups that every log has, changes of waits that are reported (seconds), most groups.
_FORMS, _NOTICED, _MOST = ("length", "size"), 60, 3


def answers(table: ResultsTable, case: Case) -> list[str]:
    """Return a sentence for each run that is compared, that of the finding first."""
    runs = sorted(case.runs, key=lambda run: case.finding is None or run != case.finding.run)
    changes = (change_of(table, run) for run in runs)
    return [f"{change}." for change in changes if change is not None]


def gains_and_losses(table: ResultsTable, case: Case) -> tuple[list[str], list[str]]:
    """Return which jobs wait less and which wait longer under each run that the case is about."""
    gains = [_line(table, run, "less", -1) for run in case.about]
    losses = [_line(table, run, "longer", 1) for run in case.about]
    return [*filter(None, gains)], [*filter(None, losses)]


def _line(table: ResultsTable, run: RunKey, word: str, sign: int) -> str:
    """Return the groups of jobs whose mean waits change most in one direction."""
    changes = [
        (sign * row.difference, row)
        for row in table.group_rows(run)
        if row.metric == COMMON_WAIT and row.group[0] in _FORMS and row.difference is not None
        and (row.is_significant or row.verdict == ONE_RUN)
    ]  # fmt: skip
    rows = [row for by, row in sorted(changes, key=lambda pair: -pair[0]) if by >= _NOTICED]
    parts = [f"{title_of(row.group)} {wait_change(row)}" for row in rows[:_MOST]]
    parts += [f"{len(rows) - _MOST} more groups of jobs"] if len(rows) > _MOST else []
    if any(row.verdict == ONE_RUN for row in rows):
        parts.append("not confirmed by repetitions")
    change = change_of(table, run)
    lost = change.losses if change is not None and sign > 0 else ()
    listed = ", ".join([*parts, *lost])
    return f"Wait {word} under {table.name(run)}: {listed or 'no significant group of jobs'}."


def assumptions(table: ResultsTable, case: Case, run: SavedRun) -> Iterator[str]:
    """Yield the assumptions about a log and its site."""
    yield (
        "Users submit the same jobs at the same times, however long they wait. Jobs run as long as"
        " the log says."
    )
    schedule: Any = SimpleNamespace(workload=run.schedule.workload, system=run.schedule.system)
    remarks: dict[str, None] = {}
    for specification in dict.fromkeys(of.dispatcher_spec for of in table.study.runs):
        if specification in {table.repetitions[key][0].dispatcher_spec for key in case.runs}:
            try:
                remarks |= dict.fromkeys(assumed_of(schedule, specification))
            except CpschedError as error:
                remarks[f"The unmodelled settings of the policy are unknown: {error}."] = None
    yield from map(near, remarks)
