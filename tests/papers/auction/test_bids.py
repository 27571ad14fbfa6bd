"""Bids: what a job may ask for now, in classes A, B and C."""

import numpy as np
import pytest
from auctions import gpu_view
from hypothesis import given, settings
from hypothesis import strategies as st

from cpsched.papers.auction.bids import BidMaker, levels_between, requests_of
from cpsched.papers.auction.lines import spread
from cpsched.papers.auction.preference import BidClass
from cpsched.papers.auction.spots import line_spots, switch_spots


def maker_of(
    view, per_job=15, max_bids=1000, fragments=False, ranges=True, tree=False, max_nodes=10**9
):
    """Return a maker of the bids of all waiting jobs."""

    def spots(offer):
        if tree:
            return switch_spots(offer, view.system.topology, limit=per_job)
        return line_spots(offer, fragments=fragments, limit=per_job)

    return BidMaker(
        view, view.waiting, per_job=per_job, max_bids=max_bids, max_nodes=max_nodes, spots=spots,
        ranges=ranges,
    )  # fmt: skip


def bids_of(view, **options):
    """Return the bids of all waiting jobs."""
    return maker_of(view, **options).make()


def described(bids):
    """Return class, nodes, units and GPUs on a node of each bid."""
    return [
        (bid.kind.name, bid.node.tolist(), bid.units.tolist(), int(bid.level[1])) for bid in bids
    ]


def test_job_types():
    """Units alone; a number of nodes; and the same units on each."""
    view = gpu_view(
        [(4, 1)] * 4,
        [{"units": 4}, {"units": 4, "nodes": 2}, {"units": 4, "nodes": 2, "even": 1},
         {"units": 4, "nodes_max": 2}, {"units": 1, "nodes_max": 1}],
    )  # fmt: skip
    asks, which = requests_of(view.waiting, view.system.capacity.max(axis=0))
    assert [asks[number].job_type for number in which] == [1, 2, 3, 2, 1]


def test_classes_on_one_nodeset():
    """
    Two cores on nodes of one: [0 1] and [4 5] beside the ends, three windows elsewhere.

    ::

        0 1 2 3 4 5
        A A . . A A
          B B B B
    """
    bids = described(bids_of(gpu_view([(1, 0)] * 6, [{"units": 2}])))
    by_class = {kind: [nodes for name, nodes, _, _ in bids if name == kind] for kind in "ABC"}
    assert by_class == {"A": [[0, 1], [4, 5]], "B": [[1, 2], [2, 3], [3, 4]], "C": []}


def test_class_c_crosses_nodesets_unless_contiguous():
    """Three cores where no nodeset has as many: 2 | 1 | 2."""
    free = [(1, 0), (1, 0), (0, 0), (1, 0), (0, 0), (1, 0), (1, 0)]
    bids = bids_of(gpu_view(free, [{"units": 3}]))
    assert {bid.kind for bid in bids} == {BidClass.C}
    assert [0, 1, 3] in [bid.node.tolist() for bid in bids]
    assert all(bid.num_nodesets == 2 for bid in bids)
    assert bids_of(gpu_view(free, [{"units": 3, "contiguous": 1}])) == []


def test_few_nodes_are_filled_and_counted_nodes_share_evenly():
    """Six cores: two nodes of four take 4 + 2; on three nodes, 2 + 2 + 2."""
    view = gpu_view([(4, 0)] * 3, [{"units": 6}, {"units": 6, "nodes": 3}])
    bids = bids_of(view)
    assert [4, 2] in [bid.units.tolist() for bid in bids if bid.job == 0]
    assert [bid.units.tolist() for bid in bids if bid.job == 1] == [[2, 2, 2]]


