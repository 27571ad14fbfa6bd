"""Jobs whose size may change, by hand and at random, and what sizes they had."""

import numpy as np
from hypothesis import strategies as st
from tiny import jobs

from cpsched.util.types import JobType

M, R = JobType.MALLEABLE, JobType.RIGID


def sized_jobs(*rows, cost=0, **columns):
    """Return jobs with their fewest and most units, and their kinds."""
    times, least, most, kinds = zip(*rows, strict=True)
    return jobs(
        *times,
        units_min=least,
        units_max=most,
        job_type=kinds,
        resize_cost=[cost] * len(rows),
        **columns,
    )


def sizes(schedule, job):
    """Return since when a job has had how many units."""
    segments = schedule.segments
    own = np.flatnonzero(segments.job == job)
    units = segments.units * segments.count
    return [(int(segments.start[at]), int(units[at])) for at in own]


@st.composite
def kinds(draw):
    rows = []
    for _ in range(draw(st.integers(1, 10))):
        units = draw(st.integers(1, 6))
        least, most = draw(st.integers(1, units)), draw(st.integers(units, 8))
        time = (draw(st.integers(0, 40)), units, draw(st.integers(0, 60)))
        kind = draw(st.sampled_from(list(JobType)))
        rows.append((time, *((units, units) if kind == R else (least, most)), kind))
    rows.sort(key=lambda row: row[0][0])
    return sized_jobs(
        *rows,
        cost=draw(st.sampled_from([0, 3])),
        serial=[draw(st.sampled_from([0, 200_000]))] * len(rows),
        restartable=[True] * len(rows),
    )
