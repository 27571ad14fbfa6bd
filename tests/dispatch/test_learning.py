"""Dispatchers that learn how long jobs run: when, what for, and what is saved of it."""

import numpy as np
import pytest
from tiny import jobs, machine, run, starts

from cpsched.dispatch.allocators import make_allocator
from cpsched.dispatch.contract import Dispatcher
from cpsched.dispatch.learning import LearningDispatcher
from cpsched.dispatch.orders import make_priority
from cpsched.errors import ConfigError, RunError
from cpsched.papers.generators.eurora import EURORA, EuroraOptions
from cpsched.simulation.observers import Observer
from cpsched.simulation.simulator import Simulator
from cpsched.systems import load
from cpsched.systems.mapping import fit
from cpsched.util.spec import build

pytestmark = pytest.mark.slow

#: One of every class that takes a priority, and the one that learns by itself.
LEARNING = (
    "greedy:order=wsept",
    "easy:order=wsept",
    "easy:backfill=wsept",
    "conservative:order=wsept",
    "slurm-backfill:order=wsept",
    "cp-pool:search=wsept",
    "cp-nodes:search=wsept,window=5",
    "ipsched:order=wsept,interval=none",
    "aucsched2:order=wsept,interval=none",
)
NOT_LEARNING = (
    "greedy",
    "easy:order=slowdown",
    "conservative",
    "slurm-backfill",
    "cph-0",
    "ipsched",
)


@pytest.fixture(scope="module")
def eurora():
    """Return a busy piece of a generated year on the real machine's nodes."""
    workload = EURORA.generate(EuroraOptions(jobs=1000, seed=3, load=1.2))
    return fit(workload.select(first=300), load("eurora"))


@pytest.mark.parametrize("spec", LEARNING)
def test_runtimes_are_learnt_at_the_second_of_the_end_also_when_nobody_waits(spec):
    """The first runs 30 s and the second 10; the third ends at the end."""
    watch = build("dispatchers", spec)
    log = jobs((0, 1, 30, 60), (50, 1, 10, 40), (200, 1, 20, 20))
    run(log, machine((4,)), watch)
    assert watch.state()["history"]["past"][:2, 0].tolist() == [30, 10]


@pytest.mark.parametrize("spec", NOT_LEARNING)
def test_where_nothing_learns_nothing_is_asked_or_saved(spec):
    watch = build("dispatchers", spec)
    run(jobs((0, 1, 30, 60), (50, 1, 10, 40), (200, 1, 20, 20)), machine((4,)), watch)
    assert not watch.acts_when_idle
    assert "history" not in watch.state()
    assert watch.history.state()["num_past"] == 0


@pytest.mark.parametrize("spec", LEARNING)
def test_what_is_learnt_survives_save_and_load(spec, eurora):
    learnt, again = build("dispatchers", spec), build("dispatchers", spec)
    run(eurora, None, learnt)
    saved = learnt.state()["history"]
    again.reset(eurora.system, 0)
    again.restore(learnt.state())
    for key, value in again.state()["history"].items():
        assert np.array_equal(np.asarray(value), np.asarray(saved[key])), key
    assert len(saved["users"]) > 1
    assert saved["num_past"] > 200
    again.reset(eurora.system, 0)
    assert again.state()["history"]["num_past"] == 0


def test_a_state_without_what_was_learnt_is_refused(eurora):
    """As of a dispatcher that does not learn: one line, and no start from nothing."""
    plain, learns = (
        Simulator(eurora, build("dispatchers", spec), build("predictors", "requested"))
        for spec in ("easy", "easy:order=wsept")
    )
    with pytest.raises(RunError, match="dispatcher easy cannot be restored: KeyError: 'history'"):
        learns.restore(plain.state())


@pytest.mark.parametrize("spec", ["easy:order=wsept", "slurm-backfill:order=wsept"])
def test_ranking_learns_nothing(spec, eurora):
    """Asked at every decision, before and after: the same state, and the same schedule."""

    class Curious(Observer):
        asked = 0

        def on_decision(self, view, decision, seconds):
            if len(view.waiting) > 1:
                before = curious.state()["history"]
                curious.ranking(view)
                for key, value in curious.state()["history"].items():
                    assert np.array_equal(np.asarray(value), np.asarray(before[key])), key
                self.asked += 1

    curious, observer = build("dispatchers", spec), Curious()
    asked = run(eurora, None, curious, observers=[observer]).schedule
    assert observer.asked > 50
    assert asked.start.tolist() == run(eurora, None, spec).schedule.start.tolist()


@pytest.mark.parametrize(
    "spec",
    [
        "greedy:order=wsept",
        "easy:order=wsept",
        "conservative:order=wsept",
        "slurm-backfill:order=wsept,backfill_interval=0,reserve=amounts",
    ],
)
def test_a_user_whose_jobs_end_early_goes_first(spec):
    """
    One core. Two users' jobs have run 10 s and 100 s of 100 s requested when two more compete.

    That of the early user starts first, although it was submitted last; under slowdown, or with
    nothing learnt, the other does.
    """
    rows = [(0, 10), (0, 100), (10, 10), (20, 100), (30, 100), (31, 10)]
    users = ["early", "late"] * 2 + ["late", "early"]
    log = jobs(*((submit, 1, runtime, 100) for submit, runtime in rows), user=users)
    start_times = starts(log, machine((1,)), spec)
    assert start_times[5] < start_times[4]
    plain = starts(log, machine((1,)), spec.replace("wsept", "fifo"))
    assert plain[5] > plain[4]


def test_all_priorities_of_a_dispatcher_learn_from_the_same():
    easy = build("dispatchers", "easy:order=wsept,backfill=wsept,backfill.aging=60")
    first, second = easy.priorities
    assert first.history is second.history is easy.history
    assert (first.aging, second.aging) == (43200, 60)


def test_one_that_derives_from_it_learns_too():
    """What ``docs/guides/write-a-dispatcher.md`` says of priorities."""

    class Greedy(LearningDispatcher):
        name = "greedy"

        def __init__(self):
            super().__init__(make_priority("wsept"))
            self.inner = build("dispatchers", "fifo")

        def reset(self, system, seed):
            super().reset(system, seed)
            self.inner.reset(system, seed)

        def choose(self, view):
            assert len(view.waiting)
            return self.inner.decide(view)

    greedy = Greedy()
    run(jobs((0, 1, 30, 60), (50, 1, 10, 40), (200, 1, 20, 20)), machine((4,)), greedy)
    assert greedy.state()["history"]["past"][:2, 0].tolist() == [30, 10]


def test_a_dispatcher_that_tells_its_priority_nothing_is_refused():
    class Deaf(Dispatcher):
        name = "deaf"

        def __init__(self):
            self.priority = make_priority("wsept")
            self.allocator = make_allocator("first-fit")

        def reset(self, system, seed):
            self.priority.reset(system)

        def decide(self, view):
            raise AssertionError

    with pytest.raises(ConfigError, match="must be a LearningDispatcher"):
        run(jobs((0, 1, 30, 60)), machine((4,)), Deaf())
