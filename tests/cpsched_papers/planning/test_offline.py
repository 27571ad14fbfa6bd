"""Plans of static instances worked out by hand, and what is refused."""

from __future__ import annotations

import json
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from tiny import jobs, machine, machines, workloads

from cpsched.dispatch.contract import Dispatcher
from cpsched.errors import ConfigError, DispatchError
from cpsched.mapping import fit
from cpsched.model.allocation import Allocation
from cpsched.model.decision import Decision, PlannedStarts
from cpsched_papers.planning.check import check_nodes, check_pool
from cpsched_papers.planning.instance import instance_of
from cpsched_papers.planning.offline import plan
from cpsched_papers.planning.write import figures, report, write

#: The instance most tests plan: A 2 cores for 10, B 4 for 4, C 1 for 6, D 1 for 8; submits differ.
WORKLOAD = jobs((0, 2, 10), (1, 4, 4), (3, 1, 6), (4, 1, 8), job_id=list("ABCD"))


def planned(dispatcher, workload=WORKLOAD, system=None, **more):
    return plan(fit(workload, system or machine((4,))), dispatcher=dispatcher, **more)


def test_a_backfilling_dispatcher_is_simulated_with_all_jobs_there():
    """
    EASY at 0: A starts, B is promised 10, C and D end by then.

    ::

        4 |DDDDDDDD  BBBB
        3 |CCCCCC    BBBB
        2 |AAAAAAAAAABBBB
        1 |AAAAAAAAAABBBB
          +---------------
           0     6 8 10  14
    """
    made = planned("easy")
    assert made.start.tolist() == [0, 10, 0, 0]
    assert (made.status, made.checked, made.gap) == ("simulated", "nodes", None)
    assert made.nodes == ["n0"] * 4
    assert made.listed.tolist() == [0, 10, 0, 0]
    # Slowdowns 1, (10 + 4) / 4, 1, 1; one expected wait for all, so weights are 1.
    assert made.instance.mean_slowdown(made.start) == 1.625
    assert made.instance.mean_weighted_wait(made.start) == 2.5
    assert made.instance.makespan(made.start) == 14


@pytest.mark.parametrize("dispatcher", ["ipsched", "aucsched1", "aucsched2", "aucsched3"])
def test_windows_that_cannot_be_everybody_stay_as_they_are(dispatcher):
    """A and C and D start; B waits."""
    made = planned(dispatcher)
    assert made.start[0] == made.start[2] == made.start[3] == 0 < made.start[1]


def test_rollouts_are_simulated():
    """They plan nobody who waits."""
    made = planned("rollout")
    assert made.status == "simulated"
    assert (made.start >= 0).all()


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan"), float("inf")])
def test_limits_that_are_none(limit):
    with pytest.raises(ConfigError, match="must be above 0 and finite"):
        planned("easy", limit=limit)


@pytest.mark.parametrize("suffix", [".csv", ".json", ".parquet"])
def test_a_plan_that_cannot_be_written_leaves_what_was_there(tmp_path, monkeypatch, suffix):
    """A full disk in the middle of the file."""
    path = tmp_path / f"plan{suffix}"
    path.write_text("before")

    def full(plan, path):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys.modules["cpsched_papers.planning.write"], "_write", full)
    with pytest.raises(ConfigError, match=r"plan.*cannot be written: No space left on device"):
        write(planned("easy"), path)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [(path.name, "before")]


def test_submits_can_be_kept():
    """The same with releases 0, 1, 3, 4: D would end at 12 and waits for B, as when simulated."""
    made = planned("easy", keep_submits=True)
    assert made.start.tolist() == [0, 10, 3, 14]
    assert made.instance.release.tolist() == [0, 1, 3, 4]
    assert made.listed is None
    assert "list plan" not in report(made)


