"""A log's jobs on a machine: units, queues, constraints, and exactly the jobs that never fit."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpsched import logs, systems
from cpsched.errors import ConfigError
from cpsched.model.distinct import by_appearance, distinct
from cpsched.model.workload import Workload
from cpsched.systems.mapping import fit
from cpsched.systems.mapping.classes import Constraint, parse
from cpsched.util.types import MISSING, UNBOUNDED, JobType, Split

pytestmark = pytest.mark.slow


def machine(log="", *, queues="", head=""):
    """Three nodes of 4 cores and 8 MB, one of 8 cores, 16 MB and 2 GPUs."""
    return systems.parse(
        f"""
        resources = ["core", "gpu", "mem"]
        {head}
        [[nodes]]
        group = "thin"
        count = 3
        names = "t{{}}.site"
        features = ["slow"]
        core = 4
        mem = 8000
        [[nodes]]
        group = "fat"
        count = 1
        names = "f{{}}.site"
        features = ["fast", "big"]
        core = 8
        gpu = 2
        mem = 16000
        {queues}
        [log]
        {log}
        """,
        name="m",
    )


def jobs(**columns):
    """Jobs of one core each, an hour long, unless said."""
    num_jobs = next(len(value) for name, value in columns.items() if name != "resources")
    given = {
        "units": [1] * num_jobs,
        "request": [[1]] * num_jobs,
        "resources": ("core",),
        "requested_time": [3600] * num_jobs,
        **columns,
    }
    return Workload.build(
        title="w",
        job_id=[f"j{i}" for i in range(num_jobs)],
        submit=np.arange(num_jobs),
        runtime=np.full(num_jobs, 60),
        **given,
    )


def processors(counts, memory=None, **columns):
    """Jobs of a log that only counts processors."""
    if memory is not None:
        columns |= {"request": [[1, kb] for kb in memory], "resources": ("core", "mem")}
    return jobs(units=counts, layout="processors", **columns)


def reasons(fitted):
    return dict(fitted.rejected)


# --- processors to units ---------------------------------------------------------------------


def test_pool_merges_each_group_into_one_node():
    fitted = fit(processors([1, 20, 21]), machine('processors = "pool"'))
    assert fitted.system.node_names == ("thin", "fat")
    assert fitted.system.capacity.tolist() == [[12, 0, 24000], [8, 2, 16000]]
    assert fitted.system.features == (frozenset({"slow"}), frozenset({"fast", "big"}))
    assert fitted.workload.layout == "units"
    assert fitted.workload.units.tolist() == [1, 20, 21]
    assert fitted.workload.request.tolist() == [[1, 0, 0]] * 3
    assert fitted.workload.nodes_max.tolist() == [UNBOUNDED] * 3
    # 12 + 8 processors hold 20, not 21.
    assert fitted.rejected == (
        (2, "needs 21 tasks of 1 core, all 2 eligible nodes hold at most 20"),
    )


def test_pool_sums_the_memory_of_its_nodes():
    """A processor may take more memory from a pool than any one node has."""
    system = machine('processors = "pool"')
    fitted = fit(processors([1, 1, 3], memory=[24000, 24001, 8001]), system)
    # Three processors of 8001 KB: two fit in 24000 KB, one in 16000 KB.
    assert list(reasons(fitted)) == [1]


def test_pool_keeps_the_nodes_of_a_log_that_knows_them():
    fitted = fit(jobs(units=[4], nodes_min=[4]), machine('processors = "pool"'))
    assert fitted.system.num_nodes == 4
    assert fitted.rejected == ()


THIN = '[[queues]]\nname = "q"\ngroups = ["thin"]\n'


def test_whole_nodes_round_up_and_share_memory_evenly():
    workload = processors([3, 4, 5, 12, 13], memory=[2000] * 5, queue=["q"] * 5)
    fitted = fit(workload, machine('processors = "whole-nodes"', queues=THIN))
    assert fitted.workload.units.tolist() == [1, 1, 2, 3, 4]
    # 5 processors on two nodes are at most 3 on one; 13 on four at most 4.
    assert fitted.workload.request.tolist() == [
        [4, 0, 6000],
        [4, 0, 8000],
        [4, 0, 6000],
        [4, 0, 8000],
        [4, 0, 8000],
    ]
    assert (
        fitted.workload.nodes_min.tolist() == fitted.workload.nodes_max.tolist() == [1, 1, 2, 3, 4]
    )
    assert fitted.workload.units_max.tolist() == [1, 1, 2, 3, 4]
    assert fitted.rejected == ((4, "needs 4 nodes, 3 eligible nodes can hold a task"),)


def test_whole_nodes_need_nodes_of_one_size():
    with pytest.raises(ConfigError, match=r"system m: whole nodes of job j0 .* 4 or 8 cores"):
        fit(processors([3]), machine('processors = "whole-nodes"'))


def test_packed_counts_memory_when_it_says_how_many_nodes():
    """With 3000 KB a processor, a node of 8000 KB holds two."""
    workload = processors([4, 6, 7, 1], memory=[3000, 3000, 3000, 8001], queue=["q"] * 4)
    fitted = fit(workload, machine('processors = "packed"', queues=THIN))
    assert fitted.workload.nodes_min.tolist() == [2, 3, 4, 1]
    assert fitted.workload.nodes_max.tolist() == [2, 3, 4, UNBOUNDED]
    assert reasons(fitted) == {
        2: "needs 4 nodes, 3 eligible nodes can hold a task",
        3: "one task needs 8001 KB mem, no eligible node has more than 8000",
    }


def test_packed_on_unlike_nodes_lies_between_the_largest_and_the_smallest():
    fitted = fit(processors([8, 9, 20]), machine('processors = "packed"'))
    assert fitted.workload.nodes_min.tolist() == [1, 2, 3]
    assert fitted.workload.nodes_max.tolist() == [2, 3, 5]
    assert fitted.rejected == ()


def test_counted_processors_need_a_mapping():
    with pytest.raises(ConfigError, match=r"processors in .log. to one of: pool, whole-nodes, pac"):
        fit(processors([1]), machine())


# --- resource kinds ---------------------------------------------------------------------------


def test_amounts_follow_the_systems_kinds():
    workload = jobs(
        request=[[100, 2]], per_node=[[5, 0]], per_node_max=[[7, 0]], resources=("mem", "core")
    )
    fitted = fit(workload, machine())
    assert fitted.workload.resources == ("core", "gpu", "mem")
    assert fitted.workload.request.tolist() == [[2, 0, 100]]
    assert fitted.workload.per_node.tolist() == [[0, 0, 5]]
    assert fitted.workload.per_node_max.tolist() == [[0, 0, 7]]


def test_kind_the_system_lacks_is_a_reason():
    workload = jobs(
        request=[[1, 0], [1, 2], [1, 0], [1, 0]],
        per_node=[[0, 0], [0, 0], [0, 1], [0, 0]],
        per_node_max=[[0, 0], [0, 0], [0, 1], [0, 3]],
        resources=("core", "mic"),
    )
    fitted = fit(workload, machine())
    assert fitted.rejected == (
        (1, "asks for 2 mic in each task, and the system has none"),
        (2, "asks for 1 mic on each node, and the system has none"),
    )
    assert fitted.workload.num_jobs == 4


def test_memory_is_dropped_where_the_system_says_so():
    workload = jobs(request=[[1, 99999]], resources=("core", "mem"))
    assert reasons(fit(workload, machine())) == {
        0: "one task needs 99999 KB mem, no eligible node has more than 16000"
    }
    ignored = fit(workload, machine('memory = "ignored"'))
    assert ignored.rejected == ()
    assert ignored.workload.request.tolist() == [[1, 0, 0]]


# --- queues, times, users -----------------------------------------------------------------------

QUEUES = """
[[queues]]
name = "short"
max_time = 100
groups = ["thin"]
[[queues]]
name = "long"
default_time = 50
max_time = 1000
[[queues]]
name = "own"
users = ["ann", "staff"]
"""


def test_queues_are_renamed_and_coded_anew():
    system = machine('[log.queues]\n"7" = "short"\n"8" = "short"', queues=QUEUES)
    workload = jobs(queue=["8", "long", None, "7"], requested_time=[9] * 4)
    fitted = fit(workload, system)
    assert fitted.workload.queue.decode() == ["short", "long", None, "short"]
    assert fitted.workload.queue.values == ("short", "long")
    # Thin nodes for short, all nodes for the others.
    assert fitted.eligible_class.tolist() == [0, 1, 1, 0]
    assert fitted.eligible.tolist() == [[True, True, True, False], [True] * 4]


def test_queues_are_renamed_by_the_numbers_that_the_logs_header_gives_their_names():
    """A system file written for the numbers of an SWF log fits the names in its header."""
    system = machine('[log.queues]\n"7" = "short"', queues=QUEUES)
    header = [("Queue", "7 quick, or not"), ("Queue", "8 long")]
    fitted = fit(
        jobs(queue=["quick, or not", "long"], requested_time=[9] * 2, header=header), system
    )
    assert fitted.workload.queue.decode() == ["short", "long"]


def test_partition_may_name_the_queue():
    system = machine('queue_field = "partition"', queues=QUEUES)
    fitted = fit(jobs(queue=["x"], partition=["long"], requested_time=[9]), system)
    assert fitted.workload.queue.decode() == ["long"]


def test_queue_the_system_does_not_have_is_an_error():
    with pytest.raises(
        ConfigError, match=r"job j1 is in the unknown queue 'x\\n'.* Queues: short, long, own"
    ):
        fit(jobs(queue=["own", "x\n"]), machine(queues=QUEUES))


def test_missing_time_is_the_queues_default_then_its_limit_then_the_systems():
    system = machine(queues=QUEUES, head="default_time = 7")
    workload = jobs(
        queue=["long", "short", "own", None, "long"],
        user=["ann"] * 5,
        requested_time=[MISSING, MISSING, MISSING, MISSING, 8],
    )
    fitted = fit(workload, system)
    assert fitted.workload.requested_time.tolist() == [50, 100, 7, 7, 8]
    assert fitted.workload.requested_time_assumed.tolist() == [True, True, True, True, False]


def test_missing_time_without_any_default_is_an_error():
    workload = jobs(queue=["long", "own", None], requested_time=[MISSING] * 3)
    with pytest.raises(ConfigError, match=r"job j1 has no .* \(2 jobs have none\). Set def"):
        fit(workload, machine(queues=QUEUES))


def test_queue_limit_rejects_unless_told_not_to():
    workload = jobs(queue=["short", "short"], requested_time=[100, 101])
    system = machine(queues=QUEUES)
    assert fit(workload, system).rejected == ((1, "requested 101 s, queue short allows 100 s"),)
    assert fit(workload, system, enforce_time_limits=False).rejected == ()


def test_queue_admits_listed_users_and_groups():
    workload = jobs(
        queue=["own"] * 4, user=["ann", "bob", "bob", None], group=[None, "staff", "x", None]
    )
    assert fit(workload, machine(queues=QUEUES)).rejected == (
        (2, "user 'bob' is not allowed in queue own, which takes: ann, staff"),
        (3, "an unknown user is not allowed in queue own, which takes: ann, staff"),
    )


# --- constraints --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "required", "exclusive"),
    [
        ("a", (("a",),), False),
        ("a:b", (("a",), ("b",)), False),
        ("a&b,c", (("a",), ("b",), ("c",)), False),
        ("a|^b", (("a", "^b"),), False),
        ("a:a:a", (("a",),), False),
        ("x86_64:a#excl", (("x86_64",), ("a",)), True),
        ("#excl", (), True),
        ("exclusive", (), True),
        ("a|exclusive", (("a",),), True),
        (" a : b ", (("a",), ("b",)), False),
        (":", (), False),
    ],
)
def test_constraint_string_is_read(text, required, exclusive):
    assert parse(text) == Constraint(required, exclusive)


@pytest.mark.parametrize("text", ["1:ppn=1+2:ppn=2", "a*2", "[a|b]", "(a&b)|c", "a#shared"])
def test_constraint_that_cannot_be_honoured_says_so(text):
    assert parse(text).problem is not None


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("slow", [0, 1, 2]),
        ("fast:big", [3]),
        ("slow|big", [0, 1, 2, 3]),
        ("^slow", [3]),
        ("t2.site", [1]),
        ("host=t2", [1]),
        ("^t2", [0, 2, 3]),
        ("^unheard", [0, 1, 2, 3]),
        ("unheard|fast", [3]),
        ("slow:^t1:^t3.site", [1]),
    ],
)
def test_constraint_picks_its_nodes(text, nodes):
    fitted = fit(jobs(constraint=[text]), machine())
    assert np.flatnonzero(fitted.eligible[0]).tolist() == nodes
    assert fitted.rejected == ()


def test_constraint_nobody_satisfies_is_a_reason():
    workload = jobs(constraint=["slow:fast", "gone|lost", "a+b", None, "fast#excl"])
    fitted = fit(workload, machine())
    assert fitted.rejected == (
        (0, "no node of its queue satisfies the constraint 'slow:fast'"),
        (1, "no node has the feature 'gone' or 'lost'"),
        (2, "its compound constraint 'a+b' cannot be honoured"),
    )
    # No nodes for the first two, all for the third and fourth, the fat one for the last.
    assert fitted.eligible_class.tolist() == [0, 0, 1, 1, 2]
    assert fitted.workload.exclusive.tolist() == [False, False, False, False, True]


def test_constraint_meets_the_queues_groups():
    workload = jobs(queue=["short"], constraint=["fast"], requested_time=[9])
    assert reasons(fit(workload, machine(queues=QUEUES))) == {
        0: "no node of its queue satisfies the constraint 'fast'"
    }


def test_constraints_may_be_ignored():
    fitted = fit(jobs(constraint=["gone#excl", "a+b"]), machine('constraints = "ignore"'))
    assert fitted.rejected == ()
    assert not fitted.workload.exclusive.any()
    assert fitted.eligible.all()


def test_hostile_constraint_stays_on_one_line():
    (reason,) = reasons(fit(jobs(constraint=["x\n" * 500]), machine())).values()
    assert "\n" not in reason
    assert len(reason) < 120


# --- what can never fit -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"units": [21]}, "needs 21 tasks of 1 core, all 4 eligible nodes hold at most 20"),
        ({"units": [13], "nodes_max": [2]}, "needs 13 tasks of 1 core, 2 eligible nodes hold at"),
        ({"units": [2], "nodes_min": [3]}, "2 tasks cannot be placed on 3 nodes"),
        ({"units": [9], "nodes_min": [5]}, "needs 5 nodes, 4 eligible nodes can hold a task"),
        ({"request": [[9]]}, "one task needs 9 core, no eligible node has more than 8"),
        (
            {"per_node": [[6]], "request": [[3]]},
            "a node with one task needs 9 core, no eligible node has more than 8",
        ),
        # t1 t2 t3 f1: without t2, two thin nodes are not neighbours, t3 and f1 are.
        (
            {"units": [13], "contiguous": [True], "constraint": ["^t2"], "nodes_max": [3]},
            "13 tasks of 1 core do not fit on 1 to 3 consecutive eligible nodes",
        ),
        (
            {"units": [7], "split": [Split.EVEN], "nodes_min": [2], "nodes_max": [4]},
            "7 tasks of 1 core do not fit on 2 to 4 eligible nodes, as many on each",
        ),
    ],
)
def test_reason_names_what_does_not_fit(columns, reason):
    (problem,) = reasons(fit(jobs(**columns), machine())).values()
    assert problem.startswith(reason)


def test_kinds_that_never_meet_on_one_node_are_a_reason():
    """16000 KB and 5 cores exist, but not 16000 KB beside 5 cores of the fat node's share."""
    system = systems.parse(
        'resources = ["core", "mem"]\n'
        '[[nodes]]\ngroup = "a"\ncount = 1\ncore = 8\nmem = 10\n'
        '[[nodes]]\ngroup = "b"\ncount = 1\ncore = 2\nmem = 100\n'
    )
    workload = jobs(request=[[4, 50]], resources=("core", "mem"))
    assert reasons(fit(workload, system)) == {
        0: "one task needs 4 core + 50 KB mem together, which no eligible node has"
    }


