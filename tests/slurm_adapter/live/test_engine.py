"""The loop on a Slurm: only what is ours, only where it was told, and nothing twice or lost."""

from __future__ import annotations

import json
import threading
from contextlib import nullcontext

import pytest

from cpsched import systems
from cpsched.errors import ConfigError
from slurm_adapter.live import commands
from slurm_adapter.live.backend import (
    NotAllowedError,
    UnreachableError,
    UnreadableError,
    WrongNodesError,
)
from slurm_adapter.live.engine import Engine, Filter, Limits
from slurm_adapter.live.fake import FakeSlurm
from slurm_adapter.live.mirror import Mirror, Stage

EURORA = systems.load("eurora")


@pytest.fixture
def slurm():
    return FakeSlurm(EURORA)


@pytest.fixture
def make(slurm, tmp_path):
    """Make an engine, or the next one after a crash."""

    def made(**given):
        said = []
        usual = {"folder": tmp_path / "state", "act": True, "limits": Limits(patience=0)}
        engine = Engine(
            slurm,
            Mirror(EURORA, "prb"),
            say=said.append,
            **{**usual, **given},
        )
        engine.said = said
        return engine

    return made


def test_what_a_loop_has_done_as_data(slurm, monkeypatch, cpsched):
    """One object when it ends; what is said meanwhile goes to stderr."""
    submit(slurm)

    class AfterOneCycle(threading.Event):
        def wait(self, _):
            self.set()

    monkeypatch.setattr(commands, "backend_of", lambda *_: slurm)
    monkeypatch.setattr(commands, "stopped_by_signals", lambda: nullcontext(AfterOneCycle()))
    code, out, err = cpsched("slurm", "run", "--system", "eurora", "--json")
    found = json.loads(out)
    assert (code, found["schema"]) == (0, "cpsched.slurm.run/1")
    assert (found["cycles"], found["ordered"], found["median_s_to_run"]) == (1, 0, None)
    assert "dry run: easy on 64 nodes" in err
    assert "ended after 1 cycle" in err


def submit(slurm, **asked):
    usual = {"cpus": 4, "tasks": 4, "mem": 1000, "partition": "R"}
    return slurm.submit(**{**usual, **asked})


def states(slurm):
    return {key: job.state for key, job in slurm.snapshot().jobs.items()}


def test_jobs_run_where_they_were_told(slurm, make):
    """And end; the journal knows of nothing open then."""
    keys = [submit(slurm, seconds=5, cpus=16, nodes_min=1) for _ in range(100)]
    engine = make()
    with engine.opened():
        for _ in range(40):
            engine.cycle()
            slurm.advance()
    counts = engine.counts
    assert (counts.ordered, counts.ran, counts.wrong, counts.taken_back) == (100, 100, 0, 0)
    assert slurm.snapshot().jobs == {}
    assert all(slurm.ended(keys)[key].state == "COMPLETED" for key in keys)
    assert engine.orders.journal.orders == {}


def test_only_jobs_that_are_held_and_marked_and_chosen_are_touched(slurm, make):
    """Not one that its user holds, of another partition or user, released, or part of another."""
    ours = submit(slurm, user="ann", partition="debug", time_limit=60)
    submit(slurm, user="ann", partition="debug", time_limit=60, admin_comment="")
    submit(slurm, user="ann", partition="debug,parallel", time_limit=60)
    submit(slurm, user="bob", partition="debug", time_limit=60)
    submit(slurm, user="ann", partition="debug", time_limit=60, held=False)
    submit(slurm, user="ann", partition="debug", time_limit=60, is_part=True)
    engine = make(ours=Filter(partitions=frozenset(["debug"]), users=frozenset(["ann"])))
    with engine.opened():
        for _ in range(5):
            engine.cycle()
            slurm.advance()
    assert [order.split()[1] for order in slurm.orders] == [ours]


def test_a_dry_run_tells_nothing(slurm, make):
    """But says it, once."""
    key = submit(slurm)
    engine = make(act=False, folder=None)
    with engine.opened():
        for _ in range(3):
            engine.cycle()
            slurm.advance()
    assert slurm.orders == []
    assert [line for line in engine.said if key in line] == [f"job {key} would start on node001"]
    with pytest.raises(ConfigError, match="--state"):
        make(folder=None)


