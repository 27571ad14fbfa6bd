"""What a predictor says of itself: how it came to its answers, and whether they are forecasts."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from cpsched.metrics.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.workload import Workload


def count_table(title: str, counts: Mapping[str, int], jobs: int) -> Table | None:
    """Return a predictor's own counts and their shares of the jobs; None where it has none."""
    if not counts:
        return None
    numbers = tuple(counts.values())
    return Table(
        title,
        (
            Column("count of", "", tuple(counts)),
            Column("number", "", numbers),
            Column("share", "%", tuple(100 * number / max(jobs, 1) for number in numbers), 1),
        ),
    )


def not_a_forecast(provenance: Mapping[str, str], workload: Workload) -> str | None:
    """
    Return what a model has seen of the jobs it is asked about; None if nothing, as far as known.

    Parameters
    ----------
    provenance
        Of a predictor, see :meth:`~cpsched.prediction.RuntimePredictor.provenance`.
    """
    if provenance.get("trained_on_sha256") == workload.digest():
        return "was trained on these jobs"
    if not len(workload) or provenance.get("trained_on") != workload.title:
        return None
    try:
        begin, end = (
            _second(provenance[name], workload.epoch) for name in ("trained_from", "trained_to")
        )
    except (ValueError, LookupError):
        return None
    first, last = int(workload.submit[0]), int(workload.submit[-1])
    if begin > last or end < first:
        return None
    return f"was trained on jobs of this log submitted until {min(end, last):,} s"


def _second(text: str, epoch: int | None) -> int:
    """Return a second of a log from a date, or from the second where there was none."""
    if text.removeprefix("-").isdigit():
        return int(text)
    return int(datetime.fromisoformat(text).timestamp()) - (epoch or 0)
