"""Jobs that ask for segments or few switches: which can never run, and why."""

import numpy as np
import pytest

from cpsched import systems
from cpsched.model.workload import Workload
from cpsched.systems.mapping import fit


def machine(topology, cores, processors="anywhere"):
    entries = "".join(f'[[nodes]]\ngroup = "g"\ncount = 1\ncore = {core}\n' for core in cores)
    return systems.parse(
        f'resources = ["core"]\n{entries}\n[topology]\n{topology}\n'
        f'[log]\nprocessors = "{processors}"',
        name="m",
    )


def jobs(num=1, **columns):
    nothing = {"units": [1] * num, "requested_time": [60] * num}
    return Workload.build(
        title="", job_id=[str(i) for i in range(num)], submit=np.zeros(num), runtime=np.ones(num),
        request=[[1]] * num, resources=["core"], **(nothing | columns),
    )  # fmt: skip


def whole_nodes(nodes, **columns):
    """A job of so many nodes."""
    return jobs(units=[nodes], nodes_min=[nodes], nodes_max=[nodes],
                **{name: [value] for name, value in columns.items()})  # fmt: skip


BLOCKS = ("block_size = 17", [1] * 51)
TREE = ("switches = [[4, 6, 10, 10], [10, 20]]", [1] * 30)

REASONS = [
    # Slurm's known answer: 12 + 12 + 12.
    (BLOCKS, whole_nodes(36, segment=12), None),
    (BLOCKS, whole_nodes(48, segment=12), "its 48 tasks do not fit in segments of 12 nodes, each in one"),
    (BLOCKS, whole_nodes(36, segment=18), "asks for segments of 18 nodes, no block has more than 17"),
    (BLOCKS, whole_nodes(30, segment=12), "asks for segments of 12 nodes, which 30 to 30 nodes are not"),
    (TREE, whole_nodes(10, max_switches=1), None),
    (TREE, whole_nodes(11, max_switches=1), "its 11 tasks do not fit in at most 1 leaf switch"),
    (TREE, whole_nodes(20, max_switches=2), None),
    (TREE, whole_nodes(21, max_switches=2), "its 21 tasks do not fit in at most 2 leaf switch"),
    # What passes is outwaited.
    (TREE, whole_nodes(21, max_switches=2, switch_wait=60), None),
    # Six switches end at 4, 10, 20: a run under two of them begins in the third.
    (TREE, whole_nodes(16, max_switches=2, contiguous=True), None),
    (TREE, whole_nodes(20, segment=5, contiguous=True), None),
    (TREE, whole_nodes(28, segment=4, contiguous=True), "its 28 tasks do not fit in segments of 4 nodes"),
    (TREE, whole_nodes(20, segment=4), None),
    # Without groups the whole machine is one.
    (("", [1] * 8), whole_nodes(8, segment=4, max_switches=1), None),
    (("", [1] * 8), whole_nodes(6, segment=4), "asks for segments of 4 nodes, which 6 to 6 nodes are"),
    # Bounds may leave a choice: 8 units on 6 nodes (two a node where there is room), not on 5 or 7.
    (("block_size = 3", [2] * 9), jobs(units=[8], nodes_min=[5], nodes_max=[7], segment=[3]), None),
    # Unlike nodes: one switch holds 9 units on three nodes, the other 4 on four.
    (("switches = [[3, 4]]", [3] * 3 + [1] * 4), jobs(units=[9], max_switches=[1]), None),
    (("switches = [[3, 4]]", [3] * 3 + [1] * 4), jobs(units=[9], nodes_min=[4], max_switches=[1]),
     "its 9 tasks do not fit in at most 1 leaf switch"),
]  # fmt: skip


@pytest.mark.parametrize(("system", "workload", "reason"), REASONS)
def test_reason_says_what_cannot_be_met(system, workload, reason):
    problem = dict(fit(workload, machine(*system)).rejected).get(0)
    assert (problem is None) == (reason is None), problem
    assert reason is None or problem.startswith(reason), problem


def test_counted_pools_are_not_places():
    workload = jobs(units=[4], segment=[2], layout="processors")
    assert fit(workload, machine("block_size = 4", [4] * 8, "pool")).rejected == (
        (0, "must lie in segments of 2 nodes, each in one machine, and the system has no nodes"),
    )  # fmt: skip
