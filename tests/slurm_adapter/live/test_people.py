"""What users and operators do to jobs under an engine: it concerns those jobs, and is respected."""

import errno
import threading

import pytest
from fake_slurm import FakeSlurm
from live_slurm import steps, submit

from cpsched.errors import RunError
from slurm_adapter.live import pause_command
from slurm_adapter.live.engine import Limits


def job_of(slurm, key):
    return slurm.snapshot().jobs[key]


def states(slurm, *keys):
    return [job_of(slurm, key).state for key in keys]


@pytest.fixture
def pausing(slurm, cpsched, monkeypatch, tmp_path):
    """Run ``pause`` or ``resume`` for the engine's folder."""
    monkeypatch.setattr(pause_command, "backend_of", lambda _="": slurm)

    def run(*words, code=0):
        found, out, err = cpsched("slurm", *words, "--state", str(tmp_path / "state"))
        assert found == code, err
        return out + err

    return run


def test_a_job_that_its_owner_moves_is_set_aside(slurm, make):
    """It is followed where it runs, and its owner told; other jobs start, after a restart, too."""
    moved = submit(slurm, user="ann")
    engine = make()
    with engine.opened():
        engine.cycle()
        slurm.change(moved, required=("node060",))
        slurm.advance()
        other = submit(slurm)
        steps(engine, slurm, 3)
        assert engine.counts.aside == 1
        assert engine.counts.wrong == 0
    assert states(slurm, moved, other) == ["RUNNING", "RUNNING"]
    why = "runs on node060, but should run on node001"
    assert f"job {moved} of user ann is set aside: it {why}" in engine.said
    assert job_of(slurm, moved).admin_comment == f"cpsched:aside {why}"
    engine = make()
    with engine.opened():
        third = submit(slurm)
        steps(engine, slurm, 3)
    assert states(slurm, third) == ["RUNNING"]
    assert engine.counts.aside == 0


def test_a_job_that_its_owner_makes_larger_or_smaller_is_set_aside(slurm, engine, monkeypatch):
    """Its required nodes are still those of the order."""
    larger, smaller = submit(slurm), submit(slurm, nodes_min=2, nodes_max=2)
    engine.cycle()
    place = FakeSlurm._place
    monkeypatch.setattr(
        FakeSlurm, "_place", lambda self, job, names, free: place(
            self, job, ["node001", "node060"] if job.key == larger else names, free
        ),
    )  # fmt: skip
    slurm.advance()
    slurm.leave_with(smaller, {slurm.snapshot().jobs[smaller].nodes[0]})
    engine.cycle()
    assert (engine.counts.aside, engine.counts.wrong) == (2, 0)


def test_a_job_that_its_owner_moves_and_requeues_is_set_aside(slurm, engine):
    """What it asks for then is as it was ordered, but it is not what it ran with."""
    key = submit(slurm)
    engine.cycle()
    slurm.change(key, required=("node060",))
    slurm.advance()
    slurm.change(key, state="COMPLETING", required=("node001",), end=slurm.now)
    engine.cycle()
    assert (engine.counts.aside, engine.counts.wrong) == (1, 0)


def test_a_job_that_slurm_always_refuses_is_left_to_slurm(slurm, engine, monkeypatch):
    """With its own request, released, and told; the others start."""
    refused, *others = submit(slurm, user="ann"), submit(slurm)
    begin = FakeSlurm._begin

    def but_one(self, order, job):
        return "Job is strange" if order.job == refused else begin(self, order, job)

    monkeypatch.setattr(FakeSlurm, "_begin", but_one)
    monkeypatch.setattr("slurm_adapter.live.orders._LONGEST_REST", 0)
    steps(engine, slurm, 8)
    assert states(slurm, refused, *others) == ["RUNNING", "RUNNING"]
    assert f"release {refused}" in slurm.orders
    why = "cannot be ordered: Job is strange"
    assert job_of(slurm, refused).admin_comment == f"cpsched:aside {why}"
    assert (engine.counts.aside, engine.counts.refused) == (1, 5)


def test_orders_of_all_users_refused_stop_it(slurm, engine, monkeypatch):
    """Then the fault is its own."""
    for user in ("ann", "bob", "eve"):
        submit(slurm, user=user)
    monkeypatch.setattr(FakeSlurm, "_begin", lambda *_: "Invalid node name specified")
    monkeypatch.setattr("slurm_adapter.live.orders._LONGEST_REST", 0)
    with pytest.raises(RunError, match="refuses the orders of 3 users"):
        steps(engine, slurm, 8)


def test_a_job_that_fits_nowhere_according_to_slurm_is_left_to_slurm(slurm, engine, monkeypatch):
    """After some tries."""
    key = submit(slurm)
    monkeypatch.setattr(
        FakeSlurm, "_try", lambda self, job, _: self.change(job.key, reason="BadConstraints")
    )
    monkeypatch.setattr("slurm_adapter.live.orders._LONGEST_REST", 0)
    steps(engine, slurm, 14)
    assert engine.counts.aside == 1
    assert (job_of(slurm, key).held, job_of(slurm, key).required) == (False, ())


