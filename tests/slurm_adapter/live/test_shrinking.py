"""Running jobs that give up nodes: those that say so, only what they were told, and seen."""

import pytest
from fake_slurm import FakeSlurm
from live_slurm import EURORA, steps

from cpsched.errors import RunError
from slurm_adapter.live.engine import Filter
from slurm_adapter.live.mirror import Stage
from slurm_adapter.live.order import UnreachableError, WrongNodesError
from slurm_adapter.live.plan import plan
from slurm_adapter.live.requests import fewest_nodes, why_rigid
from slurm_adapter.live.snapshot import LiveJob, Placed

DISPATCHERS = ("malleable:strategy=preferred", "dn-dbes")
ALL = EURORA.node_names


def job(**asked):
    usual = {
        "key": "7", "state": "PENDING", "submit": 0, "nodes_min": 4, "nodes_max": 4, "cpus": 8,
        "tasks": 8, "tasks_per_node": 2, "comment": "nodes=2-8",
    }  # fmt: skip
    return LiveJob(**{**usual, **asked})


def running(**asked):
    placed = tuple(Placed(f"n{at}", 2, 0) for at in range(4))
    nodes = tuple(one.node for one in placed)
    return job(**{"state": "RUNNING", "placed": placed, "nodes": nodes, **asked})


def test_a_comment_says_how_few_nodes_a_running_job_may_be_left():
    """Beside the mark or alone; as many as it asks for are none to give up."""
    assert fewest_nodes(running()) == 2
    assert fewest_nodes(running(comment="cpsched nodes=1-4")) == 1
    assert fewest_nodes(running(exclusive=True, tasks_per_node=0)) == 2
    assert fewest_nodes(running(comment="nodes=4-8")) == 0
    assert fewest_nodes(job()) == 0
    assert why_rigid(job()) == why_rigid(job(comment="")) == why_rigid(job(comment="xnodes=")) == ""
    assert why_rigid(job(exclusive=True, tasks=4, tasks_per_node=0)) == ""


@pytest.mark.parametrize(
    "comment",
    ["nodes=8-2", "nodes=2", "nodes=0-8", "nodes=2-8;scancel", "nodes=2-8 nodes=2-8", "nodes=-8",
     "nodes=٢-8", "nodes=2-9999999", "NODES=2-8", "nodes=2-8\0", "nodes=\u20282-8"],
)  # fmt: skip
def test_nothing_but_one_such_word_counts(comment):
    """Whatever a user writes."""
    assert fewest_nodes(running(comment=comment)) == 0
    said = why_rigid(job(comment=comment))
    assert ("nodes=FEWEST-MOST" in said) == comment.startswith("nodes=")


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"nodes_max": 8}, "one number of nodes from 2 to 8"),
        ({"nodes_min": 9, "nodes_max": 9}, "one number of nodes from 2 to 8"),
        ({"tasks_per_node": 0}, "--ntasks-per-node or --exclusive"),
        ({"tasks": 7}, "--ntasks-per-node or --exclusive"),
        ({"contiguous": True}, "consecutive nodes"),
        ({"gres_per_job": "gres:gpu:4"}, "GRES for the job"),
    ],
)
def test_a_job_that_cannot_stand_it_keeps_its_nodes(asked, why):
    """It must have as much on each node, so that any of them can go."""
    assert why in why_rigid(job(**asked))


def test_a_running_job_must_hold_as_much_on_each_node():
    """As Slurm says; where it does not say, nobody knows."""
    uneven = tuple(Placed(f"n{at}", cores, 0) for at, cores in enumerate((3, 1, 2, 2)))
    for asked in ({"placed": uneven}, {"placed": ()}, {"is_part": True}, {"contiguous": True}):
        assert fewest_nodes(running(**asked)) == 0