def test_empty_workload_fits():
    fitted = fit(jobs(units=np.zeros(0, dtype=np.int64), request=np.zeros((0, 1))), machine())
    assert fitted.workload.num_jobs == 0
    assert fitted.eligible.shape == (0, 4)
    assert fitted.rejected == ()


def spread(units, num_nodes):
    """Yield every way to put units on nodes."""
    if num_nodes == 1:
        yield (units,)
        return
    for units_of_first in range(units + 1):
        for rest in spread(units - units_of_first, num_nodes - 1):
            yield (units_of_first, *rest)


def close(job, placed, group):
    """Say whether segments and switches are as a job asks; ``group`` is each node's leaf switch."""
    touched = Counter(int(group[node]) for node, number in enumerate(placed) if number)
    in_segments = not job["segment"] or all(
        nodes % job["segment"] == 0 for nodes in touched.values()
    )
    return in_segments and (not job["max_switches"] or len(touched) <= job["max_switches"])


def brute_force(system, eligible, job):
    """Try every number of units on every node."""
    capacity, group = system.capacity.tolist(), system.topology.level_group(0)
    units, request, per_node = job["units"], job["request"], job["per_node"]
    for placed in spread(units, len(capacity)):
        touched = [node for node, number in enumerate(placed) if number]
        if not job["nodes_min"] <= len(touched) <= job["nodes_max"]:
            continue
        if job["split"] == Split.EVEN and len({placed[node] for node in touched}) > 1:
            continue
        if job["contiguous"] and touched[-1] - touched[0] + 1 != len(touched):
            continue
        if close(job, placed, group) and all(
            eligible[node]
            and all(
                placed[node] * need + once <= free_amount
                for need, once, free_amount in zip(request, per_node, capacity[node], strict=True)
            )
            for node in touched
        ):
            return True
    return False


