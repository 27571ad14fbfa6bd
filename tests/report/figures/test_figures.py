"""What figures show: numbers worked out by hand, places of jobs, marks of axes."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from tiny import jobs, machine, machines, run, workloads

pytest.importorskip("matplotlib")

from matplotlib.colors import to_hex, to_rgb

from cpsched.metrics.definitions import ALL
from cpsched.metrics.steps import StepFunction
from cpsched.metrics.window import Window
from cpsched.model.schedule import Segments
from cpsched.model.topology import Topology
from cpsched.report.figures.data import DAY, Curve, Series, bins, busiest, by_size, means, read
from cpsched.report.figures.intervals import Point, draw_changes, draw_forest
from cpsched.report.figures.lines import draw_distributions, draw_over_time
from cpsched.report.figures.looks import Look, looks
from cpsched.report.figures.nodes import Rows, draw_waits, place, wait_class
from cpsched.report.figures.style import (
    BAD,
    BEHIND,
    COLOURS,
    GOOD,
    INK,
    PAPER,
    WAITS,
    FigureFile,
    save,
    styled,
    wrapped,
)
from cpsched.study.comparisons import Result
from cpsched.study.verdicts import Compared

pytestmark = pytest.mark.slow

JAN_2014 = 1388534400


def test_a_curve_has_all_jobs():
    """Half of the jobs did not wait; the last point is the longest wait, of one job in ten."""
    curve = Curve.of(np.array([0, 0, 0, 0, 0, 7, 8, 9, 10, 50]))
    assert (curve.nines[0], curve.values[0]) == (0, 0)
    assert curve.nines[-1] == 1
    assert curve.values[-1] == 50
    at = {share: curve.values[np.searchsorted(curve.nines, -np.log10(1 - share))]
          for share in (0.3, 0.58, 0.78)}  # fmt: skip
    assert list(at.values()) == [0, 7, 9]
    assert len(Curve.of(np.array([])).values) == 0
    assert Curve.of(np.array([3])).values.tolist()[-1] == 3


def test_means_over_time_are_exact():
    """1 from 30 to 90 is half of each of two minutes; edges need not be steps."""
    steps = StepFunction.over(np.array([30, 100]), np.array([90, 120]))
    series = means(steps, Window(0, 120))
    assert series.edges.tolist() == [0, 60, 120]
    # [0, 60): 30 of 60 s; [60, 120): 30 + 20 of 60 s.
    assert series.values.tolist() == [0.5, 50 / 60]
    assert len(means(steps, Window(0, 10)).values) == 1


@pytest.mark.parametrize(
    ("length", "step"), [(600, 60), (7 * DAY, 3600), (200 * DAY, DAY), (3000 * DAY, 28 * DAY)]
)
def test_means_are_over_round_spans(length, step):
    assert bins(Window(5, 5 + length)) == step


def test_means_begin_at_round_moments():
    """Of the log's clock: second 0 is half past six."""
    steps = StepFunction.over(np.array([0]), np.array([7 * DAY]))
    edges = means(steps, Window(0, 7 * DAY), JAN_2014 + 6 * 3600 + 1800).edges
    assert edges[:3].tolist() == [0, 1800, 5400]
    assert edges[-1] == 7 * DAY


def test_waits_by_size():
    """1; 2 and 3; 4 to 7. A job without cores is in no class."""
    waits = by_size(np.array([1, 2, 3, 7, 0]), np.array([10, 20, 40, 5, 999]))
    assert waits.cores.tolist() == [1, 2, 4]
    assert waits.wait.tolist() == [10, 30, 5]
    assert waits.number.tolist() == [1, 2, 1]
    assert len(by_size(np.array([], dtype=np.int64), np.array([])).cores) == 0


def test_jobs_share_a_node_side_by_side():
    """Two jobs of two cores on a node of four; the third takes the first's place."""
    nodes = [(4,)] * 5
    rows = [(0, 2, 10), (0, 2, 30), (10, 2, 10)]
    schedule = run(jobs(*rows, nodes_max=[1, 1, 1]), machine(*nodes), "fifo").schedule
    boxes = place(schedule, Rows.of(schedule), np.arange(3))
    assert boxes.low.tolist() == [0, 0.5, 0]
    assert boxes.high.tolist() == [0.5, 1, 0.5]


def test_whole_nodes_are_one_rectangle():
    """A job on three nodes, all of their cores."""
    schedule = run(jobs((0, 12, 10)), machine(*[(4,)] * 5), "fifo").schedule
    boxes = place(schedule, Rows.of(schedule), np.arange(len(schedule.segments.job)))
    assert (boxes.low.tolist(), boxes.high.tolist()) == ([0], [3])