@pytest.mark.parametrize("name", ["cph-2", "cph-3", "cp-2", "cp-3"])
def test_the_model_finds_the_best_plan(name):
    """
    B first (4 s), then the others: slowdowns 1, 14/10, 10/6 and 12/8, their mean 1.3917.

    Any other job before B costs more: B alone waits 6, 8 or 10 s for it, a slowdown of 2.5 up.
    """
    made = planned(name)
    assert made.start.tolist() == [4, 0, 4, 4]
    assert (made.status, made.gap, made.minimised) == ("optimal", 0.0, "slowdown")
    assert made.objective(made.start) == pytest.approx((1.4 + 1 + 10 / 6 + 1.5) / 4)
    assert made.bound == pytest.approx(made.objective(made.start))
    assert made.objective(made.start) <= made.objective(made.listed)
    assert made.dispatcher == f"{name}:limit=1.0,window=all"
    assert made.nodes == ["n0"] * 4
    assert made.checked == "nodes"


def test_options_given_are_kept():
    made = planned("cph-2:limit=0.5,window=4")
    assert made.dispatcher == "cph-2:limit=0.5,window=4"
    with pytest.raises(ConfigError, match=r"window=2: plans only 2 of 4 jobs; give it fewer"):
        planned("cph-2:window=2")


def test_durations_are_predictions():
    """B asks for 8 and runs 4: planned with 8 by its request, with 4 by the truth."""
    workload = jobs((0, 4, 4, 8), (0, 4, 4, 4), job_id=["B", "C"])
    assert planned("fifo", workload).start.tolist() == [0, 8]
    assert planned("fifo", workload, predictor="actual").start.tolist() == [0, 4]


def test_jobs_of_no_runtime_are_planned_for_their_prediction():
    """Both run 0 s in truth; the first ends at the second it is started, which changes no plan."""
    workload = jobs((0, 4, 0, 5), (0, 4, 0, 5), job_id=["A", "B"])
    assert sorted(planned("cph-0", workload).start.tolist()) == [0, 5]
    assert sorted(planned("cph-0", workload, predictor="actual").start.tolist()) == [0, 1]


def test_rejected_jobs_are_left_out():
    workload = jobs((0, 9, 4), (3, 2, 4), job_id=["A", "B"])
    made = planned("fifo", workload)
    assert made.start.tolist() == [0]
    assert "rejected: 1 job that can never run here (the first: job A," in report(made)
    with pytest.raises(ConfigError, match="none of the 1 jobs can run on this system"):
        planned("fifo", jobs((0, 9, 4)))


def test_what_a_model_does_not_know_is_refused():
    with pytest.raises(ConfigError, match="--keep-submits: 'cph-0' needs all jobs to be submitted"):
        planned("cph-0", keep_submits=True)
    chain = jobs((0, 1, 4), (0, 1, 4), job_id=["A", "B"], dependency=[-1, 0])
    with pytest.raises(ConfigError, match=r"1 job with dependencies \(the first: B\)"):
        planned("cph-0", chain)
    assert planned("easy", chain).start.tolist() == [0, 4]


def test_a_plan_over_capacity_is_never_given():
    """The checks share no code with what plans."""
    instance = instance_of(fit(WORKLOAD, machine((4,))), "requested")
    check_pool(instance, np.array([4, 0, 4, 4]))
    with pytest.raises(DispatchError, match="takes 6 core of the machine at second 3, which has 4"):
        check_pool(instance, np.array([3, 3, 8, 8]))
    late = instance_of(fit(WORKLOAD, machine((4,))), "requested", keep_submits=True)
    with pytest.raises(DispatchError, match="starts job B at 0, before its release at 1"):
        check_pool(late, np.array([4, 0, 4, 4]))


def test_a_plan_over_the_capacity_of_a_node_is_never_given():
    """Two jobs of one core each, planned for node n1 of one core at overlapping times."""
    instance = instance_of(fit(jobs((0, 1, 5), (0, 1, 5)), machine((1,), (1,))), "requested")

    def on(node):
        return Allocation(np.array([node]), np.array([1]), np.array([[1]]))

    check_nodes(instance, np.array([1, 4]), {0: on(0), 1: on(1)})
    check_nodes(instance, np.array([1, 6]), {0: on(1), 1: on(1)})
    with pytest.raises(DispatchError, match="takes 2 core of node n1 at second 4, which has 1"):
        check_nodes(instance, np.array([1, 4]), {0: on(1), 1: on(1)})


