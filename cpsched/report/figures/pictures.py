"""The figures of a workload on a system, with captions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cpsched.report.figures import bars, nodes
from cpsched.report.figures.lines import Runs, draw_by_size, draw_distributions, draw_over_time
from cpsched.report.figures.looks import MOST
from cpsched.report.figures.style import save, styled
from cpsched.report.figures.tradeoff import draw_tradeoff, front
from cpsched.study.folder import slug
from cpsched.util.words import counted, duration

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from matplotlib.figure import Figure

    from cpsched.metrics.window import Window
    from cpsched.model.schedule import Schedule
    from cpsched.report.figures.bars import Change
    from cpsched.report.figures.data import RunData
    from cpsched.report.figures.tradeoff import Point

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
        For readers; the caption says what is left out.
    alt
        What it shows, in a sentence for screen readers.
    content
        Of its files, by form: ``svg``, ``png``, ``pdf``.
    """

    name: str
    title: str
    caption: str
    alt: str
    content: Mapping[str, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """
    A figure before it is drawn.

    Attributes
    ----------
    title, caption, alt
        As of :class:`FigureFile`.
    """

    title: str
    caption: str
    alt: str
    draw: Callable[[], Figure]

    def file(self, place: str, forms: Collection[str]) -> FigureFile:
        """
        Return it drawn.

        Parameters
        ----------
        place
            ``workload on system``, for the file's name.
        forms
            Any of ``svg``, ``png`` and ``pdf``.

        Raises
        ------
        ConfigError
            If matplotlib is not installed.
        """
        name = slug(f"{place} {self.title}")
        with styled(name):
            drawn = self.draw()
            content = {form: save(drawn, form) for form in forms}
        return FigureFile(
            name=name, title=self.title, caption=self.caption, alt=self.alt, content=content
        )


def of_tradeoff(points: Sequence[Point]) -> Picture:
    """Return the picture of quality against the tail."""
    best = front([one for one in points if one.is_real] or points)
    told = "; ".join(
        f"{one.look.label}: slowdown {one.slowdown.mean:,.2f}, p99.9 wait {duration(one.tail.mean)}"
        for one in best
    )
    caption = (
        "Points further down and left are better. The dotted line joins the runs that no other run"
        " beats in both figures. One job in a thousand waits longer than the p99.9 wait, which"
        " depends less on chance than the longest wait. Slowdown is what most users notice;"
        " area-weighted response hardly differs between dispatchers that keep the system busy."
    )
    if any(one.slowdown.low is not None for one in points):
        caption += " Bars are 95 % intervals of the repetitions."
    if not all(one.is_real for one in points):
        caption += " Hollow points know the actual runtimes."
    return Picture(
        title="slowdown against the longest waits",
        caption=caption,
        alt=f"Mean bounded slowdown against p99.9 wait, {len(points)} runs. On the front: {told}.",
        draw=lambda: draw_tradeoff(points),
    )


def of_changes(who: str, kinds: Mapping[str, Sequence[Change]]) -> Picture:
    """Return who gains and who loses under a run."""
    every = [(one.seconds.mean, kind, one.group) for kind, some in kinds.items() for one in some]
    said = " and ".join(
        f"{kind} {group} waits {duration(abs(by))} {'less' if by < 0 else 'more'} a job"
        for by, kind, group in dict.fromkeys((min(every), max(every)))
    )
    sure = any(one.seconds.low is not None for some in kinds.values() for one in some)
    return Picture(
        title=f"who gains and who loses under {who}",
        caption="Change of the mean wait of a group's jobs against the baseline. Of many groups,"
        " those with the largest total change are shown. Grey: not significant."
        + (" Lines are 95 % intervals." if sure else ""),
        alt=f"Changes of mean waits under {who}: {said}.",
        draw=lambda: bars.draw_changes(kinds),
    )


def of_schedule(who: str, schedule: Schedule, window: Window) -> Picture:
    """Return the chart of a schedule within a window: waits on the nodes."""
    held = schedule.segments
    inside = (held.start < window.end) & (held.end > window.start)
    number = counted(len(set(held.job[inside].tolist())), "job")
    return Picture(
        title=f"nodes under {who}",
        caption="Each rectangle is a job on the nodes it held, darker the longer it had waited"
        " (grey: less than a minute), on the day with the longest queue. The log does not record"
        " which cores of a node a job held; the cores shown are an assumption.",
        alt=f"Gantt chart of the busiest day under {who}: {number} on the nodes they held.",
        draw=lambda: nodes.draw_waits(schedule, window),
    )


def of_jobs(runs: Sequence[RunData]) -> Iterator[Picture]:
    """
    Yield the figures of the jobs and of the machine, in reading order.

    Parameters
    ----------
    runs
        One repetition of each dispatcher and predictor, the most important first: a chart names
        only so many, and the others are grey.
    """
    grey = runs[MOST:]
    others = f" Grey: {len(grey)} more runs." if grey else ""
    ended = Runs([run for run in runs if len(run.wait.values)], grey)
    if ended.every:
        yield Picture(
            title="waits of all jobs",
            caption="The longest wait of the jobs up to each percentile; the right half is the"
            f" tail. Each name has its longest wait.{others}",
            alt="Waits by percentile. "
            + _told(ended.every, "longest wait", lambda run: run.wait.values[-1]),
            draw=lambda: draw_distributions(ended, lambda run: run.wait, "wait", spans=True),
        )
        yield Picture(
            title="bounded slowdowns of all jobs",
            caption="The same for the bounded slowdown; 1 is a job that did not wait. Each"
            f" name has its largest.{others}",
            alt="Bounded slowdowns by percentile. "
            + _told(ended.every, "largest", lambda run: run.slowdown.values[-1], spans=False),
            draw=lambda: draw_distributions(ended, lambda run: run.slowdown, "bounded slowdown"),
        )
    yield from _over_time(runs, grey, others)
    if any(len(run.by_size.cores) > 1 for run in runs):
        largest = [run for run in runs if len(run.by_size.wait)]
        yield Picture(
            title="wait against job size",
            caption="Mean waits of all jobs by the cores they held, in classes of doubling"
            f" width.{others}",
            alt="Mean wait by cores held. "
            + _told(largest, "of the largest jobs", lambda run: run.by_size.wait[-1]),
            draw=lambda: draw_by_size(Runs(runs, grey)),
        )


def _over_time(runs: Sequence[RunData], grey: Sequence[RunData], others: str) -> Iterator[Picture]:
    """Yield the queue, and the use of each resource."""
    queued = Runs([run for run in runs if run.queue_over_time is not None], grey)
    averaged = _averaged(runs)
    if queued.every:
        yield Picture(
            title="queue over time",
            caption=f"Waiting jobs, {averaged}; each name has its mean.{others}",
            alt="Waiting jobs over time. "
            + _told(
                queued.every,
                "highest",
                lambda run: run.queue_over_time.values.max(),  # type: ignore[union-attr]
                spans=False,
            ),
            draw=lambda: draw_over_time(queued, lambda run: run.queue_over_time, "waiting jobs"),
        )
    for resource in dict.fromkeys(name for run in runs for name in run.use):
        using = Runs([run for run in runs if resource in run.use], grey)
        yield _of_use(using, resource, averaged, others)


def _of_use(runs: Runs, resource: str, averaged: str, others: str) -> Picture:
    named = _NAMES.get(resource, resource)
    several = f"{named}s" if named == "core" else named
    told = ", ".join(
        f"{run.look.name} {100 * float(run.use[resource].values.mean()):.0f} %"
        for run in runs.every
    )
    return Picture(
        title=f"{named} utilization over time",
        caption=f"Share of the system's {several} that jobs held, {averaged}; each name has"
        f" its mean.{others}",
        alt=f"Share of {named} in use over time; means: {told}.",
        draw=lambda: draw_over_time(
            runs, lambda run: run.use.get(resource), f"{several} in use", share=True
        ),
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
