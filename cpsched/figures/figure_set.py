"""The figures of a workload on a system, each drawn wide and narrow, with captions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from cpsched.base.words import clock, counted, duration, ratio
from cpsched.figures import (
    draw_curves,
    draw_gains,
    draw_gantt,
    draw_places,
    draw_relative,
    draw_solver,
    draw_time,
    draw_tradeoff,
)
from cpsched.figures.looks import MOST
from cpsched.figures.style import NARROW, WIDE, save, styled
from cpsched.study.folder import slug

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from matplotlib.figure import Figure

    from cpsched.figures.data import RunData
    from cpsched.figures.draw_gains import Change
    from cpsched.figures.draw_relative import Ratio
    from cpsched.figures.draw_tradeoff import Point
    from cpsched.figures.looks import Look
    from cpsched.metrics.window import Window
    from cpsched.model.schedule import Schedule

_NAMES = {"gpu": "GPU", "mic": "MIC", "mem": "memory"}
#: Inches of a figure that stands beside text.
_BESIDE = 6.4


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureFile:
    """
    A figure.

    Attributes
    ----------
    name
        Of its file, without the ending.
    title, caption
        For readers; the caption says what is left out.
    alt
        What it shows, in a sentence for screen readers.
    content
        Of its files, by form: ``svg``, ``png``, ``pdf``.
    narrow
        The same as SVG for a narrow screen; None where it has no such form.
    """

    name: str
    title: str
    caption: str
    alt: str
    content: Mapping[str, bytes]
    narrow: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """A figure before it is drawn; ``draw`` takes a width in inches."""

    title: str
    caption: str
    alt: str
    draw: Callable[[float], Figure]
    width: float = WIDE


def draw(place: str, runs: Sequence[RunData], forms: Collection[str]) -> dict[str, FigureFile]:
    """
    Return the figures of the runs of one workload on one system, by title, in reading order.

    Parameters
    ----------
    place
        ``workload on system``, for the files' names.
    runs
        One repetition of each dispatcher and predictor, the most important first: a chart names
        only so many, and the others are grey.
    forms
        Any of ``svg``, ``png`` and ``pdf``.

    Raises
    ------
    ConfigError
        If matplotlib is not installed.
    """
    return {plan.title: _file(place, plan, forms) for plan in _over_jobs(runs)}


def draw_tradeoffs(place: str, points: Sequence[Point], forms: Collection[str]) -> FigureFile:
    """Return the picture of quality against the tail."""
    best = draw_tradeoff.front([one for one in points if one.is_real] or points)
    told = "; ".join(
        f"{one.look.label}: slowdown {one.slowdown.mean:,.2f}, p99.9 wait {duration(one.tail.mean)}"
        for one in best
    )
    caption = (
        "Points further down and left are better. The dotted line joins the runs that no other run"
        " beats in both figures. One job in a thousand waits longer than the p99.9 wait, which"
        " depends less on chance than the longest wait. Slowdown is what most users notice;"
        " area-weighted response hardly differs between dispatchers that keep the machine busy."
    )
    if any(one.slowdown.low is not None for one in points):
        caption += " Bars are 95 % intervals of the repetitions."
    if not all(one.is_real for one in points):
        caption += " Hollow points know the actual runtimes."
    plan = _Plan(
        title="slowdown against the longest waits", caption=caption,
        alt=f"Mean bounded slowdown against p99.9 wait, {len(points)} runs. On the front: {told}.",
        draw=lambda width: draw_tradeoff.draw(points, width), width=_BESIDE,
    )  # fmt: skip
    return _file(place, plan, forms)


def draw_ratios(
    place: str,
    looks: Sequence[Look],
    figures: Mapping[str, Sequence[Ratio | None]],
    forms: Collection[str],
) -> FigureFile:
    """Return the bars of leading figures against the baseline."""
    said = []
    for title, ratios in figures.items():
        known = [(one.value, look) for one, look in zip(ratios, looks, strict=True) if one]
        if known:
            least, most = min(known, key=lambda k: k[0]), max(known, key=lambda k: k[0])
            said.append(
                f"{title} from {ratio(least[0])} ({least[1].name}) to {ratio(most[0])}"
                f" ({most[1].name})"
            )
    sure = any(one is not None and one.low is not None for some in figures.values() for one in some)
    caption = (
        "Each run's figures as multiples of its baseline's; a bar to the left is a smaller value."
        + (
            " Lines are 95 % intervals; where one crosses ×1, the difference may be chance."
            if sure
            else ""
        )
    )
    plan = _Plan(
        title="against the baseline", caption=caption,
        alt=f"Ratios to the baseline: {'; '.join(said)}.",
        draw=lambda width: draw_relative.draw(looks, figures, width),
    )  # fmt: skip
    return _file(place, plan, forms)


def draw_changes(
    place: str, who: str, kinds: Mapping[str, Sequence[Change]], forms: Collection[str]
) -> FigureFile:
    """Return who gains and who loses under a run."""
    every = [(one.seconds, kind, one.group) for kind, some in kinds.items() for one in some]
    gain, loss = min(every), max(every)
    said = " and ".join(
        f"{kind} {group} waits {duration(abs(by))} {'less' if by < 0 else 'more'} a job"
        for by, kind, group in dict.fromkeys((gain, loss))
    )
    sure = any(one.low is not None for some in kinds.values() for one in some)
    plan = _Plan(
        title=f"who gains and who loses under {who}",
        caption=(
            "Change of the mean wait of a group's jobs against the baseline. Of many groups, those"
            " with the largest total change are shown."
        )
        + (" Lines are 95 % intervals." if sure else ""),
        alt=f"Changes of mean waits under {who}: {said}.",
        draw=lambda width: draw_gains.draw(kinds, width),
    )
    return _file(place, plan, forms)


def draw_schedule(
    place: str, who: str, schedule: Schedule, window: Window, forms: Collection[str]
) -> Iterator[FigureFile]:
    """
    Yield the charts of a schedule within a window.

    Waits on the nodes; on machines of nodes also the placement of jobs, and for a torus its slices.
    """
    title = f"nodes under {who}"
    caption = (
        "Each rectangle is a job on the nodes it held, darker the longer it had waited (grey: less"
        " than a minute), on the day with the longest queue. The log does not record which cores"
        " of a node a job held; the cores drawn are an assumption."
    )
    held = schedule.segments
    inside = (held.start < window.end) & (held.end > window.start)
    number = counted(len(set(held.job[inside].tolist())), "job")
    alt = f"Gantt chart of the busiest day under {who}: {number} on the nodes they held."
    yield _of_schedule(place, title, caption, alt, forms, lambda: draw_gantt.draw(schedule, window))
    system = schedule.system
    if system.is_counted_pool or system.num_nodes == 1:
        return
    told = "Pale jobs are compact; the others are spread more widely than necessary."
    title = f"placement under {who}"
    words = system.topology.group_words[1]
    apart = f" White lines are between {words}." if system.topology.num_levels > 1 else ""
    order = " in the order of the torus" if system.topology.sides else ""
    caption = f"Nodes{order} over the same day, one colour per job. {told}{apart}"
    alt = f"Nodes held by each of {number} on the busiest day under {who}."
    yield _of_schedule(place, title, caption, alt, forms,
                       lambda: draw_places.draw(schedule, window))  # fmt: skip
    if system.topology.sides:
        second = draw_places.busiest_second(schedule, window)
        title = f"torus under {who}"
        sides = "x".join(map(str, system.topology.sides))
        caption = (
            f"The torus of {sides} nodes cut into slices along its last"
            f" side, at {clock(second, schedule.workload.epoch)}, its busiest time on that day;"
            f" one colour per job. {told}"
        )
        alt = f"Slices of the torus at second {second:,}, its busiest, under {who}."
        yield _of_schedule(place, title, caption, alt, forms,
                           lambda: draw_places.draw_torus(schedule, second))  # fmt: skip


def _of_schedule(
    place: str,
    title: str,
    caption: str,
    alt: str,
    forms: Collection[str],
    figure: Callable[[], Figure],
) -> FigureFile:
    """Return a chart of a schedule, which has one width."""
    name = slug(f"{place} {title}")
    with styled(name):
        drawn = figure()
        content = {form: save(drawn, form) for form in forms}
    return FigureFile(name=name, title=title, caption=caption, alt=alt, content=content)


def _file(place: str, plan: _Plan, forms: Collection[str]) -> FigureFile:
    name = slug(f"{place} {plan.title}")
    with styled(name):
        drawn = plan.draw(plan.width)
        content = {form: save(drawn, form) for form in forms}
    with styled(f"{name} narrow"):
        narrow = save(plan.draw(NARROW), "svg")
    return FigureFile(
        name=name, title=plan.title, caption=plan.caption, alt=plan.alt, content=content,
        narrow=narrow,
    )  # fmt: skip


def _over_jobs(runs: Sequence[RunData]) -> Iterator[_Plan]:
    grey = list(runs[MOST:])
    others = f" Grey: {len(grey)} more runs." if grey else ""
    ended = [run for run in runs if len(run.wait.values)]
    if ended:
        yield _Plan(
            title="waits of all jobs",
            caption=(
                "The longest wait of the jobs up to each percentile; the right half is the tail."
                " Beside each name is its longest wait.{others}"
            ),
            alt="Waits by percentile. "
            + _told(ended, "longest wait", lambda run: run.wait.values[-1]),
            draw=lambda width: draw_curves.draw(
                ended, lambda run: run.wait, "wait", width, spans=True, grey=grey
            ),
        )
        yield _Plan(
            title="bounded slowdowns of all jobs",
            caption="The same for the bounded slowdown; 1 is a job that did not wait. Beside each"
            f" name is its largest.{others}",
            alt="Bounded slowdowns by percentile. "
            + _told(ended, "largest", lambda run: run.slowdown.values[-1], spans=False),
            draw=lambda width: draw_curves.draw(
                ended, lambda run: run.slowdown, "bounded slowdown", width, grey=grey
            ),
        )
    queued = [run for run in runs if run.queue_over_time is not None]
    if queued:
        yield _Plan(
            title="queue over time",
            caption=f"Waiting jobs, {_averaged(runs)}; beside each name is the mean.{others}",
            alt="Waiting jobs over time. "
            + _told(queued, "highest", lambda run: run.queue_over_time.values.max(), spans=False),  # type: ignore[union-attr]
            draw=lambda width: draw_time.draw(
                queued, lambda run: run.queue_over_time, "waiting jobs", width, grey=grey
            ),
        )
    for resource in dict.fromkeys(name for run in runs for name in run.use):
        named = _NAMES.get(resource, resource)
        using = [run for run in runs if resource in run.use]
        means = {run.look.name: 100 * float(run.use[resource].values.mean()) for run in using}
        told = ", ".join(f"{name} {mean:.0f} %" for name, mean in means.items())
        yield _Plan(
            title=f"{named} use over time",
            caption=f"Share of the machine's {named}{'s' if named == 'core' else ''} that jobs"
            f" held, {_averaged(runs)}; beside each name is the mean.{others}",
            alt=f"Share of {named} in use over time; means: {told}.",
            draw=partial(
                _use,
                using,
                resource,
                f"{named}s in use" if named == "core" else f"{named} in use",
                grey,
            ),
        )
    if any(len(run.by_size.cores) > 1 for run in runs):
        largest = [run for run in runs if len(run.by_size.wait)]
        yield _Plan(
            title="wait against job size",
            caption="Mean waits of all jobs by the cores they held, in classes of doubling"
            f" width.{others}",
            alt="Mean wait by cores held. "
            + _told(largest, "of the largest jobs", lambda run: run.by_size.wait[-1]),
            draw=lambda width: draw_time.draw_by_size(runs, width, grey=grey),
        )
    if any(run.decision_s is not None for run in runs):
        yield _Plan(
            title="cost of decisions",
            caption="Wall-clock time of the dispatcher's decisions; it differs from run to run. "
            + _gap_caption(runs),
            alt="Time of a decision. "
            + ", ".join(
                f"{run.look.name}: median {1000 * run.decision_s[0]:.3g} ms, longest"
                f" {1000 * run.decision_s[2]:.3g} ms"
                for run in runs
                if run.decision_s is not None
            ),
            draw=lambda width: draw_solver.draw(runs, width),
        )


def _use(
    runs: Sequence[RunData], resource: str, label: str, grey: Sequence[RunData], width: float
) -> Figure:
    return draw_time.draw(
        runs, lambda run: run.use.get(resource), label, width, share=True, grey=grey
    )


def _told(
    runs: Sequence[RunData], what: str, value: Callable[[RunData], float], *, spans: bool = True
) -> str:
    """Return the least and the largest value of a quantity among runs."""
    ranked = sorted(runs, key=value)
    least, most = ranked[0], ranked[-1]
    shown = [duration(value(one)) if spans else f"{value(one):,.4g}" for one in (least, most)]
    if least is most or value(least) == value(most):
        return f"{what[:1].upper()}{what[1:]}: {shown[0]}."
    return f"Least {what}: {shown[0]} ({least.look.name}); most: {shown[1]} ({most.look.name})."


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
        "The gap is the largest share of the plan's delay that a better plan could save, (value -"
        " bound) / value."
    )