def test_a_pools_plan_may_find_no_nodes():
    """
    Three cores on n0, three on n1: A and B leave one on each, which as a pool hold C.

    C wants both its cores on one node. CPH plans it for 0; it is left without nodes, and said so.
    """
    workload = jobs(
        (0, 1, 5), (0, 1, 5), (0, 1, 5),
        request=[[2], [2], [2]], job_id=list("ABC"),
    )  # fmt: skip
    made = planned("cph-2", workload, machine((3,), (3,)))
    assert made.start.tolist() == [0, 0, 0]
    assert (made.checked, made.nodes) == ("pool", ["n0", "n1", None])
    assert "and on nodes by 2 jobs; the other 1 found no nodes" in report(made)
    exact = planned("cp-2", workload, machine((3,), (3,)))
    assert sorted(exact.start.tolist()) == [0, 0, 5]
    assert (exact.checked, None in exact.nodes) == ("nodes", False)
    assert "list plan   better on one pool, but not all of its jobs find nodes" in report(exact)
    assert "list plan   better" not in report(made)


def test_the_list_plan_is_kept_where_it_is_better_and_finds_nodes():
    """
    Two nodes of 4 and 2 cores. In order, A (1 unit of 1), B (2 units of 2) and C (1 unit of 4).

    The dispatcher would start all of them one after the other; the list plan starts A and B at once.
    """

    class Slow(Dispatcher):
        name = "slow"

        def build(self, view):
            return None

        def decide(self, view):
            return Decision(
                planned_starts=PlannedStarts((0, 1, 2), (0, 5, 10)), stats={"solver_calls": 1}
            )

    workload = jobs((0, 1, 5), (0, 2, 5), (0, 1, 5), request=[[1], [2], [4]], job_id=list("ABC"))
    made = planned(Slow(), workload, machine((4,), (2,)))
    assert made.start.tolist() == made.listed.tolist() == [0, 0, 5]
    assert (made.checked, made.status) == ("nodes", "feasible")
    assert made.gap == 1


def test_an_exact_model_has_its_size(monkeypatch):
    """Four jobs have a count each on the node, and three are allowed."""
    monkeypatch.setattr("cpsched.cp.pure.MOST_COUNTS", 3)
    with pytest.raises(ConfigError, match=r"of 4 jobs; .* its model has 20,000 counts"):
        planned("cp-2")


@pytest.mark.parametrize(("more", "limit"), [("", "0.02"), (",neighbourhoods=4", "0.25")])
def test_the_limit_is_of_all_neighbourhoods_together(more, limit):
    made = planned(f"plan:patience=9{more}")
    assert f"limit={limit}" in made.dispatcher


def test_nodes_that_a_plan_names_are_kept():
    """The plan puts B on n1 although n0 is free too."""

    class Exact(Dispatcher):
        name = "exact"

        def build(self, view):
            return None

        def decide(self, view):
            return Decision(planned_starts=PlannedStarts((0, 1), (1, 9), {1: np.array([1])}))

    made = planned(Exact(), jobs((0, 1, 5), (0, 1, 5)), machine((1,), (1,)))
    assert made.nodes == ["n0", "n1"]


class Lister(Dispatcher):
    """Plans one job of three units at second 0, on nodes and units in plain lists."""

    name = "lister"

    def __init__(self, nodes, units):
        self.planned = PlannedStarts([0], [0], {0: nodes}, {0: units})

    def build(self, view):
        return None

    def decide(self, view):
        return Decision(planned_starts=self.planned)