def test_a_pool_is_drawn_core_by_core():
    """A job that finds no cores side by side is drawn in pieces."""
    #  cores 0 1: until 10; 2 3: until 30; 4 5: until 10; then a job of 4 cores at 10
    rows = [(0, 2, 10), (0, 2, 30), (0, 2, 10), (10, 4, 5)]
    schedule = run(jobs(*rows), machine((6,)), "fifo").schedule
    axis = Rows.of(schedule)
    boxes = place(schedule, axis, np.arange(4))
    last = boxes.job == 3
    assert axis.unit == "core"
    assert sorted(zip(boxes.low[last], boxes.high[last], strict=True)) == [(0, 2), (4, 6)]


@settings(max_examples=60)
@given(machine=machines(max_nodes=6), workload=workloads())
def test_rectangles_never_overlap(machine, workload):
    """Whatever is run; and together they are as high as the cores held."""
    schedule = run(workload, machine, "easy", overrun="extend").schedule
    boxes = place(schedule, Rows.of(schedule), np.arange(len(schedule.segments.job)))
    for first in range(len(boxes.job)):
        for second in range(first):
            in_time = (
                boxes.start[first] < boxes.end[second] and boxes.start[second] < boxes.end[first]
            )
            in_rows = (
                boxes.low[first] < boxes.high[second] - 1e-9
                and boxes.low[second] < boxes.high[first] - 1e-9
            )
            assert not (in_time and in_rows)


def test_the_busiest_day():
    """Where most jobs wait; a day begins at midnight of the log's clock."""
    #  a job of 20 h on day 0, then on day 1 two that wait for one of 20 h
    rows = [(0, 4, 20 * 3600), (DAY, 4, 20 * 3600), (DAY, 4, 60), (DAY, 4, 60), (2 * DAY, 4, 60)]
    schedule = run(jobs(*rows, epoch=JAN_2014), machine((4,)), "fifo").schedule
    assert busiest(schedule) == (DAY, 2 * DAY)
    # Second 0 is 6 o'clock: midnight comes at 18 h.
    schedule = run(jobs(*rows, epoch=JAN_2014 + 6 * 3600), machine((4,)), "fifo").schedule
    assert busiest(schedule) == (18 * 3600, 42 * 3600)
    assert busiest(run(jobs((0, 1, 60)), machine((4,)), "fifo").schedule) == (0, 60)


def test_long_names_are_broken_between_options():
    """A word that is too long in itself is cut."""
    assert wrapped("easy:backfill=sjf,allocator=balanced  W", 20) == (
        "easy:backfill=sjf,\nallocator=balanced\nW"
    )
    assert wrapped("EASY  W", 20) == "EASY  W"
    assert wrapped("easy:order=slowdown: 27,696", 24) == "easy:order=slowdown:\n27,696"
    assert wrapped("x" * 25, 20) == "x" * 20 + "\n" + "x" * 5


LOOK = Look(name="easy")


def _queues(*tops, epoch=None):
    """Return runs whose queues are as high as ``tops``, for a figure over time."""
    edges = np.array([0.0, 3600.0, 7200.0])
    return [
        SimpleNamespace(
            epoch=epoch, look=Look(name=f"d{top:g}"),
            queue_over_time=Series(edges=edges, values=np.array([0.0, top])),
        )
        for top in tops
    ]  # fmt: skip


def _over_time(runs):
    with styled("t"):
        figure = draw_over_time(runs, lambda run: run.queue_over_time, "jobs")
        text = save(figure, "svg").decode()
        figure.draw_without_rendering()
    return figure, text


@pytest.mark.parametrize("tops", [(2.0, 5000.0), (40.0, 50.0)])
def test_an_axis_over_time_has_plain_numbers(tops):
    """With a logarithm and without: not the formulas of the plotting library."""
    _, text = _over_time(_queues(*tops))
    assert "mathdefault" not in text
    assert (">1,000<" in text) == (max(tops) > 1000)


def test_time_is_in_dates_or_in_hours():
    """Whichever the log has, in one format."""
    _, dates = _over_time(_queues(3.0, epoch=JAN_2014))
    assert ">00:30<" in dates
    assert "01 Jan 2014" in dates
    _, hours = _over_time(_queues(3.0))
    assert "hours since the start of the log" in hours


