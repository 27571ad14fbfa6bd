"""Orders, groups, distances and compact sets of nodes."""

from itertools import pairwise

import numpy as np
import pytest

from cpsched.model.curves import along_curve, hilbert
from cpsched.model.node_sets import NodeSets
from cpsched.model.topology import Topology, TopologyKind
from cpsched.model.workload import Workload

TREE = Topology(30, group_sizes=((4, 6, 10, 10), (10, 20)))
BLOCKS = Topology(51, (17,), kind=TopologyKind.BLOCK)
DRAGONFLY = Topology(24, (4, 12), kind=TopologyKind.DRAGONFLY)
TORUS = Topology(64, sides=(4, 4, 4))
ALL = (Topology(20), Topology(20, (4, 8)), TREE, BLOCKS, DRAGONFLY, TORUS,
       Topology(60, sides=(3, 4, 5)), Topology(24, sides=(4, 6)))  # fmt: skip

SIDES = [(4, 4), (8, 8, 8), (2, 2, 2, 2, 2), (4, 4, 4, 8, 2), (6, 4), (3, 5), (8, 16), (16, 8),
         (8, 24, 8), (4, 6, 10), (40, 32, 32), (1, 4), (5, 7, 3)]  # fmt: skip


@pytest.mark.parametrize("sides", SIDES)
def test_a_curve_visits_every_cell_once_and_steps_to_a_neighbour(sides):
    cells = along_curve(sides)
    assert np.array_equal(np.sort(np.ravel_multi_index(cells.T, sides)), np.arange(np.prod(sides)))
    assert (np.abs(np.diff(cells, axis=0)).sum(axis=1) == 1).all()


def test_hilbert_of_the_smallest_squares():
    # 4 x 4: four copies of the curve of 2 x 2, the first and the last turned.
    #   0  1 14 15        (first coordinate down, second to the right)
    #   3  2 13 12 and so on, turned over the diagonal
    assert hilbert(1, 2).tolist() == [[0, 0], [0, 1], [1, 1], [1, 0]]
    assert hilbert(2, 2).tolist()[:6] == [[0, 0], [1, 0], [1, 1], [0, 1], [0, 2], [0, 3]]


@pytest.mark.parametrize(("bits", "dimensions"), [(3, 2), (3, 3), (2, 4), (1, 5), (2, 5)])
def test_every_part_of_a_hilbert_curve_fills_a_cube(bits, dimensions):
    """2^(kD) cells from a multiple of that on are a cube."""
    cells = hilbert(bits, dimensions)
    for level in range(bits + 1):
        cubes = cells.reshape(-1, 1 << level * dimensions, dimensions)
        assert (np.ptp(cubes, axis=1) == (1 << level) - 1).all()


def test_cubes_of_an_uneven_torus_are_filled_one_after_the_other():
    cells = Topology(40 * 32 * 32, sides=(40, 32, 32)).cells.reshape(-1, 512, 3)
    assert (np.ptp(cells, axis=1) == 7).all()


def test_unequal_switches_have_the_groups_given():
    assert TREE.kind is TopologyKind.TREE
    assert TREE.num_levels == 3
    assert np.bincount(TREE.level_group(0)).tolist() == [4, 6, 10, 10]
    assert np.bincount(TREE.level_group(1)).tolist() == [10, 20]
    assert not TREE.level_group(2).any()
    first, last = np.array([0, 0, 3, 9, 10]), np.array([3, 4, 4, 10, 29])
    assert TREE.common_level(first, last).tolist() == [0, 1, 1, 2, 1]


@pytest.mark.parametrize("topology", ALL)
def test_levels_are_nested_ranges_of_the_line(topology):
    assert topology.levels.shape == (topology.num_levels - 1, topology.num_nodes)
    assert (np.diff(topology.levels, axis=1) >= 0).all()
    for lower, upper in pairwise(topology.levels):
        # A border of the upper level is one of the lower.
        assert (np.diff(lower)[np.diff(upper) > 0] > 0).all()


@pytest.mark.parametrize(
    ("topology", "a", "b", "hops"),
    [
        (Topology(20), 3, 12, 9),
        (Topology(20, (4, 8)), 0, 3, 2), (Topology(20, (4, 8)), 0, 4, 4),
        (Topology(20, (4, 8)), 0, 8, 6), (TREE, 9, 10, 6), (BLOCKS, 0, 16, 2), (BLOCKS, 0, 17, 4),
        (DRAGONFLY, 0, 3, 2), (DRAGONFLY, 0, 4, 3), (DRAGONFLY, 0, 12, 5),
    ],
)  # fmt: skip
def test_distance(topology, a, b, hops):
    assert topology.distance(np.array([a, b, a]), np.array([b, a, a])).tolist() == [hops, hops, 0]


