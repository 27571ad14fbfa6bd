"""When a job will start, and why it waits."""

from __future__ import annotations

from cpsched.answer.asked import find_job
from cpsched.answer.calibration import Calibration
from cpsched.answer.explanation import Explanation, JobState
from cpsched.answer.forecaster import Forecaster
from cpsched.answer.starts import NEVER, Starts
from cpsched.answer.when import Answer, when
from cpsched.answer.when_text import changes, summary
from cpsched.answer.when_text import text as forecast_text
from cpsched.answer.why import why, why_in_log
from cpsched.answer.why_text import labelled, text
