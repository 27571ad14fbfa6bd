"""Slots kept from one decision to the next are those that a look at all nodes would find."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cpsched_papers.wla.slots import SlotList, cut, runs


def shown(slots: SlotList) -> list[tuple[int, int]]:
    first, end = slots.arrays()
    return list(zip(first.tolist(), end.tolist(), strict=True))


def rebuilt(free: np.ndarray) -> list[tuple[int, int]]:
    """Runs of free nodes, found one node at a time."""
    found: list[tuple[int, int]] = []
    for node, is_free in enumerate(free.tolist()):
        if is_free and found and found[-1][1] == node:
            found[-1] = (found[-1][0], node + 1)
        elif is_free:
            found.append((node, node + 1))
    return found


def update(slots: SlotList, drawn: str) -> int:
    """Take up a line drawn with a point for each free node."""
    return slots.update(np.array([node == "." for node in drawn]))


def test_a_slot_shrinks_splits_and_grows_together():
    slots = SlotList(10)
    assert shown(slots) == []
    assert update(slots, "..........") == 1
    assert shown(slots) == [(0, 10)]
    # A job takes part of the slot, the remaining part becomes a new one.
    assert update(slots, "###.......") == 1
    assert shown(slots) == [(3, 10)]
    assert update(slots, "###..##...") == 1
    assert shown(slots) == [(3, 5), (7, 10)]
    # What it gives back merges with both neighbours.
    assert update(slots, "###.......") == 1
    assert shown(slots) == [(3, 10)]
    # One job ends where another starts beside it.
    assert update(slots, "...###....") == 2
    assert shown(slots) == [(0, 3), (6, 10)]
    assert update(slots, "##########") == 2
    assert shown(slots) == []
    assert update(slots, "##########") == 0


@given(st.lists(st.lists(st.booleans(), min_size=12, max_size=12), max_size=12))
def test_the_list_is_what_a_look_at_all_nodes_finds(lines: list[list[bool]]):
    slots = SlotList(12)
    for line in lines:
        free = np.array(line)
        slots.update(free)
        assert shown(slots) == rebuilt(free)
        first, end = runs(free)
        assert list(zip(first.tolist(), end.tolist(), strict=True)) == rebuilt(free)


@given(st.lists(st.booleans(), min_size=12, max_size=12), st.lists(st.integers(0, 3), min_size=12, max_size=12))  # fmt: skip
def test_parts_are_of_one_sort(line: list[bool], sorts: list[int]):
    free, sort = np.array(line), np.array(sorts)
    begins = np.flatnonzero(np.diff(sort, prepend=-1))
    parts = [part for one in range(4) for part in rebuilt(free & (sort == one))]
    first, end = cut(*runs(free), begins)
    assert list(zip(first.tolist(), end.tolist(), strict=True)) == sorted(parts)