def test_no_more_starts_a_cycle_than_allowed(slurm, make):
    """The others follow in the next ones."""
    for _ in range(7):
        submit(slurm)
    engine = make(limits=Limits(starts=3, patience=0))
    told = []
    with engine.opened():
        for _ in range(4):
            engine.cycle()
            told.append(len(slurm.orders))
            slurm.advance()
    assert told == [3, 6, 7, 7]


def test_a_job_that_does_not_start_is_taken_back_and_tried_elsewhere(slurm, make):
    """With what its user asked for; it rests for a while first."""
    key = submit(slurm, required=())
    engine = make()
    with engine.opened():
        engine.cycle()
        (nodes,) = [one.nodes for one in engine.orders.journal.orders.values()]
        slurm.close(nodes[0])
        slurm.advance()
        engine.cycle()
        job = slurm.snapshot().jobs[key]
        assert (job.held, job.required) == (True, ())
        assert engine.counts.taken_back == 1
        slurm.advance()
        engine.cycle()
        assert slurm.snapshot().jobs[key].held
        slurm.advance(6)
        engine.cycle()
        slurm.advance()
        engine.cycle()
    assert states(slurm)[key] == "RUNNING"
    assert slurm.snapshot().jobs[key].nodes != nodes


def test_what_is_queued_again_is_taken_back_and_starts_anew(slurm, make):
    """A node goes down with a job on it that we started."""
    key = submit(slurm)
    engine = make()
    with engine.opened():
        engine.cycle()
        slurm.advance()
        engine.cycle()
        (node,) = slurm.snapshot().jobs[key].nodes
        slurm.close(node, down=True)
        engine.cycle()
        assert slurm.snapshot().jobs[key].held
        for _ in range(8):
            slurm.advance()
            engine.cycle()
    assert states(slurm)[key] == "RUNNING"
    assert node not in slurm.snapshot().jobs[key].nodes


@pytest.mark.parametrize("when", ["before", "between", "after"])
def test_nothing_is_lost_or_told_twice_after_a_crash(when, slurm, make, monkeypatch):
    """Killed before Slurm was told, when some jobs were, or after all of them."""
    keys = [submit(slurm, seconds=4, cpus=16, nodes_min=1) for _ in range(6)]
    told = FakeSlurm.begin

    def die(self, orders):
        told(self, {"before": orders[:0], "between": orders[:3], "after": orders}[when])
        raise SystemExit

    engine = make()
    with monkeypatch.context() as patch:
        patch.setattr(FakeSlurm, "begin", die)
        patch.setattr(Engine, "_save", lambda self: None)
        with pytest.raises(SystemExit), engine.opened():
            engine.cycle()
    engine = make(limits=Limits(patience=60))
    with engine.opened():
        for _ in range(30):
            engine.cycle()
            slurm.advance()
    assert {job.state for job in slurm.ended(keys).values()} == {"COMPLETED"}
    assert len(slurm.ended(keys)) == 6
    begun = [order for order in slurm.orders if order.startswith("begin")]
    assert len(begun) == 6
    assert engine.counts.wrong == 0


def test_an_engine_that_ends_and_starts_again_goes_on(slurm, make):
    """Jobs that it started before still run, and are not told anything."""
    keys = [submit(slurm, seconds=30) for _ in range(5)]
    first = make()
    with first.opened():
        first.cycle()
        slurm.advance()
        first.cycle()
    more = submit(slurm)
    second = make()
    with second.opened():
        for _ in range(3):
            second.cycle()
            slurm.advance()
    assert second.mirror.known[keys[0]].stage is Stage.RUNNING
    assert [order.split()[1] for order in slurm.orders] == [*keys, more]


def test_what_is_known_is_saved_while_it_runs(slurm, make, monkeypatch):
    """As long as that is cheap: after kill -9 the next one has seen all but the last moments."""
    keys = [submit(slurm, seconds=30) for _ in range(3)]
    engine, stop, waits = make(), threading.Event(), []

    def wait(seconds):
        waits.append(seconds)
        slurm.advance()
        if len(waits) == 3:
            # Nothing is done at an end that does not come.
            monkeypatch.setattr(engine, "_save", lambda: None)
            stop.set()

    monkeypatch.setattr(stop, "wait", wait)
    monkeypatch.setattr("slurm_adapter.live.engine._SAVE_EVERY", 0)
    with engine.opened():
        engine.run(stop)
    second = make()
    with second.opened():
        assert set(second.mirror.known) == set(keys)
        assert {one.stage for one in second.mirror.known.values()} == {Stage.RUNNING}