def test_a_hold_of_an_operator_is_respected(slurm, engine):
    """Before the job is ordered, and between order and start; until the operator gives it back."""
    first = submit(slurm)
    slurm.change(first, reason="JobHeldAdmin")
    steps(engine, slurm, 3)
    assert slurm.orders == []
    slurm.change(first, reason="JobHeldUser")
    engine.cycle()
    slurm.change(first, held=True, reason="JobHeldAdmin")
    steps(engine, slurm, 9)
    assert (job_of(slurm, first).held, job_of(slurm, first).reason) == (True, "JobHeldAdmin")
    assert job_of(slurm, first).required == ()
    slurm.change(first, reason="JobHeldUser")
    steps(engine, slurm, 2)
    assert states(slurm, first) == ["RUNNING"]


@pytest.mark.parametrize("forgotten", [False, True])
def test_a_hold_of_an_owner_before_the_start_is_respected(forgotten, slurm, engine, pausing):
    """It is marked as one; a controller that has forgotten the release holds nothing."""
    key = submit(slurm, comment="my own")
    engine.cycle()
    slurm.change(key, held=True, reason="JobHeldUser")
    slurm.boot = 2**40 if forgotten else 0
    steps(engine, slurm, 9)
    assert states(slurm, key) == ["RUNNING" if forgotten else "PENDING"]
    if not forgotten:
        assert job_of(slurm, key).comment == "cpsched:hold my own"
        pausing("resume", key)
        steps(engine, slurm, 2)
        assert states(slurm, key) == ["RUNNING"]
        assert job_of(slurm, key).comment == "my own"


def test_jobs_users_and_partitions_are_paused_and_resumed(slurm, engine, pausing):
    """All others start."""
    key = submit(slurm, admin_comment="", comment="cpsched")
    of_user, of_partition = submit(slurm, user="ann"), submit(slurm, partition="debug,parallel")
    other, kept = submit(slurm, user="bob"), (key, of_user, of_partition)
    slurm.change(of_partition, time_limit=60)
    pausing("pause", key)
    assert job_of(slurm, key).comment == "cpsched:hold cpsched"
    said = pausing("pause", "--user", "ann", "--partition", "parallel")
    assert said == "1 partition and 1 user are paused now.\n"
    steps(engine, slurm, 3)
    assert states(slurm, other, *kept) == ["RUNNING", *["PENDING"] * 3]
    pausing("resume", key)
    pausing("resume", "--user", "ann", "--partition", "parallel")
    steps(engine, slurm, 3)
    assert states(slurm, key, of_user) == ["RUNNING"] * 2


def test_an_array_is_paused_as_a_whole(slurm, engine, pausing):
    """And one of its tasks resumed."""
    first, second = (submit(slurm, key=f"12_{task}", array="12") for task in (1, 2))
    pausing("pause", "12")
    steps(engine, slurm, 2)
    assert states(slurm, first, second) == ["PENDING", "PENDING"]
    pausing("resume", second)
    steps(engine, slurm, 2)
    assert states(slurm, first, second) == ["PENDING", "RUNNING"]


def test_what_cannot_be_paused_is_said(pausing, cpsched, slurm):
    """A job that is not there, or partitions without the engine's folder."""
    assert "is no waiting job" in pausing("pause", "77", code=2)
    code, _, err = cpsched("slurm", "pause", "--user", "ann")
    assert code == 2
    assert "--state" in err


def test_a_job_set_aside_is_taken_up_again_when_resumed(slurm, engine, pausing):
    """By its mark."""
    key = submit(slurm, admin_comment="cpsched:aside cannot be ordered")
    steps(engine, slurm, 2)
    assert slurm.orders == []
    pausing("resume", key)
    steps(engine, slurm, 2)
    assert states(slurm, key) == ["RUNNING"]


def test_no_more_starts_of_a_user_in_a_cycle_than_allowed(slurm, make):
    """Those of others start meanwhile."""
    for user in ("ann", "ann", "ann", "bob"):
        submit(slurm, user=user)
    engine, told = make(limits=Limits(patience=60, starts_of_user=1)), []
    with engine.opened():
        for _ in range(4):
            steps(engine, slurm, 1)
            told.append(len(slurm.orders))
    assert told == [2, 3, 4, 4]


def test_a_state_that_cannot_be_saved_is_said_and_the_engine_goes_on(slurm, make, monkeypatch):
    """By the name of the file; a journal that cannot be written stops it."""
    key = submit(slurm)
    engine = make()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with engine.opened():
        steps(engine, slurm, 3)
        monkeypatch.setattr(engine.mirror, "save", full)
        engine._save()
        steps(engine, slurm, 3)
        assert "state.npz is not saved, the engine goes on: No space left" in engine.said[-1]
        assert states(slurm, key) == ["RUNNING"]
        submit(slurm)
        monkeypatch.setattr("os.fsync", full)
        with pytest.raises(RunError, match="journal.jsonl: cannot be written: No space left"):
            engine.run(threading.Event())
    assert [order.split()[0] for order in slurm.orders] == ["begin", "release"]
    assert slurm.leased == {}
