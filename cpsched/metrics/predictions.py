"""Whether a predictor's answers are forecasts, or it has seen the jobs it is asked about."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.workload import Workload


def not_a_forecast(provenance: Mapping[str, str], workload: Workload) -> str | None:
    """
    Return what a model has seen of the jobs it is asked about; None if nothing, as far as known.

    Parameters
    ----------
    provenance
        Of a predictor, see :meth:`~cpsched.prediction.RuntimePredictor.provenance`. Looked at are
        ``trained_on`` (title), ``trained_on_sha256``, ``trained_from`` and ``trained_to``, also of
        each entry of ``trained_before``, a list in JSON.
    """
    if "trained_on" not in provenance:
        return None
    try:
        earlier = json.loads(provenance.get("trained_before", "[]"))
    except ValueError:
        earlier = []
    lessons = [provenance, *(one for one in earlier if isinstance(one, dict))]
    if any(one.get("trained_on_sha256") == workload.digest() for one in lessons):
        return "was trained on these jobs"
    seen = [until for one in lessons if (until := _seen_until(one, workload)) is not None]
    if not seen:
        return None
    return f"was trained on jobs of this log submitted until {max(seen):,} s"


def _seen_until(lesson: Mapping[str, object], workload: Workload) -> int | None:
    """Return the last submit of a log that a lesson on the same log covers."""
    if not len(workload) or lesson.get("trained_on") != workload.title:
        return None
    try:
        begin, end = (
            _second(str(lesson[name]), workload.epoch) for name in ("trained_from", "trained_to")
        )
    except (ValueError, LookupError):
        return None
    first, last = int(workload.submit[0]), int(workload.submit[-1])
    return None if begin > last or end < first else min(end, last)


def _second(text: str, epoch: int | None) -> int:
    """Return a second of a log from a date, or from the second where there was none."""
    if text.removeprefix("-").isdecimal():
        return int(text)
    return int(datetime.fromisoformat(text).timestamp()) - (epoch or 0)
