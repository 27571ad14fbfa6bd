"""Reservations by what runtimes hardly exceed, on schedules worked out by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import Plans
from tiny import jobs, machine, machines, run, starts, workloads

from cpsched.dispatch.contract import Dispatcher
from cpsched.model import columns as c
from cpsched.model.prediction import Prediction, RuntimePredictor
from cpsched.simulation.observers import Observer
from cpsched.systems.mapping import fit
from cpsched.util.spec import build

pytestmark = pytest.mark.slow

BOTH = ("easy", "conservative")


class Foretold(RuntimePredictor):
    """Says what it was told to, as (plan, bound) of each job."""

    name = "foretold"

    def __init__(self, *pairs):
        self.pairs = np.array(pairs, dtype=np.int64)

    def predict(self, jobs, now):
        plan, bound = self.pairs[jobs.handle].T
        return Prediction(plan, plan, bound)


# A on 2 of 4 cores until 10, as planned; it hardly runs beyond 14. B needs all four. C is planned
# for 5 s and may take 11: it takes 10.
A_B_C = jobs((0, 2, 10, 20), (1, 4, 4, 20), (3, 1, 10, 20))
SAID = Foretold((10, 14), (4, 4), (5, 11))


#: The same, but that C may take 12.
LATER = Foretold((10, 14), (4, 4), (5, 12))


@pytest.mark.parametrize(
    ("dispatcher", "predictor", "expected"),
    [
        # The shadow time is 10, and by its plan C has ended at 8. It runs until 13, and B waits.
        *((name, predictor, [0, 13, 3]) for name in BOTH for predictor in (SAID, LATER)),
        # The shadow time is 14, and by its bound C has ended at 3 + 11 = 14, just in time. B starts
        # at 13, too, but that is before the 14 it was promised.
        *((f"{name}:estimate=upper", SAID, [0, 13, 3]) for name in BOTH),
        # C may still run at the shadow time, 3 + 12 is after A's 14: it waits, and B starts as A
        # ends.
        *((f"{name}:estimate=upper", LATER, [0, 10, 14]) for name in BOTH),
    ],
)
def test_whether_the_head_is_delayed(dispatcher, predictor, expected):
    """By plans that are too short it may be, by bounds that hold it is not."""
    assert starts(A_B_C, machine((4,)), dispatcher, predictor) == expected


@pytest.mark.parametrize("dispatcher", BOTH)
def test_a_running_job_beyond_its_bound_is_expected_to_its_request(dispatcher):
    """
    A runs 18 of 20 requested seconds; its plan is 5 and its bound 10. B arrives at 1.

    By the plan B is promised 5, and from 5 on 20. By the bound it is promised 10, and 20 from then
    on. Jobs of one second, which start at once, make decisions at 2, 6 and 12.
    """
    workload = jobs((0, 3, 18, 20), (1, 4, 4, 20), (2, 1, 1, 1), (6, 1, 1, 1), (12, 1, 1, 1))
    predictor = Foretold((5, 10), (4, 4), (1, 1), (1, 1), (1, 1))
    for estimate, expected in (
        ("predicted", {2: 5, 6: 20, 12: 20}),
        ("upper", {2: 10, 6: 10, 12: 20}),
    ):
        noted = Plans()
        result = run(
            workload, machine((4,)), f"{dispatcher}:estimate={estimate}", predictor, [noted]
        )
        assert result.schedule.start.tolist() == [0, 18, 2, 6, 12]
        assert expected.items() <= dict(noted.of(1)).items()


def test_running_jobs_are_taken_in_the_order_of_their_bounds():
    """
    A and B hold two cores each, C waits for two. By plan A ends first, at 4; by bound B, at 7.
    """
    workload = jobs((0, 2, 4, 9), (0, 2, 6, 9), (1, 2, 3, 9))
    predictor = Foretold((4, 9), (6, 7), (3, 3))
    for estimate, promised in (("predicted", 4), ("upper", 7)):
        noted = Plans()
        run(workload, machine((4,)), f"easy:estimate={estimate}", predictor, [noted])
        assert noted.of(2)[0] == (1, promised)


@pytest.mark.parametrize(
    "dispatcher",
    [
        "easy:order=slowdown,allocator=balanced",
        "easy:backfill=sjf,allocator=best-fit",
        "conservative:depth=2,order=slowdown",
    ],
)
@given(machines(), st.data())
@settings(max_examples=25)
def test_what_is_the_same_is_reserved_in_the_same_way(dispatcher, system, data):
    """The bound where it is the plan, and the request where the bound or the plan is that."""
    workload = data.draw(workloads())
    fitted = fit(workload, system)
    # Handles count the jobs that fit the machine.
    workload = workload.take(
        np.delete(np.arange(len(workload)), [row for row, _ in fitted.rejected])
    )
    request = workload.requested_time.tolist()
    predicted = data.draw(
        st.lists(st.integers(1, 25), min_size=len(request), max_size=len(request))
    )
    for pair, (plan, bound) in (
        (("predicted", "upper"), (predicted, predicted)),
        (("requested", "upper"), (predicted, request)),
        (("requested", "predicted"), (request, request)),
    ):
        outcomes = []
        for estimate in pair:
            predictor = Foretold(*zip(plan, bound, strict=True))
            schedule = run(
                workload, system, f"{dispatcher},estimate={estimate}", predictor
            ).schedule
            outcomes.append([schedule.start.tolist(), schedule.segments.node.tolist()])
        assert outcomes[0] == outcomes[1]


# As above, but whatever reservations are made of, C has ended by then.
IN_TIME = jobs((0, 2, 10, 20), (1, 4, 4, 20), (3, 1, 10, 17))


@pytest.mark.parametrize(
    ("options", "promised"),
    [("", 10), (",estimate=predicted", 10), (",estimate=upper", 14), (",estimate=requested", 20)],
)
def test_what_reservations_of_easy_by_wsept_are_made_of(options, promised):
    """B is held for until A has ended: by plan at 10, by its bound at 14, by its request at 20."""
    noted = Plans()
    run(IN_TIME, machine((4,)), f"easy:order=wsept{options}", SAID, [noted])
    assert dict(noted.of(1))[3] == promised


def test_the_view_is_left_as_it_is():
    """Nothing is written to the store of the view, nor to the order of what runs."""

    class Unchanged(Observer):
        def on_decision(self, view, decision, seconds):
            columns = view.waiting.store.columns
            ends = columns[view.running.rows, c.EXPECTED_END].tolist()
            assert ends == sorted(ends)
            assert set(view.running.runtime_estimate.tolist()) <= {10, 5, 4}

    run(A_B_C, machine((4,)), "easy:estimate=upper", SAID, [Unchanged()])


class Forgetful(Dispatcher):
    """Asks another dispatcher, made anew from its state for every decision."""

    name = "forgetful"
    acts_when_idle = True

    def __init__(self, spec):
        self.spec, self.saved = spec, None

    def reset(self, system, seed):
        self.system, self.seed = system, seed
        self.saved = None

    def decide(self, view):
        fresh = build("dispatchers", self.spec)
        fresh.reset(self.system, self.seed)
        if self.saved is not None:
            fresh.restore(self.saved)
        decision = fresh.decide(view)
        self.saved = fresh.state()
        return decision


@pytest.mark.parametrize(
    "dispatcher", ["easy:estimate=upper", "lookahead", "easy:order=wsept,estimate=upper"]
)
@given(machines(), st.data())
@settings(max_examples=25)
def test_what_is_kept_besides_the_state_changes_none(dispatcher, system, data):
    """They look at a view and at its twin by turns."""
    workload = data.draw(workloads())
    pair = st.tuples(st.integers(1, 20), st.integers(0, 10))
    intervals = data.draw(st.lists(pair, min_size=len(workload), max_size=len(workload)))
    foretold = Foretold(*((plan, plan + more) for plan, more in intervals))
    outcomes = []
    for asked in (build("dispatchers", dispatcher), Forgetful(dispatcher)):
        schedule = run(workload, system, asked, foretold).schedule
        outcomes.append([schedule.start.tolist(), schedule.segments.node.tolist()])
    assert outcomes[0] == outcomes[1]


def test_a_prediction_above_the_request_is_what_is_reserved():
    """As true runtimes are where jobs are not killed: here A is known to run 30 s of 20."""

    class Above(Foretold):
        clipped = False

    noted = Plans()
    predictor = Above((30, 30), (4, 4), (5, 5))
    run(IN_TIME, machine((4,)), "easy-wsept", predictor, [noted])
    assert dict(noted.of(1))[3] == 30
