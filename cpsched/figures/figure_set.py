"""The figures of a workload on a system, with captions that say what they leave out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from cpsched.figures import draw_boxes, draw_gantt, draw_places, draw_solver, draw_time
from cpsched.figures.draw_boxes import Panel
from cpsched.figures.style import save, styled
from cpsched.metrics.jobs import CLASSES
from cpsched.model.topology import box_text
from cpsched.study.names import slug
from cpsched.words import clock, duration

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from matplotlib.figure import Figure

    from cpsched.figures.data import RunData
    from cpsched.metrics.window import Window
    from cpsched.model.schedule import Schedule

_BOX = (
    "Whiskers end at the smallest and the largest value, the box holds the middle half, the line in"
    " it is the median and the green triangle the mean."
)
_NAMES = {"gpu": "GPU", "mic": "MIC", "mem": "memory"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureFile:
    """
    A figure.

    Attributes
    ----------
    name
        Of its file, without the ending.
    title, caption
        For people; the caption says what is left out.
    content
        Of its files, by form: ``svg``, ``png``, ``pdf``.
    """

    name: str
    title: str
    caption: str
    content: Mapping[str, bytes]


def draw(place: str, runs: Sequence[RunData], forms: Collection[str]) -> Iterator[FigureFile]:
    """
    Yield the figures of the runs of one workload on one system, in reading order.

    Parameters
    ----------
    place
        ``workload on system``, for the files' names.
    runs
        One repetition of each dispatcher and predictor.
    forms
        Any of ``svg``, ``png`` and ``pdf``.

    Raises
    ------
    ConfigError
        If matplotlib is not installed.
    """
    for title, caption, figure in _figures(runs):
        yield _file(place, title, caption, forms, figure)


def draw_schedule(
    place: str, who: str, schedule: Schedule, window: Window, forms: Collection[str]
) -> Iterator[FigureFile]:
    """
    Yield the charts of a schedule within a window.

    Waits on the nodes; where nodes are places, also where the jobs lie, and of a torus its slices.
    """
    title = f"nodes under {who}"
    caption = (
        "Each rectangle is a job on the nodes it held, darker the longer it had waited (grey: less"
        " than a minute), on the day with the longest queue. Which cores of a node a job held is"
        " not recorded; those it is drawn on are an assumption."
    )
    yield _file(place, title, caption, forms, lambda: draw_gantt.draw(schedule, window))
    system = schedule.system
    if system.is_counted_pool or system.num_nodes == 1:
        return
    told = "Pale jobs are compact; the others lie further apart than they need to."
    title = f"places under {who}"
    words = system.topology.group_words[1]
    apart = f" White lines are between {words}." if system.topology.num_levels > 1 else ""
    order = " in the order of the torus" if system.topology.sides else ""
    caption = f"Nodes{order} over the same day, one colour a job. {told}{apart}"
    yield _file(place, title, caption, forms, lambda: draw_places.draw(schedule, window))
    if system.topology.sides:
        second = draw_places.busiest_second(schedule, window)
        title = f"torus under {who}"
        caption = (
            f"The torus of {box_text(system.topology.sides)} nodes cut into slices along its last"
            f" side, at {clock(second, schedule.workload.epoch)}, when most of it is in use on that"
            f" day; one colour a job. {told}"
        )
        yield _file(place, title, caption, forms, lambda: draw_places.draw_torus(schedule, second))


def _file(
    place: str, title: str, caption: str, forms: Collection[str], figure: Callable[[], Figure]
) -> FigureFile:
    name = slug(f"{place} {title}")
    with styled(name):
        drawn = figure()
        content = {form: save(drawn, form) for form in forms}
    return FigureFile(name=name, title=title, caption=caption, content=content)


def _figures(runs: Sequence[RunData]) -> Iterator[tuple[str, str, Callable[[], Figure]]]:
    left_out = excluded(runs)
    yield (
        "slowdown",
        f"{_BOX} Jobs with slowdown 1, which never waited, are left out: {left_out}",
        lambda: draw_boxes.draw(runs, [_slowdown("all", "all jobs that waited", runs)]),
    )
    waited = [name for name in CLASSES if any(run.slowdown[name] is not None for run in runs)]
    nobody = " and ".join(name for name in CLASSES if name not in waited)
    yield (
        "slowdown by length",
        f"By the time the jobs ran. {_BOX} Jobs with slowdown 1 are left out: {left_out}"
        + (f" There are none of {nobody} jobs: none waited, or none ran." if nobody else ""),
        lambda: draw_boxes.draw(
            runs, [_slowdown(name, f"{name}: {CLASSES[name]}", runs) for name in waited or CLASSES]
        ),
    )
    yield (
        "waiting times",
        f"{_BOX} Jobs that never waited (wait 0) are left out: {left_out} The dashed line is the"
        " trend of the average over all jobs, those that never waited too.",
        lambda: draw_boxes.draw(runs, [_waits(runs)]),
    )
    yield (
        "queue size at every second",
        f"Waiting jobs at every second from the first submit to the last end. {_BOX}",
        lambda: draw_boxes.draw(
            runs, [Panel(title="", label="waiting jobs", boxes=[r.queue for r in runs], zero=True)]
        ),
    )
    yield (
        "queue over time",
        f"Waiting jobs, {_averaged(runs)}.",
        lambda: draw_time.draw(runs, lambda run: run.queue_over_time, "waiting jobs"),
    )
    for resource in dict.fromkeys(name for run in runs for name in run.use):
        named = _NAMES.get(resource, resource)
        yield (
            f"{named} use over time",
            f"Share of the machine that jobs held, {_averaged(runs)}.",
            partial(_use, runs, resource, f"{named} in use"),
        )
    if any(len(run.by_size.cores) > 1 for run in runs):
        yield (
            "wait against job size",
            "Mean waits of all jobs by the cores they held, in classes of doubling width.",
            lambda: draw_time.draw_by_size(runs),
        )
    if any(run.decision_s is not None for run in runs):
        yield (
            "cost of decisions",
            "Wall-clock time of the dispatcher's decisions: it differs from run to run. "
            + _gap_caption(runs),
            lambda: draw_solver.draw(runs),
        )


def excluded(runs: Sequence[RunData]) -> str:
    """Say what share of the jobs box plots leave out."""
    shares = [100 * run.excluded for run in runs]
    low, high = min(shares), max(shares)
    share = f"{low:.1f} to {high:.1f} %" if high - low >= 0.1 else f"{low:.1f} %"
    return f"{share} of all jobs that ended."


def _use(runs: Sequence[RunData], resource: str, label: str) -> Figure:
    return draw_time.draw(runs, lambda run: run.use.get(resource), label, share=True)


def _slowdown(group: str, title: str, runs: Sequence[RunData]) -> Panel:
    return Panel(title=title, label="slowdown", boxes=[run.slowdown[group] for run in runs])


def _waits(runs: Sequence[RunData]) -> Panel:
    return Panel(
        title="",
        label="wait",
        boxes=[run.wait for run in runs],
        spans=True,
        trend=[run.mean_wait for run in runs],
    )


def _averaged(runs: Sequence[RunData]) -> str:
    line = next((run.queue_over_time for run in runs if run.queue_over_time is not None), None)
    if line is None:
        return "averaged"
    seconds = float(line.edges[1] - line.edges[0])
    return f"averaged over {duration(seconds)} at a time"


def _gap_caption(runs: Sequence[RunData]) -> str:
    if all(run.gap is None for run in runs):
        return ""
    return (
        "The gap is how much of the delay of the plan followed might be saved at most,"
        " (value - bound) / value."
    )
