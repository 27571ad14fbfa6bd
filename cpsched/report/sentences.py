"""What a study found, in sentences; :mod:`cpsched.report.findings` decides what may be said."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from cpsched.report.findings import Against, Change, Claim, lost, ratio_of, span
from cpsched.report.overview import overview
from cpsched.report.record import of_groups
from cpsched.study.comparisons import key_of
from cpsched.study.gains import NOTICED
from cpsched.study.results import case_of
from cpsched.study.verdicts import ONE_RUN, is_of_log
from cpsched.util.spec import build
from cpsched.util.types import JobType
from cpsched.util.words import estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cpsched.dispatch.contract import Dispatcher
    from cpsched.model.workload import Workload
    from cpsched.study.results import RunKey
    from cpsched.study.tables import Tables

Row = dict[str, Any]
Changes = dict["RunKey", Change]
#: The measure of a gain. Area-weighted response hardly differs between dispatchers that keep the
#: machine busy; slowdown is what most users notice.
QUALITY, LONGEST = "bounded_slowdown_mean", "wait_max_s"
#: What is added for repetitions, where nobody knows who reads it.
SEVERAL_SEEDS = "several repetitions"
#: Added where intervals are over the days of the log.
_TOO_NARROW = (
    "Intervals are over the days of the log; on a system whose queue never empties for weeks, they"
    " hold the truth less often than in 95 % of cases."
)
_SHORT = (
    "The log is shorter than eight days, too short for intervals over its parts, so another part"
    " may give other results."
)
_OF_LOG = (
    "The repetitions confirm this for the jobs of this log; the interval over its days does not, so"
    " other months may give other results."
)
#: The kinds of groups of which one is named.
_KINDS = ("queue", "account")
#: With fewer repetitions the front says something of these runs alone.
_FEWEST = 2
#: Most names in one sentence.
_MOST = 6


@dataclass(frozen=True, slots=True)
class Finding:
    """
    What a study found on one workload and system.

    Attributes
    ----------
    place
        ``workload on system``.
    sentences
        The first says what was gained and at what price.
    about
        Dispatcher and predictor of the run that the first sentence is about.
    """

    place: str
    sentences: tuple[str, ...]
    about: tuple[str, str]


def conclusions(tables: Tables, repeat: str = SEVERAL_SEEDS) -> list[str]:
    """
    Return the finding of a study, a sentence a line; nothing where there is nothing to compare.

    With several workloads and systems the first lines cover all, then each has a line that begins
    with their names; what is said of all of them is last.

    Parameters
    ----------
    repeat
        What whoever reads it adds for repetitions, in the words of the front end: ``--repeat 5``.
    """
    found = findings(tables, repeat)
    if len(found) < 2:
        return [sentence for one in found for sentence in one.sentences]
    shared = [
        one for one in found[0].sentences[1:] if all(one in other.sentences for other in found)
    ]
    own = [[one for one in of.sentences if one not in shared] for of in found]
    told = [f"{of.place}: {' '.join(some)}" for of, some in zip(found, own, strict=True) if some]
    return [*overview(tables).sentences, *told, *shared]


def findings(tables: Tables, repeat: str = SEVERAL_SEEDS) -> list[Finding]:
    """Return the finding on each workload and system that has a baseline."""
    if tables.results.by_group:
        whole = _of_scenarios(tables, repeat)
        return [] if whole is None else [whole]
    knowing = {key_of(row) for row in tables.summary.rows() if row["knows_runtimes"]}
    found = []
    for place, changes in _changes(tables).items():
        real = {key: one for key, one in changes.items() if key not in knowing} or changes
        sentences = [*_of_dispatchers(tables, real, repeat), *_front(tables, place)]
        if len(real) < len(changes):
            sentences.append("Runs that know the actual runtimes are left out of this finding.")
        found.append(Finding(place, tuple(sentences), _best(real)[2:]))
    return found


def _changes(tables: Tables) -> dict[str, Changes]:
    """Return what each run changes over all jobs, by workload and system."""
    summary = {key_of(row): row for row in tables.summary.rows()}
    several = len({key[3] for key in summary}) > 1
    found: dict[str, Changes] = defaultdict(dict)
    for key, figures in tables.compared.items():
        quality = figures.get(QUALITY)
        if quality is None:
            continue
        longest = figures.get(LONGEST)
        base = quality.base_key
        found[f"{key[0]} on {key[1]}"][key] = Change(
            name=_name(*key[2:], several),
            base=_name(*base[2:], several) + quality.elsewhere,
            figure=Against.of(quality),
            longest=None if longest is None else Against.of(longest),
            fates=tuple(lost(summary[key], summary[base])),
            placed=_placed(quality.row),
            days=quality.row["days"],
            pairs=quality.row["pairs"],
        )
    return found


def _placed(row: Mapping[str, Any]) -> str:
    """Say that two runs do not place jobs alike, so that more than the order differs."""
    ours, theirs = row["allocator"], row["base_allocator"]
    if ours == theirs or None in (ours, theirs):
        return ""
    return f"jobs are placed by {ours} instead of {theirs}, which may be part of it"


def _best(changes: Changes) -> RunKey:
    """Return the run of which most may be claimed, and of these the one with the lowest figure."""
    return min(changes, key=lambda key: (changes[key].claim, changes[key].figure.ratio))


def _of_dispatchers(tables: Tables, changes: Changes, repeat: str) -> Iterator[str]:
    """Say what the best run gains, which others are not clearly behind it, and what is free."""
    key = _best(changes)
    best = changes[key]
    figure, what = best.figure, "mean bounded slowdown"
    interval = f", {figure.interval}" if figure.interval else ""
    if best.claim is Claim.GAIN:
        by = f"{100 * (1 - figure.ratio):.0f} %"
        yield (
            f"{best.name} lowers the {what} of {best.base} by {by} ({figure.values}{interval});"
            f" {best.price()}."
        )
        yield from _level(tables, changes, key)
        yield from _without_price(changes, best)
    elif best.claim is Claim.ONE_RUN:
        lowest = " has the lowest" if len(changes) > 1 else " has a lower"
        yield (
            f"In one run each, {best.name}{lowest} {what}, {figure.values} ({figure.change} than"
            f" {best.base}); {best.price()}."
        )
        yield from _without_price(changes, best)
    elif best.claim is Claim.DEARER:
        yield (
            f"No run gains on {best.base} without losing jobs: {best.name} has a {what} of"
            f" {figure.values}{interval}; {best.price()}."
        )
    else:
        sure = " for certain" if best.claim is Claim.UNCLEAR else ""
        yield (
            f"No run lowers the {what} of {best.base}{sure}: {best.name} comes closest with"
            f" {figure.values}{interval}; {best.price()}."
        )
    caveat = _caveat([best], repeat)
    if caveat:
        yield caveat


def _caveat(changes: Sequence[Change], repeat: str) -> str:
    """Say what the intervals of some changes leave open; empty where there is none."""
    verdicts = [one.figure.verdict for one in changes]
    if ONE_RUN in verdicts or any(one.pairs == 1 for one in changes):
        return _unconfirmed(repeat)
    if any(map(is_of_log, verdicts)):
        return _OF_LOG if any(one.days for one in changes) else _SHORT
    return _TOO_NARROW if any(one.figure.interval for one in changes) else ""


def _unconfirmed(repeat: str) -> str:
    """Say what one run each is worth, and what confirms it."""
    return (
        "One run each confirms no difference, because moving submits by seconds can change as much:"
        f" use {repeat} to confirm."
    )


def _level(tables: Tables, changes: Changes, best: RunKey) -> Iterator[str]:
    """Name the other runs that gain and are not clearly behind the best."""
    others = [
        f"{one.name} ({one.figure.shown})"
        for key, one in changes.items()
        if key != best and one.claim is Claim.GAIN and not tables.is_lower(best, key, QUALITY)
    ]
    if others:
        yield f"Not clearly behind it: {_some(others)}."


def _without_price(changes: Changes, best: Change) -> Iterator[str]:
    """Say which run gains most without a longer maximum wait, if that of the best one is longer."""
    if best.is_free or len(changes) < 2:
        return
    lower = [one for one in changes.values() if one.claim in (Claim.GAIN, Claim.ONE_RUN)]
    free = [one for one in lower if one.is_free and one.claim == best.claim]
    if free:
        one = min(free, key=lambda one: one.figure.ratio)
        yield (
            f"Among runs whose maximum wait is no longer, {one.name} is lowest: {one.figure.values}"
            f" ({one.figure.change}); {one.price()}."
        )
    elif not any(one.is_free for one in lower):
        surely = "clearly" if best.claim is Claim.GAIN else "noticeably"
        yield f"Every run with a {surely} lower slowdown has a longer maximum wait."


def _front(tables: Tables, place: str) -> Iterator[str]:
    """Say which runs are on the Pareto front, preferring those that do not know the runtimes."""
    rows = [
        row
        for row in tables.summary.rows()
        if case_of(row) == place and row["on_front"] is not None
    ]
    rows = [row for row in rows if not row["knows_runtimes"]] or rows
    if all(row["repetitions"] < _FEWEST for row in rows):
        return
    several = len({row["predictor"] for row in rows}) > 1
    names = [_name(row["dispatcher"], row["predictor"], several) for row in rows if row["on_front"]]
    if names:
        yield (
            "On the Pareto front of area-weighted response, p99.9 wait and mean bounded slowdown:"
            f" {_some(names)}."
        )


def _of_scenarios(tables: Tables, repeat: str) -> Finding | None:
    """Say which scenario helps most, then in a sentence what each one changes."""
    groups: dict[RunKey, list[Row]] = {}
    for row in tables.gains.rows():
        groups.setdefault(key_of(row), []).append(row)
    if not groups:
        return None
    changes = {key: _scenario(tables, key, rows[0]) for key, rows in groups.items()}
    whom = _counted(tables)
    made_of = {run.key: run.changes for run in tables.results.runs}
    sentences = []
    for key, rows in groups.items():
        said, whose = _said(changes[key], rows[0], whom.get(key, "")), None
        if (most := _most_changed(rows)) is not None:
            whose, change = (most["kind"], most["group"]), _signed(most["difference"])
            said += f"; the change is largest for {' '.join(whose)} ({change} a job)"
        sentences.append(f"{key[2]}: {said}{of_groups(tables, (key[2], *made_of[key]), whose)}.")
    best = _best(changes)
    if len(groups) > 1:
        sentences.insert(0, _most_helpful(changes[best], len(groups), whom.get(best, "")))
    start = tables.results.measure_from
    if start is not None:
        sentences.append(
            f"Only jobs submitted from {start} on are compared; tables of whole runs include all."
        )
    caveat = _caveat(list(changes.values()), repeat)
    if caveat:
        sentences.append(caveat)
    workload, system, name, predictor = best
    return Finding(f"{workload} on {system}", tuple(sentences), (name, predictor))


def _scenario(tables: Tables, key: RunKey, row: Row) -> Change:
    """Return what a scenario changes for the jobs that ran in both."""
    wait, longest = (
        Against(
            span(row[name]), span(row[f"base_{name}"]), ratio_of(row[name], row[f"base_{name}"]),
            verdict, interval,
        )
        for name, verdict, interval in (
            ("wait_mean_s", row["verdict"], _interval(row)),
            ("wait_max_s", row["wait_max_verdict"], ""),
        )
    )  # fmt: skip
    summary = {key_of(one): one for one in tables.summary.rows()}
    compared = tables.compared[key]
    base = next(iter(compared.values())).base_key
    waits = compared["wait_mean_s"].row if "wait_mean_s" in compared else {}
    return Change(
        name=key[2],
        base=base[2],
        figure=wait,
        longest=longest,
        fates=tuple(lost(summary[key], summary[base])),
        days=waits.get("days"),
        pairs=waits.get("pairs"),
    )


def _interval(row: Row) -> str:
    if row["difference_low"] is None:
        return ""
    low, high = (_signed(row[f"difference_{end}"]) for end in ("low", "high"))
    return f"{low} to {high}"


def _most_helpful(best: Change, number: int, whom: str) -> str:
    """Say which scenario shortens the mean wait most, or why none is named."""
    what = f"mean wait{whom}"
    interval = f", {best.figure.interval}" if best.figure.interval else ""
    said = f"{best.figure.values} ({best.figure.change}{interval}); {best.price()}"
    if best.claim is Claim.GAIN:
        return f"Of {number} scenarios, {best.name} shortens the {what} most: {said}."
    if best.claim is Claim.ONE_RUN:
        return (
            f"Of {number} scenarios, {best.name} has the shortest {what}, perhaps by chance:"
            f" {said}."
        )
    if best.claim is Claim.UNCLEAR:
        return (
            f"None of the {number} scenarios that lose no jobs shortens the mean wait for certain;"
            f" {best.name} comes closest: {said}."
        )
    if best.claim is Claim.DEARER:
        return (
            f"None of the {number} scenarios shortens the mean wait without losing jobs:"
            f" {best.name} has a {what} of {said}."
        )
    return f"None of the {number} scenarios shortens the mean wait ({best.figure.base_shown})."


def _counted(tables: Tables) -> dict[RunKey, str]:
    """Say of how many jobs the figures of a scenario are that has other jobs than its baseline."""
    rows = tables.gains.rows()
    jobs = {key_of(row): row["jobs"] for row in rows if row["kind"] == "all"}
    simulated = {key_of(row): row["simulated"] for row in tables.summary.rows()}
    bases = {key: next(iter(own.values())).base_key for key, own in tables.compared.items()}
    return {
        key: f" of the {jobs[key]:,} jobs that ran in both"
        for key, base in bases.items()
        if key in jobs and simulated.get(key) != simulated.get(base)
    }


def _said(change: Change, row: Row, whom: str) -> str:
    """Say what a scenario changes for all jobs that ran in both, and at whose cost."""
    less, more = row["shorter"], row["longer"]
    if change.figure.ratio == 1 and not (less or more):
        nothing = "" if change.fates else "changes nothing, "
        return "; ".join([f"{nothing}no job waits longer or shorter", *change.fates])
    interval = ""
    if change.figure.interval:
        interval = f", 95 % interval of the difference {change.figure.interval}"
    return (
        f"mean wait{whom} {change.figure.values} ({change.figure.change}{interval});"
        f" {change.price()}; {100 * less:.0f} % of the jobs wait at least a minute less,"
        f" {100 * more:.0f} % at least a minute more"
    )


def _most_changed(rows: Sequence[Row]) -> Row | None:
    """Return the group whose waits change most in total; None where that is next to nothing."""
    some = [row for row in rows if row["kind"] in _KINDS]
    most = max(some, key=lambda row: abs(row["hours"]), default=None)
    return None if most is None or abs(most["difference"]) < NOTICED else most


def _signed(seconds: float) -> str:
    shown = span(abs(seconds))
    return shown if shown == "0 s" else f"{'-' if seconds < 0 else '+'}{shown}"


def _name(dispatcher: str, predictor: str, several: bool) -> str:
    """Return a dispatcher, with its predictor if there are several."""
    return f"{dispatcher} with {estimate(predictor)}" if several else dispatcher


def _some(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are."""
    more = [f"{len(names) - _MOST} more"] if len(names) > _MOST else []
    return _listed([*names[:_MOST], *more])


def _listed(parts: Iterable[str]) -> str:
    """Return parts of a sentence: ``a, b and c``."""
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


def without_effect(dispatcher: str, workload: Workload) -> str | None:
    """
    Return a line if the log has no jobs for which this dispatcher is special; else None.

    Parameters
    ----------
    dispatcher
        A specification.
    """
    setting = cast("Dispatcher", build("dispatchers", dispatcher)).works_with
    some = {
        "restarts": bool(workload.restartable.any()),
        "malleable": bool(np.any(workload.job_type != JobType.RIGID)),
    }
    if some.get(setting, True):
        return None
    what = "may be restarted" if setting == "restarts" else "may change its size"
    return (
        f"no job of {workload.title} {what}, but {dispatcher} is for such jobs: --{setting} makes"
        " a share of the jobs so"
    )
