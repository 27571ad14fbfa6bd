"""Runs kept on disk, and compared."""

from __future__ import annotations

from cpsched.report import write_tables
from cpsched.report.decisions import count_table, solver_notes
from cpsched.report.figures import style
from cpsched.report.findings import NOTICEABLE, Against, Change, Claim
from cpsched.report.leading import Leading, LeadingRows, Measured, leading
from cpsched.report.outcomes import (
    lines_of_run,
    load_lines,
    loads,
    outcome_lines,
)
from cpsched.report.overviews import Overview, overview
from cpsched.report.readable import Titled, most_changed, readable
from cpsched.report.record import misfit, reproduced
from cpsched.report.sentences import QUALITY, Finding, findings
from cpsched.report.table_files import latex
from cpsched.study import SavedRun, carry_out, load_run, make_tables, save_run
from cpsched.study.allocators import unequal
from cpsched.study.campaign import Display
from cpsched.study.changes import Change as ChangeOfLog
from cpsched.study.comparisons import Difference
from cpsched.study.executor import Backend
from cpsched.study.folder import check_target, slug
from cpsched.study.gains import NOTICED
from cpsched.study.log_study import study_of_log as log_study
from cpsched.study.paired import Estimate, difference, ratio
from cpsched.study.policies import PolicyFiles, ignored
from cpsched.study.record import FEWEST
from cpsched.study.results import Results, RunResult, place_of
from cpsched.study.sources import Generated, prepare, second_of
from cpsched.study.store import DESCRIPTION, Store
from cpsched.study.study import AXES, Choice, Study, alike, as_label, near
from cpsched.study.study_file import choice, parse_study
from cpsched.study.tables import Tables, grouped
from cpsched.study.task import Task, tasks_of
from cpsched.study.verdicts import HIGHER, LOWER, is_clear, of_mean
from cpsched.study.worker import Done
from cpsched.verification import verify
