"""
Interactive Gantt charts of two schedules on one time axis, made with Bokeh.

Of a large schedule the page has the part with the longest queue.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.errors import ConfigError
from cpsched.metrics.columns import job_placements
from cpsched.metrics.nominal import nominal
from cpsched.metrics.steps import waiting
from cpsched.metrics.waits import began
from cpsched.metrics.window import busy_window
from cpsched.model.schedule import JobOutcome
from cpsched.report.figures.data import DAY, busiest, means
from cpsched.report.figures.nodes import Rows, num_rectangles, place, wait_class
from cpsched.report.figures.style import BEHIND, WAITS
from cpsched.util.types import MISSING
from cpsched.util.words import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.metrics.window import Window
    from cpsched.model.schedule import Schedule, Segments
    from cpsched.report.figures.nodes import Rectangles
    from cpsched.util.types import AnyArray, BoolArray, FloatArray, IntArray

#: Points of the line of the queue, at most.
_POINTS = 600
#: Lengths of the part of a schedule that has too many rectangles, seconds.
_LENGTHS = (28 * DAY, 14 * DAY, 7 * DAY, 3 * DAY, DAY, DAY // 4, DAY // 24)
#: Longer texts are cut: names from logs may be of any length.
_LONGEST = 60
#: Lines of the queue of the upper and the lower schedule, seen on a light and on a dark page.
QUEUES = (BEHIND, "#d9701a")
#: Bokeh numbers its models from wherever it is: a number in its JSON, never one in a text.
_MODEL = re.compile(r'("(?:id|root_id)":)"p(\d+)"')
_SIDES = ("left", "right", "bottom", "top")
_MOMENTS, _SPANS = ("submitted", "started", "ended"), ("waited", "ran", "requested", "predicted")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSchedule:
    """
    A schedule as the page shows it.

    Attributes
    ----------
    name
        Of its run.
    columns
        Of its rectangles.
    queue
        Times and lengths of its queue.
    window
        From when to when, in units of the axis.
    height
        Of all nodes.
    nodes
        Their names, where each has the height 1.
    has_dates
        Whether the axis has dates, or hours since the start of the log.
    """

    name: str
    columns: dict[str, Any]
    queue: tuple[AnyArray, AnyArray]
    window: tuple[float, float]
    height: float
    nodes: list[str]
    has_dates: bool


def script() -> str:
    """
    Return BokehJS as text to go into the page.

    Raises
    ------
    ConfigError
        If Bokeh, or something it needs, is not installed.
    """
    try:
        # What the charts import, so that a missing module is reported here in one line.
        import bokeh.embed
        import bokeh.plotting  # noqa: F401
        from bokeh.resources import Resources
    except ImportError as error:
        raise ConfigError(
            f"the report needs bokeh ({error}). Install it with: pip install 'cpsched[plots]'"
        ) from error
    return "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)


def packed(text: str) -> str:
    """Return text deflated, in base64: data that a page unpacks when it has time."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def charts(schedules: Sequence[ShownSchedule]) -> str:
    """Return charts of some schedules of a case as JSON for BokehJS; two of them are visible."""
    from bokeh.embed import json_item
    from bokeh.layouts import column
    from bokeh.models import ColumnDataSource, Range1d

    start = min(shown.window[0] for shown in schedules)
    end = max(shown.window[1] for shown in schedules)
    x_range = Range1d(start=start, end=end, bounds=(start, end))
    y_range = Range1d(start=max(shown.height for shown in schedules), end=0)
    sources = [ColumnDataSource(shown.columns) for shown in schedules]
    sides = range(min(2, len(schedules)))
    plots = [_gantt(side, schedules, sources, x_range, y_range) for side in sides]
    plots.append(_queues(schedules, sides, x_range, Range1d(start=start, end=end)))
    item = json_item(column(plots, sizing_mode="stretch_width"))
    text = json.dumps(item, ensure_ascii=False, separators=(",", ":"))
    lowest = min(int(number) for _, number in _MODEL.findall(text))
    return _MODEL.sub(lambda match: f'{match[1]}"p{int(match[2]) - lowest}"', text)


