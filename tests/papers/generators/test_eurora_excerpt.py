"""The generated year beside the real excerpt, class by class: what jobs of a class look like."""

from functools import cache

import numpy as np
import pytest

from cpsched import logs
from cpsched.papers.generators.eurora import EURORA, EuroraOptions

HOUR = 3600


@cache
def _both(shared):
    excerpt = logs.read(shared / "traces" / "eurora-2014.ext.csv.gz")
    return excerpt, EURORA.generate(EuroraOptions())


@pytest.fixture
def pair(shared):
    """The excerpt and the generated year."""
    return _both(shared)


def short(workload):
    return workload.runtime <= HOUR


def amount_of(workload, resource):
    return workload.request[:, workload.resources.index(resource)]


def used(workload):
    """Runtimes, cut at the requested time: in the excerpt killed jobs overran a little."""
    return np.minimum(workload.runtime, workload.requested_time)


def ratio(workload):
    return used(workload) / workload.requested_time


@pytest.mark.shared
@pytest.mark.parametrize(
    ("what", "measure", "tolerance"),
    [
        ("in debug", lambda w: np.isin(w.queue.decode(), ["debug"])[short(w)].mean(), 0.02),
        ("requested 30 min", lambda w: (w.requested_time == 1800)[short(w)].mean(), 0.05),
        ("one core a unit", lambda w: (amount_of(w, "core") == 1)[short(w)].mean(), 0.05),
        ("whole nodes", lambda w: (amount_of(w, "core") == 16)[short(w)].mean(), 0.03),
        ("with GPUs", lambda w: (amount_of(w, "gpu") > 0)[short(w)].mean(), 0.02),
        ("with MICs", lambda w: (amount_of(w, "mic") > 0)[short(w)].mean(), 0.01),
        ("several units", lambda w: (w.units > 1)[short(w)].mean(), 0.02),
        ("most units", lambda w: float(w.units.max()), 0.5),
        ("median run / requested, short", lambda w: np.median(ratio(w)[short(w)]), 0.03),
        ("median run / requested, long", lambda w: np.median(ratio(w)[~short(w)]), 0.15),
        ("at the limit, short", lambda w: (ratio(w) == 1)[short(w)].mean(), 0.02),
        ("at the limit, long", lambda w: (ratio(w) == 1)[~short(w)].mean(), 0.08),
        ("gap of a second or less", lambda w: (np.diff(w.submit) <= 1).mean(), 0.10),
    ],
)
def test_share_is_the_excerpts(pair, what, measure, tolerance):
    """Shares among jobs of up to an hour, or beyond, differ by less than the tolerance."""
    real, made = (measure(workload) for workload in pair)
    assert made == pytest.approx(real, abs=tolerance), f"{what}: {real:.3f} there, {made:.3f} here"


@pytest.mark.shared
@pytest.mark.parametrize(
    ("what", "measure", "factor"),
    [
        ("mean cores, short", lambda w: (w.units * amount_of(w, "core"))[short(w)].mean(), 1.15),
        ("mean runtime, short", lambda w: w.runtime[short(w)].mean(), 1.15),
        ("median runtime, short", lambda w: np.median(w.runtime[short(w)]), 1.4),
        ("mean runtime, long", lambda w: used(w)[~short(w)].mean(), 1.2),
        ("mean memory of a unit", lambda w: amount_of(w, "mem").mean(), 1.2),
    ],
)
def test_mean_is_the_excerpts(pair, what, measure, factor):
    real, made = (measure(workload) for workload in pair)
    assert real / factor < made < real * factor, f"{what}: {real:.1f} there, {made:.1f} here"
