"""What learned predictors share: features kept until a job ends, refits, the cold start."""

from __future__ import annotations

import json
from abc import abstractmethod
from dataclasses import dataclass
from math import exp, isfinite, isnan, log
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched.api.errors import ConfigError
from cpsched.api.model import Status
from cpsched.api.predictors import Outcome, Prediction, RuntimePredictor
from predictors import model_file
from predictors.accuracy import BOUND
from predictors.calibration import Coverage
from predictors.features import CANDIDATES, Features, matrix
from predictors.history import LIMIT
from predictors.history import frozen as as_key
from predictors.job_records import JobRecord
from predictors.window import Window

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.api.model import AnyArray, FloatArray, JobTable, System
    from cpsched.api.tools import File

_DAY = 86_400
_COMPLETED = int(Status.COMPLETED)
_PLUS = CANDIDATES[7]
#: Logarithm of more seconds than any request.
_LONGEST = 40.0
#: Logarithm of a bound over its plan before any job has ended.
_FACTOR = 0.7


#: What a state that is none can lead to.
_DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


#: Of options a model is made for.
_DEFAULTS = {"prefix": "stem", "loss": "share"}


class Answers(NamedTuple):
    """Natural logarithms of one job's predicted runtimes; NaN where a model does not know."""

    priority: float
    plan: float
    bound: float


