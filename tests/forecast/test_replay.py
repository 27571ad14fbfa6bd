"""What is forecast along a log: by hand, and never by what comes later."""

import numpy as np
import pytest
from tiny import jobs, machine

from cpsched.forecast.prequential import PastForecast
from cpsched.forecast.replay import replay
from cpsched.forecast.start_forecast import StartForecast
from cpsched.forecast.trivial import by_plan
from cpsched.simulation.simulate import Settings, simulate
from cpsched.systems.mapping import fit

pytestmark = pytest.mark.slow


def past_forecast(planned, wait, handle=0):
    now = np.array([handle])
    raw = StartForecast(0, now, np.array([[planned]]), np.array([planned]))
    return PastForecast(handle=handle, raw=raw, starts=raw, start=wait)


def test_a_plan_is_moved_by_what_earlier_ones_were_off():
    """Jobs start, give or take a minute, in half of the planned wait or in all of it."""
    known = [past_forecast(2 * wait + 60, wait) for wait in (600, 1200, 2400) for _ in range(10)]
    assert by_plan(past_forecast(6060, 0), known[:19], 4) is None
    assert by_plan(past_forecast(6060, 0), known, 4).second[:, 0].tolist() == [3000] * 4
    mixed = (
        by_plan(past_forecast(6060, 0), known + [past_forecast(900, 900)] * 30, 4)
        .second[:, 0]
        .tolist()
    )
    assert mixed == [3000, 3000, 6060, 6060]


def test_what_comes_later_changes_no_forecast():
    """
    From a second on, jobs that have not ended run otherwise, and others come at other times.

    All four forecasters say the same of every job before it; of what comes later, none does.
    """
    rng = np.random.default_rng(2)
    submit = np.cumsum(rng.exponential(420, 220)).astype(int)
    runtime = np.exp(rng.normal(6.8, 1.2, 220)).astype(int) + 1
    units = rng.integers(1, 9, 220)
    users = [f"u{user}" for user in rng.integers(0, 6, 220)]

    def fitted(submit, units, runtime, asked):
        rows = zip(*(column.tolist() for column in (submit, units, runtime, asked)), strict=True)
        return fit(jobs(*rows, user=users), machine(*[(1,)] * 16))

    asked = 4 * runtime + 60
    log = fitted(submit, units, runtime, asked)
    schedule = simulate(log, dispatcher="easy").schedule
    now = int(submit[170])
    after = submit > now
    other = fitted(
        np.where(after, now + 2 * (submit - now), submit),
        np.where(after, 9 - units, units),
        np.where(schedule.end > now, asked, runtime),
        asked,
    )
    under = {"dispatcher": "easy", "predictor": "requested", "settings": Settings()}
    first, second = (
        replay(variant, forecasts=80, scenarios=2, **under) for variant in (log, other)
    )
    known = [at for at, job in enumerate(first.job) if submit[int(job)] <= now]
    assert 10 < len(known) < len(first.job)
    assert first.job[: len(known)] == second.job[: len(known)]
    changed = first.wait[: len(known)] != second.wait[: len(known)]
    assert changed.any()
    for name, waits in first.waits.items():
        assert (waits[: len(known)] == second.waits[name][: len(known)]).all()
        assert (waits[len(known) :][:9] != second.waits[name][len(known) :][:9]).any()
