"""Changes to machines and logs: what a scenario is made of."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import jobs, machine, run, starts

from cpsched import systems
from cpsched.errors import ConfigError
from cpsched.model.schedule import JobOutcome
from cpsched.model.system import Queue
from cpsched.model.workload import Workload
from cpsched.slurm.dispatch import policy_file
from cpsched.slurm.dispatch.dispatcher import Slurm
from cpsched.study.changes import changed_system, changed_workload
from cpsched.util.types import MISSING

SITE = """
name = "site"
resources = ["core", "gpu"]
[[nodes]]
group = "thin"
count = 4
names = "t{}"
core = 16
[[nodes]]
group = "gpu"
count = 2
names = "g{}"
features = ["a100"]
weight = 5
core = 32
gpu = 4
[[queues]]
name = "short"
default = true
max_time = "4:00:00"
[[queues]]
name = "gpu"
groups = ["gpu"]
"""
TREE = "[topology]\nlevel_sizes = [2, 4]\n"


def site(more=""):
    return systems.parse(SITE + more)


def log(num=10, **columns):
    given = {
        "job_id": [f"j{at}" for at in range(num)],
        "submit": np.arange(num) * 3600,
        "runtime": np.full(num, 600),
        "requested_time": np.full(num, 7200),
        "units": np.ones(num),
        "request": [[1, at % 2] for at in range(num)],
        "resources": ("core", "gpu"),
        "queue": ["short", "gpu"] * (num // 2) + ["short"] * (num % 2),
        "user": ["ann", "bob"] * (num // 2) + ["ann"] * (num % 2),
        "title": "log",
    }
    return Workload.build(**{**given, **columns})


def test_more_nodes_are_like_the_last_one_of_their_group():
    more = changed_system(site(), ["add-nodes:group=gpu,count=2"])
    assert more.node_names == ("t1", "t2", "t3", "t4", "g1", "g2", "g3", "g4")
    assert more.capacity[-1].tolist() == [32, 4]
    assert more.node_groups[-1] == "gpu"
    assert more.features[-1] == {"a100"}
    assert more.weights.tolist() == [0] * 4 + [5] * 4
    # What is added twice gets other names.
    again = changed_system(more, ["add-nodes:group=gpu,count=1"])
    assert again.node_names[-1] == "g5"
    # Those that are taken are passed over, and names without a number get one.
    odd = systems.parse(
        SITE.replace('names = "t{}"', 'names = "g{}.x"').replace("count = 4", "count = 1")
    )
    assert changed_system(odd, ["add-nodes:group=thin,count=1"]).node_names[-1] == "g2.x"


def test_more_nodes_of_a_tree_are_under_a_switch_of_their_own():
    more = changed_system(site(TREE), ["add-nodes:group=thin,count=3"])
    assert more.topology.levels.tolist() == [
        [0, 0, 1, 1, 2, 2, 3, 3, 3],
        [0] * 4 + [1] * 2 + [2] * 3,
    ]


def test_fewer_nodes():
    named = changed_system(site(TREE), ['remove-nodes:nodes="t[2-4],g1"'])
    assert named.node_names == ("t1", "g2")
    assert named.topology.levels.tolist() == [[0, 1], [0, 1]]
    counted = changed_system(site(), ["remove-nodes:group=thin,count=3"])
    assert counted.node_names == ("t1", "g1", "g2")
    none = changed_system(site(), ["remove-nodes:group=thin,count=4"])
    assert set(none.node_groups) == {"gpu"}


def test_a_limit_on_time_shortens_what_jobs_ask_for():
    changes = ["max-time:queue=short,time=1:00:00"]
    system = changed_system(site(), changes)
    assert system.queues["short"].max_time == 3600
    workload = log(3, queue=["short", "gpu", None], requested_time=[7200, 7200, MISSING])
    assert changed_workload(workload, system, changes).requested_time.tolist() == [
        3600,
        7200,
        MISSING,
    ]
    # A job that names no queue is in the default one.
    unnamed = log(1, queue=[None])
    assert changed_workload(unnamed, system, changes).requested_time.tolist() == [3600]


#: Slurm: first come, first served in a tier, and backfill at every second.
BASIC = {"PriorityType": "priority/basic", "bf_interval": "1", "bf_resolution": "1"}


def slurm():
    return Slurm(policy_file.parse(""), **BASIC)


def test_jobs_of_a_queue_go_first_after_a_change_of_its_tier():
    """One node: A runs until 10, and of B and C the one of the higher tier follows."""
    before = machine((1,), queues=[Queue(name="low"), Queue(name="high")])
    workload = jobs((0, 1, 10), (1, 1, 5), (2, 1, 5), queue=["low", "low", "high"])
    after = changed_system(before, ["priority-tier:queue=high,tier=1"])
    assert after.queues["high"].priority_tier == 1
    assert starts(workload, before, slurm()) == [0, 10, 15]
    assert starts(workload, after, slurm()) == [0, 15, 10]
    level = changed_system(after, ["priority-tier:queue=high,tier=0"])
    assert starts(workload, level, slurm()) == [0, 10, 15]


def test_a_default_time_is_what_jobs_without_one_ask_for():
    """Two cores: A has one until 100, B waits for both, and C asks for no time."""
    before = machine((2,), queues=[Queue(name="q", default=True, max_time=500, default_time=500)])
    workload = jobs((0, 1, 100), (1, 2, 10), (2, 1, 60), requested_time=[100, 10, MISSING])
    after = changed_system(before, ["default-time:queue=q,time=90"])
    assert starts(workload, before, slurm()) == [0, 100, 110]
    assert starts(workload, after, slurm()) == [0, 100, 2]
    # It runs for 60 s, and is killed if it may run for 50.
    short = run(workload, changed_system(before, ["default-time:queue=q,time=50"]), slurm())
    assert short.schedule.outcome.tolist() == [JobOutcome.COMPLETED] * 2 + [JobOutcome.TIMEOUT]
    # All jobs ask for a time: nothing changes.
    asking = workload.with_columns(requested_time=np.array([100, 10, 500]))
    assert starts(asking, after, slurm()) == starts(asking, before, slurm())


def test_a_queue_without_a_default_time_gets_one_and_a_lower_limit_lowers_it():
    system = changed_system(site(), ["default-time:queue=short,time=2:00:00"])
    assert system.queues["short"].default_time == 7200
    lower = changed_system(system, ["max-time:queue=short,time=1:00:00"])
    assert lower.queues["short"].default_time == 3600
    # A queue without a limit takes any.
    endless = changed_system(site(), ["default-time:queue=gpu,time=9-0"])
    assert endless.queues["gpu"].default_time == 9 * 86400


def test_requests_are_capped_by_a_time_or_by_what_jobs_run():
    workload = log(3, requested_time=[100, 7200, MISSING], runtime=[90, 601, 5])
    for change, asked in (
        ("time=0:10:00", [100, 600, MISSING]),
        ("factor=1.5", [100, 902, MISSING]),
    ):
        changed = changed_workload(workload, site(), [f"cap-request:{change}"])
        assert changed.requested_time.tolist() == asked


def test_some_jobs_are_dropped_or_kept():
    for change, left in (
        ("drop:user=ann", [1, 3, 5, 7, 9]),
        ("keep:user=ann", [0, 2, 4, 6, 8]),
        ("drop:gpu=yes", [0, 2, 4, 6, 8]),
        ("keep:queue=gpu,gpu=yes", [1, 3, 5, 7, 9]),
    ):
        changed = changed_workload(log(), site(), [change])
        assert changed.job_id.tolist() == [f"j{at}" for at in left]


@settings(max_examples=40)
@given(factor=st.floats(0.1, 5), num=st.integers(2, 60), weeks=st.integers(0, 5))
def test_load_is_scaled_by_copies_that_keep_the_rhythm(factor, num, weeks):
    step = max(weeks * 7 * 86400 // num, 1)
    workload = log(
        num, submit=np.arange(num) * step, begin=np.arange(num) * step + 5,
        dependency=np.arange(num) - 1,
    )  # fmt: skip
    if round(factor * num) == 0:
        return
    changed = changed_workload(workload, site(), [f"scale-load:factor={factor},seed=3"])
    assert len(changed) == round(factor * num)
    assert (changed.begin == changed.submit + 5).all()
    period = 7 * 86400 if workload.submit[-1] >= 2 * 7 * 86400 - 1 else 86400
    of_id = dict(zip(workload.job_id.tolist(), workload.submit.tolist(), strict=True))
    for job_id, submit, needed in zip(
        changed.job_id.tolist(), changed.submit.tolist(), changed.dependency.tolist(), strict=True
    ):
        name, plus, _ = job_id.partition("+")
        assert (submit - of_id[name]) % period == 0
        if plus:
            assert needed == -1
        elif needed >= 0:
            assert changed.job_id[needed] == f"j{int(name[1:]) - 1}"
    if factor >= 1:
        assert set(of_id) <= set(changed.job_id.tolist())
    again = changed_workload(workload, site(), [f"scale-load:factor={factor},seed=3"])
    assert again.digest() == changed.digest()


def test_load_is_scaled_by_submits_closer_together():
    changed = changed_workload(log(3), site(), ["scale-load:factor=2,how=times"])
    assert changed.submit.tolist() == [0, 1800, 3600]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("add-nodes:group=gpus,count=1", "unknown node group 'gpus'.*mean 'gpu'"),
        ("add-nodes:group=gpu,count=0", "count is 0"),
        ("remove-nodes:group=gpu,count=3", "group 'gpu' has 2 nodes"),
        ("remove-nodes:group=gpu,count=2", "leaves queue 'gpu' without a node"),
        ("remove-nodes:nodes=t9", "unknown node 't9'"),
        ("remove-nodes:nodes=t[", "is not a list of hosts"),
        ('remove-nodes:nodes="t[1-4],g[1-2]"', "leaves no node"),
        ("remove-nodes", "needs either nodes"),
        ("max-time:queue=shrt,time=1:00:00", "unknown queue 'shrt'.*mean 'short'"),
        ("max-time:queue=short,time=soon", "time: 'soon' is not a length of time"),
        ("default-time:queue=shrt,time=1:00:00", "unknown queue 'shrt'.*mean 'short'"),
        ("default-time:queue=short,time=soon", "time: 'soon' is not a length of time"),
        ("default-time:queue=short,time=0", "time is 0, must be 1 or more"),
        (
            "default-time:queue=short,time=5:00:00",
            "18000 s is more than max_time of queue 'short' allows \\(14400 s\\)",
        ),
        ("priority-tier:queue=shrt,tier=1", "unknown queue 'shrt'.*mean 'short'"),
        ("priority-tier:queue=short,tier=-1", "tier is -1, must be 0 or more"),
        ("priority-tier:queue=short,tier=high", "tier: .*whole number"),
        ("drop:user=an", "no job of the log has the user 'an'.*mean 'ann'"),
        ("drop", "names no jobs"),
        ("drop:gpu=maybe", "is not yes or no"),
        ("cap-request", "needs either time or factor"),
        ("cap-request:factor=0.5", "must be from 1"),
        ("scale-load:factor=0", "must be from 0.01"),
        ("scale-load:factor=2,how=dice", "must be one of: copies, times"),
        ("move-nodes:count=1", "move-nodes"),
    ],
)
def test_a_change_that_cannot_be_made_says_why(change, message):
    with pytest.raises((ConfigError, ValueError), match=message):
        changed_workload(log(), changed_system(site(), [change]), [change])


def test_a_change_that_leaves_no_job_is_refused():
    with pytest.raises(ConfigError, match="leaves no job"):
        changed_workload(log(2, user=["ann", "ann"]), site(), ["drop:user=ann"])


def test_a_torus_stays_as_it_is():
    with pytest.raises(ConfigError, match="a torus has a fixed size"):
        changed_system(site("[topology]\nsides = [2, 3]\n"), ["add-nodes:group=thin,count=1"])