TRY = "try:dispatcher=easy,seconds=20"


def tries(slurm, tmp_path, **given):
    """An engine whose dispatcher tries long jobs for 20 s."""
    said = []
    engine = Engine(
        slurm, Mirror(EURORA, TRY, **given), folder=tmp_path / "state",
        act=True, limits=Limits(patience=0), say=said.append,
    )  # fmt: skip
    engine.said = said
    return engine


def test_a_try_that_is_over_waits_again_and_then_runs_to_its_end(slurm, tmp_path):
    """
    One runs for 100 s, one ends within its try, one may not be queued again.

    None is tried twice, each starts on the nodes told, and Slurm's two minutes are not waited for.
    """
    long, short = (submit(slurm, seconds=seconds, time_limit=7200) for seconds in (100, 10))
    kept = submit(slurm, seconds=100, time_limit=7200, restartable=False)
    began = slurm.now
    engine = tries(slurm, tmp_path, may_requeue=True)
    with engine.opened():
        while slurm.snapshot().jobs:
            engine.cycle()
            slurm.advance()
            assert slurm.now < began + 300
    assert [order for order in slurm.orders if order.startswith("requeue")] == [f"requeue {long}"]
    assert sum(order.startswith(f"begin {long} ") for order in slurm.orders) == 2
    ends = {key: job.end - began for key, job in slurm.ended([long, short, kept]).items()}
    assert ends[short] < 20
    assert ends[kept] < 110
    assert 120 < ends[long] < 135
    counts = engine.counts
    assert (counts.requeued, counts.wrong, counts.taken_back, counts.ran) == (1, 0, 0, 4)


def test_nothing_is_queued_again_unless_that_is_allowed(slurm, tmp_path):
    """Nor is a job that somebody has taken from us meanwhile."""
    long = submit(slurm, seconds=100, time_limit=7200)
    engine = tries(slurm, tmp_path)
    with engine.opened():
        for _ in range(60):
            engine.cycle()
            slurm.advance()
    assert slurm.snapshot().jobs[long].state == "RUNNING"
    slurm.cancel(long)
    slurm.advance(5)
    other = submit(slurm, seconds=100, time_limit=7200)
    engine = tries(slurm, tmp_path, may_requeue=True)
    with engine.opened():
        for _ in range(10):
            engine.cycle()
            slurm.advance()
        slurm.change(other, admin_comment="mine")
        for _ in range(30):
            engine.cycle()
            slurm.advance()
    assert slurm.snapshot().jobs[other].state == "RUNNING"
    assert f"job {other} is not requeued: this engine did not start it" in engine.said


def test_a_try_is_found_where_it_is_after_a_crash(slurm, tmp_path):
    """Right after Slurm was told; whoever comes next takes it back and starts it again, once."""
    long = submit(slurm, seconds=60, time_limit=7200)
    engine = tries(slurm, tmp_path, may_requeue=True)
    with engine.opened():
        while not engine.counts.requeued:
            engine.cycle()
            slurm.advance()
        engine._save = lambda: None
    again = tries(slurm, tmp_path, may_requeue=True)
    with again.opened():
        for _ in range(400):
            again.cycle()
            slurm.advance()
    assert slurm.snapshot().jobs == {}
    assert slurm.ended([long])[long].state == "COMPLETED"


@pytest.mark.parametrize("heard", [True, False])
def test_unreachable_while_it_requeues_loses_no_job(slurm, tmp_path, monkeypatch, heard):
    """Whether or not Slurm was told: the job runs to its end, and the next one starts."""
    long = submit(slurm, seconds=60, time_limit=7200)
    told = FakeSlurm.requeue

    def lost(self, jobs):
        monkeypatch.undo()
        if heard:
            told(self, jobs)
        raise UnreachableError("Slurm does not answer")

    monkeypatch.setattr(FakeSlurm, "requeue", lost)
    engine = tries(slurm, tmp_path, may_requeue=True)
    missed = 0
    with engine.opened():
        for second in range(400):
            if second == 200:
                other = submit(slurm, seconds=10, time_limit=7200)
            try:
                engine.cycle()
            except UnreachableError:
                missed += 1
                assert Stage.LEAVING not in {one.stage for one in engine.mirror.known.values()}
            slurm.advance()
    assert missed == 1
    assert slurm.snapshot().jobs == {}
    assert {job.state for job in slurm.ended([long, other]).values()} == {"COMPLETED"}


