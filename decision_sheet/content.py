"""What stands on the sheet of a what-if study, as words: made from its tables alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cpsched.api.errors import RunError
from cpsched.api.simulation import in_words as outcome_in_words
from cpsched.api.studies import (
    NOTICED,
    above_capacity,
    findings,
    is_clear,
    load_shares,
    lost,
    make_tables,
    misfit,
    reproduced,
)
from cpsched.api.tools import counted, duration, read_json
from decision_sheet.limits import about, not_modelled
from decision_sheet.names import Names, letters, renamed
from decision_sheet.sure import SURE, how_sure
from decision_sheet.words import in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from cpsched.api.studies import Tables

Row = dict[str, Any]
#: Scenarios on a page; others are counted.
MOST = 5
#: Kinds of groups of which those that gain and pay most are named: the first that a log has.
_KINDS = (("queue", "partition", "QOS"), ("size",), ("account", "user"))
#: Marks of a change that may be chance, and of a group whose record is not reproduced.
UNSURE, UNLIKE = "~", "†"
_MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Payer:
    """Of one kind of groups of jobs: which gains most and which pays most under a scenario."""

    scenario: str
    kind: str
    gains: str
    pays: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """
    The page in words.

    Attributes
    ----------
    place
        What was simulated where, and how much of it.
    scenarios
        Letter and changes of each.
    finding
        What may be said of all of them; empty where the baseline is not what happened.
    record
        Whether the baseline is what happened.
    figures
        Name of each figure, and its value for the baseline and each scenario.
    load
        What it means that more is offered than the machine can do; empty where it can do all.
    payers
        Who gains and who pays.
    unlike
        Groups among these whose recorded waits are not reproduced.
    limits
        What was not modelled.
    notes
        What is missing on the page.
    report
        Whether the long report lies beside it, and may be named.
    """

    place: str
    scenarios: tuple[tuple[str, str], ...]
    finding: str
    record: tuple[str, ...]
    figures: tuple[tuple[str, tuple[str, ...]], ...]
    load: tuple[str, ...]
    payers: tuple[Payer, ...]
    unlike: tuple[str, ...]
    limits: tuple[str, ...]
    notes: tuple[str, ...]
    report: bool

    def elsewhere(self) -> Sheet:
        """Return the sheet for another folder, where the report is not."""
        return replace(self, report=False)


def content(folder: Path, *, anonymous: bool = False) -> Sheet:
    """
    Return what the sheet of a study says.

    Raises
    ------
    RunError
        If the folder is not that of a what-if, has no finished run or nothing to compare.
    """
    if not folder.is_dir():
        raise RunError(f"{folder} is not a folder; name one made by cpsched what-if --out")
    tables = make_tables(folder)
    _check(folder, tables)
    names = Names(anonymous=anonymous)
    base_label = str(tables.results.baseline.dispatcher)
    labels = list(dict.fromkeys(run.dispatcher for run in tables.results.runs))
    called = letters(labels, base_label)
    called |= {label: "?" for label in _missing(folder, tables) if label not in called}
    tables = renamed(_first_is(tables, base_label), names, called)
    base = tables.results.runs[0]
    rows = _of_all(tables)
    shown = list(rows)[:MOST]
    label_of = {letter: label for label, letter in called.items()}
    first = {run.dispatcher: run for run in reversed(tables.results.runs)}
    grade = _grade(tables)
    unlike: dict[str, None] = {}
    payers = [one for letter in shown for one in _payers(tables, letter, unlike)]
    return Sheet(
        place=f"{names.place(base.workload, base.system)}: {_size(tables)}",
        scenarios=tuple(
            (letter, in_words(first[letter], base, label_of[letter], names)) for letter in shown
        ),
        finding="" if grade == "not" else findings(tables)[0].sentences[0],
        record=tuple(f"{line[0].upper()}{line[1:]}." for line in reproduced(tables, base.place)),
        figures=tuple(_figures(tables, rows, shown, grade)),
        load=tuple(_above(tables, ["baseline", *shown])),
        payers=tuple(payers),
        unlike=tuple(unlike),
        limits=tuple(not_modelled(tables)),
        notes=tuple(_notes(tables, len(rows) - len(shown))),
        report=(folder / "report.html").is_file() and not anonymous,
    )


def _check(folder: Path, tables: Tables) -> None:
    """Refuse what is not a finished what-if."""
    results = tables.results
    baseline = results.baseline.dispatcher
    if not results.by_group or baseline is None:
        raise RunError(
            f"{folder} is no what-if; a sheet is made of what cpsched what-if --out made"
        )
    if not any(run.dispatcher == baseline for run in results.runs):
        raise RunError(f"{folder} has no finished run of its baseline; run the what-if again")
    if len({run.dispatcher for run in results.runs}) < 2:
        raise RunError(f"{folder} has its baseline alone: no scenario has finished")
    if len({run.dispatcher for run in results.runs}) < len({run.who for run in results.runs}):
        raise RunError(f"{folder} has one scenario with several predictors; a sheet needs one each")
    if len({run.place for run in results.runs}) > 1:
        raise RunError(f"{folder} is of several logs or machines; a sheet is for one")
    if not len(tables.gains):
        raise RunError(
            f"{folder}: no job ran in the baseline and in a scenario, so nothing differs"
        )


def _first_is(tables: Tables, baseline: str) -> Tables:
    """Return the tables with the runs of the baseline in front."""
    runs = sorted(tables.results.runs, key=lambda run: run.dispatcher != baseline)
    return replace(tables, results=replace(tables.results, runs=tuple(runs)))


def _missing(folder: Path, tables: Tables) -> list[str]:
    """Return the scenarios of runs that failed or are missing."""
    gone = set(tables.results.missing)
    if not gone:
        return []
    study = read_json((folder / "study.json").read_text(encoding="utf-8"))
    found = [str(one["dispatcher"]) for one in study["runs"] if one["folder"] in gone]
    return list(dict.fromkeys(found))


def _of_all(tables: Tables) -> dict[str, Row]:
    """Return what changes over all jobs, by scenario."""
    return {row["dispatcher"]: row for row in tables.gains.rows() if row["kind"] == "all"}


def _grade(tables: Tables) -> str:
    if misfit(tables.results.runs[0]):
        return "not"
    return next((str(row["reproduced"]) for row in tables.record.rows()), "")


def _size(tables: Tables) -> str:
    """Return how much was simulated, in words."""
    base = tables.results.runs[0]
    first, last = about(base, "metrics.json")["window_s"]
    repeats = len({run.seed for run in tables.results.runs})
    times = "one run each" if repeats == 1 else f"{repeats} repetitions each"
    jobs = counted(base.counts["in_log"] - base.counts["set_aside"], "job")
    return f"{jobs}, simulated over {(last - first) / 86400:,.1f} days, {times}"


def _figures(
    tables: Tables, rows: Mapping[str, Row], shown: Sequence[str], grade: str
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each figure of the baseline and the scenarios."""
    summary = {row["dispatcher"]: row for row in tables.summary.rows()}
    every, own = ["baseline", *shown], [rows[letter] for letter in shown]
    base = summary["baseline"]

    def of(name: str) -> tuple[str, ...]:
        return tuple(_time(summary[one].get(name)) for one in every)

    yield "Mean wait", of("wait_mean_s")
    if any({base["simulated"], summary[r["dispatcher"]]["simulated"]} != {r["jobs"]} for r in own):
        yield "Jobs that ran in both", ("", *(f"{row['jobs']:,}" for row in own))
        yield (
            "Their mean wait (in the baseline)",
            ("", *(f"{_time(row['wait_mean_s'])} ({_time(row['base_wait_mean_s'])})"
                   for row in own)),
        )  # fmt: skip
    yield "Change", ("", *(_signed(row["difference"]) for row in own))
    yield "95 % interval", ("", *(_interval(row) for row in own))
    loses = [any(lost(summary[letter], base)) for letter in shown]
    sure = (how_sure(row, grade, loses=one) for row, one in zip(own, loses, strict=True))
    yield SURE, ("", *sure)
    yield (
        "Jobs that wait a minute less / more",
        ("", *(f"{100 * row['shorter']:.0f} % / {100 * row['longer']:.0f} %" for row in own)),
    )
    yield "Longest wait", of("wait_max_s")
    yield from _outcomes(tables, every)
    yield "Offered load", tuple(_load(tables, one) for one in every)


