"""Results as people read them: one table, its renderers, and what may be said of it."""

from __future__ import annotations

from cpsched.report.comparison import Comparison, compare, compare_runs, what_if
from cpsched.report.files import write_tables
from cpsched.report.results_table import ResultsTable, load_results

__all__ = [
    "Comparison",
    "ResultsTable",
    "compare",
    "compare_runs",
    "load_results",
    "what_if",
    "write_tables",
]
