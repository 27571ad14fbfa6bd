"""
Kinds of values of slurm.conf, of tables of sacctmgr and of policy files: read as text, and written.

Amounts keep Slurm's own units, except memory, which is KB, and times, which are seconds.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from cpsched.util.quantities import duration, instant
from cpsched.util.slurm_quantities import (
    ENDLESS,
    INFINITE,
    amount,
    clock,
    flag,
    is_endless,
    memory,
    number,
    printed_seconds,
    real,
    seconds,
)
from cpsched.util.toml_text import toml_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

#: The largest number of a type without an upper bound.
LARGEST = 2**62
#: Further words of policy files and of their changes; nothing is yes, as a word alone is.
_FLAGS = {"on": True, "": True, "off": False}
#: MB for one of a unit of memory, by which weights of memory are divided.
_SIZES = {"": 1.0, "K": 2.0**-10, "M": 1.0, "G": 2.0**10, "T": 2.0**20, "P": 2.0**30}


def _as_it_is(value: Any) -> Any:
    return value


class ValueType(NamedTuple):
    """
    A kind of value.

    Attributes
    ----------
    name
        ``count``, ``flag``, ``time``, ``choice``, ``words`` and so on.
    read
        Returns what a text stands for; raises ValueError that names what is expected.
    shown
        Returns a value as a file has it: a text, a number, or true or false.
    choices
        The words that it knows; none: any.
    """

    name: str
    read: Callable[[str], Any]
    shown: Callable[[Any], Any] = _as_it_is
    choices: tuple[str, ...] = ()


def count(least: int = 0, largest: int = LARGEST, off: int | None = None) -> ValueType:
    """
    Return the type of whole numbers within bounds, of which UNLIMITED is the largest.

    Parameters
    ----------
    off
        A number out of these bounds that switches something off.
    """

    def read(text: str) -> int:
        value = min(INFINITE, largest) if is_endless(text) else number(text)
        if not least <= value <= largest and value != off:
            top = f", {least} or more" if largest == LARGEST else f" from {least} to {largest}"
            other = "" if off is None else f", or {off}"
            raise ValueError(f"must be a whole number{top}{other}")
        return value

    return ValueType("count", read)


def choice(*choices: str) -> ValueType:
    """Return the kind of one of some words."""
    known = {word.lower(): word for word in choices}

    def read(text: str) -> str:
        if text.lower() not in known:
            raise ValueError(f"must be one of: {', '.join(choices)}")
        return known[text.lower()]

    return ValueType("choice", read, choices=choices)


def words(*choices: str) -> ValueType:
    """Return the kind of sets of some words; of any where none are given."""
    known = {word.lower(): word for word in choices}

    def read(text: str) -> frozenset[str]:
        given = names(text)
        unknown = next((word for word in given if word.lower() not in known), None)
        if unknown is not None and choices:
            raise ValueError(f"has the unknown word {unknown!r}. Known words: {', '.join(choices)}")
        return frozenset(known.get(word.lower(), word) for word in given)

    return ValueType("words", read, lambda value: ",".join(sorted(value)), choices)


def names(text: str) -> tuple[str, ...]:
    """Return names with commas between, as Slurm lists them."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def toml_table(title: str, keys: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table in TOML; keys without a value, or with an empty one, are not."""
    yield title
    yield from toml_pairs(
        {
            key: value
            for key, value in keys.items()
            if not (value is None or value is False or value in ("", (), []))
        }
    )


def _flag(text: str) -> bool:
    known = _FLAGS.get(text.lower())
    return flag(text) if known is None else known


def _time(text: str) -> int:
    try:
        return _with_units(seconds, text)
    except ValueError:
        raise ValueError(
            "must be a time as Slurm writes it (minutes, 4:00:00, 1-12, UNLIMITED) or like 4h"
        ) from None


def _length(text: str) -> int:
    return _with_units(printed_seconds, text)


def _with_units(read: Callable[[str], int], text: str) -> int:
    """Read a time of Slurm's, or one in words (``4h``) as files of cpsched have it."""
    try:
        return read(text)
    except ValueError:
        with suppress(ValueError):
            return duration(text)
        raise


def _number(text: str) -> float:
    try:
        value = real(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ValueError("must be a number, 0 or more")
    return value


def _shares(text: str) -> int | None:
    if text.lower() == "parent":
        return None
    shares = number(text)
    if shares < 0:
        raise ValueError('must be a whole number, 0 or more, or "parent"')
    return shares


def tres(text: str) -> dict[str, int]:
    """
    Read ``cpu=100,mem=2T,gres/gpu=4``: amounts by TRES in lower case, memory in KB.

    Raises
    ------
    ValueError
        If it is not of that form.
    """
    amounts: dict[str, int] = {}
    for item in names(text):
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise ValueError(f"must list amounts such as cpu=100,mem=2T. {item!r} has none.")
        name = name.lower()
        try:
            amounts[name] = memory(value) if name == "mem" else amount(value)
        except ValueError as error:
            raise ValueError(f"has {item!r}, whose value {error}") from None
    return amounts


def _weights(text: str) -> dict[str, float]:
    """Read ``CPU=1.0,Mem=0.25G``: weights by TRES, of memory for a MB (0.25 for each GB)."""
    weights: dict[str, float] = {}
    for item in names(text):
        name, equals, value = item.partition("=")
        unit = value[-1:].upper() if value[-1:].isalpha() else ""
        try:
            number = float(value.removesuffix(value[-1:]) if unit else value)
        except ValueError:
            equals = ""
        if not equals or unit not in _SIZES:
            raise ValueError(f"must list weights such as CPU=1.0,Mem=0.25G. {item!r} is none.")
        weights[name.lower()] = number / _SIZES[unit]
    return weights


def _listed(amounts: Mapping[str, Any], memory: Callable[[Any], str]) -> str:
    return ",".join(
        f"{name}={memory(amount) if name == 'mem' else amount}" for name, amount in amounts.items()
    )


def _weight_of_memory(of_megabyte: float) -> str:
    """Return the weight of a MB, or of a GB where that is shorter: 0.1G and not 9.765625e-05."""
    return min(str(of_megabyte), f"{of_megabyte * 2**10}G", key=len)


COUNT, NAME = count(), ValueType("name", _as_it_is)
FLAG, NUMBER = ValueType("flag", _flag), ValueType("number", _number)
#: Times of slurm.conf, of which a number alone is minutes; of sacctmgr, of which it is seconds.
TIME = ValueType("time", _time, lambda value: "UNLIMITED" if value >= ENDLESS else clock(value))
LENGTH = ValueType("length", _length, TIME.shown)
MOMENT = ValueType(
    "moment",
    lambda text: instant(text)[0],
    lambda value: datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
)
#: Names as one text, and as a list of texts; and words that are not in any order.
NAMES, LIST = ValueType("names", names, ",".join), ValueType("list", names, list)
WORDS = words()
SHARES = ValueType("shares", _shares, lambda value: "parent" if value is None else value)
#: What is done to preempted jobs; '' for what the cluster does.
MODE = ValueType("mode", lambda text: text.upper().replace("CLUSTER", ""))
TRES = ValueType("tres", tres, lambda value: _listed(value, "{}K".format))
WEIGHTS = ValueType("weights", _weights, lambda value: _listed(value, _weight_of_memory))
