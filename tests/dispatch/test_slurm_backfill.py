"""Slurm's scheduling on schedules worked out by hand, and against a slow twin."""

from dataclasses import replace

import numpy as np
import pytest
import reference as ref
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import jobs, machine, machines, run, starts, workloads

from cpsched import checks
from cpsched.checks.sample import sample
from cpsched.errors import ConfigError
from cpsched.model.system import LogMapping, ProcessorMapping, Queue
from cpsched.model.topology import Topology
from cpsched.simulation.observers import Observer
from cpsched.slurm.dispatch.plain import SlurmBackfill
from cpsched.systems.mapping import fit
from cpsched.util.spec import build
from cpsched.verification import verify

pytestmark = pytest.mark.slow

#: Backfilling at every event, with reservations of whole nodes and of amounts.
AT_ONCE = "slurm-backfill:backfill_interval=0"
AMOUNTS = f"{AT_ONCE},reserve=amounts"


def nodes_of(result):
    """Return the nodes of each job that ran, by row."""
    segments = result.schedule.segments
    nodes_by_job = {}
    for job, node, count in zip(segments.job, segments.node, segments.count, strict=True):
        nodes_by_job.setdefault(int(job), []).extend(range(int(node), int(node + count)))
    return nodes_by_job


# --- when ----------------------------------------------------------------------------------------


ONE_AND_ONE, FOUR = machine((1,), (1,)), machine((1,), (1,), (1,), (1,))
#: C is of 9 s, or of 10; D takes nothing of a node.
IN_TIME = jobs((0, 1, 10), (0, 2, 5), (1, 1, 9))
TOO_LATE = jobs((0, 1, 38), (1, 2, 4), (2, 1, 9))
NOTHING = jobs((0, 1, 10), (0, 2, 5), (1, 1, 20), request=[[1], [1], [0]])
LARGE = jobs((0, 4, 60), (1, 1, 10), (2, 4, 10))
WIDE = jobs((0, 3, 10), (1, 4, 5), (2, 1, 3))
#: B is blocked at 1, so C, submitted at 2, has to wait for a backfill pass.
BLOCKED = jobs((0, 1, 38), (1, 2, 4), (2, 1, 8))
#: The last one fits beside A and does not delay B, but would delay C, or ends before B.
LONG, SHORT = (jobs((0, 3, 10), (1, 3, 5), (2, 4, 5), last) for last in ((3, 1, 20), (4, 1, 5)))
#: B could start at 10; C is of 20 s.
FAR = jobs((0, 1, 10), (0, 2, 4), (1, 1, 20))
#: B takes one core of each node at 10. C needs one core for 20 s, and there are two a node.
SHARED = jobs((0, 2, 10), (0, 2, 5), (1, 1, 20), nodes_min=[1, 2, 1])


