"""The interactive chart of a schedule, made with Bokeh; the page's script fills it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from bokeh.models import ColumnDataSource
    from bokeh.plotting import figure as Figure  # noqa: N812

#: What hovering a job shows: the columns the script makes.
_HOVER = (
    *("job", "user", "queue", "name", "submitted", "started", "ended", "waited", "ran", "asked"),
    *("predicted", "cores", "nodes", "outcome"),
)
#: Milliseconds; something for the axes to show before there is a schedule.
_DAY = 86_400_000
_COLUMNS = ("left", "right", "bottom", "top", "color", *_HOVER)


def script() -> str:
    """
    Return BokehJS as text to go into the page.

    Raises
    ------
    ConfigError
        If Bokeh, or something it needs, is not installed.
    """
    try:
        # What :func:`document` needs, with what that needs in turn: told here, in one line.
        import bokeh.document
        import bokeh.plotting  # noqa: F401
        from bokeh.resources import Resources
    except ImportError as error:
        raise ConfigError(
            f"the report needs bokeh ({error}); install it with: pip install 'cpsched[plots]'"
        ) from error
    return "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)


def document() -> dict[str, Any]:
    """Return the chart and the overview below it, empty, as BokehJS reads them."""
    from bokeh.document import Document
    from bokeh.models import ColumnDataSource, Range1d

    source = ColumnDataSource({name: [] for name in _COLUMNS}, name="rects")
    line = ColumnDataSource({"left": [], "right": [], "queue": []}, name="line")
    shade = ColumnDataSource({"url": [], "x": [], "y": [], "w": [], "h": []}, name="shade")
    shown = Range1d(start=0, end=_DAY, name="shown")
    chart = _chart(source, shade, shown)
    overview = _overview(line, shown)
    page = Document()
    for one in (chart, overview):
        page.add_root(one)
    # The library's own JSON: arrays are in base64 in it.
    return dict(page.to_json(deferred=False))


def _chart(source: ColumnDataSource, shade: ColumnDataSource, shown: Any) -> Figure:
    from bokeh.models import (
        BoxZoomTool,
        HoverTool,
        PanTool,
        Range1d,
        ResetTool,
        SaveTool,
        WheelZoomTool,
    )
    from bokeh.plotting import figure

    chart = figure(
        name="chart",
        height=460,
        sizing_mode="stretch_width",
        x_axis_type="datetime",
        x_range=shown,
        y_range=Range1d(start=1, end=0, name="rows"),
        tools=[],
        toolbar_location="above",
        output_backend="canvas",
        lod_threshold=None,
        min_border_left=70,
    )
    chart.image_url(url="url", x="x", y="y", w="w", h="h", anchor="top_left", source=shade)
    jobs = chart.quad(
        left="left", right="right", bottom="bottom", top="top", fill_color="color",
        fill_alpha=0.8, line_color="color", line_width=0.6, hover_line_color="#000000",
        hover_fill_color="color", source=source, name="jobs",
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


def _overview(line: ColumnDataSource, shown: Any) -> Figure:
    from bokeh.models import BasicTicker, Range1d, RangeTool
    from bokeh.plotting import figure

    overview = figure(
        name="overview",
        height=110,
        sizing_mode="stretch_width",
        x_axis_type="datetime",
        x_range=Range1d(start=0, end=_DAY),
        y_range=Range1d(start=0, end=1, name="queue"),
        y_axis_label="queue",
        min_border_left=70,
        tools=[],
        toolbar_location=None,
        output_backend="canvas",
    )
    # An area of steps would be the glyph for this; without points its script never ends.
    overview.quad(
        left="left", right="right", bottom=0, top="queue", fill_color="#3b7dd8", fill_alpha=0.6,
        line_color=None, source=line,
    )  # fmt: skip
    tool = RangeTool(x_range=shown)
    tool.overlay.fill_color = "#e69f00"
    tool.overlay.fill_alpha = 0.22
    overview.add_tools(tool)
    overview.ygrid.grid_line_color = None
    overview.yaxis.ticker = BasicTicker(desired_num_ticks=3)
    return overview
