"""Studies: many runs from one file, carried out and continued."""

from __future__ import annotations

from cpsched.study.campaign import CampaignOutcome, carry_out
from cpsched.study.inputs import Generated, LogFile
from cpsched.study.reader import SavedRun, load_run
from cpsched.study.store import Failure
from cpsched.study.study import Baseline, LabelledSpec, Study, StudyWorkload
from cpsched.study.study_file import load_study, study_names
from cpsched.study.writer import save_run

__all__ = [
    "Baseline",
    "CampaignOutcome",
    "Failure",
    "Generated",
    "LabelledSpec",
    "LogFile",
    "SavedRun",
    "Study",
    "StudyWorkload",
    "carry_out",
    "load_run",
    "load_study",
    "save_run",
    "study_names",
]
