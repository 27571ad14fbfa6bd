"""The rule about predictions: what is known of a predictor's answers without asking it again."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cpsched.errors import ConfigError
from cpsched.model.schedule import JobOutcome
from cpsched.util import registry
from cpsched.util.spec import Spec
from cpsched.util.types import MAX_TIME, MISSING
from cpsched.verification.findings import Rule

if TYPE_CHECKING:
    from cpsched.model.workload import Workload
    from cpsched.util.types import IntArray
    from cpsched.verification.checked import Checked

_ANSWERS = ("ranking_estimate", "runtime_estimate", "runtime_bound")


def check_predictions(checked: Checked) -> None:
    """Check that predictions are what the run's predictor may have answered."""
    if checked.predictor is None:
        return
    low, high = _range(checked.predictor, checked.workload)
    rejected = checked.schedule.outcome == JobOutcome.REJECTED

    def say(row: int, name: str, answer: IntArray) -> str:
        lowest, highest = (MISSING, MISSING) if rejected[row] else (low[row], high[row])
        expected = f"{lowest}" if lowest == highest else f"from {lowest} to {highest}"
        return f"has {name}={answer[row]}, but predictor {checked.predictor} answers {expected}"

    for name in _ANSWERS:
        answer = getattr(checked.schedule, name)
        wrong = np.where(rejected, answer != MISSING, (answer < low) | (answer > high))
        # One that has not been submitted when the record ends has not been asked about.
        wrong &= checked.complete | (answer != MISSING)
        checked.add(Rule.PREDICTION, wrong, partial(say, name=name, answer=answer))


def _range(predictor: str, workload: Workload) -> tuple[IntArray, IntArray]:
    """Return the least and the most that a predictor may have answered for each job."""
    requested = workload.requested_time
    spec = Spec.parse(predictor)
    if spec.name == "requested":
        return requested, requested
    if spec.name == "actual" and "sigma" not in dict(spec.options):
        factor = float(dict(spec.options).get("factor", 1))
        truth = np.minimum(np.floor(workload.runtime * factor), MAX_TIME).astype(np.int64)
        return truth, truth
    try:
        clipped = bool(registry.load("predictors", spec.name).clipped)
    except ConfigError:
        # It is not installed here.
        clipped = False
    if clipped:
        return np.minimum(requested, 1), requested
    return np.zeros_like(requested), np.full_like(requested, MAX_TIME)
