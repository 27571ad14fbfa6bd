"""For each job, the predictor that should be nearest: forests foretell the loss of every one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from predictors.boosted import Boosted, dump, load, log_of_share, log_runtime, share_task
from predictors.boosters import Growth, Task, grow
from predictors.features import CANDIDATES, FEATURES, UNKNOWN
from predictors.learned import Answers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.types import AnyArray, FloatArray, IntArray
    from predictors.forest import Forest
    from predictors.window import Window

#: Completions with recorded answers of both forests before losses are learnt, and the newest used.
START, NEWEST = 2_000, 20_000
#: Losses are noisier than runtimes: fewer and smaller trees.
_LOSS_TREES, _LOSS_LEAVES, _LOSS_RATE, _LOSS_LEAF = 40, 12, 0.1, 40
#: Of a candidate's loss: the log error and the error in units of the mean runtime, capped.
_LOG_CAP, _MEAN_CAP = 2.0, 3.0
_LOG, _SHARE, _CHOSEN, _WHICH = range(4)
#: Features of the losses' forests: what the two forests say, and how far the histories are from it.
_EXTENDED = len(FEATURES) + 2 + len(CANDIDATES)


class Stack(Boosted):
    """
    Predicts with the candidate whose recent loss on jobs like this one is smallest.

    Candidates are what the seven rules of ``user-history-plus`` say each, its median, the user's
    last runtime, and the forests of ``gbm-log`` and ``gbm-ratio``. A smaller forest for each
    predicts ``min(|ln error|, 2) + min(|error| / mean runtime, 3)`` from what was answered for the
    newest 20,000 completions when they were submitted. The requested time is no candidate.

    The plan is the candidate chosen; the priority is that of ``gbm-log``, whose order is better.
    Until 2,000 completions have answers to learn from, the plan is that of ``user-history-plus``.

    Parameters
    ----------
    model, frozen, refit, start, window, trees, backend, prefix, limit
        As for :class:`~predictors.boosted.Boosted`.
    """

    name = "stack"
    num_scores = 4
    bound_score = _CHOSEN

    def counted(self) -> tuple[str, ...]:
        """Return the names of the counts in ``stats``, with who was chosen."""
        return (*super().counted(), *(f"chose {name}" for name in _NAMES))

    def forget(self) -> None:
        """Drop all forests."""
        super().forget()
        self._losses: list[Forest] = []

    def fit(self, window: Window) -> None:
        """Grow the two forests, and those of the losses when there is enough to learn from."""
        features = window.features
        growth = Growth(trees=self._trees, seed=self._seed)
        tasks = [Task(log_runtime(window)), share_task(window)]
        self._forests = grow(self._backend, features, tasks, growth)
        newest = window.newest(NEWEST)
        rows = newest[np.isfinite(window.scores[newest, _LOG])]
        if len(rows) >= START:
            self._fit_losses(window, rows)

    def _fit_losses(self, window: Window, rows: IntArray) -> None:
        features, scores = window.features[rows], window.scores[rows]
        runtime = np.maximum(window.runtime[rows], 1).astype(np.float64)
        requested = window.requested_time[rows]
        candidates = np.minimum(_candidates(features, scores), _log(requested)[:, None])
        off = np.minimum(np.abs(candidates - np.log(runtime)[:, None]), _LOG_CAP)
        error = np.abs(np.exp(candidates) - runtime[:, None]) / runtime.mean()
        loss = off + np.minimum(error, _MEAN_CAP)
        known = np.isfinite(candidates)
        # What was never heard from must not win when it is first heard from.
        loss[~known] = _LOG_CAP + _MEAN_CAP
        taught_by = [column if column.any() else ~column for column in known.T]
        growth = Growth(
            trees=min(_LOSS_TREES, self._trees), leaves=_LOSS_LEAVES, rate=_LOSS_RATE,
            min_leaf=_LOSS_LEAF, seed=self._seed,
        )  # fmt: skip
        tasks = [Task(loss[:, index], None, chosen) for index, chosen in enumerate(taught_by)]
        self._losses = grow(self._backend, _with_scores(features, scores), tasks, growth)

    def score(self, rows: AnyArray) -> FloatArray:
        """Return what both forests say, the candidate chosen, and which it is."""
        scores = np.full((len(rows), self.num_scores), np.nan)
        scores[:, _LOG] = self._forests[0](rows)
        scores[:, _SHARE] = log_of_share(self._forests[1](rows)[:, None], rows)[:, 0]
        if self._losses:
            candidates = _candidates(rows, scores)
            extended = _with_scores(rows, scores)
            loss = np.stack([forest(extended) for forest in self._losses], axis=1)
            loss[~np.isfinite(candidates)] = np.inf
            which = loss.argmin(axis=1)
            scores[:, _CHOSEN] = candidates[np.arange(len(rows)), which]
            scores[:, _WHICH] = which
        return scores

    def answer(self, rows: AnyArray, scores: FloatArray) -> Answers:  # noqa: ARG002
        """Return the order of the forest, the candidate chosen, and its bound."""
        plan = scores[:, _CHOSEN]
        for which in scores[:, _WHICH].tolist():
            if which == which:  # not NaN
                self._counts[f"chose {_NAMES[int(which)]}"] += 1
        return Answers(scores[:, _LOG], plan, plan + self._bound.offset)

    def models(self) -> dict[str, Any]:
        """Return all forests."""
        return {"answers": dump(self._forests), "losses": dump(self._losses)}

    def restore_models(self, state: Mapping[str, Any]) -> None:
        """Take up all forests."""
        self._forests = load(state["answers"])
        self._losses = load(state.get("losses", {}), _EXTENDED)
        if len(self._forests) != 2 or len(self._losses) not in (0, len(_NAMES)):
            raise ValueError(f"it holds {len(self._forests)} and {len(self._losses)} forests")


_NAMES = (
    *(f"rule {number}" for number in range(1, 8)),
    "user-history-plus", "last", "gbm-log", "gbm-ratio",
)  # fmt: skip


def _log(seconds: IntArray) -> FloatArray:
    logarithm: FloatArray = np.log(np.maximum(seconds, 1))
    return logarithm


def _candidates(features: AnyArray, scores: FloatArray) -> FloatArray:
    """Return the logarithm of what each candidate says, shape ``(n, 11)``; NaN for nothing."""
    history = features[:, CANDIDATES].astype(np.float64)
    history[history < 0] = np.nan
    return np.concatenate([history, scores[:, [_LOG, _SHARE]]], axis=1)


def _with_scores(features: AnyArray, scores: FloatArray) -> AnyArray:
    """Return the features with what the forests say, and how far the histories are from it."""
    said = scores[:, [_LOG, _SHARE]]
    history = features[:, CANDIDATES]
    apart = np.where(history < 0, UNKNOWN, history - scores[:, [_LOG]])
    return np.concatenate([features, said, apart], axis=1).astype(np.float32)
