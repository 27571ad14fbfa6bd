"""The dispatcher: the paper's example, who is held, the age limit, machines that are not plain."""

from __future__ import annotations

from typing import Any

import pytest
from tiny import jobs, machine, run

from cpsched.checks import CHECKS
from cpsched.simulation.observers import Observer
from cpsched.spec import build

#: Nodes 4, 5 and 12, 13, 14 of the paper's twenty are busy.
BUSY = ((4, 5), (12, 13, 14))


class Nodes(Observer):
    """Which nodes each job starts on, numbered from 1 as in the paper, in the order of starts."""

    def __init__(self) -> None:
        self.of: dict[int, list[int]] = {}
        self.at: dict[int, int] = {}

    def on_start(self, job: int, allocation: Any, now: int) -> None:
        self.of[job] = (allocation.node + 1).tolist()
        self.at[job] = now


def whole_nodes(*rows: tuple[int, ...], **columns: Any) -> Any:
    """Jobs of whole nodes of one core."""
    return jobs(*rows, **columns)


def figure_4(dispatcher: str) -> Nodes:
    """Sections III.C: five jobs on twenty nodes, of which three runs are free."""
    # Fillers run on every node, those on the nodes that are free in the example for 10 s.
    free = [(1, 2, 3), (6, 7, 8, 9, 10, 11), (15, 16, 17, 18, 19, 20)]
    order = [free[0], BUSY[0], free[1], BUSY[1], free[2]]
    fillers = [(0, len(nodes), 1000 if nodes in BUSY else 60, 1000) for nodes in order]
    window = [(30, size, 100, 100) for size in (6, 4, 3, 1, 2)]
    nodes = Nodes()
    run(whole_nodes(*fillers, *window), machine(*[(1,)] * 20), dispatcher, observers=[nodes],
        dispatch_interval=30)  # fmt: skip
    for filler, expected in enumerate(order):
        assert nodes.of.pop(filler) == list(expected)
    return nodes


def test_the_default_fragments_the_example():
    """Subfigure A of figure 4: A and B in two pieces, node 20 idle, E waits."""
    nodes = figure_4("easy")
    assert list(nodes.of.values())[:4] == [
        [1, 2, 3, 6, 7, 8],
        [9, 10, 11, 15],
        [16, 17, 18],
        [19],
    ]
    assert [nodes.at[job] for job in range(5, 10)] == [60, 60, 60, 60, 180]


@pytest.mark.parametrize("solver", ["branch-and-bound", "greedy", "cp-sat"])
def test_the_example_is_packed(solver: str):
    """Subfigure B: C, A, B, E on neighbouring nodes, node 20 used; D waits."""
    nodes = figure_4(f"wla:solver={solver}")
    assert list(nodes.of.items())[:4] == [
        (7, [1, 2, 3]),
        (5, [6, 7, 8, 9, 10, 11]),
        (6, [15, 16, 17, 18]),
        (9, [19, 20]),
    ]
    assert [nodes.at[job] for job in range(5, 10)] == [60, 60, 60, 180, 60]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "spec", ["wla", "wla:held=aside,interval=none,solver=greedy", "wla:age_limit=600,interval=none"]
)
def test_what_every_dispatcher_keeps(spec: str, check: Any):
    check(lambda: build("dispatchers", spec))
