"""
Numbers, times and amounts as logs and Slurm's files write them.

Each function reads one value and raises ``ValueError`` with the reason alone; the caller knows
where the value is.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from cpsched.util.types import MAX_TIME

if TYPE_CHECKING:
    from collections.abc import Mapping

_WHOLE = re.compile(r"[+-]?[0-9]{1,25}")
_AMOUNT = re.compile(r"([0-9]{1,25})(?:\.([0-9]{1,12}))?([A-Za-z]*)")
_DURATION = re.compile(r"(?:([0-9]{1,12})-)?([0-9]{1,15}(?::[0-9]{1,15}){0,3})")
#: As people write it, and as it is printed; every part is there or not.
_SPELT = re.compile(
    r"(?=[0-9])" + r" ?".join(rf"(?:([0-9]{{1,12}}) ?{unit})?" for unit in ("d", "h", "min", "s"))
)
#: Days, hours, minutes, seconds: what a part must stay below unless it is the first one.
_CLOCK = (1, 24, 60, 60)
_INSTANT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"(?:\.[0-9]+)?(Z|[+-][0-9]{2}:?[0-9]{2})?"
)


def integer(value: str) -> int:
    """Read a whole number, sign allowed; nothing that only Python would take for one."""
    if not _WHOLE.fullmatch(value):
        raise ValueError("is not a whole number")
    return int(value)


@lru_cache(maxsize=2**14)
def duration(value: str) -> int:
    """
    Read a length of time as seconds.

    Accepted are ``S``, ``M:S``, ``H:M:S``, ``D:H:M:S``, and with days in front ``D-H``,
    ``D-H:M``, ``D-H:M:S``. The first part may be any size, the others are below 60 (hours: 24).
    And units in words: ``24h``, ``4 h 36 min``, ``2 d``.
    """
    if spelt := _SPELT.fullmatch(value):
        days, hours, minutes, seconds = (int(part or 0) for part in spelt.groups())
        return seconds_within(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
    match = _DURATION.fullmatch(value)
    clock = [int(part) for part in match[2].split(":")] if match else []
    if match and match[1] is not None:
        # After days the clock starts with the hours, and what it leaves out is zero.
        first = 0
        clock = [int(match[1]), *clock, 0, 0][:4] if len(clock) <= 3 else []
    else:
        first = 4 - len(clock)
        clock = [0] * first + clock
    if not match or not clock:
        raise ValueError("is not a length of time ([days-]hours:minutes:seconds, or 4h, 30 min)")
    if any(part >= limit for part, limit in list(zip(clock, _CLOCK, strict=True))[first + 1 :]):
        raise ValueError("is not a length of time (hours go to 23, minutes and seconds to 59)")
    days, hours, minutes, seconds = clock
    return seconds_within(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def minutes(value: str) -> int:
    """Read a length of time as Slurm's options take it, as seconds: a number alone is minutes."""
    return duration(f"{value}:0" if value.isascii() and value.isdigit() else value)


def seconds_within(value: int, least: int = 0) -> int:
    """Return a time or length of time if it is at least ``least`` and can be believed."""
    if not least <= value <= MAX_TIME:
        raise ValueError(f"must be from {least} to {MAX_TIME} seconds")
    return value


@lru_cache(maxsize=2**14)
def instant(value: str) -> tuple[int, bool]:
    """
    Read a moment as unix seconds, and whether the text said its offset from UTC.

    Accepted are ``2024-03-01T10:00:00`` (taken as UTC), the same with ``Z`` or ``+01:00``, and
    unix seconds. Fractions of a second are cut off.
    """
    if value.isascii() and value.isdigit():
        return seconds_within(integer(value)), True
    match = _INSTANT.fullmatch(value)
    if not match:
        raise ValueError("is not a date and time like 2024-03-01T10:00:00")
    try:
        if match[3] is not None:
            moment = datetime.fromisoformat(f"{match[1]}T{match[2]}{match[3]}")
            seconds = int(moment.timestamp())
        else:
            hour, minute, second = map(int, match[2].split(":"))
            if hour > 23 or minute > 59 or second > 59:
                raise ValueError("hours go to 23, minutes and seconds to 59")
            seconds = _midnight(match[1]) + 3600 * hour + 60 * minute + second
    except ValueError as error:
        raise ValueError(f"is not a date and time ({error})") from None
    return seconds_within(seconds), match[3] is not None


@lru_cache(maxsize=4096)
def _midnight(date: str) -> int:
    """Return the unix second at which a day begins in UTC."""
    return int(datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp())


def amount(value: str, units: Mapping[str, int], *, per: int = 1) -> int:
    """
    Read a number with a unit, such as ``16gb`` or ``187.5G``, rounded up to a whole amount.

    Parameters
    ----------
    units
        What each unit (lower case; ``""`` for none) is worth, in parts of the result.
    per
        Parts in one of the result.
    """
    match = _AMOUNT.fullmatch(value)
    if not match or match[3].lower() not in units:
        known = ", ".join(unit for unit in units if unit)
        raise ValueError(f"is not an amount (a number, then nothing or one of {known})")
    digits, fraction, unit = match[1], match[2] or "", units[match[3].lower()]
    scale: int = per * 10 ** len(fraction)
    return -(-int(digits + fraction) * unit // scale)