@pytest.mark.parametrize(
    ("comment", "marked"),
    [("cpsched nodes=2-8", True), ("nodes= cpsched", True), ("cpsched 2-8", False),
     ("nodes=2-8", False)],
)  # fmt: skip
def test_a_mark_may_stand_beside_the_bounds(comment, marked):
    """But beside nothing else."""
    assert Filter().takes(job(comment=comment)) == marked
    assert Filter().takes(job(comment=comment, admin_comment="cpsched"))


# --- the engine ----------------------------------------------------------------------------------


def submit(slurm, nodes, **asked):
    usual = {
        "nodes_min": nodes, "nodes_max": nodes, "cpus": 16 * nodes, "tasks": 16 * nodes,
        "tasks_per_node": 16, "mem": 1000, "partition": "R",
    }  # fmt: skip
    return slurm.submit(**{**usual, **asked})


@pytest.fixture
def engine(make):
    """An engine that may shrink jobs."""
    engine = make(DISPATCHERS[0], patience=5)
    with engine.opened():
        yield engine


def malleable(slurm, nodes=64, **asked):
    return submit(slurm, nodes, **{"comment": "nodes=8-64", "seconds": 2000, **asked})


def nodes_of(slurm, key):
    return slurm.snapshot().jobs[key].nodes


def shrinks(slurm):
    return [order for order in slurm.orders if order.startswith("shrink")]


@pytest.fixture
def shrunk_by(slurm, make):
    """Let one job run on all nodes, then submit one for half of them; return engine and keys."""

    def done(engine, **asked):
        wide = malleable(slurm, **asked)
        steps(engine, slurm, 5)
        assert len(nodes_of(slurm, wide)) == 64
        return wide, submit(slurm, 32, seconds=100, time_limit=600)

    return done


@pytest.mark.parametrize("dispatcher", DISPATCHERS)
def test_a_running_job_gives_up_nodes_on_which_another_one_starts(
    dispatcher, slurm, make, shrunk_by
):
    """Told once each; the other one is told once these are seen to be free; nothing ever grows."""
    engine = make(dispatcher, patience=5)
    with engine.opened():
        wide, other = shrunk_by(engine)
        steps(engine, slurm, 40)
        left = set(nodes_of(slurm, wide))
        assert 8 <= len(left) <= 32
        assert ALL[0] in left
        assert slurm.snapshot().jobs[other].state == "RUNNING"
        assert left.isdisjoint(nodes_of(slurm, other))
        steps(engine, slurm, 200)
        assert set(nodes_of(slurm, wide)) == left
    counts = engine.counts
    assert counts.shrunk == len(shrinks(slurm)) >= 1
    assert (counts.wrong, counts.refused, counts.taken_back) == (0, 0, 0)
    words = [order.split()[0] for order in slurm.orders]
    assert words == ["begin", *["shrink"] * counts.shrunk, "begin"]
    assert f"job {wide} holds only" in "\n".join(engine.said)


def test_it_ends_at_its_limit_however_few_nodes_it_has(slurm, engine, shrunk_by):
    """And what is learnt of it is how long it ran, not since when it was small."""
    wide, _ = shrunk_by(engine)
    steps(engine, slurm, 10)
    cluster, row = engine.mirror.cluster, engine.mirror.known[wide].row
    running = cluster.view(cluster.now).running
    (at,) = (at for at, one in enumerate(running.rows) if one == row)
    limit = slurm.snapshot().jobs[wide].end - engine.mirror.epoch
    assert (running.held_units[at], running.units_max[at]) == (32, 32)
    assert running.expected_end[at] == limit
    since, start = int(running.since[at]), int(running.start[at])
    assert cluster.ran(row, since) == since - start > 0


def test_jobs_that_do_not_say_so_or_were_not_started_from_here_keep_their_nodes(slurm, engine):
    """Nor does one that somebody has taken from us meanwhile."""
    quiet = malleable(slurm, 24, comment="")
    foreign = malleable(slurm, 24, held=False)
    slurm.advance()
    steps(engine, slurm, 3)
    taken = malleable(slurm, 16)
    steps(engine, slurm, 3)
    slurm.change(taken, admin_comment="mine")
    submit(slurm, 8)
    steps(engine, slurm)
    assert [len(nodes_of(slurm, key)) for key in (quiet, foreign, taken)] == [24, 24, 16]
    assert shrinks(slurm) == []
    assert f"job {taken} keeps its nodes: it was not started from here, or ends" in engine.said


