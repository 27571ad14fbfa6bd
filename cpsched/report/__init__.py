"""Results as people read them: tables, their renderers, and what they say in sentences."""

from __future__ import annotations

from cpsched.report.comparison import Comparison, compare, compare_runs, what_if
from cpsched.report.table_files import write_tables

__all__ = ["Comparison", "compare", "compare_runs", "what_if", "write_tables"]