def test_shares_have_a_space_before_the_sign():
    with styled("t"):
        figure = draw_over_time(_queues(0.5), lambda run: run.queue_over_time, "x", is_share=True)
        text = save(figure, "svg").decode()
    assert "100 %" in text
    assert "100%" not in text


def test_the_legend_covers_nothing():
    """Eight runs with long names: all in the legend, below the axes, apart."""
    runs = _queues(*map(float, range(1, 9)))
    for at, plotted in enumerate(runs):
        plotted.look = Look(name=f"a dispatcher with a long name {at}")
    figure, _ = _over_time(runs)
    (legend,) = figure.legends
    boxes = [text.get_window_extent() for text in legend.get_texts()]
    assert len(boxes) == 8
    assert max(box.y1 for box in boxes) <= figure.axes[0].get_tightbbox().y0
    for at, box in enumerate(boxes):
        assert box.x1 <= figure.bbox.x1
        assert not any(box.overlaps(other.padded(-1)) for other in boxes[:at])


def test_distributions_of_waits_have_spans():
    curve = Curve.of(np.array([0, 60, 3600, 90_000]))
    with styled("t"):
        figure = draw_distributions(
            [SimpleNamespace(look=LOOK)], lambda _: curve, "wait", is_wait=True
        )
        text = save(figure, "svg").decode()
    assert all(f">{mark}<" in text for mark in ("1 h", "1 d", "all"))


def _result(name, values, bases, group=ALL):
    """Return a row of the results table, of some repetitions."""
    compared = Compared.of(values, bases)
    return Result(
        run=("w", "s", "d", "p"), allocator=None, group=group, metric=name, value=compared.value,
        repetitions=len(values), baseline=("w", "s", "b", "p"), compared=compared,
    )  # fmt: skip


def test_a_forest_has_a_row_a_run_and_a_column_a_metric():
    """Ratios with intervals on one logarithmic axis with a line at 1."""
    runs = {
        "a": [Point(0.5, (0.4, 0.6), "better"), Point(0.9, None, "")],
        "b": [Point(1.01, (0.9, 1.1), ""), None],
        "c": [Point(2.0, (1.9, 2.2), "worse"), None],
    }
    with styled("t"):
        figure = draw_forest(runs, ["slowdown\neasy: 4.20", "wait"], "easy", narrow=False)
        figure.draw_without_rendering()
    first, second = figure.axes
    assert first.get_title(loc="left") == "slowdown\neasy: 4.20"
    assert [label.get_text() for label in first.get_yticklabels()] == ["a", "b", "c"]
    assert (first.get_xscale(), second.get_xscale()) == ("log", "log")
    assert first.get_xlim() == second.get_xlim()
    points = [line for line in first.get_lines() if line.get_marker() == "o"]
    assert [to_hex(line.get_color()) for line in points] == [GOOD, BEHIND, BAD]
    assert [line.get_xdata()[0] for line in points] == [0.5, 1.01, 2.0]
    spans = [tuple(line.get_xdata()) for line in first.get_lines()]
    assert {(0.4, 0.6), (0.9, 1.1), (1.9, 2.2), (1, 1)} <= set(spans)
    assert [label.get_text() for label in first.get_xticklabels()] == ["0.5", "1", "2"]
    with styled("t"):
        narrow = draw_forest(runs, ["slowdown", "wait"], "easy", narrow=True)
    assert narrow.get_size_inches()[0] < 5 < figure.get_size_inches()[0]


def test_groups_that_wait_longer_come_first():
    """With their intervals; what is not significant is grey."""
    rows = [
        _result("common_wait_mean_s", [60.0, 61.0], [600.0, 601.0], ("queue", "less")),
        _result("common_wait_mean_s", [900.0, 901.0], [600.0, 601.0], ("queue", "longer")),
        _result("common_wait_mean_s", [500.0, 800.0], [600.0, 601.0], ("size", "small")),
    ]
    with styled("t"):
        figure = draw_changes(rows)
        figure.draw_without_rendering()
    (axes,) = figure.axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["queue longer", "small jobs", "queue less"]
    points = [line for line in axes.get_lines() if line.get_marker() == "o"]
    assert [to_hex(line.get_color()) for line in points] == [BAD, BEHIND, GOOD]
    texts = [label.get_text() for label in axes.get_xticklabels()]
    assert "0 s" in texts
    assert "+1 h" in texts


def _key(dispatcher, predictor="p"):
    return ("w", "s", dispatcher, predictor)


