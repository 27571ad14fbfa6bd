"""The report of an experiment: tables, figures and one HTML file, of its run folders alone."""

from __future__ import annotations

from cpsched.report.make import Report, make_report

__all__ = ["Report", "make_report"]
