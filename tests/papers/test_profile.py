"""Free slots over time, against counting them second by second."""

from hypothesis import given
from hypothesis import strategies as st

from cpsched.papers.profile import Profile

_END = 60
SLOTS = st.integers(0, 5)
SPANS = st.tuples(st.integers(0, 20), st.integers(1, 20), st.integers(1, 3))


def test_a_gap_that_ends_with_a_reservation():
    """4 slots are free from 3 to 8, which is enough for 5 s."""
    profile = Profile(0, 2, [(3, 2)])
    profile.take(8, 10, 3)
    assert profile.earliest(4, 5) == 3
    assert profile.earliest(4, 6) == 18
    assert profile.earliest(5, 1) is None


@given(SLOTS, st.lists(st.tuples(st.integers(1, 20), SLOTS)), st.lists(SPANS), SPANS)
def test_the_same_as_second_by_second(idle, releases, taken, asked):
    profile = Profile(0, idle, releases)
    free = [idle + sum(slots for second, slots in releases if second <= now) for now in range(_END)]
    for start, seconds, slots in taken:
        profile.take(start, seconds, slots)
        free[start : start + seconds] = [level - slots for level in free[start : start + seconds]]
    start, seconds, slots = asked
    assert profile.least(start, seconds) == min(free[start : start + seconds])
    fits = [
        at
        for at in range(_END - seconds + 1)
        if all(level >= slots for level in free[at : at + seconds])
    ]
    assert profile.earliest(slots, seconds) == min(fits, default=None)