def _figure(has_dates: bool, **settings: Any) -> Any:
    """Return an empty chart; the page shows through, and its style has the colours of text."""
    from bokeh.models import AdaptiveTicker, DatetimeTickFormatter
    from bokeh.plotting import figure

    chart: Any = figure(
        sizing_mode="stretch_width",
        x_axis_type="datetime" if has_dates else "linear",
        tools=[],
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=None,
        min_border_left=70,
        **settings,
    )
    if has_dates:
        chart.xaxis.formatter = DatetimeTickFormatter(
            minutes="%H:%M", hourmin="%H:%M", hours="%H:%M", days="%d %b", months="%b %Y"
        )
    else:
        chart.xaxis.ticker = AdaptiveTicker(base=24, mantissas=[1, 2, 3, 6, 12])
        chart.xaxis.axis_label = "hours since the start of the log"
    # More labels would overlap on a phone.
    chart.xaxis.ticker.desired_num_ticks = 4
    return chart


def _gantt(
    side: int,
    schedules: Sequence[ShownSchedule],
    sources: Sequence[Any],
    x_range: Any,
    y_range: Any,
) -> Any:
    from bokeh.models import (
        BoxZoomTool,
        HoverTool,
        LinearColorMapper,
        PanTool,
        ResetTool,
        SaveTool,
        TapTool,
        WheelZoomTool,
    )

    has_dates = schedules[0].has_dates
    chart: Any = _figure(
        has_dates, height=320, x_range=x_range, y_range=y_range, toolbar_location="above",
        lod_threshold=None, y_axis_label="nodes" if schedules[0].nodes else "cores",
    )  # fmt: skip
    colours = LinearColorMapper(
        palette=[colour for _, colour, _ in WAITS], low=-0.5, high=len(WAITS) - 0.5
    )
    jobs: list[Any] = []
    for at, source in enumerate(sources):
        is_visible = {"visible": at == side, "name": f"{side} run{at}"}
        fill = {"field": "wait", "transform": colours}
        jobs.append(
            chart.quad(
                **{edge: edge for edge in _SIDES}, fill_color=fill, line_color=fill,
                line_width=0.5, nonselection_alpha=0.15, source=source, **is_visible,
            )
        )  # fmt: skip
    form = "{%F %T}" if has_dates else "{0.00} h"
    tips = [
        *((name, f"@{name}") for name in ("job", "user", "queue", "name", "outcome", "nodes")),
        *((name, f"@{name}{form}") for name in _MOMENTS),
        *((name, f"@{name}{{00:00:00}}") for name in _SPANS),
        ("cores", "@cores{0,0}"),
    ]
    dates: Any = {f"@{name}": "datetime" for name in _MOMENTS} if has_dates else {}
    zoom = BoxZoomTool(dimensions="width")
    chart.add_tools(
        zoom,
        PanTool(dimensions="width"),
        WheelZoomTool(dimensions="width", modifiers={"ctrl": True}),
        TapTool(renderers=jobs),
        ResetTool(),
        SaveTool(),
        HoverTool(renderers=jobs, tooltips=tips, formatters=dates),
    )
    chart.toolbar.active_drag = zoom
    chart.toolbar.logo = None
    nodes = max((shown.nodes for shown in schedules), key=len)
    chart.yaxis.major_label_overrides = dict(enumerate(nodes))
    return chart


def _queues(
    schedules: Sequence[ShownSchedule], sides: Sequence[int], x_range: Any, whole_range: Any
) -> Any:
    """Return the queues of the schedules, with a window that moves the charts above."""
    from bokeh.models import BasicTicker, RangeTool

    chart: Any = _figure(
        schedules[0].has_dates, height=130, x_range=whole_range, toolbar_location=None,
        y_axis_label="queue",
    )  # fmt: skip
    for side in sides:
        for at, shown in enumerate(schedules):
            times, lengths = shown.queue
            chart.step(
                times, lengths, mode="after", line_width=1.5, line_color=QUEUES[side],
                visible=at == side, name=f"{side} run{at}",
            )  # fmt: skip
    tool = RangeTool(x_range=x_range)
    tool.overlay.fill_color = "#e69f00"
    tool.overlay.fill_alpha = 0.2
    chart.add_tools(tool)
    chart.y_range.start = 0
    chart.y_range.only_visible = True
    chart.yaxis.ticker = BasicTicker(desired_num_ticks=3)
    return chart


