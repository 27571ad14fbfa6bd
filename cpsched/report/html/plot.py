"""The interactive charts of schedules, made with Bokeh; the page's script fills them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from bokeh.plotting import figure as Figure  # noqa: N812

#: What hovering a job shows: the columns the script makes.
_HOVER = (
    *("job", "user", "queue", "name", "submitted", "started", "ended", "waited", "ran", "asked"),
    *("predicted", "cores", "nodes", "outcome"),
)
#: Milliseconds; something for the axes to show before there is a schedule.
_DAY = 86_400_000
_SIDES = ("left", "right", "bottom", "top")
_COLUMNS = (*_SIDES, "color", *_HOVER)
#: How both kinds of charts look. The page shows through: a white background, once drawn, leaves an
#: edge on a dark page.
_LOOK: dict[str, Any] = {
    "sizing_mode": "stretch_width",
    "x_axis_type": "datetime",
    "tools": [],
    "output_backend": "canvas",
    "background_fill_color": None,
    "border_fill_color": None,
    "outline_line_color": None,
    "min_border_left": 70,
}


def script() -> str:
    """
    Return BokehJS as text to go into the page.

    Raises
    ------
    ConfigError
        If Bokeh, or something it needs, is not installed.
    """
    try:
        # The imports of :func:`document`, so that a missing one is reported here in one line.
        import bokeh.document
        import bokeh.plotting  # noqa: F401
        from bokeh.resources import Resources
    except ImportError as error:
        raise ConfigError(
            f"the report needs bokeh ({error}); install it with: pip install 'cpsched[plots]'"
        ) from error
    return "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)


def document(sides: int) -> dict[str, Any]:
    """Return empty charts of some schedules with the queue below, as BokehJS reads them."""
    from bokeh.document import Document
    from bokeh.models import Range1d

    shown = Range1d(start=0, end=_DAY, name="shown")
    page = Document()
    for at in range(sides):
        page.add_root(_chart(at, shown))
    page.add_root(_overview(sides, shown))
    # The library's own JSON: arrays are in base64 in it.
    return dict(page.to_json(deferred=False))


def _chart(at: int, shown: Any) -> Figure:
    from bokeh.models import (
        BoxZoomTool,
        ColumnDataSource,
        HoverTool,
        PanTool,
        Range1d,
        ResetTool,
        SaveTool,
        WheelZoomTool,
    )
    from bokeh.plotting import figure

    source = ColumnDataSource({name: [] for name in _COLUMNS}, name=f"rects{at}")
    shade = ColumnDataSource({"url": [], "x": [], "y": [], "w": [], "h": []}, name=f"shade{at}")
    chart = figure(
        name=f"chart{at}",
        height=300,
        x_range=shown,
        y_range=Range1d(start=1, end=0, name=f"rows{at}"),
        toolbar_location="above",
        lod_threshold=None,
        **_LOOK,
    )
    chart.image_url(url="url", x="x", y="y", w="w", h="h", anchor="top_left", source=shade)
    jobs = chart.quad(
        left="left", right="right", bottom="bottom", top="top", fill_color="color",
        fill_alpha=0.8, line_color="color", line_width=0.6, source=source, name="jobs",
    )  # fmt: skip
    # The job looked at, in both charts.
    mark = ColumnDataSource({name: [] for name in _SIDES}, name=f"mark{at}")
    chart.quad(
        left="left", right="right", bottom="bottom", top="top", fill_color=None, line_width=2.5,
        source=mark, name=f"marked{at}",
    )  # fmt: skip
    hover = HoverTool(renderers=[jobs], tooltips=[(name, f"@{name}") for name in _HOVER])
    zoom = BoxZoomTool(dimensions="width")
    chart.add_tools(
        PanTool(dimensions="width"),
        zoom,
        WheelZoomTool(dimensions="width", modifiers={"ctrl": True}),
        ResetTool(),
        SaveTool(),
        hover,
    )
    chart.toolbar.active_drag = zoom
    chart.toolbar.logo = None
    chart.xgrid.grid_line_alpha = chart.ygrid.grid_line_alpha = 0.5
    return chart


def _overview(sides: int, shown: Any) -> Figure:
    from bokeh.models import BasicTicker, ColumnDataSource, Range1d, RangeTool
    from bokeh.plotting import figure

    overview = figure(
        name="overview",
        height=130,
        x_range=Range1d(start=0, end=_DAY),
        y_range=Range1d(start=0, end=1, name="queue"),
        y_axis_label="queue",
        toolbar_location=None,
        **_LOOK,
    )
    for at in range(sides):
        line = ColumnDataSource({"time": [], "queue": []}, name=f"line{at}")
        overview.step(
            x="time", y="queue", mode="after", line_width=1.4, source=line, name=f"queue{at}"
        )
    tool = RangeTool(x_range=shown)
    tool.overlay.fill_color = "#e69f00"
    tool.overlay.fill_alpha = 0.22
    overview.add_tools(tool)
    overview.ygrid.grid_line_color = None
    overview.yaxis.ticker = BasicTicker(desired_num_ticks=3)
    return overview
