"""Experiments: a plan of many runs, carried out and continued, and the tables made of them."""

from __future__ import annotations

from cpsched.experiments.campaign import Outcome, carried_out, carry_out
from cpsched.experiments.plan import Baseline, Choice, Generated, LogFile, Plan, PlannedWorkload
from cpsched.experiments.plan_file import load_plan, plan_names
from cpsched.experiments.store import Failure
from cpsched.experiments.table_files import write_tables
from cpsched.experiments.tables import Tables, make_tables

__all__ = [
    "Baseline",
    "Choice",
    "Failure",
    "Generated",
    "LogFile",
    "Outcome",
    "Plan",
    "PlannedWorkload",
    "Tables",
    "carried_out",
    "carry_out",
    "load_plan",
    "make_tables",
    "plan_names",
    "write_tables",
]