amount = st.integers(0, 3)
job_strategy = st.fixed_dictionaries(
    {
        "units": st.integers(1, 5),
        "request": st.tuples(amount, amount),
        "per_node": st.tuples(st.integers(0, 2), st.integers(0, 2)),
        "nodes_min": st.integers(1, 4),
        "nodes_more": st.integers(0, 4),
        "split": st.sampled_from([Split.ANY, Split.EVEN]),
        "contiguous": st.booleans(),
        "exclusive": st.booleans(),
        "constraint": st.sampled_from(["all", "a", "b", "a|b"]),
        "segment": st.sampled_from([0, 0, 0, 1, 2, 3]),
        "max_switches": st.sampled_from([0, 0, 0, 1, 2]),
    }
)
places = st.sampled_from(
    ["", "level_sizes = [2, 4]", "block_size = 3", "switches = [[1, {rest}]]", "sides = [1, {num}]"]
)
node_strategy = st.tuples(st.integers(1, 4), st.integers(0, 4), st.sampled_from(["a", "b", "ab"]))


@settings(max_examples=200)
@given(
    nodes=st.lists(node_strategy, min_size=1, max_size=5),
    place=places,
    wanted=st.lists(job_strategy, min_size=1, max_size=6),
)
def test_rejected_are_exactly_the_jobs_no_placement_fits(nodes, place, wanted):
    system = small(nodes, place)
    fitted = fit(small_jobs(wanted), system)
    problems = reasons(fitted)
    for row, job in enumerate(wanted):
        eligible = fitted.eligible[fitted.eligible_class[row]]
        fits = brute_force(system, eligible, job)
        assert (row not in problems) == fits, (job, problems.get(row))