def test_cores_per_node_pass_over_nodes_with_less():
    """Type 3, two cores on each of two nodes: node 1 has one core and breaks the nodeset."""
    view = gpu_view([(2, 0), (1, 0), (3, 0), (2, 0)], [{"units": 4, "nodes": 2, "even": 1}])
    bids = described(bids_of(view))
    assert ("A", [2, 3], [2, 2], 0) in bids
    assert ("C", [0, 2], [2, 2], 0) in bids
    assert all(1 not in nodes for _, nodes, _, _ in bids)


def test_bids_for_more_gpus_come_first():
    """One to three GPUs on a node that has two: bids of two, then of one."""
    view = gpu_view([(4, 2)], [{"units": 2, "gpus": 1, "most_gpus": 3}])
    assert [gpus for _, _, _, gpus in described(bids_of(view))] == [2, 1]
    assert [gpus for _, _, _, gpus in described(bids_of(view, ranges=False))] == [1]


def test_unions_and_fragments_are_for_core_only_jobs():
    """Four cores on 4 | 1 1: all nodes of both nodesets; or the emptier nodes first."""
    free = [(4, 0), (0, 0), (1, 0), (1, 0)]
    wide = described(bids_of(gpu_view(free, [{"units": 4}])))
    assert ("C", [0, 2, 3], [2, 1, 1], 0) in wide
    scattered = described(bids_of(gpu_view(free, [{"units": 4}]), fragments=True))
    assert ("C", [0, 2, 3], [2, 1, 1], 0) in scattered
    bids = described(bids_of(gpu_view([(4, 0)] * 2, [{"units": 4}])))
    assert ("A", [0, 1], [2, 2], 0) in bids
    counted = bids_of(gpu_view(free, [{"units": 4, "nodes_max": 2}]), fragments=True)
    assert all(len(bid.node) <= 2 for bid in counted)


def test_limits_on_the_number_of_bids():
    """So many of one job, and so many of all: later jobs make none."""
    view = gpu_view([(1, 0)] * 9, [{"units": 1}] * 4)
    assert [bid.job for bid in bids_of(view, per_job=3)] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert [bid.job for bid in bids_of(view, per_job=3, max_bids=5)] == [0, 0, 0, 1, 1]


def test_classes_take_turns():
    """
    Two units on nodes of one, nodesets of 1, 1, 3 and 3 nodes.

    Of class A there are four, at the ends of the large ones; of class C two, from the small ones.
    """
    small, large = [(1, 0), (0, 0)], [(1, 0), (1, 0), (1, 0), (0, 0)]
    bids = bids_of(gpu_view(2 * small + 2 * large, [{"units": 2}]), per_job=2)
    assert "".join(bid.kind.name for bid in bids) == "AC"


def test_a_bid_on_named_nodes_has_their_class():
    """The middle of three nodes is neither end of the nodeset."""
    view = gpu_view([(1, 0)] * 3, [{"units": 1}])
    assert maker_of(view).bid_on(0, np.array([1]), np.array([1])).kind is BidClass.B


def test_wide_jobs_make_fewer_bids():
    """Twelve nodes in all bids: a job of four nodes makes three, one of twelve makes two."""
    for units, bids in ((4, 3), (12, 2)):
        view = gpu_view([(1, 0)] * 20, [{"units": units}])
        assert len(bids_of(view, max_nodes=12)) == bids


def test_an_exclusive_job_bids_for_idle_nodes():
    """Node 1 is in use."""
    view = gpu_view([(2, 0), (2, 0), (2, 0)], [{"units": 2, "nodes": 1, "exclusive": 1}])
    view.free.flags.writeable = True
    view.free[1, 0] = 1
    assert sorted(bid.node.tolist() for bid in bids_of(view)) == [[0], [2]]


def test_open_even_jobs_bid_with_several_shares():
    """Four units on any number of nodes, the same on each: 4, 2 + 2 or 1 + 1 + 1 + 1."""
    view = gpu_view([(4, 0)] * 4, [{"units": 4, "even": 1}])
    assert {tuple(bid.units.tolist()) for bid in bids_of(view)} == {(4,), (2, 2), (1, 1, 1, 1)}


