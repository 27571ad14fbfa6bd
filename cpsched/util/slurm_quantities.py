"""
Numbers, times, sizes and booleans, as Slurm's own programs read and print them.

Configuration, logs and the live queue all read their values here. What is accepted, and what is
refused, follows Slurm 25.11: ``src/common/parse_value.c`` (numbers and booleans of slurm.conf),
``src/common/parse_time.c`` (times) and ``str_to_mbytes`` of ``src/common/proc_args.c`` (memory).
Every reader raises ValueError with the reason alone.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from cpsched.util.quantities import amount as parse_amount
from cpsched.util.quantities import instant, seconds_within

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Seconds that stand for INFINITE and UNLIMITED.
ENDLESS = 2**62
#: The number that INFINITE and UNLIMITED are to Slurm, where a count of 32 bits is asked for.
INFINITE = 2**32 - 1
#: Words for no limit, in lower case.
_WORDS = ("infinite", "unlimited")
_STEPS = "kmgtpe"
#: What a unit of a count stands for; ``kb`` is 1,000 and ``k`` or ``kib`` are 1,024.
COUNTS: Mapping[str, int] = {
    "": 1,
    **{
        f"{letter}{rest}": base**power
        for power, letter in enumerate(_STEPS, start=1)
        for rest, base in (("", 2**10), ("ib", 2**10), ("b", 10**3))
    },
}
#: KB in a unit of memory; a number alone is MB.
MEMORY: Mapping[str, int] = {
    "": 2**10,
    **{
        f"{letter}{rest}": 2 ** (10 * power)
        for power, letter in enumerate(_STEPS)
        for rest in ("", "b")
    },
}
#: Whole numbers as ``strtoul`` reads them with base 0: hexadecimal, octal, decimal; then ``k``.
_NUMBER = re.compile(
    r"\s*([+-]?)(?:0[xX]([0-9a-fA-F]{1,16})|(0[0-7]{0,22})|([1-9][0-9]{0,20}))(k?)"
)
_TIME = re.compile(
    r"([0-9]{1,12})(-(?:([0-9]{1,12})(?::([0-9]{1,12})(?::([0-9]{1,12}))?)?)?"
    r"|:([0-9]{1,12})(?::([0-9]{1,12}))?)?"
)
#: Words for a time of day (``src/common/parse_time.c``), in seconds.
_OF_DAY = {
    "midnight": 0, "elevenses": 39_600, "noon": 43_200, "fika": 54_000, "teatime": 57_600,
}  # fmt: skip
_UNITS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86_400, "weeks": 604_800}
_FROM_NOW = re.compile(r"now(?:\s*\+\s*([0-9]{1,12})\s*([a-z]*))?")
_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?\s*(am|pm)?")
_DATES = ("%Y-%m-%d", "%m/%d/%y", "%m.%d.%y", "%m%d%y")
_TRUE = ("yes", "up", "true", "1")
_FALSE = ("no", "down", "false", "0")


def is_endless(text: str) -> bool:
    """Tell whether a text is INFINITE or UNLIMITED, in any case."""
    return text.strip().lower() in _WORDS


def number(text: str) -> int:
    """
    Read a whole number of slurm.conf.

    For example ``100``, ``0x100`` (256), ``010`` (8) and ``10k`` (10,240). ``UNLIMITED`` and
    ``INFINITE`` are :data:`INFINITE`.
    """
    if is_endless(text):
        return INFINITE
    match = _NUMBER.fullmatch(text.lower())
    if match is None:
        raise ValueError(
            "is not a whole number (Slurm reads digits, 0x100, 010 as octal, 10k, UNLIMITED)"
        )
    sign, hexadecimal, octal, decimal, thousand = match.groups()
    digits, base = next(
        (part, base) for part, base in ((hexadecimal, 16), (octal, 8), (decimal, 10)) if part
    )
    return (-1 if sign == "-" else 1) * int(digits, base) * (2**10 if thousand else 1)


def seconds(text: str) -> int:
    """
    Read a time of slurm.conf, of an option or of a table of sacctmgr, in seconds.

    A number alone is minutes. The other forms are ``M:S``, ``H:M:S``, ``D-``, ``D-H``, ``D-H:M``
    and ``D-H:M:S``. A part may be of any size: ``1:60:15`` is two hours and 15 s. ``UNLIMITED``,
    ``INFINITE`` and ``-1`` are :data:`ENDLESS`.
    """
    return _seconds(text, 60)


def printed_seconds(text: str) -> int:
    """Read a time that Slurm prints, or that a policy file has: a number alone is seconds."""
    return _seconds(text, 1)


def elapsed(text: str) -> int:
    """Read a length of time that Slurm prints in seconds; it has an end."""
    value = printed_seconds(text)
    if value == ENDLESS:
        raise ValueError("is not a length of time")
    return value


def whole_minutes(text: str) -> int:
    """
    Read a time as seconds that Slurm keeps in minutes, rounded up: time limits, ``PriorityMaxAge``.

    For example ``0:30`` is 60 s.
    """
    value = seconds(text)
    return value if value == ENDLESS else -(-value // 60) * 60


@lru_cache(maxsize=2**14)
def _seconds(text: str, alone: int) -> int:
    if is_endless(text) or text.strip() in ("-1", str(INFINITE)):
        return ENDLESS
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise ValueError(
            "is not a length of time (minutes, minutes:seconds, hours:minutes:seconds, days-hours,"
            " days-hours:minutes:seconds or UNLIMITED)"
        )
    first, rest, *after_days, second, third = match.groups()
    head = int(first)
    if rest is None:
        return seconds_within(head * alone)
    if rest.startswith("-"):
        hours, minutes, left = (int(part or 0) for part in after_days)
        return seconds_within(((head * 24 + hours) * 60 + minutes) * 60 + left)
    if third is None:
        return seconds_within(head * 60 + int(second))
    return seconds_within((head * 60 + int(second)) * 60 + int(third))


def moment(text: str, now: int) -> int:
    """
    Read a time of ``--begin`` or ``--deadline`` as unix seconds, of a command given at ``now``.

    For example ``now+1hour``, ``16:00`` (tomorrow where it has passed), ``tomorrow``, ``teatime``,
    ``2024-03-01T16:00`` and ``03/01/24``. Times are in UTC.
    """
    text = text.strip().lower()
    if match := _FROM_NOW.fullmatch(text):
        # A beginning of the unit is enough.
        units = [size for unit, size in _UNITS.items() if unit.startswith(match[2] or "seconds")]
        if len(units) != 1:
            raise ValueError("must have seconds, minutes, hours, days or weeks behind now+")
        return seconds_within(now + units[0] * int(match[1] or 0))
    midnight = now - now % 86_400
    if text in ("today", "tomorrow"):
        return midnight + 86_400 * (text == "tomorrow")
    if (second := _of_day(text)) is not None:
        return midnight + second + 86_400 * (midnight + second < now)
    date, _, clock = text.partition("t" if "t" in text else " ")
    for form in _DATES:
        with suppress(ValueError):
            day = datetime.strptime(date, form).replace(tzinfo=UTC)
            if (second := _of_day(clock) if clock else 0) is not None:
                return int(day.timestamp()) + second
    return instant(text.upper())[0]


def _of_day(text: str) -> int | None:
    """Return the second of the day of ``16:00``, ``4:00pm`` or ``noon``; None if it is none."""
    match = _CLOCK.fullmatch(text)
    if match is None:
        return _OF_DAY.get(text)
    hour, minute, second = (int(part or 0) for part in match.groups()[:3])
    if match[4]:
        hour = hour % 12 + 12 * (match[4] == "pm")
    return hour * 3600 + minute * 60 + second if hour < 24 and max(minute, second) < 60 else None


def amount(text: str) -> int:
    """Read a count with a unit, such as ``4``, ``1.5K`` (1,536) or ``2kb``, rounded up."""
    return parse_amount(text.strip(), COUNTS)


def memory(text: str) -> int:
    """Read memory in KB, such as ``4G``, ``512`` (MB), ``1.50G`` or ``100kb``, rounded up."""
    return parse_amount(text.strip(), MEMORY)


def flag(text: str) -> bool:
    """Read a boolean of slurm.conf: yes, up, true or 1, and no, down, false or 0."""
    word = text.strip().lower()
    if word not in (*_TRUE, *_FALSE):
        raise ValueError("must be yes or no (also up, true, 1, down, false, 0)")
    return word in _TRUE


def real(text: str) -> float:
    """Read a number with a fraction; UNLIMITED and INFINITE are infinite."""
    if is_endless(text):
        return float("inf")
    try:
        return float.fromhex(text) if "0x" in text.lower() else _float(text)
    except ValueError:
        raise ValueError("is not a number") from None


def _float(text: str) -> float:
    # float() takes underscores, strtod does not.
    if "_" in text:
        raise ValueError(text)
    return float(text)


def clock(seconds: int) -> str:
    """Return seconds as Slurm writes times: ``[days-]hours:minutes:seconds``."""
    days, rest = divmod(int(seconds), 86400)
    hours, rest = divmod(rest, 3600)
    shown = f"{hours:02d}:{rest // 60:02d}:{rest % 60:02d}"
    return f"{days}-{shown}" if days else shown
