"""What a study found, in words: what was gained, what it cost in the tail, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cpsched.metrics.leading import BY_COLUMN, shown_figure
from cpsched.study.comparisons import EQUAL, HIGHER, LOWER, SEEDS_ONLY, UNKNOWN
from cpsched.study.gains import NOTICED
from cpsched.study.results import AREA
from cpsched.words import duration, estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cpsched.study.tables import Cell, Tables

Row = dict[str, "Cell"]
#: What a gain is measured by. Area-weighted response hardly differs between dispatchers that keep
#: the machine busy; slowdown is what most users notice.
QUALITY, LONGEST = "bounded_slowdown_mean", "wait_max_s"
#: A smaller change is none worth a word.
_NOTICEABLE = 0.01
#: What a scenario is told from others by, and the kinds of groups of which one is named.
_WHICH = ("workload", "system", "dispatcher", "predictor")
_KINDS = ("queue", "account")
#: What may become of more jobs under a scenario: their number, of how many, and in words.
_ENDS = (
    ("timeout", "simulated", "are stopped at their time limit"),
    ("rejected", "in_log", "can never run"),
)
#: The least rise of such a share that is told.
_TOLD = 0.0005
#: Names in one sentence.
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
        The first alone answers what was gained, and at what price.
    about
        Dispatcher and predictor of the run that the first sentence is about.
    """

    place: str
    sentences: tuple[str, ...]
    about: tuple[str, str]


def conclusions(tables: Tables) -> list[str]:
    """
    Return the finding of a study, a sentence a line; nothing where there is nothing to compare.

    Of several workloads and systems the first line is of all together, and the others begin with
    their names.
    """
    found = findings(tables)
    if len(found) < 2:
        return [sentence for one in found for sentence in one.sentences]
    return [
        _overview(tables, found),
        *(f"{one.place}: {sentence}" for one in found for sentence in one.sentences),
    ]


def headline(tables: Tables) -> str | None:
    """Return the one sentence that answers a study's question; None with nothing to compare."""
    return next(iter(conclusions(tables)), None)


def findings(tables: Tables) -> list[Finding]:
    """Return what was found on each workload and system that has a baseline to compare with."""
    if tables.results.by_group:
        whole = _of_scenarios(tables)
        return [] if whole is None else [whole]
    knowing = {_key(row) for row in tables.summary.rows() if row["knows_runtimes"]}
    found = []
    for place, runs in compared(tables).items():
        known = [one for one in runs if QUALITY in one and LONGEST in one]
        real = [one for one in known if _key(one[QUALITY]) not in knowing]
        if known:
            told = bool(real) and len(real) < len(known)
            found.append(_of_place(tables, place, real or known, told))
    return found


#: A run's figures against the baseline's: rows of the table of differences by figure.
Compared = dict[str, Row]


def compared(tables: Tables) -> dict[str, list[Compared]]:
    """Return the figures over all jobs of each run but the baselines, by workload and system."""
    found: dict[str, dict[tuple[Cell, ...], Compared]] = {}
    for row in tables.differences.rows():
        if row["class"] == "all":
            runs = found.setdefault(f"{row['workload']} on {row['system']}", {})
            runs.setdefault(_key(row), {})[str(row["figure"])] = row
    return {place: list(runs.values()) for place, runs in found.items()}


def _key(row: Row) -> tuple[Cell, ...]:
    return tuple(row[name] for name in _WHICH)


def _of_place(tables: Tables, place: str, runs: Sequence[Compared], told: bool) -> Finding:
    several = len({str(one[QUALITY]["predictor"]) for one in runs}) > 1
    best = min(runs, key=lambda one: (not _is_gain(one[QUALITY]), _ratio(one[QUALITY])))
    sentences = [_answer(best, several), *_also(best), _how_sure(best)]
    sentences += _without_price(best, runs, several)
    worse = [one for one in runs if _ratio(one[QUALITY]) > 1 and _ratio(one[LONGEST]) > 1]
    worse = [one for one in worse if all(_change(one[name]) for name in (QUALITY, LONGEST))]
    if worse:
        verb = "is" if len(worse) == 1 else "are"
        sentences.append(f"{_names(worse, several)} {verb} worse than the baseline in both.")
    sentences += _front(tables, place)
    if told:
        sentences.append("Runs that were told the actual runtimes are left out of this finding.")
    return Finding(place, tuple(sentences), _about(best))


