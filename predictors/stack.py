"""For each job, the predictors that should be nearest: forests foretell the loss of every one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from predictors import kernels
from predictors.boosting import Growth, Task, grow
from predictors.features import FEATURES, UNKNOWN
from predictors.forest import ForestSet
from predictors.gbm import LEAST_SHARE, REQUESTED, Gbm, dump, load, log_runtime, share_task
from predictors.learned import Answers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.base.types import AnyArray, FloatArray, IntArray
    from predictors.forest import Forest
    from predictors.window import Window

#: Completions with recorded answers of both forests before losses are learnt, and the newest used.
START, NEWEST = 2_000, 20_000
#: Completions the two forests learn from one by one; of older ones every third serves: as accurate
#: and cheaper (docs/measurements/predictors.md).
RECENT, EVERY = 15_000, 3
#: Losses are noisier than runtimes: fewer and smaller trees.
_LOSS_TREES, _LOSS_LEAVES, _LOSS_RATE, _LOSS_LEAF = 30, 12, 0.13, 40
#: Of a candidate's loss: the log error and the error in units of the mean runtime, capped; and
#: how much the second counts.
_LOG_CAP, _MEAN_CAP, _MEAN_WEIGHT = 2.0, 6.0, 0.5
#: A candidate weighs 1/e of the best if its loss is foretold to be worse by this much.
_DOUBT = 0.12
_LOG, _SHARE, _BLEND, _WHICH = range(4)
#: Candidates that are features, and what they are called in counts.
_HISTORIES = {"rule_1": "rule 1", "plus": "user-history-plus", "last": "last"}
_COLUMNS = np.array([FEATURES.index(name) for name in _HISTORIES])
_NAMES = (*_HISTORIES.values(), "gbm-log", "gbm-ratio")
#: Features of the losses' forests: what the two forests say, and how far the histories are from it.
_EXTENDED = len(FEATURES) + 2 + len(_HISTORIES)
_NOTHING = ForestSet(
    *(np.zeros(0, dtype=kind) for kind in (float, int, int, int, float, int, int, float))
)


class Stack(Gbm):
    """
    Predicts with the candidates whose recent losses on jobs like this one are smallest.

    Candidates are the newest job of the same profile (rule 1), what ``user-history-plus`` says,
    the user's last runtime, and the forests of ``gbm-log`` and ``gbm-ratio``. A smaller forest for
    each predicts ``min(|ln error|, 2) + min(|error| / mean runtime, 6) / 2`` from what was answered
    for the newest 20,000 completions when they were submitted. The requested time is no candidate.

    The plan is the median of the candidates, weighted by ``exp(-loss / 0.12)``: always what one of
    them says, so that jobs which repeat to the second are hit; the best where one is clearly best,
    and otherwise one in the middle. The priority is that of ``gbm-log``, whose order is better.
    Until 2,000 completions have answers to learn from, the plan is that of ``user-history-plus``.

    Parameters
    ----------
    model, frozen, refit, start, window, trees, backend, prefix, limit
        As for :class:`~predictors.gbm.Gbm`.
    """

    name = "stack"
    num_scores = 4
    bound_score = _BLEND

    def counted(self) -> tuple[str, ...]:
        """Return the names of the counts in ``stats``, with who counted most."""
        return (*super().counted(), *_MOSTLY)

    def forget(self) -> None:
        """Drop all forests."""
        super().forget()
        self._judge([])

    def _judge(self, losses: list[Forest]) -> None:
        """Weigh by these forests from now on; none: answer nothing."""
        self._losses = losses
        self._judges = ForestSet.join(losses) if losses else _NOTHING

    def fit(self, window: Window, now: int) -> None:  # noqa: ARG002
        """Grow the two forests, and those of the losses when there is enough to learn from."""
        growth = Growth(trees=self._trees, seed=self._seed)
        rows = window.thinned(RECENT, EVERY)
        tasks = [Task(target[rows]) for target in (log_runtime(window), share_task(window).target)]
        self.take(grow(self._backend, window.features[rows], tasks, growth))
        newest = window.newest(NEWEST)
        rows = newest[np.isfinite(window.scores[newest, _LOG])]
        if len(rows) >= START:
            self._fit_losses(window, rows)

    def _fit_losses(self, window: Window, rows: IntArray) -> None:
        features, scores = window.features[rows], window.scores[rows]
        runtime = np.maximum(window.runtime[rows], 1).astype(np.float64)
        limit = np.log(np.maximum(window.requested_time[rows], 1))
        candidates = np.minimum(_candidates(features, scores), limit[:, None])
        off = np.minimum(np.abs(candidates - np.log(runtime)[:, None]), _LOG_CAP)
        error = np.abs(np.exp(candidates) - runtime[:, None]) / runtime.mean()
        loss = off + _MEAN_WEIGHT * np.minimum(error, _MEAN_CAP)
        known = np.isfinite(candidates)
        # What was never heard from must not win when it is first heard from.
        loss[~known] = _LOG_CAP + _MEAN_WEIGHT * _MEAN_CAP
        taught_by = [column if column.any() else ~column for column in known.T]
        growth = Growth(
            trees=min(_LOSS_TREES, self._trees), leaves=_LOSS_LEAVES, rate=_LOSS_RATE,
            min_leaf=_LOSS_LEAF, seed=self._seed,
        )  # fmt: skip
        tasks = [Task(loss[:, index], None, chosen) for index, chosen in enumerate(taught_by)]
        self._judge(grow(self._backend, _with_scores(features, scores), tasks, growth))

    def score(self, rows: AnyArray) -> FloatArray:
        """Return what both forests say, the weighted median, and which candidate weighs most."""
        assert self._set is not None, "scores are asked for when there are forests"
        scores = np.full((len(rows), self.num_scores), np.nan)
        known = (_COLUMNS, REQUESTED, LEAST_SHARE, UNKNOWN, _DOUBT)
        kernels.blend(rows, *known, *self._set, *self._judges, scores)
        return scores

    def answer(self, scores: Sequence[float]) -> Answers:
        """Return the order of the forest, the weighted median, and its bound."""
        log, _, plan, which = scores
        if which == which:  # not NaN
            self._counts[_MOSTLY[int(which)]] += 1
        return Answers(log, plan, plan + self._bound.offset)

    def models(self) -> dict[str, Any]:
        """Return all forests."""
        return {"answers": dump(self._forests), "losses": dump(self._losses)}

    def restore_models(self, state: Mapping[str, Any]) -> None:
        """Take up all forests."""
        forests = load(state["answers"])
        losses = load(state.get("losses", {}), _EXTENDED)
        if len(forests) != 2 or len(losses) not in (0, len(_NAMES)):
            raise ValueError(f"it holds {len(forests)} and {len(losses)} forests")
        self.take(forests)
        self._judge(losses)


_MOSTLY = tuple(f"mostly {name}" for name in _NAMES)


def _candidates(features: AnyArray, scores: FloatArray) -> FloatArray:
    """Return the logarithm of what each candidate says, shape ``(n, 5)``; NaN for nothing."""
    history = features[:, _COLUMNS].astype(np.float64)
    history[history < 0] = np.nan
    return np.concatenate([history, scores[:, [_LOG, _SHARE]]], axis=1)


def _with_scores(features: AnyArray, scores: FloatArray) -> AnyArray:
    """Return the features with what the forests say, and how far the histories are from it."""
    said = scores[:, [_LOG, _SHARE]]
    history = features[:, _COLUMNS]
    apart = np.where(history < 0, UNKNOWN, history - scores[:, [_LOG]])
    return np.concatenate([features, said, apart], axis=1).astype(np.float32)
