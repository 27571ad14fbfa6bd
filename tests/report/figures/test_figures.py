"""What figures show: numbers worked out by hand, places of jobs, marks of axes."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import jobs, machine, machines, run, workloads

from cpsched.metrics.steps import StepFunction
from cpsched.metrics.window import Window
from cpsched.model.schedule import Segments
from cpsched.model.topology import Topology
from cpsched.report.figures import nodes
from cpsched.report.figures.data import DAY, Curve, Series, busiest, by_size, means
from cpsched.report.figures.labels import spread
from cpsched.report.figures.lanes import Rows, place
from cpsched.report.figures.lines import Runs, draw_over_time
from cpsched.report.figures.looks import looks
from cpsched.report.figures.pictures import of_jobs, of_schedule
from cpsched.report.figures.style import COLOURS, INK, PAPER, marks, save, styled, wrapped
from cpsched.report.figures.tradeoff import Point, front
from cpsched.study.paired import Estimate

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


def test_waits_by_size():
    """1; 2 and 3; 4 to 7. A job without cores is in no class."""
    found = by_size(np.array([1, 2, 3, 7, 0]), np.array([10, 20, 40, 5, 999]))
    assert found.cores.tolist() == [1, 2, 4]
    assert found.wait.tolist() == [10, 30, 5]
    assert found.number.tolist() == [1, 2, 1]
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
    for one in range(len(boxes.job)):
        for other in range(one):
            in_time = boxes.start[one] < boxes.end[other] and boxes.start[other] < boxes.end[one]
            in_rows = (
                boxes.low[one] < boxes.high[other] - 1e-9
                and boxes.low[other] < boxes.high[one] - 1e-9
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


@pytest.mark.parametrize(
    ("epoch", "start", "end", "texts"),
    [
        (JAN_2014, 0, 4 * 3600, ["01 Jan", "01:00", "02:00", "03:00", "04:00"]),
        (JAN_2014, 0, 3 * DAY, ["01 Jan", "02 Jan", "03 Jan", "04 Jan"]),
        (JAN_2014, 0, 365 * DAY, ["2014", "Mar", "May", "Jul", "Sep", "Nov", "2015"]),
        (JAN_2014, 0, 3000 * DAY, ["2014", "2016", "2018", "2020", "2022"]),
        (None, 0, DAY, ["day 1", "04:00", "08:00", "12:00", "16:00", "20:00", "day 2"]),
        (None, 0, 30 * DAY, [f"day {1 + 4 * step}" for step in range(8)]),
        (None, 5, 6, ["00:00", "00:00"]),
    ],
)  # fmt: skip
def test_marks_of_moments(epoch, start, end, texts):
    """As many as there is room for, at round moments."""
    places, found = marks(epoch, start, end)
    assert found == texts
    assert all(start <= at <= end for at in places)


@pytest.mark.parametrize("most", [4, 8])
def test_there_are_marks_whatever_the_span(most):
    """And hardly more than there is room for, from some seconds to years."""
    for exponent in np.arange(1, 8, 0.01):
        places, texts = marks(1_400_000_000, 12_345, 12_345 + 10**exponent, most)
        assert 1 <= len(places) == len(texts) <= most + 2


def test_long_names_are_broken_between_options():
    """A word that is too long in itself is cut."""
    assert wrapped("easy:backfill=sjf,allocator=balanced  W", 20) == (
        "easy:backfill=sjf,\nallocator=balanced\nW"
    )
    assert wrapped("EASY  W", 20) == "EASY  W"
    assert wrapped("easy:order=slowdown: 27,696", 24) == "easy:order=slowdown:\n27,696"
    assert wrapped("x" * 25, 20) == "x" * 20 + "\n" + "x" * 5


LOOK = looks([("easy", "requested")])["easy", "requested"]


def _queues(*tops):
    """Return runs of dispatchers whose queues are as high as ``tops``, for a figure over time."""
    edges = np.array([0.0, 60.0, 120.0])
    return [
        SimpleNamespace(
            dispatcher=f"d{top}", predictor="p", epoch=None, look=LOOK,
            queue_over_time=Series(edges=edges, values=np.array([0.0, top])),
        )
        for top in tops
    ]  # fmt: skip


@pytest.mark.parametrize("tops", [(2.0, 5000.0), (40.0, 50.0)])
def test_an_axis_over_time_has_plain_numbers(tops):
    """With a logarithm and without: not the formulas of the plotting library."""
    pytest.importorskip("matplotlib")
    with styled("t"):
        figure = draw_over_time(Runs(_queues(*tops)), lambda run: run.queue_over_time, "jobs")
        text = save(figure, "svg").decode()
    assert "mathdefault" not in text
    assert (">1,000<" in text) == (max(tops) > 1000)


def test_a_run_looks_the_same_everywhere():
    """A colour a dispatcher, the baseline's that of text; a line style a predictor."""
    runs = [(d, p) for d in ("easy", "sjf", "greedy") for p in ("requested", "mean")]
    found = looks(runs, [("easy", "requested"), ("easy", "mean")])
    assert found["easy", "mean"].colour == INK
    assert found["sjf", "mean"].colour == found["sjf", "requested"].colour != INK
    assert len({look.colour for look in found.values()}) == 3
    assert {look.dash for who, look in found.items() if who[1] == "mean"} != {"-"}
    assert found["sjf", "mean"].name == "sjf, mean"
    assert found["easy", "mean"].label == "easy, mean (baseline)"
    assert looks([("sjf", "mean")])["sjf", "mean"].name == "sjf"
    assert looks(runs[:4], runs[:2])["sjf", "mean"] == found["sjf", "mean"]