def shown_window(schedule: Schedule, budget: int) -> Window | None:
    """
    Return the part of a schedule that the page shows: all of it, or its busiest weeks or days.

    Parameters
    ----------
    budget
        Most rectangles.

    Returns
    -------
    Window or None
        None if no job ran.
    """
    window = busy_window(schedule)
    cost, segments = num_rectangles(schedule), schedule.segments
    for length in _LENGTHS:
        if window is None or cost[_inside(segments, window)].sum() <= budget:
            break
        window = busiest(schedule, length)
    return window


def shown_schedule(name: str, schedule: Schedule, window: Window) -> ShownSchedule:
    """Return the part of a schedule that the page shows, within a window."""
    rows = Rows.of(schedule)
    boxes = place(schedule, rows, np.flatnonzero(_inside(schedule.segments, window)))
    schedule.let_go()
    epoch = schedule.workload.epoch
    queue = means(waiting(schedule), window, epoch, _POINTS)
    schedule.let_go()
    names = schedule.system.node_names if rows.unit == "node" else ()
    start, end = _on_axis(np.array(window), epoch).tolist()
    return ShownSchedule(
        name=name,
        columns=_columns(schedule, boxes, epoch),
        queue=(_on_axis(queue.edges, epoch), np.append(queue.values, queue.values[-1])),
        window=(start, end),
        height=rows.height,
        nodes=[_cut(node) for node in names],
        has_dates=epoch is not None,
    )


def _inside(segments: Segments, window: Window) -> BoolArray:
    inside: BoolArray = (segments.start < window.end) & (segments.end > window.start)
    return inside


def _on_axis(seconds: AnyArray, epoch: int | None) -> FloatArray:
    """Return seconds as Bokeh's axes have them: milliseconds since 1970, or hours."""
    values: FloatArray = seconds / 3600 if epoch is None else (seconds + float(epoch)) * 1000
    return values


def _columns(schedule: Schedule, boxes: Rectangles, epoch: int | None) -> dict[str, Any]:
    """Return the rectangles, and what there is to read of the job of each."""
    workload = schedule.workload
    chosen, index = np.unique(boxes.job, return_inverse=True)
    few = _only(schedule, chosen)
    where = ["one pool"] * len(chosen)
    if schedule.system.num_nodes > 1:
        # As jobs.parquet has them.
        where = job_placements(few)[1].to_pylist()
    outcomes = {item.value: item.name.lower().replace("_", " ") for item in JobOutcome}
    texts = {
        "job": workload.job_id[chosen].tolist(),
        **{
            key: [label or "" for label in getattr(workload, key).take(chosen).decode()]
            for key in ("user", "queue", "name")
        },
        "outcome": [outcomes[code] for code in schedule.outcome[chosen].tolist()],
        "nodes": where,
    }
    submit, start, end = (of[chosen] for of in (workload.submit, began(schedule), schedule.end))
    numbers = {
        "waited": start - submit,
        "ran": np.where(end == MISSING, MISSING, end - start),
        "requested": workload.requested_time[chosen],
        "predicted": schedule.runtime_estimate[chosen],
        "cores": nominal(few).width,
    }
    moments = {
        name: np.where(of == MISSING, np.nan, _on_axis(of, epoch))
        for name, of in zip(_MOMENTS, (submit, start, end), strict=True)
    }
    by_job = {
        name: np.array([_cut(text) for text in of], dtype=object) for name, of in texts.items()
    }
    most = np.iinfo(np.int32).max
    by_job |= {name: np.minimum(of, most).astype(np.int32) for name, of in numbers.items()}
    by_job |= moments
    return {
        "left": _on_axis(boxes.start, epoch),
        "right": _on_axis(boxes.end, epoch),
        # The axis points down.
        "bottom": boxes.high.astype(np.float32),
        "top": boxes.low.astype(np.float32),
        "wait": wait_class(start - submit)[index].astype(np.uint8),
        **{name: values[index] for name, values in by_job.items()},
    }


def _only(schedule: Schedule, chosen: IntArray) -> Schedule:
    """Return the nodes and times of some jobs of a schedule, in order, without outcomes."""
    rows = np.flatnonzero(np.isin(schedule.segments.job, chosen))
    own = schedule.segments.take(rows)
    return replace(
        schedule,
        workload=schedule.workload.take(chosen),
        start=schedule.start[chosen],
        end=schedule.end[chosen],
        segments=replace(own, job=np.searchsorted(chosen, own.job)),
    )


def _cut(text: str) -> str:
    text = visible(str(text))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
