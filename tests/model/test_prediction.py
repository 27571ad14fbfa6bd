"""What predictions may carry besides three runtimes: quantiles, and chances to end soon."""

import numpy as np
import pytest
from tiny import machine

from cpsched.checks.predictor_tools import sample
from cpsched.engine.cluster import Cluster
from cpsched.engine.encoder import Request
from cpsched.errors import ConfigError, DispatchError
from cpsched.model.prediction import HORIZONS, LEVELS, Prediction, RuntimePredictor
from cpsched.simulation import checkpoint
from cpsched.simulation.simulate import simulate
from cpsched.simulation.simulator import Simulator
from cpsched.util.spec import build

QUANTILES = np.array([[10, 20, 30, 40, 50, 60, 70, 80, 90]])
CHANCES = np.array([[0.3, 0.5, 0.75]])
UNKNOWN = [-1] * len(LEVELS)


class Likely(RuntimePredictor):
    """Knows a distribution of every other job, that of its request."""

    name = "likely"

    def predict(self, jobs, now):
        requested = jobs.requested_time
        quantiles = (requested[:, None] * np.array(LEVELS)).astype(np.int64)
        chances = np.minimum(np.array(HORIZONS) / np.maximum(requested, 1)[:, None], 1.0)
        odd = jobs.handle % 2 == 1
        quantiles[odd], chances[odd] = -1, np.nan
        return Prediction(requested, requested, requested, quantiles, chances)


class Says(RuntimePredictor):
    """Answers so, whatever it is asked about."""

    name = "says"

    def __init__(self, quantiles=None, ends_within=None, clipped=True):
        self.parts, self.clipped = (quantiles, ends_within), clipped

    def predict(self, jobs, now):
        return Prediction(*[jobs.requested_time] * 3, *self.parts)


def _request(requested_time=100, units=1):
    return Request(requested_time=requested_time, units=units)


def test_dispatchers_see_what_a_predictor_knows():
    """Row by row in the tables of the view, waiting or running; nothing where nothing is known."""
    cluster = Cluster(machine((2,)), "fifo", Likely())
    for _ in range(3):
        cluster.submit(_request(), 0)
    cluster.start(cluster.decide(0).actions, 0)
    view = cluster.view(0)
    wanted = [[10, 20, 30, 40, 50, 60, 70, 80, 90], UNKNOWN]
    assert view.running.runtime_quantiles.tolist() == wanted
    assert view.waiting.runtime_quantiles.tolist() == wanted[:1]
    assert view.waiting.ends_within.tolist() == [[0.6, 1.0, 1.0]]
    assert np.isnan(view.running.ends_within[1]).all()
    assert view.running[0].runtime_quantiles.tolist() == wanted[0]
    assert not view.waiting.store.quantiles.flags.writeable
    assert not view.waiting.store.ends_within.flags.writeable


def test_there_are_none_where_no_predictor_gives_any():
    """Then a store has no room for them."""
    cluster = Cluster(machine((2,)), "fifo")
    cluster.submit(_request(), 0)
    waiting = cluster.view(0).waiting
    assert waiting.runtime_quantiles is None
    assert waiting.ends_within is None
    assert waiting[0].ends_within is None


