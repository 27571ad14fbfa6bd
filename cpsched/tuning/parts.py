"""
The parts of a log, by time: one to search on, one to choose on, and one to report on.

Jobs of the last part decide nothing: settings are chosen on earlier jobs alone. The search part has
shorter windows, on which settings that are not promising are stopped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpsched.errors import ConfigError
from cpsched.study.paired import DAY, FEWEST

if TYPE_CHECKING:
    from cpsched.util.types import IntArray

#: Shares of the log's time.
SEARCH, VALIDATION = 0.5, 0.2
#: Shares of the search part that its shorter windows cover.
_WINDOWS = (0.2, 0.5)
#: Positions of a window that are compared.
_POSITIONS = 100
#: Seconds before a part that are simulated and not measured. Shorter windows have a day.
_WARM_UP = 7 * DAY
#: Fewest jobs of a part.
_FEWEST_JOBS = 200


@dataclass(frozen=True)
class Window:
    """
    Jobs that are measured, seconds of the log's clock.

    Attributes
    ----------
    name
        ``search``, ``search 1``, ``validation`` or ``test``.
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
    The parts of a log.

    Attributes
    ----------
    search, validation, test
        The jobs on which settings are tried, those on which one is chosen, and those on which it is
        reported.
    """

    search: Window
    validation: Window
    test: Window


def parts_of(submit: IntArray, where: str) -> Parts:
    """
    Split a log by time.

    Parameters
    ----------
    submit
        Submits in ascending order, seconds of the log's clock.
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

    return Parts(
        search=_window("search", begin, at_validation, submit, where),
        validation=_window("validation", at_validation, at_test, submit, where),
        test=_window("test", at_test, end, submit, where),
    )


def windows_of(part: Window, submit: IntArray, wait: IntArray, where: str) -> tuple[Window, ...]:
    """
    Return the windows of a search, from short to long; the last one is the whole search part.

    The shorter ones are where jobs wait most under the site's settings: elsewhere all settings are
    alike.

    Parameters
    ----------
    submit, wait
        Submits of the part in ascending order, and waits under the site's settings, seconds.
    where
        The log, in errors.

    Raises
    ------
    ConfigError
        If a window has too few jobs.
    """
    total = np.concatenate([[0], np.cumsum(wait)])
    windows = []
    for number, share in enumerate(_WINDOWS, 1):
        length = round(share * (part.end - part.start))
        starts = np.linspace(part.start, part.end - length, _POSITIONS).astype(np.int64)
        within = np.searchsorted(submit, [starts, starts + length])
        # The first of equal ones.
        start = int(starts[np.argmax(total[within[1]] - total[within[0]])])
        windows.append(_window(f"search {number}", start, start + length, submit, where, DAY))
    return (*windows, part)


def _window(
    name: str, start: int, end: int, submit: IntArray, where: str, warm_up: int = _WARM_UP
) -> Window:
    jobs = int(((submit >= start) & (submit < end)).sum())
    if jobs < _FEWEST_JOBS:
        raise ConfigError(
            f"has {jobs:,} jobs for {name}. At least {_FEWEST_JOBS:,} are needed.", where=where
        )
    return Window(name, max(int(submit[0]), start - warm_up), start, end, jobs)
