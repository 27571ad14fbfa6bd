"""
Text in CSV files that a spreadsheet would take for a formula.

It gets an apostrophe in front, as spreadsheets themselves write it, and so does text that begins
with apostrophes in front of such a character, so that nothing is lost when the file is read.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

#: What begins a formula, or another cell, in some spreadsheet; also behind spaces and apostrophes.
FORMULA = re.compile(r"[' ]*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|-")


def guarded(cell: Any) -> Any:
    """Return a cell as it is written: text that is no number and may be a formula is marked."""
    if isinstance(cell, str) and FORMULA.match(cell) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell


def unguarded(cell: str) -> str:
    """Return the text of a cell of a file."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell, 1) else cell


def csv_table(columns: Mapping[str, Sequence[Any]]) -> str:
    """
    Return columns by name as CSV: floats in full, an empty cell for None.

    Text that a spreadsheet would take for a formula is marked.
    """
    cells = ([name, *map(guarded, values)] for name, values in columns.items())
    return csv_text(cells)


def csv_text(columns: Iterable[Sequence[Any]]) -> str:
    """Return columns as lines of CSV."""
    # csv quotes only the line end it writes itself, but stops at others when it reads.
    columns = list(columns)
    returns = any("\r" in cell for cells in columns for cell in cells if isinstance(cell, str))
    text = io.StringIO()
    writer = csv.writer(
        text, lineterminator="\n", quoting=csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL
    )
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()
