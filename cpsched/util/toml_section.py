"""
TOML files of every kind: each table is read with every value checked and every key accounted for.

System files, policies and studies are read with it, so what is wrong with any of them is said in
the same way: file, line, key, value, and what would be right.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cpsched.errors import ConfigError, CpschedError, instead_of
from cpsched.util.documents import read_toml
from cpsched.util.types import MAX_AMOUNT, MAX_TIME
from cpsched.util.words import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Self

_Value = TypeVar("_Value")
#: Instead of a default: the key must be there.
_NEEDED: Any = object()
_CLOCK = re.compile(r"(?:(\d{1,9})-)?(\d{1,12}):([0-5]\d):([0-5]\d)")
_MEMORY = re.compile(r"(\d{1,15}) ?(KB|MB|GB|TB)")
_KB = {"KB": 1, "MB": 1 << 10, "GB": 1 << 20, "TB": 1 << 30}
_MOST_SEEDS, _LARGEST_SEED = 10_000, 2**31 - 1


class Section:
    """
    One TOML table: returns checked values and remembers which keys were read.

    Parameters
    ----------
    data
        The table as ``tomllib`` gives it.
    where
        The file, for messages.
    table_name
        What the table is called in the file (``nodes[2]``), empty for the top level.
    lines
        The lines of the file's keys (:func:`key_lines`), for messages.
    """

    def __init__(
        self,
        data: Mapping[str, Any],
        where: str,
        table_name: str = "",
        lines: Mapping[str, int] | None = None,
    ) -> None:
        self._data = data
        self._where = where
        self._table_name = table_name
        self._lines = lines or {}
        self._asked: set[str] = set()

    @classmethod
    def of_text(cls, text: str, where: str) -> Self:
        """
        Return the whole of a TOML file.

        Raises
        ------
        ConfigError
            If it is not TOML.
        """
        try:
            return cls(read_toml(text), where, lines=key_lines(text))
        except ValueError as error:
            raise ConfigError(str(error), where=where) from error

    def __contains__(self, key: str) -> bool:
        return key in self._data

    @property
    def file(self) -> Path:
        """The file of this table."""
        return Path(self._where)

    def names(self) -> list[str]:
        """Return the keys that are there, in file order."""
        return list(self._data)

    def error(self, key: str, message: object) -> ConfigError:
        """Return the error that says what is wrong with a key, on one line whatever the key."""
        table_name = self._below(key)
        # What is missing is missing from the table above it.
        while table_name and table_name not in self._lines:
            table_name = table_name.rpartition(".")[0]
        line, shown = self._lines.get(table_name), self._below(escaped(key))
        return ConfigError(str(message), where=self._where, line=line, key=shown)

    @contextmanager
    def blamed(self, key: str) -> Iterator[None]:
        """Say of whatever is wrong with a key's value where it is in the file."""
        try:
            yield
        except CpschedError as error:
            if getattr(error, "where", None) == self._where:
                raise
            raise self.error(key, error) from error

    def finish(self) -> None:
        """Raise ConfigError if there is a key that was never read."""
        left = [key for key in self._data if key not in self._asked]
        if left:
            there = instead_of(left[0], sorted(self._asked), "; the keys here are:")
            raise self.error(left[0], f"there is no such key{there}")

    def expect(self, *keys: str) -> None:
        """Raise ConfigError for a key that is not one of ``keys``, before any other complaint."""
        self._asked.update(keys)
        self.finish()

    def plain(self, key: str) -> Any:
        """Return a value unchecked, None if it is missing."""
        self._asked.add(key)
        return self._data.get(key)

    # --- one value ------------------------------------------------------------------------------

    def text(self, key: str, default: str | None = None) -> str:
        """Return a non-empty string."""
        return self._read(key, "text in quotes", _text, _NEEDED if default is None else default)

    def scalar(self, key: str) -> str:
        """Return a text, a number, or true or false, as text: ``yes`` or ``no`` for the last."""
        return self._read(key, "a text, a number, or true or false", _scalar, _NEEDED)

    def choice(self, key: str, options: Collection[str], default: str | None) -> str | None:
        """Return one of the options."""
        right = f"one of: {', '.join(options)}"
        return self._read(key, right, partial(_text, among=options), default)

    def flag(self, key: str, default: bool = False) -> bool:
        """Return true or false."""
        return self._read(key, "true or false", _flag, default)

    def integer(self, key: str, least: int, limit: int, default: int) -> int:
        """Return a whole number within bounds."""
        number = self.count(key, limit, least=least)
        return default if number is None else number

    def count(self, key: str, limit: int = MAX_AMOUNT, *, least: int = 1) -> int | None:
        """Return a whole number of at least ``least``."""
        right = f"a whole number from {least} to {limit}"
        return self._read(key, right, partial(_integer, least=least, limit=limit), None)

    def needed_count(self, key: str) -> int:
        """Return a whole number of at least one that must be there."""
        if key not in self:
            raise self._wrong(key, None, "a whole number of at least 1")
        return self.count(key) or 1

    def memory(self, key: str) -> int | None:
        """Return an amount of memory in KB: a whole number of KB, or text such as "16 GB"."""
        right = 'KB as a whole number above 0, or text such as "16 GB"'
        return self._read(key, right, _kilobytes, None)

    def seconds(self, key: str, *, least: int = 1) -> int | None:
        """Return a duration in seconds: a whole number, "H:MM:SS" or "D-HH:MM:SS"."""
        number = f"of at least {least}" if least != 1 else "above 0"
        right = f'seconds as a whole number {number}, "6:00:00" or "1-00:00:00"'
        return self._read(key, right, lambda value: _integer(_clock(value), least, MAX_TIME), None)

    def moment(self, key: str) -> int | str | None:
        """Return seconds of the log's clock, or a date as text."""
        right = "seconds of the log's clock, or a date such as 2014-03-31"
        return self._read(key, right, _moment, None)

    def sibling_file(self, key: str) -> Path:
        """Return a file whose path is given relative to the file of this table."""
        return self.file.parent / self.text(key)

    # --- several values -------------------------------------------------------------------------

    def texts(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return a list of distinct non-empty strings."""
        right = 'a list of texts, such as ["a", "b"]'
        values = self._read(key, right, lambda value: _list(value, _text), default)
        return self._distinct(key, values, repr)

    def counts(self, key: str) -> tuple[int, ...]:
        """Return a list of whole numbers of at least one."""
        right = "a list of whole numbers of at least 1"
        return self._read(key, right, lambda value: _list(value, _integer), ())

    def count_lists(self, key: str) -> tuple[tuple[int, ...], ...]:
        """Return a list of lists of whole numbers of at least one."""
        right = "lists of whole numbers of at least 1: [[4, 6], [10]]"
        return self._read(key, right, lambda value: _list(value, _some_counts), _NEEDED)

    def seeds(self, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """Return distinct seeds: a list, or a number n that stands for 1 to n."""

        def read(value: object) -> tuple[int, ...]:
            if isinstance(value, list):
                return _filled(_list(value, lambda seed: _integer(seed, 0, _LARGEST_SEED)))
            return tuple(range(1, _integer(value, 1, _MOST_SEEDS) + 1))

        right = f"a number of repetitions from 1 to {_MOST_SEEDS}, or a list such as [1, 2, 3]"
        return self._distinct(key, self._read(key, right, read, default), str)

    def labelled(self, key: str, default: Sequence[str]) -> list[tuple[str | None, str]]:
        """Return labels and texts: a list of texts (no labels), or a table ``label = text``."""

        def read(value: object) -> list[tuple[str | None, str]]:
            if isinstance(value, dict):
                pairs: list[tuple[str | None, Any]] = list(value.items())
            else:
                pairs = [(None, text) for text in _list(value, _text)]
            return [(label, _text(text)) for label, text in _filled(pairs)]

        right = 'a list such as ["fifo", "easy"], or a table such as EBF = "easy"'
        usual: list[tuple[str | None, str]] = [(None, text) for text in default]
        return self._read(key, right, read, usual or _NEEDED)

    # --- tables below ---------------------------------------------------------------------------

    def table(self, key: str) -> Self:
        """Return a table below this one, an empty one if it is not there."""
        return self._at(self._read(key, "a table", _table, {}), self._below(key))

    def tables(self, key: str) -> list[Self]:
        """Return the entries of a list of tables (``[[key]]``)."""
        right = f"entries of the form [[{key}]]"
        entries = self._read(key, right, lambda value: _list(value, _table), ())
        return [
            self._at(table, f"{self._below(key)}[{i}]") for i, table in enumerate(entries, start=1)
        ]

    def _at(self, data: Mapping[str, Any], table_name: str) -> Self:
        """Return a table of the same file."""
        return type(self)(data, self._where, table_name, self._lines)

    def _below(self, key: str) -> str:
        return f"{self._table_name}.{key}" if self._table_name and key else self._table_name or key

    def _read(self, key: str, right: str, read: Callable[[Any], _Value], default: Any) -> _Value:
        """Return a value as ``read`` makes it, which raises ValueError if it is not ``right``."""
        value = self.plain(key)
        usual: _Value = default
        if value is None and default is not _NEEDED:
            return usual
        try:
            return read(value)
        except ValueError:
            raise self._wrong(key, value, right) from None

    def _distinct(
        self, key: str, values: tuple[_Value, ...], shown: Callable[[_Value], str]
    ) -> tuple[_Value, ...]:
        twice = next((value for i, value in enumerate(values) if value in values[:i]), None)
        if twice is not None:
            raise self.error(key, f"{shown(twice)} is listed twice")
        return values

    def _wrong(self, key: str, value: object, right: str) -> ConfigError:
        if value is None:
            return self.error(key, f"is missing; it must be {right}")
        shown = repr(value)
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        return self.error(key, f"is {shown}, must be {right}")


def _checked(value: _Value, good: object) -> _Value:
    if not good:
        raise ValueError
    return value


def _filled(values: _Value) -> _Value:
    return _checked(values, values)


def _text(value: Any, among: Collection[str] | None = None) -> str:
    good = isinstance(value, str) and value.strip() and (among is None or value in among)
    return str(_checked(value, good))


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(_checked(value, isinstance(value, str | int | float)))


def _flag(value: Any) -> bool:
    return bool(_checked(value, isinstance(value, bool)))


def _integer(value: Any, least: int = 1, limit: int | None = None) -> int:
    """Return a whole number; TOML's true is not 1."""
    good = isinstance(value, int) and not isinstance(value, bool) and value >= least
    return int(_checked(value, good and (limit is None or value <= limit)))


def _kilobytes(value: Any) -> int:
    if isinstance(value, str) and (match := _MEMORY.fullmatch(value)):
        value = int(match[1]) * _KB[match[2]]
    return _integer(value, 1, MAX_AMOUNT)


def _clock(value: Any) -> Any:
    """Return the seconds of a text such as ``1-00:00:00``; anything else as it is."""
    if not isinstance(value, str) or not (match := _CLOCK.fullmatch(value)):
        return value
    days, hours, minutes, rest = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest


def _moment(value: Any) -> int | str:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str):
        return datetime.fromisoformat(value).isoformat()
    return _integer(value, -MAX_TIME)


