"""When and why: what is asked about the jobs of a log, or of a queue that somebody else runs."""

from __future__ import annotations

from cpsched.answer.forecaster import Forecaster
from cpsched.answer.when import when, when_in_log
from cpsched.answer.why import why, why_in_log

__all__ = ["Forecaster", "when", "when_in_log", "why", "why_in_log"]