@settings(max_examples=60)
@given(
    nodes=st.lists(node_strategy, min_size=1, max_size=4),
    wanted=st.lists(job_strategy, min_size=1, max_size=6),
)
def test_all_sizes_within_its_bounds_fit_and_no_larger_one(nodes, wanted):
    """Of jobs that may have any size; a setting may allow more than the machine has."""
    system = small(nodes)
    fitted = fit(small_jobs(wanted), system, malleable="least=0,most=1000")
    workload = fitted.workload
    for row in sorted(set(range(len(workload))) - set(reasons(fitted))):
        fewest, units, most = (
            int(column[row]) for column in (workload.units_min, workload.units, workload.units_max)
        )
        assert fewest <= units <= most
        if workload.job_type[row] == JobType.RIGID:
            assert fewest == most
            continue
        bounds = {name: int(getattr(workload, name)[row]) for name in ("nodes_min", "nodes_max")}
        eligible = fitted.eligible[fitted.eligible_class[row]]
        if not np.any([wanted[row]["request"]]):
            # What needs nothing has as many units as the setting allows.
            assert most == 1000 * units
            continue
        for size in range(fewest, most + 2):
            job = wanted[row] | bounds | {"units": size}
            fits = brute_force(system, eligible, job)
            assert fits == (fewest <= size <= most), (job, fewest, most)


