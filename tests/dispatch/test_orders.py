"""Every priority on values worked out by hand, its ties, and where its formula has no answer."""

from types import SimpleNamespace

import numpy as np
import pytest
from jobtables import job_table
from tiny import machine

from cpsched.dispatch.orders import ExpectedWait, Wsept
from cpsched.dispatch.runtime_distribution import RuntimeHistory
from cpsched.errors import ConfigError
from cpsched.model.decision import Decision, Start
from cpsched.model.system import Queue
from cpsched.papers.priorities import Multifactor
from cpsched.util import registry

NOW = 1000
NAMES = registry.names("priorities")


def table(waited=(0,), runtime=(1,), cores=(1,), request=None, submit=None, **more):
    """Return jobs that have waited so long at :data:`NOW`; a unit is one core unless given."""
    num = max(len(waited), len(runtime), len(cores), len(submit or ()))

    def column(values):
        return np.resize(np.array(values, dtype=np.int64), num)

    return job_table(
        resources=("core", "mem"),
        strings=more.pop("strings", None),
        handle=np.arange(num),
        submit=NOW - column(waited) if submit is None else column(submit),
        requested_time=column(more.pop("requested_time", (10**6,))),
        units=column(cores),
        request=np.resize(np.array(request or [(1, 0)], dtype=np.int64), (num, 2)),
        ranking_estimate=column(runtime),
        **{
            name: np.array(values) if name == "per_node" else column(values)
            for name, values in more.items()
        },
    )


def prepared(name, *nodes, **system):
    """Return a priority on a machine of 8 cores and 16 of memory."""
    priority = registry.load("priorities", name)()
    priority.history = RuntimeHistory()
    priority.reset(machine(*(nodes or [(8, 16)]), resources=("core", "mem"), **system))
    return priority


def value(name, **jobs):
    """Return a priority's most significant key; smaller goes first."""
    key = prepared(name).keys(table(**jobs), NOW)[0]
    return np.asarray(key, dtype=np.float64).tolist()


def order(name, **jobs):
    """Return the positions in order of priority."""
    return prepared(name).order(table(**jobs), NOW).tolist()


# --- the formulas --------------------------------------------------------------------------------


LENGTHS = {"waited": (9, 8, 7), "runtime": (5, 3, 9)}
#: The three values of a prediction, of which ranking uses the one meant for it.
UNLIKE = {"runtime": (5, 3), "runtime_estimate": (1, 100), "runtime_bound": (1, 100)}
#: d = 100, n = 4, s = 1000, so log10(s) = 3; and s = 1, for which second 0 counts, too.
FITTED = {"runtime": (100,), "cores": (4,), "submit": [1000, 1, 0]}


@pytest.mark.parametrize(
    ("name", "jobs", "expected"),
    [
        # ``(q + d) / d``: (9 + 3) / 3 and (10 + 10) / 10; ``q`` where d is 0 (Remediani, eq. 4.3).
        ("slowdown", {"waited": (9, 10, 7), "runtime": (3, 10, 0)}, [-4.0, -2.0, -7.0]),
        # A point a minute (IPSCHED, section VI), and 1000 for the whole machine: 2 + 1000 * 2 / 8.
        ("multifactor", {"waited": (120,), "cores": (2,)}, [-252.0]),
        # ``(q / d)^3 n``: (20 / 10)^3 * 4 and (30 / 10)^3 * 1 (Tang et al. 2009).
        ("wfp3", {"waited": (20, 30), "runtime": (10,), "cores": (4, 1)}, [-32.0, -27.0]),
        # Carastan-Santos and de Camargo 2017.
        ("f1", FITTED, [2 * 4 + 870 * 3, 2 * 4, 2 * 4]),
        ("f2", FITTED, [10 * 4 + 25600 * 3, 10 * 4, 10 * 4]),
        ("f3", FITTED, [100 * 4 + 6_860_000 * 3, 100 * 4, 100 * 4]),
        ("f4", FITTED, [100 * 2 + 530_000 * 3, 100 * 2, 100 * 2]),
    ],
)
def test_the_formula(name, jobs, expected):
    """The most significant key, smaller first."""
    assert value(name, **jobs) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "jobs", "expected"),
    [
        # Submit order; predicted runtime up; predicted runtime down.
        ("fifo", LENGTHS, [0, 1, 2]),
        ("sjf", LENGTHS, [1, 0, 2]),
        ("ljf", LENGTHS, [2, 0, 1]),
        ("sjf", UNLIKE, [1, 0]),
        ("slowdown", {"waited": (6, 6), **UNLIKE}, [1, 0]),
        ("multifactor", {"waited": (60, 0), "cores": (1, 2)}, [1, 0]),
        # log2(1) = 0: those who have waited go first, by wait over d: 9 / 3 before 1 / 2; then the
        # wide one; then those who have just come, in order.
        (
            "unicef",
            {"waited": (1000, 1, 9, 0, 0), "runtime": (1, 2, 3, 1, 1), "cores": (2, 1, 1, 1, 2)},
            [2, 1, 0, 3, 4],
        ),
        # Nobody has waited: ties go to the smaller demand, then to the earlier job.
        *(
            (name, {"runtime": (10,), "cores": (4, 2, 3, 2), "expected_wait": (60,)}, [1, 3, 2, 0])
            for name in ("expected-wait", "slowdown")
        ),
    ],
)
def test_the_order(name, jobs, expected):
    """Positions, first by priority."""
    assert order(name, **jobs) == expected


