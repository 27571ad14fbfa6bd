"""The queue of a sandbox followed in a cluster: after each snapshot both hold the same."""

import random
from dataclasses import replace

import numpy as np
import pytest
from live_slurm import EURORA, submit

from cpsched.errors import RunError
from cpsched.model import columns as c
from cpsched.slurm.live.dependencies import is_ready
from cpsched.slurm.live.mirror import Stage
from cpsched.slurm.live.requests import request_of
from cpsched.slurm.live.snapshot import LiveJob, Reserved, Snapshot
from cpsched.slurm.sandbox.follower import Follower, warm_up
from cpsched.util.types import MISSING

pytestmark = pytest.mark.slow

KB = 1024


@pytest.fixture
def mirror():
    return Follower(EURORA, "greedy")


def same(mirror, slurm):
    """Check that the cluster has free what Slurm has."""
    left = slurm.free()
    free = np.array([[left[name][kind] for kind in EURORA.resources] for name in left])
    closed = [name in slurm._closed for name in EURORA.node_names]
    free[closed] = 0
    assert mirror.cluster.machine.free.tolist() == free.tolist()


def follow(mirror, slurm):
    snapshot = slurm.snapshot()
    mirror.follow(snapshot, slurm.ended(mirror.gone(snapshot)))


def begin(mirror, slurm):
    chosen = mirror.decide(slurm.now)
    assert slurm.begin(chosen) == {}
    return chosen


@pytest.mark.parametrize("seed", range(5))
def test_whatever_happens_both_hold_the_same(seed, slurm, mirror):
    """Jobs are cancelled and shrunk, nodes drained and opened."""
    chance = random.Random(seed)
    wide = chance.random() < 0.5
    for _ in range(120):
        for _ in range(chance.randrange(3)):
            nodes = chance.choice((1, 1, 2, 4) if wide else (1,))
            cores = nodes * chance.choice((1, 3, 8, 16))
            submit(
                slurm, nodes_min=nodes, nodes_max=nodes, cpus=cores, tasks=cores,
                seconds=chance.randrange(1, 60), exclusive=chance.random() < 0.1,
                gres_per_node=chance.choice(("", "", "gres:gpu:1", "gres:mic:1")),
                tasks_per_node=cores // nodes,
                time_limit=chance.choice((30, 60, 3600, MISSING)),
            )  # fmt: skip
        running = [key for key, job in slurm.snapshot().jobs.items() if job.state == "RUNNING"]
        what = chance.random()
        if running and what < 0.1:
            slurm.cancel(chance.choice(running))
        elif running and what < 0.2:
            key = chance.choice(running)
            slurm.leave_with(key, slurm.snapshot().jobs[key].nodes[:1])
        elif what < 0.25:
            node = chance.choice(EURORA.node_names)
            if node in slurm._closed:
                slurm.open(node)
            else:
                slurm.close(node)
        follow(mirror, slurm)
        same(mirror, slurm)
        jobs = slurm.snapshot().jobs
        begin(mirror, slurm)
        slurm.advance()
        follow(mirror, slurm)
        # Their nodes are taken: Slurm fills nodes in another way than the dispatcher.
        late = [key for key, known in mirror.known.items() if known.stage is Stage.STARTED]
        for key in late:
            slurm.withdraw(jobs[key])
            mirror.undo(key, slurm.now)
        follow(mirror, slurm)
        same(mirror, slurm)
        slurm.advance(chance.randrange(3))
    assert len(slurm.commands) > 30


def test_no_job_starts_that_would_run_into_a_reservation(slurm, mirror):
    """All nodes but one are reserved in half an hour: an hour's job gets that one, or waits."""
    slurm.reserved = (Reserved(EURORA.node_names[1:], slurm.now + 1800, slurm.now + 3600),)
    long = [submit(slurm, cpus=16, tasks=16, time_limit=3600) for _ in range(2)]
    follow(mirror, slurm)
    chosen = {start.key: start.nodes for start in begin(mirror, slurm)}
    assert chosen == {long[0]: ("node001",)}
    short = submit(slurm, cpus=16, tasks=16, time_limit=1740)
    follow(mirror, slurm)
    assert [start.key for start in begin(mirror, slurm)] == [short]
    slurm.advance(2)
    follow(mirror, slurm)
    assert slurm.snapshot().jobs[short].state == "RUNNING"
    # In force, its nodes are closed; when it is over they are not.
    slurm.advance(1800)
    assert len(slurm.snapshot().closed) == len(EURORA.node_names) - 1
    slurm.advance(1800)
    follow(mirror, slurm)
    assert [start.key for start in begin(mirror, slurm)] == long[1:]


