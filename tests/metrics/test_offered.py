"""Offered load, worked out by hand."""

import numpy as np
import pytest
from tiny import jobs, machine, run

from cpsched.metrics.offered import offered_load
from cpsched.util.types import MISSING


def load_of(log, system, dispatcher="easy", **settings):
    return offered_load(run(log, system, dispatcher, **settings).schedule)


def test_a_job_after_the_other_is_a_load_of_one():
    """Not ten jobs in nine gaps."""
    log = jobs(*[(100 * at, 1, 100) for at in range(10)])
    assert load_of(log, machine((1,))) == {
        "window_s": [0, 900], "load": {"core": 1.0}, "most_loaded": "core",
    }  # fmt: skip


@pytest.mark.parametrize("factor", [0.5, 1.0, 1.5])
def test_long_logs_leave_out_warm_up_and_stragglers(factor):
    """A job long after the others, and one of a year, change nothing."""
    rows = [(100 * at, 2, round(100 * factor)) for at in range(1000)]
    rows += [(10_000_000, 1, 365 * 86400)]
    load = load_of(jobs(*rows), machine((2,)), "fifo")
    assert load["load"]["core"] == pytest.approx(factor)


def test_the_end_of_the_last_job_does_not_matter():
    short, long = (jobs((0, 1, 50), (100, 1, last)) for last in (1, 10**6))
    assert load_of(short, machine((1,))) == load_of(long, machine((1,)))
    assert load_of(short, machine((1,)))["load"] == {"core": 0.5}


def test_the_most_loaded_resource_is_named():
    """A core and a GPU for 60 s of 100, of ten cores and one GPU."""
    request = np.array([[1, 1], [1, 0]])
    log = jobs((0, 1, 60), (100, 1, 1), resources=("core", "gpu"), request=request)
    load = load_of(log, machine((10, 1), resources=("core", "gpu")))
    assert load["load"] == {"core": pytest.approx(0.06), "gpu": pytest.approx(0.6)}
    assert load["most_loaded"] == "gpu"


def test_a_job_alone_on_its_node_offers_the_node():
    log = jobs((0, 1, 50), (100, 1, 1), exclusive=np.array([True, False]))
    assert load_of(log, machine((4,), (4,)))["load"] == {"core": pytest.approx(200 / 800)}


def test_work_that_is_cut_at_the_requested_time_is_not_offered():
    log = jobs((0, 1, 80, 40), (100, 1, 1))
    assert load_of(log, machine((1,)))["load"] == {"core": pytest.approx(0.4)}
    extended = load_of(log, machine((1,)), overrun="extend")
    assert extended["load"] == {"core": pytest.approx(0.8)}


def test_jobs_that_end_without_a_start_offer_nothing():
    """One is cancelled while the first runs, one is too wide."""
    cancel = np.array([MISSING, 60, MISSING, MISSING])
    log = jobs((0, 1, 1000), (10, 1, 50), (20, 9, 50), (100, 1, 5), cancel=cancel)
    assert load_of(log, machine((1,)))["load"] == {"core": pytest.approx(10)}


def test_jobs_of_one_second_have_no_load():
    nothing = {"window_s": None, "load": {"core": None}, "most_loaded": None}
    assert load_of(jobs((5, 1, 10), (5, 1, 10)), machine((1,))) == nothing
    assert load_of(jobs((5, 9, 10)), machine((1,))) == nothing
    assert load_of(jobs(), machine((1,))) == nothing
