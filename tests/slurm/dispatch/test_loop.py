"""Slurm asked natively gives the schedules of Python's decisions, and goes on from a saved state."""

import numpy as np
import pytest
from recorded import result, simulator
from tiny import jobs, machine

from cpsched import systems
from cpsched._core import ShareTree
from cpsched.simulation.observers import Observer
from cpsched.slurm.dispatch import policy_file
from cpsched.slurm.dispatch.dispatcher import Slurm
from cpsched.slurm.dispatch.policy import SlurmPolicy
from cpsched.slurm.dispatch.usage import _resets, usage_of
from cpsched.slurm.site import SITE, SiteOptions
from cpsched.systems.mapping import fit
from cpsched.util.types import MISSING, DependencyType

pytestmark = pytest.mark.slow

POLICY = """
[slurm]
PriorityWeightAge = 1000
PriorityWeightFairshare = 5000
PriorityWeightJobSize = 100
PriorityUsageResetPeriod = "DAILY"
{more}
[[qos]]
Name = "normal"
MaxTRESPU = "cpu=1500"
"""


class Present(Observer):
    """Wants to see every decision, so that Python makes it."""

    def on_decision(self, view, decision, seconds):
        pass


def slurm(more="", **parameters):
    return Slurm(policy_file.parse(POLICY.format(more=more)), **parameters)


def both(fitted, **parameters):
    """Return a simulation that asks natively, and one that asks Python."""
    return (
        simulator(fitted, slurm(**parameters)),
        simulator(fitted, slurm(**parameters), Present()),
    )


@pytest.fixture(scope="module")
def month():
    """Jobs of a site: arrays, jobs in several partitions, held and cancelled ones."""
    workload = SITE.generate(SiteOptions(jobs=1500, days=1.5, seed=4))
    assert (workload.dependency >= 0).any()
    assert (workload.cancel >= 0).any()
    assert (workload.begin > workload.submit).any()
    return fit(workload, systems.load("site-152"))


@pytest.mark.parametrize("parameters", [{}, {"defer": "yes", "lag": 2}, {"bf_max_job_user": 2}])
def test_a_month_runs_the_same_with_stops_and_steps(month, parameters):
    """Between two calls the state is the same at the same second."""
    fast, slow = both(month, **parameters)
    assert fast._rule is not None
    assert slow._rule is None
    for until in (3_000, 40_000, 40_060, 90_000):
        fast.run(until)
        slow.run(until)
        assert np.array_equal(fast.start_time, slow.start_time)
        ours, theirs = fast.state(), slow.state()
        for name in ("now", "next_submit", "counter"):
            assert ours[name] == theirs[name], name
        assert sorted(ours["events"].tolist()) == sorted(theirs["events"].tolist())
        assert ours["cluster"]["wakes"].tolist() == theirs["cluster"]["wakes"].tolist()
        assert fast._loop.num_held == slow._loop.num_held
        usage = [simulation.dispatcher.passes.scheduler.usage.raw for simulation in (fast, slow)]
        assert np.array_equal(*usage)
        assert fast.step() == slow.step()
    fast.run()
    slow.run()
    assert result(fast) == result(slow)


def test_jobs_that_are_held_cancelled_or_killed_run_the_same():
    """
    One core. B follows A, C follows if A fails, D may begin at 30, E is cancelled while it waits, F
    while it is held, G while it runs.
    """
    workload = jobs(
        *[(0, 1, 10)] * 4, (1, 1, 10), (1, 1, 10), (2, 1, 50), (3, 1, 1),
        dependency=[-1, 0, 0, -1, -1, 3, -1, 1],
        dependency_type=[*[DependencyType.AFTEROK] * 2, DependencyType.AFTERNOTOK,
                         *[DependencyType.AFTER] * 4, DependencyType.AFTER],
        begin=[-1, -1, -1, 30, -1, -1, -1, -1],
        cancel=[100, *[MISSING] * 3, 5, 7, 45, MISSING],
    )  # fmt: skip
    fast, slow = both(fit(workload, machine((1,))))
    fast.run()
    slow.run()
    assert fast._rule is not None
    assert fast.outcome.tolist() == [0, 0, 5, 0, 2, 2, 4, 0]
    assert result(fast) == result(slow)


