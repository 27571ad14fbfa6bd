"""Tables for papers: LaTeX with booktabs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cpsched.base.tables import Table

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{char: f"\\{char}" for char in "&%$#_{}"},
}


def escaped(text: str) -> str:
    """Return text in which nothing is a command."""
    return "".join(_ESCAPES.get(char, char) for char in " ".join(text.split()))


def latex(table: Table, *, caption: str, label: str) -> str:
    r"""
    Return a table as a ``table`` environment; the document needs ``\usepackage{booktabs}``.

    Parameters
    ----------
    table
        Its own caption becomes part of the caption.
    label
        For ``\ref``: letters, digits, ``+`` and hyphens.
    """
    heads = [
        escaped(f"{column.header} [{column.unit}]" if column.unit else column.header)
        for column in table.columns
    ]
    layout = "".join("l" if column.is_text else "r" for column in table.columns)
    cells = zip(*(column.cells() for column in table.columns), strict=True)
    rows = [[r"--" if cell == "-" else escaped(cell) for cell in row] for row in cells]
    text = ". ".join(part for part in (caption, table.caption) if part)
    lines = [
        r"\begin{table}",
        rf"\caption{{{escaped(text)}.}}",
        rf"\label{{tab:{label}}}",
        rf"\begin{{tabular}}{{{layout}}}",
        r"\toprule",
        *(" & ".join(row) + r" \\" for row in [heads]),
        r"\midrule",
        *(" & ".join(row) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)
