"""A package of a stranger, written from the reference of plug-ins: all of it is found and checked."""

import os
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path

import pytest

from cpsched.api import load_run
from cpsched.base import registry
from cpsched.checks import CheckError
from cpsched.checks.plug_ins import check_plug_ins
from predictors.checks import check_predictor

pytestmark = pytest.mark.slow

MODULE = '''
"""A dispatcher with a kernel of its own, a preset, a predictor, a command and more."""

from contextlib import contextmanager
from pathlib import Path

import numpy as np
import typer

from cpsched.api import Column, Dispatcher, Prediction, RunObserver, RuntimePredictor, Table, kernel
from cpsched.api import make_allocator, start_by

ALIASES = {"dispatchers": {"by-area": ("by-size", {"area": "true"})}}


@kernel
def areas(units, seconds, by_area):
    found = np.empty(len(units), np.int64)
    for job in range(len(units)):
        found[job] = units[job] * (seconds[job] if by_area else 1)
    return found


class BySize(Dispatcher):
    """Start the smallest jobs first; skip what does not fit."""

    name = "by-size"

    def __init__(self, area: bool = False, allocator: str = "first-fit") -> None:
        self.area = area
        self.allocator = make_allocator(allocator)

    def reset(self, system, seed):
        self.allocator.reset(system)

    def decide(self, view):
        waiting = view.waiting
        sizes = areas(waiting.units, waiting.requested_time, self.area)
        return start_by(view, sizes.argsort(kind="stable"), self.allocator)


class Half(RuntimePredictor):
    """Half of what was asked for."""

    name = "half"

    def predict(self, jobs, now):
        return Prediction.point(np.maximum(jobs.requested_time // 2, 1))


class Starts(RunObserver):
    """Writes the ids of jobs in the order in which they start."""

    def __init__(self, file: str) -> None:
        self.path = Path(file)

    @contextmanager
    def opened(self, dispatcher, job_ids, *, overwrite):
        self.ids = job_ids
        with self.path.open("w") as self.file:
            yield

    def on_start(self, job, allocation, now):
        self.file.write(f"{self.ids[job]}\\n")


def sizes(runs):
    """The section: how many jobs each run has."""
    names = tuple(run.dispatcher for run in runs)
    jobs = tuple(run.counts["simulated"] for run in runs)
    return [Table("Of a stranger", (Column("who", "", names), Column("jobs", "", jobs)))]


def register(app: typer.Typer) -> None:
    @app.command("greet")
    def greet(name: str) -> None:
        """Greet somebody."""
        typer.echo(f"good day, {name}")
'''
ENTRY_POINTS = """\
[cpsched.dispatchers]
by-size = stranger:BySize
[cpsched.predictors]
half = stranger:Half
[cpsched.aliases]
stranger = stranger:ALIASES
[cpsched.commands]
greet = stranger:register
[cpsched.observers]
starts = stranger:Starts
[cpsched.report_sections]
strange-sizes = stranger:sizes
"""
LOG = "".join(
    f"{job} {submit} -1 {runtime} {units} -1 -1 {units} {runtime} -1 1 1 -1 -1 -1 -1 -1 -1\n"
    for job, submit, runtime, units in ((1, 0, 5, 2), (2, 1, 50, 1), (3, 1, 5, 2))
)
SYSTEM = 'resources = ["core"]\n[[nodes]]\ngroup = "g"\ncount = 1\ncore = 2\n[log]\nprocessors = "packed"\n'


@pytest.fixture
def stranger(tmp_path, monkeypatch, cpsched):
    """Install the package in a folder with a log and a system, and run commands there."""
    info = tmp_path / "stranger-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    (tmp_path / "stranger.py").write_text(MODULE)
    (tmp_path / "log.swf").write_text(LOG)
    (tmp_path / "two.toml").write_text(SYSTEM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    registry.entries.cache_clear()

    def run(*arguments):
        code, out, err = cpsched(*arguments)
        assert code == 0, err
        return out

    yield run
    registry.entries.cache_clear()
    sys.modules.pop("stranger", None)


def test_it_passes_the_check_suite(stranger):
    """All that it registers, with one call."""
    check_plug_ins("stranger")
    check_predictor(import_module("stranger").Half)


def test_its_command_stands_among_the_others(stranger):
    """In a process of its own, which finds the package as installed."""
    command = [sys.executable, "-m", "cpsched", "greet", "Ada"]
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    assert subprocess.check_output(command, env=environment, text=True) == "good day, Ada\n"


def test_its_names_work_on_the_command_line(stranger):
    """With options of its own; the run verifies, and is read back."""
    spec = "by-size:allocator=best-fit"
    stranger(
        "simulate", "log.swf", "--system", "two.toml", "-d", spec, "-p", "half", "--out", "out"
    )
    assert ", OK" in stranger("verify", "out")
    run = load_run(next(Path("out/runs").iterdir()))
    assert (run.about["dispatcher"], run.predictor) == (spec, "half")
    assert run.schedule.runtime_estimate.tolist() == [2, 25, 2]


def test_a_run_is_observed(stranger):
    """The smallest area first is job 3, the fewest units job 2; job 1 was alone."""
    run = ("simulate", "log.swf", "--system", "two.toml")
    for name, order in (("by-size", "1 2 3"), ("by-area", "1 3 2")):
        stranger(*run, "-d", name, "--observe", f"starts:file={name}.txt")
        assert Path(f"{name}.txt").read_text().split() == order.split()


def test_the_report_has_its_section(stranger):
    both = ("-d", "by-size", "-d", "by-area")
    stranger("compare", "log.swf", "--system", "two.toml", *both, "--out", "study")
    page = Path("study", "report.html").read_text()
    assert "strange sizes" in page
    assert "Of a stranger" in page


@pytest.mark.parametrize(
    ("group", "source", "reason"),
    [
        ("commands", "def thing(app): pass", "'odd' adds no command"),
        ("commands", "def thing(app): app.command('x')(lambda: None)", "of 'odd' has no help"),
        ("report_sections", "def thing(runs): return ['text']", "gives what is not a Table"),
        ("observers", "class thing: pass", "is not a RunObserver"),
        ("generators", "class thing: pass", "is not a Generator"),
        ("dispatchers", "thing = 1", "is not a class"),
        ("dispatchers", "import nowhere", "No module named 'nowhere'"),
        ("aliases", "thing = {'dispatchers': {'mine': ('easyy', {})}}", "'mine' of 'odd' is left"),
        ("odd_things", "thing = 1", "there is no group cpsched.odd_things"),
    ],
)
def test_the_check_suite_says_what_is_wrong(tmp_path, monkeypatch, group, source, reason):
    """Each in a distribution of its own."""
    info = tmp_path / "odd-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[cpsched.{group}]\nodd = odd_one:thing\n")
    (tmp_path / "odd_one.py").write_text(source + "\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "odd_one", raising=False)
    registry.entries.cache_clear()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            with pytest.raises(CheckError, match=reason):
                check_plug_ins("odd")
    finally:
        registry.entries.cache_clear()
