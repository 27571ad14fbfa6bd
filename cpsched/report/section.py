"""What the report shows of one workload on one system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cpsched import figures
from cpsched.figures.focus import DAY, busiest
from cpsched.metrics.workload import describe
from cpsched.report import facts, reproduce
from cpsched.report.page import inline_svg
from cpsched.report.schedule_data import drawn
from cpsched.study import load_run
from cpsched.study.allocators import unequal
from cpsched.study.names import slug

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from cpsched.figures import FigureFile, RunData
    from cpsched.report.choose import Place
    from cpsched.study import SavedRun, Tables


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
    forms
        Of the figures; ``svg`` among them.
    budget
        Rectangles of each schedule, about.
    tell
        Called with what is done next, once for each run and once before drawing.

    Raises
    ------
    RunError
        If a run is damaged.
    """
    data: dict[str, RunData] = {}
    commands: dict[str, list[str]] = {}
    gantts: list[FigureFile] = []
    schedules: list[dict[str, Any]] = []
    first: SavedRun | None = None
    for result in (*place.shown, *(run for run in place.runs if run not in place.shown)):
        who = f"{result.dispatcher} {result.predictor}"
        tell(f"reading {who}")
        run = load_run(result.path)
        if first is None:
            # The baseline: what all schedules of the place look at closely is its busiest time.
            first = run
            day, week = (busiest(run.schedule, days * DAY) for days in (1, 7))
        lines = (reproduce.model_note(run.about), reproduce.simulate_line(run.about))
        commands[result.folder] = [line for line in lines if line]
        data[result.folder] = figures.read(run, result)
        if day is None or result not in place.shown:
            continue
        shown = drawn(run.schedule, week, budget)
        if shown is not None:
            schedules.append({"place": place.name, "name": who, "day": day, **shown})
        if result in place.charted:
            gantts += figures.draw_schedule(place.name, who, run.schedule, day, forms)
    assert first is not None
    order = [run.folder for run in place.runs]
    tell(f"drawing {place.name}")
    in_order = tuple(data[folder] for folder in order)
    drawings = [*figures.draw(place.name, in_order, forms), *gantts]
    content = {
        "id": slug(place.name),
        "name": place.name,
        "findings": facts.findings(tables, place.name),
        "front": facts.front(tables, place.name),
        "unequal": unequal(
            (run.dispatcher, run.dispatcher_spec, run.allocator) for run in place.runs
        ),
        "machine": facts.machine(first),
        "log": describe(first.schedule.workload),
        "figures": [(figure, inline_svg(figure)) for figure in drawings],
        "left_out": facts.left_out(first.summary["counts"], place, in_order, tables.results),
        "commands": [line for folder in order for line in commands[folder]],
    }
    return Section(
        content=content,
        versions=first.about["versions"],
        drawings=drawings,
        schedules=schedules,
    )
