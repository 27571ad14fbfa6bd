"""Which jobs of a schedule the page draws, and what it says of the rest."""

import pytest
from tiny import jobs, machine, run

from cpsched.metrics.window import Window
from cpsched.report.html.schedule_data import drawn

pytestmark = pytest.mark.slow


def test_few_rectangles_are_the_largest_and_the_busiest():
    """Within the budget; what is not drawn is in the shade."""
    rows = [(10 * job, 1, 100 * (1 + job % 5)) for job in range(200)]
    schedule = run(jobs(*rows), machine(*[(2,)] * 5), "fifo").schedule
    whole = drawn(schedule, Window(0, 500), 10_000)
    assert [whole[key] for key in ("jobs", "of", "share", "focus")] == [200, 200, 1, None]
    part = drawn(schedule, Window(0, 500), 20)
    assert part["jobs"] <= 20
    assert part["of"] == 200
    assert part["focus"] is not None
    assert part["focus"].end < 500
    assert part["jobs"] / 200 < part["share"] < 1


def test_jobs_that_took_no_time_ran_too():
    """There is nothing to see of them, and that is said."""
    schedule = run(jobs((0, 1, 60), (0, 1, 0, 60), (5, 1, 0, 60)), machine((4,)), "fifo").schedule
    whole = drawn(schedule, None, 100)
    assert [whole[key] for key in ("jobs", "of", "instant")] == [3, 3, 2]
