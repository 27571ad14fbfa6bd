"""The kinds of figures of a run: pictures of the report, of a single run."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cpsched.errors import ConfigError
from cpsched.report.figures.data import busiest
from cpsched.report.figures.data import read as run_data
from cpsched.report.figures.looks import looks
from cpsched.report.figures.pictures import of_jobs, of_schedule
from cpsched.report.figures.style import save, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cpsched.report.figures.pictures import Picture
    from cpsched.simulation.simulate import Run


def wait(run: Run) -> Figure:
    """Return the longest wait of the jobs up to each percentile."""
    return _of_jobs(run, "waits of all jobs")


def slowdown(run: Run) -> Figure:
    """Return the largest bounded slowdown of the jobs up to each percentile."""
    return _of_jobs(run, "bounded slowdowns of all jobs")


def size(run: Run) -> Figure:
    """Return mean waits by the cores that jobs held."""
    return _of_jobs(run, "wait against job size")


def queue(run: Run) -> Figure:
    """Return the number of waiting jobs over time."""
    return _of_jobs(run, "queue over time")


def use(run: Run, resource: str = "core") -> Figure:
    """Return the share of a resource that jobs held over time."""
    return _of_jobs(run, " utilization over time", resource)


def schedule(run: Run) -> Figure:
    """Return the nodes on the day with the longest queue; colours say how long jobs had waited."""
    day = busiest(run.schedule)
    return _drawn(None if day is None else of_schedule(run.dispatcher, run.schedule, day))


def _of_jobs(run: Run, title: str, resource: str = "") -> Figure:
    """Return the first picture whose title ends so, of the use of one resource at most."""
    who = run.dispatcher, run.predictor
    data = run_data(run, looks([who])[who])
    if resource and resource not in data.use:
        raise ConfigError(
            f"no job used '{resource}'; used were {', '.join(data.use) or 'none'}", key="resource"
        )
    data = replace(data, use={kind: one for kind, one in data.use.items() if kind == resource})
    return _drawn(next((one for one in of_jobs([data]) if one.title.endswith(title)), None))


def _drawn(picture: Picture | None) -> Figure:
    if picture is None:
        raise ConfigError("there is nothing to draw: no job ran", key="plot")
    with styled(picture.title):
        figure = picture.draw()
        figure.suptitle(picture.title[:1].upper() + picture.title[1:], x=0.01, ha="left")
    # A notebook shows it, whether or not pyplot is used there.
    setattr(figure, "_repr_png_", partial(_png, figure))  # noqa: B010 -- no attribute of a figure
    return figure


def _png(figure: Figure) -> bytes:
    with styled("notebook"):
        return save(figure, "png")