def test_a_run_looks_the_same_everywhere():
    """A colour a dispatcher, the baseline's that of text; a line style a predictor."""
    runs = {_key(d, p): f"{d}, {p}" for d in ("easy", "sjf", "greedy") for p in ("a", "b")}
    looks_of = looks(runs, {_key("easy", "a"), _key("easy", "b")})
    assert looks_of[_key("easy", "b")].colour == INK
    assert looks_of[_key("sjf", "b")].colour == looks_of[_key("sjf", "a")].colour != INK
    assert len({look.colour for look in looks_of.values()}) == 3
    assert {str(look.dash) for key, look in looks_of.items() if key[3] == "b"} != {"-"}
    assert looks_of[_key("easy", "b")].label == "easy, b (baseline)"
    assert Look(name="baseline", is_base=True).label == "baseline"


def _contrast(colour, background):
    """Return the contrast of two colours, as WCAG 2 has it."""

    def light(colour):
        rgb = np.array(to_rgb(colour))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    high, low = sorted((light(colour), light(background)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_lines_can_be_seen():
    assert min(_contrast(colour, PAPER) for colour in (*COLOURS, INK)) >= 4.5


def test_the_longest_waits_look_like_no_series():
    """Nor like the class before them."""
    red = np.array(to_rgb(WAITS[-1][1]))
    others = [*COLOURS, WAITS[-2][1]]
    assert min(np.abs(red - to_rgb(other)).max() for other in others) > 0.2


def test_classes_of_waits():
    """The end of a class is in the next one."""
    waits = np.array([0, 59, 60, 600, 3600, 6 * 3600, DAY, 10**9])
    assert wait_class(waits).tolist() == [0, 0, 1, 2, 3, 4, 5, 5]


def test_charts_of_nodes_share_their_colours():
    """A wait of ten minutes looks the same, whatever the longest one is."""
    for longest, expected in ((600, 2), (100_000, 5)):
        rows = [(0, 20, longest), (0, 20, 60)]
        schedule = run(jobs(*rows), machine(*[(4,)] * 5), "fifo").schedule
        with styled("t"):
            figure = draw_waits(schedule, Window(0, longest + 60))
        (drawn,) = figure.axes[0].collections
        colours = [to_hex(colour) for colour in drawn.get_facecolor()]
        assert colours == [WAITS[0][1], WAITS[expected][1]]


def test_thin_rectangles_have_no_edges():
    """Edges would be all that is seen of a core of a system of hundreds of nodes."""
    widths = []
    for number in (6, 300):
        schedule = run(jobs(*[(0, 1, 60)] * 8), machine(*[(8,)] * number), "fifo").schedule
        with styled("t"):
            figure = draw_waits(schedule, Window(0, 60))
        (drawn,) = figure.axes[0].collections
        widths.append(float(drawn.get_linewidth()[0]))
    assert widths[0] > 0
    assert widths[1] == 0


def test_labels_with_dollars_are_text():
    """Mathematics is off; the same bytes every time, without a date."""
    rows = [(10 * job, 1 + job % 3, 50 + job) for job in range(30)]
    data = read(run(jobs(*rows), machine((4,)), "easy"), Look(name="$x^2$ <b>"))

    def draw():
        return draw_distributions([data], lambda run: run.wait, "wait", is_wait=True)

    first, second = (FigureFile.of("a on b", "waits", draw, ["svg"]) for _ in range(2))
    assert first == second
    text = first.content["svg"].decode()
    assert "$x^2$ &lt;b&gt;" in text
    assert "<dc:date>" not in text


def _lying(topology, *where):
    """Return a schedule of jobs of 60 s, and where each lies."""
    num = topology.num_nodes
    workload = jobs(*[(0, len(nodes), 60) for nodes in where],
                    nodes_min=[len(nodes) for nodes in where])  # fmt: skip
    schedule = run(workload, machine(*[(1,)] * num), "fifo").schedule
    job = np.repeat(np.arange(len(where)), [len(nodes) for nodes in where])
    ones = np.ones(len(job), dtype=np.int64)
    return replace(
        schedule,
        system=replace(schedule.system, topology=topology),
        segments=Segments(job=job, start=0 * ones, end=60 * ones, node=np.concatenate(where),
                          count=ones, units=ones, amount=ones[:, None], leaving=0 * ones),
    )  # fmt: skip


def test_the_chart_of_a_schedule():
    schedule = _lying(Topology(8), [0, 1], [3, 5])
    figure = FigureFile.of(
        "w on s", "nodes under x", lambda: draw_waits(schedule, Window(0, 60)), ["svg", "png"]
    )
    assert figure.name == "w-on-s-nodes-under-x"
    assert figure.content["png"].startswith(b"\x89PNG")
