"""One table of a TOML file, read with every value checked and every key accounted for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched.base.types import MAX_AMOUNT, MAX_TIME
from cpsched.base.words import escaped
from cpsched.errors import ConfigError, instead_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Self

    from cpsched.systems.lines import Lines

_CLOCK = re.compile(r"(?:(\d{1,9})-)?(\d{1,12}):([0-5]\d):([0-5]\d)")
_MEMORY = re.compile(r"(\d{1,15}) ?(KB|MB|GB|TB)")
_KB = {"KB": 1, "MB": 1 << 10, "GB": 1 << 20, "TB": 1 << 30}


class Section:
    """
    One TOML table: returns checked values and remembers which keys were read.

    Parameters
    ----------
    data
        The table as ``tomllib`` gives it.
    where
        The file, for messages.
    place
        What the table is called in the file (``nodes[2]``), empty for the top level.
    lines
        The lines of the file's keys, for messages.
    """

    def __init__(
        self,
        data: Mapping[str, Any],
        where: str,
        place: str = "",
        lines: Lines | None = None,
    ) -> None:
        self._data = data
        self._where = where
        self._place = place
        self._lines = lines
        self._asked: set[str] = set()

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def names(self) -> list[str]:
        """Return the keys that are there, in file order."""
        return list(self._data)

    def error(self, key: str, message: str) -> ConfigError:
        """Return the error that says what is wrong with a key, on one line whatever the key."""
        line = None if self._lines is None else self._lines.of(self._below(key))
        shown = self._below(escaped(key))
        return ConfigError(message, where=self._where, line=line, key=shown)

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

    def text(self, key: str, default: str | None = None) -> str:
        """Return a non-empty string."""
        value = self._get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or not value.strip():
            raise self._wrong(key, value, "text in quotes")
        return value

    def scalar(self, key: str) -> str:
        """Return a text, a number, or true or false, as text: ``yes`` or ``no`` for the last."""
        value = self._get(key)
        if isinstance(value, bool):
            return "yes" if value else "no"
        if not isinstance(value, str | int | float):
            raise self._wrong(key, value, "a text, a number, or true or false")
        return str(value)

    def texts(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return a list of distinct non-empty strings."""
        value = self._get(key)
        if value is None:
            return default
        if not isinstance(value, list) or not all(isinstance(v, str) and v.strip() for v in value):
            raise self._wrong(key, value, 'a list of texts, such as ["a", "b"]')
        twice = next((text for i, text in enumerate(value) if text in value[:i]), None)
        if twice is not None:
            raise self.error(key, f"{twice!r} is listed twice")
        return tuple(value)

    def beside(self, key: str) -> Path:
        """Return a file whose path is given relative to the file of this table."""
        return Path(self._where).parent / self.text(key)

    def choice(self, key: str, options: Collection[str], default: str | None) -> str | None:
        """Return one of the options."""
        value = self._get(key)
        if value is None:
            return default
        if not isinstance(value, str) or value not in options:
            raise self._wrong(key, value, f"one of: {', '.join(options)}")
        return value

    def count(self, key: str, limit: int = MAX_AMOUNT, *, least: int = 1) -> int | None:
        """Return a whole number of at least ``least``."""
        value = self._get(key)
        if value is None:
            return None
        if not _is_whole(value) or not least <= value <= limit:
            raise self._wrong(key, value, f"a whole number from {least} to {limit}")
        return int(value)

    def needed_count(self, key: str) -> int:
        """Return a whole number of at least one that must be there."""
        count = self.count(key)
        if count is None:
            raise self._wrong(key, None, "a whole number of at least 1")
        return count

    def counts(self, key: str) -> tuple[int, ...]:
        """Return a list of whole numbers of at least one."""
        value = self._get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(_is_whole(v) and v >= 1 for v in value):
            raise self._wrong(key, value, "a list of whole numbers of at least 1")
        return tuple(value)

    def count_lists(self, key: str) -> tuple[tuple[int, ...], ...]:
        """Return a list of lists of whole numbers of at least one."""
        value = self._get(key)
        good = isinstance(value, list) and all(
            isinstance(part, list) and part and all(_is_whole(v) and v >= 1 for v in part)
            for part in value
        )
        if not good or not isinstance(value, list):
            raise self._wrong(key, value, "lists of whole numbers of at least 1: [[4, 6], [10]]")
        return tuple(tuple(part) for part in value)

    def flag(self, key: str, default: bool = False) -> bool:
        """Return true or false."""
        value = self._get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self._wrong(key, value, "true or false")
        return value

    def memory(self, key: str) -> int | None:
        """Return an amount of memory in KB: a whole number of KB, or text such as "16 GB"."""
        value = self._get(key)
        if value is None:
            return None
        amount = value if _is_whole(value) else 0
        if isinstance(value, str) and (match := _MEMORY.fullmatch(value)):
            amount = int(match[1]) * _KB[match[2]]
        if not 1 <= amount <= MAX_AMOUNT:
            raise self._wrong(key, value, 'KB as a whole number above 0, or text such as "16 GB"')
        return int(amount)

    def seconds(self, key: str, *, least: int = 1) -> int | None:
        """Return a duration in seconds: a whole number, "H:MM:SS" or "D-HH:MM:SS"."""
        value = self._get(key)
        if value is None:
            return None
        amount = value if _is_whole(value) else -1
        if isinstance(value, str) and (match := _CLOCK.fullmatch(value)):
            days, hours, minutes, rest = (int(part or 0) for part in match.groups())
            amount = ((days * 24 + hours) * 60 + minutes) * 60 + rest
        if not least <= amount <= MAX_TIME:
            number = (
                f"a whole number of at least {least}" if least != 1 else "a whole number above 0"
            )
            raise self._wrong(key, value, f'seconds as {number}, "6:00:00" or "1-00:00:00"')
        return int(amount)

    def table(self, key: str) -> Self:
        """Return a table below this one, an empty one if it is not there."""
        value = self._get(key)
        if value is not None and not isinstance(value, dict):
            raise self._wrong(key, value, "a table")
        return self._at(value or {}, self._below(key))

    def tables(self, key: str) -> list[Self]:
        """Return the entries of a list of tables (``[[key]]``)."""
        value = self._get(key)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
            raise self._wrong(key, value, f"entries of the form [[{key}]]")
        place = self._below(key)
        return [self._at(v, f"{place}[{i}]") for i, v in enumerate(value, start=1)]

    def _at(self, data: Mapping[str, Any], place: str) -> Self:
        """Return a table of the same file."""
        return type(self)(data, self._where, place, self._lines)

    def _below(self, key: str) -> str:
        return f"{self._place}.{key}" if self._place and key else self._place or key

    def _get(self, key: str) -> Any:
        self._asked.add(key)
        return self._data.get(key)

    def _wrong(self, key: str, value: object, right: str) -> ConfigError:
        if value is None:
            return self.error(key, f"is missing; it must be {right}")
        shown = repr(value)
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        return self.error(key, f"is {shown}, must be {right}")


def _is_whole(value: object) -> bool:
    """Tell whether a value is a whole number; TOML's true is not 1."""
    return isinstance(value, int) and not isinstance(value, bool)
