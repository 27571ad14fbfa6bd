"""Native dispatchers decide in the event loop as the same dispatchers do through Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import result, simulator
from tiny import jobs, machine, machines, run, workloads

from cpsched import systems
from cpsched.dispatch.backfilling import Easy
from cpsched.dispatch.rules import Fifo, Greedy
from cpsched.errors import ConfigError
from cpsched.model.system import Queue
from cpsched.papers.generators.eurora import EURORA, EuroraOptions
from cpsched.simulation import simulator as loop
from cpsched.simulation.observers import Observer
from cpsched.systems.mapping import fit
from cpsched.util.types import MISSING, UNBOUNDED

pytestmark = pytest.mark.slow

LOOPS = (
    "fifo",
    "fifo:allocator=best-fit",
    "easy",
    "easy:allocator=pack",
    "conservative:depth=1",
    "greedy",
    "greedy:order=slowdown,allocator=best-fit",
)


class Present(Observer):
    """Wants to see every decision, so that each is made by Python."""

    def on_decision(self, view, decision, seconds):
        pass


def both(fitted, dispatcher):
    """Return a simulation that decides natively and one that decides through Python."""
    return simulator(fitted, dispatcher), simulator(fitted, dispatcher, Present())


@given(workload=workloads(), system=machines(), stops=st.lists(st.integers(0, 60), max_size=4))
@settings(max_examples=100)
@pytest.mark.parametrize("dispatcher", LOOPS)
def test_it_may_stop_and_step_between(dispatcher, workload, system, stops):
    """Between two calls the state is that of the other at the same second."""
    fast, slow = both(fit(workload, system), dispatcher)
    for until in sorted(stops):
        fast.run(until)
        slow.run(until)
        assert np.array_equal(fast.start_time, slow.start_time)
        assert np.array_equal(fast.outcome, slow.outcome)
        ours, theirs = fast.state()["cluster"], slow.state()["cluster"]
        for name, value in theirs["machine"].items():
            if name != "node_count":
                assert np.array_equal(ours["machine"][name], value), name
        assert (ours["now"], ours["news"]) == (theirs["now"], theirs["news"])
        assert fast.step() == slow.step()
    fast.run()
    slow.run()
    assert result(fast) == result(slow)


@pytest.mark.parametrize("steps", [1, 200, 255, 256, 300])
def test_long_queues_grow(steps):
    """The queue's array moves while jobs leave it at the front."""
    workload = jobs(*((job, 1 + job % 2, 2, 5) for job in range(400)))
    fast, slow = both(fit(workload, machine((3,))), "easy")
    for _ in range(steps):
        fast.step()
    fast.run()
    slow.run()
    assert result(fast) == result(slow)


@pytest.mark.parametrize("dispatcher", LOOPS)
def test_a_busy_machine_runs_the_same(dispatcher, monkeypatch):
    """Arrays grow, and the loop returns to Python after every instant."""
    monkeypatch.setattr(loop, "_SECONDS", 0.0)
    workload = EURORA.generate(EuroraOptions(jobs=3000, seed=5))
    fitted = fit(workload, systems.load("eurora"))
    fast, slow = both(fitted, dispatcher)
    fast.run()
    slow.run()
    assert fast.is_native
    assert not slow.is_native
    assert result(fast) == result(slow)


@pytest.mark.parametrize("dispatcher", LOOPS)
def test_a_deep_queue_of_few_kinds_runs_the_same(dispatcher):
    """Each kind waits in a line of its own, whose jobs start between those of other kinds."""
    chance = np.random.default_rng(3)
    kinds = chance.integers((1, 1), (7, 40), (12, 2)).tolist()
    workload = jobs(
        *(
            (second, units, int(chance.integers(1, requested + 1)), requested)
            for second in np.sort(chance.integers(0, 300, 1200)).tolist()
            for units, requested in [kinds[chance.integers(12)]]
        )
    )
    fast, slow = both(fit(workload, machine((8,), (6,))), dispatcher)
    fast.run()
    slow.run()
    assert fast.is_native
    assert result(fast) == result(slow)