def small_jobs(wanted):
    """Jobs as drawn, which have ``nodes_max`` afterwards."""
    for job in wanted:
        job["nodes_max"] = job["nodes_min"] + job["nodes_more"]
    columns = {key: [job[key] for job in wanted] for key in wanted[0] if key != "nodes_more"}
    return jobs(resources=("core", "gpu"), **columns)


def small(nodes, place=""):
    """A machine of nodes with so many cores and GPUs and such features, and its topology."""
    topology = place.format(rest=len(nodes), num=len(nodes) + 1)
    entries = "".join(
        f'[[nodes]]\ngroup = "g"\ncount = 1\ncore = {core}\n'
        + (f"gpu = {gpu}\n" if gpu else "")
        + f"features = {[*own]}\n"
        for core, gpu, own in nodes
    )
    return systems.parse(
        'resources = ["core", "gpu"]\nfeatures = ["all"]\n'
        + entries
        # The last node makes sure that there are GPUs; nobody asks for its feature "c".
        + '[[nodes]]\ngroup = "g"\ncount = 1\ncore = 1\ngpu = 1\nfeatures = ["c"]\n'
        + f"[topology]\n{topology}\n"
    )


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 1)), max_size=30))
def test_distinct_rows_are_found(rows):
    table = np.asarray(rows, dtype=np.int64).reshape(len(rows), 2)
    code, first = distinct([*table.T], len(rows))
    assert len(first) == len(set(rows))
    assert [rows[first[own]] for own in code] == rows
    assert all(rows.index(rows[row]) == row for row in first)