def _contrast(one, other):
    """Return the contrast of two colours, as WCAG 2 has it."""
    from matplotlib.colors import to_rgb

    def light(colour):
        rgb = np.array(to_rgb(colour))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_names_in_colour_can_be_read():
    pytest.importorskip("matplotlib")
    assert min(_contrast(colour, PAPER) for colour in (*COLOURS, INK)) >= 4.5


@given(
    boxes=st.lists(st.tuples(st.floats(0, 100), st.floats(1, 20)), min_size=1, max_size=9),
    low=st.floats(-20, 20),
)  # fmt: skip
def test_names_beside_lines_never_overlap(boxes, low):
    """They stay in their order, within the axes as long as there is room."""
    at, high = (np.array(values) for values in zip(*boxes, strict=True))
    top = low + 120
    middles = spread(at, high, low, top)
    order = np.argsort(at, kind="stable")
    ends = middles[order] + high[order] / 2
    begins = middles[order] - high[order] / 2
    assert (begins[1:] >= ends[:-1] - 1e-6).all()
    if high.sum() <= 120:
        assert begins[0] >= low - 1e-6
        assert ends[-1] <= top + 1e-6


def test_names_stay_where_they_are_if_there_is_room():
    assert spread(np.array([50.0, 10.0]), np.array([8.0, 8.0]), 0, 100).tolist() == [50, 10]
    assert spread(np.array([50.0, 50.0]), np.array([8.0, 8.0]), 0, 100).tolist() == [46, 54]


def test_the_front_is_of_the_runs_that_nothing_beats_in_both():
    points = [
        Point(
            look=LOOK,
            slowdown=Estimate(slowdown, None, None, 1),
            tail=Estimate(tail, None, None, 1),
        )
        for slowdown, tail in ((2, 9), (1, 10), (3, 9), (4, 1), (1, 12))
    ]
    assert [(one.slowdown.mean, one.tail.mean) for one in front(points)] == [
        (1, 10), (2, 9), (4, 1),
    ]  # fmt: skip


def test_no_name_of_a_line_covers_another():
    """Twelve lines that end together; eight have names."""
    pytest.importorskip("matplotlib")
    whole = looks([(f"a dispatcher with a name {n}", "p") for n in range(12)])
    runs = [
        SimpleNamespace(dispatcher=who[0], look=look, epoch=None,
                        queue_over_time=Series(edges=np.array([0.0, 60.0]), values=np.array([3.0])))
        for who, look in whole.items()
    ]  # fmt: skip
    with styled("t"):
        figure = draw_over_time(Runs(runs, runs[8:]), lambda run: run.queue_over_time, "jobs")
        text = save(figure, "svg").decode()
        figure.draw_without_rendering()
    assert all((f"name {n}: 3<" in text or f"{n}: 3<" in text) == (n < 8) for n in range(12))
    boxes = [one.get_window_extent() for one in figure.axes[0].artists]
    boxes += [one.get_window_extent() for key in figure.legends for one in key.get_texts()]
    assert len(boxes) == 8
    for at, one in enumerate(boxes):
        assert one.y0 >= 0
        assert one.x1 <= figure.bbox.x1
        assert not any(one.overlaps(other.padded(-1)) for other in boxes[:at])


