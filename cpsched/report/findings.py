"""
What may be said of a run against its baseline, for dispatchers, scenarios and several logs alike.

A run *gains* only if its repetitions say so (:mod:`cpsched.study.verdicts`), if no more jobs than
in the baseline are stopped or never run, and if its longest wait is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from cpsched.metrics.groups import SIZES
from cpsched.metrics.jobs import CLASSES
from cpsched.study.verdicts import HIGHER, LEAST, LOWER, ONE_RUN, UNKNOWN, is_clear, is_of_log
from cpsched.util.words import duration

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from cpsched.metrics.definitions import Group
    from cpsched.report.results_table import ResultsTable
    from cpsched.study.comparisons import Result
    from cpsched.study.results import RunKey
    from cpsched.study.verdicts import Ends

#: The metric of a gain. Area-weighted response hardly differs between dispatchers that keep the
#: system busy; slowdown is what most users notice.
QUALITY, LONGEST = "bounded_slowdown_mean", "wait_max_s"
#: The same of scenarios, over the jobs that ran in both.
COMMON_WAIT, COMMON_LONGEST = "common_wait_mean_s", "common_wait_max_s"
#: The shares of jobs whose wait a scenario changes by at least a minute.
_CHANGED = ("share_that_waits_less", "share_that_waits_longer")
#: What is added for repetitions, where nobody knows who reads it.
REPETITIONS = "several repetitions"
#: Outcomes that more jobs may have than in the baseline: their metrics, the total, and the words. A
#: job that its user cancels may wait in one run and run in the other: that is no loss.
_LOSSES = (
    (("timeout",), "simulated", "are killed at their limit"),
    (("killed", "cancelled"), "simulated", "are killed or cancelled"),
    (("rejected",), "in_log", "can never run"),
    (("never_started",), "simulated", "never start"),
)
#: The least rise of such a share that is reported.
_LEAST_LOSS = 0.0005
#: Most names in one sentence, and most groups of jobs.
_MOST, _MOST_GROUPS = 6, 3
#: A change of a wait by fewer seconds is not reported.
_NOTICED = 60
#: The baseline of scenarios, which needs no name.
_BASELINE = "baseline"
#: From this ratio on, changes are factors.
_MANY_TIMES = 10
#: Kinds of groups that every log has.
_FORMS = ("length", "size")
#: Said where each predictor has a baseline: no ratio compares the predictors.
_SEVERAL_BASELINES = (
    "Each predictor has its own baseline. To compare predictors: cpsched what-if LOG --change"
    " 'predictor NAME'."
)
#: Said where scenarios have other jobs than the baseline.
_COMMON_JOBS = (
    "These changes are over the jobs of both runs. The ratios in the table are over all jobs of"
    " each run."
)
#: What limits an interval over days, and an interval over repetitions.
CAVEATS = {
    "days": "Intervals are over the days of the log. On a system whose queue never empties for"
    " weeks they are too narrow.",
    "short": "The log is shorter than eight days: another part may give other results.",
    "this log": "The repetitions confirm this for the jobs of this log. The interval over its days"
    " is wider: other months may give other results.",
}


class Claim(IntEnum):
    """Assessment of a change, the best first."""

    GAIN = 0
    """Lower by its verdict, and nothing lost but time."""
    ONE_RUN = 1
    """Lower, without repetitions that could say whether that is chance."""
    UNCLEAR = 2
    """Lower, but within the variation between runs or too little to mention."""
    LOSES_JOBS = 3
    """Lower, but more jobs are stopped or never run, or the longest wait is unknown."""
    NONE = 4
    """The same, or higher."""


class Effect(NamedTuple):
    """
    A metric against the baseline's; lower is better.

    Attributes
    ----------
    title
        Of the metric.
    ratio
        Infinite if only the baseline's is 0.
    interval
        Of the ratio; None without one.
    verdict
        See :attr:`cpsched.study.verdicts.Compared.verdict`.
    of_log
        Whether the interval is over the repetitions alone, on a log with enough days for another.
    """

    title: str
    ratio: float
    interval: Ends | None
    verdict: str
    of_log: bool = False

    @classmethod
    def of(cls, row: Result, *, days: bool = False) -> Effect:
        """
        Return the effect of a row of the results table that has a baseline.

        With ``days`` other metrics have an interval over the days of the log.
        """
        ratio = row.ratio
        if ratio is None:
            base = row.base_value or 0
            ratio = float("inf") if not base else (row.value or 0) / base
        return cls(row.definition.title, ratio, row.interval, row.verdict, days and row.is_of_log)

    def __str__(self) -> str:
        """Return the change in words: ``mean wait -32 % (95 % CI -40 to -22 %)``."""
        if self.ratio == float("inf"):
            return f"{self.title} above 0, which is the baseline's"
        if self.ratio == 1 and self.interval in (None, (1.0, 1.0)):
            return f"{self.title} unchanged"
        return f"{self.title} {change(self.ratio)} ({self.certainty})"

    @property
    def certainty(self) -> str:
        """The interval in words, or why there is none."""
        if self.interval is None:
            return "one run" if self.verdict == ONE_RUN else "no interval"
        low, high = self.interval
        if high >= _MANY_TIMES:
            ends = f"{low:,.1f} to {high:,.1f} times"
        else:
            ends = f"{change(low).removesuffix(' %')} to {change(high)}"
        if self.verdict == ONE_RUN:
            return f"one run, 95 % CI over the days {ends}"
        if self.of_log:
            return f"95 % CI of the repetitions {ends}, this log only"
        return f"95 % CI {ends}{'' if is_clear(self.verdict) else ', not significant'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """
    What a run changes against its baseline.

    Attributes
    ----------
    name, base
        The run and its baseline, in words.
    main
        The metric by which they are compared.
    longest
        The longest wait; None if it is not known.
    losses
        Outcomes that more jobs than in the baseline have, with both shares, in words.
    worse
        Over several logs: those on which the metric is higher by its verdict.
    placement
        Both allocators in words if they differ, else empty.
    days
        Number of days that the interval is over; None where it is not over days.
    pairs
        Number of repetitions that are compared; 0 over several logs.
    same_waits
        Whether no job of a scenario waits a minute less or more.
    """

    name: str
    base: str
    main: Effect
    longest: Effect | None
    losses: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()
    placement: str = ""
    days: int | None = None
    pairs: int = 0
    same_waits: bool = False

    @property
    def claim(self) -> Claim:
        """Its assessment."""
        if self.main.ratio >= 1:
            return Claim.NONE
        if self.losses or self.longest is None:
            return Claim.LOSES_JOBS
        known = self.main.verdict.startswith(LOWER)
        unknown = self.main.verdict in (ONE_RUN, UNKNOWN)
        if self.main.ratio > 1 - LEAST or not (known or unknown):
            return Claim.UNCLEAR
        return Claim.GAIN if known else Claim.ONE_RUN

    @property
    def rank(self) -> tuple[Claim, float]:
        """The key by which changes are sorted, the best first."""
        return self.claim, self.main.ratio

    @property
    def keeps_longest_wait(self) -> bool:
        """Whether its longest wait is not noticeably longer."""
        return self.longest is not None and self.longest.ratio < 1 + LEAST

    def __str__(self) -> str:
        """Return name, change and losses: ``fifo: mean wait +12 % (...), longest wait ...``."""
        return f"{self.name}: {self.effects}"

    @property
    def effects(self) -> str:
        """The changes of both metrics, and what is lost."""
        longest = "longest wait unknown" if self.longest is None else str(self.longest)
        worse = [f"Worse on {', '.join(self.worse)}"] if self.worse else []
        placement = [self.placement] if self.placement else []
        same = ["No job waits a minute less or more"] if self.same_waits else []
        return ". ".join([f"{self.main}, {longest}", *same, *worse, *self.losses, *placement])


class Finding(NamedTuple):
    """
    The finding on one workload and system.

    Attributes
    ----------
    case
        ``workload on system``.
    sentences
        The first names what was gained and lost.
    run
        The run that it is about.
    """

    case: str
    sentences: tuple[str, ...]
    run: RunKey


def findings(table: ResultsTable, repeat: str = REPETITIONS) -> list[Finding]:
    """
    Return the finding on each workload and system that has a baseline.

    Parameters
    ----------
    repeat
        What the reader adds for repetitions, in the words of the front end: ``--repeat 5``.
    """
    by_case = []
    for case, runs in table.cases.items():
        changes = {run: known for run in runs if (known := change_of(table, run)) is not None}
        if changes:
            by_case.append(_finding(table, case, changes, repeat))
    return by_case


def change_of(table: ResultsTable, run: RunKey) -> Change | None:
    """Return the change by a run. None for a baseline, and where the metric is not known."""
    names = (COMMON_WAIT, COMMON_LONGEST) if table.study.by_group else (QUALITY, LONGEST)
    main, longest = (table.get(run, name) for name in names)
    if main is None or main.baseline is None or main.compared is None:
        return None
    base = main.baseline
    with_longest = longest is not None and longest.compared is not None
    days = main.days is not None
    return Change(
        name=table.name(run),
        base=base_name(table, run),
        main=Effect.of(main, days=days),
        longest=Effect.of(longest, days=days) if with_longest and longest is not None else None,
        losses=tuple(losses(table, run, base)),
        placement=_placement(table, run, base),
        days=main.days,
        pairs=main.pairs,
        same_waits=_has_same_waits(table, run),
    )


def base_name(table: ResultsTable, run: RunKey) -> str:
    """Return the name of a run's baseline, with its workload and system where they differ."""
    base = table.baseline_of(run)
    if base is None:
        return ""
    elsewhere = "".join(f" on {base[at]}" for at in (0, 1) if base[at] != run[at])
    return table.name(base) + elsewhere


