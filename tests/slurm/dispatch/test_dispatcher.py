"""Slurm's passes, limits and order on schedules worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from tiny import jobs, machine, run, starts

from cpsched.checks import check_dispatcher
from cpsched.errors import ConfigError
from cpsched.forecast import why_in_log
from cpsched.model.schedule import JobOutcome
from cpsched.model.system import Queue
from cpsched.slurm.dispatch import policy_file
from cpsched.slurm.dispatch.dispatcher import Slurm
from cpsched.systems.mapping import fit
from cpsched.util.spec import build
from cpsched.verification import verify

pytestmark = pytest.mark.slow

#: First come, first served, and backfill at every second.
BASIC = {"PriorityType": "priority/basic", "bf_interval": "1", "bf_resolution": "1"}


def slurm(policy="", **parameters):
    return Slurm(policy_file.parse(policy), **{**BASIC, **parameters})


def parted(*groups, **queues):
    """Return a machine of nodes of one core in some groups, with queues."""
    rules = [Queue(name=name, **more) for name, more in queues.items()]
    return replace(machine(*[(1,)] * len(groups), queues=rules), node_groups=groups)


# --- passes --------------------------------------------------------------------------------------


def test_a_job_waits_for_a_pass():
    """
    A main pass follows a submit within three seconds, a backfill pass the last one by its interval.

    A and B are submitted at 0 and 1, and B is blocked, so that C waits for backfill.
    """
    workload = jobs((0, 1, 38), (1, 2, 4), (2, 1, 7))
    nodes = machine((1,), (1,))
    assert starts(workload, nodes, slurm(bf_interval="30")) == [0, 38, 30]
    assert starts(workload, nodes, slurm(bf_interval="5")) == [0, 38, 5]
    # Two that fit: the second comes after the pass at 0.
    builtin = slurm(SchedulerType="sched/builtin")
    assert starts(jobs((0, 1, 9), (1, 1, 9)), nodes, builtin) == [0, 3]
    # C ends at 37, and the pass that follows puts off the one for the end of A by three seconds.
    assert starts(workload, nodes, slurm(bf_interval="30", defer="yes")) == [0, 40, 30]


def test_backfill_rounds_reservations_down_and_ends_before_them():
    """A ends at 95, so B is planned for 95, and its nodes are kept from 60 on."""
    nodes = machine((1,), (1,))
    for length, second, minute in ((92, 2, 155), (57, 2, 2), (58, 2, 155), (93, 155, 155)):
        workload = jobs((0, 1, 95), (1, 2, 60), (2, 1, length))
        assert starts(workload, nodes, slurm()) == [0, 95, second]
        assert starts(workload, nodes, slurm(bf_resolution="60")) == [0, 95, minute]


def test_passes_look_at_so_many_jobs():
    """One node; B to D wait for A. E could start at its end, but a pass looks at two jobs."""
    nodes = machine((2,))
    workload = jobs((0, 2, 10), *[(1, 2, 10)] * 3, (2, 1, 5), (2, 1, 5))
    assert starts(workload, nodes, slurm())[4:] == [40, 40]
    # E and F fit beside nobody; with no backfill and a depth of jobs the order stays.
    builtin = slurm(SchedulerType="sched/builtin", default_queue_depth="1")
    assert starts(workload, nodes, builtin) == [0, 10, 20, 30, 40, 40]


def test_a_job_that_waits_blocks_its_partition_and_the_nodes_of_it():
    """
    Partitions small (node 0) and all (nodes 0 and 1). B waits for both nodes in all, so the main
    pass starts nothing behind it on them; in the other order the small one blocks its node alone.
    """
    system = parted("a", "b", small={"groups": ("a",)}, all={"groups": ("a", "b")})
    builtin = slurm(SchedulerType="sched/builtin")
    workload = jobs((0, 1, 10), (1, 2, 5), (2, 1, 5), queue=["all", "all", "small"])
    assert starts(workload, system, builtin) == [0, 10, 15]
    workload = jobs((0, 1, 10), (1, 1, 5), (2, 1, 5), queue=["small", "small", "all"])
    # The job in all waits until others have been looked at: it is not above the one that waits.
    assert starts(workload, system, builtin) == [0, 10, 3]


def test_higher_tiers_go_first():
    system = parted("a", low={"priority_tier": 1}, high={"priority_tier": 2})
    workload = jobs((0, 1, 10), (1, 1, 5), (2, 1, 5), queue=["low", "low", "high"])
    assert starts(workload, system, slurm()) == [0, 15, 10]


def test_a_job_in_several_partitions_starts_in_the_first_where_it_fits():
    system = parted("a", "b", one={"groups": ("a",)}, two={"groups": ("b",), "priority_tier": 1})
    workload = jobs((0, 1, 10), (1, 1, 5), (2, 1, 5), queue=["one", "one,two", "one,two"])
    result = run(workload, system, slurm())
    assert result.schedule.start.tolist() == [0, 1, 6]
    assert result.schedule.segments.node.tolist() == [0, 1, 1]


def test_jobs_in_several_partitions_keep_off_nodes_that_go_down(tmp_path):
    """
    Node b is taken until 30 and a goes down at 50, so B waits for b; C ends before that.

    D and E are too long for a before 50, and may use it again from 60 on.
    """
    system = parted("a", "b", one={"groups": ("a",)}, two={"groups": ("b",), "priority_tier": 1})
    (tmp_path / "down.csv").write_text("node,from,to,known\nn0,50,60,0\n")
    queues = ["two", "one,two", "one,two", "one,two", "one"]
    workload = jobs((0, 1, 30), (1, 1, 60), (2, 1, 35), (2, 1, 20), (3, 1, 60), queue=queues)
    result = run(workload, system, slurm(), outages=f"table:file={tmp_path / 'down.csv'}")
    assert result.schedule.start.tolist() == [0, 30, 2, 60, 80]
    assert verify(result.schedule) == []


def test_nodes_of_a_low_weight_go_first():
    system = replace(machine((1,), (1,), (1,)), weights=np.array([5, 1, 5]))
    result = run(jobs((0, 1, 10), (1, 1, 10), (2, 1, 10)), system, slurm())
    assert result.schedule.segments.node.tolist() == [1, 0, 2]


# --- priorities ----------------------------------------------------------------------------------


def associations(*accounts, **users):
    """Return accounts below the first of them, and the account of each user, as a policy has them."""
    root, *below = accounts
    rows = [
        f'Account = "{root}"',
        *(f'Account = "{account}"\nParent = "{root}"' for account in below),
    ]
    rows += [f'Account = "{account}"\nUser = "{user}"' for user, account in users.items()]
    return "".join(f"[[association]]\n{row}\n" for row in rows)


ACCOUNTS = "[slurm]\nPriorityWeightFairshare = 10000\nPriorityWeightAge = 0\n" + associations(
    "root", "a", "b", ann="a", bob="b"
)


def test_fair_share_lets_those_go_first_who_have_used_less():
    """Ann has used the machine for 400 s, so from the computation at 300 on Bob goes first."""
    fair = slurm(ACCOUNTS, PriorityType="priority/multifactor")
    # Before it is computed, as after 200 s, all are equal.
    for first, expected in ((400, [0, 410, 400]), (200, [0, 200, 210])):
        workload = jobs(
            (0, 1, first), (10, 1, 10), (20, 1, 10),
            user=["ann", "ann", "bob"], group=["a", "a", "b"],
        )  # fmt: skip
        assert starts(workload, machine((1,)), fair) == expected


def test_qos_and_nice_move_jobs():
    policy = """
    [slurm]
    PriorityWeightQOS = 1000
    [[qos]]
    Name = "normal"
    [[qos]]
    Name = "high"
    Priority = 10
    """
    workload = jobs(
        (0, 1, 10),
        (1, 1, 5),
        (2, 1, 5),
        (3, 1, 5),
        qos=["normal", "normal", "high", "high"],
        nice=[0, 0, 500, 0],
    )
    chosen = slurm(policy, PriorityType="priority/multifactor")
    assert starts(workload, machine((1,)), chosen) == [0, 20, 15, 10]


# --- limits --------------------------------------------------------------------------------------


def limited(limit, **more):
    return slurm(f'[[qos]]\nName = "q"\n{limit}\n', **more)


#: Ann's second job waits for her first, Bob's starts at once: four nodes are free.
OF_THREE = jobs(
    *[(0, 1, 10)] * 2, *[(1, 1, 10)] * 2,
    user=["ann", "ann", "bob", "cem"], qos=["q", "q", "q", None],
)  # fmt: skip
LOOSE = jobs((0, 1, 10), (1, 2, 10), (2, 1, 10), user=["ann"] * 3, qos=["q"] * 3)
TASKS = jobs(*[(0, 1, 10)] * 4, array=["7"] * 4, array_limit=[2] * 4)
LICENSED = jobs(*[(0, 1, 10)] * 4, licenses=["matlab:2", "matlab", "matlab", None])
OF_LAB = jobs(*[(0, 1, 10)] * 4, user=["ann", "ann", "bob", "cem"], group=["a"] * 3 + ["b"])
TREE = associations("root", "a", ann="a", bob="a").replace(
    'Parent = "root"', 'Parent = "root"\nGrpTRES = "cpu=2"\nMaxJobs = 1'
)


@pytest.mark.parametrize(
    ("workload", "chosen", "expected"),
    [
        (OF_THREE, lambda: limited("MaxJobsPU = 1"), [0, 10, 1, 1]),
        (OF_THREE, lambda: limited('MaxTRESPU = "cpu=1"'), [0, 10, 1, 1]),
        (OF_THREE, lambda: limited("GrpJobs = 2"), [0, 0, 10, 1]),
        (OF_THREE, lambda: limited('GrpTRES = "cpu=2"'), [0, 0, 10, 1]),
        (OF_THREE, lambda: limited("MaxJobsPU = 1", AccountingStorageEnforce="qos"), [0, 0, 1, 1]),
        # A limit stops those behind it only if it is to.
        (LOOSE, lambda: limited('GrpTRES = "cpu=2"'), [0, 12, 2]),
        (LOOSE, lambda: limited('GrpTRES = "cpu=2"', assoc_limit_stop="yes"), [0, 10, 20]),
        # Throttles of arrays, licences, and associations up the tree.
        (TASKS, lambda: slurm("[licenses]\nmatlab = 3\n"), [0, 0, 10, 10]),
        (LICENSED, lambda: slurm("[licenses]\nmatlab = 3\n"), [0, 0, 10, 0]),
        (OF_LAB, lambda: slurm(TREE), [0, 10, 0, 0]),
    ],
)
def test_limits_hold_jobs(workload, chosen, expected):
    assert starts(workload, machine((4,)), chosen()) == expected


def test_what_jobs_count_stays_theirs_where_outages_are_planned(tmp_path):
    """A and C keep off node 1 one after the other; with 3 of 3 cores in use D waits for A."""
    (tmp_path / "down.csv").write_text("node,from,to,known\nn1,50,60,0\nn1,200,210,65\n")
    workload = jobs(
        (0, 1, 100),
        (0, 1, 5),
        (70, 1, 200),
        (71, 1, 5),
        request=[[1], [2], [2], [1]],
        qos=["q"] * 4,
    )
    nodes = machine((4,), (4,))
    outages = f"table:file={tmp_path / 'down.csv'}"
    start = starts(workload, nodes, limited('GrpTRES = "cpu=3"'), outages=outages)
    assert start == [0, 0, 70, 100]


def test_a_job_above_what_one_may_have_never_starts():
    limit = limited('MaxTRES = "cpu=2"\nMaxWall = "1:00:00"')
    workload = jobs((0, 3, 10), (0, 2, 10), (0, 1, 3601), qos=["q"] * 3)
    result = run(workload, machine((4,)), limit)
    never = JobOutcome.NEVER_STARTED
    assert result.schedule.outcome.tolist() == [never, JobOutcome.COMPLETED, never]
    assert result.schedule.never_started == {
        0: "QOSMaxCpuPerJobLimit: MaxTRES of QOS q is 2 cpu, and the job asks for 3 cpu",
        2: "QOSMaxWallDurationPerJobLimit: MaxWall of QOS q is 1 h, and the job asks for 1 h 1 min",
    }
    assert result.summary["counts"]["never_started"] == 2
    assert result.summary["counts"]["cancelled"] == 0
    assert not verify(result.schedule)


def test_a_job_that_never_starts_is_not_waited_for_while_shares_change():
    limit = limited('MaxTRES = "cpu=2"', PriorityWeightFairshare=1000)
    workload = jobs((0, 3, 10), (0, 2, 10), user=["ann"] * 2, qos=["q"] * 2)
    result = run(workload, machine((4,)), limit)
    assert result.schedule.outcome.tolist() == [JobOutcome.NEVER_STARTED, JobOutcome.COMPLETED]


def test_held_jobs_are_no_waiting_ones_where_outages_are_planned(tmp_path):
    """The one that comes at 2 keeps off node 1; the held one is in no table then."""
    (tmp_path / "down.csv").write_text("node,from,to,known\nn1,50,60,0\n")
    workload = jobs((0, 1, 100), (0, 1, 5), (1, 1, 5), (2, 1, 100), dependency=[-1, -1, 0, -1])
    outages = f"table:file={tmp_path / 'down.csv'}"
    assert starts(workload, machine((4,), (4,)), slurm(""), outages=outages) == [0, 0, 100, 2]


# --- reservations --------------------------------------------------------------------------------

RESERVED = """
[[reservation]]
ReservationName = "course"
StartTime = "1970-01-01T00:01:40Z"
EndTime = "1970-01-01T00:03:20Z"
Nodes = ["n0"]
Users = "ann"
"""


def test_reserved_nodes_are_kept_for_those_who_ask_for_the_reservation():
    """Node 0 is reserved from 100 until 200."""
    nodes = machine((1,), (1,))
    workload = jobs(
        (0, 1, 300),
        (0, 1, 99),
        (0, 1, 101),
        (150, 1, 20),
        (150, 1, 100),
        reservation=[None, None, None, "course", "course"],
    )
    result = run(workload, nodes, slurm(RESERVED))
    # The first cannot be on node 0, the second can, and the third can after the reservation. Who
    # asks for it starts at once, unless he would run longer than it lasts.
    assert result.schedule.start.tolist()[:4] == [0, 0, 200, 150]
    assert result.schedule.segments.node.tolist()[:4] == [1, 0, 0, 0]
    assert result.schedule.outcome[4] == JobOutcome.NEVER_STARTED
    assert "reservation course" in result.schedule.never_started[4]
    early = jobs((0, 1, 10), (0, 1, 10), reservation=["course", None])
    assert starts(early, nodes, slurm(RESERVED)) == [100, 0]


def test_an_unknown_node_of_a_reservation_is_named():
    with pytest.raises(ConfigError, match="node n7"):
        starts(jobs((0, 1, 1)), machine((1,)), slurm(RESERVED.replace("n0", "n7")))


@pytest.mark.parametrize(
    ("units", "nodes"),
    [(8, [1]), (4, [0]), (7, [0]), (9, [2]), (20, [0, 1, 2])],
)
def test_a_job_of_one_node_gets_the_one_with_the_least_free_capacity_that_is_enough(units, nodes):
    """
    Four nodes of 16 cores, 9 of the first and 8 of the second in use.

    Larger jobs fill the run from its beginning, as a real Slurm does (see the recordings' README).
    """
    workload = jobs((0, 9, 100), (0, 16, 1), (1, 8, 100), (10, units, 5), nodes_max=[1, 1, 1, 4])
    system = machine((16,), (16,), (16,), (16,))
    segments = run(workload, system, slurm()).schedule.segments
    assert segments.node[segments.job == 2].tolist() == [1]
    assert segments.node[segments.job == 3].tolist() == nodes


# --- preemption ----------------------------------------------------------------------------------

BY_QOS = """
[slurm]
PreemptType = "preempt/qos"
PreemptMode = "REQUEUE"
[[qos]]
Name = "high"
Priority = 10
Preempt = "spare"
MaxJobsPU = 2
[[qos]]
Name = "spare"
GraceTime = 30
"""


def restartable(*rows, qos, **more):
    """Return jobs of some QOS that may be queued again."""
    return jobs(*rows, qos=qos.split(), restartable=[True] * len(rows), **more)


def test_a_qos_preempts_those_it_names_after_their_grace():
    """
    Two nodes full of spare jobs; the one submitted first leaves 30 s after it is told.

    It rests for two minutes as Slurm has it, and runs again.
    """
    rows = ((0, 1, 200), (5, 1, 200), (10, 1, 50))
    workload = restartable(*rows, qos="spare spare high")
    schedule = run(workload, machine((1,), (1,)), slurm(BY_QOS)).schedule
    assert schedule.start.tolist() == [161, 5, 40]
    assert verify(schedule) == []
    youngest = slurm(BY_QOS, preempt_youngest_first="yes")
    assert starts(workload, machine((1,), (1,)), youngest) == [0, 161, 40]
    # One of the same QOS, or of none, preempts nobody.
    workload = restartable(*rows, qos="spare spare spare")
    assert starts(workload, machine((1,), (1,)), slurm(BY_QOS)) == [0, 5, 200]


def test_of_several_limits_the_one_is_named_that_slurm_looks_at_first():
    """Numbers of jobs come before amounts, limits of QOS before those of associations."""
    policy = """
[[association]]
Account = "lab"
GrpTRES = "cpu=1"
GrpJobs = 0
[[association]]
Account = "lab"
User = "ann"
MaxJobs = 0
[[qos]]
Name = "q"
MaxTRESPU = "cpu=1"
MaxWall = "00:01:00"
"""

    def named(text):
        workload = jobs((0, 2, 90), qos=["q"], user=["ann"], group=["lab"])
        fitted = fit(workload, machine((4,)))
        explanation = why_in_log(
            fitted, job=str(workload.job_id[0]), time=0, dispatcher=slurm(text)
        )
        return explanation.waiting.note

    asks = " in use, and the job asks for"
    for limit, gone in (
        (
            "QOSMaxWallDurationPerJobLimit: MaxWall of QOS q is 1 min, and the job asks for 2 min",
            'MaxWall = "00:01:00"\n',
        ),
        (f"AssocMaxJobsLimit: MaxJobs of user ann, 0 of 0{asks} 1", "MaxJobs = 0"),
        (f"AssocGrpJobsLimit: GrpJobs of account lab, 0 of 0{asks} 1", "GrpJobs = 0"),
        (
            "QOSMaxCpuPerUserLimit: MaxTRESPU of QOS q for each user or account,"
            f" 0 cpu of 1 cpu{asks} 2 cpu",
            'MaxTRESPU = "cpu=1"',
        ),
        (f"AssocGrpCpuLimit: GrpTRES of account lab, 0 cpu of 1 cpu{asks} 2 cpu", ""),
    ):
        assert named(policy) == limit
        policy = policy.replace(gone, "")


def test_jobs_run_for_a_while_before_they_are_preempted():
    workload = restartable((0, 1, 200), (10, 1, 50), (100, 1, 1), qos="spare high high")
    policy = BY_QOS.replace("GraceTime = 30", "")
    assert starts(workload, machine((1,)), slurm(policy))[1] == 10
    exempt = slurm(policy, PreemptExemptTime="00:01:00")
    assert starts(workload, machine((1,)), exempt)[1] == 100


def test_a_job_over_its_limit_preempts_nobody():
    rows = [(0, 1, 200)] * 3 + [(10, 1, 50)] * 3
    workload = restartable(*rows, qos="spare spare spare high high high", user=["ann"] * 6)
    start = starts(workload, machine((1,), (1,), (1,)), slurm(BY_QOS))
    assert start[3:] == [40, 40, 90]


def test_tiers_of_partitions_preempt_as_the_cluster_says():
    system = parted("a", low={"priority_tier": 1}, high={"priority_tier": 2})
    workload = jobs((0, 1, 100), (10, 1, 50), queue=["low", "high"], restartable=[True] * 2)
    by_tier = {"PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE"}
    assert starts(workload, system, slurm(**by_tier)) == [131, 10]
    assert starts(workload, system, slurm()) == [0, 100]
    for other in ({"PreemptMode": "CANCEL"}, {"JobRequeue": "0"}):
        killed = run(workload, system, slurm(**by_tier | other)).schedule
        assert killed.outcome.tolist() == [JobOutcome.KILLED, JobOutcome.COMPLETED]


# --- the dispatcher ------------------------------------------------------------------------------

POLICY = """
[slurm]
PriorityWeightAge = 1000
PriorityWeightFairshare = 5000
PriorityWeightJobSize = 100
PriorityCalcPeriod = 1
[SchedulerParameters]
bf_interval = 11
bf_max_job_user = 3
[[qos]]
Name = "normal"
MaxJobsPU = 2
[[association]]
Account = "root"
DefaultQOS = "normal"
[[association]]
Account = "root"
User = "user1"
"""


@pytest.mark.parametrize("policy", [POLICY, BY_QOS])
def test_a_site_s_policy_keeps_the_contract(policy):
    check_dispatcher(lambda: Slurm(policy_file.parse(policy)))


def test_options_are_those_of_slurm_conf():
    made = build("dispatchers", "slurm:bf_window=60,PriorityMaxAge=1-0,PriorityFavorSmall=yes")
    assert made.policy["bf_window"] == 60
    assert made.policy["PriorityMaxAge"] == 86400
    assert made.policy["PriorityFavorSmall"] is True
    with pytest.raises(ConfigError, match="bf_interval"):
        build("dispatchers", "slurm:bf_interval=soon")
    with pytest.raises(ConfigError, match="has no option '"):
        build("dispatchers", "slurm:bf_windows=1")
