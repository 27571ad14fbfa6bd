"""Simulate four jobs under a dispatcher of our own, then under EASY, from Python."""

from cpsched.dispatch.contract import Dispatcher
from cpsched.dispatch.passes import make_allocator, start_in_order
from cpsched.metrics.summary import summarize
from cpsched.model.workload import Workload
from cpsched.simulation.simulate import simulate
from cpsched.systems import parse

SYSTEM = """
name = "four"
title = "one node of four cores"
source = "made up"
resources = ["core"]
default_expected_wait = 3600

[[nodes]]
group = "all"
count = 1
core = 4
"""


class WidestFirst(Dispatcher):
    """Start the jobs with the most units first; skip what does not fit."""

    name = "widest-first"

    def reset(self, system, seed):
        self.allocator = make_allocator("first-fit")
        self.allocator.reset(system)

    def decide(self, view):
        order = (-view.waiting.units).argsort(kind="stable")
        rows = view.waiting.rows[order]
        rows.flags.writeable = False
        return start_in_order(view, rows, self.allocator, stop=False)


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
    run = simulate(workload, parse(SYSTEM, where="example"), dispatcher=dispatcher)
    starts = dict(zip(workload.job_id.tolist(), run.schedule.start.tolist(), strict=True))
    mean = summarize(run.schedule)["wait_s"]["all"]["mean"]
    print(f"{run.dispatcher}: starts {starts}, mean wait {mean:.2f} s")