def losses(table: ResultsTable, run: RunKey, base: RunKey) -> Iterator[str]:
    """
    Yield the outcomes that more jobs of a run than of its baseline have.

    Such jobs leave the system to others, so without this a shorter wait would look free.
    """
    for names, total, words in _LOSSES:
        now, before = (
            sum(_number(table, key, name) for name in names) / max(_number(table, key, total), 1)
            for key in (run, base)
        )
        if now - before >= _LEAST_LOSS:
            yield f"{100 * now:.1f} % of the jobs {words} instead of {100 * before:.1f} %"


def _number(table: ResultsTable, run: RunKey, name: str) -> float:
    row = table.get(run, name)
    return 0.0 if row is None or row.value is None else float(row.value)


def _has_same_waits(table: ResultsTable, run: RunKey) -> bool:
    """Return whether no job of a scenario waits at least a minute less or longer."""
    shares = [table.get(run, name) for name in _CHANGED]
    return table.study.by_group and all(row is not None and row.value == 0 for row in shares)


def _has_other_jobs(table: ResultsTable, run: RunKey) -> bool:
    """Return whether more or fewer jobs are simulated than in the run's baseline."""
    base = table.baseline_of(run)
    return base is not None and _number(table, run, "simulated") != _number(
        table, base, "simulated"
    )


