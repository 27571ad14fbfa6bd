"""What a study found, in sentences: what was gained, what that cost, and how certain it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from cpsched.base.spec import build
from cpsched.base.types import JobType
from cpsched.base.words import duration, estimate
from cpsched.metrics.leading import BY_COLUMN
from cpsched.study.comparisons import EQUAL, LOWER, SEEDS_ONLY, UNKNOWN, key_of
from cpsched.study.gains import NOTICED
from cpsched.study.results import place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cpsched.dispatch.contract import Dispatcher
    from cpsched.model.workload import Workload
    from cpsched.study.comparisons import Difference
    from cpsched.study.results import RunKey
    from cpsched.study.tables import Tables

Row = dict[str, Any]
#: A run's figures against the baseline's.
Compared = dict[str, "Difference"]
#: The measure of a gain. Area-weighted response hardly differs between dispatchers that keep the
#: machine busy; slowdown is what most users notice.
QUALITY, LONGEST = "bounded_slowdown_mean", "wait_max_s"
#: Smaller changes are not mentioned.
NOTICEABLE = 0.01


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


def shown(one: Difference) -> str:
    """Return a figure of a run in readable form."""
    return BY_COLUMN[one.figure].shown(one.value)


def base_shown(one: Difference) -> str:
    """Return the same figure of its baseline."""
    return BY_COLUMN[one.figure].shown(one.base_value)


def span(seconds: float) -> str:
    """Return a time as people read it."""
    return duration(seconds) if seconds else "0 s"


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
    groups: dict[RunKey, list[Row]] = {}
    for row in tables.gains.rows():
        groups.setdefault(key_of(row), []).append(row)
    if not groups:
        return None
    start = tables.results.measure_from
    longest = {
        key: figures[LONGEST]
        for key, figures in tables.compared.items()
        if LONGEST in figures and start is None
    }
    stopped, counted = _stopped(tables), _counted(tables)
    sentences = []
    for key, rows in groups.items():
        price = stopped.get(key, "")
        changed = counted.get(key, "") + _changes(rows[0], longest.get(key), price)
        sentences.append(f"{key[2]}: {changed}{_for_whom(rows)}.")
    best = min(groups, key=lambda key: groups[key][0]["difference"])
    if len(groups) > 1:
        tail = _tail(longest.get(best))
        sentences.insert(0, _most_helpful(best[2], groups[best][0], len(groups), tail))
    if start is not None:
        sentences.append(
            f"Only jobs submitted from {start} on are compared; tables of whole runs include all."
        )
    if not any(rows[0]["difference_low"] is not None for rows in groups.values()):
        sentences.append(
            "There are no intervals, which need eight days of log: small differences may be chance."
        )
    workload, system, name, predictor = best
    return Finding(f"{workload} on {system}", tuple(sentences), (name, predictor))


def _most_helpful(name: str, row: Row, number: int, tail: str) -> str:
    wait, base = row["wait_mean_s"], row["base_wait_mean_s"]
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


def _stopped(tables: Tables) -> dict[RunKey, str]:
    """
    Say for each scenario whether more jobs than in the baseline end early or never run.

    Such jobs leave the machine to others, so without this note a shorter wait would look free.
    """
    runs = {key_of(row): row for row in tables.summary.rows()}
    said: dict[RunKey, str] = {}
    for key, figures in tables.compared.items():
        run, base = runs.get(key), runs.get(next(iter(figures.values())).base_key)
        if base is not None and run is not None:
            said[key] = "".join(
                f"; {100 * now:.1f} % of the jobs {what} instead of {100 * then:.1f} %"
                for count, of, what in _ENDS
                for now, then in [(_share_of(run, count, of), _share_of(base, count, of))]
                if now - then >= _TOLD
            )
    return said


def _counted(tables: Tables) -> dict[RunKey, str]:
    """Say what the sentences of scenarios are about that have other jobs than their baseline."""
    simulated = {key_of(row): row["simulated"] for row in tables.summary.rows()}
    bases = {key: next(iter(own.values())).base_key for key, own in tables.compared.items()}
    return {
        key: "of the jobs that ran in both, "
        for key, base in bases.items()
        if simulated.get(key) != simulated.get(base)
    }


def _share_of(row: Row, count: str, of: str) -> float:
    return float(row[count] / max(row[of], 1))


def _changes(row: Row, longest: Difference | None, price: str) -> str:
    """Say what a scenario changes for all jobs that ran in both, and at whose cost."""
    wait, base = row["wait_mean_s"], row["base_wait_mean_s"]
    less, more = row["shorter"], row["longer"]
    if wait == base and not (less or more):
        nothing = "" if price else "changes nothing, "
        return f"{nothing}no job waits longer or shorter{price}"
    interval = ""
    if row["difference_low"] is not None:
        low, high = (_signed(row[f"difference_{end}"]) for end in ("low", "high"))
        interval = f", 95 % interval of the difference {low} to {high}"
    return (
        f"mean wait {span(wait)} instead of {span(base)} ({_percent(base, wait)}{interval})"
        f"{_tail(longest)}; {100 * less:.0f} % of the jobs wait at least a minute less,"
        f" {100 * more:.0f} % at least a minute more{price}"
    )


def _tail(longest: Difference | None) -> str:
    if longest is None:
        return ""
    return f", longest wait {shown(longest)} instead of {base_shown(longest)}"


def _for_whom(rows: Sequence[Row]) -> str:
    """Say for which group waits change most in total."""
    some = [row for row in rows if row["kind"] in _KINDS]
    if not some:
        return ""
    most = max(some, key=lambda row: abs(row["hours"]))
    change = most["difference"]
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


#: Most names in one sentence.
_MOST = 6
#: What is added for repetitions, where nobody knows who reads it.
SEVERAL_SEEDS = "several seeds"


def conclusions(tables: Tables, repeat: str = SEVERAL_SEEDS) -> list[str]:
    """
    Return the finding of a study, a sentence a line; nothing where there is nothing to compare.

    With several workloads and systems the first line covers all, and the others begin with their
    names.

    Parameters
    ----------
    repeat
        What whoever reads it adds for repetitions, in the words of the front end: ``--seeds 5``.
    """
    found = findings(tables, repeat)
    if len(found) < 2:
        return [sentence for one in found for sentence in one.sentences]
    return [
        _overview(tables, found),
        *(f"{one.place}: {sentence}" for one in found for sentence in one.sentences),
    ]


def findings(tables: Tables, repeat: str = SEVERAL_SEEDS) -> list[Finding]:
    """Return the finding on each workload and system that has a baseline."""
    if tables.results.by_group:
        whole = of_scenarios(tables)
        return [] if whole is None else [whole]
    knowing = {key_of(row) for row in tables.summary.rows() if row["knows_runtimes"]}
    found = []
    for place, runs in compared(tables).items():
        known = [one for one in runs if QUALITY in one and LONGEST in one]
        real = [one for one in known if one[QUALITY].key not in knowing]
        if known:
            told = bool(real) and len(real) < len(known)
            found.append(_of_place(tables, place, real or known, told, repeat))
    return found


def compared(tables: Tables) -> dict[str, list[Compared]]:
    """Return the figures over all jobs of each run but the baselines, by workload and system."""
    found: dict[str, list[Compared]] = {}
    for (workload, system, *_), figures in tables.compared.items():
        found.setdefault(f"{workload} on {system}", []).append(figures)
    return found


def _of_place(
    tables: Tables, place: str, runs: Sequence[Compared], told: bool, repeat: str
) -> Finding:
    several = len({one[QUALITY].key[3] for one in runs}) > 1
    best = min(runs, key=lambda one: (not _is_gain(one[QUALITY]), _ratio(one[QUALITY])))
    sentences = [_answer(best, several), _how_sure(best, repeat)]
    sentences += _without_price(best, runs, several)
    sentences += _front(tables, place)
    if told:
        sentences.append("Runs that know the actual runtimes are left out of this finding.")
    return Finding(place, tuple(sentences), _about(best))


def _answer(one: Compared, several: bool) -> str:
    """Say what a run gains against its baseline, and at what price, in one sentence."""
    quality, name, base = one[QUALITY], _name(one, several), _base(one)
    values = f"{shown(quality)} instead of {base_shown(quality)}"
    if _is_gain(quality):
        by = f"by {_share(quality)} %"
        return (
            f"{name} cuts the mean bounded slowdown {by} against {base} ({values}), {_price(one)}."
        )
    if quality.verdict == EQUAL or not _change(quality):
        return (
            f"Nothing lowers the mean bounded slowdown of {base} ({base_shown(quality)});"
            f" {name} comes closest with {shown(quality)}, {_price(one, joined='and')}."
        )
    if _ratio(quality) < 1:
        return (
            f"Nothing lowers the mean bounded slowdown of {base} for certain: {name} has {values},"
            f" which is within the variation between runs, {_price(one)}."
        )
    return (
        f"Nothing lowers the mean bounded slowdown of {base}: {name} comes closest with {values}"
        f" ({_share(quality)} % more), {_price(one, joined='and')}."
    )


def _price(one: Compared, joined: str = "but") -> str:
    """Say how the longest wait changes."""
    longest = one[LONGEST]
    values = f"({shown(longest)} instead of {base_shown(longest)})"
    if not _change(longest):
        return f"and the longest wait stays at {shown(longest)}"
    if _ratio(longest) < 1:
        return f"and the longest wait is {_share(longest)} % shorter {values}"
    if _ratio(longest) >= 2:
        return f"{joined} the longest wait is {_ratio(longest):,.1f} times as long {values}"
    return f"{joined} the longest wait is {_share(longest)} % longer {values}"


def _how_sure(one: Compared, repeat: str) -> str:
    """Say which of the changes are significant by their intervals."""
    rows = {name: one[name] for name in (LONGEST, QUALITY) if name in one}
    verdicts = {row.verdict for row in rows.values()}
    if all(verdict in (UNKNOWN, EQUAL) for verdict in verdicts):
        return (
            "Each was run once, so there are no intervals and the differences may be noise:"
            f" repeat with {repeat} to see."
        )
    clear = {name: row for name, row in rows.items() if row.is_clear}
    unclear = [f"the {BY_COLUMN[name].title}" for name in rows if name not in clear]
    said = []
    if clear:
        each = [f"the {BY_COLUMN[name].title} ({_interval(row)})" for name, row in clear.items()]
        said.append(f"Significant by every 95 % interval: {_listed(each)}")
    if unclear:
        start = "not" if clear else "Not significant by their 95 % intervals"
        said.append(f"{start}: {_listed(unclear)}")
    seeds = any(verdict.endswith(SEEDS_ONLY) for verdict in verdicts)
    few = (
        ". The log is too short for intervals over its weeks, so another part of it may give other"
        " results"
    )
    return f"{'; '.join(said)}{few if seeds else ''}."


def _without_price(best: Compared, runs: Sequence[Compared], several: bool) -> Iterator[str]:
    """Say which run gains most without a longer longest wait, if that of the best one is longer."""
    if not _is_gain(best[QUALITY]) or _ratio(best[LONGEST]) <= 1 or not _change(best[LONGEST]):
        return
    free = [
        one
        for one in runs
        if _is_gain(one[QUALITY]) and (_ratio(one[LONGEST]) <= 1 or not _change(one[LONGEST]))
    ]
    if not free:
        if len(runs) > 1:
            yield "No run lowers it without a longer longest wait."
        return
    one = min(free, key=lambda one: _ratio(one[QUALITY]))
    yield (
        f"Without a longer longest wait, {_name(one, several)} gains most: mean bounded slowdown"
        f" {shown(one[QUALITY])} ({_share(one[QUALITY])} % less), {_price(one)}."
    )


def _front(tables: Tables, place: str) -> Iterator[str]:
    """Say which runs are on the Pareto front, preferring those that do not know the runtimes."""
    rows = [
        row
        for row in tables.summary.rows()
        if place_of(row) == place and row["on_front"] is not None
    ]
    rows = [row for row in rows if not row["knows_runtimes"]] or rows
    several = len({row["predictor"] for row in rows}) > 1
    names = [
        _run_name(row["dispatcher"], row["predictor"], several) for row in rows if row["on_front"]
    ]
    if names:
        yield (
            "On the Pareto front of area-weighted response, p99.9 wait and mean bounded slowdown:"
            f" {_some(names)}."
        )


def _overview(tables: Tables, found: Sequence[Finding]) -> str:
    """Summarise several workloads and systems in one sentence."""
    best: dict[str, list[str]] = {}
    runs, several = compared(tables), len({one.about[1] for one in found}) > 1
    for finding in found:
        one = next(one for one in runs[finding.place] if _about(one) == finding.about)
        if _is_gain(one[QUALITY]):
            best.setdefault(_name(one, several), []).append(
                f"×{_ratio(one[QUALITY]):.2f} on {finding.place}, where the longest wait is"
                f" ×{_ratio(one[LONGEST]):.2f}"
            )
    if not best:
        return f"Nothing beats the baseline on any of the {len(found)} workloads and systems."
    said = [f"{who} ({'; '.join(where)})" for who, where in best.items()]
    number = sum(map(len, best.values()))
    rest = "" if number == len(found) else f"; on the other {len(found) - number} nothing lowers it"
    return f"The mean bounded slowdown falls most with {_listed(said)}{rest}."


def _is_gain(one: Difference) -> bool:
    """Whether a figure is lower by every interval, or noticeably if there is none."""
    if one.verdict == UNKNOWN:
        return _ratio(one) < 1 - NOTICEABLE
    return one.verdict.startswith(LOWER)


def _ratio(one: Difference) -> float:
    """Return the ratio to the baseline's figure; that of the means if no ratio is defined."""
    if one.ratio is not None:
        return one.ratio
    value, base = one.value, one.base_value
    return 1.0 if value == base else value / base if base else float("inf")


