"""Make a report: read the runs once, draw, and write everything to a folder."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from cpsched.errors import ConfigError, RunError
from cpsched.report import write_tables
from cpsched.report.figures.style import FORMATS, styled
from cpsched.report.html import plot
from cpsched.report.html.content import content
from cpsched.report.html.page import render
from cpsched.report.html.places import places
from cpsched.report.html.section import make_section
from cpsched.report.sentences import findings
from cpsched.study import make_tables
from cpsched.util.atomic_files import subfolder, write_all

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: Most rectangles of all schedules together, and of one: limits for the page's size and a browser's
#: drawing speed.
_RECTANGLES, _OF_ONE = 27_000, 15_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """
    What was made.

    Attributes
    ----------
    page
        The HTML file.
    figures, tables
        Files.
    runs
        How many runs it is of.
    """

    page: Path
    figures: tuple[Path, ...]
    tables: tuple[Path, ...]
    runs: int


def make_report(
    folder: str | Path,
    *,
    out: str | Path | None = None,
    form: str = "svg",
    baseline: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Report:
    """
    Make tables, figures and the report of run folders.

    Parameters
    ----------
    folder
        Of a study; or a run, or a folder of runs.
    out
        Where ``report.html``, ``figures/`` and ``tables/`` go; ``folder`` where None.
    form
        Of the figures' files: ``svg``, ``png`` or ``pdf``. Those in the page are SVG.
    baseline
        Label of the dispatcher the others are compared with; None: the study's own, or in a
        folder of runs the first by name.
    progress
        Called at every step with its name, the number done, and the total.

    Raises
    ------
    ConfigError
        If ``form`` is not one of these, no run has the baseline's dispatcher, or a library is
        missing.
    RunError
        If there is no run, one is damaged, or ``out`` cannot be written to.
    """
    if form not in FORMATS:
        raise ConfigError(f"'{form}' is not one of: {', '.join(FORMATS)}", key="format")
    script = plot.script()
    with styled("check"):
        # Reports a missing matplotlib now, not after all runs have been read.
        pass
    folder = Path(folder)
    if not folder.is_dir():
        raise RunError(f"{folder} is not a folder; name one made by cpsched compare or simulate")
    tables = make_tables(folder, baseline)
    target = folder if out is None else Path(out)
    for name in ("figures", "tables"):
        _folder(target, name)
    said = {finding.place: finding for finding in findings(tables)}
    found = places(tables.results, {name: one.about for name, one in said.items()})
    total, done = sum(len(place.runs) for place in found) + len(found) + 1, count()

    def tell(step: str) -> None:
        if progress is not None:
            progress(step, next(done), total)

    budget = min(_OF_ONE, _RECTANGLES // sum(len(place.shown) for place in found))
    forms = tuple(dict.fromkeys(("svg", form)))
    sections = [
        make_section(place, tables, said.get(place.name), forms, budget, tell) for place in found
    ]
    tell("writing")
    drawings = {
        f"{figure.name}.{form}": figure.content[form]
        for section in sections
        for figure in section.drawings
    }
    page = render(content(folder, tables, sections, script)).encode()
    return Report(
        page=_write(_folder(target), {"report.html": page})[0],
        figures=tuple(_write(_folder(target, "figures"), drawings)),
        tables=tuple(write_tables(tables, _folder(target, "tables"))),
        runs=len(tables.results.runs),
    )


def _folder(target: Path, *names: str) -> Path:
    """Return a folder of the report, which is made if it is not there."""
    try:
        return subfolder(target, *names)
    except FileExistsError as error:
        message = f"{error.filename} cannot be made: there is a file of that name; name a folder"
        raise RunError(message) from error
    except OSError as error:
        where = error.filename or target
        raise RunError(f"{where} cannot be written to: {error.strerror or error}") from error


def _write(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write files, all or none."""
    try:
        return write_all(folder, files)
    except OSError as error:
        raise RunError(f"{folder} cannot be written to: {error.strerror or error}") from error
