r"""
The lines of Slurm's configuration files: ``Name=value`` pairs, comments, continued lines.

``slurm.conf`` and ``topology.conf`` are written so (slurm.conf(5)): names are in any
case, a value with spaces is in quotes, ``\#`` is a plain ``#``, and a line that ends in a
backslash goes on in the next one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from cpsched.errors import ConfigError, unreadable
from cpsched.slurm.dispatch.policy import ABSENT
from cpsched.slurm.dispatch.values import LIST
from cpsched.util import slurm_quantities as quantities
from cpsched.util.node_lists import expand
from cpsched.util.types import MAX_NODES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from cpsched.slurm.dispatch.policy import PolicyKey

T = TypeVar("T")
_PAIR = re.compile(r'([A-Za-z_][\w./-]*?)\s*[-+*/]?=[ \t]*(?:"([^"]*)"|(\S*))(?=\s|$)')
_COMMENT = re.compile(r"(?<!\\)#.*")


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and its place in a file."""

    text: str
    key: str
    where: str
    line: int | None = None

    def error(self, message: str) -> ConfigError:
        """Return an error about it."""
        shown = self.text if len(self.text) <= 60 else self.text[:57] + "..."
        return ConfigError(f"{shown!r} {message}", where=self.where, line=self.line, key=self.key)

    def read(self, reader: Callable[[str], T]) -> T:
        """
        Return the text as converted by a reader; its ValueError becomes an error with this place.
        """
        try:
            return reader(self.text)
        except ValueError as error:
            raise self.error(str(error)) from None


@dataclass(frozen=True, slots=True)
class ConfigLine:
    """
    A line that describes nodes, a partition or similar.

    Attributes
    ----------
    name
        Of what: the value of the line's first key.
    values
        By key in lower case, defaults included.
    """

    name: Setting
    values: Mapping[str, Setting] = field(default_factory=dict)
    #: Texts that say nothing.
    nothing: ClassVar[tuple[str, ...]] = ("(null)", "N/A", "")

    def text(self, key: str, default: str = "") -> str:
        """Return a value, or the default if it is missing or ``(null)``."""
        value = self.values.get(key.lower())
        return default if value is None or value.text in self.nothing else value.text

    def number(self, key: str, default: int) -> int:
        """Return a whole number from 0 on, as slurm.conf has it."""
        if not self.text(key):
            return default
        return self.values[key.lower()].read(_number)

    def flag(self, key: str) -> bool:
        """Whether a value is YES; it is not if nothing is said."""
        return bool(self.text(key)) and self.values[key.lower()].read(quantities.flag)

    def value(self, key: PolicyKey) -> Any:
        """Return the value of a key of a policy, :data:`ABSENT` if it is empty or missing."""
        value = self.values.get(key.name.lower())
        if value is None or value.text in self.nothing:
            return ABSENT
        return hosts(value) if key.kind is LIST else value.read(key.kind.read)

    def hosts(self, key: str | None = None) -> tuple[str, ...]:
        """Return the names that a list of hosts stands for."""
        return hosts(self.name if key is None else self.values[key.lower()])


def hosts(value: Setting) -> tuple[str, ...]:
    """Return the names that a list of hosts stands for."""
    return value.read(lambda text: tuple(expand(text.strip(), MAX_NODES)))


@dataclass(frozen=True, slots=True)
class Output:
    """The output of a command, in place of a file: the name that messages give it, and the text."""

    name: str
    text: str

    def __str__(self) -> str:
        return self.name


def read_text(path: Path | Output) -> str:
    """Return the text of a configuration file; bytes that are not UTF-8 can only be in comments."""
    if isinstance(path, Output):
        return path.text
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ConfigError(unreadable(error), where=str(path)) from error


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines that are not empty, with their numbers from 1 on, without comments."""
    pending, first = "", 0
    for number, raw in enumerate(text.splitlines(), start=1):
        content = _COMMENT.sub("", raw).replace("\\#", "#").rstrip()
        first = first if pending else number
        pending += content.removesuffix("\\")
        if content.endswith("\\"):
            continue
        if pending.strip():
            yield first, pending.strip()
        pending = ""
    if pending.strip():
        yield first, pending.strip()


def pairs(
    content: str, where: str, line: int, note: Callable[[str], None] | None = None
) -> dict[str, Setting]:
    """
    Return the pairs of a line, by name in lower case.

    Of a key that is given twice the last value counts, as in Slurm; ``note`` is told so.
    """
    values: dict[str, Setting] = {}
    at = 0
    while at < len(content):
        match = _PAIR.match(content, at)
        if match is None:
            shown = content[at : at + 40]
            raise ConfigError(f"{shown!r} is not of the form Name=value", where=where, line=line)
        name, quoted, plain = match.groups()
        value = Setting(plain if quoted is None else quoted, name, where, line)
        if name.lower() in values and note is not None:
            note(given_twice(values[name.lower()], value))
        values[name.lower()] = value
        at = match.end() + len(content[match.end() :]) - len(content[match.end() :].lstrip())
    return values


def given_twice(first: Setting, last: Setting) -> str:
    """Return that a key is given twice and which value counts."""
    if (first.where, first.line) == (last.where, last.line):
        before = "twice on the line"
    elif first.where == last.where:
        before = f"on line {first.line}, too"
    else:
        before = f"in {first.where}, too"
    place = f"{last.where}:{last.line}: {last.key}"
    return f"{place} is given {before}. The last value counts: {last.text}"


def _number(text: str) -> int:
    value = quantities.number(text)
    if value < 0:
        raise ValueError("must be a whole number, 0 or more")
    return value