def test_charts_of_nodes_share_their_colours():
    """A wait of an hour looks the same, whatever the longest one is."""
    pytest.importorskip("matplotlib")
    scales = set()
    for longest in (600, 100_000):
        rows = [(0, 4, longest), (0, 4, 60)]
        schedule = run(jobs(*rows), machine(*[(4,)] * 5), "fifo").schedule
        with styled("t"):
            figure = nodes.draw_waits(schedule, Window(0, longest + 60))
        (drawn_jobs,) = figure.axes[0].collections
        scales.add((drawn_jobs.norm.vmin, drawn_jobs.norm.vmax))
    assert len(scales) == 1


def test_thin_rectangles_have_no_edges():
    """Edges would be all that is seen of a core of a machine of hundreds of nodes."""
    pytest.importorskip("matplotlib")
    widths = []
    for number in (6, 300):
        schedule = run(jobs(*[(0, 1, 60)] * 8), machine(*[(8,)] * number), "fifo").schedule
        with styled("t"):
            figure = nodes.draw_waits(schedule, Window(0, 60))
        (drawn_jobs,) = figure.axes[0].collections
        widths.append(float(drawn_jobs.get_linewidth()[0]))
    assert widths[0] > 0
    assert widths[1] == 0


def test_labels_with_dollars_are_text(runs_folder_with_labels):
    """Mathematics is off; the same bytes every time, without a date."""
    first, second = (runs_folder_with_labels() for _ in range(2))
    assert [one.content for one in first] == [one.content for one in second]
    text = first[0].content["svg"].decode()
    assert "$x^2$ &lt;b&gt;" in text
    assert "<dc:date>" not in text


@pytest.fixture
def runs_folder_with_labels(tmp_path):
    """Draw the figures of a run whose labels are not harmless."""
    pytest.importorskip("matplotlib")
    from cpsched.report.figures.data import read
    from cpsched.study import load_run, save_run

    (tmp_path / "runs").mkdir()
    rows = [(10 * job, 1 + job % 3, 50 + job) for job in range(30)]
    save_run(run(jobs(*rows), machine((4,)), "easy"), tmp_path / "runs" / "one")

    def draw():
        look = looks([("$x^2$ <b>", "p")])["$x^2$ <b>", "p"]
        data = read(load_run(tmp_path / "runs" / "one"), look)
        return [one.file("a on b", ["svg"]) for one in of_jobs([data])]

    return draw


def _lying(topology, *where):
    """Return a schedule of jobs of 60 s, and where each lies."""
    num = topology.num_nodes
    workload = jobs(*[(0, len(nodes), 60) for nodes in where],
                    nodes_min=[len(nodes) for nodes in where])  # fmt: skip
    schedule = run(workload, machine(*[(1,)] * num), "fifo").schedule
    job = np.repeat(np.arange(len(where)), [len(nodes) for nodes in where])
    one = np.ones(len(job), dtype=np.int64)
    return replace(
        schedule,
        system=replace(schedule.system, topology=topology),
        segments=Segments(job=job, start=0 * one, end=60 * one, node=np.concatenate(where),
                          count=one, units=one, amount=one[:, None], leaving=0 * one),
    )  # fmt: skip


def test_the_chart_of_a_schedule():
    pytest.importorskip("matplotlib")
    schedule = _lying(Topology(8), [0, 1], [3, 5])
    found = of_schedule("x", schedule, Window(0, 60)).file("w on s", ["svg", "png"])
    assert found.title == "nodes under x"
    assert found.content["png"].startswith(b"\x89PNG")
