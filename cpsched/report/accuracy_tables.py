"""Evaluations of predictors side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.metrics.jobs import CLASSES
from cpsched.report.decisions import count_view
from cpsched.report.views import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.study.prediction.accuracy import Accuracy
    from cpsched.study.prediction.evaluation import Evaluation

_ERRORS = ["mean error, min", "median log error", "within 20 %", "too low", "rank correlation",
           "above bound", "pinball loss of the bound, min"]  # fmt: skip


def overall(evaluations: Sequence[Evaluation]) -> View:
    """Return the errors over all scored jobs, one row a predictor."""
    rows = [
        [of.predictor, f"{of.overall.jobs:,}", *_errors(of.overall), _text(of.cpu_us, 1)]
        for of in evaluations
    ]
    return View("", "", ["predictor", "jobs", *_ERRORS, "CPU per job, us"], rows)


def by_class(evaluations: Sequence[Evaluation]) -> View:
    """Return the errors by the length of the jobs."""
    rows = []
    for name in CLASSES:
        for of in evaluations:
            score = of.by_class[name]
            rows.append(
                [f"{name} ({CLASSES[name]})", of.predictor, f"{score.jobs:,}", *_errors(score)]
            )
    return View("", "By runtime:", ["jobs that ran", "predictor", "jobs", *_ERRORS], rows, names=2)


def distributions(evaluations: Sequence[Evaluation]) -> View | None:
    """Return the scores of predicted distributions. None if no predictor has any."""
    if not any(of.distribution for of in evaluations):
        return None
    rows = []
    for of in evaluations:
        score = of.distribution
        shares = (_share(getattr(score, name, None)) for name in ("coverage", "below", "above"))
        rows.append([of.predictor, _text(getattr(score, "crps", None), 4), *shares])
    headers = ["predictor", "CRPS of log runtime", "80 % interval covers", "below it", "above it"]
    return View("", "Distributions:", headers, rows)


def used(evaluations: Sequence[Evaluation]) -> list[View]:
    """Return each predictor's own counts, where it has some."""
    counts = (
        count_view(f"{of.predictor}, all jobs:", of.stats, len(of.rows)) for of in evaluations
    )
    return [view for view in counts if view is not None]


def _errors(score: Accuracy) -> list[str]:
    return [
        _text(score.mean_error_s, 1, 1 / 60),
        _text(score.median_log_error, 3),
        _share(score.close),
        _share(score.under),
        _text(score.rank, 3),
        _share(score.bound_exceeded),
        _text(score.bound_loss_s, 1, 1 / 60),
    ]


def _text(value: float | None, decimals: int, scale: float = 1) -> str:
    return "-" if value is None else f"{scale * value:,.{decimals}f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"
