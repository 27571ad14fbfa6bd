"""What the report shows of one workload on one system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cpsched import figures
from cpsched.figures.focus import DAY, busiest
from cpsched.metrics.workload import describe
from cpsched.report import facts, lead, reproduce
from cpsched.report.page import inline
from cpsched.report.schedule_data import drawn
from cpsched.study import load_run
from cpsched.study.allocators import unequal
from cpsched.study.folder import slug

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from cpsched.figures import FigureFile, RunData
    from cpsched.report.choose import Place
    from cpsched.show.sentences import Finding
    from cpsched.study import SavedRun, Tables


#: Charts shown directly, in this order; others are folded.
_OPEN = (
    *("waits of all jobs", "bounded slowdowns of all jobs", "queue over time"),
    *("core use over time", "wait against job size"),
)
_APPENDIX = ("cost of decisions",)
#: Charts of gains and losses are drawn for at most this many scenarios; tables have all.
_SCENARIOS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """
    What the report shows of one workload on one system.

    Attributes
    ----------
    content
        For the template: everything but the tables.
    versions
        Of what the first run was made with.
    drawings
        Figures, in reading order.
    schedules
        For the interactive chart.
    """

    content: dict[str, Any]
    versions: Mapping[str, str]
    drawings: list[FigureFile]
    schedules: list[dict[str, Any]]


def make_section(
    place: Place,
    tables: Tables,
    finding: Finding | None,
    forms: Collection[str],
    budget: int,
    tell: Callable[[str], None],
) -> Section:
    """
    Read the runs of a place, each once, and draw its figures.

    Parameters
    ----------
    tables
        Of all runs of the report.
    finding
        What was found at this place, if anything was compared.
    forms
        Of the figures; ``svg`` among them.
    budget
        Rectangles of each schedule, about.
    tell
        Called with the next step, once for each run and once before drawing.

    Raises
    ------
    RunError
        If a run is damaged.
    """
    results = tables.results
    looks = lead.looks_at(results, place.name)
    data: dict[str, RunData] = {}
    commands: dict[str, list[str]] = {}
    gantts: list[FigureFile] = []
    schedules: list[dict[str, Any]] = []
    first: SavedRun | None = None
    for result in (*place.shown, *(run for run in place.runs if run not in place.shown)):
        look = looks[result.dispatcher, result.predictor]
        tell(f"reading {look.name}")
        run = load_run(result.path)
        if first is None:
            # The baseline: what all schedules of the place look at closely is its busiest time.
            first = run
            day, week = (busiest(run.schedule, days * DAY) for days in (1, 7))
        lines = (reproduce.model_note(run.about), reproduce.simulate_line(run.about))
        commands[result.folder] = [line for line in lines if line]
        data[result.folder] = figures.read(run, result, look)
        if day is None or result not in place.shown:
            continue
        shown = drawn(run.schedule, week, budget)
        if shown is not None:
            own = {"place": place.name, "name": look.label, "color": look.colour, "day": day}
            schedules.append({**own, **shown})
        if result in place.charted:
            gantts += figures.draw_schedule(place.name, look.name, run.schedule, day, forms)
    assert first is not None
    tell(f"drawing {place.name}")
    about = [finding.about] if finding is not None else []
    if results.by_group:
        about = [who for who, look in looks.items() if not look.is_base][:_SCENARIOS]
    ranked = sorted(place.runs, key=lead.importance(results, about))
    charts = figures.draw(place.name, [data[run.folder] for run in ranked], forms)
    tradeoff = lead.tradeoff(tables, place.name, looks, forms)
    ratios = lead.ratios(tables, place.name, looks, forms)
    gains = lead.changes(tables, place.name, about, looks, forms)
    folded = [chart for title, chart in charts.items() if title not in (*_OPEN, *_APPENDIX)]
    content = {
        "id": slug(place.name),
        "name": place.name,
        "finding": () if finding is None else finding.sentences,
        "lead": lead.lead_table(tables, place.name),
        "looks": looks,
        "tradeoff": [] if tradeoff is None else [inline(tradeoff)],
        "ratios": [] if ratios is None else [inline(ratios)],
        "charts": [inline(charts[title]) for title in _OPEN if title in charts],
        "gains": [inline(one) for one in gains],
        "folded": [inline(one) for one in folded],
        "places": [inline(one) for one in gantts if not one.title.startswith("nodes ")],
        "appendix": [inline(charts[title]) for title in _APPENDIX if title in charts],
        "unequal": unequal(
            (run.dispatcher, run.dispatcher_spec, run.allocator) for run in place.runs
        ),
        "machine": facts.machine(first),
        "log": describe(first.schedule.workload),
        "left_out": facts.left_out(first.summary["counts"], place, results),
        "commands": [line for run in place.runs for line in commands[run.folder]],
    }
    leading = [one for one in (tradeoff, ratios) if one is not None]
    return Section(
        content=content,
        versions=first.about["versions"],
        drawings=[*leading, *charts.values(), *gains, *gantts],
        schedules=schedules,
    )
