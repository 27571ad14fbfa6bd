"""Text of docstrings, and tables, as Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_ROLE = re.compile(r":\w+:`~?(?:[\w.]+\.)?(\w+)`")


def markdown(text: str) -> str:
    """Return reStructuredText of a docstring's sentence as Markdown."""
    text = _ROLE.sub(r"`\1`", " ".join(text.split()))
    return text.replace("``", "`").replace("|", r"\|")


def table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table of cells that are Markdown already."""
    titles = list(titles)
    lines = [titles, ["---"] * len(titles), *map(list, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
