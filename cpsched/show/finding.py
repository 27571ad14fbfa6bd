"""A finding on one workload and system, and what all findings are written with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cpsched.base.words import duration
from cpsched.metrics.leading import BY_COLUMN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.study.tables import Cell

Row = dict[str, "Cell"]
#: The measure of a gain. Area-weighted response hardly differs between dispatchers that keep the
#: machine busy; slowdown is what most users notice.
QUALITY, LONGEST = "bounded_slowdown_mean", "wait_max_s"
#: Smaller changes are not mentioned.
NOTICEABLE = 0.01
#: What a run's rows are told from those of other runs by.
WHICH = ("workload", "system", "dispatcher", "predictor")


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


def key_of(row: Row) -> tuple[Cell, ...]:
    """Return which run a row is of."""
    return tuple(row[name] for name in WHICH)


def shown(row: Row, name: str = "value") -> str:
    """Return a figure of a run or its baseline in readable form."""
    return BY_COLUMN[str(row["figure"])].shown(value_of(row, name))


def value_of(row: Mapping[str, Cell], name: str) -> float:
    """Return a number that a row of a compared run always has."""
    value = row[name]
    assert isinstance(value, int | float), f"{name} of a run that is compared is known"
    return float(value)


def span(seconds: float) -> str:
    """Return a time as people read it."""
    return duration(seconds) if seconds else "0 s"
