"""Simulate step by step: look at the queue whenever something happens, and stop in the middle."""

from cpsched import Simulator, Workload, build, fit, parse_system

SYSTEM = """
name = "four"
resources = ["core"]

[[nodes]]
group = "all"
count = 2
core = 2
"""
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
fitted = fit(workload, parse_system(SYSTEM, where="example"))
simulator = Simulator(fitted, build("dispatchers", "easy"), build("predictors", "requested"))
while simulator.step():
    view = simulator.machine.view(simulator.now)
    running = [str(workload.job_id[job]) for job in view.running.handle]
    waiting = [str(workload.job_id[job]) for job in view.waiting.handle]
    print(f"{simulator.now:2d}: running {running}, waiting {waiting}, free {view.free[:, 0]}")
