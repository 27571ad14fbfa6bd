"""Texts and figures of the page for a workload on a system."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from cpsched.errors import RunError
from cpsched.metrics.definitions import metric, title_of
from cpsched.metrics.window import busy_window
from cpsched.metrics.workload import describe
from cpsched.report import views
from cpsched.report.decisions import solver_notes
from cpsched.report.figures.data import bins, busiest
from cpsched.report.figures.data import read as run_data
from cpsched.report.figures.intervals import Point, draw_changes, draw_forest
from cpsched.report.figures.lines import draw_by_size, draw_distributions, draw_over_time
from cpsched.report.figures.looks import looks
from cpsched.report.figures.nodes import draw_waits
from cpsched.report.figures.style import BAD, BEHIND, COLOURS, FAINT, GOOD, INK, PAPER, FigureFile
from cpsched.report.findings import QUALITY, base_name, wait_change
from cpsched.report.html import reproduce
from cpsched.report.html.schedules import charts, packed, shown_schedule, shown_window
from cpsched.report.outcomes import load_lines, outcome_lines
from cpsched.report.record import validation_lines
from cpsched.report.terminal import notes
from cpsched.study.allocators import mixed_allocators
from cpsched.study.comparisons import Result
from cpsched.study.folder import slug
from cpsched.study.reader import load_run
from cpsched.util import arrow
from cpsched.util.words import counted, duration, memory

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from cpsched.metrics.window import Window
    from cpsched.report.figures.data import RunData
    from cpsched.report.findings import Finding
    from cpsched.report.html.schedules import ShownSchedule
    from cpsched.report.results_table import ResultsTable
    from cpsched.report.views import View
    from cpsched.study.reader import SavedRun
    from cpsched.study.results import RunKey

#: Scenarios whose groups of jobs are shown, and runs in a chart of all runs, at most.
_SCENARIOS, _RUNS = 6, 8
#: The metrics of the forest plot, a column each.
_FOREST = ("bounded_slowdown_mean", "wait_mean_s", "wait_p99.9_s", "wait_max_s")
_NAMES = {"gpu": "GPU", "mic": "MIC", "mem": "memory"}
#: Colours of figures, and their replacements in the page's light and dark modes.
_COLOURS = {
    INK: "currentColor", PAPER: "var(--card)", FAINT: "var(--line)", BEHIND: "var(--behind)",
    GOOD: "var(--good)", BAD: "var(--bad)",
    **{colour: f"var(--c{at})" for at, colour in enumerate(COLOURS)},
}  # fmt: skip
_COLOUR = re.compile("|".join(_COLOURS))
_TAG = re.compile(r"<[a-zA-Z][^<>]*>")
#: What a figure in a page does without: metadata, names of groups, space, a font, tiny digits.
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_GROUP_NAME, _SPACE = re.compile(r'<g id="[^"]*"'), re.compile(r">\s+<")
_FONT, _DIGITS = re.compile(r"(?<=[\"; ])font-family: [^;]*; ?"), re.compile(r"(\.\d\d)\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """
    A workload on a system.

    Attributes
    ----------
    name
        ``workload on system``.
    runs
        Its runs, in the study's order.
    finding
        What may be said of them; None if nothing is compared.
    base
        The run that charts compare with.
    about
        The runs whose groups of jobs are shown: that of the finding, or the first scenarios.
    """

    name: str
    runs: tuple[RunKey, ...]
    finding: Finding | None
    base: RunKey
    about: tuple[RunKey, ...]

    @classmethod
    def of(cls, table: ResultsTable, name: str, finding: Finding | None) -> Case:
        """Return a case of a study."""
        runs = tuple(table.cases[name])
        own = None if finding is None else table.baseline_of(finding.run)
        bases = [run for run in runs if run in table.baselines]
        about: tuple[RunKey, ...] = () if finding is None else (finding.run,)
        if table.study.by_group:
            about = tuple(run for run in runs if table.baseline_of(run) is not None)[:_SCENARIOS]
        base = own if own in runs and own is not None else next(iter(bases), runs[0])
        return cls(name=name, runs=runs, finding=finding, base=base, about=about)

    def ranked(self, table: ResultsTable) -> list[RunKey]:
        """Return its runs, the most important first: the baseline, those of the finding, others."""

        def rank(run: RunKey) -> tuple[bool, bool, float]:
            row = table.get(run, QUALITY)
            value = float("inf") if row is None or row.value is None else float(row.value)
            is_chosen = run == (self.finding.run if self.finding else None)
            return run != self.base, not is_chosen, value

        return sorted(self.runs, key=rank)


def summary_of(
    table: ResultsTable, case: Case, forms: Collection[str] = ("svg",)
) -> dict[str, Any]:
    """Return the common parts of page and summary: finding, leading metrics, outcomes."""
    first = table.repetitions[case.base][0]
    with reading(first.path):
        run = load_run(first.path)
    workload, system = run.schedule.workload, run.schedule.system
    is_synthetic = "Generator" in dict(workload.header) or "generator" in (
        run.about.get("arguments", {}).get("source") or {}
    )
    log = f"{'Synthetic log' if is_synthetic else 'Log'} {case.runs[0][0]}"
    return {
        "id": slug(case.name),
        "log_name": case.runs[0][0],
        "name": f"{log}, system {system.title or system.name}",
        "sentences": () if case.finding is None else case.finding.sentences,
        "forest": _forest(table, case, forms),
        "lead": views.leading(table, case.name),
        "notes": list(notes(table, case.name)),
        "outcomes": list(
            map(_sentence, (*outcome_lines(table, case.name), *load_lines(table, case.name)))
        ),
        "record": list(validation_lines(table, case.name)),
        "left_out": list(_left_out(run)),
        "remarks": list(_remarks(table, case, run)),
        "run": run,
    }


def page_of(
    table: ResultsTable,
    case: Case,
    forms: Collection[str],
    budget: int,
    num_schedules: int,
    advance: Callable[[str], None],
) -> dict[str, Any]:
    """
    Read the runs of a case, each once, and draw its figures.

    Parameters
    ----------
    forms
        Of the figures; ``svg`` among them.
    budget
        Rectangles of each schedule, about.
    num_schedules
        Most schedules that can be chosen.
    advance
        Called with the next step, once for each run and once before drawing.

    Raises
    ------
    RunError
        If a run is damaged.
    """
    ranked = case.ranked(table)
    look_of = looks({run: table.name(run) for run in case.runs}, table.baselines)
    data: dict[RunKey, RunData] = {}
    schedules: list[ShownSchedule] = []
    nodes: list[FigureFile] = []
    commands: dict[RunKey, list[str]] = {}
    day = part = entire = None
    for at, key in enumerate(ranked):
        name = look_of[key].label
        advance(f"reading {name}")
        path = table.repetitions[key][0].path
        with reading(path):
            run = load_run(path)
            if not at:
                day, entire = busiest(run.schedule), busy_window(run.schedule)
                part = shown_window(run.schedule, budget)
            lines = (reproduce.model_note(run.about), reproduce.simulate_line(run.about))
            commands[key] = [line for line in lines if line]
            data[key] = run_data(run, look_of[key])
            window = busy_window(run.schedule) if part == entire else part
            if at < num_schedules and window is not None:
                schedules.append(shown_schedule(name, run.schedule, window))
            if at < 2 and day is not None:
                draw = partial(draw_waits, run.schedule, day)
                title = f"nodes under {table.name(key)} on the busiest day"
                nodes.append(FigureFile.of(case.name, title, draw, forms, alt=_of_day(run, day)))
            run.schedule.let_go()
    advance(f"drawing {case.name}")
    common = summary_of(table, case, forms)
    pair = [data[run] for run in ranked[:2]]
    repetitions = max(len(table.repetitions[run]) for run in case.runs)
    return {
        **common,
        "repetition": f"The first of {repetitions} repetitions." if repetitions > 1 else "",
        "changes": [_changes(table, case, run, forms) for run in case.about],
        "over_time": list(_over_time(case, pair, common["run"], forms)),
        "waits": list(_of_jobs(case, [data[run] for run in ranked], forms)),
        "nodes": nodes,
        "all": list(views.all_metrics(table, case.name)),
        "schedules": [shown.name for shown in schedules],
        "part": ""
        if part is None or part == entire
        else f"The {duration(part.length)} with the longest queue.",
        "charts": packed(charts(schedules)) if schedules else "",
        "system": _system(common["run"]),
        "log": describe(common["run"].schedule.workload),
        "commands": [line for run in case.runs for line in commands[run]],
    }


def figures_of(content: dict[str, Any]) -> Iterator[FigureFile]:
    """Yield the figures of a case that become files."""
    yield from content["forest"][:1]
    for change in content["changes"]:
        yield from change["figure"]
    for part in ("over_time", "waits", "nodes"):
        yield from content[part]


def inline(figure: FigureFile) -> str:
    """Return the drawing of a figure as a part of a page, whose colours it takes."""
    text = figure.content["svg"].decode()
    # The enclosing element has its description.
    text = text[text.index("<svg") :].replace("<svg ", '<svg aria-hidden="true" ', 1)
    text = _SPACE.sub("><", _METADATA.sub("", text))
    return _TAG.sub(lambda tag: _in_page(tag.group()), text)


def _in_page(tag: str) -> str:
    tag = _GROUP_NAME.sub("<g", tag)
    if not tag.startswith("<image"):
        tag = _DIGITS.sub(r"\1", _FONT.sub("", tag))
    return _COLOUR.sub(lambda colour: _COLOURS[colour.group()], tag)


@contextmanager
def reading(run: Path) -> Iterator[None]:
    """Turn whatever files that contradict each other raise into an error of one line."""
    try:
        yield
    except RunError:
        raise
    except arrow.UNREADABLE as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        hint = "cpsched verify checks its files"
        raise RunError(f"{run} cannot be shown ({reason:.200}); {hint}") from error


def _forest(table: ResultsTable, case: Case, forms: Collection[str]) -> list[FigureFile]:
    """Return the leading metrics of the runs of a case that are compared."""
    compared = [run for run in case.runs if table.baseline_of(run) is not None]
    bases = list(dict.fromkeys(base_name(table, run) for run in compared))
    rows = {table.name(run): [table.get(run, name) for name in _FOREST] for run in compared}
    titles = []
    for at, name in enumerate(_FOREST):
        row, title = next((of[at] for of in rows.values() if of[at]), None), metric(name).title
        # Several baselines have several values.
        if row is not None and row.base_value is not None and len(bases) == 1:
            title += f"\n{bases[0]}: {metric(name).text(row.base_value)}"
        titles.append(title)
    points = {
        name: [
            Point(row.ratio, row.interval, row.effect) if row is not None and row.ratio else None
            for row in of
        ]
        for name, of in rows.items()
    }
    base = bases[0] if len(bases) == 1 else "the baseline of each run"
    return forests(case.name, points, titles, base, forms)


def forests(
    case: str,
    points: Mapping[str, Sequence[Point | None]],
    titles: Sequence[str],
    base: str,
    forms: Collection[str] = ("svg",),
) -> list[FigureFile]:
    """Return a forest plot over the width of a page and one for phones; none of no run."""
    if not points:
        return []
    first = [f"{name} {views.ratio_text(of[0].ratio)}" for name, of in points.items() if of[0]]
    alt = f"Ratios to {base}. {titles[0].partition(chr(10))[0]}: {', '.join(first) or 'none'}."
    return [
        FigureFile.of(
            case, title, partial(draw_forest, points, titles, base, narrow=is_narrow), own_forms,
            caption="Green: significantly lower. Orange: significantly higher. Grey: not"
            " significant. Lines: 95 % intervals.", alt=alt,
        )
        for title, own_forms, is_narrow in (
            ("leading metrics as ratios to the baseline", forms, False),
            ("leading metrics on a narrow page", ("svg",), True),
        )
    ]  # fmt: skip


def _changes(
    table: ResultsTable, case: Case, run: RunKey, forms: Collection[str]
) -> dict[str, Any]:
    """Return the changes of waits by group of jobs, as a figure and a table, worst first."""
    view = views.group_changes(table, run)
    # Each row has the mean wait of a group as a row of the results table.
    shown = [cell for _, _, cell, *_ in view.rows if isinstance(cell, Result)]
    title = f"change of waits under {table.name(run)}"
    caption = (
        f"Change of the mean wait of each group of jobs against {base_name(table, run)}, with 95 %"
        " intervals where available. Grey: not significant. Of many groups, those with the largest"
        " total change are shown."
    )
    worst = max(shown, key=lambda row: row.difference or 0, default=None)
    alt = "" if worst is None else (
        f"{title}. Largest increase: {title_of(worst.group)} {wait_change(worst)}."
    )  # fmt: skip
    draw = partial(draw_changes, shown)
    figure = [FigureFile.of(case.name, title, draw, forms, caption=caption, alt=alt)]
    return {
        "title": title,
        "figure": figure if shown else [],
        "view": _worst_first(view),
    }


def _worst_first(view: View) -> View:
    def increase(row: Sequence[Any]) -> float:
        return -(row[2].difference or 0)

    return view._replace(rows=sorted(view.rows, key=increase))


def _over_time(
    case: Case, pair: Sequence[RunData], run: SavedRun, forms: Collection[str]
) -> Iterator[FigureFile]:
    """Yield queue and utilization over time under the baseline and the run of the finding."""
    queued = [of for of in pair if of.queue_over_time is not None]
    if not queued:
        return
    window = busy_window(run.schedule)
    caption = f"Means over {duration(bins(window))} each." if window else ""
    highest = ", ".join(
        f"{of.look.name} {of.queue_over_time.values.max():,.0f}"  # type: ignore[union-attr]
        for of in queued
    )
    yield FigureFile.of(
        case.name, "queue over time",
        partial(draw_over_time, queued, lambda of: of.queue_over_time, "waiting jobs"), forms,
        caption=caption, alt=f"Waiting jobs over time. Highest: {highest}.",
    )  # fmt: skip
    for resource in dict.fromkeys(name for of in pair for name in of.use):
        used = [of for of in pair if resource in of.use]
        shown = _NAMES.get(resource, resource)
        share = partial(_share, resource=resource)
        draw = partial(draw_over_time, used, share, f"{shown} utilization", is_share=True)
        mean = ", ".join(f"{of.look.name} {100 * share(of).values.mean():.0f} %" for of in used)
        yield FigureFile.of(
            case.name, f"{shown} utilization over time", draw, forms,
            caption=caption, alt=f"Share of {shown} in use over time. Means: {mean}.",
        )  # fmt: skip


def _share(run: RunData, resource: str) -> Any:
    return run.use[resource]


def _of_jobs(case: Case, runs: Sequence[RunData], forms: Collection[str]) -> Iterator[FigureFile]:
    """Yield distributions over all jobs, and waits by size."""
    ended = [run for run in runs if len(run.wait.values)]
    rest = f" {len(ended) - _RUNS} more runs are not shown." if len(ended) > _RUNS else ""
    shown = ended[:_RUNS]
    if not shown:
        return
    curves: tuple[tuple[str, str, Any, bool, Any], ...] = (
        ("waits of all jobs", "wait", lambda run: run.wait, True, duration),
        ("bounded slowdowns of all jobs", "bounded slowdown", lambda run: run.slowdown, False,
         "{:,.1f}".format),
    )  # fmt: skip
    for title, label, curve, is_wait, in_words in curves:
        draw = partial(draw_distributions, shown, curve, label, is_wait=is_wait)
        largest = ", ".join(f"{run.look.name} {in_words(curve(run).values[-1])}" for run in shown)
        yield FigureFile.of(
            case.name, title, draw, forms,
            caption=f"Largest {label} among the jobs up to each percentile.{rest}",
            alt=f"{title.capitalize()} by percentile. Largest: {largest}.",
        )  # fmt: skip
    if any(len(run.by_size.cores) > 1 for run in shown):
        largest = ", ".join(f"{run.look.name} {duration(run.by_size.wait[-1])}" for run in shown)
        yield FigureFile.of(
            case.name, "wait by job size", partial(draw_by_size, shown), forms,
            caption=f"Mean wait by cores of a job, in size classes that double.{rest}",
            alt=f"Mean wait by cores of a job. Of the largest jobs: {largest}.",
        )  # fmt: skip


def _of_day(run: SavedRun, day: Window) -> str:
    """Return the description of a chart of nodes."""
    segments = run.schedule.segments
    inside = (segments.start < day.end) & (segments.end > day.start)
    jobs = counted(len(set(segments.job[inside].tolist())), "job")
    return f"Nodes over time on the day with the longest queue: {jobs}, coloured by wait."


def _system(run: SavedRun) -> list[tuple[str, str]]:
    """Describe a run's system as pairs of a name and a text."""
    system = run.schedule.system
    kinds = zip(system.resources, system.total.tolist(), strict=True)
    nodes = "one pool" if system.num_nodes == 1 else f"{system.num_nodes:,}"
    overrun = {"kill": "jobs are killed", "extend": "jobs run on"}
    return [
        ("system", system.title or system.name),
        ("nodes", nodes),
        *((kind, memory(total) if kind == "mem" else f"{total:,}") for kind, total in kinds),
        ("queues", ", ".join(system.queues) or "one, unnamed"),
        ("at the requested time", overrun.get(run.schedule.overrun, run.schedule.overrun)),
    ]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _left_out(run: SavedRun) -> Iterator[str]:
    """Yield a sentence for each part of a log that is not simulated."""
    counts = run.summary["counts"]
    excluded = counts["set_aside"]
    jobs = counts["in_log"] - sum(excluded.values())
    yield f"{counted(jobs, 'job')}, {counts['simulated']:,} simulated."
    for reason, number in excluded.items():
        yield f"Excluded: {counted(number, 'row')} of the whole log ({reason})."
    for reason, number in counts["rejected_because"].items():
        yield f"Rejected, because they can never run here: {number:,} ({reason})."
    for reason, number in counts.get("never_started_because", {}).items():
        yield f"Never started: {number:,} ({reason})."


def _remarks(table: ResultsTable, case: Case, run: SavedRun) -> Iterator[str]:
    """Yield a sentence for whatever limits what may be concluded."""
    results = [table.repetitions[key][0] for key in case.runs]
    for predictor, note in {of.predictor: of.not_a_forecast for of in results}.items():
        if note:
            yield f"Not a forecast: {predictor} {note}."
    for note in solver_notes((of.dispatcher, of.decisions) for of in results):
        yield _sentence(note)
    if assumed := run.summary["counts"].get("requested_time_assumed"):
        number = counted(assumed, "job")
        yield f"{number} had no requested time. The default was assumed."
    if mixed := mixed_allocators(
        (of.dispatcher, of.dispatcher_spec, of.allocator) for of in results
    ):
        yield _sentence(mixed)
