"""Figures of a study's runs, for papers and for the report: SVG, PNG or PDF."""

from __future__ import annotations

from cpsched.figures.data import RunData, read
from cpsched.figures.figure_set import (
    FigureFile,
    draw,
    draw_changes,
    draw_ratios,
    draw_schedule,
    draw_tradeoffs,
)
from cpsched.figures.looks import Look, looks
from cpsched.figures.style import FORMATS

__all__ = [
    "FORMATS",
    "FigureFile",
    "Look",
    "RunData",
    "draw",
    "draw_changes",
    "draw_ratios",
    "draw_schedule",
    "draw_tradeoffs",
    "looks",
    "read",
]
