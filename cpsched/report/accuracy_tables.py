"""Evaluations side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.metrics.jobs import CLASSES
from cpsched.report.decisions import count_table
from cpsched.util.tables import Column, Number, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.study.prediction.accuracy import Accuracy
    from cpsched.study.prediction.evaluation import Evaluation


def overall(evaluations: Sequence[Evaluation]) -> Table:
    """Return the errors over all scored jobs, one row a predictor."""
    names = Column("predictor", "", tuple(item.predictor for item in evaluations))
    scores = [item.overall for item in evaluations]
    cpu = Column("CPU per job", "us", tuple(item.cpu_us for item in evaluations), 1)
    return Table("", (names, Column("jobs", "", _of(scores, "jobs")), *_errors(scores), cpu))


def by_class(evaluations: Sequence[Evaluation]) -> Table:
    """Return the errors by the length of the jobs."""
    rows = [
        (item.predictor, f"{name} ({CLASSES[name]})", score)
        for name in CLASSES
        for item in evaluations
        for score in [item.by_class[name]]
    ]
    scores = [score for _, _, score in rows]
    return Table(
        "By runtime:",
        (
            Column("jobs that ran", "", tuple(name for _, name, _ in rows)),
            Column("predictor", "", tuple(predictor for predictor, _, _ in rows)),
            Column("jobs", "", _of(scores, "jobs")),
            *_errors(scores),
        ),
    )


def distributions(evaluations: Sequence[Evaluation]) -> Table | None:
    """Return how good predicted distributions were; None where no predictor gives any."""
    scores = [item.distribution for item in evaluations]
    if not any(scores):
        return None
    return Table(
        "Distributions:",
        (
            Column("predictor", "", tuple(item.predictor for item in evaluations)),
            Column("CRPS of log runtime", "", _of(scores, "crps"), 4),
            Column("80 % interval holds", "%", _of(scores, "coverage", 100), 1),
            Column("below it", "%", _of(scores, "below", 100), 1),
            Column("above it", "%", _of(scores, "above", 100), 1),
        ),
    )


def used(evaluations: Sequence[Evaluation]) -> list[Table]:
    """Return each predictor's own counts, where it has some."""
    tables = [
        count_table(f"{item.predictor}, all jobs:", item.stats, len(item.rows))
        for item in evaluations
    ]
    return [table for table in tables if table is not None]


def _errors(scores: Sequence[Accuracy]) -> tuple[Column, ...]:
    return (
        Column("mean error", "min", _of(scores, "mean_error_s", 1 / 60), 1),
        Column("median log error", "", _of(scores, "median_log_error"), 3),
        Column("within 20 %", "%", _of(scores, "close", 100), 1),
        Column("too low", "%", _of(scores, "under", 100), 1),
        Column("rank corr.", "", _of(scores, "rank"), 3),
        Column("above bound", "%", _of(scores, "bound_exceeded", 100), 1),
        Column("pinball loss of the bound", "min", _of(scores, "bound_loss_s", 1 / 60), 1),
    )


def _of(scores: Sequence[object], name: str, scale: float = 1) -> tuple[Number, ...]:
    values = [getattr(score, name, None) for score in scores]
    return tuple(None if value is None else value * scale for value in values)
