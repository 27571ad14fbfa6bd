"""Runs kept on disk, and answers: when, why, how faithful, compared."""

from __future__ import annotations

from cpsched.explain import explain
from cpsched.explain.in_cluster import explain_in_cluster
from cpsched.explain.model import Explanation, JobState
from cpsched.explain.text import labelled, text
from cpsched.figures import style
from cpsched.forecast.advice import Advice, advice_on
from cpsched.forecast.calibration import Calibration
from cpsched.forecast.forecaster import Forecaster
from cpsched.forecast.starts import NEVER, Starts
from cpsched.forecast.text import changes, summary
from cpsched.forecast.text import text as forecast_text
from cpsched.forecast.when import Answer, JobForecast, forecasts
from cpsched.show.decisions import count_table
from cpsched.study import carry_out, load_run, make_tables, save_run
from cpsched.study.campaign import Display
from cpsched.study.folder import check_target
from cpsched.study.policies import PolicyFiles
from cpsched.study.sources import prepare, second_of
from cpsched.study.status import Watch
from cpsched.study.study import Choice, Study
from cpsched.study.task import tasks_of
from cpsched.study.workload_changes import asks_for_gpus
from cpsched.verification import verify