def test_jobs_cancelled_under_its_hands_are_forgotten(slurm, make, monkeypatch):
    """Between the look at the queue and the order, too."""
    gone, stays = submit(slurm), submit(slurm)
    told = FakeSlurm.begin

    def too_late(self, orders):
        self.cancel(gone)
        return told(self, orders)

    engine = make()
    with engine.opened():
        with monkeypatch.context() as patch:
            patch.setattr(FakeSlurm, "begin", too_late)
            engine.cycle()
        for _ in range(3):
            slurm.advance()
            engine.cycle()
    assert engine.counts.refused == 1
    assert states(slurm) == {stays: "RUNNING"}


def test_a_job_on_wrong_nodes_stops_it(slurm, make, monkeypatch):
    """Whatever the reason: nothing more is told."""
    submit(slurm)
    engine = make()
    with engine.opened():
        engine.cycle()
        slurm.change("1", required=("node060",))
        slurm.advance()
        submit(slurm)
        with pytest.raises(WrongNodesError, match="runs on node060, but should run on node001"):
            engine.cycle()
    assert len(slurm.orders) == 1


def test_it_waits_while_slurm_does_not_answer(slurm, make, monkeypatch):
    """And tells nothing meanwhile."""
    submit(slurm)
    engine = make()
    stop, waits = threading.Event(), []

    def wait(seconds):
        waits.append(seconds)
        slurm.reachable = len(waits) >= 4
        slurm.advance()
        if len(waits) == 7:
            stop.set()

    monkeypatch.setattr(stop, "wait", wait)
    slurm.reachable = False
    with engine.opened():
        engine.run(stop)
    assert waits[:4] == [1, 2, 4, 8]
    assert engine.counts.ran == 1
    assert sum("does not answer" in line for line in engine.said) == 4


def test_it_stops_where_it_is_not_allowed(slurm, make):
    """And says so."""
    submit(slurm)
    slurm.allowed = False
    engine = make()
    with engine.opened(), pytest.raises(NotAllowedError, match="permission denied"):
        engine.run(threading.Event())


def test_answers_that_cannot_be_read_stop_it_at_last(slurm, make, monkeypatch):
    """One may be cut off."""
    engine = make()

    def broken(self):
        raise UnreadableError("a record is not complete")

    monkeypatch.setattr(FakeSlurm, "snapshot", broken)
    monkeypatch.setattr(threading.Event, "wait", lambda self, seconds: None)
    with engine.opened(), pytest.raises(UnreadableError):
        engine.run(threading.Event())
    assert sum("trying again" in line for line in engine.said) == 2


def test_one_folder_is_for_one_engine(make):
    """The lock goes with the process."""
    first, second = make(), make()
    with first.opened(), pytest.raises(ConfigError, match="another engine"), second.opened():
        pass
    with second.opened():
        pass


def test_jobs_that_can_never_run_are_named_once(slurm, make):
    """They stay held."""
    key = submit(slurm, nodes_min=60, nodes_max=60, cpus=60, tasks=60, gres_per_node="gres:gpu:1")
    engine = make()
    with engine.opened():
        for _ in range(3):
            engine.cycle()
            slurm.advance()
    assert [line for line in engine.said if f"job {key} stays held" in line] != []
    assert len(engine.said) == 1


def test_unreachable_while_it_tells_is_found_out_later(slurm, make, monkeypatch):
    """Whether Slurm has heard is not known: the job is held, and told again."""
    key = submit(slurm)
    engine = make()

    def lost(self, orders):
        raise UnreachableError("Slurm does not answer")

    with engine.opened():
        with monkeypatch.context() as patch:
            patch.setattr(FakeSlurm, "begin", lost)
            with pytest.raises(UnreachableError):
                engine.cycle()
        for _ in range(10):
            engine.cycle()
            slurm.advance()
    assert states(slurm)[key] == "RUNNING"
