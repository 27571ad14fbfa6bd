"""Everything the page shows, for its template."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched.report import facts, plot, reproduce
from cpsched.report.page import html_table, inline_svg, island
from cpsched.study.names import slug
from cpsched.study.readable import main_table, readable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.report.section import Section
    from cpsched.report.source import Source
    from cpsched.study.readable import Titled

_HERE = Path(__file__).resolve().parent


def content(source: Source, sections: Sequence[Section], library: str) -> dict[str, Any]:
    """
    Return what the template needs.

    Parameters
    ----------
    library
        The plotting library, as the text of a script.
    """
    results = source.tables.results
    schedules = [one for section in sections for one in section.schedules]
    main = main_table(source.tables)
    more = [one for tables in readable(source.tables).values() for one in tables]
    return {
        "title": results.title,
        "question": results.question,
        "baseline": str(results.baseline),
        "cards": _cards(source),
        "sections": [_section(source, section, main, more) for section in sections],
        "missing": results.missing,
        "failures": source.failures,
        "schedules": [
            {key: one[key] for key in ("place", "name", "jobs", "of", "share")} for one in schedules
        ],
        "data": [one["content"] for one in schedules],
        "island": island(
            {
                "plot": plot.document(),
                "runs": [{k: v for k, v in one.items() if k != "content"} for one in schedules],
            }
        ),
        "versions": sections[0].versions,
        "deterministic": all(run.deterministic for run in results.runs),
        "study": _study(source.study),
        "folder": shlex.quote(source.folder.resolve().name),
        "runs": [
            (run.folder, run.workload, run.system, run.dispatcher, run.predictor, run.seed)
            for run in results.runs
        ],
        "library": library,
        "script": (_HERE / "page.js").read_text(encoding="utf-8"),
        "style": (_HERE / "page.css").read_text(encoding="utf-8"),
    }


def _cards(source: Source) -> list[tuple[str, str]]:
    """Return the size of the study as pairs of a number and what it counts."""
    runs = source.tables.results.runs
    jobs = {(run.workload, run.system): run.counts["in_log"] for run in runs}
    counted = {
        "run": len(runs),
        "job in the log|jobs in the logs": sum(jobs.values()),
        "workload and system|workloads and systems": len(jobs),
        "dispatcher": len({run.dispatcher for run in runs}),
        "predictor": len({run.predictor for run in runs}),
        "repetition": len({run.seed for run in runs}),
    }
    cards = []
    for name, number in counted.items():
        one, _, several = name.partition("|")
        cards.append((f"{number:,}", one if number == 1 else several or f"{one}s"))
    return cards


def _section(
    source: Source, section: Section, main: Sequence[Titled], more: Sequence[Titled]
) -> dict[str, Any]:
    name = section.place.name
    return {
        "id": slug(name),
        "name": name,
        "findings": facts.findings(source.tables, name),
        "machine": section.machine,
        "log": section.log,
        "main": [html_table(one) for one in main if one.place == name],
        "more": [html_table(one) for one in more if one.place == name],
        "figures": [
            {
                "id": figure.name,
                "title": figure.title,
                "caption": figure.caption,
                "svg": inline_svg(figure),
            }
            for figure in section.drawings
        ],
        "left_out": facts.left_out(
            section.counts, section.place, section.data, source.tables.results
        ),
        "commands": section.commands,
    }


def _study(study: Mapping[str, Any] | None) -> str | None:
    """Return the study as a file; None if there is none, or it is of another version's shape."""
    if study is None:
        return None
    try:
        return reproduce.study_text(study)
    except (LookupError, TypeError, AttributeError):
        return None