def _answer(one: Compared, several: bool) -> str:
    """Say what a run gains against its baseline, and at what price, in one sentence."""
    quality, name, base = one[QUALITY], _name(one, several), _base(one)
    values = f"{_shown(quality)} instead of {_shown(quality, 'base_value')}"
    if _is_gain(quality):
        by = f"by {_share(quality)} %"
        return (
            f"{name} cuts the mean bounded slowdown {by} against {base} ({values}), {_price(one)}."
        )
    if quality["verdict"] == EQUAL or not _change(quality):
        return (
            f"Nothing lowers the mean bounded slowdown of {base} ({_shown(quality, 'base_value')});"
            f" {name} comes closest with {_shown(quality)}, {_price(one, joined='and')}."
        )
    if _ratio(quality) < 1:
        return (
            f"Nothing lowers the mean bounded slowdown of {base} for certain: {name} has {values},"
            f" within what such runs vary, {_price(one)}."
        )
    return (
        f"Nothing lowers the mean bounded slowdown of {base}: {name} comes closest with {values}"
        f" ({_share(quality)} % more), {_price(one, joined='and')}."
    )


def _price(one: Compared, joined: str = "but") -> str:
    """Say what became of the longest wait."""
    longest = one[LONGEST]
    values = f"({_shown(longest)} instead of {_shown(longest, 'base_value')})"
    if not _change(longest):
        return f"and the longest wait stays at {_shown(longest)}"
    if _ratio(longest) < 1:
        return f"and the longest wait is {_share(longest)} % shorter {values}"
    if _ratio(longest) >= 2:
        return f"{joined} the longest wait is {_ratio(longest):,.1f} times as long {values}"
    return f"{joined} the longest wait is {_share(longest)} % longer {values}"


def _also(one: Compared) -> Iterator[str]:
    """Say what became of the other leading figures."""
    said = []
    for figure in ("wait_mean_s", "wait_p99.9_s", AREA):
        row = one.get(figure)
        if row is None:
            continue
        way = "shorter" if _ratio(row) < 1 else "longer"
        what = f"{_share(row)} % {way}" if _change(row) else "about the same"
        said.append(f"the {BY_COLUMN[figure].title} is {what} ({_shown(row)})")
    if said:
        yield f"With it {_listed(said)}."


def _how_sure(one: Compared) -> str:
    """Say which of the changes the intervals bear out."""
    rows = {name: one[name] for name in (LONGEST, QUALITY) if name in one}
    verdicts = {str(row["verdict"]) for row in rows.values()}
    if all(verdict in (UNKNOWN, EQUAL) for verdict in verdicts):
        return (
            "One run each, so there are no intervals and the differences may be noise: repeat with"
            " --seeds 5 to see."
        )
    clear = {name: row for name, row in rows.items() if _is_clear(row)}
    unclear = [f"the {BY_COLUMN[name].title}" for name in rows if name not in clear]
    said = []
    if clear:
        each = [f"the {BY_COLUMN[name].title} ({_interval(row)})" for name, row in clear.items()]
        said.append(f"Beyond chance by every 95 % interval: {_listed(each)}")
    if unclear:
        start = "not" if clear else "Not beyond chance by their 95 % intervals"
        said.append(f"{start}: {_listed(unclear)}")
    seeds = any(verdict.endswith(SEEDS_ONLY) for verdict in verdicts)
    few = ". The log is too short for intervals over its weeks: another part may say otherwise"
    return f"{'; '.join(said)}{few if seeds else ''}."


def _without_price(best: Compared, runs: Sequence[Compared], several: bool) -> Iterator[str]:
    """Say which run gains most without a longer longest wait, where the best one has it longer."""
    if not _is_gain(best[QUALITY]) or _ratio(best[LONGEST]) <= 1 or not _change(best[LONGEST]):
        return
    free = [
        one
        for one in runs
        if _is_gain(one[QUALITY]) and (_ratio(one[LONGEST]) <= 1 or not _change(one[LONGEST]))
    ]
    if not free:
        if len(runs) > 1:
            yield "No run here lowers it without making the longest wait longer."
        return
    one = min(free, key=lambda one: _ratio(one[QUALITY]))
    yield (
        f"Without a longer longest wait, {_name(one, several)} gains most: mean bounded slowdown"
        f" {_shown(one[QUALITY])} ({_share(one[QUALITY])} % less), {_price(one)}."
    )


