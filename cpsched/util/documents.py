"""Text, JSON and TOML from outside: whatever is wrong with them is a ``ValueError`` of one line."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def read_text(file: Path) -> str:
    """
    Return what a text file holds, without the byte order mark that some editors write.

    Raises
    ------
    ConfigError
        If it cannot be read, or is not UTF-8.
    """
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(unreadable(error), where=file) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"is not UTF-8 text (byte {error.start})", where=file) from error


def json_text(content: Any, **how: Any) -> str:
    """
    Return content as JSON, which has no NaN and no infinity: null stands for them.

    Parameters
    ----------
    how
        As for :func:`json.dumps`.
    """
    try:
        return json.dumps(content, allow_nan=False, **how)
    except ValueError:
        return json.dumps(_finite(content), allow_nan=False, **how)


def _finite(content: Any) -> Any:
    """Return content with None for numbers that are not finite."""
    if isinstance(content, float):
        return content if isfinite(content) else None
    if isinstance(content, Mapping):
        # A key that is such a number is written as text.
        return {
            str(key) if isinstance(key, float) else key: _finite(value)
            for key, value in content.items()
        }
    return [_finite(item) for item in content] if isinstance(content, list | tuple) else content


def read_json(text: str | bytes) -> Any:
    """
    Return what a JSON document holds.

    Raises
    ------
    ValueError
        If it is not valid JSON, is nested too deeply, holds a number too long to read, or text
        that cannot be written as UTF-8 (half of a surrogate pair); the message can follow a file
        name.
    """

    def loads(text: str | bytes) -> Any:
        content = json.loads(text)
        if b"\\ud" in json.dumps(content).encode():
            json.dumps(content, ensure_ascii=False).encode()
        return content

    return _read("JSON", loads, text)


def read_toml(text: str) -> dict[str, Any]:
    """
    Return what a TOML document holds.

    Raises
    ------
    ValueError
        If it is not valid TOML, is nested too deeply or holds a number too long to read.
    """
    content: dict[str, Any] = _read("TOML", tomllib.loads, text)
    return content


def _read(kind: str, loads: Callable[[Any], Any], text: str | bytes) -> Any:
    try:
        return loads(text)
    except RecursionError:
        reason = "it is nested too deeply"
    except UnicodeError:
        reason = "it holds text that is not Unicode"
    except ValueError as error:
        reason = str(error).partition("\n")[0].partition("; use sys.set_int")[0]
    raise ValueError(f"is not valid {kind}: {reason}")


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
