"""A site on which jobs queue, and their log with starts recorded."""

import numpy as np

from cpsched import systems
from cpsched.model.workload import Workload
from cpsched.simulation.simulate import simulate


def site(nodes):
    """Return the text of a machine of nodes of four cores."""
    return f"""
name = "site"
resources = ["core"]
[[nodes]]
group = "node"
count = {nodes}
core = 4
[log]
processors = "anywhere"
"""


def queueing(num, seed, runtimes, most_over, most_units, users):
    """Return jobs that queue, of some users in two groups and two queues."""
    rng = np.random.default_rng(seed)
    runtime = rng.integers(*runtimes, num)
    return Workload.build(
        title="log",
        job_id=[f"j{at}" for at in range(num)],
        submit=np.sort(rng.integers(0, num * 400, num)),
        runtime=runtime,
        requested_time=runtime * rng.integers(1, most_over + 1, num),
        units=rng.integers(1, most_units + 1, num),
        request=np.ones((num, 1), dtype=int),
        resources=("core",),
        user=[f"u{at % users}" for at in range(num)],
        group=["ab"[at % 2] for at in range(num)],
        queue=[f"q{at % 2}" for at in range(num)],
    )


def recorded(log, system, dispatcher, lag=0):
    """Return the log with the starts that a dispatcher gives its jobs as the record."""
    made = simulate(log, systems.parse(system), dispatcher=dispatcher).schedule
    return log.with_columns(recorded_start=made.start + lag)
