"""The loop on a Slurm: only what is ours, only where it was told, and nothing twice or lost."""

import threading
from contextlib import nullcontext

import pytest
from fake_slurm import FakeSlurm
from live_slurm import steps, submit

from cpsched.errors import ConfigError
from slurm_adapter.live import commands
from slurm_adapter.live.engine import Engine
from slurm_adapter.live.filter import Filter
from slurm_adapter.live.mirror import Stage
from slurm_adapter.live.order import (
    NotAllowedError,
    UnreachableError,
    UnreadableError,
    WrongNodesError,
)


def job_of(slurm, key):
    return slurm.snapshot().jobs[key]


def ordered(slurm, word):
    """Return the jobs that were given an order."""
    return [order.split()[1] for order in slurm.orders if order.startswith(word)]


class Ticks(threading.Event):
    """An event that is set after some waits, in each of which something happens."""

    def __init__(self, count, happens):
        super().__init__()
        self.count, self.happens, self.waits = count, happens, []

    def wait(self, seconds):
        self.waits.append(seconds)
        self.happens()
        if len(self.waits) == self.count:
            self.set()


def test_what_a_loop_has_done_is_said_when_it_ends(slurm, monkeypatch, cpsched):
    """After what it would do, each with the time."""
    submit(slurm)
    stop = Ticks(1, slurm.advance)
    monkeypatch.setattr(commands, "backend_of", lambda _="": slurm)
    monkeypatch.setattr(commands, "stopped_by_signals", lambda: nullcontext(stop))
    code, out, _ = cpsched("slurm", "run", "--system", "eurora")
    assert code == 0
    assert "dry run: easy on 64 nodes" in out
    assert "ended after 1 cycle: 0 ordered to start" in out


def test_jobs_run_where_they_were_told(slurm, engine):
    """And end; the journal knows of nothing open then."""
    keys = [submit(slurm, seconds=5, cpus=16) for _ in range(100)]
    steps(engine, slurm, 40)
    counts = engine.counts
    assert (counts.ordered, counts.ran, counts.wrong, counts.taken_back) == (100, 100, 0, 0)
    assert slurm.snapshot().jobs == {}
    assert {job.state for job in slurm.ended(keys).values()} == {"COMPLETED"}
    assert engine.orders.journal.orders == {}


def test_only_jobs_that_are_held_and_marked_and_chosen_are_touched(slurm, make):
    """Not one that its user holds, of another partition or user, released, or part of another."""
    usual = {"user": "ann", "partition": "debug", "time_limit": 60}
    ours = submit(slurm, **usual)
    for other in (
        {"admin_comment": ""}, {"partition": "debug,parallel"}, {"user": "bob"}, {"held": False},
        {"is_part": True},
    ):  # fmt: skip
        submit(slurm, **{**usual, **other})
    engine = make(ours=Filter(partitions=frozenset(["debug"]), users=frozenset(["ann"])))
    with engine.opened():
        steps(engine, slurm, 5)
    assert [order.split()[1] for order in slurm.orders] == [ours]


def test_a_dry_run_tells_nothing(slurm, make):
    """But says it, once; jobs that can never run are named once, too."""
    key = submit(slurm)
    never = submit(slurm, nodes_min=60, nodes_max=60, cpus=60, tasks=60, gres_per_node="gres:gpu:1")
    engine = make(act=False, folder=None)
    with engine.opened():
        steps(engine, slurm, 3)
    assert slurm.orders == []
    first, second = engine.said
    assert f"job {never} stays held" in first
    assert second == f"job {key} would start on node001"
    with pytest.raises(ConfigError, match="--state"):
        make(folder=None)


def test_no_more_starts_a_cycle_than_allowed(slurm, make):
    """The others follow in the next ones."""
    for _ in range(7):
        submit(slurm)
    engine, told = make(starts=3), []
    with engine.opened():
        for _ in range(4):
            steps(engine, slurm, 1)
            told.append(len(slurm.orders))
    assert told == [3, 6, 7, 7]


@pytest.mark.parametrize("ran", [False, True])
def test_a_job_whose_node_fails_is_taken_back_and_tried_elsewhere(ran, slurm, engine):
    """Before it starts or after: with what its user asked for; it rests for a while first."""
    key = submit(slurm)
    engine.cycle()
    if ran:
        slurm.advance()
        engine.cycle()
    (order,) = engine.orders.journal.orders.values()
    slurm.close(order.nodes[0], down=ran)
    slurm.advance(not ran)
    engine.cycle()
    assert (job_of(slurm, key).held, job_of(slurm, key).required) == (True, ())
    assert engine.counts.taken_back == 1
    slurm.advance()
    engine.cycle()
    assert job_of(slurm, key).held
    steps(engine, slurm, 8)
    assert job_of(slurm, key).state == "RUNNING"
    assert job_of(slurm, key).nodes != order.nodes


@pytest.mark.parametrize("told", [0, 3, 6])
def test_nothing_is_lost_or_told_twice_after_a_crash(told, slurm, make, monkeypatch):
    """Killed before Slurm was told, when some jobs were, or after all of them."""
    keys = [submit(slurm, seconds=4, cpus=16) for _ in range(6)]
    begin = FakeSlurm.begin

    def die(self, orders):
        begin(self, orders[:told])
        raise SystemExit

    engine = make()
    with monkeypatch.context() as patch:
        patch.setattr(FakeSlurm, "begin", die)
        patch.setattr(Engine, "_save", lambda self: None)
        with pytest.raises(SystemExit), engine.opened():
            engine.cycle()
    engine = make(patience=60)
    with engine.opened():
        steps(engine, slurm, 30)
    assert [job.state for job in slurm.ended(keys).values()] == ["COMPLETED"] * 6
    assert len(ordered(slurm, "begin")) == 6
    assert engine.counts.wrong == 0