def _outcomes(tables: Tables, every: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield how many jobs or rows have each outcome but completion, with shares."""
    rows = {(row["outcome"], row["dispatcher"]): row for row in tables.outcomes.rows()}
    for name in dict.fromkeys(outcome for outcome, _ in rows if outcome != "completed"):
        own = [rows.get((name, one)) for one in every]
        if any(own):
            title = outcome_in_words(name)
            yield f"{title[0].upper()}{title[1:]} (of jobs / core-hours)", tuple(map(_share, own))


def _above(tables: Tables, every: Sequence[str]) -> Iterator[str]:
    """Yield what it means that more is offered than the machine can do."""
    rows = [row for row in tables.summary.rows() if row["dispatcher"] in every]
    known = [(row["dispatcher"], load_shares(row)) for row in rows]
    yield from above_capacity([(name, shares) for name, shares in known if shares])


def _load(tables: Tables, scenario: str) -> str:
    """Return the highest offered load of a resource."""
    row = next(one for one in tables.summary.rows() if one["dispatcher"] == scenario)
    shares = load_shares(row)
    if not shares:
        return "-"
    kind, most = max(shares, key=lambda one: one[1])
    return f"{100 * most:.1f} % of {kind}"


def _payers(tables: Tables, letter: str, unlike: dict[str, None]) -> Iterator[Payer]:
    """Yield who gains and who pays most under a scenario, by each kind of groups."""
    bad = {(r["kind"], r["group"]) for r in tables.record.rows() if r["reproduced"] == "not"}
    if ("all", "all") in bad:
        # It is said of all jobs.
        bad = set()
    rows = [row for row in tables.gains.rows() if row["dispatcher"] == letter]
    there = {row["kind"] for row in rows}
    for kinds in _KINDS:
        kind = next((one for one in kinds if one in there), None)
        some = [row for row in rows if row["kind"] == kind and abs(row["difference"]) >= NOTICED]
        less = min(some, key=lambda row: row["hours"], default=None)
        more = max(some, key=lambda row: row["hours"], default=None)
        told = []
        for row in (
            less if less is not None and less["hours"] < 0 else None,
            more if more is not None and more["hours"] > 0 else None,
        ):
            told.append("nobody by a minute" if row is None else _group(row))
            if row is not None and (kind, row["group"]) in bad:
                told[-1] += f" {UNLIKE}"
                unlike.setdefault(f"{kind} {row['group']}")
        if kind is not None:
            yield Payer(scenario=letter, kind=str(kind), gains=told[0], pays=told[1])


def _group(row: Row) -> str:
    sure = "" if is_clear(row["verdict"]) else f" {UNSURE}"
    jobs = counted(row["jobs"], "job")
    # A bare number says of nothing what it is.
    name = f"{row['kind']} {row['group']}" if row["group"].isdigit() else row["group"]
    return f"{name}: {_signed(row['difference'])}{sure} a job, {jobs}"


def _notes(tables: Tables, more: int) -> Iterator[str]:
    missing = len(tables.results.missing)
    if missing:
        yield f"{counted(missing, 'run')} of the study failed or did not finish; not on this page."
    if more > 0:
        yield f"{counted(more, 'more scenario')} are in the tables of the study, not on this page."
    if tables.results.measure_from is not None:
        yield (
            f"Compared are only jobs submitted from {tables.results.measure_from} on; figures of"
            " single columns are of the whole log."
        )


def _interval(row: Row) -> str:
    if row["difference_low"] is None:
        return "none"
    return f"{_signed(row['difference_low'])} to {_signed(row['difference_high'])}"


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else duration(seconds) if seconds else "0 s"


def _signed(seconds: float) -> str:
    shown = _time(abs(seconds))
    return shown if shown == "0 s" else f"{_MINUS if seconds < 0 else '+'}{shown}"


def _share(row: Row | None) -> str:
    """Return a number of jobs, its share of the jobs, and its share of the core-hours."""
    if row is None or not row["jobs"]:
        return "0"
    shares = [row["of_jobs"], row["of_core_hours"]]
    known = " / ".join(f"{100 * one:.1f} %" for one in shares if one is not None)
    return f"{row['jobs']:,.0f} ({known})"
