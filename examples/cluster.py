"""No simulator: you hold the machine and say what happens; a dispatcher says what starts."""

from cpsched import Cluster, InfeasibleRequestError, Request, parse_system

SYSTEM = """
name = "pair"
resources = ["core", "gpu", "mem"]
default_expected_wait = 3600

[[nodes]]
group = "thin"
count = 1
core = 4
mem = "16 GB"

[[nodes]]
group = "gpu"
count = 1
core = 4
gpu = 2
mem = "16 GB"
"""
GB = 1 << 20
cluster = Cluster(parse_system(SYSTEM, where="example"), "easy", predictor="last:count=2")
names = {}


def submit(name, now, **request):
    try:
        names[cluster.submit(Request(**request), now, job_id=name)] = name
    except InfeasibleRequestError as error:
        print(f"{now:4d}: {error}")


def dispatch(now):
    for start in cluster.decide(now).actions:
        # Here a real machine starts the job. Had it failed: cluster.failed(start.handle, now)
        cluster.start([start], now)
        print(f"{now:4d}: {names[start.handle]} starts on {cluster.node_names(start.allocation)}")


submit("render", 0, units=2, resources={"core": 2, "gpu": 1}, requested_time=600, user="ann")
submit("solve", 0, units=3, resources={"core": 1, "mem": 4 * GB}, requested_time=900, user="bob")
submit("train", 5, units=3, resources={"core": 1, "gpu": 1}, requested_time=900, user="ann")
dispatch(5)
submit("huge", 10, units=2, resources={"core": 4}, requested_time=300, user="bob")
submit("small", 20, resources={"core": 1}, requested_time=60, user="bob")
dispatch(20)
cluster.end(3, 70)
cluster.end(0, 400)
dispatch(400)
cluster.end(1, 500)
dispatch(500)
