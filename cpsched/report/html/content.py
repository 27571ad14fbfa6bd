"""The content of the page, for its template."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched.report.html import plot, reproduce
from cpsched.report.html.page import colour_name, html_table, island, packed
from cpsched.report.overview import overview
from cpsched.report.readable import Titled, readable
from cpsched.study.store import DESCRIPTION
from cpsched.study.study import near
from cpsched.util.words import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from cpsched.report.html.section import Section
    from cpsched.study.results import RunResult
    from cpsched.study.tables import Tables


_HERE = Path(__file__).resolve().parent


def content(
    folder: Path, tables: Tables, sections: Sequence[Section], library: str
) -> dict[str, Any]:
    """
    Return what the template needs.

    Parameters
    ----------
    folder
        The folder as given by the caller.
    tables
        The tables of all its runs.
    library
        The plotting library, as the text of a script.
    """
    results = tables.results
    schedules = [one for section in sections for one in section.schedules]
    more = [table for shown in readable(tables).values() for table in shown]
    over = overview(tables)
    return {
        "title": results.title,
        "question": results.question,
        "headline": over.sentences,
        "across": [html_table(Titled("", table.caption, table)) for table in over.tables],
        "size": _size(results.runs, "scenario" if results.by_group else "dispatcher"),
        "sections": [
            {
                **section.content,
                "more": [html_table(one) for one in more if one.place == section.content["name"]],
            }
            for section in sections
        ],
        "missing": results.missing,
        "failures": _failures(folder / "failed", results.missing),
        "schedules": [{key: one[key] for key in ("place", "name")} for one in schedules],
        "data": [one["content"] for one in schedules],
        "island": island(
            {
                "plot": plot.document(min(len(schedules), 2)),
                "runs": [
                    {k: v for k, v in one.items() if k != "content"}
                    | {"color": colour_name(one["color"])}
                    for one in schedules
                ],
            }
        ),
        "versions": sections[0].versions,
        "study": _study(folder / DESCRIPTION),
        "folder": shlex.quote(folder.resolve().name),
        "runs": [
            (run.folder, run.workload, run.system, run.dispatcher, run.predictor, run.seed)
            for run in results.runs
        ],
        "library": packed(library),
        "script": "\n".join(
            (_HERE / name).read_text(encoding="utf-8") for name in ("schedules.js", "page.js")
        ),
        "style": (_HERE / "page.css").read_text(encoding="utf-8"),
    }


def _size(runs: Sequence[RunResult], compared: str) -> str:
    """Return the size of the study in words."""
    jobs = {
        (run.workload, run.system): run.counts["in_log"] - run.counts["set_aside"] for run in runs
    }
    logs = "workload and system", "workloads and systems"
    parts = [
        counted(len(runs), "run"),
        counted(len({run.dispatcher for run in runs}), compared),
        counted(len({run.predictor for run in runs}), "predictor"),
        counted(len({run.seed for run in runs}), "repetition"),
        counted(sum(jobs.values()), "job"),
        *([counted(len(jobs), *logs)] if len(jobs) > 1 else []),
    ]
    return ", ".join(parts)


def _study(path: Path) -> str | None:
    """Return the study as a file; None if there is none, or it has another version's format."""
    try:
        return reproduce.study_text(json.loads(path.read_text(encoding="utf-8"))["study"])
    except (OSError, LookupError, TypeError, AttributeError):
        return None


def _failures(folder: Path, missing: Collection[str]) -> list[tuple[str, str]]:
    """Return the failures among the missing runs; an unreadable file counts as a failure."""
    found = []
    # Failures of other studies in this folder are not missing here.
    for path in sorted(path for path in folder.glob("*.json") if path.stem in missing):
        try:
            error = str(json.loads(path.read_text(encoding="utf-8"))["error"])
        except (OSError, ValueError, LookupError, TypeError):
            error = f"see failed/{path.name}"
        found.append((path.stem, near(error)))
    return found
