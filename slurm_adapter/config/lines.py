r"""
The lines of Slurm's configuration files: ``Name=value`` pairs, comments, continued lines.

``slurm.conf``, ``gres.conf`` and ``topology.conf`` are written so (slurm.conf(5)): names are in any
case, a value with spaces is in quotes, ``\#`` is a plain ``#``, and a line that ends in a
backslash goes on in the next one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cpsched.api.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

_PAIR = re.compile(r'([A-Za-z_][\w./-]*?)\s*[-+*/]?=[ \t]*(?:"([^"]*)"|(\S*))(?=\s|$)')
_COMMENT = re.compile(r"(?<!\\)#.*")


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines that are not empty, with their numbers from 1 on, without comments."""
    held, first = "", 0
    for number, raw in enumerate(text.splitlines(), start=1):
        content = _COMMENT.sub("", raw).replace("\\#", "#").rstrip()
        first = first if held else number
        held += content.removesuffix("\\")
        if content.endswith("\\"):
            continue
        if held.strip():
            yield first, held.strip()
        held = ""
    if held.strip():
        yield first, held.strip()


def pairs(content: str, where: str, line: int) -> dict[str, str]:
    """
    Return the pairs of a line, names as they are written.

    Raises
    ------
    ConfigError
        If it is not made of pairs, or a name comes twice (in any case).
    """
    found: dict[str, str] = {}
    seen: set[str] = set()
    at = 0
    while at < len(content):
        match = _PAIR.match(content, at)
        if match is None:
            shown = content[at : at + 40]
            raise ConfigError(f"{shown!r} is not of the form Name=value", where=where, line=line)
        if match[1].lower() in seen:
            raise ConfigError("is given twice", where=where, line=line, key=match[1])
        seen.add(match[1].lower())
        found[match[1]] = match[2] if match[2] is not None else match[3]
        at = match.end()
        at += len(content[at:]) - len(content[at:].lstrip())
    return found
