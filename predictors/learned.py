"""What learned predictors share: features kept until a job ends, refits, the cold start."""

from __future__ import annotations

import json
from abc import abstractmethod
from dataclasses import dataclass
from math import exp, isfinite, log
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from cpsched.errors import ConfigError
from cpsched.model.prediction import BOUND, Outcome, Prediction, RuntimePredictor
from cpsched.util.types import Status
from predictors import model_file
from predictors.coverage import Coverage
from predictors.features import FEATURES, Features, matrix
from predictors.job_records import JobRecord
from predictors.remembered import LIMIT, frozen
from predictors.window import CompletionWindow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.model.jobtable import JobTable
    from cpsched.model.system import System
    from cpsched.util.spec import File
    from cpsched.util.types import AnyArray, FloatArray

_DAY = 86_400
_COMPLETED = int(Status.COMPLETED)
_PLUS = FEATURES.index("plus")
#: Logarithm of more seconds than any request.
_LONGEST = 40.0
#: Logarithm of a bound over its plan before any job has ended.
_FACTOR = 0.7
#: A new model is worth its cost when so many jobs have ended since the last, as a share of those
#: that it is fitted to.
_NEWS = 0.05
_COUNTS = ("refits", "answered by history", "answered by the model")
#: What a state that is none can lead to.
_DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


class FittedModel(Protocol):
    """What is fitted to the newest completions."""

    def __call__(self, rows: AnyArray) -> FloatArray:
        """Return what it says of rows of features, shape ``(n, S)``."""

    def state(self) -> dict[str, Any]:
        """Return everything of it."""


@dataclass(slots=True)
class OpenJob:
    """A job between its submit and its end."""

    job: JobRecord
    row: AnyArray
    scores: Sequence[float]
    start: int = -1

    @property
    def history(self) -> float:
        """The logarithm of what ``user-history-plus`` says, of the request if it is that."""
        plus: float = self.row.item(_PLUS)
        return plus if plus >= 0 else log(max(self.job.requested_time, 1))


