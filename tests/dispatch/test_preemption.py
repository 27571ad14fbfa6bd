"""Jobs of high tiers take the room of running jobs of low ones, worked out by hand and drawn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import jobs, machine, run

from cpsched.dispatch.preemptable import Candidates, QueueRules, fewest
from cpsched.dispatch.preemption import Preemption
from cpsched.metrics.lost import lost_core_seconds
from cpsched.model.schedule import JobOutcome, Leaving
from cpsched.model.system import Preempt, Queue
from cpsched.verification import verify

pytestmark = pytest.mark.slow


def queues(preempt="requeue", grace=0, **more):
    """Return a queue of low tier whose jobs may be preempted, and one above it."""
    low = Queue(name="low", preempt=Preempt(preempt), grace=grace, **more)
    return [low, Queue(name="high", priority_tier=1)]


def four(preempt="requeue", grace=0):
    return machine((1,), (1,), (1,), (1,), queues=queues(preempt, grace))


def preempted(workload, system, spec="preempt"):
    schedule = run(workload, system, spec).schedule
    assert verify(schedule) == []
    return schedule


@pytest.mark.parametrize(
    ("mode", "ends", "outcome", "leaving"),
    [
        # Saved after 20 s: 30 are left after 35, when the other has ended, and 2 s to start again.
        ("requeue", [35 + 2 + 30, 35], JobOutcome.COMPLETED, [Leaving.REQUEUED]),
        ("suspend", [35 + 2 + 25, 35], JobOutcome.COMPLETED, [Leaving.SUSPENDED]),
        ("kill", [25, 35], JobOutcome.KILLED, []),
        ("off", [50, 60], JobOutcome.COMPLETED, []),
    ],
)
def test_a_job_of_a_higher_tier_starts_at_once(mode, ends, outcome, leaving):
    """A runs 50 s on all four cores; B comes at 25 for 10 s on three."""
    workload = jobs(
        (0, 4, 50),
        (25, 3, 10),
        queue=["low", "high"],
        restartable=[True, True],
        checkpoint=[20, 0],
        restart_cost=[2, 0],
    )
    schedule = preempted(workload, four(mode))
    assert schedule.end.tolist() == ends
    assert schedule.outcome[0] == outcome
    why = schedule.segments.leaving
    assert set(why[why != Leaving.END].tolist()) == set(leaving)


@pytest.mark.parametrize(("mode", "ends"), [("requeue", 50), ("suspend", 50), ("kill", 25)])
def test_jobs_that_are_not_restartable_are_killed_or_left_alone(mode, ends):
    workload = jobs((0, 4, 50), (25, 3, 10), queue=["low", "high"])
    assert preempted(workload, four(mode)).end.tolist() == [ends, ends + 10]


#: Queues of three tiers, and of two of which the jobs of the lower one have unlike graces.
THREE = [
    Queue(name="low", preempt=Preempt.REQUEUE),
    Queue(name="high", priority_tier=1, preempt=Preempt.REQUEUE),
    Queue(name="top", priority_tier=2),
]
GRACES = [
    Queue(name="short", preempt=Preempt.REQUEUE, grace=5),
    Queue(name="long", preempt=Preempt.REQUEUE, grace=20),
    Queue(name="high", priority_tier=1),
]


@pytest.mark.parametrize(
    ("rows", "names", "nodes", "queues_of_case", "more", "expected"),
    [
        # A, B and C started one after the other; C leaves for D, which needs one core.
        pytest.param(
            ((0, 1, 90), (1, 1, 90), (2, 2, 90), (10, 1, 5)), "low low low high",
            4, queues(), {}, [0, 1, 15, 10], id="the youngest leaves if one is enough",
        ),
        # E needs three cores: C's two and one besides. B is younger than A; D is above them.
        pytest.param(
            ((0, 1, 90), (1, 1, 90), (2, 2, 90), (3, 1, 90), (10, 3, 5)), "low low low high high",
            5, queues(), {}, [0, 15, 15, 3, 10], id="no more leave than are needed",
        ),
        # B is younger than A and above it: A leaves.
        pytest.param(
            ((0, 2, 90), (1, 2, 90), (10, 2, 5)), "low high top",
            4, THREE, {}, [15, 1, 10], id="the lowest tier leaves first",
        ),
        # One of 5 s and one of 20: both leave after 20 s.
        pytest.param(
            ((0, 2, 90), (0, 2, 90), (10, 4, 5)), "short long high",
            4, GRACES, {}, [35, 35, 30], id="all have notice for the longest grace",
        ),
        # B is in the same queue as A, of no use to it; C is urgent. D has to wait for the urgent
        # one; then A is behind it in its tier's turn.
        pytest.param(
            ((0, 4, 50), (5, 4, 5), (10, 2, 5), (11, 4, 5)), "low low low high",
            4, queues(grace=30), {"urgent": [False, False, True, False]}, [20, 70, 10, 15],
            id="urgent jobs are above all without a grace",
        ),
        # Both come at 0, B behind A in the same second: FIFO starts A of the lower tier last.
        pytest.param(
            ((0, 4, 50), (0, 4, 5)), "low high",
            4, queues(), {}, [5, 0], id="nobody leaves in the second of the start",
        ),
        # B starts as the first job ends; C is let go in that second.
        pytest.param(
            ((0, 4, 10), (1, 4, 50), (1, 4, 5)), "high low high",
            4, queues(), {"begin": [0, 0, 10]}, [0, 15, 10], id="nor if another is let go in it",
        ),
    ],
)  # fmt: skip
def test_who_leaves(rows, names, nodes, queues_of_case, more, expected):
    """Starts of jobs that may all be queued again."""
    named = {"queue": names.split(), "restartable": [True] * len(rows)}
    schedule = preempted(
        jobs(*rows, **named, **more), machine(*[(1,)] * nodes, queues=queues_of_case)
    )
    assert schedule.start.tolist() == expected


def test_the_capacity_is_reserved_during_grace():
    """
    B asks for all four cores at 10, one of which is idle; A and X have 20 s left to run.

    C of A's tier would fit on the idle core for 5 s or for 50, and does not get it. X ends by
    itself at 25; its core is kept, too.
    """
    workload = jobs(
        *((0, 2, 90), (0, 1, 25), (10, 4, 5), (11, 1, 5), (11, 1, 50)),
        queue=["low", "low", "high", "low", "low"],
        restartable=[True] * 5,
    )
    schedule = preempted(workload, four(grace=20))
    assert schedule.start.tolist() == [35, 0, 30, 35, 35]
    why = schedule.segments.leaving
    assert schedule.segments.end[why == Leaving.REQUEUED].tolist() == [30]


def test_who_has_not_left_stays_if_capacity_comes_free():
    """X ends at 25 and leaves the two cores that B needs: A has had notice, and stays."""
    workload = jobs(
        *((0, 2, 90), (0, 2, 25), (10, 2, 5)),
        queue=["low", "high", "high"],
        restartable=[True] * 3,
    )
    schedule = preempted(workload, four(grace=20))
    assert schedule.start.tolist() == [0, 0, 25]
    assert not schedule.segments.leaving.any()


def test_higher_tiers_go_first_under_any_order():
    """SJF would start the short job of the low tier; the other needs the same cores."""
    workload = jobs(*((0, 4, 10), (1, 4, 2), (2, 4, 30)), queue=["high", "low", "high"])
    assert preempted(workload, four("off"), "preempt:dispatcher=sjf").start.tolist() == [0, 40, 10]
    assert run(workload, four("off"), "sjf").schedule.start.tolist() == [0, 10, 12]


def test_what_is_preempted_is_counted():
    workload = jobs((0, 4, 50), (25, 3, 10), queue=["low", "high"], restartable=[True, True])
    result = run(workload, four(), "preempt")
    assert result.decisions["preempted"] == 1
    assert sum(lost_core_seconds(result.schedule).values()) == 100


def test_a_machine_without_tiers_is_the_other_dispatcher():
    rows = [(at, 1 + at % 3, 7 + 5 * (at % 4)) for at in range(40)]
    workload = jobs(*rows)
    system = machine((2,), (2,))
    schedule = run(workload, system, "preempt:dispatcher=easy,dispatcher.order=slowdown").schedule
    assert (
        schedule.start.tolist()
        == run(workload, system, "easy:order=slowdown").schedule.start.tolist()
    )


@given(st.lists(st.integers(1, 5), max_size=8), st.integers(1, 20))
def test_few_are_enough_and_none_too_many(sizes, needed):
    def fits(indices):
        return sum(sizes[index] for index in indices) >= needed

    chosen = fewest(range(len(sizes)), fits)
    if chosen is None:
        assert sum(sizes) < needed
        return
    assert fits(chosen)
    assert not any(fits([index for index in chosen if index != gone]) for gone in chosen)
    if any(size >= needed for size in sizes):
        assert chosen == [next(index for index, size in enumerate(sizes) if size >= needed)]


class Watched(Preemption):
    """Notes jobs that wait though running ones below their tier would make room for them."""

    def __init__(self, dispatcher):
        super().__init__(dispatcher)
        self.asked = {}
        self.wrong = []

    def decide(self, view):
        decision = super().decide(view)
        if decision.again_at == view.now:
            return decision
        waiting, candidates = view.waiting, Candidates(view, self._queues)
        free, _ = self._without_reserved(view, candidates)
        for handle, claim in self._claims.items():
            candidates.take(candidates.positions(claim.leaving))
            since = self.asked.setdefault(handle, view.now)
            if view.now > since + 3:
                self.wrong.append(f"{handle} asked at {since} and waits at {view.now}")
        started = {action.handle for action in decision.actions}
        for action in decision.actions:
            free[action.allocation.node] -= action.allocation.amount
        tier = self._queues.tier(waiting).tolist()
        for at, (row, handle) in enumerate(
            zip(waiting.rows.tolist(), waiting.handle.tolist(), strict=True)
        ):
            if handle in started or handle in self._claims:
                continue
            able = candidates.below(tier[at])
            if not able or self._placer.place(view, row, free) is not None:
                continue
            if self._placer.place(view, row, candidates.without(able, free)) is not None:
                self.wrong.append(f"{handle} does not ask at {view.now}")
        for handle in list(self.asked):
            if handle not in self._claims:
                del self.asked[handle]
        return decision


def drawn(rng):
    """Return jobs that ask for more than there is, of three tiers, and a dispatcher."""
    num = int(rng.integers(4, 25))
    modes = [Preempt.REQUEUE, Preempt.SUSPEND, Preempt.KILL, Preempt.REQUEUE, Preempt.OFF]
    rules = []
    for tier, name in enumerate("abc"):
        mode = modes[rng.integers(len(modes))]
        grace = 0 if mode == Preempt.OFF else int(rng.integers(0, 4))
        rules.append(Queue(name=name, priority_tier=tier, preempt=mode, grace=grace))
    nodes = [(4, 2)] * int(rng.integers(1, 4))
    runtime = rng.integers(0, 20, num)
    workload = jobs(
        *zip(
            np.sort(rng.integers(0, 30, num)).tolist(),
            rng.integers(1, 5, num).tolist(),
            runtime.tolist(),
            (runtime + rng.integers(1, 20, num)).tolist(),
            strict=True,
        ),
        resources=("core", "gpu"),
        request=[(1, 0) if rng.random() < 0.8 else (1, 1) for _ in range(num)],
        exclusive=rng.random(num) < 0.2,
        restartable=rng.random(num) < 0.8,
        urgent=rng.random(num) < 0.1,
        checkpoint=rng.integers(0, 5, num),
        restart_cost=rng.integers(0, 3, num),
        queue=rng.choice(["a", "b", "c"], num).tolist(),
    )
    inner = ["easy", "easy:order=slowdown", "conservative", "fifo", "slurm-backfill"]
    system = machine(*nodes, resources=("core", "gpu"), queues=rules)
    return workload, system, inner[rng.integers(len(inner))]


def test_nobody_waits_for_longer_than_grace_and_no_job_is_lost():
    """What the watch says, and every job that fits the machine comes to an end."""
    left = {}
    for seed in range(150):
        workload, system, inner = drawn(np.random.default_rng(seed))
        watched = Watched(inner)
        result = run(workload, system, watched)
        schedule = result.schedule
        assert verify(schedule) == []
        assert watched.wrong == []
        ran = schedule.outcome != JobOutcome.REJECTED
        done = [JobOutcome.COMPLETED, JobOutcome.TIMEOUT, JobOutcome.KILLED]
        assert np.isin(schedule.outcome[ran], done).all()
        left[inner] = left.get(inner, 0) + result.decisions.get("preempted", 0)
    assert len(left) == 5
    assert min(left.values()) > 30


def test_rules_of_queues_that_are_not_the_systems():
    rules = QueueRules({"a": Queue(name="a", priority_tier=3)})
    tiers = []

    class Looks(Preemption):
        def decide(self, view):
            tiers.append(rules.tier(view.waiting).tolist())
            return super().decide(view)

    workload = jobs((0, 1, 1), (0, 1, 1), (0, 1, 1), queue=["a", "b", ""])
    run(workload, machine((3,)), Looks())
    assert tiers[0] == [3, 0, 0]
