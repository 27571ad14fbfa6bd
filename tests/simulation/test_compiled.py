"""The compiled event loop gives the schedules of the Python loop, and knows when it may not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import result, simulator
from tiny import jobs, machine, machines, workloads

from cpsched import systems
from cpsched.dispatch.backfilling import Easy
from cpsched.dispatch.rules import Fifo, Greedy
from cpsched.errors import ConfigError
from cpsched.kernels import event_loop
from cpsched.kernels.compiling import kernel
from cpsched.model import columns as c
from cpsched.model.system import Queue
from cpsched.papers.generators.eurora import EURORA, EuroraOptions
from cpsched.simulation import compiled
from cpsched.simulation.observers import Observer
from cpsched.systems.mapping import fit

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


@kernel
def left(queue, first, end, started, cols):
    """Call what cannot be called from Python."""
    return event_loop._leave(queue, first, end, started, cols)


@kernel
def left_alone(counters, queue, row):
    """Call it with the bounds of the queue."""
    event_loop._leave_alone(counters[0], queue, row)


class Present(Observer):
    """Wants to be told of every second, which the compiled loop does not do."""

    def on_instant(self, now):
        pass


def both(fitted, dispatcher):
    """Return a simulation in the compiled loop and one in Python."""
    return simulator(fitted, dispatcher), simulator(fitted, dispatcher, Present())


@given(workload=workloads(), system=machines(), stops=st.lists(st.integers(0, 60), max_size=4))
@settings(max_examples=100)
@pytest.mark.parametrize("dispatcher", LOOPS)
def test_it_may_stop_and_step_between(dispatcher, workload, system, stops):
    """Between two calls the state is that of the Python loop at the same second."""
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
def test_it_takes_over_long_queues(steps):
    """Where the queue's array has been used up to some place, it has room for all jobs to come."""
    workload = jobs(*((job, 1 + job % 2, 2, 5) for job in range(400)))
    fast, slow = both(fit(workload, machine((3,))), "easy")
    for _ in range(steps):
        fast.step()
    counters = np.zeros(1, dtype=event_loop.COUNTERS)[0]
    _, lists = fast.machine.lend(counters, 400)
    assert len(lists.queue) >= counters["queue_end"] + 400 - fast.machine.store.size
    assert len(lists.running) >= 400
    fast.run()
    slow.run()
    assert result(fast) == result(slow)


@pytest.mark.parametrize("dispatcher", LOOPS)
def test_a_busy_machine_runs_the_same(dispatcher, monkeypatch):
    """Arrays grow, classes of jobs run out, and the loop returns to Python again and again."""
    monkeypatch.setattr(compiled, "_FIRST_DECISIONS", 16)
    monkeypatch.setattr(compiled, "_SECONDS", 0.0)
    workload = EURORA.generate(EuroraOptions(jobs=3000, seed=5))
    fitted = fit(workload, systems.load("eurora"))
    fast, slow = both(fitted, dispatcher)
    fast.run()
    slow.run()
    assert fast._compiled is not None
    assert slow._compiled is None
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
    assert fast._compiled is not None
    assert result(fast) == result(slow)


def test_more_kinds_of_jobs_than_are_remembered(monkeypatch):
    """The table of classes is emptied in between, as it is in Python."""
    returned = []
    one_call = compiled.CompiledLoop._go_on

    def noted(self, *arguments):
        found = one_call(self, *arguments)
        returned.append(found[0])
        return found

    monkeypatch.setattr(compiled.CompiledLoop, "_go_on", noted)
    workload = jobs(*((job // 64, 1 + job % 3, 1 + job % 7, 5 + job) for job in range(1500)))
    fast, slow = both(fit(workload, machine((3,), (2,))), "easy")
    fast.run()
    slow.run()
    assert event_loop.CLASSES_FULL in returned
    assert result(fast) == result(slow)


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
        ("greedy", {"predictor": "user-history"}),
        ("easy", {"predictor": "user-history"}),
        ("easy", {"overrun": "extend"}),
        ("easy", {"dispatch_interval": 10}),
        ("easy", {"runtime_model": "gpu-scaling"}),
    ],
)
def test_what_it_does_not_do_is_left_to_python(dispatcher, options):
    """Everything it has no answer to."""
    fitted = fit(jobs((0, 1, 5), (0, 1, 5)), machine((1,)))
    assert simulator(fitted, "easy")._compiled is not None
    assert simulator(fitted, dispatcher, **options)._compiled is None


def test_a_job_without_an_expected_wait_is_refused_when_it_is_ranked():
    """Where a job may have none, the compiled loop does not begin."""
    long = Queue(name="long", expected_wait=3600)
    fitted = fit(
        jobs((0, 1, 5), (1, 1, 5), (1, 1, 5), queue=["long", None, "long"]),
        machine((1,), (1,), queues=(long,), expected_wait=None),
    )
    assert simulator(fitted, "greedy:order=slowdown")._compiled is not None
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


def test_starts_are_taken_out_of_the_queue_in_any_order():
    """One sweep for those in the order of the queue; for others their states are looked at."""
    for started in ([7], [3, 5, 9], [9, 3, 7], [4, 3], [9, 8, 7, 6, 5, 4, 3]):
        queue = np.array([0, 0, 3, 4, 5, 6, 7, 8, 9, 0])
        cols = np.full((10, c.NUM_COLUMNS), c.WAITING)
        cols[started, c.STATE] = c.RUNNING
        end = left(queue, 2, 9, np.array(started), cols)
        assert queue[2:end].tolist() == [row for row in range(3, 10) if row not in started]


@pytest.mark.parametrize("row", [3, 4, 6, 8, 9])
def test_one_start_moves_the_shorter_part_of_the_queue(row):
    queue = np.array([0, 0, 3, 4, 5, 6, 7, 8, 9, 0])
    counters = np.zeros(1, dtype=event_loop.COUNTERS)
    counters["queue_first"], counters["queue_end"] = 2, 9
    left_alone(counters, queue, row)
    first, end = int(counters["queue_first"][0]), int(counters["queue_end"][0])
    assert queue[first:end].tolist() == [other for other in range(3, 10) if other != row]
    assert first == (3 if row < 7 else 2)


def test_held_jobs_are_left_to_python():
    """A job that begins later, or after another."""
    held = jobs((0, 1, 5), (0, 1, 5), begin=[-1, 7])
    assert simulator(fit(held, machine((1,))), "easy")._compiled is None


def test_what_happens_from_outside_is_seen():
    """A job cancelled, a node down: Python takes over for as long as need be."""
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

    class Told(Observer):
        def __init__(self):
            self.all = []

        def on_progress(self, ended, waiting, now):
            self.all.append((ended, waiting, now))

    fitted = fit(jobs(*((second, 1, 3) for second in range(200))), machine((1,)))
    for others in ((), (Present(),)):
        told = Told()
        simulator(fitted, "easy", told, *others).run()
        assert [ended for ended, _, _ in told.all] == sorted(ended for ended, _, _ in told.all)
        assert all(ended + waiting <= 200 for ended, waiting, _ in told.all)
        assert told.all[-1][0] > 180