def test_distance_in_a_torus_goes_the_shorter_way_round():
    torus = Topology(60, sides=(3, 4, 5))
    at = {tuple(cell): node for node, cell in enumerate(torus.cells.tolist())}
    a, b = np.array([at[0, 0, 0]] * 3), np.array([at[2, 3, 4], at[1, 2, 2], at[0, 0, 3]])
    assert torus.distance(a, b).tolist() == [3, 5, 2]


@pytest.mark.parametrize("topology", ALL)
def test_cost_is_the_mean_over_all_pairs(topology):
    rng = np.random.default_rng(1)
    for size in (1, 2, 3, 7, topology.num_nodes):
        nodes = rng.choice(topology.num_nodes, size, replace=False)
        first, second = np.triu_indices(size, 1)
        apart = topology.distance(nodes[first], nodes[second])
        assert topology.mean_distance(NodeSets.of(nodes))[0] == pytest.approx(
            apart.mean() if size > 1 else 0
        )


@pytest.mark.parametrize(
    ("topology", "nodes", "compact"),
    [
        (Topology(20), [4, 5, 3], True), (Topology(20), [3, 5], False), (Topology(20), [7], True),
        # 4 nodes fit one leaf switch of 4, 5 need two, which the next switch may hold or not.
        (Topology(20, (4, 8)), [0, 1, 2, 3], True), (Topology(20, (4, 8)), [1, 2, 3, 4], False),
        (Topology(20, (4, 8)), [0, 1, 2, 3, 4], True),
        (Topology(20, (4, 8)), [4, 5, 6, 7, 8], False),
        # 10 nodes fit the largest leaf, in the smaller ones they need two.
        (TREE, list(range(10, 20)), True), (TREE, list(range(10)), False), (TREE, [4, 9], True),
        (BLOCKS, list(range(34)), True), (BLOCKS, list(range(8, 42)), False),
        # Along the curve, whether or not they fill a box.
        (TORUS, list(range(5, 12)), True), (TORUS, [0, 2], False),
    ],
)  # fmt: skip
def test_compact(topology, nodes, compact):
    assert topology.compact(NodeSets.of(np.array(nodes))).tolist() == [compact]


@pytest.mark.parametrize("topology", ALL)
def test_topologies_come_back_from_json_types(topology):
    assert Topology.from_dict(topology.num_nodes, topology.to_dict()) == topology


def test_what_lines_and_equal_trees_are_written_as_has_not_changed():
    assert Topology(8).to_dict() == {"level_sizes": []}
    assert Topology(8, (2, 4)).to_dict() == {"level_sizes": [2, 4]}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"level_sizes": (4, 6)}, "level of 6 nodes must be a multiple of, and larger than"),
        ({"group_sizes": ((4, 5),)}, "the groups of level 0 hold 9 nodes, there are 12"),
        ({"group_sizes": ((4, 8), (6, 6))}, "level 1 contains part of a group of the level below"),
        ({"level_sizes": (4,), "group_sizes": ((12,),)}, "as equal ones and one by one"),
        ({"sides": (3, 5)}, "sides 3 x 5 are 15 nodes, there are 12"),
        ({"sides": (12,)}, "a torus has 2 to 5 sides"),
        ({"sides": (3, 4), "level_sizes": (3,)}, "no other topology has sides"),
        ({"kind": TopologyKind.TORUS}, "a torus needs sides"),
        ({"kind": TopologyKind.DRAGONFLY, "level_sizes": (4,)}, "a dragonfly has two levels"),
    ],
)
def test_impossible_topologies_are_refused(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        Topology(12, **arguments)


def test_digest_of_a_workload_without_such_requests_is_what_it_was():
    columns = {"title": "", "job_id": ["1", "2"], "submit": [0, 1], "runtime": [1, 1],
               "units": [1, 2], "request": [[1], [1]], "resources": ["core"]}  # fmt: skip
    assert Workload.build(**columns).digest()[:16] == "d7a85f373bbcd858"
    asked = {"segment": [0, 2], "max_switches": [1, 0], "switch_wait": [300, 300]}
    digests = {Workload.build(**columns, **{name: asked[name]}).digest() for name in asked}
    assert len(digests) == 3
    for name in asked:
        with pytest.raises(ValueError, match=f"job 1: {name} is -1, must be from 0 to"):
            Workload.build(**columns, **{name: [-1, 0]})
