"""A live queue followed in a cluster: after each snapshot both hold the same."""

import random
from dataclasses import replace

import numpy as np
import pytest
from live_slurm import EURORA, submit

from cpsched.base.types import MISSING
from cpsched.errors import RunError
from cpsched.model import columns as c
from slurm_adapter.live import mirror as mirrors
from slurm_adapter.live.dependencies import is_ready
from slurm_adapter.live.mirror import Mirror, Stage
from slurm_adapter.live.order import Order
from slurm_adapter.live.requests import request_of
from slurm_adapter.live.snapshot import LiveJob, Reserved, Snapshot

pytestmark = pytest.mark.slow

KB = 1024


def ours(job):
    return job.held and job.admin_comment == "cpsched"


@pytest.fixture
def mirror():
    return Mirror(EURORA, "prb", mine=ours)


def same(mirror, slurm):
    """Check that the cluster has free what Slurm has."""
    left = slurm.free()
    free = np.array([[left[name][kind] for kind in EURORA.resources] for name in left])
    closed = [name in slurm._closed for name in EURORA.node_names]
    free[closed] = 0
    assert mirror.cluster.machine.free.tolist() == free.tolist()


def begin(mirror, slurm):
    chosen = mirror.decide(slurm.now)
    assert slurm.begin([Order(one.key, one.nodes) for one in chosen]) == {}
    return chosen


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("most_rows", [10, mirrors.MOST_ROWS])
def test_whatever_happens_both_hold_the_same(seed, most_rows, slurm, mirror, monkeypatch):
    """
    Jobs of others, cancelled, queued again, shrunk ones; nodes drained and down.

    Whether jobs that are over are forgotten often or not at all.
    """
    monkeypatch.setattr(mirrors, "MOST_ROWS", most_rows)
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
                held=chance.random() < 0.8, time_limit=chance.choice((30, 60, 3600, MISSING)),
            )  # fmt: skip
        running = [key for key, job in slurm.snapshot().jobs.items() if job.state == "RUNNING"]
        what = chance.random()
        if running and what < 0.1:
            slurm.cancel(chance.choice(running))
        elif running and what < 0.15:
            slurm.queue_again(chance.choice(running))
        elif running and what < 0.2:
            key = chance.choice(running)
            slurm.leave_with(key, slurm.snapshot().jobs[key].nodes[:1])
        elif what < 0.3:
            node = chance.choice(EURORA.node_names)
            if node in slurm._closed:
                slurm.open(node)
            else:
                slurm.close(node, down=what < 0.25)
        slurm.advance(chance.randrange(1, 4))
        snapshot = slurm.snapshot()
        mirror.follow(snapshot, slurm.ended(mirror.gone(snapshot)))
        # Others have taken the nodes of such jobs.
        late = [key for key, one in mirror.known.items() if one.stage is Stage.ORDERED]
        assert slurm.take_back([Order(key) for key in late]) == {}
        for key in late:
            mirror.undo(key, slurm.now)
        mirror.follow(slurm.snapshot())
        same(mirror, slurm)
        begin(mirror, slurm)
    assert len(slurm.orders) > 30


def estimates_of(mirror):
    columns = mirror.cluster.machine.store.columns
    return {key: int(columns[one.row, c.RUNTIME_ESTIMATE]) for key, one in mirror.known.items()}


def test_jobs_that_are_over_are_forgotten_and_what_was_learnt_of_them_is_not(slurm, monkeypatch):
    """
    200 jobs, one after the other: no more than 40 are remembered at any time.

    What the predictor says is what it says in a mirror that remembers all, and queues differ in
    nothing.
    """
    short, long = (Mirror(EURORA, "prb", "user-history", mine=ours) for _ in range(2))
    sizes = []
    for number in range(200):
        submit(slurm, seconds=5 + number % 7, user=f"u{number % 5}", time_limit=600)
        for mirror, most in ((short, 30), (long, 1000)):
            monkeypatch.setattr(mirrors, "MOST_ROWS", most)
            snapshot = slurm.snapshot()
            mirror.follow(snapshot, slurm.ended(mirror.gone(snapshot)))
        sizes.append(short.cluster.machine.store.size)
        chosen = short.decide(slurm.now)
        assert chosen == long.decide(slurm.now)
        slurm.begin([Order(one.key, one.nodes) for one in chosen])
        slurm.advance(2)
        for mirror in (short, long):
            # What is ordered is seen running before jobs are forgotten.
            mirror.follow(slurm.snapshot())
        same(short, slurm)
        assert short.known.keys() == long.known.keys()
    assert max(sizes) <= 40
    assert long.cluster.machine.store.size == 200
    key = submit(slurm, user="u3", time_limit=600)
    for mirror in (short, long):
        mirror.follow(slurm.snapshot())
    told = [estimates_of(mirror)[key] for mirror in (short, long)]
    assert told[0] == told[1] < 20


