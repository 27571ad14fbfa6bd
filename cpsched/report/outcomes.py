"""What became of jobs, and whether the load can be done: lines that stand in every summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from cpsched.metrics.outcomes import EXCLUDED, in_words
from cpsched.study.measures import figures_of
from cpsched.study.results import case_of
from cpsched.util.words import counted, escaped, estimate

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from cpsched.study.tables import Tables

#: Resources and their offered loads.
Shares: TypeAlias = "tuple[tuple[str, float], ...]"
#: Names of runs in one line.
_MOST = 3
#: What jobs do that are in all figures.
_COMPLETED = "completed"
_OFFERED = "offered_load_"
#: Rows of a log, not jobs.
_ROWS = (EXCLUDED, "attempts")


class Load(NamedTuple):
    """The offered load of some resources, the cores first, and in words of which runs it is."""

    shares: Shares
    runs: str


def outcome_lines(
    tables: Tables, place: str, *, without: Collection[str] = (), never: Collection[str] = ()
) -> list[str]:
    """
    Return a line for each outcome of the jobs at a place, but for completed ones.

    Runs in which as many jobs have an outcome share a line, which names them.

    Parameters
    ----------
    without
        Kinds of outcomes that are said elsewhere where they are the same in all runs.
    never
        Kinds that are said elsewhere for each run.
    """
    rows = [row for row in tables.outcomes.rows() if case_of(row) == place]
    who = _runs_at(tables, place)
    left_out = (_COMPLETED, *never)
    names = [one for one in dict.fromkeys(row["outcome"] for row in rows) if one not in left_out]
    lines = []
    for name in names:
        groups: dict[str, list[tuple[str, str]]] = {}
        for row in rows:
            if row["outcome"] == name and row["jobs"]:
                groups.setdefault(said(name, row), []).append((row["dispatcher"], row["predictor"]))
        same = len(groups) == 1 and len(next(iter(groups.values()))) == len(who)
        if not (same and name.partition(":")[0] in without):
            lines += [
                f"{text} ({_named(some, who)})" if len(who) > 1 else text
                for text, some in groups.items()
            ]
    return lines


def said(name: str, of: Mapping[str, Any]) -> str:
    """
    Return how many jobs or rows have an outcome, in words.

    Parameters
    ----------
    name, of
        Of :func:`~cpsched.metrics.outcomes.outcomes`.
    """
    jobs = of["jobs"]
    thing = "row" if name.partition(":")[0] in _ROWS else "job"
    number = counted(jobs, thing) if isinstance(jobs, int) else f"{jobs:,.1f} {thing}s"
    work = of["of_core_hours"]
    with_work = "" if work is None else f" with {_percent(work)} of the core-hours"
    return (
        f"{escaped(in_words(name))}: {number}, {_percent(of['of_jobs'])} of the {thing}s{with_work}"
    )


def lines_of_run(summary: Mapping[str, Any]) -> list[str]:
    """Return the same of one run, from its summary, with its offered load."""
    row = figures_of(summary)
    lines = [said(name, of) for name, of in summary["outcomes"].items() if name != _COMPLETED]
    if shares := load_shares(row):
        lines.append(f"offered load: {_of_load(shares, [row])}")
        lines += above_capacity([("the run", shares)])
    return lines


def loads(tables: Tables, place: str) -> list[Load]:
    """Return the offered load at a place: of the cores, and of a resource that is loaded more."""
    who = _runs_at(tables, place)
    groups: dict[Shares, list[tuple[str, str]]] = {}
    for row in tables.summary.rows():
        if case_of(row) == place and (shares := load_shares(row)):
            groups.setdefault(shares, []).append((row["dispatcher"], row["predictor"]))
    return [Load(shares, _named(some, who)) for shares, some in groups.items()]


def load_lines(tables: Tables, place: str) -> Iterator[str]:
    """Yield offered load and utilization at a place, and what a load above 100 % means."""
    rows = [row for row in tables.summary.rows() if case_of(row) == place]
    found = loads(tables, place)
    parts = []
    for load in found:
        text = _of_load(load.shares, [row for row in rows if load_shares(row) == load.shares])
        parts.append(f"{text} ({load.runs})" if len(rows) > 1 else text)
    if parts:
        yield f"offered load: {'; '.join(parts)}"
    yield from above_capacity([(load.runs, load.shares) for load in found])


def above_capacity(loads: Sequence[tuple[str, Shares]]) -> Iterator[str]:
    """Yield a line on the runs whose offered load is above the capacity, if there are any."""
    most = [(runs, *max(shares, key=lambda one: one[1])) for runs, shares in loads]
    over = [f"{runs}: {_percent(share)} of {kind}" for runs, kind, share in most if share > 1]
    if over:
        whose = "every run" if len(over) == len(most) > 1 else "; ".join(over)
        yield (
            f"offered load above 100 % ({whose}): the queue grows until the last submit,"
            " so mean waits depend on the length of the log and have no steady value"
        )


def _of_load(shares: Shares, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the offered load of each resource, with the utilization by runs."""
    return ", ".join(f"{_percent(share)} of {kind}{_used(rows, kind)}" for kind, share in shares)


def _runs_at(tables: Tables, place: str) -> list[tuple[str, str]]:
    """Return dispatcher and predictor of the runs at a place, each once."""
    rows = tables.summary.rows()
    return [(row["dispatcher"], row["predictor"]) for row in rows if case_of(row) == place]


def load_shares(row: Mapping[str, Any]) -> Shares:
    """Return the load of the first resource and of the most loaded one, in steps of 0.1 %."""
    known = {
        name.removeprefix(_OFFERED): round(share, 3)
        for name, share in row.items()
        if name.startswith(_OFFERED) and share is not None
    }
    if not known:
        return ()
    first, most = next(iter(known)), max(known, key=lambda kind: known[kind])
    return tuple((kind, known[kind]) for kind in dict.fromkeys((first, most)))


def _used(rows: Sequence[Mapping[str, Any]], kind: str) -> str:
    """Return how much of a resource runs used, in words; the least and the most of them."""
    for name, when in ((f"steady_utilization_{kind}", " in the steady window"),
                       (f"utilization_{kind}", "")):  # fmt: skip
        used = [row[name] for row in rows if row.get(name) is not None]
        if used:
            least, most = _percent(min(used)), _percent(max(used))
            values = least if least == most else f"{least.removesuffix(' %')} to {most}"
            return f", utilization{when} {values}"
    return ""


def _named(some: Sequence[tuple[str, str]], every: Sequence[tuple[str, str]]) -> str:
    """Return in words which of the runs these are."""
    if len(some) == len(every):
        return "every run" if len(every) > 1 else "the run"
    several = len({predictor for _, predictor in every}) > 1
    names = [
        escaped(f"{dispatcher} with {estimate(predictor)}" if several else dispatcher)
        for dispatcher, predictor in some
    ]
    more = [f"{len(names) - _MOST} more"] if len(names) > _MOST + 1 else []
    *most, last = [*names[:_MOST], *more] if more else names
    return f"{', '.join(most)} and {last}" if most else last


def _percent(share: float) -> str:
    """Return a share in percent, with the digits that a small one needs."""
    tiny = 0 < share < 0.0005
    return f"{100 * share:.{2 if tiny else 1}f} %" if share >= 0.00005 or not share else "0.00 %"
