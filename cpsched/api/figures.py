"""Pictures of runs, as the report has them."""

from __future__ import annotations

from cpsched.report.figures.bars import Change
from cpsched.report.figures.data import DAY, RunData, busiest, means
from cpsched.report.figures.data import read as run_data
from cpsched.report.figures.lanes import Rectangles, Rows, pieces, place
from cpsched.report.figures.looks import Look, Who, looks
from cpsched.report.figures.nodes import EDGE, EMPTY
from cpsched.report.figures.pictures import (
    FigureFile,
    Picture,
    of_changes,
    of_jobs,
    of_schedule,
    of_tradeoff,
)
from cpsched.report.figures.style import (
    BAD,
    BEHIND,
    COLOURS,
    FAINT,
    FORMATS,
    GOOD,
    INK,
    PAPER,
    SOFT,
    save,
    styled,
)
from cpsched.report.figures.tradeoff import Point
