"""What learned predictors share: features kept until a job ends, refits, the cold start."""

from __future__ import annotations

import json
from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched.errors import ConfigError
from cpsched.model.types import Status
from cpsched.prediction import Outcome, Prediction, RuntimePredictor
from predictors import model_file
from predictors.coverage import Coverage
from predictors.features import CANDIDATES, FEATURES, Features, matrix
from predictors.history import LIMIT
from predictors.known import Known
from predictors.recent import frozen as as_key
from predictors.window import Window

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.jobtable import JobTable
    from cpsched.model.system import System
    from cpsched.model.types import AnyArray, FloatArray

_DAY = 86_400
_COMPLETED = int(Status.COMPLETED)
#: Share of the runtimes that the bound is to hold.
BOUND = 0.9
_PLUS = CANDIDATES[7]
#: A new model is worth its cost when so many jobs have ended since the last, as a share of them.
_NEWS = 0.02


class Answers(NamedTuple):
    """Natural logarithms of predicted runtimes, each of shape ``(n,)``."""

    priority: FloatArray
    plan: FloatArray
    bound: FloatArray


@dataclass(slots=True)
class Flight:
    """
    A job between its submit and its end.

    Attributes
    ----------
    job
        As it was submitted.
    row, scores
        Its features, and what the models said of it; shapes ``(F,)`` and ``(S,)``.
    start
        Second, -1 while it waits.
    """

    job: Known
    row: AnyArray
    scores: FloatArray
    start: int = -1