def test_unicef_is_tangs():
    """``q / (log2(n) d)``: 60 / (log2(4) * 10) = 3 (Tang et al. 2009)."""
    keys = prepared("unicef").keys(table(waited=(60,), runtime=(10,), cores=(4,)), NOW)
    assert [key.tolist() for key in keys] == [[True], [-3.0]]


def test_weights_of_multifactor():
    """With 200 points a minute the older job goes before the larger one."""
    aged = Multifactor(age_weight=200.0, size_weight=1000.0)
    aged.reset(machine((8, 16), resources=("core", "mem")))
    assert aged.order(table(waited=(60, 0), cores=(1, 2)), NOW).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("node", "jobs", "demand"),
    [
        # ``d * units * sum(request)`` in shares of the machine: 10 * 2 * (1 / 8 + 4 / 16).
        ((8, 16), {"runtime": (10,), "cores": (2,), "request": [(1, 4)]}, [7.5]),
        # 3 units of 5 cores and 5 units of 3 cores ask for the same: in floating point, too.
        ((10, 0), {"runtime": (1,), "cores": (5, 3), "request": [(3, 0), (5, 0)]}, [1.5, 1.5]),
        # No division by a capacity of zero.
        ((8, 0), {"request": [(1, 0)]}, [1 / 8]),
    ],
)
def test_demand_is_remediani_4_2(node, jobs, demand):
    """Equal demands are equal however they are split."""
    assert prepared("slowdown", node).keys(table(**jobs), NOW)[1].tolist() == demand


def test_expected_wait_is_remediani_4_1():
    """``E q / ewt`` with E = 100: 100 * 9 / 10 = 90 and 100 * 50 / 100 = 50."""
    queues = [Queue(name="short", expected_wait=10), Queue(name="long", expected_wait=100)]
    priority = prepared("expected-wait", queues=queues, expected_wait=None)
    jobs = table(waited=(50, 9), expected_wait=(100, 10))
    assert priority.keys(jobs, NOW)[0].tolist() == [-50.0, -90.0]
    assert priority.order(jobs, NOW).tolist() == [1, 0]


def test_the_largest_expected_wait_scales_all_alike():
    """The default counts as one of them; a queue without one takes it."""
    queues = [Queue(name="short", expected_wait=10), Queue(name="any")]
    priority = prepared("expected-wait", queues=queues, expected_wait=200)
    assert priority.keys(table(waited=(10,), expected_wait=(10,)), NOW)[0].tolist() == [-200.0]


