"""Results as files: CSV for programs, Markdown and LaTeX for people."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched.errors import RunError
from cpsched.report import views
from cpsched.util.atomic_files import write_all
from cpsched.util.csv_cells import csv_table
from cpsched.util.words import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jinja2 import Environment

    from cpsched.report.results_table import ResultsTable
    from cpsched.study.results import RunResult

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|!~&$])")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "†": r"\dag{}",
    **{char: f"\\{char}" for char in "&%$#_{}"},
}


def write_tables(table: ResultsTable, folder: str | Path) -> list[Path]:
    """
    Write the results to a folder, all files or none; return the files.

    Equal runs give equal files, byte for byte, except ``timing.csv``.

    Raises
    ------
    RunError
        If the folder cannot be written to.
    """
    target = Path(folder)
    runs, title = table.study.runs, table.study.title
    files = {
        "results.csv": as_csv(table.as_rows()),
        "runs.csv": as_csv([{**_names(run), **run.values} for run in runs]),
        "outcomes.csv": as_csv(table.outcomes()),
        "timing.csv": as_csv([{**_names(run), **run.timing, **_solving(run)} for run in runs]),
        "results.md": document("tables.md.j2", title, views.documents(table)),
        "results.tex": document("tables.tex.j2", title, views.documents(table)),
    }
    if table.record:
        files["record.csv"] = as_csv(table.record)
    try:
        target.mkdir(parents=True, exist_ok=True)
        return write_all(target, {name: text.encode() for name, text in files.items()})
    except OSError as error:
        raise RunError(f"{target} cannot be written to: {error.strerror or error}") from error


def as_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as CSV; a column that a row lacks is empty there."""
    rows = list(rows)
    names = dict.fromkeys(name for row in rows for name in row)
    return csv_table({name: [row.get(name) for row in rows] for name in names})


def document(template: str, title: str, cases: Iterable[tuple[str, Iterable[views.View]]]) -> str:
    """Return tables for people as a document in the format of a template, by case."""
    return environment().get_template(template).render(title=title, cases=cases)


def environment() -> Environment:
    """Return the environment of the templates. Text in HTML is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    made = Environment(
        loader=PackageLoader("cpsched.report", "templates"),
        autoescape=select_autoescape(["html", "html.j2"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {
        "text": views.text,
        "compared": _compared,
        "ratio_and_ends": views.compared_text,
        "markdown": lambda text: _MARKDOWN.sub(r"\\\1", " ".join(text.split())),
        "latex": lambda text: "".join(_LATEX.get(char, char) for char in " ".join(text.split())),
        "visible": visible,
    }
    return made


def _compared(cell: views.Cell, *, marks: bool = False) -> str:
    """Return a cell as ``0.33 (0.18 to 0.61)``."""
    ratio, ends = views.compared_text(cell, marks=marks)
    return f"{ratio} ({ends})" if ends else ratio


def _names(run: RunResult) -> dict[str, Any]:
    return {**run.labels, "allocator": run.allocator, "seed": run.seed, "folder": run.folder}


def _solving(run: RunResult) -> dict[str, Any]:
    """Return the number of solver calls and their gain. Empty without a solver."""
    calls = run.decisions.get("solver_calls", 0)
    if not calls or "improved" not in run.decisions:
        return {}
    gain = run.decisions.get("gain")
    return {
        "solver_calls": int(calls),
        "solver_improved": run.decisions["improved"] / calls,
        "solver_gain": None if gain is None else gain / calls,
    }