class Learned(RuntimePredictor):
    """
    Base of predictors that learn from features.

    Subclasses say how to fit, and what models and rules together answer. Before ``start``
    completions the answer is that of ``user-history-plus``.

    Parameters
    ----------
    model
        File of ``cpsched train`` to start from.
    frozen
        Whether the model stays as it is in the file; histories and bounds go on.
    refit
        Days of simulated time after which a new model is fitted. One is also fitted whenever the
        number of completions has doubled.
    start
        Completions before the first fit.
    window
        Newest completions that models are fitted to.
    prefix, limit
        As for ``user-history-plus``.
    """

    #: Columns of what models say of a job at submit.
    num_scores = 1
    #: Which of them the bound is counted from, and the share of jobs it lies above at first.
    bound_score = 0
    #: Offset of the bound before any job has ended.
    first_offset = 0.7

    def __init__(
        self,
        model: str | None = None,
        frozen: bool = False,
        refit: float = 7.0,
        start: int = 500,
        window: int = 50_000,
        prefix: str = "stem",
        limit: int = LIMIT,
    ) -> None:
        if not 1 <= start <= window:
            raise ValueError(f"start is {start}, must be from 1 to window, which is {window}")
        if not refit > 0:
            raise ValueError(f"refit is {refit} days, must be more than 0")
        if frozen and model is None:
            raise ValueError("frozen needs a model to stay with")
        self._frozen, self._refit, self._start = frozen, int(refit * _DAY), start
        self._features = Features(prefix, limit)
        self._window = Window(window, len(FEATURES), self.num_scores)
        self._bound = Coverage(BOUND, self.first_offset)
        self._flights: dict[int, Flight] = {}
        self._counts = dict.fromkeys(self.counted(), 0)
        self._fitted_at, self._fitted_with = 0, 0
        self._seed = 0
        self._warm = None if model is None else model_file.read(Path(model), self.name)

    def counted(self) -> tuple[str, ...]:
        """Return the names of the counts in :meth:`stats`."""
        return ("refits", "answered by history", "answered by the model")

    @property
    @abstractmethod
    def ready(self) -> bool:
        """Whether there is a model."""

    @abstractmethod
    def fit(self, window: Window) -> None:
        """Fit the models to the newest completions."""

    @abstractmethod
    def score(self, rows: AnyArray) -> FloatArray:
        """Return what the models say of rows of features, shape ``(n, S)``; there is a model."""

    @abstractmethod
    def answer(self, rows: AnyArray, scores: FloatArray) -> Answers:
        """Return the three answers for jobs with features and scores."""

    @abstractmethod
    def forget(self) -> None:
        """Forget the models."""

    @abstractmethod
    def models(self) -> dict[str, Any]:
        """Return the models for :meth:`state`."""

    @abstractmethod
    def restore_models(self, state: Mapping[str, Any]) -> None:
        """Take up the models; raise ValueError if they are none."""

    def reset(self, system: System, seed: int) -> None:
        """Forget everything, or go back to the model file."""
        self._seed = seed
        self._features.reset(system)
        self._window.clear()
        self._bound.reset()
        self._flights = {}
        self._counts = dict.fromkeys(self.counted(), 0)
        self._fitted_at, self._fitted_with = 0, 0
        self.forget()
        if self._warm is not None:
            self._start_from(self._warm)

    def _start_from(self, warm: model_file.Model) -> None:
        """Begin with what a file holds; its seconds count from elsewhere."""
        try:
            self.restore(warm.state)
        except (KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
            raise ConfigError(f"does not fit this predictor: {error}", where=warm.path) from error
        self._flights = {}
        self._counts = dict.fromkeys(self.counted(), 0)
        self._features.forget_times()
        self._fitted_at, self._fitted_with = 0, self._window.added

    def on_submit(self, jobs: JobTable, now: int) -> None:
        """Fit anew if it is time, and keep the features of the jobs until they end."""
        if self._is_due(now):
            self.refit(now)
        features = self._features
        rows, fresh = [], []
        for job in features.read(jobs):
            if job.handle not in self._flights:
                rows.append(features.row(job, now))
                fresh.append(job)
                features.submitted(job, now)
        if fresh:
            built = matrix(rows)
            scores = self._scores(built)
            for job, row, said in zip(fresh, built, scores, strict=True):
                # Copies, so that one job does not keep all that came with it.
                self._flights[job.handle] = Flight(job, row.copy(), said.copy())

    def on_start(self, jobs: JobTable, now: int) -> None:
        """Take note of who runs what."""
        for handle in jobs.handle.tolist():
            flight = self._flights.get(handle)
            if flight is not None and flight.start < 0:
                flight.start = now
                self._features.started(flight.job, now)

    def on_cancel(self, jobs: JobTable, now: int) -> None:  # noqa: ARG002
        """Forget jobs that will never run."""
        for handle in jobs.handle.tolist():
            flight = self._flights.pop(handle, None)
            if flight is not None:
                self._features.gone(flight.job, ran=flight.start >= 0)

    def observe(self, jobs: JobTable, outcome: Outcome, now: int) -> None:
        """Learn from jobs that have ended; those that failed ran, too."""
        runtimes, statuses = outcome.runtime.tolist(), outcome.status.tolist()
        for job, runtime, status in zip(self._features.read(jobs), runtimes, statuses, strict=True):
            flight = self._flights.pop(job.handle, None)
            if flight is not None:
                self._features.gone(flight.job, ran=flight.start >= 0)
                self.learn(flight, runtime)
            self._features.learn(job, runtime, status == _COMPLETED, now)

    def learn(self, flight: Flight, runtime: int) -> None:
        """Learn from one job that has ended."""
        requested = flight.job.requested_time
        self._window.add(flight.row, flight.scores, runtime, requested)
        said = flight.scores[self.bound_score]
        if said == said:  # not NaN
            self._bound.learn(float(np.log(max(min(runtime, requested), 1)) - said))

    def predict(self, jobs: JobTable, now: int) -> Prediction:
        """Answer with the model, or with the history until there is one."""
        known = self._features.read(jobs)
        rows, scores = self._known_rows(known, now)
        requested = np.array([job.requested_time for job in known], dtype=np.int64)
        plus = rows[:, _PLUS].astype(np.float64)
        history = np.where(plus >= 0, plus, np.log(np.maximum(requested, 1)))
        answers = self.answer(rows, scores)
        ready = np.isfinite(answers.plan)
        self._counts["answered by the model"] += int(ready.sum())
        self._counts["answered by history"] += int((~ready).sum())
        plan = np.where(ready, answers.plan, history)
        priority = np.where(np.isfinite(answers.priority), answers.priority, plan)
        bound = np.where(np.isfinite(answers.bound), answers.bound, plan + self.first_offset)
        # A bound below the plan would be none.
        parts = np.array([priority, plan, np.maximum(bound, plan)])
        return Prediction(*_seconds(parts, requested))

    def stats(self) -> Mapping[str, int]:
        """Return how many models were fitted, and who gave the answers."""
        return dict(self._counts)

    def refit(self, now: int) -> None:
        """Fit the models to the newest completions, if there are enough of them."""
        if len(self._window) < self._start:
            return
        self.fit(self._window)
        self._fitted_at, self._fitted_with = now, self._window.added
        self._counts["refits"] += 1

    def land(self) -> None:
        """Forget jobs that have not ended, as those at the end of a log."""
        for flight in self._flights.values():
            self._features.gone(flight.job, ran=flight.start >= 0)
        self._flights = {}

    def state(self) -> Mapping[str, Any]:
        """Return everything learnt."""
        flights = self._flights.values()
        return {
            "features": self._features.state(),
            "window": self._window.state(),
            "bound": self._bound.offset,
            "fitted": np.array([self._fitted_at, self._fitted_with], dtype=np.int64),
            "counts": json.dumps(self._counts),
            "ready": int(self.ready),
            "models": self.models() if self.ready else {},
            "jobs": json.dumps([[*flight.job, flight.start] for flight in flights]),
            "rows": np.array([flight.row for flight in flights], dtype=np.float32),
            "scores": np.array([flight.scores for flight in flights], dtype=np.float64),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up what :meth:`state` gave."""
        self._features.restore(state["features"])
        self._window.restore(state["window"])
        self._bound.offset = float(state["bound"])
        self._fitted_at, self._fitted_with = (int(value) for value in state["fitted"])
        self._counts = {**self._counts, **json.loads(state["counts"])}
        self.forget()
        if state["ready"]:
            self.restore_models(state.get("models", {}))
        self._flights = {}
        for values, row, scores in zip(
            json.loads(state["jobs"]), state["rows"], state["scores"], strict=True
        ):
            job = Known(*as_key(values[:-1]))
            self._flights[job.handle] = Flight(job, row.copy(), scores.copy(), values[-1])
            self._features.submitted_before(job)
        # Of one user's running jobs, the oldest comes first.
        for flight in sorted(self._flights.values(), key=lambda flight: flight.start):
            if flight.start >= 0:
                self._features.started(flight.job, flight.start)

    def _is_due(self, now: int) -> bool:
        """Whether it is time for a new model, and there is something new to learn."""
        if self._frozen or len(self._window) < self._start:
            return False
        if not self.ready:
            return True
        news = self._window.added - self._fitted_with
        if news >= self._fitted_with:
            return True
        if not self._fitted_at:  # a model from a file is as old as the log
            self._fitted_at = now
        return now - self._fitted_at >= self._refit and news >= _NEWS * len(self._window)

    def _scores(self, rows: AnyArray) -> FloatArray:
        if self.ready:
            return self.score(rows)
        return np.full((len(rows), self.num_scores), np.nan)

    def _known_rows(self, known: list[Known], now: int) -> tuple[AnyArray, FloatArray]:
        """Return features and scores as of the submit; of unknown jobs, as of now."""
        flights = [self._flights.get(job.handle) for job in known]
        if None not in flights and flights:
            kept = [flight for flight in flights if flight is not None]
            rows = np.array([flight.row for flight in kept])
            return rows, np.array([flight.scores for flight in kept])
        rows = matrix(
            [
                self._features.row(job, now) if flight is None else flight.row
                for job, flight in zip(known, flights, strict=True)
            ]
        )
        return rows, self._scores(rows)


def _seconds(logarithm: FloatArray, requested: AnyArray) -> AnyArray:
    """Return whole seconds in ``[1, requested time]``; shape ``(3, n)``."""
    seconds = np.exp(np.minimum(logarithm, 40.0))
    limit = np.maximum(requested, 1)
    return np.maximum(np.minimum(np.rint(seconds), limit), 1).astype(np.int64)