def test_what_a_comment_gets_wrong_is_said_once(slurm, engine):
    """The job runs, and keeps its nodes."""
    key = malleable(slurm, comment="nodes=64-8")
    engine.cycle()
    engine.cycle()
    slurm.advance(2)
    submit(slurm, 32)
    steps(engine, slurm)
    said = [line for line in engine.said if f"job {key} will keep" in line]
    assert len(said) == 1
    assert "nodes=FEWEST-MOST" in said[0]
    assert len(nodes_of(slurm, key)) == 64


def test_where_slurm_refuses_the_job_stays_as_it_is(slurm, engine, shrunk_by):
    """Without accounting it shrinks once; it is not asked a third time."""
    slurm.accounting = False
    wide, other = shrunk_by(engine)
    steps(engine, slurm)
    assert len(nodes_of(slurm, wide)) == 32
    third = submit(slurm, 16)
    steps(engine, slurm)
    assert len(nodes_of(slurm, wide)) == 32
    assert slurm.snapshot().jobs[other].state == "RUNNING"
    refusals = [line for line in engine.said if "keeps its nodes: Job update not" in line]
    assert len(refusals) == 1
    steps(engine, slurm, 100)
    assert slurm.snapshot().jobs[third].state == "RUNNING"
    assert engine.orders.journal.orders[wide].keeps == ()


@pytest.mark.parametrize(
    ("lost", "error", "why"),
    [
        (True, RunError, "still holds .* ordered to keep .* only"),
        (False, WrongNodesError, "holds .* it was ordered to keep"),
    ],
)
def test_what_was_not_ordered_stops_it(lost, error, why, slurm, make, shrunk_by, monkeypatch):
    """All nodes, though Slurm has taken the order; or fewer: nobody knows what else is wrong."""

    def shrink(self, orders):
        for order in () if lost else orders:
            self.leave_with(order.job, order.keeps[:-1])
        return {}

    engine = make(DISPATCHERS[0], patience=0)
    monkeypatch.setattr(FakeSlurm, "shrink", shrink)
    with engine.opened():
        wide, _ = shrunk_by(engine)
        with pytest.raises(error, match=f"job {wide} {why}"):
            steps(engine, slurm)
    assert engine.counts.wrong == (not lost)


def test_a_job_that_has_just_started_shrinks_a_second_later(slurm, engine):
    """Though nothing else happens then."""
    wide = malleable(slurm)
    steps(engine, slurm, 1)
    other = submit(slurm, 32)
    engine.cycle()
    assert shrinks(slurm) == []
    steps(engine, slurm, 5)
    assert slurm.snapshot().jobs[other].state == "RUNNING"
    assert len(nodes_of(slurm, wide)) == 32


def test_of_a_job_that_ends_nodes_become_free_one_by_one(slurm, engine):
    """Below the fewest that it may be left, too, and others start there."""
    wide = malleable(slurm)
    steps(engine, slurm, 3)
    slurm.completing = 10
    slurm.cancel(wide)
    slurm.leave_with(wide, ALL[:40])
    steps(engine, slurm, 1)
    slurm.leave_with(wide, ALL[:4])
    engine.cycle()
    other = submit(slurm, 60)
    steps(engine, slurm, 3)
    assert slurm.snapshot().jobs[wide].state == "COMPLETING"
    assert slurm.snapshot().jobs[other].state == "RUNNING"