def test_units_that_a_plan_names_are_kept():
    """Two on n2 and one on n0, where an allocator would fill n0 first."""
    made = planned(Lister([0, 2], [1, 2]), jobs((0, 3, 5)), machine((2,), (2,), (2,)))
    assert (made.nodes, made.units_per_node) == (["n[0,2]"], ["1,2"])


@pytest.mark.parametrize(
    ("nodes", "units"), [([0, 7], [1, 2]), ([0], [1, 2]), ([0.0, 1.0], [1, 2]), ([], []),
                         ([0, 2], [1, 3]), ([0, 2], [0, 3]), ([0, 0], [1, 2])],
)  # fmt: skip
def test_units_that_no_job_can_have_are_the_dispatchers_error(nodes, units):
    with pytest.raises(DispatchError, match="a plan"):
        planned(Lister(nodes, units), jobs((0, 3, 5)), machine((2,), (2,), (2,)))


@settings(max_examples=20)
@given(machines(), workloads())
def test_plans_keep_capacity_and_are_no_worse_than_the_list_plan(system, workload):
    """On machines with GPUs and memory, bounds on nodes, whole nodes."""
    fitted = fit(workload, system)
    if len(fitted.rejected) == len(workload):
        return
    for name in ("easy", "cph-0", "cph-2", "cp-2"):
        made = plan(fitted, dispatcher=name, limit=0.02)
        assert (made.start >= 0).all()
        if name.startswith("cph"):
            assert made.objective(made.start) <= made.objective(made.listed) + 1e-9
        if name.startswith("cp"):
            assert made.bound <= made.objective(made.start) + 1e-9
        if name == "cp-2":
            # The solver's own nodes, unit by unit: nobody is left without.
            assert (made.checked, None in made.nodes) == ("nodes", False)


def test_ids_cannot_steer_a_spreadsheet_or_a_terminal(tmp_path):
    """An id that begins like a formula is text; control characters are shown."""
    ids = ["=1+1", "-4", "a\x1b[31m"]
    write(planned("easy", jobs((0, 4, 3), (0, 4, 3), (0, 4, 3), job_id=ids)), tmp_path / "plan.csv")
    rows = (tmp_path / "plan.csv").read_text().splitlines()[1:]
    assert [row.split(",")[0] for row in rows] == ["-4", "'=1+1", "a\\x1b[31m"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".json"])
def test_files(tmp_path, suffix):
    path = tmp_path / f"plan{suffix}"
    write(planned("easy", jobs((0, 4, 3), (0, 4, 3), job_id=["A", 'b",\nB'])), path)
    if suffix == ".csv":
        assert path.read_bytes() == (
            b"job_id,release,start,end,units,nodes,units_per_node\r\n"
            b'A,0,0,3,4,n0,4\r\n"b"",\nB",0,3,6,4,n0,4\r\n'
        )
        return
    if suffix == ".json":
        content = json.loads(path.read_text())
        rows = content["jobs"]
        assert content["plan"]["makespan_s"] == 6
    else:
        rows = pq.read_table(path).to_pylist()
    assert rows[1] == {
        "job_id": 'b",\nB', "release": 0, "start": 3, "end": 6, "units": 4, "nodes": "n0",
        "units_per_node": "4",
    }  # fmt: skip


def test_figures_are_json():
    content = json.loads(json.dumps(figures(planned("cph-2"))))
    assert (content["status"], content["gap"], content["jobs_planned"]) == ("optimal", 0.0, 4)
    assert content["plan"]["mean_slowdown"] <= content["list_plan"]["mean_slowdown"]


def test_a_dispatcher_that_breaks_an_invariant_is_caught():
    """Dispatchers of others plan too; what they claim is checked."""

    class Greedy(Dispatcher):
        name = "greedy"

        def build(self, view):
            return None

        def decide(self, view):
            handles = view.waiting.handle.tolist()
            return Decision(
                planned_starts=PlannedStarts(handles, [1] * len(handles)), stats={"solver_calls": 1}
            )

    with pytest.raises(DispatchError, match="takes 6 core of the machine at second 1"):
        planned(Greedy())