@dataclass(slots=True)
class OpenJob:
    """
    A job between its submit and its end.

    Attributes
    ----------
    job
        As it was submitted.
    row, scores
        Its features, shape ``(F,)``, and the S numbers the models said of it.
    start
        Second, -1 while it waits.
    """

    job: JobRecord
    row: AnyArray
    scores: Sequence[float]
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

    #: What makes features.
    make_features = Features
    #: A new model is worth its cost when so many jobs have ended since the last, as a share of
    #: those that it is fitted to.
    news = 0.05
    #: Columns of what models say of a job at submit.
    num_scores = 1
    #: Which of them the bound is counted from, and the share of jobs it lies above at first.
    bound_score = 0
    #: Offset of the bound before any job has ended.
    first_offset = _FACTOR

    def __init__(
        self,
        model: File | None = None,
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
            raise ValueError("frozen needs a trained model")
        self._frozen, self._refit, self._start = frozen, int(refit * _DAY), start
        #: Options a model is made for, and what they are here.
        self._made_for = {"prefix": prefix}
        self._features = self.make_features(prefix, limit)
        self._window = Window(window, len(self.feature_names), self.num_scores)
        self._bound = Coverage(BOUND, self.first_offset)
        #: The same for answers of the history.
        self._cold = Coverage(BOUND, _FACTOR)
        self._open: dict[int, OpenJob] = {}
        self._counts = dict.fromkeys(self.counted(), 0)
        self._fitted_at, self._fitted_with = 0, 0
        self._seed = 0
        self._epoch: int | None = None
        self._warm = (
            None if model is None else model_file.read(Path(model), self.name, self.feature_names)
        )

    @property
    def frozen(self) -> bool:
        """Whether its model stays as it is in the file."""
        return self._frozen

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the F features, in order."""
        return self._features.names

    def counted(self) -> tuple[str, ...]:
        """Return the names of the counts in :meth:`stats`."""
        return ("refits", "answered by history", "answered by the model")

    @property
    @abstractmethod
    def ready(self) -> bool:
        """Whether there is a model."""

    @abstractmethod
    def fit(self, window: Window, now: int) -> None:
        """Fit the models to the newest completions."""

    @abstractmethod
    def score(self, rows: AnyArray) -> FloatArray:
        """Return what the models say of rows of features, shape ``(n, S)``; there is a model."""

    @abstractmethod
    def answer(self, scores: Sequence[float]) -> Answers:
        """Return the three answers for a job of which the models said this."""

    @abstractmethod
    def forget(self) -> None:
        """Forget the models."""

    @abstractmethod
    def models(self) -> dict[str, Any]:
        """Return the models for :meth:`state`."""

    @abstractmethod
    def restore_models(self, state: Mapping[str, Any]) -> None:
        """Take up the models; raise ValueError if they are none."""

    def on_epoch(self, epoch: int | None) -> None:
        """Hours of a model from a file are hours of the day here, too."""
        self._epoch = epoch

    def reset(self, system: System, seed: int) -> None:
        """Forget everything, or go back to the model file."""
        self._seed = seed
        self._features.reset(system)
        self._window.clear()
        self._bound.reset()
        self._cold.reset()
        self._open = {}
        self._counts = dict.fromkeys(self.counted(), 0)
        self._fitted_at, self._fitted_with = 0, 0
        self.forget()
        if self._warm is not None:
            self._start_from(self._warm)

    def _start_from(self, warm: model_file.Model) -> None:
        """Begin with what a file holds; its seconds count from elsewhere."""
        for name, value in self._made_for.items():
            trained = warm.options.get(name, _DEFAULTS[name])
            if trained != value:
                raise ConfigError(
                    f"was trained with {name}={trained}, but is used with {name}={value}:"
                    f" add {name}={trained}",
                    where=warm.path,
                )
        try:
            self.restore(warm.state)
        except _DAMAGE as error:
            raise ConfigError(f"does not fit this predictor: {error}", where=warm.path) from error
        self._open = {}
        self._counts = dict.fromkeys(self.counted(), 0)
        self._features.forget_times()
        # Its hours count from another second 0.
        if self._epoch is not None and warm.hours_from is not None:
            self._features.shift = self._epoch - warm.hours_from
        self._fitted_at, self._fitted_with = 0, self._window.added

    def on_submit(self, jobs: JobTable, now: int) -> None:
        """Fit anew if it is time, and keep the features of the jobs until they end."""
        if self._is_due(now):
            self.refit(now)
        features = self._features
        rows, fresh = [], []
        for job in features.read(jobs):
            if job.handle not in self._open:
                rows.append(features.row(job, now))
                fresh.append(job)
                features.submitted(job, now)
        if fresh:
            built = matrix(rows, len(self.feature_names))
            scores = self.said_of(fresh, built)
            for job, row, said in zip(fresh, built, scores, strict=True):
                # A copy, so that one job does not keep all that came with it.
                self._open[job.handle] = OpenJob(job, row.copy(), said)

    def on_start(self, jobs: JobTable, now: int) -> None:
        """Take note of who runs what."""
        for handle in jobs.handle.tolist():
            open_job = self._open.get(handle)
            if open_job is not None and open_job.start < 0:
                if self.repredicts and now > open_job.job.submit:
                    # What is asked while jobs wait is learnt from what was known as they started.
                    self._look_again(open_job, now)
                open_job.start = now
                self._features.started(open_job.job, now)

    def _look_again(self, open_job: OpenJob, now: int) -> None:
        """Take features and scores of a job as things are now."""
        rows = matrix([self._features.row(open_job.job, now)], len(self.feature_names))
        open_job.row, open_job.scores = rows[0], self.said_of([open_job.job], rows)[0]

    def on_cancel(self, jobs: JobTable, now: int) -> None:  # noqa: ARG002
        """Forget jobs that will never run."""
        for handle in jobs.handle.tolist():
            open_job = self._open.pop(handle, None)
            if open_job is not None:
                self._features.gone(open_job.job, ran=open_job.start >= 0)

    def observe(self, jobs: JobTable, outcome: Outcome, now: int) -> None:
        """Learn from jobs that have ended; those that failed ran, too."""
        ended = zip(
            jobs.handle.tolist(), outcome.runtime.tolist(), outcome.status.tolist(), strict=True
        )
        for place, (handle, runtime, status) in enumerate(ended):
            open_job = self._open.pop(handle, None)
            if open_job is None:
                job = self._features.read(jobs)[place]
            else:
                job = open_job.job
                self._features.gone(job, ran=open_job.start >= 0)
                self.learn(open_job, runtime)
            self._features.learn(job, runtime, status == _COMPLETED, now)

    def learn(self, open_job: OpenJob, runtime: int) -> None:
        """Learn from one job that has ended."""
        requested = open_job.job.requested_time
        self._window.add(open_job.row, open_job.scores, runtime, requested)
        said, cut = open_job.scores[self.bound_score], log(max(min(runtime, requested), 1))
        if isfinite(said):
            self._bound.learn(cut - said)
        else:
            self._cold.learn(cut - _history(open_job))

    def predict(self, jobs: JobTable, now: int) -> Prediction:
        """Answer with the model, or with the history until there is one."""
        return self.prediction(self._known(jobs, now))

    def prediction(self, open_jobs: Sequence[OpenJob]) -> Prediction:
        """Return the answers for jobs whose features and scores are known."""
        answers = [self._answer(open_job) for open_job in open_jobs]
        by_model = sum(modelled for *_, modelled in answers)
        self._counts["answered by the model"] += by_model
        self._counts["answered by history"] += len(answers) - by_model
        parts = np.array([parts for *parts, _ in answers], dtype=np.int64).reshape(-1, 3)
        return Prediction(*parts.T)

    def _answer(self, open_job: OpenJob) -> tuple[int, int, int, bool]:
        """Return the three answers in whole seconds, and whether the plan is the model's."""
        priority, plan, bound = self.answer(open_job.scores)
        limit = max(open_job.job.requested_time, 1)
        # A plan that is infinite is the requested time, whoever says so.
        modelled = isfinite(open_job.scores[0]) and not isnan(plan)
        if isnan(plan):
            plan = _history(open_job)
        if not isfinite(priority):
            priority = plan
        if isnan(bound):
            bound = plan + self._cold.offset
        # A bound below the plan would be none.
        return (
            _seconds(priority, limit), _seconds(plan, limit), _seconds(max(bound, plan), limit),
            modelled,
        )  # fmt: skip

    def stats(self) -> Mapping[str, int]:
        """Return how many models were fitted, and who gave the answers."""
        return dict(self._counts)

    def provenance(self) -> Mapping[str, str]:
        """Return the model file it started from, its hash, and what that was trained on."""
        return {} if self._warm is None else self._warm.provenance()

    def refit(self, now: int) -> None:
        """Fit the models to the newest completions, if there are enough of them."""
        if len(self._window) < self._start:
            return
        self.fit(self._window, now)
        self._fitted_at, self._fitted_with = now, self._window.added
        self._counts["refits"] += 1

    @property
    def hours_from(self) -> int | None:
        """The Unix time that hours and weekdays are counted from, None where it is not known."""
        return None if self._epoch is None else self._epoch - self._features.shift

    def trained_before(self) -> list[dict[str, Any]]:
        """Return what the file it started from was trained on, and the file that started from."""
        if self._warm is None:
            return []
        return [*self._warm.before, dict(self._warm.trained_on)]

    def drop_unfinished(self) -> None:
        """Forget jobs that have not ended, as those at the end of a log."""
        for open_job in self._open.values():
            self._features.gone(open_job.job, ran=open_job.start >= 0)
        self._open = {}

    def state(self) -> Mapping[str, Any]:
        """Return everything learnt."""
        open_jobs = self._open.values()
        return {
            "features": self._features.state(),
            "window": self._window.state(),
            "bound": np.array([self._bound.offset, self._cold.offset]),
            "fitted": np.array([self._fitted_at, self._fitted_with], dtype=np.int64),
            "counts": json.dumps(self._counts),
            "ready": int(self.ready),
            "models": self.models() if self.ready else {},
            "jobs": json.dumps([[*open_job.job, open_job.start] for open_job in open_jobs]),
            "rows": np.array([open_job.row for open_job in open_jobs], dtype=np.float32),
            "scores": np.array([open_job.scores for open_job in open_jobs], dtype=np.float64),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        self._features.restore(state["features"])
        self._window.restore(state["window"])
        self._bound.offset, self._cold.offset = (float(value) for value in state["bound"])
        if not (isfinite(self._bound.offset) and isfinite(self._cold.offset)):
            raise ValueError("its bounds are not finite")
        self._fitted_at, self._fitted_with = (int(value) for value in state["fitted"])
        self._counts = {**self._counts, **json.loads(state["counts"])}
        self.forget()
        if state["ready"]:
            self.restore_models(state.get("models", {}))
        self._open = {}
        for values, row, scores in zip(
            json.loads(state["jobs"]), state["rows"], state["scores"], strict=True
        ):
            job = JobRecord(*as_key(values[:-1]))
            self._open[job.handle] = OpenJob(job, row.copy(), scores.tolist(), values[-1])
            self._features.submitted_before(job)
        # Of one user's running jobs, the oldest comes first.
        for open_job in sorted(self._open.values(), key=lambda open_job: open_job.start):
            if open_job.start >= 0:
                self._features.started(open_job.job, open_job.start)

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
        return now - self._fitted_at >= self._refit and news >= self.news * len(self._window)

    def said_of(self, jobs: Sequence[JobRecord], rows: AnyArray) -> list[list[float]]:  # noqa: ARG002
        """Return S numbers for each job and its features; NaN where there is no model."""
        if self.ready:
            return self.score(rows).tolist()  # type: ignore[no-any-return]
        return [[float("nan")] * self.num_scores] * len(rows)

    def _known(self, jobs: JobTable, now: int) -> list[OpenJob]:
        """Return features and scores as of the submit; of jobs unknown or still waiting, of now."""
        found = [self._open.get(handle) for handle in jobs.handle.tolist()]
        # Of a job that has waited since, things may look otherwise by now.
        stale = [one is None or (one.start < 0 and one.job.submit < now) for one in found]
        if any(stale):
            for place, job in enumerate(self._features.read(jobs)):
                if stale[place]:
                    rows = matrix([self._features.row(job, now)], len(self.feature_names))
                    found[place] = OpenJob(job, rows[0], self.said_of([job], rows)[0])
        return [open_job for open_job in found if open_job is not None]


def _history(open_job: OpenJob) -> float:
    """Return the logarithm of what ``user-history-plus`` says, of the request if it is that."""
    plus = open_job.row.item(_PLUS)
    return plus if plus >= 0 else log(max(open_job.job.requested_time, 1))


def _seconds(logarithm: float, limit: int) -> int:
    """Return whole seconds in ``[1, limit]``."""
    return max(min(round(exp(min(logarithm, _LONGEST))), limit), 1)