@pytest.mark.parametrize("end", ["cancel", "queue_again", "before"])
def test_a_job_may_end_under_way(end, slurm, engine, shrunk_by, monkeypatch):
    """Right after the order or right before it; or it is queued again."""
    told = FakeSlurm.shrink

    def ends(self, orders):
        key = orders[0].job
        if end == "before":
            self.cancel(key)
            return told(self, orders)
        if end == "cancel":
            self.cancel(key)
        else:
            self.queue_again(key, held=True)
        return {}

    monkeypatch.setattr(FakeSlurm, "shrink", ends)
    wide, other = shrunk_by(engine)
    steps(engine, slurm, 6)
    assert slurm.snapshot().jobs[other].state == "RUNNING"
    steps(engine, slurm, 300)
    assert engine.counts.wrong == 0
    if end == "queue_again":
        assert len(nodes_of(slurm, wide)) == 64


@pytest.mark.parametrize("heard", [True, False])
@pytest.mark.parametrize("way", ["killed", "killed, nothing saved", "unreachable"])
def test_nothing_is_lost_or_told_twice_when_it_is_cut_off(
    way, heard, slurm, make, shrunk_by, monkeypatch
):
    """Between journal and order, or after it; the engine killed, or the controller away."""
    told = FakeSlurm.shrink

    def cut(self, orders):
        if heard:
            told(self, orders)
        monkeypatch.undo()
        raise (
            UnreachableError("Slurm does not answer") if way == "unreachable" else KeyboardInterrupt
        )

    monkeypatch.setattr(FakeSlurm, "shrink", cut)
    engine = make(DISPATCHERS[0])
    with engine.opened():
        wide, other = shrunk_by(engine)
        if way == "killed, nothing saved":
            engine._save = lambda: None
        with pytest.raises((UnreachableError, KeyboardInterrupt)):
            steps(engine, slurm)
        if way == "unreachable":
            steps(engine, slurm)
    if way != "unreachable":
        engine = make(DISPATCHERS[0], patience=5)
        with engine.opened():
            assert (engine.orders.journal.orders[wide].keeps != ()) is True
            steps(engine, slurm)
    assert slurm.snapshot().jobs[other].state == "RUNNING"
    assert len(nodes_of(slurm, wide)) == 32
    assert len(shrinks(slurm)) == 1
    assert engine.counts.wrong == 0
    assert not any(one.stage is Stage.SHRINKING for one in engine.mirror.known.values())
    # What was left of a job is its most, and how few nodes it may be left is known.
    engine = make(DISPATCHERS[0])
    with engine.opened():
        third = submit(slurm, 24)
        steps(engine, slurm)
    assert slurm.snapshot().jobs[third].state == "RUNNING"
    assert len(nodes_of(slurm, wide)) == 8


def test_a_job_that_it_did_not_come_to_tell_is_asked_again(slurm, engine, shrunk_by, monkeypatch):
    """Slurm cannot be reached for another order right before."""

    def away(snapshot):
        if engine.mirror.shrinks:
            monkeypatch.undo()
            raise UnreachableError("Slurm does not answer")

    wide, other = shrunk_by(engine)
    monkeypatch.setattr(engine.orders, "_requeue", away)
    with pytest.raises(UnreachableError):
        steps(engine, slurm)
    steps(engine, slurm)
    assert len(nodes_of(slurm, wide)) == 32
    assert slurm.snapshot().jobs[other].state == "RUNNING"


def test_a_dry_run_and_a_plan_say_who_would_shrink(slurm, make):
    """And tell nothing."""
    wide = malleable(slurm, held=False)
    slurm.advance(5)
    other = submit(slurm, 32)
    engine = make(DISPATCHERS[0], act=False, folder=None)
    with engine.opened():
        steps(engine, slurm, 4)
    (said,) = (line for line in engine.said if f"job {wide} would keep" in line)
    found = plan(slurm, EURORA, DISPATCHERS[0])
    (one,) = found["shrinks"]
    assert (one["job"], len(one["keeps"])) == (wide, 32)
    assert said.split()[4] == ",".join(one["keeps"])
    assert [job["job"] for job in found["jobs"]] == [other]
    assert shrinks(slurm) == []