def _placement(table: ResultsTable, run: RunKey, base: RunKey) -> str:
    """Return both allocators in words where they differ: more than the order changes then."""
    ours, theirs = (table.repetitions[key][0].allocator for key in (run, base))
    if ours == theirs or None in (ours, theirs):
        return ""
    return f"Allocator {ours} instead of {theirs}"


def _finding(table: ResultsTable, case: str, changes: dict[RunKey, Change], repeat: str) -> Finding:
    known = {run: of for run, of in changes.items() if not table.knows_runtimes(run)}
    ranked = known or changes
    run = min(ranked, key=lambda key: ranked[key].rank)
    best = ranked[run]
    sentences = []
    several = len({of.base for of in changes.values()}) > 1
    if not several or best.claim in (Claim.GAIN, Claim.ONE_RUN):
        sentences.append(headline(best, alone=len(ranked) == 1))
    if several:
        sentences.append(_SEVERAL_BASELINES)
    if table.study.by_group:
        others = (of for key, of in changes.items() if key != run)
        sentences += [f"{other}." for other in others]
        if any(_has_other_jobs(table, key) for key in changes):
            sentences.append(_COMMON_JOBS)
    else:
        sentences += _others(table, ranked, run)
        sentences += _worse(ranked, run)
        sentences += _front(table, case)
    if len(ranked) < len(changes):
        sentences.append("Runs that know the actual runtimes are not ranked.")
    if caveat := _caveat(best, repeat):
        sentences.append(caveat)
    return Finding(case, tuple(sentences), run)