class Learned(RuntimePredictor):
    """
    Base class of predictors that fit a model to features of ended jobs.

    Until ``start`` jobs have ended, the prediction is that of ``user-history-plus``. A model gives
    logarithms of the runtime: the first is the prediction for reservations, the last is the base of
    the upper bound. Subclasses define how a model is fitted and restored.

    Parameters
    ----------
    model
        Model file, as ``cpsched train`` writes it, to begin with.
    frozen
        Whether the model of the file is never fitted again. Histories and bounds still follow the
        ended jobs.
    refit
        Days of simulated time after which a new model is fitted. One is also fitted whenever the
        number of ended jobs has doubled.
    start
        Number of ended jobs before the first fit.
    window
        Number of newest ended jobs that models are fitted to.
    prefix, limit
        As for ``user-history-plus``.
    """

    #: Numbers S a model says of a job.
    num_scores = 1
    #: Offset of the bound before any job has ended.
    first_offset = _FACTOR
    #: Share of jobs to be below the plan; None where the plan stays as the model says it.
    plan_share: float | None = None

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
            raise ValueError(f"start is {start}, must be from 1 to {window} (the window)")
        if not refit > 0:
            raise ValueError(f"refit is {refit} days, must be more than 0")
        if frozen and model is None:
            raise ValueError(
                "frozen=yes needs a trained model. Add model=FILE (cpsched train writes one)."
            )
        self._frozen, self._refit, self._start = frozen, int(refit * _DAY), start
        self._prefix = prefix
        self._seed = 0
        self._epoch: int | None = None
        self._features = Features(prefix, limit)
        self._window = CompletionWindow(window, len(FEATURES))
        self._bound = Coverage(BOUND, self.first_offset)
        #: The same for answers of the history.
        self._cold = Coverage(BOUND, _FACTOR)
        self._plan = None if self.plan_share is None else Coverage(self.plan_share)
        self._begin()
        self._warm = None if model is None else model_file.read(Path(model), self.name)

    def _begin(self) -> None:
        """Have no model, no job and no count."""
        self._model: FittedModel | None = None
        self._open: dict[int, OpenJob] = {}
        self._counts = dict.fromkeys(_COUNTS, 0)
        self._fitted_at, self._fitted_with = 0, 0

    @property
    def frozen(self) -> bool:
        """Whether its model stays as it is in the file."""
        return self._frozen

    @property
    def ready(self) -> bool:
        """Whether there is a model."""
        return self._model is not None

    @abstractmethod
    def fitted(self, window: CompletionWindow) -> FittedModel:
        """Return a model of the newest completions."""

    @abstractmethod
    def restored(self, state: Mapping[str, Any]) -> FittedModel:
        """Return the model of this state; raise ValueError if it is none."""

    def on_epoch(self, epoch: int | None) -> None:
        """Hours of a model from a file are hours of the day here, too."""
        self._epoch = epoch

    def reset(self, system: System, seed: int) -> None:
        """Forget everything, or go back to the model file."""
        self._seed = seed
        self._features.reset(system)
        self._window.clear()
        for coverage in (self._bound, self._cold, self._plan):
            if coverage is not None:
                coverage.reset()
        self._begin()
        if self._warm is not None:
            self._start_from(self._warm)

    def _start_from(self, warm: model_file.ModelFile) -> None:
        """Begin with what a file holds; its seconds count from elsewhere."""
        trained = warm.options.get("prefix", "stem")
        if trained != self._prefix:
            raise ConfigError(
                f"was trained with prefix={trained}, but is used with prefix={self._prefix}."
                f" Add prefix={trained}.",
                where=warm.path,
            )
        try:
            self.restore(warm.state)
        except _DAMAGE as error:
            raise ConfigError(
                f"does not fit this predictor: {error}. Train it again.", where=warm.path
            ) from error
        model = self._model
        self._begin()
        self._model, self._fitted_with = model, self._window.added
        self._features.forget_times()
        # Its hours count from another second 0.
        if self._epoch is not None and warm.hours_from is not None:
            self._features.shift = self._epoch - warm.hours_from

    def on_submit(self, jobs: JobTable, now: int) -> None:
        """Fit anew if it is time, and keep the features of the jobs until they end."""
        if self._is_due(now):
            self.refit(now)
        rows, fresh = [], []
        for job in self._features.read(jobs):
            if job.handle not in self._open:
                rows.append(self._features.row(job, now))
                fresh.append(job)
                self._features.submitted(job, now)
        if fresh:
            for open_job in self._looked_at(fresh, matrix(rows)):
                self._open[open_job.job.handle] = open_job

    def _looked_at(self, jobs: Sequence[JobRecord], rows: AnyArray) -> list[OpenJob]:
        """Return jobs with their features, and what the model says of them."""
        scores = [[float("nan")] * self.num_scores] * len(jobs)
        if self._model is not None:
            scores = self._model(rows).tolist()
        # A copy of each row, so that one job does not keep all that came with it.
        return [
            OpenJob(job, row.copy(), job_scores)
            for job, row, job_scores in zip(jobs, rows, scores, strict=True)
        ]

    def on_start(self, jobs: JobTable, now: int) -> None:
        """Take note of who runs what."""
        for handle in jobs.handle.tolist():
            open_job = self._open.get(handle)
            if open_job is not None and open_job.start < 0:
                open_job.start = now
                self._features.started(open_job.job, now)

    def on_cancel(self, jobs: JobTable, now: int) -> None:  # noqa: ARG002
        """Forget jobs that will never run."""
        for handle in jobs.handle.tolist():
            self._close(handle)

    def _close(self, handle: int) -> OpenJob | None:
        """Take a job out of the queue, or off the machine."""
        open_job = self._open.pop(handle, None)
        if open_job is not None:
            self._features.gone(open_job.job, ran=open_job.start >= 0)
        return open_job

    def drop_unfinished(self) -> None:
        """Forget jobs that have not ended, as those at the end of a log."""
        for handle in list(self._open):
            self._close(handle)

    def observe(self, jobs: JobTable, outcome: Outcome, now: int) -> None:
        """Learn from jobs that have ended; those that failed ran, too."""
        ended = zip(
            jobs.handle.tolist(), outcome.runtime.tolist(), outcome.status.tolist(), strict=True
        )
        for place, (handle, runtime, status) in enumerate(ended):
            open_job = self._close(handle)
            if open_job is None:
                job = self._features.read(jobs)[place]
            else:
                job = open_job.job
                self._learn(open_job, runtime)
            self._features.learn(job, runtime, status == _COMPLETED, now)

    def _learn(self, open_job: OpenJob, runtime: int) -> None:
        requested, scores = open_job.job.requested_time, open_job.scores
        self._window.add(open_job.row, runtime, requested)
        cut = log(max(min(runtime, requested), 1))
        if not isfinite(scores[0]):
            self._cold.learn(cut - open_job.history)
            return
        self._bound.learn(cut - scores[-1])
        if self._plan is not None:
            self._plan.learn(cut - scores[0])

    def predict(self, jobs: JobTable, now: int) -> Prediction:
        """Answer with the model, or with the history until there is one."""
        known = [self._open.get(handle) for handle in jobs.handle.tolist()]
        if None in known:
            for place, job in enumerate(self._features.read(jobs)):
                if known[place] is None:
                    [known[place]] = self._looked_at([job], matrix([self._features.row(job, now)]))
        answers = [self._answer(open_job) for open_job in known if open_job is not None]
        plan, bound = np.array(answers, dtype=np.int64).reshape(-1, 2).T
        return Prediction(plan, plan, bound)

    def _answer(self, open_job: OpenJob) -> tuple[int, int]:
        """Return plan and bound in whole seconds."""
        scores, limit = open_job.scores, max(open_job.job.requested_time, 1)
        if isfinite(scores[0]):
            self._counts["answered by the model"] += 1
            plan = scores[0] if self._plan is None else scores[0] + self._plan.offset
            bound = scores[-1] + self._bound.offset
        else:
            self._counts["answered by history"] += 1
            plan = open_job.history
            bound = plan + self._cold.offset
        # A bound below the plan would be none.
        return _seconds(plan, limit), _seconds(max(bound, plan), limit)

    def stats(self) -> Mapping[str, int]:
        """Return how many models were fitted, and who gave the answers."""
        return dict(self._counts)

    def provenance(self) -> Mapping[str, str]:
        """Return the model file it started from, its hash, and what that was trained on."""
        return {} if self._warm is None else self._warm.provenance()

    def _is_due(self, now: int) -> bool:
        """Whether it is time for a new model, and there is something new to learn."""
        if self._frozen or len(self._window) < self._start:
            return False
        news = self._window.added - self._fitted_with
        if self._model is None or news >= self._fitted_with:
            return True
        if not self._fitted_at:  # a model from a file is as old as the log
            self._fitted_at = now
        return now - self._fitted_at >= self._refit and news >= _NEWS * len(self._window)

    def refit(self, now: int) -> None:
        """Fit a model to the newest completions, if there are enough of them."""
        if len(self._window) >= self._start:
            self._model = self.fitted(self._window)
            self._fitted_at, self._fitted_with = now, self._window.added
            self._counts["refits"] += 1

    @property
    def hours_from(self) -> int | None:
        """The Unix time that hours and weekdays are counted from, None where it is not known."""
        return None if self._epoch is None else self._epoch - self._features.shift

    def trained_before(self) -> list[dict[str, Any]]:
        """Return what the file it started from was trained on, and the file that started from."""
        return [] if self._warm is None else [*self._warm.before, self._warm.trained_on]

    def state(self) -> Mapping[str, Any]:
        """Return everything learnt."""
        open_jobs = self._open.values()
        plan = {} if self._plan is None else {"plan": self._plan.offset}
        return {
            "features": self._features.state(),
            "window": self._window.state(),
            "bound": np.array([self._bound.offset, self._cold.offset]),
            "fitted": np.array([self._fitted_at, self._fitted_with], dtype=np.int64),
            "counts": json.dumps(self._counts),
            "ready": int(self.ready),
            "models": {} if self._model is None else self._model.state(),
            "jobs": json.dumps([[*open_job.job, open_job.start] for open_job in open_jobs]),
            "rows": np.array([open_job.row for open_job in open_jobs], dtype=np.float32),
            "scores": np.array([open_job.scores for open_job in open_jobs], dtype=np.float64),
            **plan,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the memory that :meth:`state` returned for a checkpoint."""
        self._features.restore(state["features"])
        self._window.restore(state["window"])
        self._bound.offset, self._cold.offset = (float(value) for value in state["bound"])
        if not (isfinite(self._bound.offset) and isfinite(self._cold.offset)):
            raise ValueError("its bounds are not finite")
        if self._plan is not None:
            self._plan.offset = float(state["plan"])
        self._begin()
        self._fitted_at, self._fitted_with = (int(value) for value in state["fitted"])
        self._counts |= json.loads(state["counts"])
        if state["ready"]:
            self._model = self.restored(state.get("models", {}))
        for values, row, scores in zip(
            json.loads(state["jobs"]), state["rows"], state["scores"], strict=True
        ):
            job = JobRecord(*frozen(values[:-1]))
            self._open[job.handle] = OpenJob(job, row.copy(), scores.tolist(), values[-1])
            self._features.submitted_before(job)
        # Of one user's running jobs, the oldest comes first.
        for open_job in sorted(self._open.values(), key=lambda open_job: open_job.start):
            if open_job.start >= 0:
                self._features.started(open_job.job, open_job.start)


def _seconds(logarithm: float, limit: int) -> int:
    """Return whole seconds in ``[1, limit]``."""
    return max(min(round(exp(min(logarithm, _LONGEST))), limit), 1)