@pytest.mark.parametrize(
    ("workload", "nodes", "spec", "expected"),
    [
        # The main scheduler is asked at every event, not only every 30 seconds.
        (jobs((0, 1, 10), (7, 2, 10), (8, 1, 10)), machine((4,)), "slurm-backfill", [0, 7, 8]),
        # C of 9 s would end after 38 if the pass came at 30, and does not if it comes at 29.
        (TOO_LATE, ONE_AND_ONE, "slurm-backfill", [0, 38, 42]),
        (TOO_LATE, ONE_AND_ONE, "slurm-backfill:backfill_interval=29", [0, 38, 29]),
        (BLOCKED, ONE_AND_ONE, "slurm-backfill", [0, 38, 30]),
        (BLOCKED, ONE_AND_ONE, "slurm-backfill:backfill_interval=5", [0, 38, 5]),
        (BLOCKED, ONE_AND_ONE, AT_ONCE, [0, 38, 2]),
        # Every job looked at has a reservation, as in conservative backfilling.
        (LONG, FOUR, AT_ONCE, [0, 10, 15, 20]),
        # Jobs behind the depth are not looked at: only B and C are until B starts.
        (SHORT, FOUR, f"{AT_ONCE},depth=2", [0, 10, 15, 10]),
        *((SHORT, FOUR, f"{AT_ONCE},depth={depth}", [0, 10, 15, 4]) for depth in (3, "all")),
        # A window of less than 10 s does not see B's start, and C goes first.
        (FAR, ONE_AND_ONE, f"{AT_ONCE},window=8", [0, 21, 1]),
        *((FAR, ONE_AND_ONE, f"{AT_ONCE},window={end}", [0, 10, 14]) for end in (9, "all")),
        (SHARED, machine((2,), (2,)), AT_ONCE, [0, 10, 10]),
        (SHARED, machine((2,), (2,)), AMOUNTS, [0, 10, 1]),
        # With depth 0 it is the main scheduler alone: first come, first served.
        (WIDE, machine((4,)), f"{AT_ONCE},depth=0", [0, 10, 15]),
        (WIDE, machine((4,)), "fifo", [0, 10, 15]),
        # C ends when B begins, so it may use n1; a second longer, it may not.
        (IN_TIME, ONE_AND_ONE, AT_ONCE, [0, 10, 1]),
        (jobs((0, 1, 10), (0, 2, 5), (1, 1, 10)), ONE_AND_ONE, AT_ONCE, [0, 10, 15]),
        # Nothing of a reserved node is left, not even room for a job that takes nothing.
        (NOTHING, ONE_AND_ONE, AT_ONCE, [0, 10, 10]),
        (NOTHING, ONE_AND_ONE, AMOUNTS, [0, 10, 1]),
        # When A ends at 60, C (all of the machine: 1,000 points) goes before B (250, and older).
        (LARGE, FOUR, AT_ONCE, [0, 60, 70]),
        (LARGE, FOUR, f"{AT_ONCE},order=multifactor", [0, 70, 60]),
        (LARGE, FOUR, f"{AT_ONCE},order=multifactor,order.size_weight=0", [0, 60, 70]),
    ],
)
def test_who_starts_when(workload, nodes, spec, expected):
    """Of A, B and C."""
    assert starts(workload, nodes, spec) == expected


def test_a_coarser_grid_of_decisions_takes_the_next_one():
    """With decisions every 7 seconds the pass due at 30 is at 35."""
    workload = jobs((0, 1, 48), (1, 2, 4), (2, 1, 8))
    assert starts(workload, ONE_AND_ONE, "slurm-backfill", dispatch_interval=7) == [0, 49, 35]


def test_a_blocked_queue_does_not_block_another():
    """
    The main pass goes on in queue b; within a, E waits for the backfill pass at 30.

    Nodes n0 to n2. A (two nodes, until 40), then B (two nodes, queue a) is blocked; C (queue b)
    starts at 2, and after it E (queue a) at 30.
    """
    queues = [Queue(name="a"), Queue(name="b")]
    workload = jobs(
        (0, 2, 40), (1, 2, 5), (2, 1, 10), (3, 1, 5), queue=["a", "a", "b", "a"]
    )  # fmt: skip
    nodes = machine((1,), (1,), (1,), queues=queues)
    assert starts(workload, nodes, "slurm-backfill") == [0, 40, 2, 30]


def test_the_thesis_example_delays_the_third_job():
    """
    Soner's Table 1.2: 4 nodes of 12 cores and 3 GPUs; J3 waits although the cores for it are free.

    J1 (24 cores) takes two whole nodes and their GPUs with them, J2 (6 cores and 2 GPUs on each
    of two nodes) the others, which have one GPU left.

    ::

               cores          GPUs
        n3 |J2 J2 .  .    g2 g2 .         J3 asks for 6 cores and 3 GPUs on each of two nodes.
        n2 |J2 J2 .  .    g2 g2 .
        n1 |J1 J1 J1 J1   .  .  .
        n0 |J1 J1 J1 J1   .  .  .
    """
    gpus = [[0, 0], [0, 2], [0, 3]]
    workload = jobs(
        (0, 24, 100), (0, 12, 60), (0, 12, 50), resources=("core", "gpu"),
        per_node=gpus, nodes_min=[1, 2, 2], nodes_max=[4, 2, 2],
    )  # fmt: skip
    result = run(workload, machine(*[(12, 3)] * 4, resources=("core", "gpu")), AT_ONCE)
    assert result.schedule.start.tolist() == [0, 0, 60]
    assert nodes_of(result) == {0: [0, 1], 1: [2, 3], 2: [2, 3]}


class Seen(Observer):
    """Keeps what every decision planned, and when it wants to be asked again."""

    def __init__(self):
        self.seen = []

    def on_decision(self, view, decision, seconds):
        self.seen.append((view.now, ref.planned(decision), decision.again_at))