def test_distinct_survives_many_wide_columns():
    """The product of the columns' sizes is beyond 64 bits."""
    column = np.arange(2000)
    code, first = distinct([column, column[::-1], column, column, column, column, column], 2000)
    assert len(first) == 2000
    assert len(np.unique(code)) == 2000


# --- the real logs ------------------------------------------------------------------------------


@pytest.mark.shared
@pytest.mark.parametrize(
    ("file", "name", "rejected"),
    [
        ("ANL-Intrepid-2009-1.swf.gz", "anl-intrepid", 1),
        ("CTC-SP2-1996-3.1-cln.swf.gz", "ctc-sp2", 0),
        ("KTH-SP2-1996-2.1-cln.swf.gz", "kth-sp2", 0),
        ("LLNL-Atlas-2006-2.1-cln.swf.gz", "llnl-atlas", 0),
        ("cerit-wagap-2013.swf.gz", "cerit-wagap", 0),
        ("cerit-wagap-2013.ext.csv.gz", "cerit-wagap", 13),
        ("eurora-2014.swf.gz", "eurora", 0),
        ("eurora-2014.ext.csv.gz", "eurora", 0),
        ("graham-2021-sample.ext.csv.gz", "graham-sample", 2595),
        ("ub-hpc-week.swf.gz", "ub-hpc", 0),
        ("ub-hpc-week.ext.csv.gz", "ub-hpc", 0),
    ],
)
def test_real_log_fits_its_machine(shared, file, name, rejected):
    """All but a few jobs; 2595 is the count of the traces' README for Graham."""
    fitted = fit(logs.read(shared / "traces" / file), systems.load(name))
    assert len(fitted.rejected) == rejected


def test_values_are_numbered_as_they_appear():
    """7 is 0, 3 is 1, 9 is 2; of nothing there are no numbers."""
    code, first = by_appearance(np.array([7, 3, 7, 9, 3]))
    assert (code.tolist(), first.tolist()) == ([0, 1, 0, 2, 1], [0, 1, 3])
    assert [len(numbers) for numbers in by_appearance(np.array([], dtype=np.int64))] == [0, 0]


def test_a_share_of_the_jobs_may_be_restarted():
    """The same jobs whenever a log is mapped; what a log says itself stays unless asked."""
    log = jobs(units=[1] * 400)
    system = machine('processors = "pool"')
    fitted = fit(log, system, restarts="share=0.25,cost=30,checkpoint=600")
    chosen = fitted.workload.restartable
    assert 70 < chosen.sum() < 130
    assert fitted.workload.restart_cost.tolist() == np.where(chosen, 30, 0).tolist()
    assert fitted.workload.checkpoint.tolist() == np.where(chosen, 600, 0).tolist()
    assert fit(log, system, restarts="share=0.25").workload.restartable.tolist() == chosen.tolist()
    own = log.with_columns(restartable=np.arange(400) % 2 == 0)
    assert fit(own, system).workload.restartable.sum() == 200
    assert fit(own, system, restarts="share=1").workload.restartable.all()


