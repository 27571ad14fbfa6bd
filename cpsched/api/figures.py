"""Pictures of runs, as the report has them."""

from __future__ import annotations

from cpsched.figures.data import busiest
from cpsched.figures.data import read as run_data
from cpsched.figures.looks import looks
from cpsched.figures.pictures import Picture, of_jobs, of_schedule
from cpsched.figures.style import save, styled