def test_it_says_what_it_plans_and_when_to_ask_again():
    """
    Like BLOCKED: a plan at 30, since C could start then.

    The pass at 0 is due and finds nobody; at 1 and 2 it is due at 30, at 38 at 60. The last job
    could not start at 30, so that nobody needs to know its place.
    """
    seen = Seen()
    workload = jobs((0, 1, 38), (1, 2, 4), (2, 1, 8), (3, 2, 2))
    run(workload, machine((1,), (1,)), "slurm-backfill", observers=[seen])
    assert seen.seen == [
        (0, {}, None),
        (1, {}, 30),
        (2, {}, 30),
        (3, {}, 30),
        (30, {1: 38}, None),
        (38, {}, 60),
        (42, {}, None),
    ]


# --- where ---------------------------------------------------------------------------------------


def placed(free, units, *, sizes=(), capacity=4, **ask):
    """Return the units by node of a job of one-core units, None if it does not start."""
    num = len(free)
    job = ref.Ask(units=units, request=(1,), per_node=(0,), eligible=(True,) * num, **ask)
    state = ref.State(
        capacity=((capacity,),) * num, free=tuple((have,) for have in free),
        waiting=(job,)
    )  # fmt: skip
    started, _ = decide(state, sizes=sizes)
    return started.get(0)


def decide(state, *, sizes=(), order=None, **options):
    """Return what starts (position: units by node) and what is planned at one state."""
    view = ref.view_of(state)
    num = len(state.capacity)
    view.system = replace(view.system, topology=Topology(num, sizes))
    options.setdefault("backfill_interval", 0)
    dispatcher = SlurmBackfill(topology="tree" if sizes else "line", **options)
    dispatcher.reset(view.system, 0)
    decision = dispatcher.decide(view)
    started = {start.handle: ref.takes_of(start.allocation, num) for start in decision.actions}
    return started, ref.planned(decision)


#   core 4 |.  .  #  #  #  .  .  #  .
#   core 3 |.  .  #  #  .  .  .  #  .
#   core 2 |.  .  .  #  .  .  .  #  .
#   core 1 |.  .  .  #  .  .  .  #  .
#          +---------------------------
#           0  1  2  3  4  5  6  7  8      runs: 0-2 (10 cores), 4-6 (11), 8 (4)
RUNS = (4, 4, 2, 0, 3, 4, 4, 0, 4)


@pytest.mark.parametrize(
    ("units", "ask", "expected"),
    [
        (1, {}, (0, 0, 0, 0, 0, 0, 0, 0, 1)),  # the tightest run that is enough
        (4, {}, (0, 0, 0, 0, 0, 0, 0, 0, 4)),
        (5, {}, (4, 1, 0, 0, 0, 0, 0, 0, 0)),  # 10 cores are tighter than 11
        (11, {}, (0, 0, 0, 0, 3, 4, 4, 0, 0)),
        (12, {}, (0, 0, 0, 0, 3, 4, 4, 0, 1)),  # none is enough: the largest, then the tightest
        (16, {}, (4, 1, 0, 0, 3, 4, 4, 0, 0)),
        (22, {}, (4, 4, 2, 0, 3, 4, 4, 0, 1)),
        (25, {}, (4, 4, 2, 0, 3, 4, 4, 0, 4)),
        (26, {}, None),
        # Two nodes at least: n8 alone is not enough; a unit is left for the second node.
        (4, {"nodes_min": 2}, (3, 1, 0, 0, 0, 0, 0, 0, 0)),
        # The run 0-2 is tighter, and its first two have 8; 9 leave one for n2.
        (8, {"nodes_max": 2}, (4, 4, 0, 0, 0, 0, 0, 0, 0)),
        (9, {"nodes_min": 3, "nodes_max": 3}, (4, 4, 1, 0, 0, 0, 0, 0, 0)),
        # 12 cores in a row are nowhere; 5 are, and the tightest run has them.
        (12, {"contiguous": True}, None),
        (5, {"contiguous": True}, (4, 1, 0, 0, 0, 0, 0, 0, 0)),
        # 4 on two nodes, in the order of runs; 4-6 is larger than 0-2 but not tighter.
        (8, {"even": True}, (4, 4, 0, 0, 0, 0, 0, 0, 0)),
        (26, {"even": True}, None),
    ],
)
def test_the_run_that_fits_best(units, ask, expected):
    """The tightest run of consecutive nodes that is enough; the largest where none is."""
    assert placed(RUNS, units, **ask) == expected