def different_jobs(chance, num_jobs):
    """Return jobs of two resources, hardly any like another, that keep a small machine full."""
    requested = chance.integers(2, 400, num_jobs)
    submit = np.sort(chance.integers(0, 2500, num_jobs))
    rows = zip(
        submit.tolist(),
        chance.integers(1, 9, num_jobs).tolist(),
        # Some run longer than they have asked for.
        np.maximum(requested * chance.uniform(0.1, 1.2, num_jobs), 1).astype(int).tolist(),
        requested.tolist(),
        strict=True,
    )
    bounded = chance.random(num_jobs) < 0.3
    return jobs(
        *rows,
        resources=("core", "mem"),
        request=np.stack([np.ones(num_jobs, int), chance.integers(0, 3, num_jobs)], axis=1),
        nodes_max=np.where(bounded, chance.integers(1, 4, num_jobs), UNBOUNDED).tolist(),
        exclusive=(chance.random(num_jobs) < 0.1).tolist(),
        cancel=np.where(
            chance.random(num_jobs) < 0.1, submit + chance.integers(0, 4000, num_jobs), MISSING
        ).tolist(),
    )


@pytest.mark.parametrize("overrun", ["kill", "extend"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dispatcher", ["easy", "easy:allocator=pack", "conservative:depth=1"])
def test_a_deep_queue_of_many_sizes_runs_the_same(dispatcher, seed, overrun):
    """What is kept of a reservation holds where jobs end early or late, and others are cancelled."""
    workload = different_jobs(np.random.default_rng(seed), 500)
    system = machine(*[(4, 8)] * 5, (6, 3), (6, 3), resources=("core", "mem"))
    fast = simulator(fit(workload, system), dispatcher, overrun=overrun)
    slow = simulator(fit(workload, system), dispatcher, Present(), overrun=overrun)
    fast.run()
    slow.run()
    assert fast.is_native
    assert not slow.is_native
    assert result(fast) == result(slow)


def test_thousands_of_nodes_are_used_from_the_first_free_one_on():
    """Ranges of nodes are split and joined far apart from each other."""
    chance = np.random.default_rng(9)
    num_nodes = 9000
    rows = [
        (second, int(chance.integers(1, 10 ** int(chance.integers(1, 4)) * 4)), length, length)
        for second, length in enumerate(chance.integers(1, 60, 600).tolist())
    ]
    schedule = run(jobs(*rows), machine(*[(1,)] * num_nodes), "fifo").schedule
    nodes_of = {job: [] for job in range(len(rows))}
    for job, node, count in zip(
        *(getattr(schedule.segments, name).tolist() for name in ("job", "node", "count")),
        strict=True,
    ):
        nodes_of[job].extend(range(node, node + count))
    ends = [(second, False, job) for job, second in enumerate(schedule.end.tolist())]
    starts = [(second, True, job) for job, second in enumerate(schedule.start.tolist())]
    free = np.ones(num_nodes, dtype=bool)
    for _, begins, job in sorted(ends + starts):
        if begins:
            assert nodes_of[job] == np.flatnonzero(free)[: rows[job][1]].tolist()
        free[nodes_of[job]] = not begins
    assert free.all()


class OwnFifo(Fifo):
    """May decide anything."""


class OwnEasy(Easy):
    """So may this."""


class OwnPrb(Greedy):
    """And this."""


@pytest.mark.parametrize(
    ("dispatcher", "options"),
    [
        (OwnFifo(), {}),
        (OwnEasy(), {}),
        ("sjf", {}),
        ("easy:backfill=sjf", {}),
        ("easy:order=slowdown", {}),
        ("easy:estimate=upper", {}),
        (OwnPrb(), {}),
        ("greedy:order=sjf", {}),
    ],
)
def test_what_it_does_not_do_is_left_to_python(dispatcher, options):
    """Everything it has no answer to."""
    fitted = fit(jobs((0, 1, 5), (0, 1, 5)), machine((1,)))
    assert simulator(fitted, "easy").is_native
    assert not simulator(fitted, dispatcher, **options).is_native


def test_a_job_without_an_expected_wait_is_refused_when_it_is_ranked():
    """Where a job may have none, Python decides."""
    long = Queue(name="long", expected_wait=3600)
    fitted = fit(
        jobs((0, 1, 5), (1, 1, 5), (1, 1, 5), queue=["long", None, "long"]),
        machine((1,), (1,), queues=(long,), expected_wait=None),
    )
    assert simulator(fitted, "greedy:order=slowdown").is_native
    with pytest.raises(ConfigError, match="a job has no queue"):
        simulator(fitted, "greedy").run()


def test_jobs_that_rank_take_over_from_python():
    """The demand of jobs that came while Python stepped is known, too; ties go by it."""
    rows = [(second // 3, 1 + second % 3, 4 + second % 5, 6 + second % 4) for second in range(90)]
    fast, slow = both(fit(jobs(*rows), machine((2,), (2,))), "greedy")
    for _ in range(20):
        fast.step()
    fast.run()
    slow.run()
    assert result(fast) == result(slow)


@pytest.mark.parametrize("dispatcher", LOOPS)
@pytest.mark.parametrize(
    "options",
    [
        {"predictor": "user-history"},
        {"predictor": "last", "correction": "double"},
        {"overrun": "extend"},
        {"dispatch_interval": 10},
        {"runtime_model": "gpu-scaling"},
    ],
    ids=lambda options: next(iter(options)),
)
def test_whatever_else_is_asked_native_decisions_are_the_same(dispatcher, options):
    """A predictor, overdue jobs, a dispatch grid and a runtime model are Python's."""
    workload = EURORA.generate(EuroraOptions(jobs=1000, seed=7))
    fitted = fit(workload, systems.load("eurora"))
    fast = simulator(fitted, dispatcher, **options)
    slow = simulator(fitted, dispatcher, Present(), **options)
    fast.run()
    slow.run()
    assert fast.is_native
    assert result(fast) == result(slow)


@pytest.mark.parametrize("dispatcher", LOOPS)
def test_held_and_cancelled_jobs(dispatcher):
    """Jobs that begin later, depend on others or are cancelled come and go natively."""
    chance = np.random.default_rng(11)
    rows = [(second // 2, 1 + int(chance.integers(4)), 9, 12) for second in range(120)]
    workload = jobs(
        *rows,
        begin=[second // 2 + 7 if second % 5 == 0 else -1 for second in range(120)],
        dependency=[second - 3 if second % 7 == 6 else -1 for second in range(120)],
        cancel=[second // 2 + 9 if second % 11 == 10 else MISSING for second in range(120)],
    )
    fast, slow = both(fit(workload, machine((3,), (2,))), dispatcher)
    fast.run()
    slow.run()
    assert fast.is_native
    assert result(fast) == result(slow)


def test_what_happens_from_outside_is_seen():
    """A job is cancelled, a node is down."""
    fitted = fit(jobs(*((second, 1, 10) for second in range(6))), machine((1,), (1,)))
    fast, slow = both(fitted, "easy")
    for simulation in (fast, slow):
        simulation.run(until=3)
        simulation.cancel(4, 12)
        simulation.cluster.set_down([1], simulation.now)
        simulation.run(until=13)
        simulation.cluster.set_down([], simulation.now)
        simulation.run()
    assert result(fast) == result(slow)


def test_progress_is_told_by_both_loops():
    """How many have ended and how many wait, at last all and none."""

    class ProgressNoted(Observer):
        def __init__(self):
            self.all = []

        def on_progress(self, ended, waiting, now):
            self.all.append((ended, waiting, now))

    fitted = fit(jobs(*((second, 1, 3) for second in range(200))), machine((1,)))
    for others in ((), (Present(),)):
        observer = ProgressNoted()
        simulator(fitted, "easy", observer, *others).run()
        assert [ended for ended, _, _ in observer.all] == sorted(
            ended for ended, _, _ in observer.all
        )
        assert all(ended + waiting <= 200 for ended, waiting, _ in observer.all)
        assert observer.all[-1][0] > 180
