"""Simulate four jobs under a dispatcher of our own, then under EASY, from Python."""

from cpsched import (
    Dispatcher,
    Workload,
    make_allocator,
    parse_system,
    simulate,
    start_by,
)

SYSTEM = """
name = "four"
resources = ["core"]
default_expected_wait = 3600

[[nodes]]
group = "all"
count = 1
core = 4
"""


class WidestFirst(Dispatcher):
    """Start the jobs with the most tasks first; skip what does not fit."""

    name = "widest-first"

    def __init__(self):
        self.allocator = make_allocator("first-fit")

    def reset(self, system, seed):
        self.allocator.reset(system)

    def decide(self, view):
        return start_by(view, (-view.waiting.units).argsort(kind="stable"), self.allocator)


workload = Workload.build(
    title="four jobs",
    job_id=["A", "B", "C", "D"],
    submit=[0, 1, 2, 2],
    units=[3, 2, 1, 4],
    request=[[1], [1], [1], [1]],
    resources=["core"],
    runtime=[4, 4, 2, 3],
    requested_time=[4, 4, 2, 3],
)
for dispatcher in (WidestFirst(), "easy"):
    run = simulate(workload, parse_system(SYSTEM, where="example"), dispatcher=dispatcher)
    starts = dict(zip(workload.job_id.tolist(), run.schedule.start.tolist(), strict=True))
    print(f"{run.dispatcher}: starts {starts}, mean wait {run.metrics['wait_mean_s']:.2f} s")
