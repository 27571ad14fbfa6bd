"""Pictures of runs, as the report has them."""

from __future__ import annotations

from cpsched.figures.bars import Change
from cpsched.figures.data import DAY, RunData, busiest, means
from cpsched.figures.data import read as run_data
from cpsched.figures.lanes import Rectangles, Rows, pieces, place
from cpsched.figures.looks import Look, Who, looks
from cpsched.figures.nodes import EDGE, EMPTY
from cpsched.figures.pictures import (
    FigureFile,
    Picture,
    of_changes,
    of_jobs,
    of_schedule,
    of_tradeoff,
)
from cpsched.figures.style import (
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
from cpsched.figures.tradeoff import Point
