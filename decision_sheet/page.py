"""The sheet as HTML: one A4 page, nothing loaded from elsewhere, no script."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from cpsched.api.simulation import WAIT_MEANING
from cpsched.api.tools import visible
from decision_sheet.content import UNLIKE, UNSURE
from decision_sheet.sure import RULE, SURE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from decision_sheet.content import Sheet

_TOGETHER = re.compile(r"\d+ (?:d|h|min|s)(?: \d+ (?:h|min|s))?\b|\d %")
_MINUS = re.compile(r"(?<=[ (])-(?=\d)")
_STYLE = Path(__file__).with_name("page.css")


def page(sheet: Sheet) -> str:
    """Return the page."""
    several = len(sheet.scenarios) > 1
    parts = [
        f"<h1>What if? {'Scenarios' if several else 'A scenario'} against the baseline</h1>",
        f'<p class="soft">{_text(sheet.place)}</p>',
        "<dl>", *(f"<dt>{_text(key)}</dt><dd>{_text(said)}</dd>" for key, said in sheet.scenarios),
        "</dl>",
        "<h2>Is the baseline what happened?</h2>",
        *(f"<p>{_text(line)}</p>" for line in sheet.record),
        *([f'<p class="finding">{_text(sheet.finding)}</p>'] if sheet.finding else []),
        "<h2>Gain and loss</h2>",
        _figures(sheet),
        *(f"<p>{_text(line[0].upper() + line[1:])}.</p>" for line in sheet.load),
        "<p class=\"soft\">How sure: "
        + "; ".join(f"<b>{word}</b>: {_text(when)}" for word, when in RULE.items())
        + ". The first that applies counts.</p>",
        "<h2>Who gains, who pays</h2>",
        _payers(sheet),
        f'<p class="soft">{_text(_legend(sheet))}</p>',
        "<h2>Not modelled</h2>",
        f'<ul class="limits">{"".join(f"<li>{_text(one)}</li>" for one in sheet.limits)}</ul>',
        "<footer>", *(f"<p>{_text(note)}</p>" for note in sheet.notes),
        f"<p>Waits are {WAIT_MEANING}. Simulated with cpsched"
        + ('; appendix: <a href="report.html">the long report</a>' if sheet.report else "")
        + ".</p></footer>",
    ]  # fmt: skip
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src'
        " 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Decision sheet</title>\n<style>\n{_STYLE.read_text(encoding='utf-8')}</style>\n"
        "</head>\n<body>\n" + "\n".join(parts) + "\n</body>\n</html>\n"
    )


def _figures(sheet: Sheet) -> str:
    heads = ["", "baseline", *(letter for letter, _ in sheet.scenarios)]
    rows = "".join(
        f'<tr class="{_row_class(name)}"><th scope="row">{_text(name)}</th>{_cells(values)}</tr>'
        for name, values in sheet.figures
    )
    return f'<div class="scroll figures" tabindex="0">{_table(heads, rows)}</div>'


def _row_class(name: str) -> str:
    return "sure" if name == SURE else "plain"


def _payers(sheet: Sheet) -> str:
    heads = ["", "by", "gains most", "pays most"]
    rows = ""
    for letter, _ in sheet.scenarios:
        own = [one for one in sheet.payers if one.scenario == letter]
        for at, one in enumerate(own):
            head = f'<th scope="rowgroup" rowspan="{len(own)}">{_text(letter)}</th>'
            rows += f"<tr>{'' if at else head}{_cells((one.kind, one.gains, one.pays))}</tr>"
    return f'<div class="scroll payers" tabindex="0">{_table(heads, rows)}</div>'


def _table(heads: Sequence[str], rows: str) -> str:
    cells = "".join(f'<th scope="col">{_text(head)}</th>' for head in heads)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{rows}</tbody></table>"


def _cells(values: Iterable[str]) -> str:
    return "".join(f"<td>{_text(value)}</td>" for value in values)


def _legend(sheet: Sheet) -> str:
    said = f"{UNSURE}: not confirmed by repetitions; the change may be chance."
    if sheet.unlike:
        said += f" {UNLIKE}: the recorded waits of {', '.join(sheet.unlike)} are not reproduced."
    return said


def _text(text: str) -> str:
    """Return text for the page: numbers stay with their units, and minus signs are such."""
    minus = _MINUS.sub("\N{MINUS SIGN}", visible(text))
    kept = _TOGETHER.sub(lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), minus)
    return escape(kept)