TWO = {"nodes_min": 2, "nodes_max": 2}


@pytest.mark.parametrize(
    ("free", "units", "ask", "expected"),
    [
        # Two runs of two nodes: the first along the line.
        ((4, 4, 0, 4, 4), 6, {}, (4, 2, 0, 0, 0)),
        ((4, 4, 0, 4, 4, 0, 1), 9, {}, (4, 4, 0, 0, 0, 0, 1)),
        # The first two of 4-6 hold 7: without those that hold fewest n5 and n6 are a run.
        ((0, 0, 0, 0, 3, 4, 4, 0, 4), 8, {"nodes_max": 2}, (0, 0, 0, 0, 0, 4, 4, 0, 0)),
        # 7 and 4 make 11 on two nodes. In order it is 4 + 4 (8), without the fours 7 alone. Slurm
        # gives up there; here a node is passed over only if the rest cannot hold the job beside it.
        ((4, 4, 7), 11, {"nodes_max": 2, "capacity": 8}, (4, 0, 7)),
        # Tightest is 0-2, but its first two hold only 5; the next is 4-6, whose first two hold 7.
        ((1, 4, 4, 0, 3, 4, 4), 7, {"nodes_max": 2, "contiguous": True}, (0, 0, 0, 0, 3, 4, 0)),
        # Neither run's beginning will do: the first shortest piece that does.
        ((1, 4, 4, 0, 3, 4, 4), 8, {"nodes_max": 2, "contiguous": True}, (0, 4, 4, 0, 0, 0, 0)),
        # 1-2 has as many cores as 4-5, but no two on both of its nodes.
        ((0, 1, 3, 0, 2, 2), 4, {"even": True, **TWO}, (0, 0, 0, 0, 2, 2)),
        # Leaf 2 (nodes 4 and 5) alone has two cores on both.
        (
            (4, 1, 1, 1, 4, 4, 4, 1),
            4,
            {"even": True, "sizes": (2, 4), **TWO},
            (0, 0, 0, 0, 2, 2, 0, 0),
        ),
    ],
)
def test_runs_without_nodes_that_hold_less(free, units, ask, expected):
    """Where the first nodes of the tightest run will not do."""
    assert placed(free, units, **ask) == expected


#  root:     |-----------------------|
#  switches: |-----------|-----------|
#  leaves:   |-----|-----|-----|-----|
#  free:      4  4  1  0  4  0  4  4      leaves 8, 1, 4, 8; switches 9, 12
TREE = (4, 4, 1, 0, 4, 0, 4, 4)


@pytest.mark.parametrize(
    ("units", "contiguous", "expected"),
    [
        (1, False, (0, 0, 1, 0, 0, 0, 0, 0)),  # leaf 1 and leaf 2 have one node each: the first
        (2, False, (0, 0, 0, 0, 2, 0, 0, 0)),  # leaf 2 has the fewest nodes that are enough
        (8, False, (4, 4, 0, 0, 0, 0, 0, 0)),  # two leaves with two nodes each: the first
        (9, False, (4, 4, 1, 0, 0, 0, 0, 0)),  # no leaf; both switches have three nodes: the first
        (10, False, (0, 0, 0, 0, 2, 0, 4, 4)),  # the second switch, its largest leaf first
        (13, False, (4, 4, 0, 0, 0, 0, 4, 1)),  # the root: leaf 0, then leaf 3, which is enough
        (21, False, (4, 4, 1, 0, 4, 0, 4, 4)),  # all there is
        (22, False, None),
        # Runs are 0-2 (9), 4 (4), 6-7 (8): the tightest that is enough.
        (8, True, (0, 0, 0, 0, 0, 0, 4, 4)),
        (9, True, (4, 4, 1, 0, 0, 0, 0, 0)),
    ],
)
def test_the_lowest_switch_that_is_enough(units, contiguous, expected):
    """On two levels of switches under a root."""
    assert placed(TREE, units, sizes=(2, 4), contiguous=contiguous) == expected


# --- against a slow twin -------------------------------------------------------------------------


