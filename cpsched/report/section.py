"""What the report shows of one workload on one system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cpsched import figures
from cpsched.figures.figure_set import draw_schedule
from cpsched.figures.focus import DAY, busiest
from cpsched.report import facts, reproduce
from cpsched.report.schedule_data import drawn
from cpsched.study import load_run

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from cpsched.figures import FigureFile, RunData
    from cpsched.metrics.window import Window
    from cpsched.report.choose import Place
    from cpsched.study import SavedRun
    from cpsched.study.results import RunResult


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


@dataclass(slots=True)
class _Reader:
    """Reads runs one after the other and keeps what is needed of them."""

    place: Place
    forms: Collection[str]
    budget: int
    first: SavedRun | None = None
    day: Window | None = None
    week: Window | None = None

    def read(self, run: SavedRun, result: RunResult) -> tuple[RunData, list[str]]:
        """Return what figures show of a run, and its command."""
        if self.first is None:
            # The baseline: what all schedules of the place look at closely is its busiest time.
            self.first = run
            self.day, self.week = (busiest(run.schedule, days * DAY) for days in (1, 7))
        lines = (reproduce.model_note(run.about), reproduce.simulate_line(run.about))
        return figures.read(run, result), [line for line in lines if line]

    def chart(self, run: SavedRun, result: RunResult) -> list[FigureFile]:
        """Return the Gantt chart of a run's busiest day, if a job ran."""
        if self.day is None:
            return []
        who = f"{result.dispatcher} {result.predictor}"
        return [draw_schedule(self.place.name, who, run.schedule, self.day, self.forms)]

    def schedule(self, run: SavedRun, result: RunResult) -> list[dict[str, Any]]:
        """Return a run for the interactive chart, if a job ran."""
        found = drawn(run.schedule, self.week, self.budget)
        if found is None or self.day is None:
            return []
        return [
            {
                "place": self.place.name,
                "name": f"{result.dispatcher} {result.predictor}",
                "content": found.content,
                "jobs": found.jobs,
                "of": found.of,
                "instant": found.instant,
                "share": found.share,
                "focus": list(found.focus) if found.focus else None,
                "day": list(self.day),
            }
        ]


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
    reader = _Reader(place, forms, budget)
    data: dict[str, RunData] = {}
    commands: dict[str, list[str]] = {}
    gantts: list[FigureFile] = []
    schedules: list[dict[str, Any]] = []
    for result in (*place.shown, *(run for run in place.runs if run not in place.shown)):
        tell(f"reading {result.dispatcher} {result.predictor}")
        run = load_run(result.path)
        data[result.folder], commands[result.folder] = reader.read(run, result)
        if result in place.shown:
            schedules += reader.schedule(run, result)
            if result in place.charted:
                gantts += reader.chart(run, result)
    assert reader.first is not None
    first, order = reader.first, [run.folder for run in place.runs]
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
