"""Chances that a job ends within a minute, ten minutes, an hour; and a distribution to fit them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.api.predictors import HORIZONS, LEVELS, Prediction
from predictors.boosting import Growth, Task, grow
from predictors.bursts import BurstFeatures
from predictors.calibration import NEWEST, Calibration
from predictors.features import matrix
from predictors.gbm import Gbm
from predictors.history import LIMIT
from predictors.jobs_alike import distributions
from predictors.learned import Answers, Learned, OpenJob

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.api.model import AnyArray, FloatArray, IntArray, System
    from cpsched.api.tools import File
    from predictors.job_records import JobRecord
    from predictors.window import Window

_NUM = len(HORIZONS)
#: Where a job's scores are: logarithms of odds by the model and by jobs alike, chances, quantiles,
#: logarithm to rank by.
_ODDS, _ALIKE, _CHANCES = (slice(_NUM * part, _NUM * (part + 1)) for part in range(3))
_QUANTILES = slice(3 * _NUM, 3 * _NUM + len(LEVELS))
_RANK = 3 * _NUM + len(LEVELS)
#: Jobs alike are at most so sure.
_SURE = 0.01
#: Jobs that end between two corrections of the chances.
_EVERY = 200
#: How far one job moves a level, and how far the outer levels may go.
_STEP, _OUTER = 0.002, (0.01, 0.3)


class Classes(Learned):
    """
    Base of predictors whose models say how likely a job ends within each horizon.

    Subclasses' :meth:`score` gives the logarithms of the odds, shape ``(n, H)``. These are weighed
    against what jobs alike say, set right by what came of both before
    (:mod:`predictors.calibration`), and made a distribution.

    Notes
    -----
    The distribution is made of likely runtimes, of the same kind of job and of jobs like it
    (:class:`~predictors.jobs_alike.LikelyRuntimes`), weighted so that each range between two
    horizons is as likely as the chances say. The outer levels follow the jobs as they end, so
    that one in ten is below the lowest quantile and one in ten above the highest (Gibbs and
    Candes 2021, Adaptive conformal inference under distribution shift, eq. 2); levels between
    them move along.
    Without a model the likely runtimes speak alone.
    """

    num_scores = _RANK + 1
    make_features = BurstFeatures
    news = 0.1
    _features: BurstFeatures

    def reset(self, system: System, seed: int) -> None:
        """Forget everything, or go back to the model file."""
        self._calibration = Calibration(_NUM)
        self._calibrated_with = 0
        self._lowest, self._highest = LEVELS[0], LEVELS[-1]
        super().reset(system, seed)

    def running(self, now: int) -> tuple[AnyArray, IntArray]:
        """Return the features of the jobs that run, and for how many seconds each has."""
        running = [open_job for open_job in self._open.values() if open_job.start >= 0]
        rows = matrix([open_job.row for open_job in running], len(self.feature_names))
        return rows, now - np.array([open_job.start for open_job in running], dtype=np.int64)

    def on_submit(self, jobs: Any, now: int) -> None:
        """Set the chances right if enough jobs have ended, and go on."""
        if self._window.added - self._calibrated_with >= _EVERY:
            self._calibrate()
        super().on_submit(jobs, now)

    def _calibrate(self) -> None:
        window = self._window
        newest = window.newest(NEWEST)
        scores, requested = _both(window.scores[newest]), window.requested_time[newest]
        cut = np.minimum(window.runtime[newest], requested)[:, None]
        horizons = np.array(HORIZONS)
        # Of a job that asked for less there is nothing to tell.
        counts = np.isfinite(scores).all(axis=2) & (requested[:, None] > horizons)
        self._calibration.fit(scores, cut <= horizons, counts)
        self._calibrated_with = window.added

    def said_of(self, jobs: Sequence[JobRecord], rows: AnyArray) -> list[list[float]]:
        """Return odds, chances, quantiles and what to rank by; no odds without a model."""
        said = np.full((len(jobs), self.num_scores), np.nan)
        requested = np.array([job.requested_time for job in jobs], dtype=np.int64)
        likely = self._features.likely(jobs)
        asked = self._asked()
        quantiles, chances, typical = distributions(*likely, requested, None, asked)
        if self.ready:
            sure = np.minimum(np.maximum(chances, _SURE), 1 - _SURE)
            said[:, _ODDS], said[:, _ALIKE] = self.score(rows), np.log(sure / (1 - sure))
            chances = self._calibration.chances(_both(said))
            quantiles, chances, typical = distributions(*likely, requested, chances, asked)
        said[:, _CHANCES], said[:, _QUANTILES], said[:, _RANK] = chances, quantiles, np.log(typical)
        return said.tolist()

    def _asked(self) -> FloatArray:
        """Return which levels of the likely runtimes are taken for the levels."""
        levels = np.array(LEVELS)
        place = (levels - levels[0]) / (levels[-1] - levels[0])
        asked: FloatArray = self._lowest + place * (self._highest - self._lowest)
        return asked

    def answer(self, scores: Sequence[float]) -> Answers:
        """Return what to rank by; the rest is the requested time, whatever that is."""
        return Answers(scores[_RANK], float("inf"), float("inf"))

    def prediction(self, open_jobs: Sequence[OpenJob]) -> Prediction:
        """Return the answers with quantiles and chances."""
        scores = np.array([open_job.scores for open_job in open_jobs]).reshape(-1, self.num_scores)
        return (
            super()
            .prediction(open_jobs)
            ._replace(
                quantiles=scores[:, _QUANTILES].astype(np.int64),
                ends_within=scores[:, _CHANCES].copy(),
            )
        )

    def learn(self, open_job: OpenJob, runtime: int) -> None:
        """Move the outer levels, too."""
        super().learn(open_job, runtime)
        cut = max(min(runtime, open_job.job.requested_time), 1)
        lowest, *_, highest = open_job.scores[_QUANTILES]
        low, high = LEVELS[0], 1 - LEVELS[-1]
        self._lowest += _STEP * (low - (cut < lowest))
        self._highest -= _STEP * (high - (cut > highest))
        self._lowest = min(max(self._lowest, _OUTER[0]), _OUTER[1])
        self._highest = min(max(self._highest, 1 - _OUTER[1]), 1 - _OUTER[0])

    def state(self) -> Mapping[str, Any]:
        """Return everything learnt."""
        return {
            **super().state(),
            "lines": self._calibration.lines.copy(),
            "calibrated_with": self._calibrated_with,
            "levels": np.array([self._lowest, self._highest]),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        super().restore(state)
        self._calibration.restore(state["lines"])
        self._calibrated_with = int(state["calibrated_with"])
        self._lowest, self._highest = (float(level) for level in state["levels"])
        if not 0 < self._lowest < self._highest < 1:
            raise ValueError("its levels are none")


def _both(scores: FloatArray) -> FloatArray:
    """Return the odds of the model and of jobs alike, shape ``(n, H, 2)``."""
    return np.stack([scores[:, _ODDS], scores[:, _ALIKE]], axis=2)


class GbmClasses(Classes, Gbm):
    """
    Predicts the chances that a job ends within 60 s, 10 min and 1 h, by boosted trees.

    For orders and draws that need to know which jobs end soon. Carries a distribution that
    agrees with the chances; order is by the distribution, plan and bound are the requested time,
    since reservations of it hold.

    Parameters
    ----------
    model, frozen, refit, start, window, trees, prefix, limit
        As for :class:`~predictors.gbm.Gbm`.
    repredict
        Whether jobs that wait are predicted again when a job of their user has ended.

    Notes
    -----
    A forest for each horizon learns by log loss from the newest completions, and from jobs that
    still run: one that has run past a horizon has not ended within it, whenever it will end. Its
    features are those of the other forests and of :mod:`predictors.bursts`.
    """

    name = "gbm-classes"
    num_forests = _NUM

    def __init__(
        self,
        model: File | None = None,
        frozen: bool = False,
        refit: float = 7.0,
        start: int = 500,
        window: int = 30_000,
        trees: int = 40,
        prefix: str = "stem",
        limit: int = LIMIT,
        repredict: bool = False,
    ) -> None:
        self.repredicts = repredict
        super().__init__(model, frozen, refit, start, window, trees, prefix, limit)

    @property
    def growth(self) -> Growth:
        """Fewer trees that learn faster."""
        return Growth(trees=self._trees, rate=0.15, seed=self._seed)

    def fit(self, window: Window, now: int) -> None:
        """Grow a forest for each horizon, with jobs that still run."""
        running, elapsed = self.running(now)
        rows = np.concatenate([window.features, running])
        cut = np.minimum(window.runtime, window.requested_time)
        tasks = [
            Task(
                np.concatenate([cut <= horizon, np.zeros(len(running))]).astype(np.float64),
                chance=True,
                taught_by=np.concatenate([np.ones(len(cut), dtype=np.bool_), elapsed > horizon]),
            )
            for horizon in HORIZONS
        ]
        self.take(grow(rows, tasks, self.growth))
