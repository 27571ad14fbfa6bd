"""What is said of forecasters: by hand."""

import numpy as np

from cpsched.forecast.evaluation import as_data, score_forecasters, text
from cpsched.forecast.replay import TRIVIAL, ForecastReplay


def test_the_best_trivial_forecaster_is_what_all_are_compared_with():
    """Waits of 100 s: ours says so with a spread, one is off by 50 s, the others by an hour."""
    num = 100

    def always(*waits):
        return np.tile(np.array(waits, dtype=float), (num, 1))

    names = list(TRIVIAL)
    waits_of = {"cpsched forecast": always(90, 110), names[0]: always(150, 150)}
    waits_of |= {name: always(3700, 3700) for name in names[1:]}
    replayed = ForecastReplay(
        job=["1"] * num, wait=np.full(num, 100.0), waits=waits_of, considered=300, waited=200, unknown=1, early=2
    )  # fmt: skip
    ours, near, far, _ = score_forecasters(replayed, 0)
    assert (ours.forecasts, ours.coverage, ours.width_s) == (100, 1, 20)
    assert (near.coverage, near.width_s) == (0, 0)
    # 20 s wide; 50 s beside costs 500. By CRPS 10 - 20 / 4, and 50.
    assert (ours.interval_score.mean_s, ours.interval_score.ratio) == (20, 20 / 500)
    assert (ours.crps.mean_s, ours.crps.ratio) == (5, 5 / 50)
    assert ours.crps.best == names[0]
    assert near.crps.ratio == 1
    assert far.crps.interval == (72, 72)
    shown = " ".join(text(replayed, [ours, near, far], 100).split())
    assert "CRPS: ×0.10, better than the best simple baseline" in shown
    assert "200 of 300 jobs had to wait" in shown
    assert "1 forecast of jobs that never started and 2 forecasts made before every" in shown
    assert as_data(replayed, [ours])["left_out"] == {"never_started": 1, "too_early": 2}