def twin_place(ask, free, capacity, sizes):
    """Return where a job goes by the documented rules, node by node; None if nowhere."""
    valid = ref.every_placement(ask, free, capacity)
    if not valid:
        return None
    fitting = [ref.num_fitting_tasks(ask, node, free, capacity) for node in range(len(free))]
    # Sums of endless room must still be told apart by how many nodes there are.
    fitting = [2**46 if have == float("inf") else have for have in fitting]
    if ask.contiguous:
        parts = [part for part in runs(fitting, 1) if total(part, fitting) >= ask.units]
        for part in sorted(parts, key=lambda part: total(part, fitting)):
            takes = filled_in_order(ask, part, fitting)
            if takes and not ask.even:
                return takes
        return ref.place("first-fit", ask, free, capacity)
    if ask.even:
        return even_in_order(ask, fitting, sizes)
    for least in sorted({1, *(have + 1 for have in fitting if have)}):
        takes = filled_in_order(ask, twin_order(ask, fitting, least, sizes), fitting)
        if takes:
            return takes
    order = twin_order(ask, fitting, 1, sizes)
    return max(valid, key=lambda takes: [takes[node] for node in order])


def runs(fitting, least):
    """Return the runs of consecutive nodes that hold ``least`` units or more each."""
    parts = [[]]
    for node, have in enumerate(fitting):
        if have >= least:
            parts[-1].append(node)
        else:
            parts.append([])
    return [part for part in parts if part]


def total(part, fitting):
    return sum(fitting[node] for node in part)