@pytest.mark.parametrize(
    ("jobs", "taken"),
    [
        ({"cores": (4,)}, [4, 0]),
        ({"cores": (4,), "per_node": [(0, 6)]}, [4, 6]),
        ({"cores": (4,), "per_node": [(0, 6)], "nodes_min": (2,)}, [4, 12]),
        ({"cores": (4,), "exclusive": (1,)}, [8, 16]),
        ({"cores": (10,), "exclusive": (1,)}, [16, 32]),
    ],
)
def test_a_job_counts_for_what_it_takes_at_least(jobs, taken):
    """Of two nodes of eight cores and 16 of memory, for a second: in demand and cores, too."""
    priority, waiting = prepared("slowdown", (8, 16), (8, 16)), table(**jobs)
    assert priority.taken(waiting).tolist() == [taken]
    assert priority.keys(waiting, NOW)[1].tolist() == [taken[0] / 16 + taken[1] / 32]
    assert priority.cores(waiting).tolist() == taken[:1]


def test_what_is_by_age():
    """
    Only a weight that makes the young go first turns it round.

    What learns ranks jobs by their users, too: of two that differ in nothing else, either may be
    first.
    """
    for name in NAMES:
        priority = registry.load("priorities", name)()
        assert priority.by_age is not priority.learns, name
    assert not Multifactor(age_weight=-1.0).by_age


def learnt(*ended, aging=64800):
    """Return urgency after the end of some jobs: (user, runtime), predicted to run 100 s."""
    priority = Wsept(aging=aging, width_exponent=1)
    priority.history = RuntimeHistory()
    priority.reset(machine((8, 16), resources=("core", "mem")))
    jobs = table(
        waited=(0,) * len(ended),
        strings={"user": [user for user, _ in ended]},
        runtime_estimate=(100,),
        requested_time=(100,),
    )
    for handle, (_, runtime) in enumerate(ended):
        view = SimpleNamespace(now=NOW - runtime, waiting=jobs)
        priority.history.note_starts(view, Decision([Start(handle, None)]))
    none = jobs.take(np.zeros(0, dtype=np.int64))
    priority.history.note_ends(SimpleNamespace(now=NOW, running=none, waiting=none))
    return priority


def test_urgency_is_smiths_rule_over_likely_runtimes():
    """
    Two cores of eight, likely 10 s (the later) or 30 s of 100 s, which weighs 1 / sqrt(2) as much.

    Nobody's job, with what is known of others only, is the same. After a wait of the aging p
    the slope of 10 sqrt(a) (wait / p)^4 is 40 sqrt(a) / p, where a is what the job takes over the
    mean 20 of what others took, cores times seconds.
    """
    jobs = {"cores": (2,), "strings": {"user": ["a"]}, "runtime_estimate": (100,)}
    weight = 1 / (1 + 0.5**0.5)
    slope = weight / 10 + (1 - weight) / 30
    mean = weight * 10 + (1 - weight) * 30
    priority = learnt(("a", 30), ("a", 10))
    fresh, _ = priority.keys(table(**jobs), NOW)
    assert fresh.tolist() == pytest.approx([-slope / (mean * 2 / 8)])
    priority = learnt(("a", 30), ("a", 10), aging=500)
    patient, _ = priority.keys(table(**jobs, waited=(500,)), NOW)
    overdue = 40 * (mean * 2 / 20) ** 0.5 / 500
    assert patient.tolist() == pytest.approx([-(slope + overdue) / (mean * 2 / 8)])


def test_urgency_goes_by_predictions_before_anything_is_known():
    """1 / max(d, 10) over d times the root of the share of 1 / 8."""
    keys, _ = prepared("wsept").keys(table(cores=(1, 1), runtime_estimate=(5, 50)), NOW)
    assert keys.tolist() == pytest.approx([-0.1 / 5 * 8**0.5, -0.02 / 50 * 8**0.5])