def test_switches_come_before_lines():
    """Two cores on leaves of two nodes each: first within one leaf, last across."""
    view = gpu_view([(1, 0)] * 8, [{"units": 2}], levels=(2, 4))
    pairs = [bid.node.tolist() for bid in bids_of(view, tree=True)]
    assert sorted(pairs[:2]) == [[0, 1], [2, 3]]
    level = view.system.topology.common_level(np.array([a for a, _ in pairs]),
                         np.array([b for _, b in pairs]))  # fmt: skip
    assert level.min() == 0


@pytest.mark.parametrize(
    ("least", "most", "levels"),
    [
        ((0, 1), (0, 3), [[0, 1], [0, 2], [0, 3]]),
        ((0, 2), (0, 0), [[0, 2]]),
        ((0, 0), (0, 14), [[0, number] for number in range(0, 15, 2)]),
    ],
)
def test_levels_of_a_range(least, most, levels):
    """One by one, or in eight even steps; no range: what is asked for."""
    assert levels_between(np.array(least), np.array(most)).tolist() == levels


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=6), st.data(), st.booleans(),
)  # fmt: skip
def test_units_are_spread_within_the_free_capacity(capacities, data, evenly):
    """One or more on each node, no more than it holds, all of them."""
    units = data.draw(st.integers(len(capacities), sum(capacities)))
    units_on_nodes = spread(np.array(capacities), units, evenly=evenly)
    assert units_on_nodes.sum() == units
    assert all(1 <= put <= held for put, held in zip(units_on_nodes, capacities, strict=True))
    if evenly:
        below = [put for put, held in zip(units_on_nodes, capacities, strict=True) if put < held]
        assert not below or max(units_on_nodes) - min(below) <= 1


_ASKS = st.fixed_dictionaries(
    {"units": st.integers(1, 6)},
    optional={
        "gpus": st.integers(0, 2), "most_gpus": st.integers(0, 3), "even": st.integers(0, 1),
        "contiguous": st.integers(0, 1), "exclusive": st.integers(0, 1),
        "nodes_max": st.integers(1, 3),
    },
)  # fmt: skip
_NODES = st.tuples(st.integers(0, 4), st.integers(0, 2))


@settings(max_examples=80)
@given(
    st.lists(_NODES, min_size=1, max_size=8), st.lists(_ASKS, min_size=1, max_size=4), st.booleans()
)
def test_every_bid_is_a_place_the_job_could_have(free, asks, tree):
    """Capacity, bounds, even splits, contiguity, ranges; classes and nodesets as they are."""
    view = gpu_view(free, asks, levels=(2, 4) if tree else ())
    for bid in bids_of(view, fragments=True, tree=tree):
        ask = asks[bid.job]
        assert bid.units.sum() == ask["units"]
        assert bid.units.min() >= 1
        assert len(bid.node) <= ask.get("nodes_max", 99)
        assert not ask.get("even") or len(set(bid.units.tolist())) == 1
        low = ask.get("gpus", 0)
        assert low <= bid.level[1] <= max(low, ask.get("most_gpus", 0))
        taken = bid.units[:, None] * np.array([1, 0]) + bid.level
        assert (taken <= view.free[bid.node]).all()
        steps = np.diff(bid.node)
        assert (steps > 0).all()
        if bid.kind is not BidClass.C:
            assert (steps == 1).all()
            assert bid.num_nodesets == 1
        assert not ask.get("contiguous") or (steps == 1).all()


def test_a_range_ends_at_what_nodes_have():
    """1 to 20 GPUs where nodes have 2: 1 and 2 are bid for, and no eight steps up to 20."""
    view = gpu_view([(4, 2)] * 2, [{"units": 2, "gpus": 1, "most_gpus": 20}])
    (ask,), _ = requests_of(view.waiting, view.system.capacity.max(axis=0))
    assert ask.levels[:, 1].tolist() == [1, 2]
