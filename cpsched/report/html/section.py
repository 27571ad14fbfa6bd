"""What the report shows of one workload on one system."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cpsched.errors import RunError
from cpsched.metrics.workload import describe as describe_workload
from cpsched.report.decisions import solver_notes
from cpsched.report.figures.data import DAY, busiest
from cpsched.report.figures.data import read as run_data
from cpsched.report.figures.pictures import of_jobs, of_schedule
from cpsched.report.html import charts, reproduce
from cpsched.report.html.page import inline
from cpsched.report.html.places import importance
from cpsched.report.html.schedule_data import drawn
from cpsched.report.outcomes import load_lines, outcome_lines
from cpsched.report.record import reproduced
from cpsched.study import load_run
from cpsched.study.allocators import mixed_allocators
from cpsched.study.folder import slug
from cpsched.util import arrow
from cpsched.util.words import amount, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from pathlib import Path

    from cpsched.report.figures.data import RunData
    from cpsched.report.figures.looks import Who
    from cpsched.report.figures.pictures import FigureFile, Picture
    from cpsched.report.html.places import Place
    from cpsched.report.sentences import Finding
    from cpsched.study import SavedRun
    from cpsched.study.results import Results
    from cpsched.study.tables import Tables


#: The charts of jobs and machine that are not folded.
_OPEN = (
    *("waits of all jobs", "bounded slowdowns of all jobs", "queue over time"),
    *("core utilization over time", "wait against job size"),
)
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
    data: dict[str, RunData] = {}
    commands: dict[str, list[str]] = {}
    gantts: list[FigureFile] = []
    schedules: list[dict[str, Any]] = []
    first: SavedRun | None = None
    for result in (*place.shown, *(run for run in place.runs if run not in place.shown)):
        look = place.looks[result.configuration]
        tell(f"reading {look.name}")
        with _reading(result.path):
            run = load_run(result.path)
            if first is None:
                # The baseline: what all schedules of the place look at closely is its busiest time.
                first = run
                day, week = (busiest(run.schedule, days * DAY) for days in (1, 7))
                run.schedule.let_go()
            lines = (reproduce.model_note(run.about), reproduce.simulate_line(run.about))
            commands[result.folder] = [line for line in lines if line]
            data[result.folder] = run_data(run, look)
            if day is not None and result in place.shown:
                shown = drawn(run.schedule, week, budget)
                if shown is not None:
                    own = {"place": place.name, "name": look.label, "color": look.colour}
                    schedules.append({**own, "day": day, **shown})
                if result in place.charted:
                    gantts.append(of_schedule(look.name, run.schedule, day).file(place.name, forms))
            run.schedule.let_go()
    assert first is not None
    tell(f"drawing {place.name}")
    about = _about(place, tables.results, finding)
    ranked = sorted(place.runs, key=importance(tables.results, about))
    pictures_of: dict[str, list[Picture]] = {
        "tradeoff": list(charts.tradeoff(tables, place)),
        **{slot: [] for slot in ("charts", "folded")},
        "gains": list(charts.changes(tables, place, about)),
    }
    for picture in of_jobs([data[run.folder] for run in ranked]):
        pictures_of["charts" if picture.title in _OPEN else "folded"].append(picture)
    figures = {
        slot: [one.file(place.name, forms) for one in some] for slot, some in pictures_of.items()
    }
    content = {
        "id": slug(place.name),
        "name": place.name,
        "finding": () if finding is None else finding.sentences,
        "record": [
            *reproduced(tables, place.name),
            *outcome_lines(tables, place.name),
            *load_lines(tables, place.name),
        ],
        "lead": charts.lead_table(tables, place),
        "looks": place.looks,
        **{slot: [inline(one) for one in some] for slot, some in figures.items()},
        "unequal": mixed_allocators(
            (run.dispatcher, run.dispatcher_spec, run.allocator) for run in place.runs
        ),
        "machine": _machine(first),
        "log": describe_workload(first.schedule.workload),
        "left_out": _left_out(first.summary["counts"], place, tables.results),
        "commands": [line for run in place.runs for line in commands[run.folder]],
    }
    return Section(
        content=content,
        versions=first.about["versions"],
        drawings=[*(one for slot in pictures_of for one in figures[slot]), *gantts],
        schedules=schedules,
    )


@contextmanager
def _reading(run: Path) -> Iterator[None]:
    """Turn whatever files that contradict each other raise into an error of one line."""
    try:
        yield
    except RunError:
        raise
    except arrow.UNREADABLE as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        hint = "cpsched verify says whether its files contradict each other"
        raise RunError(f"{run} cannot be shown ({reason:.200}); {hint}") from error


def _about(place: Place, results: Results, finding: Finding | None) -> list[Who]:
    """Return the runs that charts are about: those of the finding, or some of the scenarios."""
    if results.by_group:
        return [who for who, look in place.looks.items() if not look.is_base][:_SCENARIOS]
    return [] if finding is None else [finding.about]


def _machine(run: SavedRun) -> list[tuple[str, str]]:
    """Describe a run's machine as pairs of a name and a text."""
    system = run.schedule.system
    kinds = zip(system.resources, system.total.tolist(), strict=True)
    nodes = "one pool" if system.num_nodes == 1 else f"{system.num_nodes:,}"
    queues = ", ".join(system.queues) or "one, unnamed"
    return [
        ("system", system.title),
        ("nodes", nodes),
        *((kind, amount(kind, total).removesuffix(f" {kind}")) for kind, total in kinds),
        ("queues", queues),
        ("at the requested time", {"kill": "jobs end", "extend": "jobs run on"}.get(
            run.schedule.overrun, run.schedule.overrun)),
    ]  # fmt: skip


def _left_out(counts: Mapping[str, Any], place: Place, results: Results) -> list[str]:
    """
    Return a sentence for each part of a log that is in no figure or table; ``counts`` are of a run.
    """
    said = [f"{counted(counts['in_log'], 'job')} in the log, {counts['simulated']:,} simulated."]
    for reason, number in counts["set_aside"].items():
        said.append(f"Excluded: {number:,} ({reason}).")
    for reason, number in counts["rejected_because"].items():
        said.append(f"Rejected, because they can never run here: {number:,} ({reason}).")
    for reason, number in counts.get("never_started_because", {}).items():
        said.append(f"Never started: {number:,} ({reason}).")
    seen = {run.predictor: run.not_a_forecast for run in place.runs if run.not_a_forecast}
    said += [f"Not a forecast: {predictor} {note}." for predictor, note in seen.items()]
    said += solver_notes((run.dispatcher, run.decisions) for run in place.runs)
    if counts.get("requested_time_assumed"):
        said.append(
            f"{counted(counts['requested_time_assumed'], 'job')} had no requested time; the"
            " default was assumed."
        )
    if len(results.runs) > len({(r.dispatcher, r.predictor, r.workload, r.system)
                                for r in results.runs}):  # fmt: skip
        said.append(
            "Charts over time, distributions and schedules show one repetition (seed"
            f" {place.runs[0].seed}); tables, ratios and intervals cover all."
        )
    return said
