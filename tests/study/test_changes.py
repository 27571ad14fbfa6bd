"""Changes to machines and logs: what a scenario is made of."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpsched import systems
from cpsched.errors import ConfigError
from cpsched.model.workload import Workload
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