def _front(tables: Tables, place: str) -> Iterator[str]:
    """Say who is on the Pareto front, of those who do not know the runtimes if there are such."""
    rows = [
        row
        for row in tables.summary.rows()
        if f"{row['workload']} on {row['system']}" == place and row["on_front"] is not None
    ]
    rows = [row for row in rows if not row["knows_runtimes"]] or rows
    several = len({row["predictor"] for row in rows}) > 1
    names = [_run_name(row, several) for row in rows if row["on_front"]]
    if names:
        more = [f"{len(names) - _MOST} more"] if len(names) > _MOST else []
        yield (
            "On the Pareto front of area-weighted response, p99.9 wait and mean bounded slowdown:"
            f" {_listed([*names[:_MOST], *more])}."
        )


def _overview(tables: Tables, found: Sequence[Finding]) -> str:
    """Say in one sentence what several workloads and systems come to together."""
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


def _of_scenarios(tables: Tables) -> Finding | None:
    """Say of each scenario in a sentence what it changes; first which one helps most."""
    groups: dict[tuple[Cell, ...], list[Row]] = {}
    for row in tables.gains.rows():
        groups.setdefault(_key(row), []).append(row)
    if not groups:
        return None
    start = tables.results.measure_from
    longest = {
        _key(row): row
        for row in tables.differences.rows()
        if (row["class"], row["figure"]) == ("all", LONGEST) and start is None
    }
    stopped = _stopped(tables)
    sentences = []
    for key, rows in groups.items():
        price = stopped.get(key, "")
        changed = _changes(rows[0], longest.get(key), price)
        sentences.append(f"{key[2]}: {changed}{_for_whom(rows)}.")
    best = min(groups, key=lambda key: _number(groups[key][0], "difference"))
    if len(groups) > 1:
        tail = _tail(longest.get(best))
        sentences.insert(0, _most_helpful(str(best[2]), groups[best][0], len(groups), tail))
    if start is not None:
        sentences.append(f"Of jobs submitted from {start} on; tables of whole runs have all.")
    if not any(rows[0]["difference_low"] is not None for rows in groups.values()):
        sentences.append("No intervals, which take eight days: small differences may be chance.")
    workload, system, name, predictor = map(str, best)
    return Finding(f"{workload} on {system}", tuple(sentences), (name, predictor))


def _most_helpful(name: str, row: Row, number: int, tail: str) -> str:
    wait, base = _number(row, "wait_mean_s"), _number(row, "base_wait_mean_s")
    if wait >= base:
        return f"None of the {number} scenarios shortens the mean wait ({_time(base)})."
    if wait > base * (1 - _NOTICEABLE):
        return (
            f"None of the {number} scenarios shortens the mean wait ({_time(base)}) by as much as"
            f" {100 * _NOTICEABLE:.0f} %."
        )
    return (
        f"Of {number} scenarios, {name} shortens the mean wait most: {_time(wait)} instead of"
        f" {_time(base)} ({_percent(base, wait)}){tail}."
    )


def _stopped(tables: Tables) -> dict[tuple[Cell, ...], str]:
    """
    Say of each scenario whether more jobs than in the baseline end early or never run.

    Such jobs leave the machine to others, so without this a shorter wait looks like a gift.
    """
    runs = {_key(row): row for row in tables.summary.rows()}
    said: dict[tuple[Cell, ...], str] = {}
    for row in tables.differences.rows():
        base = runs.get(tuple(row[f"base_{name}"] for name in _WHICH))
        run = runs.get(_key(row))
        if base is not None and run is not None:
            said[_key(row)] = "".join(
                f"; {100 * now:.1f} % of the jobs {what} instead of {100 * then:.1f} %"
                for count, of, what in _ENDS
                for now, then in [(_share_of(run, count, of), _share_of(base, count, of))]
                if now - then >= _TOLD
            )
    return said


def _share_of(row: Row, count: str, of: str) -> float:
    return _number(row, count) / max(_number(row, of), 1)


def _changes(row: Row, longest: Row | None, price: str) -> str:
    """Say what a scenario changes for all jobs that ran in both, and who pays for it."""
    wait, base = _number(row, "wait_mean_s"), _number(row, "base_wait_mean_s")
    less, more = _number(row, "shorter"), _number(row, "longer")
    if wait == base and not (less or more):
        nothing = "" if price else "changes nothing, "
        return f"{nothing}no job waits longer or shorter{price}"
    interval = ""
    if row["difference_low"] is not None:
        low, high = (_signed(_number(row, f"difference_{end}")) for end in ("low", "high"))
        interval = f", 95 % interval of the difference {low} to {high}"
    return (
        f"mean wait {_time(wait)} instead of {_time(base)} ({_percent(base, wait)}{interval})"
        f"{_tail(longest)}; {100 * less:.0f} % of the jobs wait at least a minute less,"
        f" {100 * more:.0f} % at least a minute more{price}"
    )