def test_what_runs_already_appears_with_what_is_left_of_its_time(slurm, mirror):
    """On a node that is drained by now, too."""
    key = submit(slurm, held=False, time_limit=1000)
    slurm.advance(100)
    node = slurm.snapshot().jobs[key].nodes[0]
    slurm.close(node)
    waiting = submit(slurm)
    slurm.advance(50)
    follow(mirror, slurm)
    same(mirror, slurm)
    cluster = mirror.cluster
    row, waits = mirror.known[key].row, mirror.known[waiting].row
    columns = cluster.machine.store.columns
    assert columns[row, c.EXPECTED_END] - cluster.now == slurm.snapshot().jobs[key].end - slurm.now
    assert cluster.now - columns[waits, c.SUBMIT] == 50
    slurm.open(node)
    follow(mirror, slurm)
    same(mirror, slurm)


def test_a_job_that_was_changed_is_asked_about_anew(slurm, mirror):
    """It keeps its place in time, and is what it is now."""
    key = submit(slurm, cpus=40, tasks=40)
    follow(mirror, slurm)
    assert mirror.known[key].stage is Stage.UNFIT
    assert "node" in mirror.known[key].why
    slurm.advance(30)
    slurm.change(key, cpus=16, tasks=16)
    follow(mirror, slurm)
    row = mirror.known[key].row
    assert mirror.known[key].stage is Stage.WAITING
    submitted = mirror.cluster.machine.store.columns[row, c.SUBMIT]
    assert mirror.epoch + submitted == slurm.now - 30


def test_jobs_that_nobody_holds_only_appear_when_they_run(slurm, mirror):
    """Nor does one that somebody else released wait here any longer."""
    other, taken = submit(slurm, held=False), submit(slurm)
    follow(mirror, slurm)
    assert list(mirror.known) == [taken]
    slurm.change(taken, held=False)
    follow(mirror, slurm)
    assert not mirror.known
    slurm.advance(2)
    follow(mirror, slurm)
    assert set(mirror.known) == {other, taken}
    same(mirror, slurm)


def test_a_job_that_runs_elsewhere_than_decided_is_an_error(slurm, mirror):
    """Whether it is seen running, or has ended meanwhile."""
    keys = [submit(slurm, seconds=seconds) for seconds in (1, 50)]
    for key in keys:
        follow(mirror, slurm)
        assert [start.nodes for start in mirror.decide(slurm.now) if start.key == key] != []
        slurm.begin([(key, ("node060",))])
        slurm.advance(4)
        with pytest.raises(RunError, match=f"job {key} runs on node060, must run on node001"):
            follow(mirror, slurm)
        mirror = Follower(EURORA, "greedy")


def test_a_start_that_slurm_refuses_is_decided_again(slurm, mirror):
    key = submit(slurm)
    follow(mirror, slurm)
    first = mirror.decide(slurm.now)
    assert mirror.decide(slurm.now) == []
    mirror.undo(key, slurm.now)
    assert mirror.decide(slurm.now) == first


def test_a_predictor_learns_from_jobs_that_end(slurm):
    mirror = Follower(EURORA, "easy", "user-history")
    for at in range(12):
        submit(slurm, user="ann", name="x", cpus=16, tasks=16, seconds=20 + at, exclusive=True)
    for _ in range(10):
        follow(mirror, slurm)
        begin(mirror, slurm)
        slurm.advance(5)
    key = submit(slurm, user="ann", name="x", seconds=20)
    follow(mirror, slurm)
    columns = mirror.cluster.machine.store.columns
    assert columns[mirror.known[key].row, c.RUNTIME_ESTIMATE] < 100


def test_warming_up_is_without_effect_on_the_loop(slurm, mirror):
    warm_up(EURORA, "easy")
    assert mirror.known == {}