def test_urgency_with_less_of_the_share_lets_wide_jobs_wait_less():
    """One core and eight, 50 s each: 1 / 50 / 50 over 1 / 8 and 1, or over the roots of these."""
    jobs = table(cores=(1, 8), runtime_estimate=(50,))
    for share, ratio in ((1.0, 8), (0.5, 8**0.5), (0.0, 1)):
        priority = Wsept(width_exponent=share)
        priority.history = RuntimeHistory()
        priority.reset(machine((8, 16), resources=("core", "mem")))
        narrow, wide = -priority.keys(jobs, NOW)[0]
        assert wide == pytest.approx(1 / 2500)
        assert narrow / wide == pytest.approx(ratio)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"aging": p}, f"aging is {p}, must be from 1 to") for p in (0, -1, 2**41)),
        ({"width_exponent": 1.5}, r"width_exponent is 1.5, must be from 0 to 1"),
    ],
)
def test_bad_options_of_urgency(options, message):
    with pytest.raises(ConfigError, match=message):
        Wsept(**options)


def test_what_learns_needs_a_dispatcher_that_tells_it():
    """Without, it would silently rank by predictions for ever."""
    with pytest.raises(ConfigError, match="priority 'wsept' learns runtimes"):
        Wsept().reset(machine((8,)))


# --- what holds for all --------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_equal_jobs_keep_table_order(name):
    """Thirty jobs alike: nobody is moved; and an empty table has an empty order."""
    priority = prepared(name)
    assert priority.name == name
    jobs = table(waited=(5,) * 30, runtime=(7,), cores=(2,), expected_wait=(60,))
    assert priority.order(jobs, NOW).tolist() == list(range(30))
    assert priority.order(jobs.take(np.zeros(0, dtype=np.int64)), NOW).tolist() == []


@pytest.mark.parametrize("name", NAMES)
def test_order_is_that_of_the_keys(name):
    """Sorting by all keys, the first the most significant, gives the order."""
    rng = np.random.default_rng(7)
    jobs = table(
        waited=rng.integers(0, 4, 40)[::-1].tolist(),
        runtime=rng.integers(0, 4, 40).tolist(),
        cores=rng.integers(1, 5, 40).tolist(),
        expected_wait=rng.integers(1, 3, 40).tolist(),
    )
    priority = prepared(name)
    if name in ("fifo", "basic"):  # table order is submit order, which these jobs do not keep
        return
    keys = list(zip(*(key.tolist() for key in priority.keys(jobs, NOW)), strict=True))
    expected = sorted(range(40), key=lambda index: (keys[index], index))
    assert priority.order(jobs, NOW).tolist() == expected


@pytest.mark.parametrize("name", NAMES)
def test_zero_predicted_runtime_has_a_finite_place(name):
    """A prediction of 0 (an unclipped ``actual``) divides nothing by zero, in no formula."""
    jobs = table(waited=(0, 10, 10), runtime=(0, 0, 5), cores=(2, 2, 2), expected_wait=(60,))
    for key in prepared(name).keys(jobs, NOW):
        assert np.isfinite(key.astype(np.float64)).all()


@pytest.mark.parametrize(
    "name", [name for name in NAMES if registry.load("priorities", name).static]
)
def test_static_means_that_waiting_changes_nothing(name):
    """Keys of a static priority are the same at any time."""
    priority = prepared(name)
    jobs = table(waited=(9, 8, 7), runtime=(5, 3, 9), cores=(2, 1, 4))
    for early, late in zip(priority.keys(jobs, NOW), priority.keys(jobs, NOW + 999), strict=True):
        assert early.tolist() == late.tolist()


# --- what expected-wait needs --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("queues", "message"),
    [
        ([], "system tiny: jobs have no expected wait, which priority 'expected-wait' needs"),
        ([Queue(name="a", expected_wait=5), Queue(name="b")], "queue 'b' has no expected wait"),
    ],
)
def test_expected_wait_needs_one_for_every_queue(queues, message):
    """Said when the system is known, before any job comes."""
    with pytest.raises(ConfigError, match=message):
        prepared("expected-wait", queues=queues, expected_wait=None)


def test_expected_wait_needs_a_queue_for_every_job():
    """Queues have theirs, but a job may be in none, and there is no default."""
    priority = ExpectedWait()
    queues = [Queue(name="a", expected_wait=5)]
    priority.reset(machine((8,), queues=queues, expected_wait=None))
    with pytest.raises(ConfigError, match="a job has no queue"):
        priority.order(table(waited=(0, 0), expected_wait=(5, -1)), NOW)
