"""Nodesets and windows along them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cpsched.papers.auction.bids import BidOffer, BidRequest
from cpsched.papers.auction.lines import Line, machine_lines

#: Figure 4.4 of Soner's thesis: free cores and generic resources of twelve nodes.
FIGURE_4_4 = [
    (4, 1), (8, 2), (2, 2), (4, 0), (0, 0), (4, 2), (1, 2), (2, 1), (2, 1), (2, 0), (0, 0), (4, 1),
]  # fmt: skip


def nodesets(free):
    """Return (first node, end, cores) of the nodesets at each level of the generic resource."""
    return [
        [
            (int(line.node[first]), int(line.node[end - 1]) + 1, int(line.fitting[first:end].sum()))
            for first, end in zip(line.begins, line.ends, strict=True)
        ]
        for line in machine_lines(np.array(free), [1])
    ]


def test_nodesets_of_figure_4_4_and_of_full_machines():
    # The figure counts nodes from 1 and names the last: (1, 4, 18, 0) is nodes [0, 4).
    assert nodesets(FIGURE_4_4) == [
        [(0, 4, 18), (5, 10, 11), (11, 12, 4)],
        [(0, 3, 14), (5, 9, 9), (11, 12, 4)],
        [(1, 3, 10), (5, 7, 5)],
    ]
    # GPUs alone make no nodeset.
    assert nodesets([[0, 2], [0, 1]]) == [[], [], []]
    assert nodesets([[0, 0]] * 3) == [[]]


def offer(line, units, nodes_min, nodes_max):
    """Return the offer of a line to a job."""
    request = BidRequest(
        units=units, nodes_min=nodes_min, nodes_max=nodes_max, even=False, contiguous=False,
        exclusive=False, eligible_class=0, unit_request=np.array([1]), levels=np.array([[0]]),
    )  # fmt: skip
    return BidOffer(request, request.levels[0], line)


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=9),
    st.integers(1, 12), st.integers(1, 3), st.integers(0, 3),
)  # fmt: skip
def test_windows_are_the_shortest_there_are(capacities, units, low, extra):
    """Forward and backward windows, against trying every one."""
    line = Line.of(np.array(capacities))
    count, high = len(line.node), low + extra
    windows = offer(line, units, low, high)

    def good(begin, end):
        held = int(line.fitting[begin:end].sum())
        return end <= count and low <= end - begin <= high and held >= units

    begin, end = windows.forward(np.arange(count, dtype=np.int64))
    ends = dict(zip(begin.tolist(), end.tolist(), strict=True))
    for start in range(count):
        wanted = next((stop for stop in range(start + 1, count + 1) if good(start, stop)), None)
        assert ends.get(start) == wanted
    begin, end = windows.backward(np.arange(1, count + 1, dtype=np.int64))
    starts = dict(zip(end.tolist(), begin.tolist(), strict=True))
    for stop in range(1, count + 1):
        wanted = next((start for start in range(stop - 1, -1, -1) if good(start, stop)), None)
        assert starts.get(stop) == wanted
