"""Outcomes of jobs, and offered load: lines of every summary."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cpsched.metrics.definitions import ALL, read
from cpsched.metrics.outcomes import EXCLUDED, in_words
from cpsched.metrics.rejections import reason_kind, rejections
from cpsched.study.reader import load_run
from cpsched.study.results import case_of, run_of
from cpsched.util.words import counted, escaped, percent

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from cpsched.metrics.definitions import Value
    from cpsched.metrics.rejections import Rejection
    from cpsched.model.schedule import Schedule
    from cpsched.report.results_table import ResultsTable
    from cpsched.study.results import RunKey, RunResult

#: Offered load by resource.
Load = dict[str, float]
#: Names of runs in one line, reasons, and jobs named for a reason, at most.
_MOST, _MOST_REASONS, _NAMED = 3, 6, 5
#: What jobs do that are in all metrics.
_COMPLETED = "completed"
_OFFERED = "offered_load_"
#: Rows of a log, not jobs.
_ROWS = (EXCLUDED, "attempts")


def outcome_lines(
    table: ResultsTable, case: str, *, without: Collection[str] = (), never: Collection[str] = ()
) -> list[str]:
    """
    Return a line for each outcome of the jobs of a case, but for completed ones.

    Runs in which as many jobs have an outcome share a line, which names them.

    Parameters
    ----------
    without
        Outcomes that stand elsewhere where they are the same in all runs.
    never
        Outcomes that stand elsewhere for each run.
    """
    rows = [row for row in table.outcomes() if case_of(row) == case and row["jobs"]]
    runs = table.cases[case]
    lines = []
    for name in dict.fromkeys(row["outcome"] for row in rows):
        if name in (_COMPLETED, *never):
            continue
        by_text: dict[str, list[RunKey]] = {}
        for row in rows:
            if row["outcome"] == name:
                by_text.setdefault(outcome_text(name, row), []).append(run_of(row))
        same = [len(keys) for keys in by_text.values()] == [len(runs)]
        if not (same and name.partition(":")[0] in without):
            lines += [
                f"{text} ({_runs(table, case, keys)})" if len(runs) > 1 else text
                for text, keys in by_text.items()
            ]
    return lines


def outcome_text(name: str, outcome: Mapping[str, Any]) -> str:
    """
    Return how many jobs or rows have an outcome, in words.

    Parameters
    ----------
    name, outcome
        Of :func:`~cpsched.metrics.outcomes.outcomes`.
    """
    jobs, kind = outcome["jobs"], name.partition(":")[0]
    thing = "row" if kind in _ROWS else "job"
    number = counted(jobs, thing) if isinstance(jobs, int) else f"{jobs:,.1f} {thing}s"
    if kind == EXCLUDED:
        # The jobs may be a part of the log, so that a share of them would say nothing.
        return f"{_capital(escaped(in_words(name)))}: {number} of the whole log"
    work = outcome["of_core_hours"]
    with_work = "" if work is None else f" with {_percent(work)} of the core-hours"
    share = _percent(outcome["of_jobs"])
    return f"{_capital(escaped(in_words(name)))}: {number}, {share} of the {thing}s{with_work}"


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def lines_of_run(summary: Mapping[str, Any]) -> list[str]:
    """Return the same of one run, from its summary, with its offered load."""
    outcomes = summary["outcomes"].items()
    lines = [outcome_text(name, outcome) for name, outcome in outcomes if name != _COMPLETED]
    values = read(summary)[ALL]
    if load := _load(values):
        lines.append(f"Offered load: {_load_text(load, [values])}.")
        lines += _above_capacity({"the run": load})
    return lines


def loads(table: ResultsTable, case: str) -> dict[str, Load]:
    """Return the offered loads of a case, by the runs in words that have them."""
    by_load: dict[tuple[tuple[str, float], ...], list[RunKey]] = {}
    for run in table.cases[case]:
        if load := _load(_values(table, run)):
            by_load.setdefault(tuple(load.items()), []).append(run)
    return {_runs(table, case, runs): dict(load) for load, runs in by_load.items()}


def load_lines(table: ResultsTable, case: str) -> Iterator[str]:
    """Yield offered load and utilization of a case, and the meaning of a load above 100 %."""
    runs = {run: _values(table, run) for run in table.cases[case]}
    by_runs = loads(table, case)
    for names, load in by_runs.items():
        text = _load_text(load, [values for values in runs.values() if _load(values) == load])
        under = f" under {names}" if len(by_runs) > 1 else ""
        yield f"Offered load{under}: {text}."
    yield from _above_capacity(by_runs)


def _above_capacity(loads: Mapping[str, Load]) -> Iterator[str]:
    """Yield a line on the runs whose offered load is above the capacity, if there are any."""
    over = [
        f"{runs}: {kind} {_percent(load[kind])}"
        for runs, load in loads.items()
        if load[kind := max(load, key=lambda name: load[name])] > 1
    ]
    if over:
        whose = "every run" if len(over) == len(loads) > 1 else ", ".join(over)
        yield (
            f"Offered load above 100 % ({whose}): the queue grows until the last submit."
            " Mean waits therefore depend on the length of the log."
        )


def _values(table: ResultsTable, run: RunKey) -> dict[str, Value]:
    return table.values(run)


def _load(values: Mapping[str, Value]) -> Load:
    """Return the load of the first resource and of the most loaded one, in steps of 0.1 %."""
    known = {
        name.removeprefix(_OFFERED): round(share, 3)
        for name, share in values.items()
        if name.startswith(_OFFERED) and share is not None
    }
    if not known:
        return {}
    first, most = next(iter(known)), max(known, key=lambda kind: known[kind])
    return {kind: known[kind] for kind in dict.fromkeys((first, most))}


def _load_text(load: Load, runs: Sequence[Mapping[str, Value]]) -> str:
    """Return the offered load of each resource, with the utilization by runs."""
    return ", ".join(f"{kind} {_percent(share)}{_used(runs, kind)}" for kind, share in load.items())


def _used(runs: Sequence[Mapping[str, Value]], kind: str) -> str:
    """Return the lowest and the highest utilization of a resource by runs, in words."""
    for name, when in ((f"steady_utilization_{kind}", ""),
                       (f"utilization_{kind}", " of the whole run")):  # fmt: skip
        used = [share for values in runs if (share := values.get(name)) is not None]
        if used:
            least, most = _percent(min(used)), _percent(max(used))
            shares = least if least == most else f"{least.removesuffix(' %')} to {most}"
            return f" (utilization{when} {shares})"
    return ""


def _runs(table: ResultsTable, case: str, runs: Sequence[RunKey]) -> str:
    """Return the names of some runs of a case in a sentence."""
    if len(runs) == len(table.cases[case]):
        return "every run" if len(runs) > 1 else "the run"
    names = [escaped(table.name(run)) for run in runs]
    more = [f"{len(names) - _MOST} more"] if len(names) > _MOST + 1 else []
    *first, last = [*names[:_MOST], *more] if more else names
    return f"{', '.join(first)} and {last}" if first else last


def _percent(share: float) -> str:
    """Return a share in percent, with the digits that a small one needs."""
    tiny = 0 < share < 0.0005
    return f"{100 * share:.{2 if tiny else 1}f} %" if share >= 0.00005 or not share else "0.00 %"


def never_started(
    table: ResultsTable, case: str, schedules: Mapping[str, Schedule] = MappingProxyType({})
) -> Iterator[str]:
    """
    Yield lines on the jobs of a case that can never start, if there are any.

    Lines that hold for all runs come once, others for the first repetition of each.

    Parameters
    ----------
    schedules
        Loaded schedules by the names of their run folders, which are not read again.
    """
    lines = {run: list(_of_run(table.repetitions[run][0], schedules)) for run in table.cases[case]}
    first = next(filter(None, lines.values()), [])
    same = all(of == first for of in lines.values())
    for run, of in lines.items():
        if of:
            head, *reasons = of
            yield f"Never started{'' if same else f' under {escaped(table.name(run))}'}: {head}"
            yield from reasons
            if same:
                return


def _of_run(run: RunResult, schedules: Mapping[str, Schedule]) -> Iterator[str]:
    if not run.values["never_started"]:
        return
    name = run.path.name
    schedule = schedules[name] if name in schedules else load_run(run.path).schedule
    reasons = rejections(schedule.workload, schedule.never_started)
    number = len(schedule.never_started)
    share = number / max(len(schedule.workload), 1)
    core_time = sum(reason.share_of_core_time for reason in reasons)
    yield (
        f"{counted(number, 'job')} that can never start, {percent(share)} of the jobs with"
        f" {percent(core_time)} of the core time"
    )
    yield from (_reason(reason, schedule) for reason in reasons[:_MOST_REASONS])
    if len(reasons) > _MOST_REASONS:
        others = sum(reason.jobs for reason in reasons[_MOST_REASONS:])
        yield f"  {others:,} more, for other reasons"


def _reason(of: Rejection, schedule: Schedule) -> str:
    """Return a reason, and the jobs that have it, the one whose numbers it has first."""
    kind, ids = reason_kind(of.reason), schedule.workload.job_id
    never = sorted(schedule.never_started.items())
    rows = [row for row, why in never if reason_kind(why) == kind]
    names = [of.job_id, *(name for row in rows if (name := str(ids[row])) != of.job_id)]
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    jobs = f"job{'s' if len(names) > 1 else ''} {', '.join(map(escaped, names[:_NAMED]))}{more}"
    return f"  {counted(of.jobs, 'job')}: {escaped(of.reason)} ({jobs})"
