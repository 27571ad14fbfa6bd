"""A study of a few runs of a few jobs, to be carried out for real."""

import shutil

import pytest
from small_studies import swf
from tiny import FOUR_CORES

from cpsched.study import carry_out, load_study

STUDY = """\
title = "a few runs"
question = "which?"
systems = ["four.toml"]
repeat = 3

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