def test_what_is_withdrawn_is_known_after_a_kill_on_the_way(slurm, make, monkeypatch):
    """A controller may take seconds for each; the next engine does not begin at the first again."""
    keys = [submit(slurm, seconds=30) for _ in range(20)]
    engine, calls = make(), []
    with engine.opened():
        engine.cycle()
        for key in keys:
            slurm.change(key, held=True)
        take_back = FakeSlurm.take_back

        def die(self, orders, held=frozenset()):
            if calls:
                raise SystemExit
            calls.append(len(orders))
            return take_back(self, orders, held)

        monkeypatch.setattr(FakeSlurm, "take_back", die)
        with pytest.raises(SystemExit):
            engine.cycle()
        assert 0 < calls[0] < 20
        assert len(engine.orders.journal.orders) == 20 - calls[0]


def test_what_cannot_be_withdrawn_is_not_tried_in_each_cycle(slurm, make, monkeypatch):
    """Slurm may take five seconds to refuse; the other jobs are not kept waiting meanwhile."""
    key = submit(slurm, seconds=30)
    engine, tried = make(), []
    with engine.opened():
        engine.cycle()
        slurm.change(key, held=True)

        def refuse(self, orders, held=frozenset()):
            tried.extend(order.job for order in orders)
            return dict.fromkeys([order.job for order in orders], "try again in a bit")

        monkeypatch.setattr(FakeSlurm, "take_back", refuse)
        more = [submit(slurm, seconds=5) for _ in range(3)]
        steps(engine, slurm, 10)
    assert tried == [key]
    assert {job.state for job in slurm.ended(more).values()} == {"COMPLETED"}


def test_an_engine_that_ends_and_starts_again_goes_on(slurm, make, monkeypatch):
    """Jobs that it started before still run, and are not told anything; it has saved on the way."""
    keys = [submit(slurm, seconds=30) for _ in range(5)]
    monkeypatch.setattr("slurm_adapter.live.engine._SAVE_EVERY", 0)
    engine = make()
    with engine.opened():
        engine.run(Ticks(3, slurm.advance))
        # As after kill -9.
        engine._save = lambda: None
    second = make()
    with second.opened():
        second.cycle()
        assert {one.stage for one in second.mirror.known.values()} == {Stage.RUNNING}
        more = submit(slurm)
        steps(second, slurm, 3)
    assert [order.split()[1] for order in slurm.orders] == [*keys, more]


def test_jobs_cancelled_under_its_hands_are_forgotten(slurm, engine, monkeypatch):
    """Between the look at the queue and the order, too."""
    gone, stays = submit(slurm), submit(slurm)
    begin = FakeSlurm.begin

    def too_late(self, orders):
        self.cancel(gone)
        return begin(self, orders)

    with monkeypatch.context() as patch:
        patch.setattr(FakeSlurm, "begin", too_late)
        engine.cycle()
    slurm.advance()
    steps(engine, slurm, 3)
    assert engine.counts.refused == 1
    assert {key: job.state for key, job in slurm.snapshot().jobs.items()} == {stays: "RUNNING"}


def test_an_order_that_slurm_does_not_follow_stops_it(slurm, make, monkeypatch):
    """Nobody has changed it; nothing more is told. The same job does not stop the next engine."""
    submit(slurm)
    engine = make()
    with engine.opened():
        engine.cycle()
        place = FakeSlurm._place
        with monkeypatch.context() as patch:
            patch.setattr(
                FakeSlurm, "_place", lambda self, job, _, free: place(self, job, ["node060"], free)
            )
            slurm.advance()
        submit(slurm)
        with pytest.raises(WrongNodesError, match="runs on node060, but should run on node001"):
            engine.cycle()
    assert len(slurm.orders) == 1
    engine = make()
    with engine.opened():
        steps(engine, slurm, 3)
    assert engine.counts.ran == 1


def test_it_waits_while_slurm_does_not_answer(slurm, engine):
    """And tells nothing meanwhile."""
    submit(slurm)
    slurm.reachable = False

    def passes():
        slurm.reachable = len(stop.waits) >= 4
        slurm.advance()

    stop = Ticks(7, passes)
    engine.run(stop)
    assert stop.waits[:4] == [1, 2, 4, 8]
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
    with engine.opened(), pytest.raises(UnreadableError):
        engine.run(Ticks(10, slurm.advance))
    assert sum("trying again" in line for line in engine.said) == 2


def test_one_folder_is_for_one_engine(make):
    """The lock goes with the process."""
    first, second = make(), make()
    with first.opened(), pytest.raises(ConfigError, match="another engine"), second.opened():
        pass
    with second.opened():
        pass


def test_unreachable_while_it_tells_is_found_out_later(slurm, engine, monkeypatch):
    """Whether Slurm has heard is not known: the job is held, and told again."""
    key = submit(slurm)

    def lost(self, orders):
        raise UnreachableError("Slurm does not answer")

    with monkeypatch.context() as patch:
        patch.setattr(FakeSlurm, "begin", lost)
        with pytest.raises(UnreachableError):
            engine.cycle()
    steps(engine, slurm)
    assert job_of(slurm, key).state == "RUNNING"
