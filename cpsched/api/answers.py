"""When a job will start, and why it waits."""

from __future__ import annotations

from cpsched.forecast.asked import find_job
from cpsched.forecast.calibration import Calibration
from cpsched.forecast.explanation import Explanation, JobState
from cpsched.forecast.forecaster import Forecaster
from cpsched.forecast.starts import NEVER, Starts
from cpsched.forecast.when import Answer, when
from cpsched.forecast.when_text import changes, summary
from cpsched.forecast.when_text import text as forecast_text
from cpsched.forecast.why import why, why_in_log
from cpsched.forecast.why_text import labelled, text