def headline(best: Change, *, alone: bool) -> str:
    """Return the sentence that answers the question."""
    if best.claim in (Claim.GAIN, Claim.ONE_RUN) or alone:
        against = "" if best.base == _BASELINE else f" against {best.base}"
        return f"{best.name}{against}: {best.effects}."
    if best.claim is Claim.LOSES_JOBS:
        return f"No run gains over {best.base} without losing jobs. {best}."
    if best.claim is Claim.UNCLEAR:
        return f"No significant gain over {best.base}. Closest: {best}."
    return f"No run is better than {best.base}. Closest: {best}."


def _others(table: ResultsTable, changes: dict[RunKey, Change], best: RunKey) -> Iterator[str]:
    """Yield the runs that do not differ significantly, and those that keep the longest wait."""
    claim = changes[best].claim
    if claim not in (Claim.GAIN, Claim.ONE_RUN):
        return
    if claim is Claim.GAIN:
        level = [
            _with_change(of)
            for run, of in changes.items()
            if run != best and of.claim is Claim.GAIN and not table.is_lower(best, run, QUALITY)
        ]
        if level:
            yield f"No significant difference from {changes[best].name}: {_listed(level)}."
    if not changes[best].keeps_longest_wait:
        calm = [of for of in changes.values() if of.claim is claim and of.keeps_longest_wait]
        if calm:
            lowest = min(calm, key=lambda of: of.main.ratio)
            yield f"Lowest slowdown with the longest wait kept: {lowest}."
        elif len(changes) > 1:
            yield "The longest wait rises in every run with a lower slowdown."


def _worse(changes: dict[RunKey, Change], best: RunKey) -> Iterator[str]:
    """Yield the runs that are significantly worse than their baseline, a line for each baseline."""
    by_base: dict[str, list[Change]] = {}
    for run, of in changes.items():
        if run != best and of.main.verdict.startswith(HIGHER):
            by_base.setdefault(of.base, []).append(of)
    for base, worse in by_base.items():
        ordered = sorted(worse, key=lambda of: of.main.ratio)
        yield f"Worse than {base}: {_listed([_with_change(of) for of in ordered])}."


def _with_change(of: Change) -> str:
    ratio = of.main.ratio
    return of.name if ratio == float("inf") else f"{of.name} ({change(ratio)})"


def _front(table: ResultsTable, case: str) -> Iterator[str]:
    """Yield which runs are on the Pareto front; with one run each it says nothing of others."""
    front = [run for run in table.front(case) if not table.knows_runtimes(run)]
    if front and any(len(table.repetitions[run]) > 1 for run in table.cases[case]):
        names = [table.name(run) for run in front]
        yield (
            "Pareto front of area-weighted response, p99.9 wait and mean bounded slowdown:"
            f" {_listed(names)}."
        )


def _caveat(best: Change, repeat: str) -> str:
    """Return the caveat of a finding, empty if there is none."""
    verdict = best.main.verdict
    if verdict == ONE_RUN or best.pairs == 1:
        return f"One run each cannot tell a difference from chance. Use {repeat}."
    if is_of_log(verdict):
        return CAVEATS["this log" if best.days else "short"]
    return CAVEATS["days"] if best.main.interval and best.days else ""


def conclusions(table: ResultsTable, repeat: str = REPETITIONS) -> list[str]:
    """
    Return the finding of a study, a sentence a line; nothing where there is nothing to compare.

    With several workloads and systems each has a line that begins with their names; what holds for
    all of them is last.
    """
    by_case = findings(table, repeat)
    if len(by_case) < 2:
        return [sentence for finding in by_case for sentence in finding.sentences]
    common = [
        sentence
        for sentence in by_case[0].sentences[1:]
        if all(sentence in other.sentences for other in by_case)
    ]
    own = [[text for text in finding.sentences if text not in common] for finding in by_case]
    lines = [f"{of.case}: {' '.join(texts)}" for of, texts in zip(by_case, own, strict=True)]
    return [*lines, *common]


