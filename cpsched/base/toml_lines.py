"""On which line of a TOML file a key is: ``tomllib`` does not say."""

from __future__ import annotations

import re

_NAME = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_DOTTED = rf"{_NAME}(?:\s*\.\s*{_NAME})*"
_ENTRY = re.compile(rf"\s*\[\[\s*({_DOTTED})\s*\]\]\s*(?:#.*)?$")
_TABLE = re.compile(rf"\s*\[\s*({_DOTTED})\s*\]\s*(?:#.*)?$")
_KEY = re.compile(rf"\s*({_DOTTED})\s*=")


class Lines:
    """
    The lines of a file's keys.

    Parameters
    ----------
    text
        Valid TOML.
    """

    def __init__(self, text: str) -> None:
        self._line: dict[str, int] = {}
        self._entries: dict[str, int] = {}
        table, string = "", ""
        for number, line in enumerate(text.split("\n"), start=1):
            if not string:
                table = self._read(line, number, table)
            string = _open_string(line, string)

    def of(self, place: str) -> int | None:
        """
        Return the line of a key, from 1 on; of the table it is missing from; None if it has none.

        Parameters
        ----------
        place
            As errors name it: ``log.mapping``, or ``nodes[2].count`` in the second ``[[nodes]]``.
        """
        while place:
            if place in self._line:
                return self._line[place]
            place = place.rpartition(".")[0]
        return None

    def _read(self, line: str, number: int, table: str) -> str:
        """Take up a line; return the table that the next one is in."""
        if match := _ENTRY.match(line):
            place = self._entered(match[1])
            self._entries[place] = self._entries.get(place, 0) + 1
            table = f"{place}[{self._entries[place]}]"
            self._line.setdefault(place, number)
        elif match := _TABLE.match(line):
            table = self._entered(match[1])
        elif match := _KEY.match(line):
            self._line.setdefault(".".join(filter(None, (table, *_parts(match[1])))), number)
            return table
        else:
            return table
        self._line.setdefault(table, number)
        return table

    def _entered(self, dotted: str) -> str:
        """Return the place of a table's name: below the last entry, where there are entries."""
        place = ""
        for part in _parts(dotted):
            if place in self._entries:
                place = f"{place}[{self._entries[place]}]"
            place = f"{place}.{part}" if place else part
        return place


def _parts(dotted: str) -> list[str]:
    return [part.strip("\"'") for part in re.findall(_NAME, dotted)]


def _open_string(line: str, string: str) -> str:
    """Return the quotes of a text over several lines that is open after a line; empty if none."""
    if not string and line.lstrip().startswith("#"):
        return ""
    for quotes in re.findall(r"\"\"\"|'''", line):
        string = "" if string == quotes else string or quotes
    return string
