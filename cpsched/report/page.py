"""The page: everything in one HTML file, text from logs escaped wherever it stands."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError
from cpsched.figures.style import FAINT, INK, PAPER
from cpsched.words import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.figures import FigureFile
    from cpsched.study.readable import Titled
    from cpsched.tables import Column

_HERE = Path(__file__).resolve().parent
#: Characters that end a script or a string in it, whatever surrounds them.
_UNSAFE = {char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
_TAG = re.compile(r"<[a-zA-Z][^<>]*>")
#: Groups are never referred to, and a hundredth of a point is too small to see.
_GROUP_NAME = re.compile(r'^(<g\b[^>]*?) id="[^"]*"')
_DIGITS = re.compile(r"(\.\d\d)\d+")
_IDENTIFIER = re.compile(r'((?<![\w-])id="|href="#|url\(#)')


def render(content: Mapping[str, Any]) -> str:
    """
    Return the page.

    Raises
    ------
    ConfigError
        If Jinja2 is not installed.
    """
    try:
        import jinja2
    except ImportError as error:
        raise ConfigError(
            f"the report needs jinja2 ({error}); install it with: pip install 'cpsched[plots]'"
        ) from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        # A markup of our own is a string, too; everything else is text from somewhere.
        finalize=lambda value: visible(value) if type(value) is str else value,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["headline"] = lambda text: text[:1].upper() + text[1:]
    return environment.get_template("page.html").render(content)


def island(content: Any) -> str:
    """Return JSON that may stand within a script element."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return "".join(_UNSAFE.get(char, char) for char in text)


def inline_svg(figure: FigureFile) -> str:
    """
    Return an SVG figure as part of the page.

    Its identifiers get its name in front, so that those of two figures differ; its text and paper
    take the page's colours; and it is made a third smaller.
    """
    text = figure.content["svg"].decode()
    text = text[text.index("<svg") :]
    prefix = f"{figure.name}-"
    return _TAG.sub(lambda tag: _in_page(tag.group(), prefix), text)


def _in_page(tag: str, prefix: str) -> str:
    for fixed, named in ((INK, "currentColor"), (PAPER, "var(--card)"), (FAINT, "var(--line)")):
        tag = tag.replace(fixed, named)
    if tag.startswith(("<path", "<use")):
        tag = _DIGITS.sub(r"\1", tag)
    tag = _GROUP_NAME.sub(r"\1", tag)
    return _IDENTIFIER.sub(lambda found: found.group() + prefix, tag)


def html_table(titled: Titled) -> dict[str, Any]:
    """Return a table for the template: headers, and cells with what they are sorted by."""
    columns = titled.table.columns
    shown = [column.cells() for column in columns]
    heads = {column.header for column in columns}
    # Rows of several classes are about different jobs: comparing them says nothing. And a good
    # mean says little without the longest wait beside it.
    marked = "max wait" in heads and not heads & {"class", "size"}
    best = [column.best if marked else None for column in columns]
    return {
        "title": titled.title,
        "caption": titled.table.caption,
        "label": titled.label,
        "heads": [
            {"name": column.header, "unit": column.unit, "text": column.is_text}
            for column in columns
        ],
        "rows": [
            [
                {
                    "shown": shown[at][row],
                    "value": _number(column, row),
                    "text": column.is_text,
                    "best": best[at] is not None and column.values[row] == best[at],
                    "verdict": column.header == "verdict",
                }
                for at, column in enumerate(columns)
            ]
            for row in range(len(shown[0]) if shown else 0)
        ],
    }


def _number(column: Column, row: int) -> Any:
    """Return what a cell is sorted by; None where that is its text."""
    if column.sorted_by:
        return column.sorted_by[row]
    return None if column.is_text else column.values[row]