def twin_order(ask, fitting, least, sizes):
    """Return the nodes that hold ``least`` or more in the order in which they are taken."""
    able = [node for node, have in enumerate(fitting) if have >= least]
    parts = runs(fitting, least)
    if sizes:
        inside = able
        for size in sizes:
            under = [
                [node for node in able if node // size == switch] for switch in range(len(fitting))
            ]
            good = [
                part for part in under
                if part and total(part, fitting) >= ask.units and len(part) >= ask.nodes_min
            ]  # fmt: skip
            if good:
                inside = min(good, key=len)
                break
        parts = [
            [node for node in inside if node // sizes[0] == switch]
            for switch in range(len(fitting))
        ]
    left, owed, order = ask.units, ask.nodes_min, []
    parts = [part for part in parts if part]
    while parts and (left > 0 or owed > 0):
        enough = [part for part in parts if total(part, fitting) >= left and len(part) >= owed]
        part = (
            min(enough, key=lambda part: total(part, fitting))
            if enough
            else max(parts, key=lambda part: total(part, fitting))
        )
        parts.remove(part)
        order += part
        left -= total(part, fitting)
        owed -= len(part)
    return order + [node for node in able if node not in order]


def filled_in_order(ask, order, fitting):
    """Fill nodes in order, leaving a unit for each that is still owed; None if that fails."""
    takes, left, used = [0] * len(fitting), ask.units, 0
    for node in order:
        if left == 0 or used == ask.nodes_max:
            break
        takes[node] = min(fitting[node], left - max(ask.nodes_min - used - 1, 0))
        if takes[node] <= 0:
            return None
        left -= takes[node]
        used += 1
    return tuple(takes) if left == 0 and used >= ask.nodes_min else None


def even_in_order(ask, fitting, sizes):
    """Use the fewest nodes of equal shares, the first in the order for what they can share."""
    for num in range(ask.nodes_min, min(ask.nodes_max, ask.units) + 1):
        share = ask.units // num
        if ask.units % num == 0 and sum(have >= share for have in fitting) >= num:
            shares = [share if have >= share else 0 for have in fitting]
            order = twin_order(replace(ask, nodes_min=num, nodes_max=num), shares, 1, sizes)
            able = order[:num]
            return tuple(share * (node in able) for node in range(len(fitting)))
    return None


def twin(state, *, sizes, depth, window, close):
    """Return what starts and what is planned, second by second, with everybody in one queue."""
    capacity = state.capacity
    horizon = ref._horizon(state)
    starts, planned = {}, {}
    left = list(range(len(state.waiting)))
    while left:
        ask = state.waiting[left[0]]
        takes = twin_place(ask, ref.free_at(state, state.now, starts), capacity, sizes)
        if takes is None:
            break
        starts[left.pop(0)] = takes
    line = {second: ref.free_at(state, second, starts) for second in range(state.now, 2 * horizon)}
    for position in left[:depth]:
        ask = state.waiting[position]
        length = max(ask.duration, 1)
        for second in range(state.now, min(horizon, state.now + window) + 1):
            low = line[second]
            for during in range(second + 1, second + length):
                low = ref.least(low, line[during])
            takes = twin_place(ask, low, capacity, sizes)
            if takes is None:
                continue
            for during in range(second, second + length):
                line[during] = ref.minus(line[during], ref.held(ask, takes, capacity))
                if close and second > state.now:
                    line[during] = tuple(
                        (-1,) * len(have) if units else have
                        for have, units in zip(line[during], takes, strict=True)
                    )
            if second == state.now:
                starts[position] = takes
            else:
                planned[position] = second
            break
    return starts, planned


@given(
    state=ref.states(),
    sizes=st.sampled_from([(), (1,), (2,), (1, 2), (2, 4), (3,)]),
    depth=st.sampled_from([0, 1, 2, 100]),
    window=st.sampled_from([0, 2, 5, 1000]),
    reserve=st.sampled_from(["nodes", "amounts"]),
)
@settings(max_examples=200)
def test_as_the_twin(state, sizes, depth, window, reserve):
    """What starts, where, and what is planned as long as somebody could start."""
    sizes = tuple(size for size in sizes if size > 1)
    decided, plan = decide(state, sizes=sizes, depth=depth, window=window, reserve=reserve)
    close = reserve == "nodes"
    starts, planned = twin(state, sizes=sizes, depth=depth, window=window, close=close)
    assert decided == starts
    assert plan.items() <= planned.items()


@given(workload=workloads(), system=machines(), tree=st.booleans(), amounts=st.booleans())
@settings(max_examples=60)
def test_schedules_are_valid_and_complete(workload, system, tree, amounts):
    """Nothing is ever over-allocated, every bound is kept, and every job runs."""
    options = ["backfill_interval=4"] + ["reserve=amounts"] * amounts
    if tree:
        system = replace(system, topology=Topology(system.num_nodes, (2,)))
        options.append("topology=tree")
    schedule = run(workload, system, f"slurm-backfill:{','.join(options)}").schedule
    assert verify(schedule) == []
    assert not (schedule.outcome == -1).any()


@given(workload=workloads(plain=True), system=machines(max_nodes=1))
@settings(max_examples=60)
def test_on_one_pool_it_is_conservative_backfilling(workload, system):
    """
    One-core units, backfilling at every event, amounts reserved: the same starts.

    Not so on several nodes: a planned job stays on its nodes, so when those behind it can start
    depends on which nodes it has, and these two choose differently.
    """
    assert starts(workload, system, AMOUNTS) == starts(workload, system, "conservative")


# --- its promises, and bad input -----------------------------------------------------------------


@pytest.mark.parametrize("spec", [AT_ONCE, AMOUNTS])
def test_keeps_promises_in_one_queue(spec, monkeypatch):
    """Where backfilling is part of every decision; a main pass of another queue may delay a head."""
    fitted = sample()
    queue = replace(fitted.workload.queue, codes=np.full_like(fitted.workload.queue.codes, -1))
    unqueued = fit(fitted.workload.with_columns(queue=queue), fitted.system)
    monkeypatch.setattr(checks, "sample", lambda: unqueued)
    checks.check_keeps_promises(lambda: build("dispatchers", spec))


def test_whole_nodes_of_a_counted_pool_are_refused():
    """There a reservation would keep the machine; amounts are fine."""
    log = LogMapping(processors=ProcessorMapping.POOL)
    system = replace(machine((1,), (1,)), log=log)
    workload = jobs((0, 2, 10), (1, 1, 5))
    counted = fit(replace(workload, layout="processors"), system)
    with pytest.raises(ConfigError, match="Set reserve=amounts"):
        run(counted, system, "slurm-backfill")
    assert run(counted, system, AMOUNTS).schedule.start.tolist() == [0, 10]
    # The same machine under a log that knows nodes.
    assert starts(workload, system, "slurm-backfill") == [0, 10]


def test_no_interval_is_too_long():
    """Numbers beyond any time are no trouble."""
    far = "99999999999999999999"
    spec = f"slurm-backfill:depth={far},window={far},backfill_interval={far}"
    assert starts(jobs((5, 1, 10), (6, 1, 5)), machine((1,)), spec) == [5, 15]
    assert np.array_equal(starts(jobs((0, 1, 0)), machine((1,)), spec), [0])
