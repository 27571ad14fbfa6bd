"""AccaSim in a process of its own, on logs and machines of ours, with the starts that come out."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from cpsched import logs, systems
from cpsched.model.workload import Workload
from cpsched.simulation.simulate import Settings, simulate
from cpsched.util.types import MISSING

needs_accasim = pytest.mark.skipif(
    find_spec("accasim") is None, reason="AccaSim is not installed: pip install 'cpsched[accasim]'"
)


def in_process(code, *arguments, **env):
    """Run code in a new Python, with warnings as errors where we can; return what it prints."""
    process = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "TZ": "UTC", **env},
        timeout=300,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-3000:]
    return process.stdout


#: Code that notes the start of every job that has ended.
STARTS = """
import json, sys
import accasim_adapter
from accasim_adapter.additional import Hooks

class Starts(Hooks):
    def __init__(self):
        super().__init__()
        self.of = {}

    def exec_after_completion(self, removed_jobs):
        self.of |= {job.id: job.start_time for job in removed_jobs}
"""

_SIMULATE = (
    STARTS
    + """
from cpsched import logs
from cpsched import systems

def simulated(workload, machine, out, name, again=False, additional=None, **options):
    if name.startswith("accasim:"):
        from accasim.base import allocator_class, scheduler_class

        dispatcher = getattr(scheduler_class, name[8:])(allocator_class.FirstFit())
    else:
        dispatcher = accasim_adapter.CpschedDispatcher(name, **options)
    more = [accasim_adapter.DispatchAgain()] if again else []
    if additional:
        more.append(accasim_adapter.CpschedPredictor(additional))
    more.append(starts := Starts())
    simulator = accasim_adapter.simulator(
        workload, machine, dispatcher=dispatcher, out=out, additional_data=more,
        scheduling_output=False, statistics_output=False, show_statistics=False, LOG_LEVEL="ERROR",
    )
    simulator.start_simulation()
    return starts.of

tasks, out = json.loads(sys.argv[1])
found = []
for log, system, first, dispatchers in tasks:
    workload, machine = logs.read(log).select(first=first), systems.load(system)
    found.append([simulated(workload, machine, out, **one) for one in dispatchers])
print(json.dumps(found))
"""
)


def accasim_starts(tasks, out):
    """
    Simulate logs in AccaSim, one after the other; return starts by job for each dispatcher.

    A task is a log, a system, how many of its jobs, and dispatchers by ``name``: ``accasim:CLASS``
    is one of AccaSim's own; options ``again`` and ``additional`` put a DispatchAgain and a
    CpschedPredictor beside it, the others are of CpschedDispatcher.
    """
    out.mkdir(exist_ok=True)
    task = json.dumps([[(str(log), str(system), *rest) for log, system, *rest in tasks], str(out)])
    return json.loads(in_process(_SIMULATE, task).splitlines()[-1])


def our_run(log, system, dispatcher="easy", predictor="requested", first=None):
    """Simulate here; like AccaSim, it kills nobody."""
    return simulate(
        logs.read(log).select(first=first),
        systems.load(system),
        dispatcher=dispatcher,
        predictor=predictor,
        settings=Settings(overrun="extend", enforce_time_limits=False),
    )


def our_starts(*asked, **more):
    """Return the starts of such a run by job, but of those that never fit: AccaSim drops them too."""
    schedule = our_run(*asked, **more).schedule
    pairs = zip(schedule.workload.job_id.tolist(), schedule.start.tolist(), strict=True)
    return {job: start for job, start in pairs if start != MISSING}


def generated(num_jobs=250, seed=3):
    """Bursts, runtimes beyond the request and of 0, GPUs, memory, users and queues."""
    rng = np.random.default_rng(seed)
    requested = rng.choice([60, 300, 300, 900, 3600], num_jobs)
    gpu = rng.random(num_jobs) < 0.2
    units = np.where(gpu, rng.integers(1, 3, num_jobs), rng.choice([1, 1, 2, 4, 12], num_jobs))
    return Workload.build(
        title="small",
        job_id=[str(job) for job in range(1, num_jobs + 1)],
        submit=np.cumsum(rng.choice([0, 0, 3, 20, 60, 900], num_jobs)),
        runtime=(requested * rng.choice([0, 0.1, 0.5, 1, 1.3], num_jobs)).astype(np.int64),
        requested_time=requested,
        units=units,
        request=np.stack(
            [rng.integers(1, 4, num_jobs), gpu, rng.integers(0, 2000, num_jobs)], axis=1
        ),
        resources=("core", "gpu", "mem"),
        user=rng.choice(["ann", "bob", "eve", ""], num_jobs).tolist(),
        name=rng.choice(["a", "b", ""], num_jobs).tolist(),
        queue=rng.choice(["short", "long"], num_jobs).tolist(),
    )
