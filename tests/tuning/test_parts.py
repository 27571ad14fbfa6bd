"""The parts of a log by time."""

import numpy as np
import pytest

from cpsched.errors import ConfigError
from cpsched.tuning.parts import parts_of, windows_of

DAY = 86400


def test_parts_follow_one_another_and_leave_no_job_out():
    submit = np.arange(0, 40 * DAY, 1000)
    parts = parts_of(submit, "log")
    assert parts.search.start == 0
    assert parts.search.end == parts.validation.start
    assert parts.validation.end == parts.test.start
    assert parts.test.end == submit[-1] + 1
    assert sum(part.jobs for part in (parts.search, parts.validation, parts.test)) == len(submit)


def windows(waits_on_day):
    """Return the windows of twenty days, and their part; jobs of one day wait."""
    submit = np.arange(0, 40 * DAY, 1000)
    part = parts_of(submit, "log").search
    own = submit[submit < part.end]
    return windows_of(part, own, np.where(own // DAY == waits_on_day, 60, 0), "log"), part


def test_windows_grow_to_the_whole_search_part():
    of_search, part = windows(12)
    assert of_search[-1] is part
    assert [window.name for window in of_search] == ["search 1", "search 2", "search"]
    lengths = [(window.end - window.start) / DAY for window in of_search]
    assert lengths == pytest.approx([4, 10, 20], abs=0.1)


@pytest.mark.parametrize("day", [0, 7, 12, 19])
def test_short_windows_are_where_jobs_wait(day):
    *short, part = windows(day)[0]
    for window in short:
        assert part.start <= window.start <= day * DAY
        assert min((day + 1) * DAY, part.end) <= window.end <= part.end


def test_a_part_is_warmed_up_by_earlier_jobs():
    parts = parts_of(np.arange(0, 40 * DAY, 1000), "log")
    assert parts.test.first == parts.test.start - 7 * DAY
    assert parts.search.first == 0
    assert windows(12)[0][0].first == windows(12)[0][0].start - DAY


def test_a_log_without_eight_days_at_its_end_is_refused_with_the_length_it_needs():
    with pytest.raises(ConfigError, match=r"log: covers 20\.0 days.*at least 27 days"):
        parts_of(np.arange(0, 20 * DAY, 1000), "log")


def test_a_part_with_few_jobs_is_refused():
    with pytest.raises(ConfigError, match="has 60 jobs for search. At least 200 are needed"):
        parts_of(np.arange(0, 40 * DAY, DAY // 3), "log")


def test_a_short_window_with_few_jobs_is_refused():
    submit = np.arange(0, 40 * DAY, DAY // 30)
    part = parts_of(submit, "log").search
    own = submit[submit < part.end]
    with pytest.raises(ConfigError, match="has 120 jobs for search 1. At least 200 are needed"):
        windows_of(part, own, np.ones(len(own)), "log")