@pytest.mark.parametrize(
    ("dependency", "other", "ready"),
    [
        ("", {}, True),
        ("afterany:5(unfulfilled)", {}, False),
        ("afterany:5(unfulfilled)", {"state": "COMPLETING"}, True),
        ("afterok:6(unfulfilled)", {}, True),
        ("after:5(unfulfilled)", {}, True),
        ("after:5+10(unfulfilled)", {"state": "PENDING"}, False),
        ("afterok:4_*(unfulfilled)", {"key": "4_7", "array": "4", "state": "PENDING"}, False),
        ("afterok:4_2(unfulfilled)", {"key": "4_7", "array": "4", "state": "PENDING"}, True),
        ("singleton(unfulfilled)", {"number": 5, "name": "x", "user": "u"}, False),
        # One that runs keeps another of its name waiting, whatever its number.
        ("singleton(unfulfilled)", {"number": 12, "name": "x", "user": "u"}, False),
        (
            "singleton(unfulfilled)",
            {"number": 12, "name": "x", "user": "u", "state": "PENDING"},
            True,
        ),
        # Ten minutes from a start at 500 are not over at 1000; eight are.
        ("after:5+10(unfulfilled)", {"start": 500}, False),
        ("after:5+8(unfulfilled)", {"start": 500}, True),
        # One of several is enough: job 6 is gone.
        ("afterany:5(unfulfilled)?afterany:6(unfulfilled)", {}, True),
        ("afterany:5(unfulfilled)?after:5+10(unfulfilled)", {"start": 500}, False),
        ("afterany:5(unfulfilled),afterany:6(unfulfilled)", {}, False),
    ],
)
def test_dependencies_of_held_jobs(dependency, other, ready):
    """Slurm does not look at them while a job is held."""
    waits = {"number": 9, "dependency": dependency, "name": "x", "user": "u"}
    job = LiveJob(key="9", state="PENDING", submit=0, **waits)
    other_job = LiveJob(**{"key": "5", "state": "RUNNING", "submit": 0, **other})
    jobs = {entry.key: entry for entry in (other_job, job)}
    assert is_ready(job, Snapshot(1000, jobs, frozenset())) == ready


def test_a_job_with_a_begin_waits_for_it(slurm, mirror):
    """Then it is let into the queue."""
    key = submit(slurm, eligible=slurm.now + 60)
    follow(mirror, slurm)
    assert mirror.known[key].stage is Stage.HELD
    assert begin(mirror, slurm) == []
    slurm.advance(61)
    follow(mirror, slurm)
    assert [start.key for start in begin(mirror, slurm)] == [key]


def test_requests_say_what_slurm_was_asked_for():
    """Tasks of several cores, GPUs for the job, nodes that must not be there."""
    job = LiveJob(
        key="1", state="PENDING", submit=0, cpus=12, tasks=6, cpus_per_task=2, nodes_min=3,
        nodes_max=3, mem=100 * KB, mem_per_core=True, gres_per_job="gres:gpu:3", tasks_per_node=2,
        excluded=("node033",), features="gpu|mic", partition="parallel,debug", time_limit=60,
    )  # fmt: skip
    request = request_of(job, EURORA)
    assert (request.units, request.resources) == (6, {"core": 2, "mem": 200 * KB})
    assert (request.per_node, request.split) == ({"gpu": 1}, "even")
    assert request.constraint == "gpu|mic&^node033"
    assert (request.nodes_min, request.nodes_max, request.queue) == (3, 3, "parallel,debug")
    range_of = request_of(replace(job, nodes_max=5, tasks_per_node=0), EURORA)
    assert (range_of.nodes_min, range_of.nodes_max, range_of.split) == (3, 5, "any")
    assert request_of(replace(job, mem=0), EURORA).exclusive


@pytest.mark.parametrize(
    ("asked", "units", "resources", "per_node"),
    [
        # 4 GPUs on 2 nodes divide; 3 do not, and come with 2 cores each.
        ({"gres_per_job": "gres:gpu:4"}, 6, {"core": 1}, {"gpu": 2}),
        ({"gres_per_job": "gres:gpu:3"}, 3, {"core": 2, "gpu": 1}, {}),
        # On 2 to 4 nodes a share of a node would be 2, and 8 in all.
        ({"gres_per_job": "gres:gpu:3", "nodes_max": 4}, 3, {"core": 2, "gpu": 1}, {}),
        # A task of 2 cores has a GPU; a task of no cores of its own does not divide.
        (
            {"gres_per_task": "gres:gpu:1", "cpus_per_task": 2, "tasks": 3},
            3,
            {"core": 2, "gpu": 1},
            {},
        ),
        ({"gres_per_task": "gres:gpu:1", "tasks": 2}, 6, {"core": 1}, {"gpu": 1}),
        ({"gres_per_node": "gres:gpu:2", "gres_per_job": "gres:mic:2"}, 6, {"core": 1},
         {"gpu": 2, "mic": 1}),
        # One core more than GPUs: no smaller unit, so that each node has 2.
        ({"gres_per_job": "gres:gpu:3", "cpus": 4, "tasks": 4}, 4, {"core": 1}, {"gpu": 2}),
    ],
)  # fmt: skip
def test_generic_resources_in_all_are_counted_in_all(asked, units, resources, per_node):
    usual = {"cpus": 6, "tasks": 6, "nodes_min": 2, "nodes_max": 2, "mem": KB}
    job = LiveJob(key="1", state="PENDING", submit=0, **{**usual, **asked})
    request = request_of(job, EURORA)
    del request.per_node["mem"]
    assert (request.units, request.resources, request.per_node) == (units, resources, per_node)