def test_no_job_starts_that_would_run_into_a_reservation(slurm, mirror):
    """All nodes but one are reserved in half an hour: an hour's job gets that one, or waits."""
    slurm.reserved = (Reserved(EURORA.node_names[1:], slurm.now + 1800, slurm.now + 3600),)
    long = [submit(slurm, cpus=16, tasks=16, time_limit=3600) for _ in range(2)]
    mirror.follow(slurm.snapshot())
    chosen = {one.key: one.nodes for one in begin(mirror, slurm)}
    assert chosen == {long[0]: ("node001",)}
    short = submit(slurm, cpus=16, tasks=16, time_limit=1740)
    mirror.follow(slurm.snapshot())
    assert [one.key for one in begin(mirror, slurm)] == [short]
    slurm.advance(2)
    mirror.follow(slurm.snapshot())
    assert slurm.snapshot().jobs[short].state == "RUNNING"
    # In force, its nodes are closed; when it is over they are not.
    slurm.advance(1800)
    assert len(slurm.snapshot().closed) == len(EURORA.node_names) - 1
    slurm.advance(1800)
    mirror.follow(slurm.snapshot())
    assert [one.key for one in begin(mirror, slurm)] == long[1:]


def test_what_runs_already_appears_with_what_is_left_of_its_time(slurm, mirror):
    """On a node that is drained by now, too."""
    key = submit(slurm, held=False, time_limit=1000)
    slurm.advance(100)
    node = slurm.snapshot().jobs[key].nodes[0]
    slurm.close(node)
    waiting = submit(slurm)
    slurm.advance(50)
    mirror.follow(slurm.snapshot())
    same(mirror, slurm)
    cluster = mirror.cluster
    row, waits = mirror.known[key].row, mirror.known[waiting].row
    columns = cluster.machine.store.columns
    assert columns[row, c.EXPECTED_END] - cluster.now == slurm.snapshot().jobs[key].end - slurm.now
    assert cluster.now - columns[waits, c.SUBMIT] == 50
    slurm.open(node)
    mirror.follow(slurm.snapshot())
    same(mirror, slurm)


def test_a_job_that_was_changed_is_asked_about_anew(slurm, mirror):
    """It keeps its place in time, and is what it is now."""
    key = submit(slurm, cpus=40, tasks=40)
    mirror.follow(slurm.snapshot())
    assert mirror.known[key].stage is Stage.UNFIT
    assert "node" in mirror.known[key].why
    slurm.advance(30)
    slurm.change(key, cpus=16, tasks=16)
    mirror.follow(slurm.snapshot())
    row = mirror.known[key].row
    assert mirror.known[key].stage is Stage.WAITING
    submitted = mirror.cluster.machine.store.columns[row, c.SUBMIT]
    assert mirror.epoch + submitted == slurm.now - 30


def test_jobs_of_others_only_appear_when_they_run(slurm, mirror):
    """Nor does one that somebody else released wait here any longer."""
    other = submit(slurm, admin_comment="", comment="mine")
    taken = submit(slurm)
    mirror.follow(slurm.snapshot())
    assert list(mirror.known) == [taken]
    slurm.change(taken, held=False)
    mirror.follow(slurm.snapshot())
    assert not mirror.known
    slurm.advance(2)
    mirror.follow(slurm.snapshot())
    assert list(mirror.known) == [taken]
    assert other in slurm.snapshot().jobs
    same(mirror, slurm)


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
    there = LiveJob(**{"key": "5", "state": "RUNNING", "submit": 0, **other})
    jobs = {one.key: one for one in (there, job)}
    assert is_ready(job, Snapshot(1000, jobs, frozenset())) == ready


def test_a_job_with_a_begin_waits_for_it(slurm, mirror):
    """Then it is let into the queue."""
    key = submit(slurm, eligible=slurm.now + 60)
    mirror.follow(slurm.snapshot())
    assert mirror.known[key].stage is Stage.HELD
    assert begin(mirror, slurm) == []
    slurm.advance(61)
    mirror.follow(slurm.snapshot())
    assert [one.key for one in begin(mirror, slurm)] == [key]


def test_it_goes_on_after_a_restart(slurm, mirror, tmp_path):
    """What a predictor has learnt is there, and the same is decided."""
    mirror = Mirror(EURORA, "easy", "user-history", mine=ours)
    for at in range(12):
        submit(slurm, user="ann", name="x", cpus=16, tasks=16, seconds=20 + at, exclusive=True)
    for _ in range(10):
        mirror.follow(snapshot := slurm.snapshot(), slurm.ended(mirror.gone(snapshot)))
        begin(mirror, slurm)
        slurm.advance(5)
    mirror.save(tmp_path / "state")
    again = Mirror(EURORA, "easy", "user-history", mine=ours)
    again.load(tmp_path / "state")
    key = submit(slurm, user="ann", name="x", seconds=20)
    snapshot = slurm.snapshot()
    for one in (mirror, again):
        one.follow(snapshot)
    assert again.known.keys() == mirror.known.keys()
    assert again.decide(slurm.now) == mirror.decide(slurm.now)
    told = [estimates_of(one)[key] for one in (mirror, again)]
    assert told[0] == told[1] < 100
    with pytest.raises(RunError):
        Mirror(EURORA, "prb", "user-history", mine=ours).load(tmp_path / "state")


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
