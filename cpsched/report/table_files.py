"""Tables as files: CSV for programs, Markdown and LaTeX for people."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

from cpsched.errors import RunError
from cpsched.report.readable import Titled, readable
from cpsched.util.atomic_files import write_all
from cpsched.util.csv_cells import guarded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.study.tables import Rows, Tables
    from cpsched.util.tables import Table


def write_tables(tables: Tables, folder: str | Path) -> list[Path]:
    """
    Write the tables to a folder, all of them or none; return the files.

    Equal runs give equal files, byte for byte, except ``timing.*``.

    Raises
    ------
    RunError
        If the folder cannot be written to.
    """
    target = Path(folder)
    files: dict[str, bytes] = {}
    for name, rows in tables.named().items():
        files[f"{name}.csv"] = as_csv(rows).encode()
    for name, titled in readable(tables).items():
        files[f"{name}.md"] = as_markdown(tables.results.title, titled).encode()
        files[f"{name}.tex"] = as_latex(titled).encode()
    try:
        target.mkdir(parents=True, exist_ok=True)
        return write_all(target, files)
    except OSError as error:
        raise RunError(f"{target} cannot be written to: {error.strerror or error}") from error


def as_csv(rows: Rows) -> str:
    """Return a table as CSV: floats in full, an empty cell where nothing was measured."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows.columns)
    for row in zip(*rows.columns.values(), strict=True):
        writer.writerow(
            [str(cell).lower() if isinstance(cell, bool) else guarded(cell) for cell in row]
        )
    return out.getvalue()


def as_markdown(title: str, tables: Sequence[Titled]) -> str:
    """Return tables as GitHub's Markdown, a section for each workload and system."""
    lines, place = [f"# {_heading(title)}"], ""
    for titled in tables:
        if titled.place != place:
            place = titled.place
            lines.append(f"## {_heading(place)}")
        lines.append(f"### {titled.title.capitalize()}")
        lines.append(titled.table.markdown())
    return "\n\n".join(lines) + "\n"


def _heading(text: str) -> str:
    """Return a text escaped for Markdown."""
    return re.sub(r"([\\`*_{}\[\]<>#|!~&$])", r"\\\1", " ".join(text.split()))


def as_latex(tables: Sequence[Titled]) -> str:
    """Return tables as LaTeX, one ``table`` environment each."""
    head = "% Needs \\usepackage{booktabs}."
    parts = (latex(t.table, caption=f"{t.place}: {t.title}", label=t.label) for t in tables)
    return "\n\n".join([head, *parts]) + "\n"


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