def _table(value: Any) -> Mapping[str, Any]:
    table: Mapping[str, Any] = _checked(value, isinstance(value, dict))
    return table


def _list(value: Any, read: Callable[[Any], _Value]) -> tuple[_Value, ...]:
    parts: Iterable[Any] = _checked(value, isinstance(value, list))
    return tuple(read(part) for part in parts)


def _some_counts(value: Any) -> tuple[int, ...]:
    return _filled(_list(value, _integer))


_NAME = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_DOTTED = rf"{_NAME}(?:\s*\.\s*{_NAME})*"
#: A line of a table (``[a.b]``), of an entry of a list of tables (``[[a.b]]``), and of a key.
_TABLE = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(rf"\s*({_DOTTED})\s*=")


def key_lines(text: str) -> dict[str, int]:
    """
    Return the line of each key and table of a TOML file, from 1 on.

    They are named as in errors: ``log.mapping``, or ``nodes[2].count`` in the second ``[[nodes]]``.
    """
    line_of: dict[str, int] = {}
    entries: dict[str, int] = {}
    table = string = ""
    for number, line in enumerate(text.split("\n"), start=1):
        inside = bool(string)
        string = _open_string(line, string)
        if inside:
            continue
        if match := _TABLE.match(line):
            table = ""
            for part in _parts(match[2]):
                if table in entries:
                    table = f"{table}[{entries[table]}]"
                table = f"{table}.{part}" if table else part
            if match[1] == "[[":
                line_of.setdefault(table, number)
                entries[table] = entries.get(table, 0) + 1
                table = f"{table}[{entries[table]}]"
            line_of.setdefault(table, number)
        elif match := _KEY.match(line):
            line_of.setdefault(".".join(filter(None, (table, *_parts(match[1])))), number)
    return line_of


def _parts(dotted: str) -> list[str]:
    return [part.strip("\"'") for part in re.findall(_NAME, dotted)]


def _open_string(line: str, string: str) -> str:
    """Return the quotes of a text over several lines that is open after a line; empty if none."""
    if not string and line.lstrip().startswith("#"):
        return ""
    for quotes in re.findall(r"\"\"\"|'''", line):
        string = "" if string == quotes else string or quotes
    return string
