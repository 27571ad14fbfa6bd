"""Known answers, job by job: the first jobs of HPC2N under textbook rules."""

import csv
import gzip

import pytest

from cpsched import logs, systems
from cpsched.model.system import LogMapping, ProcessorMapping
from cpsched.simulation.simulate import simulate
from cpsched.verification import verify

pytestmark = pytest.mark.slow

#: Our name of each rule in the golden files.
RULES = {"fifo": "fcfs", "sjf": "sjf", "ljf": "ljf", "easy": "easy"}


def _golden(shared, jobs, rule):
    path = shared / "golden" / f"hpc2n_cap_{jobs}_{rule}.csv.gz"
    with gzip.open(path, "rt") as file:
        return {row["job_id"]: (int(row["start"]), int(row["end"])) for row in csv.DictReader(file)}


def _simulated(workload, system, dispatcher):
    schedule = simulate(workload, system, dispatcher=dispatcher).schedule
    assert verify(schedule) == []
    times = zip(schedule.start.tolist(), schedule.end.tolist(), strict=True)
    return dict(zip(workload.job_id.tolist(), times, strict=True))


@pytest.mark.shared
@pytest.mark.parametrize("dispatcher", RULES)
def test_every_job_starts_and_ends_as_the_golden_schedule_says(shared, dispatcher):
    """On one counted pool of 240 processors, as ``hpc2n`` describes it."""
    workload = logs.read(shared / "golden" / "hpc2n_cap_20000.swf.gz")
    simulated = _simulated(workload, systems.load("hpc2n"), dispatcher)
    assert simulated == _golden(shared, 20000, RULES[dispatcher])


@pytest.mark.shared
@pytest.mark.parametrize("dispatcher", RULES)
def test_the_layout_of_nodes_makes_no_difference(shared, dispatcher):
    """The same on 120 nodes of 2 processors, units anywhere."""
    from dataclasses import replace

    workload = logs.read(shared / "golden" / "hpc2n_cap_5000.swf.gz")
    workload = workload.with_columns(layout="units")
    machine = replace(systems.load("hpc2n"), log=LogMapping(processors=ProcessorMapping.PACKED))
    assert machine.num_nodes == 120
    simulated = _simulated(workload, machine, dispatcher)
    assert simulated == _golden(shared, 5000, RULES[dispatcher])
