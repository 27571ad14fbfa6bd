"""Make a report or its summary: read the runs once, draw, and write everything to a folder."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from datetime import UTC, date, datetime
from importlib.metadata import version
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError, RunError
from cpsched.metrics.definitions import metric
from cpsched.report import views
from cpsched.report.across_logs import COMPARED, AcrossLogs, across_logs, sentences
from cpsched.report.figures.intervals import Point
from cpsched.report.figures.style import FORMATS, WAITS, styled
from cpsched.report.files import environment, write_tables
from cpsched.report.findings import findings
from cpsched.report.html import reproduce, summary
from cpsched.report.html.case import Case, figures_of, forests, inline, page_of, summary_of
from cpsched.report.html.schedules import QUEUES, packed, script
from cpsched.report.results_table import load_results
from cpsched.study.store import DESCRIPTION
from cpsched.study.study import near
from cpsched.study.verdicts import HIGHER, LOWER, of_mean
from cpsched.util.atomic_files import subfolder, write_all
from cpsched.util.words import counted, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from cpsched.report.figures.style import FigureFile
    from cpsched.report.results_table import ResultsTable

#: Most rectangles of all schedules together, and of one: limits for the page's size and a browser's
#: drawing speed. Most schedules of a case, and of all.
_RECTANGLES, _OF_ONE = 36_000, 12_000
_OF_CASE, _SCHEDULES = 6, 12
_TEMPLATE = "report.html.j2"
#: The space of ``95 %``.
_PERCENT = re.compile(r"(?<=\d) %")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """
    The files of a report.

    Attributes
    ----------
    page
        The HTML file.
    figures, tables
        Their files.
    runs
        The number of runs in it.
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
    library = script()
    table, cases = _read(folder, baseline)
    target = Path(folder if out is None else out)
    for name in ("figures", "tables"):
        _folder(target, name)
    total, done = sum(len(case.runs) for case in cases) + len(cases) + 1, count()

    def advance(step: str) -> None:
        if progress is not None:
            progress(step, next(done), total)

    most = max(1, min(_OF_CASE, _SCHEDULES // len(cases)))
    budget = min(_OF_ONE, _RECTANGLES // sum(min(len(case.runs), most) for case in cases))
    forms = tuple(dict.fromkeys(("svg", form)))
    contents = [page_of(table, case, forms, budget, most, advance) for case in cases]
    advance("writing")
    figures = {
        f"{figure.name}.{form}": figure.content[form]
        for content in contents
        for figure in figures_of(content)
    }
    common = _common(table, contents, forms)
    figures |= {
        f"{figure.name}.{form}": figure.content[form] for figure in common["across_forest"][:1]
    }
    page = _render(
        **common,
        is_summary=False,
        library=packed(library),
        waits=[(colour, text) for _, colour, text in WAITS],
        queues=QUEUES,
        failures=_failures(Path(folder) / "failed", table.study.missing),
        study=_study(Path(folder) / DESCRIPTION),
        folder=shlex.quote(Path(folder).resolve().name),
    )
    return Report(
        page=_write(_folder(target), {"report.html": page})[0],
        figures=tuple(_write(_folder(target, "figures"), figures)),
        tables=tuple(write_tables(table, _folder(target, "tables"))),
        runs=len(table.study.runs),
    )


def make_summary(
    folder: str | Path,
    *,
    out: str | Path | None = None,
    baseline: str | None = None,
    author: str = "",
    day: date | None = None,
) -> Path:
    """
    Make the summary of run folders, a page to print; return its file.

    Parameters
    ----------
    folder, out, baseline
        As of :func:`make_report`; the file is ``summary.html``.
    author
        Who signs it; empty: a line to fill in.
    day
        Its date; None: today's.

    Raises
    ------
    ConfigError, RunError
        As by :func:`make_report`.
    """
    table, cases = _read(folder, baseline)
    contents = []
    for case in cases:
        content = summary_of(table, case)
        gains, losses = summary.gains_and_losses(table, case)
        answers = summary.answers(table, case)
        content |= {
            "answers": answers,
            "confidence": [
                *(text for text in content["sentences"] if text not in answers),
                *content["record"],
            ],
            "gains": gains,
            "losses": losses,
            "assumptions": list(summary.assumptions(table, case, content["run"])),
        }
        contents.append(content)
    page = _render(
        **_common(table, contents),
        is_summary=True,
        author=author,
        day=f"{day or datetime.now(UTC).date():%d %b %Y}",
    )
    return _write(_folder(Path(folder if out is None else out)), {"summary.html": page})[0]


def _read(folder: str | Path, baseline: str | None) -> tuple[ResultsTable, list[Case]]:
    """Return the results of a folder, and its workloads and systems."""
    with styled("check"):
        # Reports a missing matplotlib now, not after all runs have been read.
        pass
    if not Path(folder).is_dir():
        raise RunError(f"{folder} is not a folder. Name one made by cpsched compare or simulate")
    table = load_results(folder, baseline)
    finding_of = {finding.case: finding for finding in findings(table)}
    return table, [Case.of(table, name, finding_of.get(name)) for name in table.cases]


def _common(
    table: ResultsTable, contents: list[dict[str, Any]], forms: Collection[str] = ("svg",)
) -> dict[str, Any]:
    """Return the content of both pages."""
    study, entries = table.study, across_logs(table)
    # A what-if without a title of its own is named after its log.
    labels = {run.workload for run in study.runs} if study.by_group else set()
    return {
        "title": f"What-if study of {study.title}" if study.title in labels else study.title,
        "question": study.question,
        "size": _size(table),
        "cases": contents,
        "across": list(views.over_logs(table)),
        "across_forest": _means(entries, forms),
        "across_sentences": list(sentences(entries)),
        "missing": study.missing,
        "versions": contents[0]["run"].about["versions"],
        "version": version("cpsched"),
        "by_group": study.by_group,
    }


def _means(entries: list[AcrossLogs], forms: Collection[str]) -> list[FigureFile]:
    """Return the geometric means over several logs as a figure; none where a log has no ratio."""
    points: dict[str, list[Point | None]] = {}
    for entry in entries:
        points[entry.name] = []
        for mean in map(entry.mean, COMPARED):
            point = None
            if mean is not None:
                known = mean.low is not None and mean.high is not None
                ends = (float(mean.low), float(mean.high)) if known else None  # type: ignore[arg-type]
                effect = {LOWER: "better", HIGHER: "worse"}.get(of_mean(mean), "")
                point = Point(mean.mean, ends, effect)
            points[entry.name].append(point)
    titles = [metric(name).title for name in COMPARED]
    base = "the baseline, geometric mean over the logs"
    return forests("all logs", points, titles, base, forms)


def _render(**content: Any) -> bytes:
    made = environment()
    templates = files("cpsched.report") / "templates"
    content |= {
        name: (templates / f"report.{name}").read_text(encoding="utf-8") for name in ("css", "js")
    }
    made.filters |= {"inline": inline, "headline": lambda text: text[:1].upper() + text[1:]}
    # Templates and figures are our own. Every other text may come from a log.
    # Code to copy, escaped with |e, keeps its spaces.
    made.finalize = lambda value: _unbroken(visible(value)) if type(value) is str else value
    return made.get_template(_TEMPLATE).render(content).encode()


def _unbroken(text: str) -> str:
    """Return text without line breaks between a number and its percent sign."""
    return _PERCENT.sub("\N{NO-BREAK SPACE}%", text)


def _size(table: ResultsTable) -> str:
    """Return the size of the study in words."""
    runs = table.study.runs
    compared = "scenario" if table.study.by_group else "dispatcher"
    parts = [
        counted(len({run.dispatcher for run in runs}), compared),
        counted(max(map(len, table.repetitions.values())), "repetition"),
        counted(len(runs), "run"),
    ]
    if len(table.cases) > 1:
        parts.append(counted(len(table.cases), "log and system", "logs and systems"))
    return ", ".join(parts)


def _study(path: Path) -> str | None:
    """Return the study as a file; None if there is none, or it has another version's format."""
    try:
        return reproduce.study_text(json.loads(path.read_text(encoding="utf-8"))["study"])
    except (OSError, LookupError, TypeError, AttributeError):
        return None


def _failures(folder: Path, missing: Collection[str]) -> list[tuple[str, str]]:
    """Return the failures among the missing runs; an unreadable file counts as a failure."""
    failures = []
    # Failures of other studies in this folder are not missing here.
    for path in sorted(path for path in folder.glob("*.json") if path.stem in missing):
        try:
            error = str(json.loads(path.read_text(encoding="utf-8"))["error"])
        except (OSError, ValueError, LookupError, TypeError):
            error = f"see failed/{path.name}"
        failures.append((path.stem, near(error)))
    return failures


def _folder(target: Path, *names: str) -> Path:
    """Return a folder of the report, which is made if it is not there."""
    try:
        return subfolder(target, *names)
    except FileExistsError as error:
        message = f"{error.filename} cannot be made: there is a file of that name. Name a folder"
        raise RunError(message) from error
    except OSError as error:
        where = error.filename or target
        raise RunError(f"{where} cannot be written to: {error.strerror or error}") from error


def _write(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """Write files, all or none."""
    try:
        return write_all(folder, contents)
    except OSError as error:
        raise RunError(f"{folder} cannot be written to: {error.strerror or error}") from error
