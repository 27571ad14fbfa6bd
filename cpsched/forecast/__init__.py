"""When and why: what is asked about the jobs of a log, or of a queue that somebody else runs."""

from __future__ import annotations

from cpsched.forecast.forecaster import Forecaster
from cpsched.forecast.when import when
from cpsched.forecast.why import why, why_in_log

__all__ = ["Forecaster", "when", "why", "why_in_log"]
