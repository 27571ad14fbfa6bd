"""A study of a few runs of a few jobs, to be carried out for real."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tiny import FOUR_CORES

from cpsched.study import Study, load_study

STUDY = """\
title = "a few runs"
question = "which?"
systems = ["four.toml"]
seeds = 3

[[workloads]]
name = "few"
file = "log.swf"

[dispatchers]
FIFO = "fifo"
EASY = "easy"

[predictors]
W = "requested"
R = "actual"
"""


def swf(num_jobs: int, gap: int = 40) -> str:
    """Return a log of jobs of 1 to 4 processors that queue up on four."""
    lines = ["; Computer: a tiny machine", "; UnixStartTime: 1000000000"]
    for job in range(1, num_jobs + 1):
        processors, runtime = 1 + job * 7 % 4, 20 + job * 37 % 90
        requested = 2 * runtime
        lines.append(
            f"{job} {job * gap} -1 {runtime} {processors} -1 -1 {processors} {requested}"
            f" -1 1 {job % 5} 1 -1 1 -1 -1 -1"
        )
    return "\n".join(lines) + "\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a log, a system and a study."""
    (tmp_path / "log.swf").write_text(swf(60))
    (tmp_path / "four.toml").write_text(FOUR_CORES)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "four.toml").write_text(FOUR_CORES)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


@pytest.fixture
def study(place: Path) -> Study:
    """The study: two dispatchers, two predictors, three seeds."""
    return load_study(place / "study.toml")


@pytest.fixture
def read(place: Path) -> Any:
    """Read a study's text."""

    def reader(text: str) -> Study:
        (place / "other.toml").write_text(text)
        return load_study(place / "other.toml")

    return reader
