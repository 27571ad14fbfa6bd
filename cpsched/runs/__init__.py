"""A run on disk: written once, whole or not at all, and enough to verify and report from."""

from __future__ import annotations

from cpsched.runs.identity import run_name
from cpsched.runs.reader import SavedRun, load
from cpsched.runs.writer import save

__all__ = ["SavedRun", "load", "run_name", "save"]