def group_lines(table: ResultsTable, of_case: Finding) -> Iterator[str]:
    """
    Yield which jobs wait longer in a run and which less, by length and size.

    That is the run of a finding; among scenarios, also each other with significant groups.
    """
    runs = [of_case.run]
    if table.study.by_group:
        runs = [run for run in table.cases[of_case.case] if run not in table.baselines]
    listed: set[Group] = set()
    for run in runs:
        groups = _Groups.of(table, run)
        if run == of_case.run or groups.worse or groups.better:
            yield from groups.lines(table.name(run))
            listed.update(groups.listed)
    if listed:
        yield _definitions(listed)


class _Groups(NamedTuple):
    """Changes of waits by length and size in a run: significant ones, and the largest others."""

    worse: list[Result]
    better: list[Result]
    unclear: list[Result]
    more: int

    @classmethod
    def of(cls, table: ResultsTable, run: RunKey) -> _Groups:
        """
        Return those of a run.

        Nothing of a run that was not repeated: no difference has a verdict then.
        """
        repeated = len(table.repetitions[run]) > 1
        rows = [
            row
            for row in (table.group_rows(run) if repeated else ())
            if row.metric == COMMON_WAIT
            and row.group[0] in _FORMS
            and abs(row.difference or 0) >= _NOTICED
        ]
        unclear = sorted(
            (row for row in rows if not row.effect), key=lambda row: -abs(row.difference or 0)
        )
        if not any(row.difference_interval for row in unclear):
            unclear = []
        return cls(
            worse=[row for row in rows if row.effect == "worse"],
            better=[row for row in rows if row.effect == "better"],
            unclear=unclear[:_MOST_GROUPS],
            more=len(unclear[_MOST_GROUPS:]),
        )

    @property
    def listed(self) -> list[Group]:
        """The groups that the lines name."""
        return [row.group for row in (*self.worse, *self.better, *self.unclear)]

    def lines(self, name: str) -> Iterator[str]:
        """Yield a line for each list that is not empty."""
        if self.worse:
            yield f"Wait longer under {name}: {_groups(self.worse)}."
        if self.better:
            yield f"Wait less under {name}: {_groups(self.better)}."
        if self.unclear:
            more = f", {self.more} more" if self.more else ""
            yield f"Below 1 % or not significant under {name}: {_groups(self.unclear)}{more}."


def _groups(rows: Sequence[Result]) -> str:
    return ", ".join(f"{row.group[1]} jobs {wait_change(row)}" for row in rows)


def _definitions(groups: Collection[Group]) -> str:
    """Return the meaning of groups: ``Runtimes: short (at most 1 h).``"""
    texts = []
    for kind, title, meanings in (
        ("length", "Runtimes", CLASSES),
        ("size", "Requests as shares of the system", SIZES),
    ):
        named = [f"{name} ({text})" for name, text in meanings.items() if (kind, name) in groups]
        if named:
            texts.append(f"{title}: {', '.join(named)}.")
    return " ".join(texts)


def wait_change(row: Result) -> str:
    """Return the change of a wait in words: ``+12 min (+3 to +20 min)``."""
    interval = row.difference_interval
    ends = "" if interval is None else f" ({signed(interval[0])} to {signed(interval[1])})"
    return f"{signed(row.difference or 0)}{ends}"


def signed(seconds: float) -> str:
    """Return a difference of times: ``+12 min``, ``-3 h``."""
    text = duration(abs(round(seconds)))
    return text if text == "0 s" else f"{'-' if seconds < 0 else '+'}{text}"


def change(ratio: float) -> str:
    """Return a ratio as a change in percent: ``-72 %``; as a factor from ten times on."""
    if ratio >= _MANY_TIMES:
        return f"{ratio:,.0f} times as high"
    percent = 100 * (ratio - 1)
    if abs(percent) < 0.05:
        return "0 %"
    return f"{percent:+.{1 if abs(percent) < 0.95 else 0}f} %"


def _listed(names: Sequence[str]) -> str:
    """Return names in a sentence, the first of many and how many more there are."""
    more = [f"{len(names) - _MOST} more"] if len(names) > _MOST else []
    *first, last = [*names[:_MOST], *more]
    return f"{', '.join(first)} and {last}" if first else last
