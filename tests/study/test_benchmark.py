"""The benchmark of campaigns: its studies are those it names, and its arguments are checked."""

from importlib import import_module
from pathlib import Path

import pytest

from cpsched.study import load_study
from cpsched.study.task import tasks_of

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch):
    """The script as a module."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("studies")


def test_its_studies_have_the_runs_it_says(benchmark, tmp_path):
    """Eight equal runs, a thousand tiny ones."""
    (tmp_path / "small.toml").write_text(benchmark.SMALL)
    (tmp_path / "small.swf").write_text(benchmark._small_log(40))
    studies = {
        8: benchmark.EQUAL.format(jobs=2000, dispatcher="easy"),
        1000: benchmark.MANY.format(seeds=100),
    }
    for number, text in studies.items():
        (tmp_path / "study.toml").write_text(text)
        assert len(tasks_of(load_study(tmp_path / "study.toml"))) == number


def test_equal_runs_are_of_the_same_jobs(benchmark, tmp_path):
    """Without jitter a process reads and maps the workload once for all of them."""
    (tmp_path / "study.toml").write_text(benchmark.EQUAL.format(jobs=2000, dispatcher="easy"))
    assert len({task.made_of for task in tasks_of(load_study(tmp_path / "study.toml"))}) == 1
