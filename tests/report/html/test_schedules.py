"""What the interactive charts show of schedules, and that equal ones are equal files."""

import json

import pytest
from tiny import jobs, machine, run

pytest.importorskip("bokeh")

from cpsched.metrics.window import Window
from cpsched.report.figures.data import DAY
from cpsched.report.html.schedules import charts, shown_schedule, shown_window

pytestmark = pytest.mark.slow


def schedule(num_jobs, gap, **columns):
    rows = [(gap * job, 1, 100 * (1 + job % 5)) for job in range(num_jobs)]
    return run(jobs(*rows, **columns), machine(*[(2,)] * 5), "fifo").schedule


def test_a_schedule_within_the_budget_is_shown_from_end_to_end():
    simulated = schedule(200, 10)
    window = shown_window(simulated, 10_000)
    assert window.start == 0
    assert window.end == simulated.end.max()
    assert set(shown_schedule("a", simulated, window).columns["job"]) == set(map(str, range(200)))


def test_of_a_large_schedule_the_busiest_part_is_shown():
    """The longest of some round lengths that has no more rectangles than wanted, and all of it."""
    simulated = schedule(400, DAY // 8)
    window = shown_window(simulated, 130)
    assert window.length == 14 * DAY
    inside = (simulated.segments.start < window.end) & (simulated.segments.end > window.start)
    shown = shown_schedule("a", simulated, window)
    assert len(shown.columns["job"]) == inside.sum() <= 130


def test_a_schedule_without_jobs_has_no_window():
    assert shown_window(run(jobs((0, 9, 10)), machine((2,)), "fifo").schedule, 100) is None


@pytest.mark.parametrize("epoch", [None, 1_400_000_000])
def test_times_are_dates_or_hours(epoch):
    """Whichever the log has; hours would be dates of 1970 otherwise."""
    simulated = schedule(3, 3600) if epoch is None else schedule(3, 3600, epoch=epoch)
    shown = shown_schedule("a", simulated, Window(0, 7200))
    second = 1.0 if epoch is None else (epoch + 3600) * 1000.0
    assert shown.columns["submitted"].tolist()[1] == second
    assert shown.has_dates == (epoch is not None)


def test_a_job_waits_in_its_class():
    """Of jobs of an hour one after the other: none, an hour, two hours."""
    rows = [(0, 2, 3601)] * 3
    shown = shown_schedule("a", run(jobs(*rows), machine((2,)), "fifo").schedule, Window(0, 20_000))
    assert shown.columns["wait"].tolist() == [0, 3, 3]
    assert shown.columns["waited"].tolist() == [0, 3601, 7202]


def test_equal_schedules_are_equal_text():
    """Bokeh numbers its models on and on; a job with such a number keeps it."""
    shown = shown_schedule("a", schedule(2, 10, job_id=['"id":"p1001"', "p1002"]), Window(0, 1000))
    first, second = charts([shown, shown]), charts([shown, shown])
    assert first == second
    assert '\\"id\\":\\"p1001\\"' in first
    assert json.loads(first)["root_id"].startswith("p")


def test_two_runs_are_visible_of_many():
    """The first above, the second below; the queues of both below them."""
    shown = shown_schedule("a", schedule(3, 10), Window(0, 1000))
    text = charts([shown, shown, shown])
    item = json.loads(text)
    traces = []

    def walk(node):
        if isinstance(node, dict):
            if node.get("name") == "GlyphRenderer":
                own = node["attributes"]
                traces.append((own["name"], own.get("visible", True)))
            for child in node.values():
                walk(child)
        elif isinstance(node, list):
            for child in node:
                walk(child)

    walk(item)
    visible = [name for name, is_visible in traces if is_visible]
    assert sorted(visible) == ["0 run0", "0 run0", "1 run1", "1 run1"]
    assert len(traces) == 2 * 3 + 2 * 3
