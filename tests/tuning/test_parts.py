"""The parts of a log by time."""

import numpy as np
import pytest

from cpsched.errors import ConfigError
from cpsched.tuning.parts import parts_of

DAY = 86400


def test_parts_follow_one_another_and_leave_no_job_out():
    submit = np.arange(0, 40 * DAY, 1000)
    parts = parts_of(submit, DAY, "log")
    whole = parts.search[-1]
    assert whole.start == 0
    assert whole.end == parts.validation.start
    assert parts.validation.end == parts.test.start
    assert parts.test.end == submit[-1] + 1
    assert whole.jobs + parts.validation.jobs + parts.test.jobs == len(submit)


def test_short_windows_end_where_the_search_part_ends():
    parts = parts_of(np.arange(0, 40 * DAY, 1000), DAY, "log")
    assert [window.end for window in parts.search] == [parts.search[-1].end] * 3
    lengths = [(window.end - window.start) / DAY for window in parts.search]
    assert lengths == pytest.approx([4, 10, 20], abs=0.1)


def test_a_part_is_warmed_up_by_earlier_jobs():
    parts = parts_of(np.arange(0, 40 * DAY, 1000), DAY, "log")
    assert parts.test.first == parts.test.start - DAY
    assert parts.search[-1].first == 0


def test_a_log_without_eight_days_at_its_end_is_refused_with_the_length_it_needs():
    with pytest.raises(ConfigError, match=r"log: covers 20\.0 days.*at least 27 days"):
        parts_of(np.arange(0, 20 * DAY, 1000), DAY, "log")


def test_a_part_with_few_jobs_is_refused():
    with pytest.raises(ConfigError, match="has 12 jobs for search 1. At least 200 are needed"):
        parts_of(np.arange(0, 40 * DAY, DAY // 3), DAY, "log")