def _tail(longest: Row | None) -> str:
    if longest is None:
        return ""
    return f", longest wait {_shown(longest)} instead of {_shown(longest, 'base_value')}"


def _for_whom(rows: Sequence[Row]) -> str:
    """Say for which group waits change most, in all."""
    some = [row for row in rows if row["kind"] in _KINDS]
    if not some:
        return ""
    most = max(some, key=lambda row: abs(_number(row, "hours")))
    change = _number(most, "difference")
    if abs(change) < NOTICED:
        return ""
    return f"; the change is largest for {most['kind']} {most['group']} ({_signed(change)} a job)"


def _is_clear(row: Row) -> bool:
    return str(row["verdict"]).startswith((LOWER, HIGHER))


def _is_gain(row: Row) -> bool:
    """Tell whether a figure is lower: by every interval, or noticeably where there is none."""
    if row["verdict"] == UNKNOWN:
        return _ratio(row) < 1 - _NOTICEABLE
    return str(row["verdict"]).startswith(LOWER)


def _ratio(row: Row) -> float:
    """Return how many times the baseline's figure one is; of means, where no ratio is defined."""
    if row["ratio"] is not None:
        return _number(row, "ratio")
    value, base = _number(row, "value"), _number(row, "base_value")
    return 1.0 if value == base else value / base if base else float("inf")


def _change(row: Row) -> bool:
    """Tell whether a figure differs noticeably."""
    return abs(_ratio(row) - 1) >= _NOTICEABLE


def _share(row: Row) -> str:
    """Return by how many percent a figure differs."""
    return f"{100 * abs(_ratio(row) - 1):,.0f}"


def _interval(row: Row) -> str:
    """Return a ratio with its widest interval."""
    lows = [row[name] for name in ("ratio_low", "week_ratio_low") if row[name] is not None]
    highs = [row[name] for name in ("ratio_high", "week_ratio_high") if row[name] is not None]
    if not lows or not highs:
        return f"×{_ratio(row):.2f}"
    low, high = min(map(float, lows)), max(map(float, highs))  # type: ignore[arg-type]
    return f"×{_ratio(row):.2f}, {low:.2f} to {high:.2f}"


def _run_name(row: Mapping[str, Cell], several: bool) -> str:
    """Return a dispatcher, with its predictor where there are several."""
    if not several:
        return str(row["dispatcher"])
    return f"{row['dispatcher']} with {estimate(str(row['predictor']))}"


def _about(one: Compared) -> tuple[str, str]:
    return str(one[QUALITY]["dispatcher"]), str(one[QUALITY]["predictor"])


def _name(one: Compared, several: bool) -> str:
    return _run_name(one[QUALITY], several)


def _names(runs: Sequence[Compared], several: bool) -> str:
    more = [f"{len(runs) - _MOST} more"] if len(runs) > _MOST else []
    return _listed([*(_name(one, several) for one in runs[:_MOST]), *more])


def _base(one: Compared) -> str:
    """Return what a run is compared with: what differs from it."""
    row = one[QUALITY]
    name = _run_name(
        {"dispatcher": row["base_dispatcher"], "predictor": row["base_predictor"]},
        row["base_predictor"] != row["predictor"],
    )
    for key in ("workload", "system"):
        if row[f"base_{key}"] != row[key]:
            name += f" on {row[f'base_{key}']}"
    return name


def _shown(row: Row, name: str = "value") -> str:
    """Return a figure of a run or its baseline as people read it."""
    return shown_figure(BY_COLUMN[str(row["figure"])].name, _number(row, name))


def _listed(parts: Iterable[str], comma: str = ", ") -> str:
    """Return parts of a sentence: ``a, b and c``."""
    *most, last = parts
    return f"{comma.join(most)} and {last}" if most else last


def _number(row: Mapping[str, Cell], name: str) -> float:
    value = row[name]
    assert isinstance(value, int | float), f"{name} of a run that is compared is known"
    return float(value)


def _time(seconds: float) -> str:
    return duration(seconds) if seconds else "0 s"


def _signed(seconds: float) -> str:
    return f"{'-' if seconds < 0 else '+'}{_time(abs(seconds))}"


def _percent(before: float, after: float) -> str:
    """Return by how much something became smaller or larger."""
    if before == after:
        return "the same"
    if not before:
        return "it was 0"
    share = 100 * (after / before - 1)
    if abs(share) < 1:
        return "less than 1 % less" if share < 0 else "less than 1 % more"
    return f"{abs(share):.0f} % {'less' if share < 0 else 'more'}"
