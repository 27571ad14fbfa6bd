"""What the report shows of one workload on one system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cpsched import figures
from cpsched.figures.focus import DAY, busiest
from cpsched.report import facts, reproduce
from cpsched.report.schedule_data import drawn
from cpsched.study import load_run

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from cpsched.figures import FigureFile, RunData
    from cpsched.report.choose import Place
    from cpsched.study import SavedRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """
    What the report shows of one workload on one system.

    Attributes
    ----------
    place
        Which, and its runs.
    data
        What figures show of each of ``place.runs``.
    machine, log
        Pairs of a name and a text.
    counts
        What became of the rows of the log, of the first run.
    versions
        Of what that run was made with.
    commands
        The command line of each run that was made by one.
    drawings
        Figures, in reading order.
    schedules
        For the interactive chart.
    """

    place: Place
    data: tuple[RunData, ...]
    machine: list[tuple[str, str]]
    log: list[tuple[str, str]]
    counts: Mapping[str, Any]
    versions: Mapping[str, str]
    commands: list[str]
    drawings: list[FigureFile]
    schedules: list[dict[str, Any]]


def make_section(
    place: Place,
    forms: Collection[str],
    budget: int,
    tell: Callable[[str], None],
) -> Section:
    """
    Read the runs of a place, each once, and draw its figures.

    Parameters
    ----------
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
            gantts.append(figures.draw_schedule(place.name, who, run.schedule, day, forms))
    assert first is not None
    order = [run.folder for run in place.runs]
    tell(f"drawing {place.name}")
    in_order = tuple(data[folder] for folder in order)
    return Section(
        place=place,
        data=in_order,
        machine=facts.machine(first),
        log=facts.log(first),
        counts=first.summary["counts"],
        versions=first.about["versions"],
        commands=[line for folder in order for line in commands[folder]],
        drawings=[*figures.draw(place.name, in_order, forms), *gantts],
        schedules=schedules,
    )
