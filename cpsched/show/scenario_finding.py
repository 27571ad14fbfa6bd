"""What scenarios change, in words: a sentence each, the most helpful one first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.show.finding import LONGEST, NOTICEABLE, WHICH, Finding, key_of, shown, span, value_of
from cpsched.study.gains import NOTICED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cpsched.show.finding import Row
    from cpsched.study.tables import Cell, Tables

#: The least share of the waiting time that is told: a second here and there is a log's rounding.
_HELD = 0.005
#: The kinds of groups of which one is named.
_KINDS = ("queue", "account")
#: Fates that more jobs may have under a scenario: their count, the total, and the words.
_ENDS = (
    ("timeout", "simulated", "are stopped at their time limit"),
    ("rejected", "in_log", "can never run"),
)
#: The least rise of such a share that is reported.
_TOLD = 0.0005


def of_scenarios(tables: Tables) -> Finding | None:
    """Say which scenario helps most, then in a sentence what each one changes."""
    groups: dict[tuple[Cell, ...], list[Row]] = {}
    for row in tables.gains.rows():
        groups.setdefault(key_of(row), []).append(row)
    if not groups:
        return None
    start = tables.results.measure_from
    longest = {
        key_of(row): row
        for row in tables.differences.rows()
        if (row["class"], row["figure"]) == ("all", LONGEST) and start is None
    }
    stopped = _stopped(tables)
    sentences = []
    for key, rows in groups.items():
        price = stopped.get(key, "")
        changed = _changes(rows[0], longest.get(key), price)
        sentences.append(f"{key[2]}: {changed}{_for_whom(rows)}.")
    best = min(groups, key=lambda key: value_of(groups[key][0], "difference"))
    if len(groups) > 1:
        tail = _tail(longest.get(best))
        sentences.insert(0, _most_helpful(str(best[2]), groups[best][0], len(groups), tail))
    if start is not None:
        sentences.append(
            f"Only jobs submitted from {start} on are compared; tables of whole runs include all."
        )
    if not any(rows[0]["difference_low"] is not None for rows in groups.values()):
        sentences.append(
            "There are no intervals, which need eight days of log: small differences may be chance."
        )
    sentences += _held(max((rows[0] for rows in groups.values()), key=_jobs_of))
    workload, system, name, predictor = map(str, best)
    return Finding(f"{workload} on {system}", tuple(sentences), (name, predictor))


def _most_helpful(name: str, row: Row, number: int, tail: str) -> str:
    wait, base = value_of(row, "wait_mean_s"), value_of(row, "base_wait_mean_s")
    if wait >= base:
        return f"None of the {number} scenarios shortens the mean wait ({span(base)})."
    if wait > base * (1 - NOTICEABLE):
        return (
            f"None of the {number} scenarios shortens the mean wait ({span(base)}) by"
            f" {100 * NOTICEABLE:.0f} % or more."
        )
    return (
        f"Of {number} scenarios, {name} shortens the mean wait most: {span(wait)} instead of"
        f" {span(base)} ({_percent(base, wait)}){tail}."
    )


def _jobs_of(row: Row) -> float:
    return value_of(row, "jobs")


def _held(row: Row) -> Iterator[str]:
    """Say how much of the baseline's waits is not the scheduler's, if it is worth a word."""
    wait = value_of(row, "base_wait_mean_s")
    parts = (
        ("time", "before begin times and under holds, which no scenario changes"),
        ("jobs", "for other jobs (dependencies, array limits), which changes only with these"),
    )
    shares = [
        (value_of(row, f"base_held_by_{what}_s") / wait if wait else 0.0, why)
        for what, why in parts
    ]
    told = [(share, why) for share, why in shares if share >= _HELD]
    if told:
        whys = [f"{100 * share:.0f} % {why}" if len(told) > 1 else why for share, why in told]
        yield (
            f"{100 * sum(share for share, _ in told):.0f} % of the baseline's waiting time is not"
            f" the scheduler's: {'; '.join(whys)}."
        )


def _stopped(tables: Tables) -> dict[tuple[Cell, ...], str]:
    """
    Say for each scenario whether more jobs than in the baseline end early or never run.

    Such jobs leave the machine to others, so without this note a shorter wait would look free.
    """
    runs = {key_of(row): row for row in tables.summary.rows()}
    said: dict[tuple[Cell, ...], str] = {}
    for row in tables.differences.rows():
        base = runs.get(tuple(row[f"base_{name}"] for name in WHICH))
        run = runs.get(key_of(row))
        if base is not None and run is not None:
            said[key_of(row)] = "".join(
                f"; {100 * now:.1f} % of the jobs {what} instead of {100 * then:.1f} %"
                for count, of, what in _ENDS
                for now, then in [(_share_of(run, count, of), _share_of(base, count, of))]
                if now - then >= _TOLD
            )
    return said


def _share_of(row: Row, count: str, of: str) -> float:
    return value_of(row, count) / max(value_of(row, of), 1)


def _changes(row: Row, longest: Row | None, price: str) -> str:
    """Say what a scenario changes for all jobs that ran in both, and at whose cost."""
    wait, base = value_of(row, "wait_mean_s"), value_of(row, "base_wait_mean_s")
    less, more = value_of(row, "shorter"), value_of(row, "longer")
    if wait == base and not (less or more):
        nothing = "" if price else "changes nothing, "
        return f"{nothing}no job waits longer or shorter{price}"
    interval = ""
    if row["difference_low"] is not None:
        low, high = (_signed(value_of(row, f"difference_{end}")) for end in ("low", "high"))
        interval = f", 95 % interval of the difference {low} to {high}"
    return (
        f"mean wait {span(wait)} instead of {span(base)} ({_percent(base, wait)}{interval})"
        f"{_tail(longest)}; {100 * less:.0f} % of the jobs wait at least a minute less,"
        f" {100 * more:.0f} % at least a minute more{price}"
    )


def _tail(longest: Row | None) -> str:
    if longest is None:
        return ""
    return f", longest wait {shown(longest)} instead of {shown(longest, 'base_value')}"


def _for_whom(rows: Sequence[Row]) -> str:
    """Say for which group waits change most in total."""
    some = [row for row in rows if row["kind"] in _KINDS]
    if not some:
        return ""
    most = max(some, key=lambda row: abs(value_of(row, "hours")))
    change = value_of(most, "difference")
    if abs(change) < NOTICED:
        return ""
    return f"; the change is largest for {most['kind']} {most['group']} ({_signed(change)} a job)"


def _signed(seconds: float) -> str:
    return f"{'-' if seconds < 0 else '+'}{span(abs(seconds))}"


def _percent(before: float, after: float) -> str:
    """Return a change in words, such as "5 % less"."""
    if before == after:
        return "the same"
    if not before:
        return "it was 0"
    share = 100 * (after / before - 1)
    if abs(share) < 1:
        return "less than 1 % less" if share < 0 else "less than 1 % more"
    return f"{abs(share):.0f} % {'less' if share < 0 else 'more'}"