# --- jobs that may change size ---------------------------------------------------------------


def bounds(fitted, kind=JobType.MALLEABLE):
    """Return fewest and most units of each job, after a look at who may change size at all."""
    workload = fitted.workload
    changing = workload.units_min < workload.units_max
    assert (workload.job_type[changing] == kind).all()
    return list(zip(workload.units_min.tolist(), workload.units_max.tolist(), strict=True))


def test_a_share_of_the_jobs_may_change_size():
    """The same jobs whenever a log is mapped, and none but those when more of them may."""
    log, system = jobs(units=[2] * 400), machine()
    few, many, every = (
        fit(log, system, malleable=f"share={share},cost=5,serial=0.05").workload
        for share in (0.2, 0.5, 1)
    )
    chosen = few.job_type == JobType.MALLEABLE
    assert 50 < chosen.sum() < 110
    assert ((many.job_type == JobType.MALLEABLE) | ~chosen).all()
    assert 160 < (many.job_type == JobType.MALLEABLE).sum() < 240
    assert (every.job_type == JobType.MALLEABLE).all()
    assert few.units_min.tolist() == np.where(chosen, 1, 2).tolist()
    assert few.units_max.tolist() == np.where(chosen, 4, 2).tolist()
    assert few.resize_cost[chosen].tolist() == [5] * chosen.sum()
    assert few.serial.tolist() == np.where(chosen, 50_000, 0).tolist()
    # Others than those that may be restarted.
    restartable = fit(log, system, restarts="share=0.2").workload.restartable
    assert 0.1 < restartable[chosen].mean() < 0.35


def test_bounds_are_multiples_of_the_units():
    """Rounded towards the job's own size, never below one unit, exactly: 0.1 x 30 is 3."""
    log = jobs(units=[1, 3, 10, 20])
    assert bounds(fit(log, machine(), malleable="")) == [(1, 2), (2, 6), (5, 20), (10, 20)]
    kind = "kind=moldable,least=0.1,most=1.3"
    fitted = fit(jobs(units=[1, 10, 20]), machine(), malleable=kind)
    assert bounds(fitted, JobType.MOLDABLE) == [(1, 1), (1, 13), (2, 20)]
    assert bounds(fit(log, machine(), malleable="least=1,most=1")) == [
        (units, units) for units in (1, 3, 10, 20)
    ]


def test_nodes_follow_units():
    """Of whole nodes, of processors packed on nodes, and of a node alone for each unit."""
    queues = '[[queues]]\nname = "q"\ngroups = ["thin"]'
    system = machine('processors = "whole-nodes"', queues=queues)
    workload = fit(processors([4, 5, 12], queue=["q"] * 3), system, malleable="most=4").workload
    for name in ("units", "nodes"):
        assert getattr(workload, f"{name}_min").tolist() == [1, 1, 2]
    assert workload.units.tolist() == [1, 2, 3]
    assert workload.units_max.tolist() == [3, 3, 3]
    packed = fit(processors([4, 6]), machine('processors = "packed"'), malleable="").workload
    assert packed.units_min.tolist() == [2, 3]
    assert packed.nodes_min.tolist() == [1, 1]
    assert packed.nodes_max.tolist() == [2, 3]
    alone = jobs(units=[2, 2], nodes_min=[2, 2], nodes_max=[2, 2], exclusive=[True, True])
    workload = fit(alone, machine(), malleable="").workload
    assert workload.nodes_min.tolist() == [1, 1]
    assert workload.nodes_max.tolist() == [4, 4]


@pytest.mark.parametrize(
    "needs",
    [
        {"split": Split.EVEN},
        {"contiguous": True},
        {"segment": 2},
        {"max_switches": 1},
        {"exclusive": True, "nodes_min": 1, "nodes_max": 1},
    ],
)
def test_jobs_that_need_more_than_a_number_of_units_stay_rigid(needs):
    """The first of two jobs asks for it, the second does not."""
    neutral = {"nodes_max": UNBOUNDED, "nodes_min": 1}
    columns = {name: [value, neutral.get(name, 0)] for name, value in needs.items()}
    workload = fit(jobs(units=[2, 2], **columns), machine(), malleable="").workload
    assert workload.job_type.tolist() == [JobType.RIGID, JobType.MALLEABLE]
    assert workload.units_min.tolist() == [2, 1]
    assert workload.units_max.tolist() == [2, 4]


