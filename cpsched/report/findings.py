"""
What may be said of a run against its baseline: decided here, for dispatchers and scenarios alike.

A run *gains* only if its repetitions say so (:mod:`cpsched.study.verdicts`), if no more jobs than
in the baseline are stopped or never run, and if its longest wait is known. Everything else is named
for what it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from cpsched.metrics.results_table_columns import BY_COLUMN
from cpsched.study.verdicts import EQUAL, LEAST, LOWER, ONE_RUN, UNKNOWN, is_clear
from cpsched.util.words import duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cpsched.study.comparisons import MetricDifference

#: Smaller changes are not mentioned.
NOTICEABLE = LEAST
#: Fates that more jobs may have than in the baseline: their counts, the total, and the words. A job
#: that its user cancels may wait in one run and run in the other: that is no loss.
_FATES = (
    (("timeout",), "simulated", "are stopped at their time limit"),
    (("killed", "cancelled"), "simulated", "are killed or cancelled"),
    (("rejected",), "in_log", "can never run"),
    (("never_started",), "simulated", "never start"),
)
#: Verdicts where nothing was repeated: one run each, or fewer than three logs.
_UNKNOWN = (ONE_RUN, UNKNOWN)
#: What is added to a change without a verdict.
_UNSURE = {ONE_RUN: ", not confirmed", UNKNOWN: ", without an interval"}
#: The least rise of such a share that is reported.
_TOLD = 0.0005


class Claim(IntEnum):
    """What may be said of a change, the best first."""

    GAIN = 0
    """Lower by its verdict, and nothing lost but time."""
    ONE_RUN = 1
    """Lower, without repetitions that could say whether that is chance."""
    UNCLEAR = 2
    """Lower, but within the variation between runs or too little to mention."""
    DEARER = 3
    """Lower, but more jobs are stopped or never run, or the longest wait is unknown."""
    NONE = 4
    """The same, or higher."""


class Against(NamedTuple):
    """
    A figure against the baseline's; lower is better.

    Attributes
    ----------
    shown, base_shown
        Both for people; of a mean over several logs its ratio, and nothing.
    ratio
        Of both; 1 if both are 0, infinite if only the baseline's is.
    verdict
        See :attr:`cpsched.study.verdicts.Compared.verdict`.
    interval
        In words, empty if there is none.
    """

    shown: str
    base_shown: str
    ratio: float
    verdict: str
    interval: str = ""

    @classmethod
    def of(cls, one: MetricDifference) -> Self:
        """Return a figure of a study's table of differences."""
        shown = BY_COLUMN[one.figure].shown
        ratio = one.ratio if one.ratio is not None else ratio_of(one.value, one.base_value)
        interval = one.interval
        said = "" if interval is None else "×{:.2f} to {:.2f}".format(*interval)
        return cls(shown(one.value), shown(one.base_value), ratio, one.verdict, said)

    @property
    def values(self) -> str:
        """Both figures: ``10.00 instead of 20.00``."""
        if self.shown == self.base_shown:
            return f"{self.shown} in both"
        return f"{self.shown} instead of {self.base_shown}"

    @property
    def change(self) -> str:
        """The change in words: ``50 % less``."""
        if self.ratio == 1:
            return "the same"
        if self.ratio == float("inf"):
            return "it was 0"
        share, less = 100 * abs(self.ratio - 1), "less" if self.ratio < 1 else "more"
        return f"less than 1 % {less}" if share < 1 else f"{share:,.0f} % {less}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """
    What a run changes against its baseline.

    Attributes
    ----------
    name, base
        The run and its baseline, in words.
    figure
        By which they are compared.
    longest
        The longest wait; None if it is not known.
    fates
        Of which more jobs than in the baseline have it, with both shares, in words.
    worse
        Over several logs: those on which the figure is higher by its verdict.
    placed
        Both allocators in words if they differ, else empty.
    days
        Of the log, over which there is an interval; None where there is none.
    pairs
        Of runs that are compared, one for each repetition; None over several logs.
    """

    name: str
    base: str
    figure: Against
    longest: Against | None
    fates: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()
    placed: str = ""
    days: int | None = None
    pairs: int | None = None

    @property
    def claim(self) -> Claim:
        """What may be said of it."""
        figure = self.figure
        if figure.ratio >= 1:
            return Claim.NONE
        if self.fates or self.longest is None:
            return Claim.DEARER
        known = figure.verdict.startswith(LOWER)
        if figure.ratio > 1 - NOTICEABLE or not (known or figure.verdict in _UNKNOWN):
            return Claim.UNCLEAR
        return Claim.GAIN if known else Claim.ONE_RUN

    @property
    def is_free(self) -> bool:
        """Whether its longest wait is not noticeably longer."""
        return self.longest is not None and self.longest.ratio < 1 + NOTICEABLE

    def price(self) -> str:
        """Return what is lost: time of who waits longest, jobs, or a fair comparison."""
        worse = [f"it is worse on {', '.join(self.worse)}"] if self.worse else []
        parts = [*worse, *self.fates, *([self.placed] if self.placed else [])]
        return "; ".join([_tail(self.longest), *parts])


def lost(run: Mapping[str, Any], base: Mapping[str, Any]) -> Iterator[str]:
    """
    Yield the fates that more jobs of a run than of its baseline have, by rows of the summary.

    Such jobs leave the machine to others, so without this a shorter wait would look free.
    """
    for counts, of, what in _FATES:
        now, then = (
            sum(row.get(one, 0) for one in counts) / max(row[of], 1) for row in (run, base)
        )
        if now - then >= _TOLD:
            yield f"{100 * now:.1f} % of the jobs {what} instead of {100 * then:.1f} %"


def ratio_of(value: float, base: float) -> float:
    """Return a ratio: 1 if both are 0, infinite if only the baseline is."""
    return 1.0 if value == base else value / base if base else float("inf")


def span(seconds: float) -> str:
    """Return a time as people read it."""
    return duration(seconds) if seconds else "0 s"


def _tail(longest: Against | None) -> str:
    """Say how the longest wait changes."""
    if longest is None:
        return "the longest wait is not known"
    if not longest.base_shown:
        said = longest.interval and f" ({longest.interval}{_unsure(longest)})"
        return f"the longest wait is {longest.shown}{said}"
    ratio = longest.ratio
    if longest.shown == longest.base_shown:
        return f"the longest wait stays at {longest.shown}"
    if abs(ratio - 1) < NOTICEABLE:
        return f"the longest wait is nearly the same ({longest.values})"
    how = (
        f"{100 * (1 - ratio):.0f} % shorter" if ratio < 1
        else f"{100 * (ratio - 1):.0f} % longer" if ratio < 2
        else f"{ratio:,.1f} times as long" if ratio < float("inf")
        else "longer"
    )  # fmt: skip
    return f"the longest wait is {how} ({longest.values}{_unsure(longest)})"


def _unsure(figure: Against) -> str:
    """Return what is added to a change that the verdict does not confirm; empty where it does."""
    if figure.verdict == EQUAL or is_clear(figure.verdict):
        return ""
    return _UNSURE.get(figure.verdict, ", not significant")
