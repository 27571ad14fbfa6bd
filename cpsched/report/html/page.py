"""The page: everything in one HTML file, with text from logs always escaped."""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError
from cpsched.report.figures.nodes import EDGE, EMPTY
from cpsched.report.figures.style import BAD, BEHIND, COLOURS, FAINT, GOOD, INK, PAPER, SOFT
from cpsched.util.documents import json_text
from cpsched.util.words import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.report.figures.pictures import FigureFile
    from cpsched.report.readable import Titled
    from cpsched.util.tables import Column

_HERE = Path(__file__).resolve().parent
#: Characters that end a script or a string in it, whatever surrounds them.
_UNSAFE = {char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
_TAG = re.compile(r"<[a-zA-Z][^<>]*>")
#: Groups are never referred to, and less than a tenth of a point is too small to see.
_GROUP_NAME = re.compile(r'^(<g\b[^>]*?) id="[^"]*"')
_DIGITS = re.compile(r"(\.\d)\d+")
#: Characters after which a long name may be broken.
_BREAKS = re.compile(r"(?<=[,;=/_+])(?!(?<=\d,)\d)(?=\w)|(?<=:)(?=[^\W\d])")
_UNIT = re.compile(r"(\d|\d (?:d|h|min)) (?=(?:d|h|min|s|%)\b|%|\d+ (?:h|min|s)\b)")
_OPTION = re.compile(r"--[a-z-]+(?: \d+)?")
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_SHAPES = ("<path", "<use", "<text")
#: A turn by nothing, and a font, which is the page's.
_TURNED = re.compile(r' transform="rotate\(-0 [^"]*"')
_FONT = re.compile(r"(?<=[\"; ])font-family: [^;]*; ?")
#: Space between elements, and within a path where a letter stands anyhow.
_SPACE, _PATH_SPACE = re.compile(r">\s+<"), re.compile(r"\s*\n|(?<=[MLCQz]) ")
#: Colours of figures, and their replacements in the page's light and dark modes.
_COLOURS = {
    INK: "currentColor", PAPER: "var(--card)", FAINT: "var(--grid)", SOFT: "var(--soft)",
    BEHIND: "var(--behind)", GOOD: "var(--good)", BAD: "var(--bad)", EMPTY: "var(--empty)",
    EDGE: "var(--card)", **{one: f"var(--c{at})" for at, one in enumerate(COLOURS)},
}  # fmt: skip
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
        # Our own markup is a string, too; everything else is untrusted text.
        finalize=lambda value: visible(value) if type(value) is str else value,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sentence"] = _sentence
    environment.filters["breakable"] = _breakable
    environment.filters["page_colour"] = colour_name
    environment.filters["headline"] = lambda text: text[:1].upper() + text[1:]
    return environment.get_template("page.html").render(content)


def _breakable(text: object) -> Any:
    """Return text that may be broken after its punctuation, and never inside a word."""
    from markupsafe import Markup, escape

    return Markup("<wbr>").join(escape(part) for part in _BREAKS.split(visible(str(text))))


def _sentence(text: str) -> Any:
    """Return a sentence whose numbers stay with their units, and whose options stay whole."""
    from markupsafe import Markup

    kept = _UNIT.sub("\\1\u00a0", str(_breakable(text)))
    return Markup(_OPTION.sub(r"<code>\g<0></code>", kept))  # noqa: S704


def colour_name(colour: str) -> str:
    """Return what a colour of figures is called in the page."""
    return _COLOURS.get(colour, colour).replace("currentColor", "var(--ink)")


def island(content: Any) -> str:
    """Return JSON that may stand within a script element."""
    text = json_text(content, ensure_ascii=False, separators=(",", ":"))
    return "".join(_UNSAFE.get(char, char) for char in text)


def packed(text: str) -> str:
    """Return text deflated, in base64: a script that a page unpacks when it has time."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def inline(figure: FigureFile) -> dict[str, Any]:
    """
    Return a figure for the template: its words, and its drawing as a part of the page.

    Its identifiers get its name in front, so that those of two figures differ; its colours become
    the page's; and it is made a third smaller.
    """
    short = f"f{hashlib.sha256(figure.name.encode()).hexdigest()[:8]}"
    return {
        "name": figure.name,
        "title": figure.title,
        "caption": figure.caption,
        "alt": figure.alt,
        "drawing": _inline_svg(figure.content["svg"].decode(), f"{short}-"),
    }


def _inline_svg(text: str, prefix: str) -> str:
    # The enclosing element has its description.
    text = text[text.index("<svg") :].replace("<svg ", '<svg aria-hidden="true" ', 1)
    text = _METADATA.sub("", text)
    return _TAG.sub(lambda tag: _in_page(tag.group(), prefix), _SPACE.sub("><", text))


def _in_page(tag: str, prefix: str) -> str:
    for fixed, named in _COLOURS.items():
        tag = tag.replace(fixed, named)
    tag = _DIGITS.sub(r"\1", _TURNED.sub("", tag)) if tag.startswith(_SHAPES) else tag
    if tag.startswith("<path"):
        tag = _PATH_SPACE.sub("", tag)
    if tag.startswith("<text"):
        tag = _FONT.sub("", tag)
    tag = _GROUP_NAME.sub(r"\1", tag)
    return _IDENTIFIER.sub(lambda found: found.group() + prefix, tag)


def html_table(titled: Titled) -> dict[str, Any]:
    """Return a table for the template: headers, and cells with what they are sorted by."""
    columns = titled.table.in_words().columns
    shown = [column.cells() for column in columns]
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
    value = None if column.is_text else column.values[row]
    return float(f"{value:.8g}") if isinstance(value, float) else value