def test_a_rigid_job_has_the_units_it_asks_for():
    """Whatever bounds a table gives it; those of a malleable job stay, within the machine."""
    log = jobs(
        units=[4, 4, 4],
        units_min=[2, 2, 2],
        units_max=[8, 8, 80],
        job_type=[JobType.RIGID, JobType.MALLEABLE, JobType.MALLEABLE],
    )
    assert bounds(fit(log, machine())) == [(4, 4), (2, 8), (2, 20)]
    counted = processors(
        [4, 4], units_min=[1, 2], units_max=[20, 8], job_type=[JobType.RIGID, JobType.MALLEABLE]
    )
    workload = fit(counted, machine('processors = "packed"')).workload
    assert workload.nodes_min.tolist() == [1, 1]
    assert workload.nodes_max.tolist() == [1, 2]
    # What it says itself is gone where a setting says who is malleable.
    assert bounds(fit(log, machine(), malleable="share=0")) == [(4, 4)] * 3


def test_a_job_that_only_fits_at_a_smaller_size_is_rejected():
    """A dispatcher that knows no other size than the one asked for could never start it."""
    fitted = fit(jobs(units=[20, 21]), machine(), malleable="")
    assert [row for row, _ in fitted.rejected] == [1]


@pytest.mark.parametrize(
    ("setting", "text", "message"),
    [
        ("restarts", "half", "'half' is not an option"),
        ("restarts", "share=1.5", "share: is '1.5', must be a number from 0 to 1"),
        ("restarts", "share=some", "share: is 'some', must be a number from"),
        (
            "restarts",
            "checkpoint=-1",
            "checkpoint: is '-1', must be a whole number from 0 to 31622400",
        ),
        (
            "restarts",
            "price=1",
            "price: unknown key. Keys here: checkpoint, cost, share",
        ),
        ("malleable", "share=nan", "share: is 'nan', must be a number from 0 to 1"),
        ("malleable", "least=2", "least: is '2', must be a number from 0"),
        ("malleable", "most=0.5", "most: is '0.5', must be a number from 1 to 1000"),
        (
            "malleable",
            "kind=rigid",
            "kind: is 'rigid', must be one of: moldable, malleable, evolving",
        ),
        ("malleable", "serial=5", "serial: is '5', must be a number from 0"),
        ("malleable", "cost=0.5", "cost: is '0.5', must be a whole number"),
        ("malleable", "cost=-1", "cost: is '-1', must be a whole number from 0 to"),
    ],
)
def test_settings_that_make_no_sense(setting, text, message):
    with pytest.raises(ConfigError, match=message):
        fit(jobs(units=[1]), machine('processors = "pool"'), **{setting: text})


PARTITIONS = """
[[queues]]
name = "short"
default = true
max_time = 600
groups = ["thin"]
max_nodes = 2
[[queues]]
name = "fat"
groups = ["fat"]
exclusive = true
users = ["ann"]
"""


def test_a_job_in_several_queues_may_use_the_nodes_of_all_that_take_it():
    fitted = fit(
        jobs(
            units=[1, 1, 1],
            queue=["short,fat", "short,fat", "short,fat"],
            user=["ann", "bob", "ann"],
            requested_time=[600, 600, 601],
        ),
        machine(queues=PARTITIONS),
    )
    assert fitted.workload.queue.decode() == ["short,fat", "short", "fat"]
    masks = fitted.eligible[fitted.eligible_class].tolist()
    assert masks == [[True] * 4, [True, True, True, False], [False, False, False, True]]
    assert fitted.workload.exclusive.tolist() == [False, False, True]


def test_queues_bound_their_jobs_and_the_default_one_takes_those_without():
    wanted = jobs(
        units=[2, 3, 1],
        nodes_min=[1, 3, 1],
        queue=[None, None, "short,fat"],
        user=["bob"] * 3,
        requested_time=[60, 60, 601],
    )
    fitted = fit(wanted, machine(queues=PARTITIONS))
    assert fitted.workload.queue.decode()[:2] == ["short"] * 2
    assert fitted.workload.nodes_max[0] == 2
    assert fitted.rejected == (
        (1, "asks for 3 nodes, queue short allows 2"),
        (2, "user 'bob' is not allowed in queue fat, which takes: ann"),
    )