def of_all_kinds(seed, num=150):
    """Return random jobs of four users: wide, next to each other, evenly split, alone, arrays."""
    rng = np.random.default_rng(seed)
    units, runtime = rng.integers(1, 24, num), rng.integers(1, 4000, num)
    fewest = np.minimum(rng.choice([1, 1, 1, 2, 3], num), units)
    largest = np.where(rng.random(num) < 0.6, 12, np.maximum(fewest, rng.integers(1, 5, num)))
    kind, ones = rng.integers(0, 6, num), np.ones(num, dtype=np.int64)
    requested = runtime + rng.integers(0, 3000, num)
    submit = np.sort(rng.integers(0, 9000, num))
    return jobs(
        *np.stack([submit, units, runtime, requested], axis=1).tolist(),
        resources=("core", "mem"),
        request=np.stack([ones, rng.choice([0, 1, 4, 8], num)], axis=1),
        nodes_min=fewest,
        nodes_max=largest,
        contiguous=(kind == 1) | (kind == 4),
        split=(kind == 2) | (kind == 4),
        exclusive=kind == 3,
        user=[f"u{user}" for user in rng.integers(0, 4, num)],
        array=np.where(rng.random(num) < 0.4, rng.integers(0, 6, num), -1),
    )


@pytest.mark.parametrize(
    "parameters",
    [
        {"bf_max_job_user": 2},
        {"bf_max_job_user": 3, "bf_resolution": 300},
        {"bf_max_job_test": 20, "assoc_limit_stop": "yes"},
        {"bf_max_job_part": 5, "bf_job_part_count_reserve": 2},
        {"bf_max_job_user": 4, "bf_window": 60, "bf_max_job_start": 1},
    ],
)
def test_jobs_that_mind_their_nodes_run_the_same(parameters):
    """What ends a pass early, where nobody is told of plans, leaves all starts as they are."""
    nodes = machine(*[(8, 64)] * 8, *[(16, 32)] * 4, resources=("core", "mem"))
    for seed in range(3):
        fast, slow = both(fit(of_all_kinds(seed), nodes), **parameters)
        assert fast._rule is not None
        fast.run()
        slow.run()
        assert result(fast) == result(slow)


def test_a_simulation_goes_on_from_a_saved_one(month):
    unbroken, first, second = (simulator(month, slurm()) for _ in range(3))
    unbroken.run()
    first.run(50_000)
    second.restore(first.state())
    second.run()
    assert result(second) == result(unbroken)


def test_classic_shares_are_computed_natively():
    """In the loop and in Python's decisions alike."""
    workload = SITE.generate(SiteOptions(jobs=1000, days=1.2, seed=2))
    fitted = fit(workload, systems.load("site-152"))
    classic = 'PriorityFlags = "NO_FAIR_TREE"'
    fast, slow = (simulator(fitted, slurm(classic), *more) for more in ((), (Present(),)))
    assert fast._rule is not None
    fast.run()
    slow.run()
    assert result(fast) == result(slow)


def test_preemption_is_left_to_python():
    fitted = fit(jobs((0, 1, 5), (0, 1, 5)), machine((1,)))
    more = 'PreemptType = "preempt/qos"\nPreemptMode = "OFF"'
    assert simulator(fitted, slurm())._rule is not None
    assert simulator(fitted, slurm(more))._rule is None


class Own(Slurm):
    """May decide anything."""


def test_what_derives_from_it_is_left_to_python():
    fitted = fit(jobs((0, 1, 5)), machine((1,)))
    assert simulator(fitted, Own())._rule is None


def test_jobs_alike_are_looked_at_once():
    """Of two jobs alike the second is known; who, size or nice make another."""
    workload = jobs(
        *[(0, 1, 9)] * 2, (0, 2, 9), *[(0, 1, 9)] * 2, user=[*"aaaba"], nice=[0] * 4 + [7]
    )
    simulation = simulator(fit(workload, machine((4,))), slurm(), Present())
    simulation.step()
    scheduler = simulation.dispatcher.passes.scheduler
    assert scheduler.num_templates == 4
    known = [scheduler.records_of(row) for row in range(6)]
    assert [end - first for first, end in known] == [1] * 5 + [0]
    scheduler.forget_templates(renumbered=False)
    assert scheduler.num_templates == 0


@pytest.mark.parametrize(
    ("period", "expected"),
    [("DAILY", [86_400, 172_800]), ("WEEKLY", [259_200, 864_000]), ("MONTHLY", [31 * 86_400])],
)
def test_usage_is_set_back_at_midnight(period, expected):
    """The first of January 1970 was a Thursday; Slurm's weeks begin on Sunday."""
    assert list(_resets(period, 0))[: len(expected)] == expected
    assert list(_resets("NONE", 0)) == []
    # Seconds count from another one.
    assert next(_resets(period, 100)) == expected[0] - 100


def test_usage_refuses_nothing_that_it_did_not_charge():
    """A job without association is neither charged nor taken for another."""
    tree = ShareTree([-1, 0], [1, 1], [False, True])
    usage = usage_of(tree, SlurmPolicy(parameters={"PriorityWeightFairshare": 1}))
    usage.start(-1, 4.0, 10)
    usage.end(-1, 4.0, 10, 20)
    assert usage.raw.tolist() == [0.0, 0.0]
    assert len(usage.state()["late"]) == 0
