"""Decisions for the constraint programming dispatchers, and what their plans are worth."""

import math
from dataclasses import replace
from fractions import Fraction

from exhaustive import placements
from hypothesis import strategies as st
from reference import held, planned, states, view_of

from cpsched.model import columns as c
from cpsched.util.spec import build

EXPECTED_WAITS = (1800, 3600, 21600)
VARIANTS = tuple(f"{kind}-{number}" for kind in ("cph", "cp") for number in range(4))
MINIMISES_SLOWDOWN = ("2", "3")


#: Ways in which a job restricts where its units go, and its units.
RESTRICTED = st.sampled_from(
    [
        {"even": True, "units": 4},
        {"even": True, "units": 3, "nodes_max": 2},
        {"contiguous": True, "units": 3},
        {"contiguous": True, "units": 2, "nodes_min": 2},
        {"exclusive": True},
        {"nodes_min": 2, "units": 2},
        {"nodes_min": 2, "units": 4},
        {"nodes_max": 1, "units": 2},
        {"per_node": (0, 1, 0)},
        {"per_node": (1, 0, 2), "units": 2},
        {},
        {},
    ]
)


#: Orders times placements that trying them all is given to do: a second at the very worst.
MOST_PLANS = 100_000


def _plans(state, waiting):
    places = (len({held(ask, takes, state.capacity) for takes in placements(state, ask)})
              for ask in waiting)  # fmt: skip
    return math.factorial(len(waiting)) * math.prod(places)


@st.composite
def decisions(draw, restricted=False, **limits):
    """Draw a state whose jobs can all run some day, and expected waits and waits for them."""
    state = draw(states(**limits))
    if restricted:
        waiting = tuple(replace(ask, **draw(RESTRICTED)) for ask in plain(state).waiting)
        state = replace(state, waiting=waiting)
    placeable = [ask for ask in state.waiting if placements(state, ask)][:6]
    while _plans(state, placeable) > MOST_PLANS:
        placeable.pop()
    state = replace(state, waiting=tuple(placeable))
    num = len(placeable)
    waits = draw(st.lists(st.sampled_from(EXPECTED_WAITS), min_size=num, max_size=num))
    submits = draw(st.lists(st.integers(-9, state.now), min_size=num, max_size=num))
    return state, waits, sorted(submits)


def view_with(state, waits, submits):
    """Return the view of a state whose jobs have expected waits and have waited."""
    view = view_of(state)
    columns = view.waiting.store.writable
    columns[: len(waits), c.EXPECTED_WAIT] = waits
    columns[: len(waits), c.SUBMIT] = submits
    return view


def weights_of(state, waits, name):
    """Return the objective's weights as it states them."""
    if name.endswith(MINIMISES_SLOWDOWN):
        return [Fraction(1, max(ask.duration, 1)) for ask in state.waiting]
    return [Fraction(max(EXPECTED_WAITS), wait) for wait in waits]


def dispatcher_for(spec, view):
    """Return a dispatcher that is ready to decide."""
    dispatcher = build("dispatchers", spec)
    dispatcher.reset(view.system, 0)
    return dispatcher


def planned_starts(decision, state):
    """Return the starts of a decision's plan: later ones as planned, all others now."""
    later = planned(decision)
    return [later.get(job, state.now) - state.now for job in range(len(state.waiting))]


def plain(state):
    """Return a state whose jobs ask for units and nothing else."""
    waiting = [
        replace(ask, per_node=(0, 0, 0), nodes_min=1, nodes_max=2**31 - 1, even=False,
                contiguous=False, exclusive=False)
        for ask in state.waiting
    ]  # fmt: skip
    return replace(state, waiting=tuple(waiting))


def value_of(starts, weights):
    return sum((w * s for w, s in zip(weights, starts, strict=True)), Fraction(0))
