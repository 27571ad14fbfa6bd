"""Whether a predictor's answers are forecasts, or it has seen the jobs it is asked about."""

from __future__ import annotations

import json
from hashlib import blake2b
from heapq import nsmallest
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError
from cpsched.util import registry
from cpsched.util.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.model.workload import Workload

#: Jobs that stand for a log. One of a hundred jobs in common is found in most cases.
_SAMPLE = 256
#: No hash is larger.
_ABOVE_ALL = "g"
#: So many jobs in common, with the same number, user and runtime, are not a coincidence.
_ENOUGH = 3


def job_sample(workload: Workload) -> str:
    """
    Return hashes of a few jobs of a log, to recognise the log by.

    Number, user and runtime of each job are hashed, and the jobs with the smallest hashes kept: so
    it is the same jobs again in a part of the log, or when its title or its submit times differ.
    """
    return ",".join(nsmallest(_SAMPLE, _hashes(workload)))


def knows_runtimes(about: Mapping[str, Any]) -> bool:
    """
    Tell whether a run's predictor knew the jobs: told their runtimes, as ``actual``, or trained.

    Parameters
    ----------
    about
        What ``run.json`` says of the run: ``predictor``, a specification, and ``not_a_forecast``. A
        predictor that is not installed here is taken for a forecast.
    """
    try:
        made_by = registry.load("predictors", Spec.parse(str(about["predictor"])).name)
    except ConfigError:
        return about.get("not_a_forecast") is not None
    return bool(made_by.needs_truth) or about.get("not_a_forecast") is not None


def not_a_forecast(provenance: Mapping[str, str], workload: Workload) -> str | None:
    """
    Return what a model has seen of the jobs it is asked about; None if nothing, as far as known.

    Parameters
    ----------
    provenance
        Of a predictor, see :meth:`~cpsched.model.prediction.RuntimePredictor.provenance`. Looked
        at is
        ``trained_jobs_sample`` (see :func:`job_sample`), also of each entry of ``trained_before``,
        a list in JSON.
    """
    if "trained_on" not in provenance:
        return None
    try:
        earlier = json.loads(provenance.get("trained_before", "[]"))
    except ValueError:
        earlier = []
    lessons = [
        provenance,
        *(earlier_lesson for earlier_lesson in earlier if isinstance(earlier_lesson, dict)),
    ]
    asked = _hashes(workload)
    seen = max(_share_seen(lesson.get("trained_jobs_sample", ""), asked) for lesson in lessons)
    if seen == 1:
        return "was trained on these jobs"
    return f"was trained on about {max(100 * seen, 1):.0f} % of these jobs" if seen else None


def _share_seen(sample: object, asked: Sequence[str]) -> float:
    """Return the share of jobs that are of the log of a sample, 0 if that is a coincidence."""
    known = set(filter(None, str(sample).split(",")))
    if not known:
        return 0.0
    # A log of fewer jobs is its own sample. Of a longer one nothing is known above the largest.
    largest = max(known) if len(known) == _SAMPLE else _ABOVE_ALL
    compared = [text for text in asked if text <= largest]
    common = len(known.intersection(compared))
    return common / len(compared) if common >= min(_ENOUGH, len(known)) else 0.0


def _hashes(workload: Workload) -> list[str]:
    """Return an identifier of each job that does not depend on its submit."""
    users = [*workload.user.values, ""]  # -1, no user, is the last
    return [
        blake2b(
            f"{number}\0{users[user]}\0{runtime}".encode("utf-8", "replace"), digest_size=6
        ).hexdigest()
        for number, user, runtime in zip(
            workload.job_id.tolist(),
            workload.user.codes.tolist(),
            workload.runtime.tolist(),
            strict=True,
        )
    ]
