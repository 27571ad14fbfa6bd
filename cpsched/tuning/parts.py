"""
The parts of a log, by time: one to search on, one to choose on, and one to report on.

Jobs of the last part decide nothing: settings are chosen on earlier jobs alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cpsched.errors import ConfigError
from cpsched.study.paired import DAY, FEWEST

if TYPE_CHECKING:
    from cpsched.util.types import IntArray

#: Shares of the log's time.
SEARCH, VALIDATION = 0.5, 0.2
#: Shares of the search part that the windows of a search cover, which end where it ends.
_WINDOWS = (0.2, 0.5, 1.0)
#: Fewest jobs of a part.
_FEWEST_JOBS = 200


@dataclass(frozen=True)
class Window:
    """
    Jobs that are measured, seconds of the log's clock.

    Attributes
    ----------
    name
        ``search 1``, ``validation`` or ``test``.
    first
        First submit of the simulation, which warms up until ``start``.
    start, end
        Jobs submitted within ``[start, end)`` are measured.
    jobs
        Number of them.
    """

    name: str
    first: int
    start: int
    end: int
    jobs: int


@dataclass(frozen=True)
class Parts:
    """
    The windows of all parts.

    Attributes
    ----------
    search
        From short to long. The last one is the whole part.
    validation, test
        The jobs on which a setting is chosen, and those on which it is reported.
    """

    search: tuple[Window, ...]
    validation: Window
    test: Window


def parts_of(submit: IntArray, warm_up: int, where: str) -> Parts:
    """
    Split a log by time.

    Parameters
    ----------
    submit
        Submits in ascending order, seconds of the log's clock.
    warm_up
        Seconds before a window that are simulated and not measured.
    where
        The log, in errors.

    Raises
    ------
    ConfigError
        If the last part is too short for an interval over days, or a part has too few jobs.
    """
    begin, end = int(submit[0]), int(submit[-1]) + 1
    length = end - begin
    share = 1 - SEARCH - VALIDATION
    needed = round(FEWEST * DAY / share)
    if length <= needed:
        raise ConfigError(
            f"covers {length / DAY:.1f} days. An interval on later jobs needs {FEWEST} whole days"
            f" after {1 - share:.0%} of the log: give a log of at least {needed / DAY:.0f} days.",
            where=where,
        )
    at_validation = begin + round(SEARCH * length)
    at_test = begin + round((SEARCH + VALIDATION) * length)

    def window(name: str, start: int, stop: int) -> Window:
        jobs = int(((submit >= start) & (submit < stop)).sum())
        if jobs < _FEWEST_JOBS:
            raise ConfigError(
                f"has {jobs:,} jobs for {name}. At least {_FEWEST_JOBS:,} are needed.", where=where
            )
        return Window(name, max(begin, start - warm_up), start, stop, jobs)

    return Parts(
        search=tuple(
            window(f"search {number}", at_validation - round(part * SEARCH * length), at_validation)
            for number, part in enumerate(_WINDOWS, 1)
        ),
        validation=window("validation", at_validation, at_test),
        test=window("test", at_test, end),
    )
