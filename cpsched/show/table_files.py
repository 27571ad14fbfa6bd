"""Tables as files: CSV for programs, Markdown for people."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

from cpsched.base.atomic_files import write_all
from cpsched.errors import RunError
from cpsched.show.readable import Titled, readable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.study.tables import Rows, Tables


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
        writer.writerow([str(cell).lower() if isinstance(cell, bool) else cell for cell in row])
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
