"""A study of a few runs of a few jobs, to be carried out for real."""

import shutil

import pytest
from tiny import FOUR_CORES

from cpsched.study import carry_out, load_study

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


def swf(num_jobs, gap=40):
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


def _fill(folder):
    (folder / "log.swf").write_text(swf(60))
    (folder / "four.toml").write_text(FOUR_CORES)
    (folder / "sub").mkdir()
    (folder / "sub" / "four.toml").write_text(FOUR_CORES)
    (folder / "study.toml").write_text(STUDY)
    return folder


@pytest.fixture
def place(tmp_path):
    """A folder with a log, a system and a study."""
    return _fill(tmp_path)


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """The folder of the study, carried out once for all tests."""
    place = _fill(tmp_path_factory.mktemp("finished"))
    carry_out(load_study(place / "study.toml"), place / "out")
    return place / "out"


@pytest.fixture
def made(finished, place):
    """The same beside the study, for one test to change."""
    shutil.copytree(finished, place / "out")
    return place / "out"


@pytest.fixture
def study(place):
    """The study: two dispatchers, two predictors, three seeds."""
    return load_study(place / "study.toml")


@pytest.fixture
def read(place):
    """Read a study's text."""

    def reader(text):
        (place / "other.toml").write_text(text)
        return load_study(place / "other.toml")

    return reader
