"""The kinds of figures of a run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cpsched.errors import ConfigError
from cpsched.report.figures.data import busiest
from cpsched.report.figures.data import read as run_data
from cpsched.report.figures.lines import draw_by_size, draw_distributions, draw_over_time
from cpsched.report.figures.looks import Look
from cpsched.report.figures.nodes import draw_waits
from cpsched.report.figures.style import save, styled

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from cpsched.report.figures.data import RunData
    from cpsched.simulation.simulate import Run


def wait(run: Run) -> Figure:
    """Return a figure of the wait at each percentile of the jobs."""
    data = _data(run)
    return _drawn(lambda: draw_distributions([data], lambda of: of.wait, "wait", is_wait=True))


def slowdown(run: Run) -> Figure:
    """Return a figure of the bounded slowdown at each percentile of the jobs."""
    data = _data(run)
    label = "bounded slowdown"
    return _drawn(lambda: draw_distributions([data], lambda of: of.slowdown, label, is_wait=False))


def size(run: Run) -> Figure:
    """Return a figure of mean waits by the cores of a job."""
    data = _data(run)
    return _drawn(lambda: draw_by_size([data]))


def queue(run: Run) -> Figure:
    """Return a figure of the number of waiting jobs over time."""
    data = _data(run)
    return _drawn(lambda: draw_over_time([data], lambda of: of.queue_over_time, "waiting jobs"))


def use(run: Run, resource: str = "core") -> Figure:
    """Return a figure of the share of a resource type in use over time."""
    data = _data(run)
    if resource not in data.use:
        raise ConfigError(
            f"no job used '{resource}'. Resources in use: {', '.join(data.use) or 'none'}",
            key="resource",
        )
    label = f"{resource} utilization"
    return _drawn(lambda: draw_over_time([data], lambda of: of.use[resource], label, is_share=True))


def schedule(run: Run) -> Figure:
    """
    Return a figure of the nodes on the day with the longest queue, coloured by the waits of jobs.
    """
    day = busiest(run.schedule)
    if day is None:
        raise ConfigError("there is nothing to draw: no job ran", key="plot")
    return _drawn(lambda: draw_waits(run.schedule, day))


def _data(run: Run) -> RunData:
    data = run_data(run, Look(name=run.dispatcher))
    if not len(data.wait.values):
        raise ConfigError("there is nothing to draw: no job ran", key="plot")
    return data


def _drawn(draw: Callable[[], Figure]) -> Figure:
    with styled("plot"):
        figure = draw()
    # A notebook shows it, whether or not pyplot is used there.
    setattr(figure, "_repr_png_", partial(_png, figure))  # noqa: B010 -- no attribute of a figure
    return figure


def _png(figure: Figure) -> bytes:
    with styled("notebook"):
        return save(figure, "png")