def test_they_grow_with_the_store():
    """What was known of a job is still known when the store has grown around it."""
    cluster = Cluster(machine((2,)), "fifo", Likely())
    for number in range(3000):
        cluster.submit(_request(requested_time=number + 10), 0)
    quantiles = cluster.view(0).waiting.runtime_quantiles
    assert len(cluster.machine.store.quantiles) == len(cluster.machine.store.columns)
    assert quantiles[::2, 4].tolist() == [(number + 10) // 2 for number in range(0, 3000, 2)]
    assert (quantiles[1::2] == -1).all()


def test_they_are_cut_at_the_request():
    """A job ends by its requested time, so quantiles and chances agree with that."""
    cluster = Cluster(machine((2,)), "fifo", Says(np.maximum(QUANTILES * 10 - 150, 0), CHANCES))
    cluster.submit(_request(requested_time=600), 0)
    waiting = cluster.view(0).waiting
    assert waiting.runtime_quantiles.tolist() == [[1, 50, 150, 250, 350, 450, 550, 600, 600]]
    assert waiting.ends_within.tolist() == [[0.3, 1.0, 1.0]]


@pytest.mark.parametrize(
    ("prediction", "message"),
    [
        ((QUANTILES * 1.0,), "with float64 for quantiles, must be an array of int64"),
        (([1] * 9,), "with list for quantiles, must be an array of int64"),
        ((QUANTILES[0],), r"with shape \(9,\) for quantiles, must be \(1, 9\)"),
        ((QUANTILES[:, ::-1],), r"with quantiles \[90, .*\], must be from 0 to"),
        ((QUANTILES * 10**12,), r"with quantiles \[10000000000000, .* and not decrease along"),
        ((QUANTILES - 20,), r"with quantiles \[-10, 0, .*\], must be from 0 to"),
        ((None, CHANCES > 0), "with bool for ends_within, must be an array of float64"),
        ((None, CHANCES[:, :2]), r"with shape \(1, 2\) for ends_within, must be \(1, 3\)"),
        ((None, CHANCES * 2), r"with ends_within \[0.6, 1.0, 1.5\], must be from 0 to 1"),
        (
            (None, CHANCES[:, ::-1]),
            "with .* must be from 0 to 1 and not decrease along the horizons",
        ),
        (
            (None, np.array([[0.1, np.nan, 0.2]])),
            r"with ends_within \[0.1, nan, 0.2\], must be from 0 to 1",
        ),
    ],
)
@pytest.mark.parametrize("clipped", [True, False])
def test_what_is_no_distribution_is_an_error(prediction, message, clipped):
    """It says which predictor, what it answers, and what would be right; on one line."""
    cluster = Cluster(machine((2,)), "fifo", Says(*prediction, clipped=clipped))
    with pytest.raises(
        DispatchError, match=rf"Says\.predict: predictor 'says' answers {message}"
    ) as raised:
        cluster.submit(_request(), 0)
    assert "\n" not in str(raised.value)


def test_others_may_know_them():
    """Code that embeds a cluster hands them over with the three runtimes, both or one."""
    cluster = Cluster(machine((2,)), "fifo")
    cluster.submit(_request(), 0, predicted=(5, 6, 7))
    cluster.submit(_request(), 0, predicted=(5, 6, 7, range(9)))
    cluster.submit(_request(), 0, predicted=(5, 6, 7, None, (0.25, 0.5, 1)))
    waiting = cluster.view(0).waiting
    assert waiting.runtime_quantiles.tolist() == [UNKNOWN, list(range(9)), UNKNOWN]
    assert np.isnan(waiting.ends_within[:2]).all()
    assert waiting.ends_within[2].tolist() == [0.25, 0.5, 1.0]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ((7,), "must be three whole"),
        ((range(8),), r"with shape \(1, 8\) for quantiles, must be \(1, 9\), must be three"),
        ((range(9, 0, -1),), "not decrease along the levels, must be three"),
        (([0.5] * 9,), "must be three whole"),
        ((None, [0.5, 0.1, 1]), "not decrease along the horizons, must be three"),
        ((None, None, None), "must be three whole"),
    ],
)
def test_what_others_know_is_checked(more, message):
    """Otherwise it is one line, and there is no job."""
    cluster = Cluster(machine((2,)), "fifo")
    with pytest.raises(ConfigError, match=f"Cluster.submit: predicted: is .*{message}"):
        cluster.submit(_request(), 0, predicted=(1, 2, 3, *more))
    assert len(cluster.view(0).waiting) == 0


def test_what_reservations_are_made_of_shows_them_too():
    """A dispatcher that plans with another view of the jobs finds them there."""
    from cpsched.dispatch.shadow import ReservationView

    cluster = Cluster(machine((2,)), "fifo")
    cluster.submit(_request(), 0, predicted=(5, 6, 7, range(9), (0.25, 0.5, 1)))
    shown = ReservationView("upper").view(cluster.view(0))
    assert shown.waiting.runtime_estimate.tolist() == [7]
    assert shown.waiting.runtime_quantiles.tolist() == [list(range(9))]
    assert shown.waiting.ends_within.tolist() == [[0.25, 0.5, 1.0]]


def test_a_killed_simulation_knows_them_again(tmp_path):
    """They are part of a checkpoint."""
    fitted = sample(150)

    def simulator():
        return Simulator(fitted, build("dispatchers", "easy"), Likely())

    uninterrupted, cut, again = simulator(), simulator(), simulator()
    uninterrupted.run()
    cut.run(until=int(fitted.workload.submit[70]))
    checkpoint.write(tmp_path / "state.npz", "me", cut.state())
    saved = checkpoint.read(tmp_path / "state.npz", "me")
    again.restore(saved)
    again.run()
    for name in ("quantiles", "ends_within"):
        wanted, restored = (
            getattr(simulation.machine.store, name) for simulation in (uninterrupted, again)
        )
        num = uninterrupted.machine.store.size
        assert np.array_equal(wanted[:num], restored[:num], equal_nan=True)


def test_schedules_do_not_depend_on_them():
    """Dispatchers that go by the runtimes give the same schedule with and without."""
    fitted = sample(150)
    with_them, without = (
        simulate(fitted, dispatcher="easy", predictor=predictor).schedule.start.tolist()
        for predictor in (Likely(), "requested")
    )
    assert with_them == without