def _change(one: Difference) -> bool:
    """Whether a figure differs noticeably."""
    return abs(_ratio(one) - 1) >= NOTICEABLE


def _share(one: Difference) -> str:
    """Return the difference of a figure in percent."""
    return f"{100 * abs(_ratio(one) - 1):,.0f}"


def _interval(one: Difference) -> str:
    """Return a ratio with its widest interval."""
    said = f"×{_ratio(one):.2f}"
    return said if one.interval is None else f"{said}, {{:.2f}} to {{:.2f}}".format(*one.interval)


def _run_name(dispatcher: str, predictor: str, several: bool) -> str:
    """Return a dispatcher, with its predictor if there are several."""
    return f"{dispatcher} with {estimate(predictor)}" if several else dispatcher


def _about(one: Compared) -> tuple[str, str]:
    return one[QUALITY].key[2:]


def _name(one: Compared, several: bool) -> str:
    return _run_name(*_about(one), several)


def _some(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are."""
    more = [f"{len(names) - _MOST} more"] if len(names) > _MOST else []
    return _listed([*names[:_MOST], *more])


def _base(one: Compared) -> str:
    """Return what a run is compared with: what differs from it."""
    quality = one[QUALITY]
    dispatcher, predictor = quality.base_key[2:]
    return _run_name(dispatcher, predictor, predictor != quality.key[3]) + quality.elsewhere


def _listed(parts: Iterable[str], comma: str = ", ") -> str:
    """Return parts of a sentence: ``a, b and c``."""
    *most, last = parts
    return f"{comma.join(most)} and {last}" if most else last


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
