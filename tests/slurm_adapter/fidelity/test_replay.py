"""What a dispatcher would have started, given what really ran."""

import numpy as np
import pytest
from queueing import queueing, recorded, site

from cpsched import systems
from cpsched.base.types import MISSING
from cpsched.mapping import fit
from cpsched.simulation.simulate import Settings
from slurm_adapter.fidelity.replay import replay

SYSTEM = site(8)
POLICY = """
[slurm]
PriorityWeightFairshare = 1000
PriorityWeightAge = 100
[[association]]
Account = "a"
[[association]]
Account = "b"
Share = 3
[[association]]
Account = "a"
User = "u0"
[[association]]
Account = "b"
User = "u1"
"""


def workload(num=300):
    return queueing(num, seed=4, runtimes=(300, 6000), most_over=3, most_units=16, users=2)


def asked(log, dispatcher):
    fitted = fit(log, systems.parse(SYSTEM))
    return replay(fitted, dispatcher=dispatcher, predictor="requested", settings=Settings())


def test_who_made_the_record_agrees_with_it_more_than_others():
    log = recorded(workload(), SYSTEM, "easy")
    own, other = asked(log, "easy"), asked(log, "fifo")
    assert own.jobs == 300
    assert own.same > 0.85
    assert own.same > other.same + 0.2
    # First come, first served never starts a job before EASY does.
    assert other.earlier == 0
    assert own.same + own.earlier + own.later == pytest.approx(1)


def test_slurm_takes_it_that_others_start_its_jobs(tmp_path):
    (tmp_path / "policy.toml").write_text(POLICY)
    spec = f"slurm:policy={tmp_path / 'policy.toml'}"
    log = recorded(workload(), SYSTEM, spec)
    own = asked(log, spec)
    # Fair share makes the order of the queue sensitive to a minute: between 0.3 and 0.8 by the jobs.
    assert own.same > asked(log, "fifo").same + 0.2


def test_a_record_that_waited_longer_is_told_as_earlier():
    log = workload(50)
    late = log.with_columns(recorded_start=log.submit + 500_000 + np.arange(50) * 6000)
    found = asked(late, "easy")
    assert found.earlier == 1
    assert found.median_earlier > 400_000


def test_jobs_that_never_started_are_left_out():
    log = recorded(workload(), SYSTEM, "easy")
    start, cancel = log.recorded_start.copy(), np.full(300, MISSING)
    start[:5] = MISSING
    cancel[2:5] = log.submit[2:5] + 10
    found = asked(log.with_columns(recorded_start=start, cancel=cancel), "easy")
    assert found.jobs == 295
    with pytest.raises(ValueError, match="no job has a recorded start"):
        asked(workload(), "easy")


def test_a_job_that_waited_for_another_is_not_asked_for_before():
    """On an empty machine job 1 waits an hour for job 0, in the record as well."""
    log = workload(2).with_columns(
        submit=np.array([0, 10]),
        runtime=np.array([3600, 5]),
        requested_time=np.array([3600, 10]),
        dependency=np.array([-1, 0]),
        recorded_start=np.array([0, 3600]),
    )
    assert asked(log, "easy").same == 1
